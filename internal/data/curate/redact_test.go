package curate

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"hone/internal/chat"
	"hone/internal/data/dataset"
	"hone/internal/episode/trajectory"
)

// Each spelling of a value has one placeholder in its trace, arguments stay JSON, nothing of it is left in what is
// exported, and undone it is the trace again.
func TestRedact(t *testing.T) {
	r := dataset.Row{
		ID:      "x",
		Outcome: trajectory.OK,
		Terms: []trajectory.Term{
			{Name: "checks", Score: 1, Why: "said ann@acme.io",
				Judgement: &trajectory.Judgement{Failed: "no answer to ann@acme.io"}},
		},
		Results: []dataset.Result{{Error: "no mail of ann@acme.io"}},
		Messages: []chat.Message{
			{Role: chat.User, Content: "Write to Ann@acme.io, password: kH7#pqrs9"}, {
				Role:             chat.Assistant,
				ReasoningContent: "ann@acme.io, then",
				ToolCalls: []chat.ToolCall{
					{
						ID:        "1",
						Name:      "f",
						Arguments: `{"to": "\u003cann@acme.io\u003e", "phone": 4155552671, "password": "kH7#pqrs9", "n": 1.50}`,
					},
				},
			},
			{Role: chat.ToolRole, ToolCallID: "1", Content: `{"sent":["ann@acme.io"]}`}, {Role: chat.Assistant,
				Content: "Sent to ann@acme.io."},
		},
	}
	other := dataset.Row{ID: "y",
		Messages: []chat.Message{{Role: chat.User, Content: "ben@acme.io"}, {Role: chat.Assistant, Content: "no"}}}
	c := fresh(t, r, other, example("z"))
	before, _ := json.Marshal(c.Traces())
	found, err := c.Redact("me", nil)
	if err != nil || found.Traces != 2 || found.Kinds[Email] != 2 || found.Kinds[Secret] != 1 ||
		found.Kinds[Phone] != 1 || len(found.Values) != 4 || len(c.Ops()) != 2 {
		t.Fatalf("%+v %v", found, err)
	}
	x, _ := c.Trace("x")
	line, err := x.Row.AppendJSON(nil)
	if err != nil || strings.Contains(strings.ToLower(string(line)), "acme") || strings.Contains(string(line), "kH7") ||
		strings.Contains(string(line), "4155552671") {
		t.Errorf("%s %v", line, err)
	}
	var arguments map[string]any
	if err := json.Unmarshal([]byte(x.Row.Messages[1].ToolCalls[0].Arguments),
		&arguments); err != nil || arguments["to"] != "<[EMAIL_1]>" || arguments["phone"] != 1000000001.0 ||
		arguments["password"] != "[SECRET_1]" || arguments["n"] != 1.5 {
		t.Errorf("%s %v", x.Row.Messages[1].ToolCalls[0].Arguments, err)
	}
	if tell(x.Row.Messages[2:]) != `t:{"sent":["[EMAIL_1]"]}|a:Sent to [EMAIL_1].` ||
		x.Row.Messages[0].Content != "Write to [EMAIL_1], password: [SECRET_1]" {
		t.Errorf("%s", tell(x.Row.Messages))
	}
	if x.Row.WhyNoDemonstration() != "" || !hasTerm(&x.Row, "checks") || x.Edited {
		t.Errorf("what was proven of a value is proven of its placeholder: %+v", x.Row.Terms)
	}
	i := slices.IndexFunc(found.Values, func(v Redacted) bool { return v.Trace == "x" && v.Kind == Email })
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
	if some, err := c.Redact("me", []string{Secret}); err != nil || some.Traces != 1 || some.Kinds[Email] != 0 {
		t.Errorf("%+v %v", some, err)
	}
}

// A number and the same number in a text have one stand-in, which is counted wherever it stands and found no more; what
// is redacted later has a placeholder that no earlier value has.
func TestRedactNumbers(t *testing.T) {
	r := dataset.Row{
		ID: "x",
		Messages: []chat.Message{{Role: chat.User, Content: "Call me at 415-555-2671; password: 12345678."},
			{Role: chat.Assistant, ToolCalls: []chat.ToolCall{{ID: "1", Name: "f", Arguments: `{"phone": 4155552671, "password": 12345678}`}}},
			{Role: chat.ToolRole, ToolCallID: "1", Content: `{"called": {"phone": 4155552671}, "at": 4155552671}`},
			{Role: chat.Assistant, Content: "I called 4155552671."}},
	}
	c := fresh(t, r)
	found, err := c.Redact("me", nil)
	if err != nil || len(found.Values) != 2 {
		t.Fatalf("%+v %v", found, err)
	}
	for _, v := range found.Values {
		if want := map[string]Redacted{Phone: {"x", 1, Phone, "1000000002", 12, 5},
			Secret: {"x", 1, Secret, "10000001", 8, 2}}[v.Kind]; v != want {
			t.Errorf("%+v, want %+v", v, want)
		}
	}
	x, _ := c.Trace("x")
	if got, want := tell(x.Row.Messages), `u:Call me at 1000000002; password: 10000001.|a:{"phone": 1000000002, "password": 10000001}|t:{"called": {"phone": 1000000002}, "at": 1000000002}|a:I called 1000000002.`; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if again, err := c.Redact("me", nil); err != nil || again.Traces != 0 {
		t.Errorf("stand-ins are found: %+v %v", again, err)
	}
	do(t, c, Op{Do: EditText, Trace: "x", Message: 3, Text: "I called +49 30 901820 and ann@acme.io."})
	do(t, c, Op{Do: EditText, Trace: "x", Message: 0, Text: "Call [EMAIL_1] and [PHONE_2]."})
	if again, err := c.Redact("me", nil); err != nil || len(again.Values) != 2 ||
		again.Values[0].Placeholder+again.Values[1].Placeholder != "[PHONE_3][EMAIL_2]" {
		t.Errorf("%+v %v", again, err)
	}
}

// A number that is found in a text is gone from the arguments and results too, where nothing says what it is, and so is
// a key of an object. Nothing is left to be found a second time.
func TestRedactSpellings(t *testing.T) {
	r := dataset.Row{
		ID: "x",
		Messages: []chat.Message{{Role: chat.User, Content: "Call +1 415-555-2671, ssn 219-09-9999"},
			{Role: chat.Assistant, ToolCalls: []chat.ToolCall{
				{ID: "1", Name: "f",
					Arguments: `{"to": 4155552671, "s": "4155552671", "x": 219099999, "y": "219099999"}`},
			}},
			{Role: chat.ToolRole, ToolCallID: "1", Content: `done 4155552671`}, {Role: chat.Assistant,
				Content: `{"ann@acme.io": {"n": 1}, "bob@acme.io": "x"}`}},
	}
	c := fresh(t, r)
	found, err := c.Redact("me", nil)
	if err != nil || len(found.Values) != 4 {
		t.Fatalf("%+v %v", found, err)
	}
	x, _ := c.Trace("x")
	if got, want := tell(x.Row.Messages), `u:Call 1000000001, ssn 100000002|a:{"to": 1000000001, "s": "1000000001", "x": 100000002, "y": "100000002"}|t:done 1000000001|a:{"[EMAIL_1]": {"n": 1}, "[EMAIL_2]": "x"}`; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if again, err := c.Redact("me", nil); err != nil || again.Traces != 0 {
		t.Errorf("%+v %v", again, err)
	}
}
