package scenario_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hone/internal/chat"
	"hone/internal/episode/scenario"
	"hone/internal/fault"
	"hone/internal/grade"
)

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestLoad(t *testing.T) {
	full := `{"id":"a","task":"Hash hi","setup":[{"name":"reset","arguments":{}}],` +
		`"checks":[{"type":"answer","contains":"49"},{"type":"call","name":"hash","arguments":{"b":1,"a":2.50}},{"type":"no_call","name":"rm"}],` +
		`"gold":[{"name":"hash","arguments":{"b":1,"a":2.50}}],"difficulty":"easy","tags":["x"],"split":"test"}`
	for _, file := range []struct{ name, text string }{
		{"s.json", "[\n" + full + ",\n{\"task\": \"b\"}]"},
		{"s.jsonl", full + "\n\n{\"task\": \"b\"}\n"},
	} {
		got, err := scenario.Load(write(t, file.name, file.text))
		if err != nil || len(got) != 2 {
			t.Fatalf("%s: %v, %v", file.name, got, err)
		}
		if s := got[0]; s.ID != "a" || s.Split != scenario.Test || len(s.Checks) != 3 ||
			string(s.Gold[0].Arguments) != `{"b":1,"a":2.50}` || s.Setup[0].Name != "reset" {
			t.Errorf("%s: %+v", file.name, s)
		}
		if s := got[1]; s.ID == "" || s.Split == "" {
			t.Errorf("%s: no id or split: %+v", file.name, s)
		}
		path := filepath.Join(t.TempDir(), file.name)
		if err := scenario.Save(path, got); err != nil {
			t.Fatal(err)
		}
		again, err := scenario.Load(path)
		if err != nil || !reflect.DeepEqual(got, again) {
			t.Errorf("%s: saved and loaded: %+v, %v; want %+v", file.name, again, err, got)
		}
	}
}

func TestBrokenRows(t *testing.T) {
	ok := `{"task":"x"}`
	tests := []struct{ name, file, text, want string }{
		{"misspelt", "s.json", "[" + ok + ",\n{\"tsk\":\"y\"}]", "s.json:2|" + `unknown key "tsk" (did you mean "task"?)`},
		{"misspelt in a check", "s.jsonl", ok + "\n" + `{"task":"y","checks":[{"type":"answer","contain":"z"}]}`,
			"s.jsonl:2|" + `checks[0]: unknown key "contain" (did you mean "contains"?)`},
		{"far off", "s.jsonl", `{"task":"y","solution":1}`, "s.jsonl:1|" + `unknown key "solution"`},
		{"repeated key", "s.json", "[\n\n{\"task\":\"y\",\"task\":\"z\"}]", "s.json:3|"},
		{"repeated id", "s.jsonl", "{\"task\":\"y\",\"id\":\"a\"}\n{\"task\":\"z\",\"id\":\"a\"}", "s.jsonl:2|" + `id "a" is taken by the row at line 1`},
		{"no task", "s.jsonl", `{"id":"a"}`, `"task" is missing`},
		{"no object", "s.json", `["x"]`, "not a JSON object"},
		{"no array", "s.json", ok, "does not begin with ["},
		{"cut short", "s.json", "[" + ok + ",\n\n{\"task\":", "s.json:3|"},
		{"text behind", "s.json", "[" + ok + "]\nx", "text after the array"},
		{"split", "s.jsonl", `{"task":"y","split":"dev"}`, `"split" is "dev"`},
		{"type", "s.jsonl", `{"task":7}`, `"task" must be a string, not a number`},
		{"two conditions", "s.jsonl", `{"task":"y","checks":[{"type":"answer","contains":"z","equals":"z"}]}`, "exactly one"},
		{"empty contains", "s.jsonl", `{"task":"y","checks":[{"type":"answer","contains":""}]}`, "is empty"},
		{"bad regex", "s.jsonl", `{"task":"y","checks":[{"type":"answer","regex":"("}]}`, `"regex"`},
		{"check type", "s.jsonl", `{"task":"y","checks":[{"type":"anser","contains":"a"}]}`, "anser"},
		{"call without arguments", "s.jsonl", `{"task":"y","checks":[{"type":"call","name":"a"}]}`, `"arguments" of a`},
		{"gold arguments", "s.jsonl", `{"task":"y","gold":[{"name":"a","arguments":[]}]}`, "gold[0]: "},
		{"empty", "s.json", "[]", "empty"},
		{"an array as lines", "s.jsonl", "\ufeff \n[" + ok + "]", "s.jsonl|the file is one JSON array"},
	}
	for _, test := range tests {
		_, err := scenario.Load(write(t, test.file, test.text))
		var f *fault.Error
		where, why, placed := strings.Cut(test.want, "|") // the place is said once
		if !errors.As(err, &f) || f.Code != fault.CodeUsage || !placed && !strings.Contains(err.Error(), test.want) ||
			placed && (!strings.HasSuffix(f.Where, where) || !strings.HasPrefix(f.Why, why) ||
				strings.Contains(f.Why, "s.json")) {
			t.Errorf("%s: %v; want %q in it", test.name, err, test.want)
		}
	}
	if _, err := scenario.Load(write(t, "s.jsonl", "["+ok+"]")); !strings.HasSuffix(err.Error(), "s.json") ||
		!strings.Contains(err.Error(), "name it ") {
		t.Errorf("of an array of another name it says %v", err)
	}
	// All broken rows are named, and the good ones are not.
	_, err := scenario.Load(write(t, "s.jsonl", "{\n"+ok+"\n{\"tasks\":\"y\"}\n[]\n"))
	for _, line := range []int{1, 3, 4} {
		if !strings.Contains(err.Error(), fmt.Sprintf("s.jsonl:%d: ", line)) {
			t.Errorf("line %d is not named: %v", line, err)
		}
	}
	if strings.Contains(err.Error(), "s.jsonl:2:") {
		t.Errorf("line 2 is named: %v", err)
	}
	if _, err := scenario.Load(filepath.Join(t.TempDir(), "none.json")); fault.CodeOf(err) != fault.CodeUsage {
		t.Errorf("missing file: %v", err)
	}
}

func TestIDs(t *testing.T) {
	got, err := scenario.Load(write(t, "s.jsonl", "{\"task\":\"a\"}\n{\"task\":\"a\"}\n{\"task\":\"b\"}\n"))
	if err != nil || got[1].ID != got[0].ID+"-2" || got[2].ID == got[0].ID {
		t.Errorf("ids %+v, %v", got, err)
	}
	// A given id that looks like a made one is kept, and the made one moves.
	taken, err := scenario.Load(write(t, "s.jsonl", `{"task":"a"}`+"\n"+`{"task":"b","id":"`+got[0].ID+`"}`))
	if err != nil || taken[1].ID != got[0].ID || taken[0].ID != got[0].ID+"-2" {
		t.Errorf("ids %+v, %v", taken, err)
	}
}

func TestSaveKeepsOldFile(t *testing.T) {
	path := write(t, "s.json", "old")
	bad := []scenario.Scenario{{Task: "x", Gold: []scenario.Gold{{Name: "a", Arguments: []byte("{")}}}}
	if err := scenario.Save(path, bad); err == nil {
		t.Fatal("saved arguments that are not JSON")
	}
	if data, _ := os.ReadFile(path); string(data) != "old" {
		t.Errorf("file holds %q", data)
	}
	if files, _ := os.ReadDir(filepath.Dir(path)); len(files) != 1 {
		t.Errorf("left behind: %v", files)
	}
}

func TestSplits(t *testing.T) {
	count := func(n int) map[string]int {
		rows := make([]scenario.Scenario, n)
		for i := range rows {
			rows[i].Task = fmt.Sprint("task ", i)
		}
		scenario.AssignSplits(rows)
		sizes := map[string]int{}
		for _, s := range rows {
			sizes[s.Split]++
		}
		return sizes
	}
	if got := count(2000); got["train"] < 1520 || got["train"] > 1680 || got["validation"] < 140 || got["test"] < 140 {
		t.Errorf("2000 rows: %v", got)
	}
	for n := 1; n <= 40; n++ {
		got := count(n)
		if got["train"] == 0 || n >= 2 && got["validation"] == 0 || n >= 3 && got["test"] == 0 || len(got) > 3 {
			t.Errorf("%d rows: %v", n, got)
		}
	}
	given := []scenario.Scenario{{Task: "a", Split: "test"}, {Task: "b", Split: "test"}}
	scenario.AssignSplits(given)
	if given[0].Split != "test" || given[1].Split != "test" {
		t.Errorf("given splits changed: %+v", given)
	}
}

// Splits depend on tasks, not on their order, and equal tasks stay together.
func TestSplitsProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tasks := rapid.SliceOfN(rapid.StringMatching(`[a-z]{1,2}`), 1, 30).Draw(t, "tasks")
		order := rapid.Permutation(tasks).Draw(t, "order")
		assign := func(tasks []string) map[string]string {
			rows := make([]scenario.Scenario, len(tasks))
			for i := range rows {
				rows[i].Task = tasks[i]
			}
			scenario.AssignSplits(rows)
			splits := map[string]string{}
			for _, s := range rows {
				if was := splits[s.Task]; was != "" && was != s.Split {
					t.Fatalf("%q is in %s and %s", s.Task, was, s.Split)
				}
				splits[s.Task] = s.Split
			}
			return splits
		}
		if a, b := assign(tasks), assign(order); !reflect.DeepEqual(a, b) {
			t.Fatalf("%v and %v", a, b)
		}
	})
}

// However a call is worded and written, it is in one split, and given splits win.
func TestSplitsByCall(t *testing.T) {
	gold := func(arguments string) []scenario.Gold {
		return []scenario.Gold{{Name: "add", Arguments: []byte(arguments)}}
	}
	for n := range 40 {
		a, b := fmt.Sprintf(`{"x":%d,"y":2.50}`, n), fmt.Sprintf(`{ "y": 2.5, "x": %d.0 }`, n)
		rows := []scenario.Scenario{{Task: "one", Gold: gold(a)}, {Task: "two", Gold: gold(b)}, {Task: "four"},
			{Task: "three", Checks: []scenario.Check{{Type: scenario.CallCheck, Name: "add", Arguments: []byte(a)}}}}
		for i := range 40 { // enough that no split needs filling
			rows = append(rows, scenario.Scenario{Task: fmt.Sprint(i), Gold: gold(fmt.Sprintf(`{"z":%d}`, i))})
		}
		scenario.AssignSplits(rows)
		if rows[0].Split == "" || rows[0].Split != rows[1].Split || rows[3].Split != rows[0].Split {
			t.Fatalf("one call in the splits %s, %s, %s", rows[0].Split, rows[1].Split, rows[3].Split)
		}
		sizes := map[string]int{}
		for _, s := range rows {
			sizes[s.Split]++
		}
		if len(sizes) != 3 || sizes[""] != 0 {
			t.Fatalf("splits %v", sizes)
		}
	}
	for _, split := range []string{"train", "validation", "test"} {
		rows := []scenario.Scenario{{Task: "a", Gold: gold("{}"), Split: split}, {Task: "b", Gold: gold("{ }")}}
		if scenario.AssignSplits(rows); rows[1].Split != split {
			t.Errorf("a row beside one in %s went to %s", split, rows[1].Split)
		}
	}
}

// No call of a test scenario, first or not, is asked for in training.
func TestSplitsOfChains(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := make([]scenario.Scenario, rapid.IntRange(1, 60).Draw(t, "rows"))
		for i := range rows {
			rows[i].Task = fmt.Sprint("task ", i)
			for range rapid.IntRange(0, 2).Draw(t, "calls") {
				n := rapid.IntRange(0, 80).Draw(t, "call")
				g := scenario.Gold{Name: "add", Arguments: []byte(fmt.Sprintf(`{"x":%d}`, n))}
				if rows[i].Gold = append(rows[i].Gold, g); n%5 == 0 { // looking around is no task
					rows[i].Gold = append(rows[i].Gold, scenario.Gold{Name: "list", Arguments: []byte("{}")})
				}
			}
		}
		rows = rapid.Permutation(rows).Draw(t, "order")
		scenario.AssignSplits(rows)
		splits := map[string]string{}
		for _, s := range rows {
			for _, g := range s.Gold {
				call := string(g.Arguments)
				if was := splits[call]; was != "" && was != s.Split && call != "{}" {
					t.Fatalf("%s is in %s and %s", call, was, s.Split)
				}
				splits[call] = s.Split
			}
		}
	})
	row := func(task string, calls ...string) scenario.Scenario {
		s := scenario.Scenario{Task: task}
		for _, c := range calls {
			s.Gold = append(s.Gold, scenario.Gold{Name: "f", Arguments: []byte(c)})
		}
		return s
	}
	given := row("d", `{"z":1}`)
	given.Split = scenario.Test
	rows := []scenario.Scenario{row("a", `{"x":1}`, `{"y":1}`), row("b", `{"y":1.0}`),
		row("c", `{"z":1}`, `{"y":1}`), given}
	if scenario.AssignSplits(rows); rows[0].Split != scenario.Test || rows[1].Split != scenario.Test ||
		rows[2].Split != scenario.Test {
		t.Errorf("joined by second calls to a test scenario: %+v", rows)
	}
	bare := []scenario.Scenario{row("a", "{}", `{"x":1}`), row("b", "{}", `{"x":2}`), row("c", "{}"), row("d", "{}")}
	if keys := scenario.Together(bare); keys[0] == keys[1] || keys[2] == keys[0] || keys[2] != keys[3] {
		t.Errorf("calls without arguments: %q", keys)
	}
}

// A file without splits is split by calls too: two wordings of one call are not held out from each other.
func TestLoadSplitsByCall(t *testing.T) {
	var text strings.Builder
	for i := range 60 {
		for _, wording := range []string{"Add 1 to %d.", "What is %d plus 1?"} {
			fmt.Fprintf(&text, `{"task": %q, "gold": [{"name": "add", "arguments": {"x": %d}}]}`+"\n",
				fmt.Sprintf(wording, i), i)
		}
	}
	rows, err := scenario.Load(write(t, "s.jsonl", text.String()))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(rows); i += 2 {
		if rows[i].Split != rows[i+1].Split {
			t.Errorf("%q is in %s, %q in %s", rows[i].Task, rows[i].Split, rows[i+1].Task, rows[i+1].Split)
		}
	}
}

func TestLoadLines(t *testing.T) {
	_, lines, err := scenario.LoadLines(write(t, "s.json", "[\n{\"task\":\n\"a\"},\n\n{\"task\":\"b\"}]"))
	if err != nil || !reflect.DeepEqual(lines, []int{2, 5}) {
		t.Errorf("lines %v, %v", lines, err)
	}
}

func ptr[T any](v T) *T { return &v }

// wide is the number of a check as it is written.
func wide(t *testing.T, text string) *grade.Decimal {
	t.Helper()
	var c scenario.Check
	if err := json.Unmarshal([]byte(`{"type":"answer","number":`+text+`}`), &c); err != nil {
		t.Fatal(err)
	}
	return c.Number
}

func TestAnswerCheck(t *testing.T) {
	tests := []struct {
		check scenario.Check
		text  string
		want  bool
	}{
		{scenario.Check{Equals: ptr("42")}, " 42\n", true},
		{scenario.Check{Equals: ptr("42")}, "It is 42", false},
		{scenario.Check{Equals: ptr("42")}, "42.", true},
		{scenario.Check{Equals: ptr("42")}, "42..", false},
		{scenario.Check{Equals: ptr("42")}, "42!", false},
		{scenario.Check{Equals: ptr("42")}, "41 42", false},
		{scenario.Check{Equals: ptr("42")}, "4.2", false},
		{scenario.Check{Equals: ptr("-4.2")}, "-4.2.", true},
		{scenario.Check{Equals: ptr("Monday")}, " \"Monday.\"\n", true},
		{scenario.Check{Equals: ptr("Monday")}, "\u201cMonday\u201d.", true},
		{scenario.Check{Equals: ptr("'Monday'.")}, "Monday", true},
		{scenario.Check{Equals: ptr("Monday")}, "monday", false},
		{scenario.Check{Equals: ptr("Monday")}, "Sunday Monday Tuesday", false},
		{scenario.Check{Equals: ptr("Monday")}, "\"Sunday\" \"Monday\"", false},
		{scenario.Check{Equals: ptr("it's")}, "it's", true},
		{scenario.Check{Equals: ptr("it's")}, "its", false},
		{scenario.Check{Equals: ptr(".")}, ".", true},
		{scenario.Check{Equals: ptr(".")}, "\"", false},
		{scenario.Check{Equals: ptr("x")}, "..", false},
		{scenario.Check{Contains: ptr("42")}, "It is 42.", true},
		{scenario.Check{Contains: ptr("42")}, "It is 4 2.", false},
		{scenario.Check{Regex: ptr("^[0-9]+ km$")}, "42 km", true},
		{scenario.Check{Regex: ptr("^[0-9]+ km$")}, "about 42 km", false},
		{scenario.Check{Number: scenario.NumberOf(42.0)}, "6 * 7 = 42.", true},
		{scenario.Check{Number: scenario.NumberOf(42.0)}, "421", false},
		{scenario.Check{Number: scenario.NumberOf(42.0)}, "It is 42 or 43", false},
		{scenario.Check{Number: scenario.NumberOf(-4.5), Tolerance: 0.1}, "(-4.45)", true},
		{scenario.Check{Number: scenario.NumberOf(-4.5)}, "-4.45", false},
		{scenario.Check{Number: scenario.NumberOf(12345.0)}, "12,345 bytes", true},
		{scenario.Check{Number: wide(t, "2047948614742839297")}, "It is 2047948614742839297.", true},
		{scenario.Check{Number: wide(t, "2047948614742839297")}, "2,047,948,614,742,839,297", true},
		{scenario.Check{Number: wide(t, "2047948614742839297")}, "2047948614742839296", false},
		{scenario.Check{Number: wide(t, "2047948614742839296")}, "2047948614742839297", false},
		{scenario.Check{Number: wide(t, "-9007199254740993")}, "-9007199254740992", false},
		{scenario.Check{Number: wide(t, "9007199254740993"), Tolerance: 2}, "9007199254740995", true},
		{scenario.Check{Number: wide(t, "9007199254740993"), Tolerance: 1}, "9007199254740995", false},
		{scenario.Check{Number: wide(t, "1e21")}, "1000000000000000000000", true},
		{scenario.Check{Number: wide(t, "0.3")}, "0.30000000000000004", false},
		{scenario.Check{Number: wide(t, "0.3"), Tolerance: 0.1}, "0.4", true},
		{scenario.Check{Number: scenario.NumberOf(0.0)}, "", false},
		{scenario.Check{Number: scenario.NumberOf(0.0)}, "none", false},
		{scenario.Check{Number: scenario.NumberOf(5.0)}, "2024-05", false},
		{scenario.Check{Regex: ptr("x*")}, "", false},
	}
	for _, test := range tests {
		test.check.Type = scenario.AnswerCheck
		if err := test.check.Validate(); err != nil {
			t.Errorf("%+v: %v", test.check, err)
		}
		if got := test.check.Answer(test.text); got != test.want {
			t.Errorf("%+v of %q = %v", test.check, test.text, got)
		}
	}
}

func TestIsCall(t *testing.T) {
	made := chat.ToolCall{Name: "hash", Arguments: `{"text":"hi","n":1.0}`}
	for check, want := range map[string]bool{
		`{"name":"hash","arguments":{"n":1,"text":"hi"}}`:                                      true,
		`{"name":"hash","arguments":{"n":"1","text":"hi"}}`:                                    false,
		`{"name":"hash","arguments":{"n":1}}`:                                                  false,
		`{"name":"hash","arguments_match":{"$subset":{"n":1}}}`:                                true,
		`{"name":"hash","arguments_match":{"text":"hi","n":1,"salt":{"$optional":"x"}}}`:       true,
		`{"name":"hash","arguments_match":{"text":"hi","salt":{"$optional":"x"}}}`:             false,
		`{"name":"hush","arguments_match":{"$any":true}}`:                                      false,
		`{"name":"hash","arguments_match":{"text":{"$any_of":["hi","ho"]},"n":{"$any":true}}}`: true,
	} {
		c := checkOf(t, `{"type":"call",`+check[1:])
		if got := c.IsCall(made, nil); got != want {
			t.Errorf("%s = %v", check, got)
		}
	}
}

// checkOf reads a check as a file has it.
func checkOf(t *testing.T, text string) scenario.Check {
	t.Helper()
	rows, err := scenario.Load(write(t, "s.jsonl", `{"task":"t","checks":[`+text+`]}`))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return rows[0].Checks[0]
}

func TestNeedsJudge(t *testing.T) {
	checked := scenario.Scenario{Checks: []scenario.Check{{Type: "no_call"}}}
	if scenario.NeedsJudge([]scenario.Scenario{checked}) || !scenario.NeedsJudge([]scenario.Scenario{checked, {}}) {
		t.Error("NeedsJudge is wrong")
	}
}
