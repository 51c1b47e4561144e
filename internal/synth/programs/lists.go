package programs

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
)

// Listing is a list of things within what a server shows, by the key that leads to it; "" for a text that is a list.
type Listing struct {
	Name    string
	Records []Record
}

// Listings are all lists of objects in a JSON text, or in Python's, and the table that lines make, with a header or
// behind ids.
func Listings(text string) (all []Listing) {
	text = strings.TrimSpace(text)
	value := []byte(text)
	if joined, ok := Joined(text); ok {
		value = joined
	}
	if !json.Valid(value) {
		translated, ok := pythonToJSON(text)
		if !ok {
			if name, records := fromOutline(text); len(records) > 0 {
				return []Listing{{name, records}}
			}
			if records := fromLines(text); len(records) > 0 {
				return []Listing{{"", records}}
			}
			return nil
		}
		value = translated
	}
	var walk func(name string, value []byte)
	walk = func(name string, value []byte) {
		value = bytes.TrimSpace(value)
		switch {
		case len(value) > 0 && value[0] == '[':
			if records := fromJSON(value); len(records) > 0 {
				all = append(all, Listing{name, records})
			}
		case len(value) > 0 && value[0] == '{':
			d := json.NewDecoder(bytes.NewReader(value))
			_, _ = d.Token() // the brace just seen
			for d.More() {
				key, err := d.Token()
				var inner json.RawMessage
				if err != nil || d.Decode(&inner) != nil {
					return
				}
				walk(key.(string), inner)
			}
		}
	}
	walk("", value)
	return all
}

// Joined is the JSON list of objects that stand one behind the other, as FastMCP shows a list: each in a text of its
// own.
func Joined(text string) (list []byte, ok bool) {
	if !strings.HasPrefix(text, "{") {
		return nil, false
	}
	d := json.NewDecoder(strings.NewReader(text))
	var all []json.RawMessage
	for {
		var one json.RawMessage
		if err := d.Decode(&one); errors.Is(err, io.EOF) {
			break
		} else if err != nil || one[0] != '{' {
			return nil, false
		}
		all = append(all, one)
	}
	if len(all) < 2 {
		return nil, false
	}
	list, err := json.Marshal(all)
	return list, err == nil
}
