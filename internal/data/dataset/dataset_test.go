package dataset

import (
	"encoding/json"
	"strings"
	"testing"

	"hone/internal/chat"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
)

const plain = `{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"ho"}],"source":"mine"}`

func TestParse(t *testing.T) {
	kept := trajectory.Trajectory{ID: "a", Messages: []chat.Message{{Role: chat.User, Content: "add"},
		{Role: chat.Assistant, ToolCalls: []chat.ToolCall{{ID: "1", Name: "add", Arguments: `{"a": 1.0}`}}}},
		Tools: []chat.Tool{{Name: "add", InputSchema: json.RawMessage(`{}`)}}, Outcome: trajectory.Limit, Opening: 1}
	line, err := json.Marshal(kept)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := Parse("f", []byte("\ufeff"+plain+"\r\n\n"+string(line)))
	if err != nil || len(rows) != 2 {
		t.Fatalf("%+v, %v", rows, err)
	}
	if r := rows[0]; r.Line != 1 || len(r.Messages) != 2 || r.NotDemonstrated() != "" || r.Tools != nil {
		t.Errorf("%+v", r)
	}
	if r := rows[1]; r.Line != 3 || r.Messages[1].ToolCalls[0].Arguments != `{"a": 1.0}` || r.Outcome != trajectory.Limit || len(r.Tools) != 1 || r.Opening != 1 {
		t.Errorf("%+v", r)
	}
}

func TestParseNamesBrokenRows(t *testing.T) {
	_, err := Parse("f.jsonl", []byte(plain+"\n{\"messages\":[]}\n{\n"+plain+"\n{\"messages\":[{\"role\":\"bot\"}]}\n[]\n{\"messages\":{}}\n{\"messages\":[{\"role\":\"user\",\"content\":[1]}]}\n{\"messages\":[{\"role\":\"user\"}],\"opening\":2}\n"))
	if fault.CodeOf(err) != fault.CodeUsage {
		t.Fatal(err)
	}
	for _, want := range []string{"7 broken rows", "where: f.jsonl:2", `f.jsonl:2: "messages" is missing`, "f.jsonl:3: ", `f.jsonl:5: messages[0]: role "bot"`, "f.jsonl:6: it must be an object, not an array",
		`f.jsonl:7: "messages" must be an array, not an object`, `f.jsonl:8: message with role "user": content is neither text nor a list of parts`, `f.jsonl:9: "opening" is 2 of 1 messages`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
	if strings.Contains(err.Error(), "f.jsonl:1:") || strings.Contains(err.Error(), "f.jsonl:4:") {
		t.Errorf("a sound row is named: %v", err)
	}
	if _, err := Parse("f", []byte("[\n"+plain+"]")); err == nil || !strings.Contains(err.Error(), "is a JSON array") {
		t.Errorf("array: %v", err)
	}
	if _, err := Parse("f", nil); fault.CodeOf(err) != fault.CodeUsage {
		t.Errorf("empty: %v", err)
	}
}

func TestNotDemonstrated(t *testing.T) {
	said := []chat.Message{{Role: chat.Assistant, Content: "x"}}
	for _, tc := range []struct {
		row  Row
		want string
	}{
		{Row{Messages: said}, ""},
		{Row{Messages: said, Outcome: trajectory.OK, Terms: []trajectory.Term{{Name: "checks", Score: 1}, {Name: "call", Score: 0.5}}}, ""},
		{Row{Messages: said, Outcome: trajectory.OK, Terms: []trajectory.Term{{Name: "checks", Why: "checks[0] (call)"}}}, "failed checks[0] (call)"},
		{Row{Messages: said, Outcome: trajectory.EnvironmentError}, "outcome environment_error"},
		{Row{Messages: []chat.Message{{Role: chat.User}}}, "no assistant message"},
		{Row{Messages: said, Opening: 1}, "no assistant message"},
	} {
		if got := tc.row.NotDemonstrated(); got != tc.want {
			t.Errorf("%+v: %q, want %q", tc.row, got, tc.want)
		}
	}
}

func TestUnknownTool(t *testing.T) {
	r := Row{Messages: []chat.Message{{Role: chat.Assistant, ToolCalls: []chat.ToolCall{{Name: "a"}, {Name: "b"}}}}}
	for want, tools := range map[string][]chat.Tool{"a": nil, "b": {{Name: "a"}}, "": {{Name: "a"}, {Name: "b"}}} {
		if got := r.UnknownTool(tools); got != want {
			t.Errorf("tools %v: %q, want %q", tools, got, want)
		}
	}
}

// Whatever the file holds, it is rows or an error, and each row can be judged.
func FuzzParse(f *testing.F) {
	f.Add([]byte(plain))
	f.Add([]byte("{\"messages\":[{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"function\":{}}]}]}\n\n[1]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		rows, err := Parse("f", data)
		if (err == nil) != (len(rows) > 0) {
			t.Fatalf("%d rows, %v", len(rows), err)
		}
		for _, r := range rows {
			r.NotDemonstrated()
			r.UnknownTool(r.Tools)
			if r.Line < 1 {
				t.Fatalf("line %d", r.Line)
			}
		}
	})
}
