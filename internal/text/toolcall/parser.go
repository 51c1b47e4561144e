package toolcall

import (
	"bytes"
	"slices"
	"strings"

	"hone/internal/chat"
)

// maxRetries bounds how often a parser goes back into a bad block to look for a good one, so that time stays linear.
const maxRetries = 16

// machine is the part of a parser that differs between wire forms.
type machine interface {
	// step settles a piece at the front of the text. It is false where more text is needed, of which there will be
	// none if final; what it leaves then is content.
	step(p *Parser, final bool) bool
}

// Parser reads a text that arrives in chunks. However it is cut, its events add up to those of the whole text. Each
// call is given out when it is whole.
type Parser struct {
	o       Options
	format  Format
	machine machine
	types   *types

	buf     []byte
	head    int // what is settled
	lead    int // bytes behind head that set the piece behind them apart from what came before
	scan    int // bytes behind head and lead that need not be looked at again
	retries int
	ending  ending // of the block that is being read

	afterCall bool // only white space has followed the last call so far
	inLine    bool // the settled text ends in the middle of a line
	events    []Event
	result    Result
	content   strings.Builder
	reasoning strings.Builder
	ids       map[string]bool
}

// Parser returns a reader of one text.
func (f Format) Parser(o Options) *Parser {
	return &Parser{o: o, format: f, machine: f.machine(), types: &types{tools: o.Tools, mend: o.Repair},
		retries: maxRetries, result: Result{Complete: true}}
}

// Feed reads the next chunk and returns what it settles.
func (p *Parser) Feed(chunk string) []Event {
	p.buf = append(p.buf, chunk...)
	for p.machine.step(p, false) {
	}
	if p.head > len(p.buf)/2 {
		p.buf = p.buf[:copy(p.buf, p.buf[p.head:])]
		p.head = 0
	}
	events := p.events
	p.events = nil
	return events
}

// Close ends the text. The parser must not be used afterwards.
func (p *Parser) Close() ([]Event, Result) {
	for p.machine.step(p, true) {
	}
	if rest := p.buf[p.head:]; p.afterCall && len(bytes.Trim(rest, p.format.blank)) == 0 {
		p.lead = 0
		p.frame(len(rest))
	} else {
		p.lead = 0
		p.text(len(rest))
	}
	p.result.Content, p.result.Reasoning = p.content.String(), p.reasoning.String()
	return p.events, p.result
}

// rest is what is not settled, behind what only sets it apart.
func (p *Parser) rest() []byte { return p.buf[p.head+p.lead:] }

// take settles what sets the next piece apart, and its n bytes.
func (p *Parser) take(n int) string {
	raw := string(p.buf[p.head : p.head+p.lead+n])
	if raw != "" {
		p.inLine = raw[len(raw)-1] != '\n'
	}
	p.head += len(raw)
	p.lead, p.scan = 0, 0
	return raw
}

// add records an event, as part of the last one where both are the same kind of text.
func (p *Parser) add(e Event) {
	if e.Raw != "" {
		p.events = append(p.events, e)
	}
}

// text settles n bytes as content.
func (p *Parser) text(n int) {
	raw := p.take(n)
	if raw == "" {
		return
	}
	p.afterCall = false
	p.content.WriteString(raw)
	p.add(Event{Raw: raw, Content: raw})
}

// think settles n bytes as reasoning.
func (p *Parser) think(n int) {
	raw := p.take(n)
	p.reasoning.WriteString(raw)
	p.add(Event{Raw: raw, Reasoning: raw})
}

// frame settles n bytes that are markup or the space around it.
func (p *Parser) frame(n int) { p.add(Event{Raw: p.take(n)}) }

// bad settles n bytes as content that began as a call and is none.
func (p *Parser) bad(n int, why string) {
	raw := p.take(n)
	p.afterCall = false
	p.fail("malformed tool call: " + why)
	p.content.WriteString(raw)
	p.add(Event{Raw: raw, Content: raw, Err: why})
}

// noteOpenBlock notes that the text ends inside a block.
func (p *Parser) noteOpenBlock(missing string) {
	p.result.Complete = false
	p.fail("unterminated tool call: no " + missing)
}

func (p *Parser) fail(why string) {
	if p.result.Err == "" {
		p.result.Err = why
	}
}

func (p *Parser) noteRepairs(kinds ...Repair) {
	p.result.Repairs = append(p.result.Repairs, kinds...)
}

// retry reports whether a bad block may be looked into once more.
func (p *Parser) retry() bool {
	p.retries--
	return p.retries >= 0
}

// block settles open bytes of markup, the parts, and shut bytes of markup. Where no part is a call, the whole is bad;
// else a bad part goes to the content alone.
func (p *Parser) block(open int, parts []part, shut int) {
	size := 0
	good := false
	for _, x := range parts {
		size += x.size
		good = good || x.call != nil
	}
	if !good && slices.ContainsFunc(parts, func(x part) bool { return x.text }) {
		p.text(open + size + shut)
		return
	}
	if !good {
		why := "it is empty"
		if i := slices.IndexFunc(parts, func(x part) bool { return x.err != nil }); i >= 0 {
			why = parts[i].err.Error()
		}
		p.bad(open+size+shut, why)
		return
	}
	for i, x := range parts {
		n := x.size
		if i == 0 && x.err != nil {
			p.frame(open)
		} else if i == 0 {
			n += open
		}
		if i == len(parts)-1 && x.err == nil {
			n, shut = n+shut, 0
		}
		switch {
		case x.err != nil:
			p.bad(n, x.err.Error())
		case x.call != nil:
			p.call(n, *x.call)
		default:
			p.frame(n)
		}
	}
	p.frame(shut)
	p.afterCall = true
}

// call settles n bytes as a call.
func (p *Parser) call(n int, c call) {
	p.noteRepairs(c.repairs...)
	out := chat.ToolCall{ID: p.newID(c), Name: c.name, Arguments: c.arguments}
	p.result.Calls = append(p.result.Calls, out)
	p.add(Event{Raw: p.take(n), Call: &out})
	p.afterCall = true
}

// newID keeps the id of the wire where it is in the vendor's form and new, and else counts.
func (p *Parser) newID(c call) string {
	if p.ids == nil {
		p.ids = map[string]bool{}
	}
	id := c.id
	if p.format.validID == nil || !p.format.validID(id) {
		id = ""
	} else if p.ids[id] {
		p.noteRepairs(RepeatedID)
	}
	for index := len(p.result.Calls); id == "" || p.ids[id]; index++ {
		id = p.format.id(index, c)
	}
	p.ids[id] = true
	return id
}

// seek passes text on as content until one of the marks stands at the front, and says which. Held back are a mark that
// has only begun, the newlines before one, and behind a call the space that may only set the next one apart.
func (p *Parser) seek(marks []string, first string, final bool) (mark string, found bool) {
	if p.lead > 0 { // a mark was seen and more text was needed
		p.lead, p.scan = 0, 0
	}
	rest := p.rest()
	at := p.scan
	for {
		next := bytes.IndexAny(rest[at:], first)
		if next < 0 {
			at = len(rest)
			break
		}
		at += next
		var partial bool
		mark, partial = markAt(rest[at:], marks)
		if mark != "" {
			p.split(at)
			return mark, true
		}
		if partial && !final {
			break
		}
		at++
	}
	if p.afterCall && len(bytes.Trim(rest[p.scan:at], p.format.blank)) == 0 {
		p.scan = at
		return "", false
	}
	if final {
		at = len(rest)
	} else {
		for n := 0; at > 0 && n < p.format.lead && rest[at-1] == '\n'; n++ {
			at--
		}
	}
	if at > 0 {
		p.text(at)
	}
	return "", false
}

// split passes on what stands before a mark, but for what sets the mark apart, which becomes the lead.
func (p *Parser) split(at int) {
	rest := p.rest()
	text := at
	if p.afterCall && len(bytes.Trim(rest[:at], p.format.blank)) == 0 {
		text = 0
	} else {
		for n := 0; text > 0 && n < p.format.lead && rest[text-1] == '\n'; n++ {
			text--
		}
	}
	if text > 0 {
		p.text(text)
	}
	p.lead, p.scan = at-text, 0
}

// markAt returns the mark at the front of text, or whether one has begun.
func markAt(text []byte, marks []string) (mark string, partial bool) {
	for _, m := range marks {
		if len(text) >= len(m) {
			if string(text[:len(m)]) == m {
				return m, false
			}
		} else if m[:len(text)] == string(text) {
			partial = true
		}
	}
	return "", partial
}

// find returns where the first of the marks stands behind from. Where none does, it returns how far there is none.
func find(text []byte, from int, marks []string, first string) (at int, mark string) {
	for at = from; ; at++ {
		next := bytes.IndexAny(text[at:], first)
		if next < 0 {
			return len(text), ""
		}
		at += next
		mark, partial := markAt(text[at:], marks)
		if mark != "" || partial {
			return at, mark
		}
	}
}

// firsts are the first bytes of the marks, which are ASCII.
func firsts(marks []string) string {
	var out []byte
	for _, m := range marks {
		if !bytes.Contains(out, []byte(m[:1])) {
			out = append(out, m[0])
		}
	}
	return string(out)
}
