package toolcall

import (
	"bytes"
	"slices"
	"strings"
)

// maxHeader bounds what may stand between a mark and the bracket that begins the calls.
const maxHeader = 512

// verdict of what follows a mark.
type verdict int

const (
	undecided verdict = iota // more text is needed
	isText                   // the mark is text
	isBad                    // the mark begins a call that is none
	isCall                   // brackets with calls follow
)

// brackets is the machine of a form whose calls end where their brackets close.
type brackets struct {
	marks  []string
	first  string
	python bool
	// begin judges the text that begins with the mark, and says where the brackets begin.
	begin func(p *Parser, mark string, text []byte) (at int, v verdict)
	// body reads the text from the mark to the bracket that closes, which began at a place.
	body func(p *Parser, text []byte, at int) []part
	// frame is a mark that may stand alone behind the calls.
	frame string

	inCall bool
	start  int
	scan   scanner
}

// bracketFormats are the forms whose calls end where their brackets close.
func bracketFormats() []Format {
	llama := func() machine {
		return &brackets{marks: []string{"<|python_tag|>", "{"}, first: "<{", begin: beginLlama, body: llamaBody}
	}
	python := func() machine {
		return &brackets{
			marks:  []string{"<|python_start|>", "<|python_end|>", "["},
			first:  "<[",
			python: true,
			begin:  beginPython,
			frame:  "<|python_end|>",
			body: func(_ *Parser, text []byte, at int) []part {
				return append(markup(at), pythonCalls(text[at:], ",")...)
			},
		}
	}
	mistral := func() machine {
		return &brackets{marks: []string{mistralMark}, first: "[", begin: beginMistral, body: mistralBody}
	}
	phi := func() machine {
		return &brackets{
			marks: []string{"functools"},
			first: "f",
			begin: beginPhi,
			body: func(p *Parser, text []byte, at int) []part {
				return append(markup(at), p.jsonCalls(text[at:], "arguments", "parameters")...)
			},
		}
	}
	return []Format{
		{name: "llama3_json", also: []string{"llama4_json", "llama3"}, lead: 1, blank: space + ";", id: callID,
			machine: llama, frame: Frame{Open: nameKey, Middle: `", "parameters": `, Close: "}", Between: "; "},
			marks: []string{"{"}},
		{name: "pythonic", also: []string{"llama4_pythonic", "toolace"}, lead: 1, blank: space, id: callID,
			machine: python},
		{name: "mistral", also: []string{"mistral_v11", "devstral", "ministral"}, blank: space, id: nineDigits,
			validID: isNineAlphanumerics, machine: mistral, frame: Frame{Open: mistralMark, Middle: "[ARGS]"},
			marks: []string{mistralMark}},
		{name: "mistral_v3", also: []string{"mistral_v7", "mistral_nemo"}, blank: space, id: nineDigits,
			validID: isNineAlphanumerics, machine: mistral, frame: Frame{Open: mistralMark + "[" + nameKey,
				Middle: argumentsKey, Close: `, "id": "000000000"}]`},
			marks: []string{mistralMark}},
		{name: "phi4_mini", also: []string{"phi4_mini_json"}, blank: space, id: callID, machine: phi,
			frame: Frame{Open: "functools[" + nameKey, Middle: argumentsKey, Close: "}]"},
			marks: []string{"functools"}},
	}
}

// markup is the part in front of calls.
func markup(size int) []part {
	if size == 0 {
		return nil
	}
	return []part{{size: size}}
}

func (b *brackets) step(p *Parser, final bool) bool {
	if !b.inCall {
		mark, found := p.seek(b.marks, b.first, final)
		if !found {
			return false
		}
		if mark == b.frame {
			return b.settleFrame(p)
		}
		at, v := b.begin(p, mark, p.rest())
		switch {
		case v == undecided && final:
			return b.breakOff(p, mark)
		case v == undecided:
			return false
		case v == isText:
			p.text(len(mark))
			return true
		case v == isBad:
			p.bad(len(mark), "no call follows "+mark)
			return true
		}
		b.inCall, b.start = true, at
		b.scan = scanner{at: at, python: b.python}
	}
	rest := p.rest()
	end, ok := b.scan.closingBracket(rest, final)
	if !ok {
		if !final {
			return false
		}
		b.inCall = false
		return b.settleOpen(p, rest)
	}
	b.inCall = false
	p.block(0, b.body(p, rest[:end], b.start), 0)
	return true
}

// settleFrame drops a closing mark behind calls; elsewhere it is text.
func (b *brackets) settleFrame(p *Parser) bool {
	if p.afterCall {
		p.frame(len(b.frame))
		p.afterCall = true
	} else {
		p.text(len(b.frame))
	}
	return true
}

// breakOff settles a text that ends before it is clear whether a call began.
func (b *brackets) breakOff(p *Parser, mark string) bool {
	if len(mark) == 1 { // a bracket alone is a text's more often than a call's
		p.text(len(p.rest()))
		return true
	}
	p.noteOpenBlock("call behind " + mark)
	p.bad(len(p.rest()), "the call breaks off")
	return true
}

// settleOpen settles a text that ends inside the brackets. What can be read of it is a call, though flagged.
func (b *brackets) settleOpen(p *Parser, rest []byte) bool {
	p.noteOpenBlock("closing bracket")
	if parts := b.body(p, rest, b.start); goodPart(parts) {
		p.block(0, parts, 0)
		return true
	}
	p.bad(len(rest), "the call breaks off")
	return true
}

// skipSpace returns where the white space that begins at a place ends, or is too long to be a header's.
func skipSpace(text []byte, at int) int {
	for end := at + maxHeader; at < len(text) && at < end && isSpace(text[at]); {
		at++
	}
	return at
}

// bracketBehind looks for a bracket behind a mark of a given size and white space.
func bracketBehind(text []byte, size int, bracket byte) (int, verdict) {
	at := skipSpace(text, size)
	switch {
	case at == size+maxHeader:
		return 0, isBad
	case at == len(text):
		return 0, undecided
	case text[at] != bracket:
		return 0, isBad
	}
	return at, isCall
}

// beginLlama: behind <|python_tag|> an object must follow. An object in the text may be a call if its first key can be
// one of a call's.
func beginLlama(_ *Parser, mark string, text []byte) (int, verdict) {
	at := 0
	if mark != "{" {
		var v verdict
		if at, v = bracketBehind(text, len(mark), '{'); v != isCall {
			return 0, v
		}
	}
	key := skipSpace(text, at+1)
	found, partial := markAt(text[key:], []string{`"name"`, `"type"`, `"parameters"`, `"arguments"`, `"id"`, "'name'"})
	switch {
	case key > at+maxHeader:
		return 0, isText
	case found != "":
		return at, isCall
	case partial:
		return 0, undecided
	case mark != "{":
		return 0, isBad
	}
	return 0, isText
}

// llamaBody reads one object. Valid JSON in the text that has no arguments is what the text is about.
func llamaBody(p *Parser, text []byte, at int) []part {
	c, err := p.jsonCall(text[at:], "parameters", "arguments")
	if err != nil && at == 0 {
		if all, failed := members(string(text)); failed == nil && !slices.ContainsFunc(all, func(m member) bool {
			return m.name == "parameters" || m.name == "arguments"
		}) {
			return []part{{size: len(text), text: true}}
		}
	}
	return append(markup(at), whole(len(text)-at, c, err)...)
}

// beginPython: a list whose first element begins like a call, at the start of a line or behind <|python_start|>.
func beginPython(p *Parser, mark string, text []byte) (int, verdict) {
	at := 0
	if mark != "[" {
		var v verdict
		if at, v = bracketBehind(text, len(mark), '['); v != isCall {
			return 0, v
		}
	} else if !p.lineStart() {
		return 0, isText
	}
	r := pythonReader{cursor: cursor{text: text, at: at + 1}}
	r.space()
	name := r.word()
	next := r.peek()
	switch {
	case r.at > at+maxHeader:
		return 0, isText
	case next == 0 && r.at == len(text):
		return 0, undecided
	case name != "" && next == '(' && !isDigit([]byte(name)):
		return at, isCall
	}
	return 0, isText
}

// lineStart reports whether the text before the front is empty or ends a line.
func (p *Parser) lineStart() bool {
	return p.lead > 0 || p.afterCall || !p.inLine
}

const mistralMark = "[TOOL_CALLS]"

// beginMistral: an array of calls, or a name, perhaps a [CALL_ID] and [ARGS], and an object.
func beginMistral(_ *Parser, mark string, text []byte) (int, verdict) {
	header := text[len(mark):min(len(text), len(mark)+maxHeader)]
	if list := bytes.TrimLeft(header, space); len(list) > 0 && list[0] == '[' {
		return len(mark) + len(header) - len(list), isCall
	}
	at := bytes.IndexByte(header, '{')
	switch {
	case at < 0 && len(header) < maxHeader:
		return 0, undecided
	case at < 0:
		return 0, isBad
	}
	if name, _ := mistralHeader(header[:at]); !isName(name) {
		return 0, isBad
	}
	return len(mark) + at, isCall
}

// mistralHeader splits NAME[CALL_ID]ID[ARGS].
func mistralHeader(header []byte) (name, id string) {
	text := strings.TrimSuffix(strings.TrimSpace(string(header)), "[ARGS]")
	name, id, _ = strings.Cut(text, "[CALL_ID]")
	return strings.TrimSpace(name), id
}

func mistralBody(p *Parser, text []byte, at int) []part {
	if text[at] == '[' {
		return append(markup(at), p.jsonCalls(text[at:], "arguments")...)
	}
	name, id := mistralHeader(text[len(mistralMark):at])
	c, err := p.arguments(name, text[at:])
	c.id = id
	return whole(len(text), c, err)
}

// beginPhi: functools and an array.
func beginPhi(_ *Parser, mark string, text []byte) (int, verdict) {
	at, v := bracketBehind(text, len(mark), '[')
	if v != isCall {
		return 0, min(v, isText) // the word stands in many texts
	}
	next := skipSpace(text, at+1)
	switch {
	case next == at+1+maxHeader:
		return 0, isText
	case next == len(text):
		return 0, undecided
	case text[next] == '{':
		return at, isCall
	}
	return 0, isText
}
