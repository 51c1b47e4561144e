package bfcl_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"hone/benchmarks/bfcl"
	"hone/internal/fault"
)

const (
	weather = `{"name": "get_weather", "parameters": {"type": "dict", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}, "required": ["city"]}}`
	openAI  = `{"type": "function", "function": {"name": "send", "parameters": {"type": "object", "properties": {"to": {"type": "object"}, "n": {"type": "number"}}}}}`
	byMCP   = `{"name": "list_files", "server": "fs", "inputSchema": {"type": "object", "properties": {"paths": {"type": "array"}, "depth": {"type": ["integer", "null"]}}}}`
	gold    = `[{"get_weather": {"city": ["New York, NY"], "days": [3, ""]}}]`
)

func call(name, arguments string) string {
	b, _ := json.Marshal(arguments)
	return fmt.Sprintf(`{"name": %q, "arguments": %s}`, name, b)
}

func grade(t *testing.T, o bfcl.Options, lines ...string) ([]map[string]any, bfcl.Totals, error) {
	t.Helper()
	var out bytes.Buffer
	totals, err := bfcl.Grade(context.Background(), strings.NewReader(strings.Join(lines, "\n")), &out, o)
	var answers []map[string]any
	for line := range strings.Lines(out.String()) {
		var answer map[string]any
		if err := json.Unmarshal([]byte(line), &answer); err != nil {
			t.Fatal(err)
		}
		answers = append(answers, answer)
	}
	return answers, totals, err
}

func line(tools, gold, output, more string) string {
	return fmt.Sprintf(`{"tools": [%s], "gold": %s, "output": [%s]%s}`, tools, gold, output, more)
}

func TestVerdicts(t *testing.T) {
	for name, x := range map[string]struct {
		line string
		want string // valid, tool, param
		why  string
	}{
		"right, however it is written": {line(weather, gold, call("get_weather", `{"city": "new york ny"}`), ""), "111", ""},
		"a wrong value":                {line(weather, gold, call("get_weather", `{"city": "Boston"}`), ""), "011", "value_error:string"},
		"an argument too many":         {line(weather, gold, call("get_weather", `{"city": "New York, NY", "x": 1}`), ""), "010", "unexpected_param"},
		"an argument is missing":       {line(weather, gold, call("get_weather", `{"days": 3}`), ""), "010", "missing_required"},
		"another tool":                 {line(weather, gold, call("weather", `{"city": "New York, NY"}`), ""), "000", "wrong_func_name"},
		"two calls for one":            {line(weather, gold, call("get_weather", `{"city": "New York, NY"}`)+","+call("get_weather", `{}`), ""), "000", "wrong_count"},
		"arguments that are no JSON":   {line(weather, gold, call("get_weather", `{"city": `), ""), "010", "decoder_failed"},
		"arguments as an object": {
			line(weather, gold, `{"name": "get_weather", "arguments": {"city": "New York, NY"}}`,
				""), "010", "not the text of a JSON object",
		},
		"no arguments":                 {line(weather, gold, `{"name": "get_weather"}`, ""), "010", `"arguments" is not there]`},
		"a key twice, the last counts": {line(weather, gold, call("get_weather", `{"city": "Boston", "city": "New York, NY"}`), ""), "111", ""},
		"no call is right, and none":   {line(weather, `[]`, ``, ""), "111", ""},
		"no call is right, and one":    {line(weather, `[]`, call("get_weather", `{"city": "x"}`), ""), "000", "irrelevance_error"},
		"no call is right, and half":   {line(weather, `[]`, call("get_weather", `{"city": `), ""), "100", ""},
		"some call is right":           {line(weather, `[]`, call("get_weather", `{}`), `, "category": "live_relevance"`), "111", ""},
		"some call is right, and none": {line(weather, `null`, ``, `, "id": "live_relevance_3-3-0"`), "000", "there is no call"},
		"OpenAI's form":                {line(openAI, `[{"send": {"to": [{"name": ["Ann"]}], "n": [2]}}]`, call("send", `{"to": {"name": "ann"}, "n": 2.0}`), ""), "111", ""},
		"an int for a number":          {line(openAI, `[{"send": {"n": [2.0]}}]`, call("send", `{"n": 2}`), ""), "111", ""},
		"MCP's form, items untold": {line(byMCP, `[{"list_files": {"paths": [["a", 1]], "depth": [2, ""]}}]`,
			call("list_files", `{"paths": ["A", 1], "depth": 2}`), ""), "111", ""},
		"MCP's form, another type": {line(byMCP, `[{"list_files": {"depth": [2]}}]`, call("list_files", `{"depth": "2"}`), ""), "011", "type_error"},
		"of two tools":             {line(weather+","+openAI, gold, call("get_weather", `{"city": "New York NY", "days": 3}`), ""), "111", ""},
		"in any order": {
			line(weather+","+openAI, `[{"send": {"n": [1.5]}}, {"get_weather": {"city": ["x"]}}]`,
				call("get_weather", `{"city": "x"}`)+","+call("send", `{"n": 1.5}`), ""), "111", "",
		},
		"arguments that pair up only so": {line(`{"name": "f", "parameters": {"properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "required": []}}`,
			`[{"f": {"a": [1], "b": [2, ""]}}, {"f": {"a": [3]}}]`,
			call("f", `{"a": 3}`)+","+call("f", `{"a": 1, "b": 2}`), ""), "111", ""},
		"Java, by its types": {
			line(`{"name": "f", "parameters": {"properties": {"n": {"type": "long"}}, "required": []}}`,
				`[{"f": {"n": [5]}}]`, call("f", `{"n": "5L"}`), ""), "111", "",
		},
		"Java, by the id": {
			line(`{"name": "f", "parameters": {"properties": {"n": {"type": "float"}}, "required": []}}`,
				`[{"f": {"n": [5.0]}}]`, call("f", `{"n": "5f"}`), `, "id": "simple_java_12"`), "111", "",
		},
		"JavaScript, by the language": {
			line(`{"name": "f", "parameters": {"properties": {"n": {"type": "array", "items": {"type": "any"}}}, "required": []}}`, `[{"f": {"n": [["a", "2"]]}}]`, call("f", `{"n": "['a', 2]"}`), `, "language": "JavaScript"`),
			"011",
			"value_error",
		},
		"Python, by its types": {
			line(`{"name": "f", "parameters": {"properties": {"n": {"type": "integer"}}, "required": []}}`,
				`[{"f": {"n": [5]}}]`, call("f", `{"n": "5"}`), ""), "011", "type_error",
		},
		"underscores, as tools are": {
			line(`{"name": "a_b", "parameters": {"properties": {}, "required": []}},`+weather, `[{"a.b": {}}]`,
				call("a_b", `{}`), ""), "111", "",
		},
		"dots, where tools are told": {
			line(`{"name": "a_b", "parameters": {"properties": {}, "required": []}},`+weather, `[{"a.b": {}}]`,
				call("a.b", `{}`), ""), "111", "",
		},
		"dots, where gold has none": {
			line(`{"name": "a_b", "parameters": {"properties": {}, "required": []}},`+weather, `[{"a_b": {}}]`,
				call("a.b", `{}`), ""), "000", "wrong_func_name",
		},
		"underscores, as the line says": {line(`{"name": "a.b", "parameters": {"properties": {}, "required": []}}`,
			`[{"a.b": {}}]`, call("a_b", `{}`), `, "underscore_to_dot": true`), "111", ""},
		"underscores, that none said": {
			line(`{"name": "a.b", "parameters": {"properties": {}, "required": []}}`,
				`[{"a.b": {}}]`, call("a_b", `{}`), ""), "000", "wrong_func_name",
		},
		"a type nobody knows": {
			line(`{"name": "f", "parameters": {"properties": {"n": {"type": "Int"}}, "required": []}}`,
				`[{"f": {"n": [5]}}]`, call("f", `{"n": 5}`), ""),
			"011",
			"checker_error: BFCL's checker ends with KeyError: 'Int'",
		},
	} {
		answers, _, err := grade(t, bfcl.Options{}, x.line)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		digit := func(key string) string { return map[any]string{true: "1", false: "0"}[answers[0][key]] }
		if got := digit("valid") + digit("tool") + digit("param"); got != x.want || digit("ast") != digit("valid") {
			t.Errorf("%s: %s, want %s: %v", name, got, x.want, answers[0])
		}
		if why := fmt.Sprint(answers[0]["errors"]); !strings.Contains(why, x.why) || (x.why == "") != (why == "[]") {
			t.Errorf("%s: %s, want %q", name, why, x.why)
		}
	}
}

// A line that cannot be graded says why, where it stands; the others are graded all the same, and the rates are theirs.
func TestBadLines(t *testing.T) {
	right := line(weather, gold, call("get_weather", `{"city": "New York, NY"}`), "")
	bad := map[string]string{
		`{"tools": [`:                "not JSON at byte 11",
		`[]`:                         "it is not a JSON object",
		"{\"output\": \xff":          "it is not UTF-8",
		`{"tools": [], "gold": []}`:  `"output" is missing`,
		`{"gold": [], "output": []}`: `"tools" is not there`,
		`{"tools": [5], "gold": [], "output": []}`:                                  "tools[0]: it is not an object",
		`{"tools": [{"name": 5}], "gold": [], "output": []}`:                        `tools[0]: "name"`,
		`{"tools": [], "output": []}`:                                               `"gold" is missing`,
		`{"tools": [], "gold": {}, "output": []}`:                                   `"gold" is no list`,
		`{"tools": [], "gold": [{"a": []}], "output": []}`:                          "gold[0]: what a takes is not {parameter: [accepted values]}",
		`{"tools": [], "gold": [{"add": {"b": [1], "a": 2}}], "output": []}`:        "gold[0]: accepted values must be a list, and those of a of add are none",
		`{"tools": [], "gold": [{"a": {}, "b": {}}], "output": []}`:                 "gold[0] is not {name: {parameter: [accepted values]}}",
		`{"tools": [], "gold": [], "output": [], "category": "multi_turn_base"}`:    `"multi_turn_base" is no category that calls are graded by`,
		`{"tools": [], "gold": [], "output": [], "category": "simple"}`:             "category simple has gold calls, and here are none",
		`{"tools": [], "gold": [{"a": {}}], "output": [], "category": "relevance"}`: "category relevance has no gold calls, and here are 1",
		`{"tools": [], "gold": [], "output": [], "language": "rust"}`:               `there is no language "rust"`,
		`{"tools": [], "gold": [], "output": [], "underscore_to_dot": 1}`:           "neither true nor false",
		`{"tools": [], "gold": [` + strings.TrimSuffix(strings.Repeat(`{"a": {}},`, 1001), ",") +
			`], "output": []}`: "1001 calls, more than 1000",
		`{"tools": [], "gold": [], "output": [], "x": ` + strings.Repeat("[", 2000) +
			`}`: "more than 1000 arrays and objects inside each other",
		`{"tools": [], "gold": [], "output": [], "x": ` + strings.Repeat("9", 5000) +
			`}`: "an integer of more than 4300 digits",
		`{"tools": [], "gold": [], "output": [], "x": "` + strings.Repeat("long", bfcl.MaxLine/4) +
			`"}`: fmt.Sprintf("bytes are more than %d", bfcl.MaxLine),
	}
	for text, want := range bad {
		answers, totals, err := grade(t, bfcl.Options{}, right, text, right)
		if len(answers) != 3 || fault.CodeOf(err) != fault.CodeFailures {
			t.Errorf("%.60s: %d answers, %v", text, len(answers), err)
			continue
		}
		if why, _ := answers[1]["error"].(string); !strings.Contains(why, want) || len(answers[1]) != 1 {
			t.Errorf("%.60s: %v, want %q", text, answers[1], want)
		}
		if !strings.Contains(err.Error(), "where: stdin:2") {
			t.Errorf("%.60s: %v", text, err)
		}
		if answers[0]["valid"] != true || answers[2]["valid"] != true || totals.Lines != 3 || totals.Failed != 1 ||
			totals.AST.N != 2 || totals.AST.Mean != 1 {
			t.Errorf("%.60s: %v, %+v", text, answers, totals)
		}
	}
}

// The table marks intervals of too few lines, and says why AST may be above TOOL where no call is right.
func TestTableSaysWhatRatesHide(t *testing.T) {
	_, totals, err := grade(t, bfcl.Options{}, line(weather, `[]`, call("get_weather", `{"city": `), ""),
		line(weather, `[]`, "", ""))
	if err != nil || totals.Unread != 1 || totals.AST.Mean != 1 || totals.Tool.Mean != 0.5 {
		t.Fatalf("%+v, %v", totals, err)
	}
	if row := strings.Join(totals.Table()[1], " | "); strings.Count(row, "] too few") != 3 {
		t.Error(row)
	}
	said := strings.Join(totals.Notes(), "\n")
	for _, want := range []string{
		"on 1 line no call is right, and the output cannot be read as calls", "too few: fewer than 5",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("no %q in %s", want, said)
		}
	}
	var many []string
	for i := range 40 {
		city := []string{"New York, NY", "Boston"}[i%2]
		many = append(many, line(weather, gold, call("get_weather", `{"city": "`+city+`"}`), ""))
	}
	if _, totals, err = grade(t, bfcl.Options{}, many...); err != nil ||
		strings.Contains(totals.Table()[1][4], "few") || totals.Unread != 0 {
		t.Errorf("%+v, %v", totals, err)
	}
}

// Deeply nested arguments are an answer that cannot be decoded, and no fault of the line.
func TestHostileArguments(t *testing.T) {
	answers, totals, err := grade(t, bfcl.Options{},
		line(weather, gold, call("get_weather", strings.Repeat("[", 100_000)), ""))
	if err != nil || totals.Failed != 0 || answers[0]["valid"] != false || answers[0]["tool"] != true {
		t.Error(answers, totals, err)
	}
}

func TestTotals(t *testing.T) {
	right, wrong := call("get_weather", `{"city": "New York, NY"}`), call("get_weather", `{"city": "Boston"}`)
	three := weather + "," + openAI + "," + byMCP
	seen, err := bfcl.ReadSeen(
		strings.NewReader(
			`{"servers": [{"name": "w", "tools": [{"name": "get_weather", "model_name": "get_weather"}]}]}`,
		),
	)
	if err != nil {
		t.Fatal(err)
	}
	_, totals, err := grade(t, bfcl.Options{Seen: seen},
		line(weather, gold, right, `, "server": "w", "note": 1`),
		line(weather, gold, wrong, ""),
		line(three, gold, right, `, "server": "v"`),
		line(three, `[{"send": {"n": [1]}}]`, "", `, "server": "w"`),
		line(three, `[{"list_files": {}}]`, call("list_files", `{}`), ""),
		line(three, `[]`, "", ""),
		line(weather, gold, right, `, "id": "a"`), line(weather, gold, wrong, `, "id": "a"`),
		line(`{"name": "f", "parameters": {"properties": {"n": {"type": "Int"}}, "required": []}}`,
			`[{"f": {"n": [5]}}]`, call("f", `{"n": 5}`), `, "category": "live_simple"`),
	)
	if err != nil {
		t.Fatal(err)
	}
	if totals.Lines != 9 || totals.Stopped != 1 || totals.AST.N != 8 || totals.Tool.Mean != 8./9 ||
		totals.AST.Mean != 5./9 || !reflect.DeepEqual(totals.UnknownKeys, map[string]int{"note": 1}) {
		t.Errorf("%+v", totals)
	}
	var got []string
	for _, list := range [][]bfcl.Group{totals.Categories, totals.Candidates, totals.Seen} {
		for _, g := range list {
			got = append(got, fmt.Sprintf("%s: %d lines, %d, %.2f", g.Value, g.Lines, g.AST.N, g.AST.Mean))
		}
	}
	want := []string{
		"irrelevance: 1 lines, 1, 1.00", "live_simple: 1 lines, 1, 0.00", "multiple: 3 lines, 3, 0.67",
		"simple: 4 lines, 3, 0.50", "1: 5 lines, 4, 0.40", "3: 4 lines, 4, 0.75",
		"seen tool: 4 lines, 3, 0.50", "unseen tool: 2 lines, 2, 0.00", "unseen server: 2 lines, 2, 1.00",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if notes := strings.Join(totals.Notes(), "\n"); !strings.Contains(notes, "1 line, which") ||
		!strings.Contains(notes, `"note" in 1 line`) {
		t.Error(notes)
	}
	if rows := totals.Table(); rows[1][0] != "all" || rows[1][1] != "9" || !strings.HasPrefix(rows[1][4], "55.6% [") ||
		rows[6][0] != "candidate tools: 1" {
		t.Errorf("%q", rows)
	}
}

// Many different numbers of candidate tools are put together.
func TestCandidatesInRanges(t *testing.T) {
	var lines []string
	for _, n := range []int{1, 2, 5, 10, 11, 50, 100, 101} {
		lines = append(lines, line(strings.TrimSuffix(strings.Repeat(weather+",", n), ","), gold, "", ""))
	}
	_, totals, err := grade(t, bfcl.Options{}, lines...)
	var got []string
	for _, g := range totals.Candidates {
		got = append(got, fmt.Sprint(g.Value, ": ", g.Lines))
	}
	if want := []string{"1: 1", "2-10: 3", "11-100: 3", "101 or more: 1"}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %q", err, got)
	}
}

func TestReadSeen(t *testing.T) {
	for name, x := range map[string]struct{ file, seen, server, want string }{
		"catalog": {`{"servers": [{"name": "w", "tools": [{"name": "x", "model_name": "get_weather"}]}], "hash": "1"}`, "get_weather", "w", bfcl.SeenTool},
		"of another server": {
			`{"servers": [{"name": "w", "tools": [{"name": "get_weather"}]}, {"name": "v", "tools": []}]}`,
			"get_weather", "v", bfcl.UnseenServer,
		},
		"a tool beside it":    {`{"servers": [{"name": "w", "tools": [{"name": "other"}]}]}`, "get_weather", "w", bfcl.UnseenTool},
		"trajectories":        {`{"tools": [{"type": "function", "function": {"name": "get_weather"}}]}` + "\n" + `{"tools": []}`, "get_weather", "", bfcl.SeenTool},
		"scenarios":           {`[{"task": "a"}, {"gold": [{"name": "get_weather", "arguments": {}}]}]`, "get_weather", "", bfcl.SeenTool},
		"lines of this verb":  {`{"tools": [], "gold": [{"get_weather": {}}], "server": "w"}`, "get_weather", "w", bfcl.SeenTool},
		"messages":            {` {"messages": [{"role": "user"}, {"tool_calls": [{"function": {"name": "get_weather"}}]}]}`, "get_weather", "", bfcl.SeenTool},
		"no server is told":   {`{"tools": [{"name": "other"}]}`, "get_weather", "", bfcl.UnseenTool},
		"no tool":             {`{"task": "x"}`, "", "", "it names no tool"},
		"nothing":             {"\n ", "", "", "it is empty"},
		"text that is broken": {"{\"tools\": []}\n{", "", "", "row 2: unexpected EOF"},
	} {
		s, err := bfcl.ReadSeen(strings.NewReader(x.file))
		if err != nil || x.seen == "" {
			if err == nil || err.Error() != x.want {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		more := ""
		if x.server != "" {
			more = fmt.Sprintf(`, "server": %q`, x.server)
		}
		_, totals, err := grade(t, bfcl.Options{Seen: s}, line(weather, `[{"`+x.seen+`": {}}]`, "", more))
		if err != nil || len(totals.Seen) != 1 || totals.Seen[0].Value != x.want {
			t.Errorf("%s: %v, %+v, want %s", name, err, totals.Seen, x.want)
		}
	}
}
