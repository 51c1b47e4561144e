package mcpbench

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"hone/internal/chat/schema"
)

// Tool is one that could be called.
type Tool struct {
	Name        string // as the model calls it
	Server      string
	InputSchema json.RawMessage
}

// Tools are all that could be called.
type Tools map[string]tool

type tool struct {
	server      string
	schemaless  bool           // Python takes its schema for none
	python, own *schema.Schema // as Python's jsonschema reads it, and as it is
}

// NewTools compiles their schemas.
func NewTools(list []Tool) Tools {
	all := Tools{}
	for _, t := range list {
		all[t.Name] = tool{server: t.Server, schemaless: falsy(t.InputSchema),
			python: schema.Compile(asPython(t.InputSchema)), own: schema.Compile(t.InputSchema)}
	}
	return all
}

// falsy reports whether Python takes a JSON value for false: the evaluator then takes a tool for one without a schema.
func falsy(raw json.RawMessage) bool {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return len(bytes.TrimSpace(raw)) == 0
	}
	switch v := v.(type) {
	case nil:
		return true
	case bool:
		return !v
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return v == "" || v == 0.0
}

// drafts are those whose $schema Python's jsonschema knows; another is taken for the newest.
func drafts() []string {
	return []string{
		"http://json-schema.org/draft-03/schema", "http://json-schema.org/draft-04/schema",
		"http://json-schema.org/draft-06/schema",
		"http://json-schema.org/draft-07/schema", "https://json-schema.org/draft/2019-09/schema",
		"https://json-schema.org/draft/2020-12/schema",
	}
}

// asPython is a schema that our validator reads as jsonschema.validate reads the given one: of no draft is "format"
// asserted, an unknown $schema is none, and a $ at the end of a pattern lets a line end follow. Some rare things stay
// different: a $ref into another document makes the whole schema unusable here, there only what comes to it; multipleOf
// is exact here, there by division of floats; and in patterns \d is a digit of ASCII here, there of any script.
func asPython(raw json.RawMessage) json.RawMessage {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return raw
	}
	if object, ok := v.(map[string]any); ok {
		if name, ok := object["$schema"].(string); ok && !slices.Contains(drafts(), strings.TrimSuffix(name, "#")) {
			delete(object, "$schema")
		}
	}
	text, err := json.Marshal(likePython(v))
	if err != nil {
		return raw
	}
	return text
}

func likePython(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			text, isText := value.(string)
			switch {
			case key == "format" && isText:
				delete(v, key)
			case key == "pattern" && isText && strings.HasSuffix(text, "$") && !strings.HasSuffix(text, `\$`):
				v[key] = strings.TrimSuffix(text, "$") + `\n?$`
			case key != "const" && key != "enum" && key != "default" && key != "examples":
				// which hold values, not schemas
				v[key] = likePython(value)
			}
		}
	case []any:
		for i := range v {
			v[i] = likePython(v[i])
		}
	}
	return v
}

// compliant is what the evaluator finds of a call of t: an exception of the validator, whatever its cause, counts as
// "no".
func (t tool) compliant(arguments string) bool {
	if t.schemaless {
		return true
	}
	verdict, _ := t.python.Validate(lastKeys(arguments))
	return verdict == schema.Valid
}

// lastKeys is a JSON text read as Python does: of repeated keys the last counts. What is no JSON is left as it is.
func lastKeys(text string) string {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil || d.More() {
		return text
	}
	again, err := json.Marshal(v)
	if err != nil {
		return text
	}
	return string(again)
}
