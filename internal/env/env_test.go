package env

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/console/sanitize"
	"hone/internal/episode/scenario"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/job"
)

// What no episode of a trainer can have is refused by its key; the defaults ask for nothing of it.
func TestRefusals(t *testing.T) {
	checked := scenario.Scenario{ID: "a", Task: "Go.", Checks: []scenario.Check{{Type: scenario.NoCallCheck}}}
	for yaml, want := range map[string]string{
		"{}":                                  "",
		"rewards: {parse: 0, arguments: 0.3}": "",
		"rewards: {parse: -0.5}":              "rewards.parse",
		"rewards: {repair: -0.1}":             "rewards.repair",
		"rewards: {length: {weight: -1, budget: 9}}":                     "rewards.length",
		"rewards: {overlong: {weight: -1, limit: 90, buffer: 9}}":        "rewards.overlong",
		"rewards: {program: {command: [sh]}}":                            "rewards.program",
		"judge: {model: openai/x}":                                       "judge.model",
		"rewards: {expressions: {x: {formula: tokens / 2, weight: 1}}}":  "rewards.expressions.x",
		"rewards: {expressions: {x: {formula: terms.parse, weight: 1}}}": "rewards.expressions.x",
		"rewards: {expressions: {x: {formula: turns, weight: 1}}}":       "",
		"grpo: {credit: {level: turn}}":                                  "grpo.credit.level",
		"grpo: {explorations: 1, imitation: {rows: 1}}":                  "grpo.explorations",
	} {
		c, err := config.Parse("hone.yaml", []byte(yaml))
		if err != nil {
			t.Fatal(yaml, err)
		}
		got := ""
		if f, is := errors.AsType[*fault.Error](refuse(c, []scenario.Scenario{checked}, "s")); is {
			got, _, _ = strings.Cut(f.Why, ": ")
		}
		if got != want {
			t.Errorf("%s: refused for %q, want %q", yaml, got, want)
		}
	}
	for want, s := range map[string]scenario.Scenario{
		"simulated user": {ID: "b", Checks: checked.Checks, User: &scenario.User{Goal: "g"}},
		"no checks":      {ID: "b", Task: "Go."},
	} {
		if err := refuse(config.Default(), []scenario.Scenario{checked, s}, "s"); err == nil ||
			!strings.Contains(err.Error(), "s, scenario b") || !strings.Contains(err.Error(), want) {
			t.Error(err)
		}
	}
	var said strings.Builder
	h := &host.Host{Talk: sanitize.New(&said), Still: &host.Still{}}
	user := scenario.Scenario{ID: "b", Checks: checked.Checks, User: &scenario.User{Goal: "g"}}
	list, err := servable(h, config.Default(), []scenario.Scenario{user, checked, user}, "s")
	if err != nil || len(list) != 1 || list[0].ID != checked.ID ||
		!strings.HasPrefix(said.String(), "2 scenarios with a simulated user") {
		t.Errorf("%v: %d are served, %q is said", err, len(list), said.String())
	}
	if _, err := servable(h, config.Default(), []scenario.Scenario{user}, "s"); err == nil {
		t.Error("nothing is left to serve, and that is no error")
	}
	if u := blindSpots(config.Default()); len(u) == 0 || !strings.HasPrefix(u[0], "rewards.parse") {
		t.Error(u)
	}
}

// Rows name a scenario and say its opening; nothing that solves it is in them.
func TestRows(t *testing.T) {
	s := scenario.Scenario{ID: "a", Split: scenario.Train, Messages: []chat.Message{{Role: chat.User, Content: "Hi."},
		{Role: chat.Assistant, Content: "Wait.",
			ToolCalls: []chat.ToolCall{{ID: "c", Name: "look", Arguments: `{"a":1}`}}}, {Role: chat.ToolRole,
			ToolCallID: "c", Name: "look", Content: "12"}}}
	for format, want := range map[string]string{
		"trl": `{"prompt":[{"role":"user","content":"Hi."},{"role":"assistant","content":"Wait.","tool_calls":[{"id":"c","type":"function","function":{"name":"look","arguments":"{\"a\":1}"}}]},` +
			`{"role":"tool","content":"12","tool_call_id":"c","name":"look"}],"scenario":"a","hash":"HASH"}`,
		"nemo-gym": `{"responses_create_params":{"input":[{"content":"Hi.","role":"user"},{"content":"Wait.","role":"assistant"},{"arguments":"{\"a\":1}","call_id":"c","name":"look","type":"function_call"},` +
			`{"call_id":"c","output":"12","type":"function_call_output"}],"tools":[]},"verifier_metadata":{"hash":"HASH","scenario":"a"}}`,
		"ors": `{"env_name":"hone","hash":"HASH","index":3,"scenario":"a","split":"train"}`,
	} {
		write, err := writer(format, nil)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := encode(&b, write(s, s.Opening(), 3)); err != nil ||
			b.String() != strings.ReplaceAll(want, "HASH", s.Hash())+"\n" {
			t.Errorf("%s: %s, %v", format, &b, err)
		}
	}
	write, _ := writer("nemo-gym",
		[]chat.Tool{{Name: "look", Description: "Looks.", InputSchema: json.RawMessage("{}")}})
	var b bytes.Buffer
	if err := encode(&b, write(s, s.Opening(), 3)); err != nil || !strings.Contains(b.String(),
		`"tools":[{"type":"function","name":"look","description":"Looks.","parameters":{},"strict":false}]`) {
		t.Errorf("%s, %v", &b, err)
	}
	if _, err := writer("csv", nil); err == nil {
		t.Error("csv is written")
	}
}

// The index of a row is the scenario's place in its split, whichever split is written.
func TestTasks(t *testing.T) {
	file := filepath.Join(t.TempDir(), "s.jsonl")
	var rows []string
	for _, r := range [][2]string{{"a", "train"}, {"b", "test"}, {"c", "train"}, {"d", "test"}} {
		rows = append(rows, `{"id": "`+r[0]+`", "task": "Do `+r[0]+`.", "split": "`+r[1]+
			`", "checks": [{"type": "call", "name": "`+r[0]+`", "arguments": {}}]}`)
	}
	rows = append(rows, `{"id": "e", "user": {"says": ["Do e.", "And f."]}, "split": "test", "checks": `+
		`[{"type": "call", "name": "e", "arguments": {}}]}`) // which is left out
	if err := os.WriteFile(file, []byte(strings.Join(rows, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	e := job.Env{Host: &host.Host{Data: sanitize.New(&out), Talk: sanitize.New(&bytes.Buffer{}),
		LookupEnv: func(string) (string, bool) { return "", false }}}
	if err := Tasks(e, config.Default(), TasksAsked{Dataset: file, Split: "test", Format: "ors"}); err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(out.String()) {
		var row struct {
			Scenario string
			Index    int
		}
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		got = append(got, row.Scenario+string(rune('0'+row.Index)))
	}
	if strings.Join(got, " ") != "b0 d1" {
		t.Error(got)
	}
}
