package toolcall

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

// maxDepth bounds values in values where we read them ourselves.
const maxDepth = 128

// gemma is the form of FunctionGemma and Gemma 4, which differ in their tags and in the mark around strings:
//
//	<|tool_call>call:name{key:<|"|>text<|"|>,n:1,list:[true]}<tool_call|>
//
// A string cannot hold its own mark. Keys stand in the order of Jinja's dictsort, as the vendor's templates write them.
type gemma struct{ open, shut, quote string }

func (g gemma) tags() tags {
	return tags{open: g.open, shut: g.shut, value: valueMarks{g.quote, g.quote}, body: g.body}
}

func (g gemma) body(p *Parser, text []byte) []part {
	c, err := g.call(p, text)
	return whole(len(text), c, err)
}

func (g gemma) call(p *Parser, text []byte) (c call, err error) {
	rest, ok := bytes.CutPrefix(bytes.TrimSpace(text), []byte("call:"))
	at := bytes.IndexByte(rest, '{')
	if !ok || at < 0 {
		return c, errors.New("not call:NAME{...}")
	}
	if c.name = string(bytes.TrimSpace(rest[:at])); !isName(c.name) {
		return c, fmt.Errorf("%.60q is no name", c.name)
	}
	r := gemmaReader{gemma: g, cursor: cursor{text: rest, at: at}, p: p, c: &c}
	if c.arguments, err = r.object(0); err != nil {
		return c, err
	}
	if tail := bytes.TrimSpace(r.text[r.at:]); len(tail) > 0 {
		return c, fmt.Errorf("something follows the arguments: %.40q", tail)
	}
	return c, nil
}

// gemmaReader turns the arguments into JSON.
type gemmaReader struct {
	gemma
	cursor
	p *Parser
	c *call
}

// str reads a marked string; false where none stands here.
func (r *gemmaReader) str() (text string, ok bool, err error) {
	rest, ok := bytes.CutPrefix(r.text[r.at:], []byte(r.quote))
	if !ok {
		return "", false, nil
	}
	end := bytes.Index(rest, []byte(r.quote))
	if end < 0 {
		return "", true, errors.New("a string does not end")
	}
	r.at += len(r.quote) + end + len(r.quote)
	return string(rest[:end]), true, nil
}

func (r *gemmaReader) object(depth int) (string, error) {
	if depth > maxDepth {
		return "", errors.New("too many values in values")
	}
	args := newArguments()
	r.at++
	for first := true; ; first = false {
		if r.peek() == '}' {
			r.at++
			return args.object(), nil
		}
		if !first {
			if r.peek() != ',' {
				return "", errors.New("no comma between arguments")
			}
			r.at++
			r.space()
		}
		name, quoted, err := r.str()
		if err != nil {
			return "", err
		}
		end := bytes.IndexByte(r.text[r.at:], ':')
		if end < 0 {
			return "", errors.New("an argument has no value")
		}
		if !quoted {
			name = string(bytes.TrimSpace(r.text[r.at : r.at+end]))
			if _, err := bareKey(name); err != nil {
				return "", fmt.Errorf("%.40q is no key", name)
			}
		} else if len(bytes.TrimSpace(r.text[r.at:r.at+end])) > 0 {
			return "", errors.New("no colon behind a key")
		}
		r.at += end + 1
		parameter := ""
		if depth == 0 {
			parameter = name
		}
		value, err := r.value(parameter, depth)
		if err != nil {
			return "", err
		}
		if err := args.add(value, name); err != nil {
			return "", err
		}
	}
}

// value reads a value; parameter names the argument it is the value of, if it is one.
func (r *gemmaReader) value(parameter string, depth int) (string, error) {
	switch r.peek() {
	case 0:
		return "", errors.New("a value is missing")
	case '{':
		return r.object(depth + 1)
	case '[':
		return r.array(depth + 1)
	}
	if text, ok, err := r.str(); ok {
		return quote(text), err
	}
	end := bytes.IndexAny(r.text[r.at:], ",}]")
	if end < 0 {
		end = len(r.text) - r.at
	}
	word := string(bytes.TrimSpace(r.text[r.at : r.at+end]))
	if word == "" {
		return "", errors.New("a value is missing")
	}
	r.at += end
	value := r.p.types.typedValue(r.c.name, parameter, word, "", r.c)
	if value[0] == '"' {
		r.c.repairs = append(r.c.repairs, UnquotedString)
	}
	return value, nil
}

func (r *gemmaReader) array(depth int) (string, error) {
	if depth > maxDepth {
		return "", errors.New("too many values in values")
	}
	out := []byte{'['}
	r.at++
	for {
		if r.peek() == ']' {
			r.at++
			return string(append(out, ']')), nil
		}
		if len(out) > 1 {
			if r.peek() != ',' {
				return "", errors.New("no comma between values")
			}
			r.at++
			out = append(out, ", "...)
		}
		value, err := r.value("", depth)
		if err != nil {
			return "", err
		}
		out = append(out, value...)
	}
}

// bareKey is for forms that write keys without quotes.
func bareKey(name string) (string, error) {
	if name == "" || strings.ContainsAny(name, ":,{}[]<>|\"'` \t\r\n") {
		return "", errors.New("this form cannot carry an argument called " + quote(name))
	}
	return name, nil
}
