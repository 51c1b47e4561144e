package toolcall

import (
	"bytes"

	"hone/internal/text/toolcall/repair"
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
	quoted     bool // between the tags is JSON, and a tag in one of its strings is text
	optional   bool // the section's tags may be missing without being noted
	// body reads what stands between the tags.
	body func(p *Parser, text []byte) []part
}

// tagged is the machine of such a form.
type tagged struct {
	tags
	outer  []string // marks outside a call
	first  string
	inner  []string // marks inside a call
	within string   // the closing tag of the section we are in; empty outside
	look   int      // how far there is only space behind a section's opening tag
	inCall bool

	quotes   scanner
	found    bool
	nested   int // where the first opening tag stands inside the call; 0 is none
	fallback int // behind the first closing tag inside a string; 0 is none
}

func newTagged(t tags) func() machine {
	return func() machine {
		outer := append([]string{t.open}, t.section...)
		outer = append(outer, t.sectionEnd...)
		return &tagged{tags: t, outer: outer, first: firsts(outer), inner: []string{t.shut, t.open}}
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
			p.unterminated(t.within)
			t.within = ""
		}
		return false
	case mark == t.open:
		if t.within == "" && len(t.section) > 0 && !t.optional {
			p.repaired(repair.MissingOuterTag)
		}
		t.inCall = true
		t.quotes, t.nested, t.fallback = scanner{}, 0, 0
		p.scan = len(t.open)
		t.quotes.at = len(t.open)
		return true
	case mark == t.within:
		p.frame(len(mark))
		p.afterCall = true
		t.within = ""
		return true
	}
	return t.readSection(p, mark, final)
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
			p.unterminated(t.sectionEnd[i])
		}
		p.bad(len(mark), "no call follows "+mark)
		return true
	}
	if t.within != "" {
		p.repaired(repair.MissingClosingTag)
	}
	t.within = t.sectionEnd[i]
	p.frame(len(mark))
	p.afterCall = true
	return true
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// readCall looks for the end of a call and settles it.
func (t *tagged) readCall(p *Parser, final bool) bool {
	for {
		rest := p.rest()
		at, mark := t.nextMark(p, rest)
		switch {
		case mark == t.shut:
			t.endCall(p, at)
			return true
		case mark == t.open:
			if t.nested == 0 {
				t.nested = at
				// A call may lack its closing tag, or speak of the tag.
				if parts := t.body(p, rest[len(t.open):at]); goodPart(parts) && p.retry() {
					p.repaired(repair.MissingClosingTag)
					p.block(len(t.open), parts, 0)
					t.inCall = false
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

// endCall settles the call whose closing tag stands at a place.
func (t *tagged) endCall(p *Parser, at int) {
	t.inCall = false
	parts := t.body(p, p.rest()[len(t.open):at])
	if !goodPart(parts) && t.giveUp(p, parts) {
		return
	}
	p.block(len(t.open), parts, len(t.shut))
}

// giveUp settles as little of a bad call as can be, so that a good one behind it is found.
func (t *tagged) giveUp(p *Parser, parts []part) bool {
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

// breakOff settles a call that the text ends in. A body that is whole is a call, though flagged.
func (t *tagged) breakOff(p *Parser) {
	rest := p.rest()
	parts := t.body(p, rest[len(t.open):])
	if !goodPart(parts) && t.giveUp(p, parts) {
		return
	}
	t.inCall = false
	p.unterminated(t.shut)
	if goodPart(parts) {
		p.repaired(repair.MissingClosingTag)
		p.block(len(t.open), parts, 0)
		return
	}
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
