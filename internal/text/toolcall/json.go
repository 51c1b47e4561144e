package toolcall

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// call is one call as the wire holds it.
type call struct {
	id, name  string
	arguments string // a JSON object
	repairs   []Repair
}

// part is a stretch of a block: a call, an error, text that only looked like a call, or, with none of them, markup.
type part struct {
	size int
	call *call
	err  error
	text bool
}

// whole makes the one part of a block that is one call.
func whole(size int, c call, err error) []part {
	if err != nil {
		return []part{{size: size, err: err}}
	}
	return []part{{size: size, call: &c}}
}

// member is one member of a JSON object, its value as written.
type member struct {
	name  string
	value jsontext.Value
}

// members reads a JSON object strictly: a repeated key, invalid UTF-8, or anything behind it is an error.
func members(object string) ([]member, error) {
	dec := jsontext.NewDecoder(strings.NewReader(object))
	if kind := dec.PeekKind(); kind != '{' {
		if _, err := dec.ReadToken(); err != nil {
			return nil, jsonError(err)
		}
		return nil, errors.New("not a JSON object")
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, jsonError(err)
	}
	var out []member
	for dec.PeekKind() != '}' {
		key, err := dec.ReadToken()
		if err != nil {
			return nil, jsonError(err)
		}
		name := key.String()
		value, err := dec.ReadValue()
		if err != nil {
			return nil, jsonError(err)
		}
		out = append(out, member{name, bytes.Clone(value)})
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, jsonError(err)
	}
	if _, err := dec.ReadToken(); err != io.EOF {
		return nil, errors.New("something follows the JSON object")
	}
	return out, nil
}

// object reads a JSON object, mending it where the options allow that.
func (p *Parser) object(text []byte) (object string, all []member, kinds []Repair, err error) {
	object = string(bytes.TrimSpace(text))
	all, err = members(object)
	if err != nil && p.o.Repair {
		if mended, did, failed := RepairObject(string(text)); failed == nil {
			object, kinds = mended, did
			all, err = members(object)
		}
	}
	return object, all, kinds, err
}

// arguments reads the arguments of a call where they stand alone.
func (p *Parser) arguments(name string, text []byte) (call, error) {
	object, _, kinds, err := p.object(text)
	return call{name: name, arguments: object, repairs: kinds}, err
}

// jsonCall reads {"name": ..., KEY: {...}} where KEY is one of the keys.
func (p *Parser) jsonCall(text []byte, keys ...string) (c call, err error) {
	_, all, kinds, err := p.object(text)
	if err != nil {
		return call{}, err
	}
	c.repairs = kinds
	var arguments jsontext.Value
	for _, m := range all {
		switch {
		case m.name == "name":
			if c.name, err = unquote(m.value, `"name"`); err != nil {
				return call{}, err
			}
		case m.name == "id" && p.format.validID != nil && m.value.Kind() == '"':
			c.id, _ = unquote(m.value, `"id"`)
		case contains(keys, m.name) && arguments == nil:
			arguments = m.value
		case contains(keys, m.name):
			return call{}, errors.New("the arguments stand there twice")
		case m.name == "type" && string(m.value) == `"function"`: // Llama's prompt shows it
		default:
			c.repairs = append(c.repairs, IgnoredMember)
		}
	}
	if c.name == "" {
		return call{}, errors.New(`"name" is missing or empty`)
	}
	// they may stand there under another name
	value, more := string(arguments), contains(c.repairs, IgnoredMember)
	if p.o.Repair && !more && (value == "" || value == "null" || value == `""`) {
		c.repairs, c.arguments = append(c.repairs, MissingArguments), "{}"
		return c, nil
	}
	if arguments == nil {
		return call{}, fmt.Errorf("%q is missing", keys[0])
	}
	return c, p.setArguments(&c, arguments, keys[0])
}

// setArguments wants an object, and understands one that was serialised twice.
func (p *Parser) setArguments(c *call, value jsontext.Value, key string) error {
	if value.Kind() == '"' {
		text, err := unquote(value, key)
		if err != nil {
			return err
		}
		object, _, kinds, err := p.object([]byte(text))
		if err != nil {
			return fmt.Errorf("%q is not a JSON object", key)
		}
		c.arguments = object
		c.repairs = append(append(c.repairs, DoubleEncoded), kinds...)
		return nil
	}
	if value.Kind() != '{' {
		return fmt.Errorf("%q is not a JSON object", key)
	}
	c.arguments = string(value)
	return nil
}

func contains[T comparable](keys []T, name T) bool {
	for _, k := range keys {
		if k == name {
			return true
		}
	}
	return false
}

func unquote(value jsontext.Value, what string) (string, error) {
	if value.Kind() != '"' {
		return "", errors.New(what + " is not a string")
	}
	text, err := jsontext.AppendUnquote(nil, value)
	return string(text), err
}

// quote writes a JSON string; the text is valid UTF-8, or what is not is replaced.
func quote(text string) string {
	out, _ := jsontext.AppendQuote(nil, strings.ToValidUTF8(text, "\ufffd"))
	return string(out)
}

// jsonError drops the library's name from its messages: they are shown to the model.
func jsonError(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return errors.New("the JSON breaks off")
	}
	return errors.New(strings.TrimPrefix(err.Error(), "jsontext: "))
}

// jsonCalls reads the calls of a JSON array, each by itself, so that a bad one does not lose the others.
func (p *Parser) jsonCalls(text []byte, keys ...string) []part {
	var parts []part
	at := 0
	for at < len(text) {
		next := bytes.IndexByte(text[at:], '{')
		if next < 0 {
			break
		}
		if next > 0 {
			parts = append(parts, between(text[at:at+next], "[, \t\r\n"))
		}
		at += next
		s := scanner{at: at}
		end, ok := s.closingBracket(text, true)
		if !ok {
			end = len(text)
		}
		c, err := p.jsonCall(text[at:end], keys...)
		parts = append(parts, whole(end-at, c, err)...)
		at = end
	}
	if at < len(text) {
		parts = append(parts, between(text[at:], "[], \t\r\n"))
	}
	return parts
}

// between is what stands between calls: markup if it is nothing but the allowed bytes.
func between(text []byte, allowed string) part {
	if rest := bytes.Trim(text, allowed); len(rest) > 0 {
		return part{size: len(text), err: fmt.Errorf("not a call: %.40q", rest)}
	}
	return part{size: len(text)}
}
