package curate

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"hone/internal/chat"
	"hone/internal/data/dataset"
	"hone/internal/data/redact"
	"hone/internal/episode/trajectory"
)

// Each spelling of a value has one placeholder in its trace, arguments stay JSON, nothing of it is left in what is exported, and undone it is
// the trace again.
func TestRedact(t *testing.T) {
	r := dataset.Row{ID: "x", Outcome: trajectory.OK, Terms: []trajectory.Term{{Name: "checks", Score: 1, Why: "said ann@acme.io", Judgement: &trajectory.Judgement{Failed: "no answer to ann@acme.io"}}}, Results: []dataset.Result{{Error: "no mail of ann@acme.io"}},
		Messages: []chat.Message{{Role: chat.User, Content: "Write to Ann@acme.io, password: kH7#pqrs9"}, {Role: chat.Assistant, ReasoningContent: "ann@acme.io, then", ToolCalls: []chat.ToolCall{{ID: "1", Name: "f", Arguments: `{"to": "\u003cann@acme.io\u003e", "phone": 4155552671, "password": "kH7#pqrs9", "n": 1.50}`}}},
			{Role: chat.ToolRole, ToolCallID: "1", Content: `{"sent":["ann@acme.io"]}`}, {Role: chat.Assistant, Content: "Sent to ann@acme.io."}}}
	other := dataset.Row{ID: "y", Messages: []chat.Message{{Role: chat.User, Content: "ben@acme.io"}, {Role: chat.Assistant, Content: "no"}}}
	c := fresh(t, r, other, example("z"))
	before, _ := json.Marshal(c.Traces())
	found, err := c.Redact("me", nil)
	if err != nil || found.Traces != 2 || found.Kinds[redact.Email] != 2 || found.Kinds[redact.Secret] != 1 || found.Kinds[redact.Phone] != 1 || len(found.Values) != 4 || len(c.Ops()) != 2 {
		t.Fatalf("%+v %v", found, err)
	}
	x, _ := c.Trace("x")
	line, err := x.Row.AppendJSON(nil)
	if err != nil || strings.Contains(strings.ToLower(string(line)), "acme") || strings.Contains(string(line), "kH7") || strings.Contains(string(line), "4155552671") {
		t.Errorf("%s %v", line, err)
	}
	var arguments map[string]any
	if err := json.Unmarshal([]byte(x.Row.Messages[1].ToolCalls[0].Arguments), &arguments); err != nil || arguments["to"] != "<[EMAIL_1]>" || arguments["phone"] != 1000000001.0 || arguments["password"] != "[SECRET_1]" || arguments["n"] != 1.5 {
		t.Errorf("%s %v", x.Row.Messages[1].ToolCalls[0].Arguments, err)
	}
	if tell(x.Row.Messages[2:]) != `t:{"sent":["[EMAIL_1]"]}|a:Sent to [EMAIL_1].` || x.Row.Messages[0].Content != "Write to [EMAIL_1], password: [SECRET_1]" {
		t.Errorf("%s", tell(x.Row.Messages))
	}
	if x.Row.NotDemonstrated() != "" || !hasTerm(&x.Row, "checks") || x.Edited {
		t.Errorf("what was proven of a value is proven of its placeholder: %+v", x.Row.Terms)
	}
	i := slices.IndexFunc(found.Values, func(v Redacted) bool { return v.Trace == "x" && v.Kind == redact.Email })
	if v := found.Values[i]; v.Placeholder != "[EMAIL_1]" || v.Times != 8 || v.Operation != 1 {
		t.Errorf("%+v", v)
	}
	if again, err := c.Redact("me", nil); err != nil || again.Traces != 0 {
		t.Errorf("%+v %v", again, err)
	}
	do(t, c, Op{Do: Undo, Of: 2})
	do(t, c, Op{Do: Undo, Of: 1})
	if after, _ := json.Marshal(c.Traces()); string(after) != string(before) {
		t.Errorf("%s", after)
	}
	if some, err := c.Redact("me", []string{redact.Secret}); err != nil || some.Traces != 1 || some.Kinds[redact.Email] != 0 {
		t.Errorf("%+v %v", some, err)
	}
}
