package bfcl

import (
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"
	"slices"

	"hone/internal/chat"
	"hone/internal/grade"
)

// Case is a line of input for calls that an episode made.
type Case struct {
	ID     string            `json:"id"`
	Tools  []chat.Tool       `json:"tools"`
	Gold   []json.RawMessage `json:"gold"`
	Output []Call            `json:"output"`
	Server string            `json:"server,omitempty"` // of the first gold call
}

// Call is a call of a Question.
type Call struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// Gold writes a scenario's gold call as one of BFCL's: each argument has its one value. One that is what the schema has
// as its default may be left out, or be given where gold leaves it out. defaults may be nil.
func Gold(gold chat.ToolCall, tools []chat.Tool, defaults grade.Defaults) (json.RawMessage, error) {
	v, err := Loads(gold.Arguments)
	if err != nil {
		return nil, fmt.Errorf("arguments of %s: %w", gold.Name, err)
	}
	given, ok := v.(*chat.Object)
	if !ok {
		return nil, fmt.Errorf("arguments of %s are not a JSON object", gold.Name)
	}
	accepted := &chat.Object{}
	for i := range given.Len() {
		name, value := given.At(i)
		accepted.Set(name, []any{oneValue(value, holdsObjects(gold.Name, name, tools))})
	}
	if defaults != nil {
		for name, text := range defaults(gold.Name) {
			value, err := Loads(string(text))
			if err != nil {
				return nil, fmt.Errorf("default of %s.%s: %w", gold.Name, name, err)
			}
			if v, ok := given.Get(name); !ok || reflect.DeepEqual(v, value) {
				accepted.Set(name, []any{oneValue(value, holdsObjects(gold.Name, name, tools)), ""})
			}
		}
	}
	return chat.AppendJSON(nil, chat.NewObject(gold.Name, accepted), chat.Format{Kind: func(v any) (any, bool) {
		n, ok := v.(*big.Int)
		return chat.Number(fmt.Sprint(n)), ok
	}})
}

// oneValue is the accepted value that is met by v alone: of an object, and of the objects of a list where the schema
// has such, each key has a list of accepted values.
func oneValue(v any, objects bool) any {
	switch v := v.(type) {
	case *chat.Object:
		out := &chat.Object{}
		for i := range v.Len() {
			key, value := v.At(i)
			out.Set(key, []any{value})
		}
		return out
	case []any:
		if objects {
			out := make([]any, len(v))
			for i := range v {
				out[i] = oneValue(v[i], false)
			}
			return out
		}
	}
	return v
}

// holdsObjects reports whether a tool's schema says that a parameter is a list of objects.
func holdsObjects(tool, parameter string, tools []chat.Tool) bool {
	at := slices.IndexFunc(tools, func(t chat.Tool) bool { return t.Name == tool })
	if at < 0 {
		return false
	}
	var schema struct {
		Properties map[string]struct {
			Items struct {
				Type any `json:"type"`
			} `json:"items"`
		} `json:"properties"`
	}
	_ = json.Unmarshal(tools[at].InputSchema, &schema) // what it does not hold is no such list
	return schema.Properties[parameter].Items.Type == "object"
}
