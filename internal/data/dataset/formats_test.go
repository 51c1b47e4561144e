package dataset

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"hone/internal/chat"
	"hone/internal/episode/trajectory"
)

const weather = `{"type":"function","function":{"name":"weather","description":"The weather.","parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}}`

// wanted is the conversation that most cases below tell in their own words.
func wanted() []chat.Message {
	return []chat.Message{{Role: chat.User, Content: "Rain in Bern?"},
		{Role: chat.Assistant, ToolCalls: []chat.ToolCall{{ID: "call_0", Name: "weather", Arguments: `{"city": "Bern"}`}}},
		{Role: chat.ToolRole, ToolCallID: "call_0", Name: "weather", Content: "dry"}, {Role: chat.Assistant,
			Content: "No."}}
}

func quoted(t *testing.T, text string) string {
	t.Helper()
	out, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// load reads a text as a file of that name.
func load(t *testing.T, name, text string, o Options) ([]Row, Report, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return Load([]string{path}, o)
}

func TestFormats(t *testing.T) {
	tools := "[" + weather + "]"
	legacy := `[{"role":"user","content":"Rain in Bern?"},{"role":"assistant","content":"","function_call":{"name":"weather","arguments":"{\"city\": \"Bern\"}"}},{"role":"function","name":"weather","content":"dry"},{"role":"assistant","content":"No."}]`
	for _, tc := range []struct {
		name, format, row string
	}{
		{"openai", "openai", `{"messages":[{"role":"user","content":"Rain in Bern?"},{"role":"assistant","content":null,"tool_calls":[{"id":"call_0","type":"function","function":{"name":"weather","arguments":"{\"city\": \"Bern\"}"}}]},{"role":"tool","tool_call_id":"call_0","content":"dry"},{"role":"assistant","content":"No."}],"tools":` + tools + `}`},
		{"arguments as an object, no ids, parts", "openai", `{"messages":[{"role":"user","content":[{"type":"text","text":"Rain in "},{"type":"text","text":"Bern?"}]},{"role":"assistant","tool_calls":[{"function":{"name":"weather","arguments":{"city": "Bern"}}}]},{"role":"tool","content":[{"type":"text","text":"dry"}]},{"role":"assistant","content":"No."}],"tools":` + tools + `}`},
		{"messages and tools as strings", "openai", `{"messages":` + quoted(t, legacy) + `,"tools":` + quoted(t, tools) + `}`},
		{
			"arguments in a string in a string",
			"openai",
			`{"messages":[{"role":"user","content":"Rain in Bern?"},{"role":"assistant","content":"","tool_calls":[{"id":"call_0","function":{"name":"weather","arguments":` +
				quoted(t, quoted(t, `{"city": "Bern"}`)) +
				`}}]},{"role":"tool","tool_call_id":"call_0","content":"dry"},{"role":"assistant","content":"No."}],"tools":` +
				tools + `}`,
		},
		{"function_call and functions", "openai", `{"messages":` + legacy + `,"functions":[{"name":"weather","description":"The weather.","parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}]}`},
		{"ms-swift", "openai", `{"messages":[{"role":"user","content":"Rain in Bern?"},{"role":"tool_call","content":"{'name': 'weather', 'arguments': {\"city\": \"Bern\"}}"},{"role":"tool_response","content":"dry"},{"role":"assistant","content":"No."}],"tools":` + tools + `}`},
		{"sharegpt", "sharegpt", `{"conversations":[{"from":"human","value":"Rain in Bern?"},{"from":"function_call","value":"{\"name\":\"weather\",\"arguments\":{\"city\": \"Bern\"}}"},{"from":"observation","value":"dry"},{"from":"gpt","value":"No."}],"tools":` + quoted(t, tools) + `}`},
		{"sharegpt with roles", "sharegpt", `{"conversation":[{"role":"user","content":"Rain in Bern?"},{"role":"assistant","content":"","tool_calls":[{"name":"weather","parameters":{"city": "Bern"}}]},{"role":"tool","content":"dry"},{"role":"assistant","content":"No."}],"tools":` + tools + `}`},
		{"apigen-mt", "apigen-mt", `{"system":"","tools":` + quoted(t, tools) + `,"conversations":[{"from":"human","value":"Rain in Bern?"},{"from":"function_call","value":"{\"name\":\"weather\",\"arguments\":{\"city\": \"Bern\"}}"},{"from":"observation","value":"dry"},{"from":"gpt","value":"No."}]}`},
		{
			"hermes",
			"hermes",
			`{"conversations":[{"from":"system","value":"You are a function calling AI model. <tools>` +
				strings.ReplaceAll(weather, `"`, `\"`) +
				`</tools>"},{"from":"human","value":"Rain in Bern?"},{"from":"gpt","value":"<tool_call>\n{\"arguments\": {\"city\": \"Bern\"}, \"name\": \"weather\"}\n</tool_call>"},{"from":"tool","value":"<tool_response>\ndry\n</tool_response>"},{"from":"gpt","value":"No."}]}`,
		},
		{"mcpflow", "mcpflow-trajectories", `{"trajectory":[{"role":"user","content":"Rain in Bern?"},{"role":"assistant","content":"","tool_calls":{"function":{"name":"weather","arguments":{"city": "Bern"}}}},{"role":"tool","tool_call_id":0,"content":"dry"},{"role":"assistant","content":"No."}],"tools":[{"name":"weather","description":"The weather.","inputSchema":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}]}`},
		{
			"toucan",
			"toucan",
			`{"uuid":"u1","subset_name":"x","available_tools":"[]","messages":` + quoted(
				t, `[{"role":"system","content":`+
					quoted(t, "<|im_system|>tool_declare<|im_middle|>"+tools+"<|im_end|>")+`},`+legacy[1:],
			) + `}`,
		},
		{
			"sts",
			"sts",
			`{"type":"session","harness":"x","id":"s1","tools":` + tools + `}` + "\n" +
				`{"type":"message","message":{"role":"user","content":"Rain in Bern?"}}` + "\n" +
				`{"type":"message","message":{"role":"assistant","content":"","toolCalls":[{"id":"call_0","function":{"name":"weather","arguments":"{\"city\": \"Bern\"}"}}]}}` +
				"\n" + `{"type":"message","message":{"role":"tool","toolCallId":"call_0","content":"dry"}}` + "\n" +
				`{"type":"message","message":{"role":"assistant","content":"No."}}`,
		},
	} {
		rows, report, err := load(t, "rows.jsonl", tc.row, Options{})
		if err != nil || len(rows) != 1 || report.Formats[tc.format] != 1 || report.Read != 1 || report.Kept != 1 {
			t.Errorf("%s: %+v, %+v, %v", tc.name, rows, report, err)
			continue
		}
		if !reflect.DeepEqual(rows[0].Messages, wanted()) {
			t.Errorf("%s:\n got  %+v\n want %+v", tc.name, rows[0].Messages, wanted())
		}
		if got := string(AppendTools(nil, rows[0].Tools)); got != "["+weather+"]" {
			t.Errorf("%s: tools %s", tc.name, got)
		}
		if named, _, err := load(t, "rows.jsonl", tc.row, Options{Format: tc.format}); err != nil ||
			!reflect.DeepEqual(named[0].Messages, rows[0].Messages) {
			t.Errorf("%s: named, it is read otherwise: %+v, %v", tc.name, named, err)
		}
		if of, _, err := load(t, "rows.jsonl", `{"split":"test",`+tc.row[1:], Options{}); err != nil || len(of) != 1 ||
			of[0].Split != "test" {
			t.Errorf("%s: its split is lost: %+v, %v", tc.name, of, err)
		}
		again(t, tc.name, rows[0])
	}
}

// again writes a row and reads it back.
func again(t *testing.T, name string, row Row) {
	t.Helper()
	line, err := row.AppendJSON(nil)
	if err != nil {
		t.Fatal(err)
	}
	back, _, err := load(t, "again.jsonl", string(line), Options{})
	if err != nil || len(back) != 1 {
		t.Fatalf("%s: %v\n%s", name, err, line)
	}
	back[0].File, back[0].Line = row.File, row.Line
	if !reflect.DeepEqual(back[0], row) {
		t.Errorf("%s: written and read back:\n got  %+v\n want %+v", name, back[0], row)
	}
}

func TestPairs(t *testing.T) {
	rows, _, err := load(t, "x.json", `[{"id":7,"query":"Rain in Bern?","tools":"[{\"name\":\"weather\",\"description\":\"d\",\"parameters\":{\"city\":{\"description\":\"c\",\"type\":\"str\"},\"days\":{\"type\":\"List[int], optional\",\"description\":\"n\",\"default\":\"\"}}}]","answers":"[{\"name\":\"weather\",\"arguments\":{\"city\":\"Bern\",\"days\":[1]}}]"},
 {"function_call":{"name":"s_weather","arguments":{"city":"Bern"}},"source_instruction":"Rain?","tool":"s_weather"}]`, Options{})
	if err != nil || len(rows) != 2 {
		t.Fatalf("%+v, %v", rows, err)
	}
	if got, want := string(rows[0].Tools[0].InputSchema), `{"type": "object", "properties": {"city": {"description": "c", "type": "string"}, "days": {"type": "array", "items": {"type": "integer"}, "description": "n", "default": ""}}, "required": ["city"]}`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if m := rows[0].Messages; rows[0].ID != "7" || len(m) != 2 ||
		m[1].ToolCalls[0].Arguments != `{"city":"Bern","days":[1]}` {
		t.Errorf("%+v", rows[0])
	}
	if m := rows[1].Messages; m[0].Content != "Rain?" || m[1].ToolCalls[0].Name != "s_weather" ||
		rows[1].Tools != nil || rows[1].Line != 2 {
		t.Errorf("%+v", rows[1])
	}
}

// Toucan writes parallel calls as a run of messages, then their results in the same order, and what is said beside them
// apart.
func TestRunsOfCalls(t *testing.T) {
	rows, _, err := load(t, "rows.jsonl", `{"messages":[{"role":"user","content":"both"},{"role":"assistant","content":"I look."},{"role":"assistant","content":"","function_call":{"name":"f","arguments":"{\"a\":1}"}},{"role":"assistant","content":"","function_call":{"name":"f","arguments":"{\"a\":2}"}},{"role":"function","name":"f","content":"one"},{"role":"function","name":"f","content":"two"},{"role":"assistant","content":"Done."}]}`, Options{})
	if err != nil {
		t.Fatal(err)
	}
	m := rows[0].Messages
	if len(m) != 5 || m[1].Content != "I look." || len(m[1].ToolCalls) != 2 ||
		m[1].ToolCalls[1].Arguments != `{"a":2}` || m[2].ToolCallID != m[1].ToolCalls[0].ID ||
		m[3].ToolCallID != m[1].ToolCalls[1].ID || m[3].Content != "two" ||
		m[1].ToolCalls[0].ID == m[1].ToolCalls[1].ID {
		t.Errorf("%+v", m)
	}
}

func TestReasoningIsKept(t *testing.T) {
	for _, name := range []string{"reasoning_content", "reasoning", "thinking"} {
		rows, _, err := load(t, "r.jsonl",
			`{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a","`+name+`":"because"}]}`,
			Options{})
		if err != nil || rows[0].Messages[1].ReasoningContent != "because" {
			t.Errorf("%s: %+v, %v", name, rows, err)
		}
	}
}

// A row that is not one costs itself alone, and the counts add up.
func TestRefusals(t *testing.T) {
	good := `{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a"}]}`
	for _, tc := range []struct{ row, reason, detail string }{
		{`{"messages":[{"role":"user"`, "JSON that breaks off", ""},
		{`{"messages":[}]}`, "not JSON", "at byte"},
		{"{\"messages\":[{\"role\":\"user\",\"content\":\"\xff\"}]}", "not UTF-8", "at byte"},
		{`{"foo":1}`, noFormat, "--from"},
		{`{"id":"a","task":"Count.","checks":[{"type":"answer","equals":"42"}]}`, noFormat, "hone collect --gold"},
		{`7`, badShape, "not an object"},
		{`{"messages":[]}`, noMessages, ""},
		{`{"messages":{}}`, badShape, "not a list"},
		{`{"messages":"[{"}`, badShape, "a string that is not JSON"},
		{`{"messages":[{"role":"narrator","content":"x"}]}`, badRole, `messages[0]: "narrator"`},
		{`{"messages":[{"role":"user","content":[{"type":"image_url"}]}]}`, badContent, "image_url"},
		{`{"messages":[{"role":"user","content":"q"},{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":"{a:"}}]}]}`, badArguments, `messages[1]: of "f"`},
		{`{"messages":[{"role":"user","content":"q"},{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":"{\"a\":1,\"a\":2}"}}]}]}`, badArguments, ""},
		{`{"messages":[{"role":"user","content":"q"},{"role":"assistant","tool_calls":[{"function":{"arguments":"{}"}}]}]}`, badCall, "no name"},
		{`{"messages":[{"role":"user","content":"q"},{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":"{}"}}]},{"role":"user","content":"and?"}]}`, unanswered, `"f"`},
		{`{"messages":[{"role":"user","content":"q"},{"role":"tool","content":"x"}]}`, noCall, ""},
		{`{"messages":[{"role":"user","content":"q"}],"tools":[{"description":"x"}]}`, badTools, "no name"},
		{`{"messages":[{"role":"user","content":"q"},{"role":"assistant","tool_calls":[{"function":{"name":"g","arguments":"{}"}}]}],"tools":[` + weather + `]}`, unknownTool, `"g"`},
		{`{"query":"q","answers":"[]","tools":"[]"}`, noMessages, ""},
	} {
		rows, report, err := load(t, "rows.jsonl", good+"\n\n"+tc.row+"\n"+good+"\n", Options{})
		of := report.Refused[tc.reason]
		if err != nil || len(rows) != 2 || report.Read != 3 || report.Kept != 2 || report.NumRefused() != 1 ||
			of == nil || of.Rows != 1 {
			t.Errorf("%s: %d rows, %+v, %v", tc.row, len(rows), report, err)
			continue
		}
		if p := of.Places[0]; !strings.HasSuffix(p.Where, "rows.jsonl:3") || !strings.Contains(p.Detail, tc.detail) {
			t.Errorf("%s: %+v", tc.row, p)
		}
		if rows[1].Line != 4 {
			t.Errorf("%s: the row behind it is line %d", tc.row, rows[1].Line)
		}
	}
}

func TestReadRefusesAllOrNothing(t *testing.T) {
	if _, _, err := load(t, "x.jsonl", `{"foo":1}`, Options{}); err == nil ||
		!strings.Contains(err.Error(), "no row of 1 row") {
		t.Errorf("%v", err)
	}
	if _, _, err := load(t, "x.jsonl", "", Options{}); err == nil ||
		!strings.Contains(err.Error(), "there is no conversation") {
		t.Errorf("%v", err)
	}
	if _, _, err := load(t, "x.jsonl", `{}`, Options{Format: "yaml"}); err == nil ||
		!strings.Contains(err.Error(), `no format "yaml"`) {
		t.Errorf("%v", err)
	}
	if _, err := Read([]string{"/nowhere"}, Options{}, nil); err == nil {
		t.Error("a file that is not there was read")
	}
}

// A trajectory of hone is kept as it went, wrong calls and all, and loses nothing of what is learnt by.
func TestTrajectory(t *testing.T) {
	row := `{"id":"a","scenario_id":"s","scenario_hash":"h","split":"train","outcome":"policy_error","opening":1,"terms":[{"name":"checks","score":0,"weight":1}],"turns":[{"results":[{"call":{"id":"1"},"status":"invalid","text":"no","error":"why"}]}],"messages":[{"role":"user","content":"q"},{"role":"assistant","content":null,"tool_calls":[{"id":"","type":"function","function":{"name":"f","arguments":"{broken"}}]},{"role":"tool","tool_call_id":"9","content":"no"}],"tools":[` + weather + `]}`
	rows, _, err := load(t, "t.jsonl", row, Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := rows[0]
	if r.ID != "a" || r.ScenarioID != "s" || r.Scenario != "h" || r.Split != "train" || r.Outcome != "policy_error" ||
		r.Opening != 1 || len(r.Terms) != 1 || len(r.Results) != 1 || r.Results[0].Status != "invalid" ||
		r.Messages[1].ToolCalls[0].Arguments != "{broken" || r.Messages[2].ToolCallID != "9" {
		t.Errorf("%+v", r)
	}
	again(t, "trajectory", r)
	if _, report, _ := load(t, "t.jsonl", `{"opening":9,"messages":[{"role":"user","content":"q"}]}`,
		Options{}); report.Refused[badShape] == nil {
		t.Errorf("%+v", report)
	}
}

// A malformed message that was fed back, behind which the episode went on, is context: nobody is to learn it.
func TestMalformedMessagesAreNotLearnt(t *testing.T) {
	text, err := json.Marshal(trajectory.Trajectory{
		ID:         "a",
		ScenarioID: "s",
		Split:      "train",
		Outcome:    trajectory.OK,
		Opening:    2,
		Messages: []chat.Message{
			{Role: chat.User, Content: "p"},
			{Role: chat.Assistant, Content: "given"},
			{Role: chat.Assistant, Content: "<tool_call>{"},
			{Role: chat.User, Content: "that is no call"},
			{Role: chat.Assistant, Content: "done"},
		},
		Turns: []trajectory.Turn{
			{Content: "<tool_call>{", ParseError: "no JSON", Feedback: "that is no call"},
			{Content: "done"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	rows, _, err := load(t, "t.jsonl", string(text), Options{})
	if err != nil || len(rows) != 1 || rows[0].Trains(2) || !rows[0].Trains(4) {
		t.Fatalf("%+v, %v", rows, err)
	}
	again(t, "malformed", rows[0])
}

// How a call went is read as a run writes it: curation tells by it which calls failed.
func TestResultsAsRunsWriteThem(t *testing.T) {
	call := chat.ToolCall{ID: "call_7", Name: "f", Arguments: `{}`}
	text, err := json.Marshal(trajectory.Trajectory{ID: "a", ScenarioID: "s", Split: "train", Outcome: trajectory.OK,
		Messages: []chat.Message{
			{Role: chat.User, Content: "q"},
			{Role: chat.Assistant, ToolCalls: []chat.ToolCall{call}},
			{Role: "tool", ToolCallID: "call_7", Content: "no"},
			{Role: chat.Assistant, Content: "a"},
		},
		Turns: []trajectory.Turn{
			{Calls: []chat.ToolCall{call}, Results: []trajectory.ToolResult{{Call: call, Status: trajectory.CallToolError}}},
			{Content: "a"},
		}})
	if err != nil {
		t.Fatal(err)
	}
	rows, _, err := load(t, "t.jsonl", string(text), Options{})
	if err != nil || len(rows) != 1 || len(rows[0].Results) != 1 {
		t.Fatalf("%+v, %v", rows, err)
	}
	if got := rows[0].Results[0]; got.Call.ID != "call_7" || got.Status != trajectory.CallToolError {
		t.Errorf("%+v of %s", got, text)
	}
	again(t, "results", rows[0])
}

// Members of others with names that hone uses too are theirs.
func TestForeignMembers(t *testing.T) {
	rows, _, err := load(t, "t.jsonl", `{"outcome":"success","opening":"Hi!","terms":"none","turns":3,"shown":true,"messages":[{"role":"user","content":"q"}]}`, Options{})
	if err != nil || rows[0].Split != "" || rows[0].Outcome != "" || rows[0].Opening != 0 {
		t.Errorf("%+v, %v", rows, err)
	}
}

// A row says its split in Hugging Face's words, or is refused: it is never learnt from because its split was not
// understood.
func TestRowSplits(t *testing.T) {
	for _, tc := range []struct{ file, value, want string }{
		{"t.jsonl", `"train"`, "train"}, {"t.jsonl", `"Training"`, "train"}, {"t.jsonl", `"train_sft"`, "train"},
		{"t.jsonl", `"val"`, "validation"}, {"t.jsonl", `"dev"`, "validation"}, {"t.jsonl", `"eval"`, "test"},
		{"t.jsonl", `"test_sft"`, "test"}, {"t.jsonl", `null`, ""}, {"t.jsonl", `""`, ""},
		{"my_test.jsonl", `null`, "test"}, {"my_test.jsonl", `"train"`, "train"}, {"t.jsonl", `"sft_7"`, "refused"},
		{"t.jsonl", `"holdout"`, "refused"},
		{"t.jsonl", `1`, "refused"},
	} {
		rows, report, err := load(t, tc.file,
			`{"split":`+tc.value+`,"messages":[{"role":"user","content":"q"}]}`, Options{})
		got := ""
		if report.Refused[noSplit] != nil {
			got = "refused"
		} else if err != nil || len(rows) != 1 {
			t.Fatal(err)
		} else {
			got = rows[0].Split
		}
		if got != tc.want {
			t.Errorf("%s, split %s: %q, want %q", tc.file, tc.value, got, tc.want)
		}
	}
}

// Whatever a file holds, each of its rows is kept or refused, what is kept can be judged, and is the same when it was
// written and read.
func FuzzLoad(f *testing.F) {
	f.Add([]byte(`{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"ho"}],"source":"mine"}`))
	f.Add(
		[]byte("{\"messages\":[{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"function\":{}}]}]}\n\n[1]"),
	)
	f.Add(
		[]byte(`{"conversations":[{"from":"gpt","value":"<tool_call>{'name':'f','arguments':{}}</tool_call>"}],"tools":"[]"}`),
	)
	f.Fuzz(func(t *testing.T, data []byte) {
		rows, report, err := load(t, "f.jsonl", string(data), Options{})
		if (err == nil) != (len(rows) > 0) || report.Kept != len(rows) ||
			report.Read != report.Kept+report.NumRefused() {
			t.Fatalf("%d rows, %+v, %v", len(rows), report, err)
		}
		for _, r := range rows {
			r.WhyNoDemonstration()
			r.UnknownTool(r.Tools)
			again(t, "row", r)
		}
	})
}

// A folder of traces as the workshop's agent writes them: one JSON file each, with arguments now as an object and now
// as text, the reasoning apart, and calls that a person refused.
func TestWorkshopFolder(t *testing.T) {
	dir := t.TempDir()
	for name, arguments := range map[string]string{"trace_1": `{"city": "Bern"}`, "trace_2": `"{\"city\": \"Bern\"}"`} {
		text := `{
  "timestamp": "2025-06-04T10:00:00",
  "model": "Qwen/Qwen3-30B-A3B",
  "messages": [
    {"role": "user", "content": "Rain in Bern?"},
    {"role": "assistant", "content": "", "reasoning_content": "I look.", "tool_calls": [
      {"id": "call_0", "type": "function", "function": {"name": "weather", "arguments": ` + arguments + `}},
      {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": {}}}]},
    {"role": "tool", "tool_call_id": "call_1", "content": "User rejected tool call."},
    {"role": "tool", "tool_call_id": "call_0", "content": "dry"},
    {"role": "assistant", "content": "No.", "reasoning_content": "Dry."}
  ],
  "tools": [` + weather + `]
}
`
		if err := os.WriteFile(filepath.Join(dir, name+".json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	rows, report, err := Load([]string{dir}, Options{})
	if err != nil || len(rows) != 2 || report.Formats["openai"] != 2 {
		t.Fatalf("%+v, %v", report, err)
	}
	for _, r := range rows {
		m := r.Messages
		if m[1].ToolCalls[0].Arguments != `{"city": "Bern"}` || m[1].ReasoningContent != "I look." ||
			m[2].ToolCallID != "call_1" || m[2].Content != "User rejected tool call." || m[3].ToolCallID != "call_0" ||
			len(r.Tools) != 1 {
			t.Errorf("%+v", r)
		}
	}
}

// A row group that cannot be read costs its rows alone, and each of them counts.
func TestDamagedRowGroup(t *testing.T) {
	type row struct {
		Messages string `parquet:"messages"`
	}
	var b bytes.Buffer
	w := parquet.NewGenericWriter[row](&b, parquet.MaxRowsPerRowGroup(10))
	for i := range 20 {
		if _, err := w.Write([]row{
			{fmt.Sprintf(`[{"role":"user","content":"%d"},{"role":"assistant","content":"a"}]`, i)},
		}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	data := b.Bytes()
	for i := 4; i < 24; i++ { // the header of the first page
		data[i] = 0xff
	}
	rows, report, err := load(t, "a.parquet", string(data), Options{})
	if err != nil || report.Read != 20 || report.Kept != 10 || report.NumRefused() != 10 || len(rows) != 10 ||
		rows[0].Line != 11 {
		t.Fatalf("%+v, %v", report, err)
	}
	if lines := strings.Join(report.Lines(),
		"\n"); !strings.Contains(lines, "refused 10 rows: parquet: cannot be read") ||
		!strings.Contains(lines, "a.parquet:1 and the 9 behind it") {
		t.Errorf("%s", lines)
	}
}
