package dataset

import (
	"bytes"
	"encoding/json"
	"strconv"

	"hone/internal/chat"
	"hone/internal/episode/trajectory"
)

// AppendJSON appends a row as one line that is read back as the same row: OpenAI's messages and tools, and the
// members of a trajectory that it has.
func (r *Row) AppendJSON(dst []byte) ([]byte, error) {
	dst, err := r.AppendMembers(append(dst, '{'))
	if err != nil {
		return dst, err
	}
	return append(AppendMessages(append(dst, `"messages":`...), r.Messages), '}'), nil
}

// AppendMembers appends all members of that line but the messages, a comma behind each.
func (r *Row) AppendMembers(dst []byte) ([]byte, error) {
	for _, m := range []struct {
		name  string
		value any
		there bool
	}{
		{"id", r.ID, r.ID != ""}, {"trace_id", r.TraceID, r.TraceID != ""}, {"turn", r.Turn, r.Turn != 0}, {"n_turns",
			r.NumTurns, r.NumTurns != 0},
		{"scenario_id", r.ScenarioID, r.ScenarioID != ""}, {"split", r.Split, r.Split != ""}, {"scenario_hash",
			r.Scenario, r.Scenario != ""},
		{"outcome", r.Outcome, r.Outcome != ""}, {"opening", r.Opening, r.Opening != 0}, {"shown", r.Shown,
			r.Shown != nil},
		{"terms", r.Terms, r.Terms != nil}, {"turns", r.turns(), r.turns() != nil},
	} {
		if !m.there {
			continue
		}
		text, err := json.Marshal(m.value)
		if err != nil {
			return dst, err
		}
		dst = append(append(append(dst, '"'), m.name...), `":`...)
		dst = append(append(dst, text...), ',')
	}
	if r.Tools != nil {
		dst = append(AppendTools(append(dst, `"tools":`...), r.Tools), ',')
	}
	return dst, nil
}

// turn is what a row keeps of a trajectory's turns, all in one.
type turn struct {
	Results []Result          `json:"results"`
	Usage   *trajectory.Usage `json:"usage,omitempty"`
}

// turns are all of a trajectory's turns in one; none where nothing of them is known.
func (r *Row) turns() []turn {
	if r.Results == nil && r.Usage == nil {
		return nil
	}
	return []turn{{r.Results, r.Usage}}
}

// Record is what a trajectory's checks gave and how its calls went, as JSON text for forms whose columns hold one type;
// "" where it says nothing of them.
func (r *Row) Record() (terms, turns string, err error) {
	for _, m := range []struct {
		to    *string
		value any
		there bool
	}{{&terms, r.Terms, r.Terms != nil}, {&turns, r.turns(), r.turns() != nil}} {
		if !m.there {
			continue
		}
		text, err := json.Marshal(m.value)
		if err != nil {
			return "", "", err
		}
		*m.to = string(text)
	}
	return terms, turns, nil
}

// AppendMessages appends messages in OpenAI's form, as chat.Message writes itself, but leaves <, > and & as they are.
func AppendMessages(dst []byte, messages []chat.Message) []byte {
	return appendMessages(dst, messages, false)
}

// AppendMessagesObjects is AppendMessages with each call's arguments as an object, as transformers' chat templates take
// them: some of these write a text once more as JSON. Arguments that are no object stay text.
func AppendMessagesObjects(dst []byte, messages []chat.Message) []byte {
	return appendMessages(dst, messages, true)
}

func appendMessages(dst []byte, messages []chat.Message, objects bool) []byte {
	dst = append(dst, '[')
	for i := range messages {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendMessage(dst, &messages[i], objects)
	}
	return append(dst, ']')
}

func appendMessage(dst []byte, m *chat.Message, objects bool) []byte {
	text := func(name, value string) {
		dst = append(append(append(dst, `,"`...), name...), `":`...)
		dst = chat.AppendString(dst, value, false)
	}
	dst = chat.AppendString(append(dst, `{"role":`...), m.Role, false)
	if m.Content != "" || len(m.ToolCalls) == 0 {
		text("content", m.Content)
	} else {
		dst = append(dst, `,"content":null`...)
	}
	if m.ReasoningContent != "" {
		text("reasoning_content", m.ReasoningContent)
	}
	for i, c := range m.ToolCalls {
		if i == 0 {
			dst = append(dst, `,"tool_calls":[`...)
		} else {
			dst = append(dst, ',')
		}
		dst = chat.AppendString(append(dst, `{"id":`...), c.ID, false)
		dst = chat.AppendString(append(dst, `,"type":"function","function":{"name":`...), c.Name, false)
		dst = append(dst, `,"arguments":`...)
		var object bytes.Buffer // on one line, its numbers as they are
		if objects && json.Compact(&object, []byte(c.Arguments)) == nil &&
			bytes.HasPrefix(object.Bytes(), []byte("{")) {
			dst = append(dst, object.Bytes()...)
		} else {
			dst = chat.AppendString(dst, c.Arguments, false)
		}
		dst = append(dst, '}', '}')
	}
	if len(m.ToolCalls) > 0 {
		dst = append(dst, ']')
	}
	if m.ToolCallID != "" {
		text("tool_call_id", m.ToolCallID)
	}
	if m.Name != "" {
		text("name", m.Name)
	}
	if m.NoLoss {
		dst = append(dst, `,"weight":0`...)
	}
	return append(dst, '}')
}

// AppendTools appends tools in OpenAI's form, their schemas byte for byte.
func AppendTools(dst []byte, tools []chat.Tool) []byte {
	dst = append(dst, '[')
	for i, t := range tools {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = chat.AppendString(append(dst, `{"type":"function","function":{"name":`...), t.Name, false)
		if t.Description != "" {
			dst = chat.AppendString(append(dst, `,"description":`...), t.Description, false)
		}
		if len(t.InputSchema) > 0 {
			dst = append(append(dst, `,"parameters":`...), t.InputSchema...)
		}
		dst = append(dst, '}', '}')
	}
	return append(dst, ']')
}

// Name is how a row is called where it has no id: by its place.
func (r *Row) Name() string {
	if r.ID != "" {
		return r.ID
	}
	return "line " + strconv.Itoa(r.Line)
}
