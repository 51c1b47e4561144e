package dataset

import (
	"strings"
	"testing"
)

// told is a conversation in short: each message's role and what it says, a bar before the first that is not given.
func told(t *testing.T, row string) string {
	t.Helper()
	rows, report, err := load(t, "rows.jsonl", row, Options{})
	if err != nil || len(rows) != 1 {
		return strings.Join(report.Lines(), " ")
	}
	again(t, row, rows[0])
	var b strings.Builder
	for i, m := range rows[0].Messages {
		if i == rows[0].Opening && i > 0 {
			b.WriteString("| ")
		}
		b.WriteString(m.Role[:1] + ":" + m.Content)
		if m.ReasoningContent != "" {
			b.WriteString("(" + m.ReasoningContent + ")")
		}
		for _, c := range m.ToolCalls {
			b.WriteString("[" + c.ID + " " + c.Name + c.Arguments + "]")
		}
		if m.ToolCallID != "" {
			b.WriteString("<" + m.ToolCallID + ">")
		}
		b.WriteString(" ")
	}
	return strings.TrimSpace(b.String())
}

// Rows of an instruction and what answers it.
func TestInstructions(t *testing.T) {
	for row, want := range map[string]string{
		`{"prompt":"i","completion":"o"}`: "u:i | a:o",
		`{"prompt":[{"role":"system","content":"s"},{"role":"user","content":"q"}],"completion":[{"role":"assistant","content":"a"},{"role":"user","content":"q2"},{"role":"assistant","content":"a2"}],"tools":null}`:                                            "s:s u:q | a:a u:q2 a:a2",
		`{"prompt":[{"role":"user","content":"q"}],"completion":[{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":{"a":1.50}}}]},{"role":"tool","tool_call_id":"1","content":"x"}],"tools":"[{\"name\":\"f\"}]"}`: `u:q | a:[1 f{"a":1.50}] t:x<1>`,
		`{"prompt":7,"completion":"o"}`:                                                                "neither messages nor a text",
		`{"instruction":"Add.","input":"","output":"3"}`:                                               "u:Add. a:3",
		`{"instruction":"Add.","input":"1 2","output":"3","system":"s","history":[["q","a"]]}`:         "s:s u:q a:a u:Add.\n1 2 a:3",
		`{"instruction":"Add.","output":""}`:                                                           "no output",
		`{"instruction":"Add.","output":"3","history":[["q"]]}`:                                        "no list of pairs",
		`{"prompt":"p","messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a"}]}`: "u:q a:a",
		`{"instruction":"Add.","output":"3","split":"mine"}`:                                           noSplit,
		`{"instruction":"Add.","output":"<think>so</think>3","tools":"[{}]"}`:                          badTools,
	} {
		if got := told(t, row); got != want && !(strings.HasPrefix(got, "refused") && strings.Contains(got, want)) {
			t.Errorf("%s:\n got  %s\n want %s", row, got, want)
		}
	}
	rows, _, err := load(t, "rows.jsonl",
		`{"instruction":"Add.","output":"3","split":"val","tools":`+quoted(t, "["+weather+"]")+`}`, Options{})
	if err != nil || rows[0].Split != "validation" || len(rows[0].Tools) != 1 {
		t.Errorf("%+v, %v", rows, err)
	}
}
