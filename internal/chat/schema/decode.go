package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// member is one name and value of an object, the value as written.
type member struct {
	name  string
	value jsontext.Value
}

// members reads text as exactly one JSON object and returns its members in order. jsontext refuses duplicate names
// and invalid UTF-8 at every depth, which encoding/json silently repairs.
func members(text string) ([]member, error) {
	d := jsontext.NewDecoder(strings.NewReader(text))
	if kind := d.PeekKind(); kind != '{' {
		if _, err := d.ReadValue(); err != nil {
			return nil, plain(err)
		}
		return nil, errors.New("must be a JSON object")
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, plain(err)
	}
	var all []member
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return nil, plain(err)
		}
		key := name.String() // the token is only valid until the next read
		value, err := d.ReadValue()
		if err != nil {
			return nil, plain(err)
		}
		all = append(all, member{name: key, value: value.Clone()})
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, plain(err)
	}
	if _, err := d.ReadToken(); err != io.EOF {
		return nil, errors.New("not JSON: text after the object")
	}
	return all, nil
}

// plain says what is wrong with the text without the decoder's own name.
func plain(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("not JSON: the text ends early")
	}
	return fmt.Errorf("not JSON: %s", strings.TrimPrefix(err.Error(), "jsontext: "))
}

// decodeObject returns the object as the validator wants it: numbers as json.Number.
func decodeObject(text string) (map[string]any, error) {
	if _, err := members(text); err != nil {
		return nil, err
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var object map[string]any
	if err := d.Decode(&object); err != nil {
		return nil, plain(err)
	}
	return object, finite(object)
}

// finite refuses numbers no float64 holds: servers read them as Infinity, and the validator's exact arithmetic would
// need memory in proportion to the exponent.
func finite(value any) error {
	switch v := value.(type) {
	case json.Number:
		if _, err := strconv.ParseFloat(v.String(), 64); err != nil {
			return fmt.Errorf("the number %.40s is out of range", v)
		}
		// A tiny number parses to 0 without an error but costs the validator as much as a huge one.
		if i := strings.IndexAny(v.String(), "eE"); i >= 0 {
			if exp, err := strconv.Atoi(v.String()[i+1:]); err != nil || exp < -400 {
				return fmt.Errorf("the number %.40s is out of range", v)
			}
		}
	case []any:
		for _, item := range v {
			if err := finite(item); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, item := range v {
			if err := finite(item); err != nil {
				return err
			}
		}
	}
	return nil
}

// Defaults adds to argument text the top-level properties it leaves out and for which the schema states a default,
// in the schema's order, so that f({}) and f({"n": 1}) compare equal where n defaults to 1. What the text holds is
// kept as written. The error says why args is not a JSON object; a schema that states no usable properties adds
// nothing.
func Defaults(inputSchema json.RawMessage, args string) (string, error) {
	given, err := members(args)
	if err != nil {
		return "", err
	}
	has := map[string]bool{}
	for _, m := range given {
		has[m.name] = true
	}
	for _, property := range propertiesOf(string(inputSchema)) {
		if has[property.name] {
			continue
		}
		if value, ok := find(property.value.String(), "default"); ok {
			given = append(given, member{property.name, value})
		}
	}
	var b strings.Builder
	b.WriteByte('{')
	for i, m := range given {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := jsontext.AppendQuote(nil, m.name)
		if err != nil {
			return "", err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(m.value)
	}
	b.WriteByte('}')
	return b.String(), nil
}

func propertiesOf(inputSchema string) []member {
	properties, ok := find(inputSchema, "properties")
	if !ok {
		return nil
	}
	all, err := members(properties.String())
	if err != nil {
		return nil
	}
	return all
}

func find(object, name string) (jsontext.Value, bool) {
	all, err := members(object)
	if err != nil {
		return nil, false
	}
	for _, m := range all {
		if m.name == name {
			return m.value, true
		}
	}
	return nil, false
}
