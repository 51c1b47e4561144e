package mcp

import (
	"encoding/json"
	"fmt"
)

// Unlikely makes arguments that fit a tool's inputSchema and name nothing that is there: what a server answers to them
// shows how it says no. ok is false where the schema asks for what cannot be made up.
func Unlikely(inputSchema json.RawMessage) (arguments string, ok bool) {
	var s looseSchema
	if json.Unmarshal(inputSchema, &s) != nil {
		return "", false
	}
	v, ok := s.unlikely(0)
	if !ok {
		return "", false
	}
	if v == nil {
		v = map[string]any{}
	}
	text, err := json.Marshal(v)
	return string(text), err == nil
}

// looseSchema is the part of JSON Schema that arguments are made up from.
type looseSchema struct {
	Type       any                    `json:"type"`
	Properties map[string]looseSchema `json:"properties"`
	Required   []string               `json:"required"`
	Items      *looseSchema           `json:"items"`
	MinItems   int                    `json:"minItems"`
	Enum       []any                  `json:"enum"`
	Const      any                    `json:"const"`
	Minimum    *float64               `json:"minimum"`
	Maximum    *float64               `json:"maximum"`
	Pattern    string                 `json:"pattern"`
	Format     string                 `json:"format"`
	MaxLength  *int                   `json:"maxLength"`
	AnyOf      []looseSchema          `json:"anyOf"`
	OneOf      []looseSchema          `json:"oneOf"`
}

func (s looseSchema) unlikely(depth int) (any, bool) {
	const name = "hone-doctor-asks-for-what-is-not-there"
	switch {
	case depth > 8:
		return nil, false
	case s.Const != nil:
		return s.Const, true
	case len(s.Enum) > 0:
		return s.Enum[0], true
	case s.Type == nil && len(s.AnyOf)+len(s.OneOf) > 0:
		return append(s.AnyOf, s.OneOf...)[0].unlikely(depth + 1)
	}
	kind := fmt.Sprint(s.Type)
	if list, many := s.Type.([]any); many && len(list) > 0 {
		kind = fmt.Sprint(list[0])
	}
	switch kind {
	case "string":
		if s.Pattern != "" || s.Format != "" || s.MaxLength != nil && *s.MaxLength < len(name) {
			return nil, false
		}
		return name, true
	case "integer", "number":
		n := 987654321.0
		if s.Maximum != nil {
			n = min(n, *s.Maximum)
		}
		return n, s.Minimum == nil || n >= *s.Minimum
	case "boolean":
		return false, true
	case "null":
		return nil, true
	case "array":
		list := []any{}
		if s.Items == nil {
			return list, s.MinItems == 0
		}
		for range max(1, min(s.MinItems, 8)) {
			one, ok := s.Items.unlikely(depth + 1)
			if !ok {
				return list, s.MinItems == 0
			}
			list = append(list, one)
		}
		return list, true
	case "object", "<nil>":
		object := map[string]any{}
		for _, key := range s.Required {
			one, ok := s.Properties[key].unlikely(depth + 1)
			if !ok {
				return nil, false
			}
			object[key] = one
		}
		return object, true
	}
	return nil, false
}
