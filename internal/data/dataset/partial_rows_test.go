package dataset

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// rowsIn reads lines of a file as conversations.
func rowsIn(t *testing.T, lines ...string) ([]Row, Report) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rows.jsonl")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	rows, report, err := Load([]string{path}, Options{})
	if err != nil && report.Read == 0 {
		t.Fatal(err)
	}
	return rows, report
}

// learnt are the texts that a row teaches.
func learnt(r Row) string {
	var said []string
	for i, m := range r.Messages {
		if r.Trains(i) {
			said = append(said, m.Content)
		}
	}
	return strings.Join(said, "|")
}

func TestRefusalsAreAnswersAndEmptyAnswersAreNotLearnt(t *testing.T) {
	const q = `{"role":"user","content":"q"}`
	for _, x := range []struct {
		name, row, learnt string
		empty             bool
	}{
		{"a refusal", `{"messages":[` + q + `,{"role":"assistant","content":null,"refusal":"No."}]}`, "No.", false},
		{"no content at all", `{"messages":[` + q + `,{"role":"assistant","refusal":"No."}]}`, "No.", false},
		{"an empty content", `{"messages":[` + q + `,{"role":"assistant","content":"","refusal":"No."}]}`, "No.", false},
		{"beside a content", `{"messages":[` + q + `,{"role":"assistant","content":"Yes.","refusal":null}]}`, "Yes.", false},
		{"a part", `{"messages":[` + q + `,{"role":"assistant","content":[{"type":"refusal","refusal":"No."}]}]}`, "No.", false},
		{"parts", `{"messages":[` + q + `,{"role":"assistant","content":[{"type":"text","text":"a "},{"type":"refusal","refusal":"b"}]}]}`, "a b", false},
		{"as a text", `{"messages":"[{\"role\":\"user\",\"content\":\"q\"},{\"role\":\"assistant\",\"content\":null,\"refusal\":\"No.\"}]"}`, "No.", false},
		{"of a completion", `{"prompt":"q","completion":[{"role":"assistant","content":null,"refusal":"No."}]}`, "No.", false},
		{"null", `{"messages":[` + q + `,{"role":"assistant","content":null}]}`, "", true},
		{"null twice", `{"messages":[` + q + `,{"role":"assistant","content":null,"refusal":null}]}`, "", true},
		{"blanks", `{"messages":[` + q + `,{"role":"assistant","content":" \n"}]}`, "", true},
		{"no parts", `{"messages":[` + q + `,{"role":"assistant","content":[]}]}`, "", true},
		{"an empty block of thinking", `{"messages":[` + q + `,{"role":"assistant","content":"<think></think>"}]}`, "", true},
		{"thinking alone", `{"messages":[` + q + `,{"role":"assistant","content":"<think>hm</think>\n"}]}`, "", true},
		{"of a user's turn", `{"messages":[` + q + `,{"role":"assistant","content":""},` + q + `,{"role":"assistant","content":"a"}]}`, "a", true},
		{"masked already", `{"messages":[` + q + `,{"role":"assistant","content":"","weight":0},` + q + `,{"role":"assistant","content":"a"}]}`, "a", false},
		{
			"a call without a text", `{"messages":[` + q +
				`,{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function",` +
				`"function":{"name":"weather","arguments":"{}"}}]},{"role":"tool","tool_call_id":"1","content":"dry"},{"role":"assistant","content":"a"}]}`, "|a", false,
		},
		{"ShareGPT", `{"conversations":[{"from":"human","value":"q"},{"from":"gpt","value":""}]}`, "", true},
		{"a completion", `{"prompt":"q","completion":""}`, "", true},
		{"hone's own", `{"messages":[` + q + `,{"role":"assistant","content":""}],"outcome":"ok"}`, "", false},
	} {
		rows, report := rowsIn(t, x.row)
		if len(rows) != 1 {
			t.Errorf("%s: %v", x.name, report.Lines())
			continue
		}
		if got := learnt(rows[0]); got != x.learnt {
			t.Errorf("%s: %q is learnt, want %q", x.name, got, x.learnt)
		}
		if got := report.Aside[emptyAnswer] != nil; got != x.empty {
			t.Errorf("%s: told of an empty answer: %v, want %v", x.name, got, x.empty)
		}
		if x.empty && x.learnt == "" && rows[0].WhyNoDemonstration() == "" {
			t.Errorf("%s: it has something to learn", x.name)
		}
	}
}

// What a conversation begins with answers nothing: it is context.
func TestAnswersThatNothingStandsBefore(t *testing.T) {
	for _, x := range []struct {
		row, learnt string
		told        bool
	}{
		{`{"messages":[{"role":"assistant","content":"hi"},{"role":"user","content":"q"},{"role":"assistant","content":"a"}]}`, "a", true},
		{`{"conversations":[{"from":"gpt","value":"hi"},{"from":"human","value":"q"},{"from":"gpt","value":"a"}]}`, "a", true},
		{`{"messages":[{"role":"assistant","content":"hi"}]}`, "", true},
		{`{"messages":[{"role":"system","content":"s"},{"role":"assistant","content":"hi"}]}`, "hi", false},
		{`{"system":"s","messages":[{"role":"assistant","content":"hi"}]}`, "hi", false},
		{`{"prompt":[{"role":"assistant","content":"hi"},{"role":"user","content":"q"}],"completion":"a"}`, "a", false},
		{`{"messages":[{"role":"assistant","content":"hi","weight":0},{"role":"user","content":"q"},{"role":"assistant","content":"a"}]}`, "a", false},
	} {
		rows, report := rowsIn(t, x.row)
		if len(rows) != 1 || learnt(rows[0]) != x.learnt || (report.Aside[firstAnswer] != nil) != x.told {
			t.Errorf("%s: %+v, %q", x.row, rows, report.AsideLines())
		}
	}
}

func TestEmptySidesOfPairs(t *testing.T) {
	const whole = `{"messages":[{"role":"user","content":"q"}],"chosen":[{"role":"assistant","content":CHOSEN},{"role":"user","content":"so"},` +
		`{"role":"assistant","content":"Paris"}],"rejected":"Rome"}`
	pairs, refused := pairsIn(t, `{"prompt":"q","chosen":"","rejected":"Rome"}`,
		`{"prompt":"q","chosen":"Paris","rejected":" "}`,
		`{"prompt":"q","chosen":[{"role":"assistant","content":null,"refusal":"No."}],"rejected":"Rome"}`,
		strings.Replace(whole, "CHOSEN", `""`, 1))
	if len(refused) != 2 || len(pairs) != 2 {
		t.Fatalf("%d pairs, refused: %q", len(pairs), refused)
	}
	if a, b := learnt(pairs[0].Chosen), learnt(pairs[1].Chosen); a != "No." || b != "Paris" {
		t.Errorf("learnt are %q and %q", a, b)
	}
}

// What is left aside is told in one form, with its number and its first place.
func TestAsideIsTold(t *testing.T) {
	rows, report := rowsIn(t, `{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a"}]}`,
		`{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":""},{"role":"user","content":"q"},{"role":"assistant","content":""}]}`,
		`{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":null}]}`)
	var said []string
	report.Tell(func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) })
	if lines := report.AsideLines(); len(rows) != 3 || len(lines) != 1 ||
		!strings.HasPrefix(lines[0], "left aside: an empty answer, in 2 rows, the first at ") ||
		!strings.HasSuffix(lines[0], "rows.jsonl:2") || !slices.Contains(said, lines[0]) {
		t.Errorf("%d rows, %q, of %v; told: %q", len(rows), lines, slices.Collect(maps.Keys(report.Aside)), said)
	}
}

// columnsAside are the names of the columns that are left aside.
func columnsAside(r Report) string {
	var names []string
	for what := range r.Aside {
		if name, ok := strings.CutPrefix(what, "the column "); ok {
			names = append(names, strings.Trim(name, `"`))
		}
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

func TestColumnsBesideThoseOfAFormat(t *testing.T) {
	const turns = `[{"from":"human","value":"q"},{"from":"gpt","value":"a"}]`
	const messages = `[{"role":"user","content":"q"},{"role":"assistant","content":"a"}]`
	const called = `[{"name":"weather","arguments":{"city":"Bern"}}]`
	hermes := `[{"from":"human","value":"q"},{"from":"gpt","value":"<tool_call>\n{\"name\":\"weather\",\"arguments\":{}}\n</tool_call>"},` +
		`{"from":"tool","value":"dry"},{"from":"gpt","value":"a"}]`
	tools := `,"tools":[` + weather + `]`
	for _, x := range []struct{ name, row, read, aside string }{
		{"TRL", `{"system":"s","prompt":"q","completion":"a"}`, "system:s user:q | assistant:a", ""},
		{"TRL, system_prompt", `{"system_prompt":"s","prompt":"q","completion":"a"}`, "system:s user:q | assistant:a", ""},
		{
			"TRL of messages", `{"system":"s","prompt":[{"role":"user","content":"q"}],"completion":[{"role":"assistant","content":"a"}]}`,
			"system:s user:q | assistant:a", "",
		},
		{
			"TRL with a system message", `{"system":"s","prompt":[{"role":"system","content":"t"},{"role":"user","content":"q"}],"completion":"a"}`,
			"system:t user:q | assistant:a", "system",
		},
		{
			"TRL with the same one", `{"system":"s","prompt":[{"role":"system","content":"s"},{"role":"user","content":"q"}],"completion":"a"}`,
			"system:s user:q | assistant:a", "",
		},
		{"TRL with a history", `{"history":[["b","c"]],"prompt":"q","completion":"a"}`, "user:b assistant:c user:q | assistant:a", ""},
		{
			"TRL and others",
			`{"prompt":"q","completion":"a","topic":"x","score":0.5,"none":null,"blank":"","no":false,"list":[]}`,
			"user:q | assistant:a", "no score topic",
		},
		{"TRL and an input", `{"prompt":"q","completion":"a","input":"i"}`, "user:q | assistant:a", "input"},
		{"OpenAI", `{"messages":` + messages + `,"system":"s","source":"x"}`, "system:s user:q assistant:a", "source"},
		{"OpenAI, both", `{"messages":` + messages + `,"system":"s","system_prompt":"t"}`, "system:s user:q assistant:a", "system_prompt"},
		{"OpenAI and a prompt", `{"messages":` + messages + `,"prompt":"q","prompt_id":"7"}`, "user:q assistant:a", "prompt prompt_id"},
		{"OpenAI and an outcome", `{"messages":` + messages + `,"outcome":"won","id":"7","split":"train"}`, "user:q assistant:a", "outcome"},
		{"ShareGPT", `{"conversations":` + turns + `,"system":"s","lang":"en"}`, "system:s user:q assistant:a", "lang"},
		{"ShareGPT, system_prompt", `{"conversation":` + turns + `,"system_prompt":"s"}`, "system:s user:q assistant:a", ""},
		{"Hermes", `{"conversations":` + hermes + `,"system":"s","category":"c"` + tools + `}`,
			"system:s user:q assistant:->weather tool:dry assistant:a", "category"},
		{"Hermes with the form of calls", `{"conversations":` + hermes + `,"system":"You are kind. <tools>[` +
			strings.ReplaceAll(weather, `"`, `\"`) + `]</tools>"}`,
			"system:You are kind. user:q assistant:->weather tool:dry assistant:a", ""},
		{"Alpaca", `{"instruction":"q","input":"","output":"a","system":"s","history":[],"text":"all"}`, "system:s user:q assistant:a", "text"},
		{"Alpaca with tools under another name", `{"instruction":"q","output":"a","functions":[` + weather + `]}`, "user:q assistant:a", ""},
		{"xLAM", `{"query":"q","answers":` + called + tools + `,"system":"s","n":1}`, "system:s user:q assistant:->weather", "n"},
		{"MCP-Flow's pairs", `{"source_instruction":"q","function_call":` + called + `,"system":"s","server":"x"}`,
			"system:s user:q assistant:->weather", "server"},
		{"MCP-Flow's trajectories", `{"trajectory":` + messages + `,"system":"s","server":"x"}`, "system:s user:q assistant:a", "server"},
		{"Toucan", `{"messages":` + messages + `,"available_tools":[` + weather + `],"subset_name":"x"}`, "user:q assistant:a", "subset_name"},
		{"hone's own", `{"messages":` + messages + `,"outcome":"ok","reward":1,"terms":[],"usage":{}}`, "user:q assistant:a", ""},
	} {
		rows, report := rowsIn(t, x.row)
		if len(rows) != 1 {
			t.Errorf("%s: %v", x.name, report.Lines())
			continue
		}
		if got := short(rows[0]); got != x.read {
			t.Errorf("%s: read as %q, want %q", x.name, got, x.read)
		}
		if got := columnsAside(report); got != x.aside {
			t.Errorf("%s: left aside are %q, want %q", x.name, got, x.aside)
		}
		if strings.Contains(x.row, weather) && len(rows[0].Tools) != 1 {
			t.Errorf("%s: %d tools", x.name, len(rows[0].Tools))
		}
	}
}

func TestColumnsBesideAPair(t *testing.T) {
	const whole = `"chosen":[{"role":"user","content":"q"},{"role":"assistant","content":"a"}],"rejected":[{"role":"user","content":"q"},{"role":"assistant","content":"b"}]`
	for row, want := range map[string]string{
		`{"system":"s","question":"q","chosen":"a","rejected":"b"}`:                         "",
		`{"instruction":"q","input":"i","history":[["b","c"]],"chosen":"a","rejected":"b"}`: "",
		`{"prompt":"q","question":"r","chosen":"a","rejected":"b","score_chosen":1}`:        "question score_chosen",
		`{"prompt":"q","prompt_id":"1","messages":[{"role":"user","content":"q"}],` + whole +
			`}`: "messages prompt_id",
		`{"conversations":[{"from":"human","value":"q"}],"chosen":"a","rejected":"b"}`: "",
		`{"question":"q",` + whole +
			`}`: "question",
		`{"system":"t","prompt":[{"role":"system","content":"s"},{"role":"user","content":"q"}],"chosen":"a","rejected":"b"}`: "system",
	} {
		path := filepath.Join(t.TempDir(), "pairs.jsonl")
		if err := os.WriteFile(path, []byte(row+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		pairs, report, err := LoadPairs([]string{path})
		if got := columnsAside(report); err != nil || len(pairs) != 1 || got != want {
			t.Errorf("%s: left aside are %q, want %q, %v", row, got, want, err)
		}
	}
}

// What hone writes it reads whole.
func TestNothingOfOursIsLeftAside(t *testing.T) {
	rows, _ := rowsIn(t, `{"id":"x","split":"train","system":"s","messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a"}],"tools":[`+weather+`]}`,
		`{"prompt":"q","completion":"a"}`, `{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":""},{"role":"user","content":"q"},`+
			`{"role":"assistant","content":"a"}]}`)
	var lines []string
	for _, r := range rows {
		text, err := r.AppendJSON(nil)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(text))
	}
	again, report := rowsIn(t, lines...)
	if len(again) != 3 || len(report.Aside) != 0 {
		t.Errorf("%d rows, left aside: %v", len(again), report.AsideLines())
	}
}

// What a reasoning comes to is known where the episode passed its checks, and may be invented elsewhere.
func TestReasoningOfPassedEpisodes(t *testing.T) {
	messages := strings.ReplaceAll(`"messages": [{"role": "user", "content": "Who has it?"},
{"role": "assistant", "tool_calls": [{"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
{"role": "tool", "tool_call_id": "1", "content": "completed."},
{"role": "assistant", "content": "Ines", "reasoning_content": "Ines has it."}]`, "\n", " ")
	for head, want := range map[string]bool{
		``: true,
		`"outcome": "ok", "terms": [{"name": "tool", "score": 1}], `:   true,
		`"outcome": "ok", "terms": [{"name": "checks", "score": 1}], `: false,
	} {
		_, report, err := load(t, "rows.jsonl", "{"+head+messages+"}\n", Options{})
		if err != nil || (report.Unknown != nil) != want {
			t.Errorf("%q: unknown %+v, %v", head, report.Unknown, err)
		}
	}
}
