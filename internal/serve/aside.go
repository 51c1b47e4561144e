package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"

	"hone/internal/chat"
	"hone/internal/fault"
	"hone/internal/run/metrics"
)

// LeftAside is the header that names what of a request was not taken though it was answered, such as tools that a
// provider has at its own side, and what was said of them.
const LeftAside = "X-Hone-Left-Aside"

// mostAside bounds the things that one answer, and the log and the metrics in all, name.
const mostAside = 50

// tools are those of a request. Agents send, beside their own functions, tools that only a provider has, such as a
// search of the web: a model that is told of functions alone can do without, and those are left aside.
type tools []tool

// UnmarshalJSON implements json.Unmarshaler.
func (t *tools) UnmarshalJSON(raw []byte) error {
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return errors.New("tools is no list")
	}
	*t = nil
	for i, item := range list {
		var of struct{ Type string }
		if json.Unmarshal(item, &of) == nil && of.Type != "" && of.Type != "function" {
			continue
		}
		var one tool
		if err := json.Unmarshal(item, &one); err != nil {
			return fmt.Errorf("tools[%d]: %w", i, fault.JSON(err))
		}
		*t = append(*t, one)
	}
	return nil
}

// messageList are the messages of a request; an error names the one.
type messageList []chat.Message

// UnmarshalJSON implements json.Unmarshaler.
func (l *messageList) UnmarshalJSON(raw []byte) error {
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return errors.New("messages is no list")
	}
	*l = make(messageList, len(list))
	for i, item := range list {
		if err := json.Unmarshal(item, &(*l)[i]); err != nil {
			return fmt.Errorf("messages[%d]: %w", i, fault.JSON(err))
		}
	}
	return nil
}

// The shapes tell, of types that read their JSON themselves, which fields they read.
type (
	messageShape struct {
		Role       string      `json:"role"`
		Content    []partShape `json:"content"`
		Refusal    string      `json:"refusal"`
		Thought    string      `json:"reasoning_content"`
		Reasoning  string      `json:"reasoning"`
		Thinking   string      `json:"thinking"`
		ToolCalls  []callShape `json:"tool_calls"`
		ToolCallID string      `json:"tool_call_id"`
		Name       string      `json:"name"`
	}
	partShape struct {
		Type      string `json:"type"`
		Text      string `json:"text"`
		Refusal   string `json:"refusal"`
		Thinking  string `json:"thinking"`
		Reasoning string `json:"reasoning"`
	}
	callShape struct {
		Type     string        `json:"type"`
		Function functionShape `json:"function"`
	}
	toolShape struct {
		Type     string        `json:"type"`
		Function functionShape `json:"function"`
		functionShape
	}
	functionShape struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
		Arguments   json.RawMessage `json:"arguments"`
		Strict      bool            `json:"strict"`
	}
	itemShape struct {
		inputItem
		Content []partShape `json:"content"`
		Output  []partShape `json:"output"`
	}
)

// shapeOf is the type whose fields are those that a type reads.
func shapeOf(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t {
	case reflect.TypeFor[chat.Message]():
		return reflect.TypeFor[messageShape]()
	case reflect.TypeFor[tool]():
		return reflect.TypeFor[toolShape]()
	case reflect.TypeFor[inputItem]():
		return reflect.TypeFor[itemShape]()
	}
	return t
}

// kindsOf are the kinds that are read of values which have a type, and what another one is called; none of other
// values.
func kindsOf(t reflect.Type) (noun string, kinds []string) {
	switch t {
	case reflect.TypeFor[toolShape]():
		return "tool", []string{"function"}
	case reflect.TypeFor[anthropicTool]():
		return "tool", []string{"custom"}
	case reflect.TypeFor[itemShape]():
		return "item", []string{"message", "reasoning", "function_call", "function_call_output"}
	case reflect.TypeFor[anthropicBlock]():
		return "part", []string{"text", "thinking", "tool_use", "tool_result"}
	case reflect.TypeFor[partShape]():
		return "part", []string{"text", "input_text", "output_text", "reasoning_text", "refusal", "thinking",
			"reasoning"}
	}
	return "", nil
}

// deepest bounds how far into a request is looked: no dialect has a field that is read behind.
const deepest = 12

// unread counts what of a JSON value has no place in the type that it is read into, and says something.
func unread(raw json.RawMessage, t reflect.Type, at string, depth int, aside fault.Asides) {
	t = shapeOf(t)
	var object map[string]json.RawMessage
	switch {
	case depth == deepest:
	case t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8:
		var list []json.RawMessage
		_ = json.Unmarshal(raw, &list) // what is none, such as a text in place of parts, has no fields
		for i, item := range list {
			unread(item, t.Elem(), fmt.Sprintf("%s[%d]", at, i), depth+1, aside)
		}
	case t.Kind() == reflect.Struct && json.Unmarshal(raw, &object) == nil:
		if kind := otherKind(object, t); kind != "" {
			aside.Add(kind, "at "+at)
			return
		}
		fields := fieldsOf(t)
		for _, name := range slices.Sorted(maps.Keys(object)) {
			of, known := fields[strings.ToLower(name)]
			if of == reflect.TypeFor[string]() && bytes.IndexByte([]byte("{["), object[name][0]) >= 0 {
				known = false // such as the reasoning of some endpoints, which is read where it is a text
			}
			switch {
			case known:
				unread(object[name], of, strings.TrimPrefix(at+"."+name, "."), depth+1, aside)
			case at != "" && saysMore(name, object[name]): // at the top checkFields looks
				aside.Add(fmt.Sprintf("the field %.60s", name), "at "+at)
			}
		}
	}
}

// otherKind says what an object is whose kind is not read, "" where it is.
func otherKind(object map[string]json.RawMessage, t reflect.Type) string {
	noun, kinds := kindsOf(t)
	var kind, name string
	if noun == "" || json.Unmarshal(object["type"], &kind) != nil || kind == "" || slices.Contains(kinds, kind) {
		return ""
	}
	if json.Unmarshal(object["name"], &name) == nil && name != "" {
		noun += " " + name
	}
	return fmt.Sprintf("the %.80s of type %.60s", noun, kind)
}

// fieldsOf are a struct's, by the names of their JSON in small letters, as json.Unmarshal takes names in any.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	out := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			name = f.Name
		}
		if !f.Anonymous {
			out[strings.ToLower(name)] = f.Type
		}
	}
	return out
}

// saysMore reports whether a field says anything: what is empty or off does not, nor does what an answer's parts are
// numbered with, when they are sent back.
func saysMore(name string, value json.RawMessage) bool {
	return !slices.Contains([]string{"id", "index", "status"}, name) &&
		!slices.Contains([]string{"null", "false", "0", `""`, "[]", "{}"}, string(value))
}

// longestHeader bounds a header in bytes: clients and proxies refuse a response whose headers have more than 8 kB.
const longestHeader = 4000

// headerOf names as many things as a header holds, in ASCII.
func headerOf(aside fault.Asides) (header string) {
	for most := mostAside; most > 0; most-- {
		lines := aside.Lines(most, "place", "which are not named")
		for i, line := range lines {
			lines[i] = strings.TrimPrefix(line, "left aside: ")
		}
		if header = strings.Join(lines, "; "); len(header) <= longestHeader {
			break
		}
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, header)
}

// tellOmissions names in an answer's header, in the log and in the metrics what of a request was left aside. The log
// names each once.
func (s *Server) tellOmissions(w http.ResponseWriter, r *http.Request, aside fault.Asides) {
	if len(aside) == 0 {
		return
	}
	w.Header().Set(LeftAside, headerOf(aside))
	for _, what := range aside.Sorted() {
		fresh, counted := s.aside.add(what)
		s.metrics.Add(leftAside, metrics.Labels("what", counted), float64(aside[what].Times))
		if fresh {
			s.o.Logger.Warn(fault.Omission(what, "requests to "+r.URL.Path+": no model is told of it"), "request",
				w.Header().Get(RequestID))
		}
	}
}

// namedAside are the things that were named since the server began.
type namedAside struct {
	mu   sync.Mutex
	seen map[string]bool
}

// add reports whether a thing is new, and under which name it is counted: behind mostAside of them, as the rest.
func (n *namedAside) add(what string) (fresh bool, counted string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case n.seen[what]:
		return false, what
	case len(n.seen) == mostAside:
		return false, "the rest"
	case n.seen == nil:
		n.seen = map[string]bool{}
	}
	n.seen[what] = true
	return true, what
}
