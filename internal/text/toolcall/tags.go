package toolcall

import (
	"bytes"
)

// maxSpace bounds the white space between the opening tag of a section and its first call.
const maxSpace = 1024

// tags are the marks of a form whose calls stand between an opening and a closing tag. The calls may stand in a
// section, which has tags of its own.
type tags struct {
	section    []string // opening tags; the first is the form's own
	sectionEnd []string // the closing tag of each
	open       string   // what a call begins with; may be the front of a longer tag
	shut       string
	quoted     bool       // between the tags is JSON, and a tag in one of its strings is text
	value      valueMarks // what the values in a call stand between: a tag in one of them is text
	// body reads what stands between the tags.
	body func(p *Parser, text []byte) []part
}

// ending is what ends the body of a call. A body without brackets of its own is known to be whole only by its tag.
type ending int

const (
	closingTag ending = iota
	otherTag          // the tag of the next call, or of the section
	endOfText
)

// tagged is the machine of such a form.
type tagged struct {
	tags
	outer  []string // marks outside a call
	first  string
	inner  []string // marks inside a call
	within string   // the closing tag of the section we are in; empty outside
	look   int      // how far there is only space behind a section's opening tag
	before int      // the calls in front of that section
	inCall bool
	bare   bool // the call stands outside a section

	quotes   scanner
	values   valueScan
	nested   int // where the first tag stands inside the call that belongs outside; 0 is none
	fallback int // behind the first closing tag inside a string; 0 is none
}

func newTagMachine(t tags) func() machine {
	return func() machine {
		outer := append([]string{t.open}, t.section...)
		outer = append(outer, t.sectionEnd...)
		inner := append([]string{t.shut, t.open}, t.sectionEnd...)
		return &tagged{tags: t, outer: outer, first: firsts(outer), inner: inner}
	}
}

func (t *tagged) step(p *Parser, final bool) bool {
	if t.inCall {
		return t.readCall(p, final)
	}
	marks := t.outer
	if t.within == "" {
		marks = marks[:1+len(t.section)]
	}
	mark, found := p.seek(marks, t.first, final)
	switch {
	case !found:
		if final && t.within != "" {
			p.noteOpenBlock(t.within)
			t.within = ""
		}
		return false
	case mark == t.open:
		t.begin(p, t.within == "" && len(t.section) > 0)
		return true
	case mark == t.within:
		t.within = ""
		if len(p.result.Calls) == t.before { // it held no call, and stays in the content with what it held
			p.text(len(mark))
			return true
		}
		p.frame(len(mark))
		p.afterCall = true
		return true
	}
	return t.readSection(p, mark, final)
}

// begin begins a call, which may be bare of the section's tags.
func (t *tagged) begin(p *Parser, bare bool) {
	t.inCall, t.bare, t.nested, t.fallback = true, bare, 0, 0
	p.scan = len(t.open)
	t.quotes, t.values = scanner{at: len(t.open)}, valueScan{at: len(t.open), ahead: len(t.open)}
}

// readSection settles an opening tag of a section, which it is only if a call follows, or the tag of another section
// that closed while we are in one, which is text.
func (t *tagged) readSection(p *Parser, mark string, final bool) bool {
	i := 0
	for i < len(t.section) && t.section[i] != mark {
		i++
	}
	if i == len(t.section) {
		p.bad(len(mark), "a closing tag that closes nothing")
		return true
	}
	rest := p.rest()[len(mark):]
	at := t.look
	for at < len(rest) && isSpace(rest[at]) {
		at++
	}
	follows, partial := markAt(rest[at:], []string{t.open})
	if at >= maxSpace {
		follows, partial = "", false
	}
	if t.look = at; follows == "" && partial && !final {
		return false
	}
	t.look = 0
	if follows == "" {
		if partial {
			p.noteOpenBlock(t.sectionEnd[i])
		}
		p.bad(len(mark), "no call follows "+mark)
		return true
	}
	if t.within != "" {
		p.noteRepairs(MissingClosingTag)
	}
	t.within, t.before = t.sectionEnd[i], len(p.result.Calls)
	p.lead += len(mark) + at // the tag stays with the first call
	t.begin(p, false)
	return true
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// readCall looks for the end of a call and settles it.
func (t *tagged) readCall(p *Parser, final bool) bool {
	for {
		rest := p.rest()
		at, mark := t.nextMark(p, rest)
		if within, known := t.inValue(rest, at, mark, final); !known {
			return false
		} else if within {
			p.scan = at + 1
			continue
		}
		switch {
		case mark == t.shut:
			t.endCall(p, at)
			return true
		case mark != "":
			if t.nested == 0 {
				t.nested = at
				// A call may lack its closing tag, or speak of the tag.
				if parts := t.read(p, rest[len(t.open):at], otherTag); goodPart(parts) && p.retry() {
					p.noteRepairs(MissingClosingTag)
					t.settle(p, parts, 0)
					return true
				}
			}
			p.scan, t.quotes.at = at+1, at+1
		case !final:
			return false
		default:
			t.breakOff(p)
			return true
		}
	}
}

func (t *tagged) nextMark(p *Parser, rest []byte) (int, string) {
	if !t.quoted {
		at, mark := find(rest, p.scan, t.inner, "<")
		p.scan = at
		return at, mark
	}
	return t.quotes.outside(rest, t.inner, func(at int, mark string) {
		if mark == t.shut && t.fallback == 0 {
			t.fallback = at + len(mark)
		}
	})
}

// inValue reports whether a mark is the text of a value; known is false where more text must tell.
func (t *tagged) inValue(rest []byte, at int, mark string, final bool) (within, known bool) {
	if mark == "" || t.value == (valueMarks{}) {
		return false, true
	}
	ended, known := t.ends(mark, rest[at+len(mark):], final)
	if !known {
		return false, false
	}
	return t.values.holds(t.value, rest, at, len(mark), ended, final)
}

// ends reports whether markup follows a mark that may end a call, or nothing; known is false where more text must tell.
func (t *tagged) ends(mark string, behind []byte, final bool) (ends, known bool) {
	rest := bytes.TrimLeft(behind, space)
	if mark == t.open || len(behind)-len(rest) > maxSpace {
		return true, true
	}
	next, partial := markAt(rest, t.outer)
	return next != "" || len(rest) == 0, next != "" || final || !partial
}

// read reads a body and tells it what ends it.
func (t *tagged) read(p *Parser, text []byte, e ending) []part {
	p.ending = e
	return t.body(p, text)
}

// endCall settles the call whose closing tag stands at a place.
func (t *tagged) endCall(p *Parser, at int) {
	parts := t.read(p, p.rest()[len(t.open):at], closingTag)
	if !goodPart(parts) && t.giveUp(p, parts) {
		return
	}
	t.settle(p, parts, len(t.shut))
}

// settle settles a call whose body has been read.
func (t *tagged) settle(p *Parser, parts []part, shut int) {
	t.inCall = false
	if t.bare && goodPart(parts) {
		p.noteRepairs(MissingOuterTag)
	}
	p.block(len(t.open), parts, shut)
}

// giveUp settles as little of a bad call as can be, so that a good one behind it is found.
func (t *tagged) giveUp(p *Parser, parts []part) bool {
	if t.endInString(p) {
		return true
	}
	end := t.nested
	if t.fallback > 0 && (end == 0 || t.fallback < end) {
		end = t.fallback
	}
	if end == 0 || !p.retry() {
		return false
	}
	why := "it is empty"
	for _, x := range parts {
		if x.err != nil {
			why = x.err.Error()
		}
	}
	t.inCall = false
	p.bad(end, why)
	return true
}

// endInString settles a call that ends with a tag which seemed to stand in a string, as it does where a string holds a
// line break and JSON is mended.
func (t *tagged) endInString(p *Parser) bool {
	if t.fallback == 0 {
		return false
	}
	parts := t.read(p, p.rest()[len(t.open):t.fallback-len(t.shut)], closingTag)
	if !goodPart(parts) || !p.retry() {
		return false
	}
	t.settle(p, parts, len(t.shut))
	return true
}

// breakOff settles a call that the text ends in. A body that is whole is a call, though flagged.
func (t *tagged) breakOff(p *Parser) {
	rest := p.rest()
	parts := t.read(p, rest[len(t.open):], endOfText)
	if t.endInString(p) || !goodPart(parts) && t.giveUp(p, parts) {
		return
	}
	p.noteOpenBlock(t.shut)
	if goodPart(parts) {
		p.noteRepairs(MissingClosingTag)
		t.settle(p, parts, 0)
		return
	}
	t.inCall = false
	p.bad(len(rest), "no "+t.shut)
}

func goodPart(parts []part) bool {
	for _, x := range parts {
		if x.call != nil {
			return true
		}
	}
	return false
}

// cutName takes a name off the front of a body, up to a mark.
func cutName(text []byte, mark string) (name string, rest []byte, found bool) {
	before, rest, found := bytes.Cut(text, []byte(mark))
	return string(bytes.TrimSpace(before)), rest, found
}
