package tasks

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"hone/internal/fault"
)

// fields reads a JSON object into out, and counts the members whose names are not among known, which are those of the
// object and, as "meta_data.stateUrl", of objects in it. at stands before their names.
func (r *reader) fields(at string, data []byte, out any, known ...string) error {
	var object map[string]json.RawMessage
	if err := fault.JSON(json.Unmarshal(data, &object)); err != nil {
		return err
	}
	if object == nil {
		return fmt.Errorf("it is null, not an object")
	}
	r.count(at, object, known)
	return fault.JSON(json.Unmarshal(data, out))
}

func (r *reader) count(at string, object map[string]json.RawMessage, known []string) {
	for name, value := range object {
		if !slices.Contains(known, name) {
			r.Unknown[at+name]++
			continue
		}
		var inner []string
		for _, k := range known {
			if rest, ok := strings.CutPrefix(k, name+"."); ok {
				inner = append(inner, rest)
			}
		}
		var nested map[string]json.RawMessage
		if len(inner) > 0 && json.Unmarshal(value, &nested) == nil {
			r.count(at+name+".", nested, inner)
		}
	}
}
