package toolcall

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

// tagFormats are the forms whose calls stand between tags and hold JSON, or XML-like parameters.
func tagFormats() []Format {
	hermes := tags{open: "<tool_call>", shut: "</tool_call>", quoted: true, body: func(p *Parser, text []byte) []part {
		c, err := p.jsonCall(text, "arguments")
		return whole(len(text), c, err)
	}}
	coderParameters := parameters{open: "<parameter=", shut: "</parameter>", trim: true}
	minimaxParameters := parameters{open: "<parameter name=", shut: "</parameter>", quoted: true}
	coder := tags{section: []string{"<tool_call>"}, sectionEnd: []string{"</tool_call>"}, open: "<function=",
		shut: "</function>", value: coderParameters.marks(), body: coderParameters.body}
	minimax := tags{section: []string{"<minimax:tool_call>"}, sectionEnd: []string{"</minimax:tool_call>"},
		open: "<invoke name=", shut: "</invoke>", value: minimaxParameters.marks(), body: minimaxParameters.body}
	glm := tags{open: "<tool_call>", shut: "</tool_call>", value: valueMarks{"<arg_value>", "</arg_value>"},
		body: glmBody}
	return []Format{
		{
			name:    "hermes",
			also:    []string{"qwen2.5", "qwen3", "qwen3_json"},
			lead:    1,
			blank:   space,
			id:      callID,
			machine: newTagMachine(hermes),
			frame: Frame{Open: "<tool_call>\n" + nameKey, Middle: argumentsKey, Close: "}\n</tool_call>",
				Between: "\n"},
			marks: []string{"<tool_call>"},
		},
		{name: "qwen3_coder", also: []string{"qwen3_xml", "nemotron_v3"}, lead: 2, blank: space, id: callID,
			machine: newTagMachine(coder)},
		{name: "glm45", also: []string{"glm46", "glm47", "glm"}, lead: 1, blank: space, id: callID,
			machine: newTagMachine(glm)},
		{name: "minimax_m2", also: []string{"minimax"}, lead: 1, blank: space, id: callID,
			machine: newTagMachine(minimax)},
	}
}

const space = " \t\r\n"

// parameters is how a form writes <open NAME>VALUE<shut>.
type parameters struct {
	open, shut string
	quoted     bool // names are attributes and may have quotes
	trim       bool // a line break at each end of a value is markup
	marked     bool // string="true" marks values that are text
}

// marks are what values stand between.
func (x parameters) marks() valueMarks { return valueMarks{x.open, x.shut} }

// body reads NAME> and parameters.
func (x parameters) body(p *Parser, text []byte) []part {
	c, err := x.call(p, text)
	return whole(len(text), c, err)
}

func (x parameters) call(p *Parser, text []byte) (c call, err error) {
	header, rest, found := bytes.Cut(text, []byte(">"))
	if !found {
		return c, errors.New("the name has no end")
	}
	if c.name = x.unquote(string(header)); !isName(c.name) {
		return c, fmt.Errorf("%.60q is no name", header)
	}
	args := newArguments()
	for {
		rest = bytes.TrimLeft(rest, space)
		if len(rest) == 0 {
			c.arguments = args.object()
			return c, p.cutOff()
		}
		tail, ok := bytes.CutPrefix(rest, []byte(x.open))
		if !ok {
			return c, fmt.Errorf("not a parameter: %.40q", rest)
		}
		header, tail, found := bytes.Cut(tail, []byte(">"))
		if !found {
			return c, errors.New("a parameter's name has no end")
		}
		name, marked := x.attributes(string(header))
		if name == "" {
			return c, fmt.Errorf("%.60q is no parameter's name", header)
		}
		var value string
		if value, rest, err = x.value(p, tail, &c); err != nil {
			return c, err
		}
		if err := args.add(p.types.typedValue(c.name, name, value, marked, &c), name); err != nil {
			return c, err
		}
	}
}

// cutOff is an error where the text ends: parameters may be missing.
func (p *Parser) cutOff() error {
	if p.ending == endOfText {
		return errors.New("the call breaks off")
	}
	return nil
}

// value ends with the closing tag that a next parameter or the end of the call follows: another one is part of it, as
// any other tag is. A value without one ends where the next parameter begins, or with the call, where that is mended.
func (x parameters) value(p *Parser, text []byte, c *call) (value string, rest []byte, err error) {
	end, after := len(text), len(text)
	if at, found := closing(text, x.shut, x.open); found {
		end, after = at, at+len(x.shut)
	} else if _, behind, more := bytes.Cut(text, []byte(x.shut)); more {
		return "", nil, fmt.Errorf("something follows a parameter: %.40q", behind)
	}
	if at := x.next(p, text[:end], c.name); at >= 0 {
		end, after = at, at
	}
	if after == end {
		if p.ending != closingTag || !p.o.Repair {
			return "", nil, errors.New("no " + x.shut)
		}
		c.repairs = append(c.repairs, MissingClosingTag)
	}
	value = string(text[:end])
	if x.trim {
		value = strings.TrimSuffix(strings.TrimPrefix(value, "\n"), "\n")
	}
	return value, text[after:], nil
}

// next returns where a parameter of the tool begins within a value; -1 is nowhere. The tag of another name is text.
func (x parameters) next(p *Parser, text []byte, tool string) int {
	for at := 0; ; at++ {
		found := bytes.Index(text[at:], []byte(x.open))
		if found < 0 {
			return -1
		}
		at += found
		header, _, whole := bytes.Cut(text[at+len(x.open):], []byte(">"))
		if name, _ := x.attributes(string(header)); !whole || !p.types.foreign(tool, name) {
			return at
		}
	}
}

// closing finds the first closing tag behind which, but for white space, nothing more stands or a next value's tag.
func closing(text []byte, shut, next string) (int, bool) {
	for at := 0; ; at++ {
		found := bytes.Index(text[at:], []byte(shut))
		if found < 0 {
			return 0, false
		}
		at += found
		if rest := bytes.TrimLeft(text[at+len(shut):], space); len(rest) == 0 || bytes.HasPrefix(rest, []byte(next)) {
			return at, true
		}
	}
}

// attributes reads a parameter's name and what string="..." says of it.
func (x parameters) attributes(header string) (name, marked string) {
	if x.marked {
		if before, after, ok := strings.Cut(header, " string="); ok {
			header, marked = before, x.unquote(after)
		}
	}
	return x.unquote(header), marked
}

func (x parameters) unquote(text string) string {
	text = strings.TrimSpace(text)
	if n := len(text); x.quoted && n >= 2 && text[0] == text[n-1] && (text[0] == '"' || text[0] == '\'') {
		return text[1 : n-1]
	}
	return text
}

// isName reports whether a text may be the name of a tool: nothing but what servers allow in one.
func isName(text string) bool {
	return text != "" && len(text) <= 256 && !strings.ContainsAny(text, " \t\r\n<>{}[]()\"'`=,;|") &&
		strings.ToValidUTF8(text, "") == text
}

// glmBody reads a name and pairs of <arg_key> and <arg_value>; line breaks between them are markup.
func glmBody(p *Parser, text []byte) []part {
	c, err := glmCall(p, text)
	return whole(len(text), c, err)
}

func glmCall(p *Parser, text []byte) (c call, err error) {
	at := bytes.Index(text, []byte("<arg_key>"))
	if at < 0 {
		at = len(text)
	}
	c.name = string(bytes.TrimSpace(text[:at]))
	if !isName(c.name) {
		return c, fmt.Errorf("%.60q is no name", c.name)
	}
	args := newArguments()
	for rest := text[at:]; ; {
		rest = bytes.TrimLeft(rest, space)
		if len(rest) == 0 {
			c.arguments = args.object()
			return c, p.cutOff()
		}
		var name, value string
		if name, rest, err = cutTags(rest, "<arg_key>", "</arg_key>"); err != nil {
			return c, err
		}
		if value, rest, err = glmValue(p, bytes.TrimLeft(rest, space), &c); err != nil {
			return c, err
		}
		name = strings.TrimSpace(name)
		if err := args.add(p.types.typedValue(c.name, name, value, "", &c), name); err != nil {
			return c, err
		}
	}
}

// glmValue takes a value off the front, which ends with the tag that a next key or the end of the call follows. A value
// without one ends where a next argument begins, where that is mended.
func glmValue(p *Parser, text []byte, c *call) (string, []byte, error) {
	inner, ok := bytes.CutPrefix(text, []byte("<arg_value>"))
	if !ok {
		return cutTags(text, "<arg_value>", "</arg_value>")
	}
	end, found := closing(inner, "</arg_value>", "<arg_key>")
	if !found {
		return "", nil, errors.New("no </arg_value> behind a value, with a key or the end of the call after it")
	}
	if next := glmArgument(p, inner[:end], c.name); next >= 0 {
		if !p.o.Repair {
			return "", nil, errors.New("no </arg_value>")
		}
		c.repairs = append(c.repairs, MissingClosingTag)
		return string(inner[:next]), inner[next:], nil
	}
	return string(inner[:end]), inner[end+len("</arg_value>"):], nil
}

// glmArgument returns where an argument of the tool begins within a value; -1 is nowhere. The key of another one is
// text.
func glmArgument(p *Parser, text []byte, tool string) int {
	for at := 0; ; at++ {
		found := bytes.Index(text[at:], []byte("<arg_key>"))
		if found < 0 {
			return -1
		}
		at += found
		key, rest, err := cutTags(text[at:], "<arg_key>", "</arg_key>")
		if err == nil && bytes.HasPrefix(bytes.TrimLeft(rest, space), []byte("<arg_value>")) &&
			!p.types.foreign(tool, strings.TrimSpace(key)) {
			return at
		}
	}
}

// cutTags takes <open>TEXT<shut> off the front.
func cutTags(text []byte, open, shut string) (string, []byte, error) {
	inner, ok := bytes.CutPrefix(text, []byte(open))
	if !ok {
		return "", nil, fmt.Errorf("no %s at %.40q", open, text)
	}
	value, rest, ok := bytes.Cut(inner, []byte(shut))
	if !ok {
		return "", nil, errors.New("no " + shut)
	}
	return string(value), rest, nil
}

// arguments collects the members of an object; a repeated one is an error.
type arguments struct {
	out  []byte
	seen map[string]bool
}

func newArguments() *arguments { return &arguments{out: []byte{'{'}, seen: map[string]bool{}} }

func (a *arguments) add(value, name string) error {
	if a.seen[name] {
		return fmt.Errorf("the argument %q stands there twice", name)
	}
	if len(a.out) > 1 {
		a.out = append(a.out, ", "...)
	}
	a.seen[name] = true
	a.out = append(a.out, quote(name)+": "+value...)
	return nil
}

func (a *arguments) object() string { return string(a.out) + "}" }
