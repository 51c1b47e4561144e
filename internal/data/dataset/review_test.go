package dataset

import (
	"strings"
	"testing"

	"hone/internal/chat"
)

// Tools are found behind the sentence that explains their tags, as NousResearch's rows have it.
func TestHermesTools(t *testing.T) {
	q := func(s string) string { return quoted(t, s) }
	turns := `{"from":"human","value":"Rain in Bern?"},{"from":"gpt","value":` +
		q("<tool_call>\n{\"arguments\": {\"city\": \"Bern\"}, \"name\": \"weather\"}\n</tool_call>") + `}`
	for name, row := range map[string]string{
		"the tags are explained first": `{"conversations":[{"from":"system","value":` + q(
			"You are provided with function signatures within <tools></tools> XML tags. "+
				"Here are the available tools: <tools> ["+weather+"] </tools>",
		) + `},` + turns + `]}`,
		"explained with a space": `{"conversations":[{"from":"system","value":` +
			q("signatures within <tools> </tools> tags:\n<tools>\n"+weather+"\n</tools>") + `},` + turns + `]}`,
		"an opening tag is explained": `{"conversations":[{"from":"system","value":` +
			q("between <tools> and its end: <tools>"+weather+"</tools>") + `},` + turns + `]}`,
		"explained behind": `{"conversations":[{"from":"system","value":` +
			q("<tools>"+weather+"</tools> those in <tools></tools> are yours") + `},` + turns + `]}`,
		"a column as text": `{"tools":` + q("["+weather+"]") + `,"conversations":[{"from":"system","value":"within <tools></tools>"},` + turns + `]}`,
	} {
		rows, report, err := load(t, "rows.jsonl", row, Options{})
		if err != nil || len(rows) != 1 || len(rows[0].Tools) != 1 || rows[0].Tools[0].Name != "weather" ||
			rows[0].Messages[0].Role != chat.User {
			t.Errorf("%s: %+v %v %v", name, rows, report.Refused, err)
		}
	}
}

// null that the schema of the tool allows is what was meant; null of a member that only other rows have is not.
func TestNullArguments(t *testing.T) {
	tool := `{"type":"function","function":{"name":"f","parameters":{"type":"object","required":["must"],"properties":{"must":{},"a":{"type":["string","null"]},"b":{"anyOf":[{"type":"integer"},{"type":"null"}]},"c":{"type":"string"},"d":{"enum":[1,null]},"e":{"type":"string","nullable":true},
		"in":{"type":"object","properties":{"x":{"type":"null"},"y":{"type":"integer"}}},"list":{"type":"array","items":{"type":"object","properties":{"x":{"type":["null","string"]}}}}}}}}`
	given := `{"must":null,"a":null,"b":null,"c":null,"d":null,"e":null,"z":null,"in":{"x":null,"y":null,"z":null},"list":[{"x":null,"y":null}]}`
	row := func(arguments, tools string) string {
		return `{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":null,"tool_calls":[{"function":{"name":"f","arguments":` + arguments + `}}]}],"tools":[` + strings.ReplaceAll(tools, "\n", "") + `]}`
	}
	for _, tc := range []struct{ name, row, want string }{
		{"by the schema", row(given, tool), `{"must":null,"a":null,"b":null,"d":null,"e":null,"in":{"x":null},"list":[{"x":null}]}`},
		{"without a schema", row(given, ""), `{"in":{},"list":[{}]}`},
		{"as text", row(quoted(t, given), tool), given},
	} {
		rows, report, err := load(t, "rows.jsonl", tc.row, Options{})
		if err != nil {
			t.Fatalf("%s: %v %v", tc.name, report.Refused, err)
		}
		got := strings.ReplaceAll(rows[0].Messages[1].ToolCalls[0].Arguments, " ", "")
		if got != tc.want {
			t.Errorf("%s:\n got  %s\n want %s", tc.name, got, tc.want)
		}
	}
}

// What others mask is not learnt: OpenAI's weight, Axolotl's train and training, LLaMA-Factory's loss. It holds in each
// form of a message: of Anthropic's parts, of calls that are a message of their own, and of those that join the message
// before them.
func TestMasksOfOthers(t *testing.T) {
	for mask, masked := range map[string]bool{
		`"weight":0`: true, `"weight":1`: false, `"weight":0.0`: true, `"train":false`: true, `"training":false`: true,
		`"training":true`: false, `"loss":false`: true, `"weight":null`: false,
	} {
		for _, row := range []string{
			`{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a",` + mask +
				`},{"role":"user","content":"q"},{"role":"assistant","content":"b"}]}`,
			`{"conversations":[{"from":"human","value":"q"},{"from":"gpt","value":"a",` + mask +
				`},{"from":"human","value":"q"},{"from":"gpt","value":"b"}]}`,
			`{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"thinking","thinking":"t"},{"type":"text","text":"a"}],` +
				mask +
				`},{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"thinking","thinking":"t"},{"type":"text","text":"b"}]}]}`,
			`{"conversations":[{"from":"human","value":"q"},{"from":"function_call","value":"{\"name\": \"f\", \"arguments\": {}}",` + mask + `},{"from":"observation","value":"x"},{"from":"gpt","value":"b"}]}`,
			`{"conversations":[{"from":"human","value":"q"},{"from":"gpt","value":"a"},{"from":"function_call","value":"{\"name\": \"f\", \"arguments\": {}}",` + mask + `},{"from":"observation","value":"x"},{"from":"gpt","value":"b"}]}`,
		} {
			rows, _, err := load(t, "rows.jsonl", row, Options{})
			if err != nil || rows[0].Messages[1].NoLoss != masked || rows[0].Messages[3].NoLoss ||
				rows[0].Trains(1) == masked || !rows[0].Trains(3) {
				t.Errorf("%s: %+v %v", row, rows, err)
			}
		}
	}
}

// A call that is a message of its own has its reasoning.
func TestReasoningOfCallsApart(t *testing.T) {
	rows, _, err := load(t, "rows.jsonl", `{"conversations":[{"from":"human","value":"q"},{"from":"function_call","value":"{\"name\": \"f\", \"arguments\": {}}","reasoning_content":"because"},{"from":"observation","value":"x"},{"from":"gpt","value":"a"}]}`, Options{})
	if err != nil || rows[0].Messages[1].ReasoningContent != "because" {
		t.Errorf("%+v %v", rows, err)
	}
}

// A file of messages is one trace; rows that have a role beside what makes them a row are rows.
func TestMessagesAndRows(t *testing.T) {
	long := strings.Repeat("x", 2<<20)
	for _, tc := range []struct {
		name, text string
		rows       int
	}{
		{"messages", `{"role":"user","content":"q"}` + "\n" + `{"role":"assistant","content":"a"}`, 1},
		{"a long first message", `{"role":"user","content":"` + long + `"}` + "\n" + `{"role":"assistant","content":"a"}`, 1},
		{
			"rows with a role",
			`{"role":"teacher","conversations":[{"from":"human","value":"q"},{"from":"gpt","value":"a"}]}` + "\n" + `{"role":"user","content":"x","conversations":[{"from":"human","value":"q"},{"from":"gpt","value":"a"}]}`,
			2,
		},
		{"rows of xLAM with a role", `{"role":"user","content":"x","query":"q","tools":"[]","answers":"[{\"name\": \"f\", \"arguments\": {}}]"}`, 1},
	} {
		rows, report, err := load(t, "rows.jsonl", tc.text, Options{})
		if err != nil || len(rows) != tc.rows {
			t.Errorf("%s: %d rows, %v %v", tc.name, len(rows), report.Refused, err)
		}
	}
}

// The mask of a call that is a message of its own is that of the message which it joins.
func TestMaskOfCallsApart(t *testing.T) {
	for masked, row := range map[bool]string{
		true:  `{"conversations":[{"from":"human","value":"q"},{"from":"gpt","value":"I look."},{"from":"function_call","value":"{\"name\": \"f\", \"arguments\": {}}","loss":false},{"from":"observation","value":"x"},{"from":"gpt","value":"a"}]}`,
		false: `{"conversations":[{"from":"human","value":"q"},{"from":"gpt","value":"I look."},{"from":"function_call","value":"{\"name\": \"f\", \"arguments\": {}}"},{"from":"observation","value":"x"},{"from":"gpt","value":"a"}]}`,
	} {
		rows, _, err := load(t, "rows.jsonl", row, Options{})
		if err != nil || len(rows[0].Messages) != 4 || rows[0].Trains(1) == masked || !rows[0].Trains(3) {
			t.Errorf("%v: %+v %v", masked, rows, err)
		}
	}
}
