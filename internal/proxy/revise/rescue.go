package revise

import (
	"regexp"
	"strings"

	"hone/internal/chat"
	"hone/internal/text/toolcall"
)

// emptyFence is what is left of a fence whose call was taken out.
var emptyFence = regexp.MustCompile("```(?:json|JSON|tool_call)?\\s*```")

// maxRescue bounds the text in which calls are looked for, in bytes.
const maxRescue = 1 << 16

// rescue finds calls that a model wrote into its text: in the form of any family, or as a bare JSON object. Only a call
// that names a tool, or nearly so, is one: other JSON is an answer.
func (f *Fixer) rescue(text string) (content string, calls []chat.ToolCall, changes []Change) {
	if len(text) > maxRescue || !strings.ContainsAny(text, "{[(<") {
		return text, nil, nil
	}
	for _, format := range toolcall.All() {
		r := format.Parse(text, toolcall.Options{Repair: true, Tools: f.list})
		if len(r.Calls) == 0 || r.Err != "" || !f.allHaveTools(r.Calls) {
			continue
		}
		return strings.TrimSpace(emptyFence.ReplaceAllString(r.Content, "")), r.Calls, changesOf(r.Repairs)
	}
	object, kinds, err := toolcall.RepairObject(text)
	if err != nil {
		return text, nil, nil
	}
	call, ok := callOf(object)
	if !ok || !f.hasTool(call.Name) {
		return text, nil, nil
	}
	call.ID = "call_0"
	before, _, _ := strings.Cut(text, "{")
	return strings.TrimSpace(
		strings.TrimSuffix(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(before), "```json")), "```"),
	), []chat.ToolCall{call}, changesOf(kinds)
}

func changesOf(kinds []toolcall.Repair) []Change {
	changes := []Change{{Kind: Rescued}}
	for _, k := range kinds {
		changes = append(changes, Change{Kind: string(k)})
	}
	return changes
}

func (f *Fixer) hasTool(name string) bool {
	if _, known := f.tools[name]; known {
		return true
	}
	_, ok := f.near(name)
	return ok
}

func (f *Fixer) allHaveTools(calls []chat.ToolCall) bool {
	for _, c := range calls {
		if !f.hasTool(c.Name) {
			return false
		}
	}
	return true
}

// callOf reads a call in the words that models have for its parts: {"name", "arguments"}, {"tool", "parameters"},
// {"function": {...}}.
func callOf(object string) (call chat.ToolCall, ok bool) {
	v, err := chat.Decode([]byte(object), chat.DecodeOptions{})
	if err != nil {
		return call, false
	}
	o, _ := v.(*chat.Object)
	if inner, there := o.Get("function"); there {
		if below, isObject := inner.(*chat.Object); isObject {
			o = below
		}
	}
	for _, key := range []string{"name", "tool", "tool_name", "function", "action"} {
		if name, there := o.Get(key); there && call.Name == "" {
			call.Name, _ = name.(string)
		}
	}
	call.Arguments = "{}"
	for _, key := range []string{"arguments", "args", "parameters", "params", "input", "action_input"} {
		switch value, _ := o.Get(key); value := value.(type) {
		case *chat.Object:
			text, err := chat.AppendJSON(nil, value, chat.Format{KeepNumbers: true})
			call.Arguments = string(text)
			return call, err == nil && call.Name != ""
		case string:
			call.Arguments = value
			return call, call.Name != ""
		}
	}
	return call, call.Name != "" && o.Len() == 1
}

// looksLikeCall reports whether a text that holds no call begins one: by a tag of a family, or by a tool's name at the
// head of an object.
func looksLikeCall(text string, names []string) bool {
	for _, tag := range []string{"<tool_call", "[TOOL_CALLS]", "<function=", "<|tool_call", "<|python_tag|>"} {
		if strings.Contains(text, tag) {
			return true
		}
	}
	rest := strings.TrimLeft(text, " \n\t`[")
	rest = strings.TrimPrefix(rest, "json\n")
	if !strings.HasPrefix(strings.TrimSpace(rest), "{") {
		return false
	}
	for _, name := range names {
		if strings.Contains(rest, `"`+name+`"`) {
			return true
		}
	}
	return false
}
