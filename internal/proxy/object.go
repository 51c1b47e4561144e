package proxy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// member is one of a JSON object's: where its value stands in the text.
type member struct {
	name       string
	start, end int
}

func members(object []byte) (out []member, err error) {
	d := json.NewDecoder(bytes.NewReader(object))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.New("it is no JSON object")
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, err
		}
		end := int(d.InputOffset())
		out = append(out, member{fmt.Sprint(name), end - len(value), end})
	}
	_, err = d.Token()
	return out, err
}

// Get returns the value of a member of a JSON object, as it stands there; nil where there is none.
func Get(object []byte, name string) (value json.RawMessage, err error) {
	all, err := members(object)
	for _, m := range all {
		if m.name == name { // the last one counts, as for encoding/json
			value = object[m.start:m.end]
		}
	}
	return value, err
}

// With returns a JSON object with another value of one member. All other bytes stay as they are. A member that is not
// there is put at the end.
func With(object []byte, name string, value json.RawMessage) ([]byte, error) {
	all, err := members(object)
	if err != nil {
		return nil, err
	}
	var out []byte
	at, found := 0, false
	for _, m := range all {
		if m.name == name {
			out, at, found = append(append(out, object[at:m.start]...), value...), m.end, true
		}
	}
	if found {
		return append(out, object[at:]...), nil
	}
	quoted, err := json.Marshal(name)
	if err != nil {
		return nil, err
	}
	end := bytes.LastIndexByte(object, '}')
	out = append(out, object[:end]...)
	if len(all) > 0 {
		out = append(out, ',')
	}
	out = append(append(append(out, quoted...), ':'), value...)
	return append(out, object[end:]...), nil
}

// elements are those of a JSON array, each as it stands there.
func elements(array json.RawMessage) (out []json.RawMessage, err error) {
	return out, json.Unmarshal(array, &out)
}
