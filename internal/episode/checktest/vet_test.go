package checktest_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hone/internal/chat"
	"hone/internal/episode/checktest"
	"hone/internal/episode/environment"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
)

// counter is a server with one number, kept in a file: add adds to it, show answers it, odd refuses.
type counter struct {
	t     *testing.T
	lost  string // a tool whose calls are lost
	opens int
}

type counting struct {
	*counter
	dir string
}

func (c *counter) Open(_ context.Context, _ string, templates ...environment.Template) (environment.Session, error) {
	c.opens++
	s := counting{c, c.t.TempDir()}
	number := "4"
	if len(templates) > 0 {
		data, err := os.ReadFile(filepath.Join(templates[0].Folder, "number"))
		if err != nil {
			return nil, err
		}
		number = string(data)
	}
	return s, os.WriteFile(filepath.Join(s.dir, "number"), []byte(number), 0o600)
}

func (c counting) Close() error      { return nil }
func (c counting) Dir(string) string { return c.dir }

func (c counting) Call(ctx context.Context, calls []chat.ToolCall) []trajectory.ToolResult {
	return []trajectory.ToolResult{c.Probe(ctx, calls[0])}
}

func (c counting) Probe(_ context.Context, call chat.ToolCall) trajectory.ToolResult {
	r := trajectory.ToolResult{Call: call, Status: trajectory.CallOK}
	path := filepath.Join(c.dir, "number")
	data, err := os.ReadFile(path)
	switch {
	case err != nil:
		r.Status, r.Text = trajectory.CallToolError, err.Error()
	case call.Name == c.lost:
		r.Status, r.Error = trajectory.CallTransportError, "gone"
	case call.Name == "add":
		os.WriteFile(path, append(data, '1'), 0o600)
	case call.Name == "show":
		r.Text = `{"number": ` + string(data) + `}`
	case call.Name == "odd":
		r.Status, r.Text = trajectory.CallToolError, "odd is refused"
	case call.Name == "sly":
		r.Text = `{"status": "error"}`
	}
	return r
}

func rowOf(t *testing.T, text string) *scenario.Scenario {
	t.Helper()
	s := &scenario.Scenario{}
	if err := json.Unmarshal([]byte(text), s); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	if err := s.Validate(); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return s
}

const add = `"gold":[{"name":"add","arguments":{}}],`

// Each check is tried on gold, silence, echo and wrong values, and what cannot fail or cannot pass is named.
func TestRows(t *testing.T) {
	template := t.TempDir()
	if err := os.WriteFile(filepath.Join(template, "number"), []byte("7"), 0o600); err != nil {
		t.Fatal(err)
	}
	program := func(text string) string {
		path := filepath.Join(t.TempDir(), "p.sh")
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, test := range []struct{ row, want string }{
		// rows that hold
		{add + `"checks":[{"type":"state","name":"show","matches":{"number":{"$number":41}}}]`, ""},
		{add + `"checks":[{"type":"file","path":"number","equals":"41"},{"type":"unchanged","ignore":["number"]}]`, ""},
		{`"template":"` + template + `",` + add + `"checks":[{"type":"file","path":"number","equals":"71"}]`, ""},
		{`"setup":[{"name":"add","arguments":{}}],` + add + `"checks":[{"type":"file","path":"number","equals":"411"}]`, ""},
		{`"gold":[{"name":"odd","arguments":{}}],"gold_answer":"No.","checks":[{"type":"call","name":"odd","arguments":{},"refused":true},{"type":"unchanged"},{"type":"answer","equals":"No"}]`, ""},
		{`"checks":[{"type":"no_call"}]`, ""},
		{`"checks":[{"type":"no_call"},{"type":"unchanged"},{"type":"max_calls","max":0}]`, ""},
		{`"checks":[{"type":"max_calls","max":0}]`, ""},
		{add + `"checks":[{"type":"file","path":"number","exists":true},{"type":"call","name":"add","arguments":{}}]`, ""},
		{add + `"checks":[{"type":"command","command":["` + program(`grep -q '"name":"add"' && echo 1 || echo 0`) + `"]}]`, ""},
		{add + `"checks":[{"type":"state","name":"show","after_turn":1,"matches":{"number":41}}]`, ""},
		{add + `"checks":[{"type":"answer","contains":"41"},{"type":"answer","regex":"(?s)\\A.{0,900}\\z"}]`, ""},
		// cannot pass
		{add + `"checks":[{"type":"state","name":"show","matches":{"number":2}}]`, "checks[0] (state) is not met by the gold calls: $.number is 41, not 2"},
		{add + `"checks":[{"type":"file","path":"nmber","equals":"41"}]`, "checks[0] (file) is not met by the gold calls: nmber: absent"},
		{add + `"checks":[{"type":"unchanged"},{"type":"call","name":"add","arguments":{}}]`,
			"checks[0] (unchanged) is not met by the gold calls: changed number"},
		{add + `"checks":[{"type":"max_calls","max":0},{"type":"answer","equals":"x"}]`, "checks[0] (max_calls) is not met by the gold calls"},
		{add + `"gold_answer":"5","checks":[{"type":"answer","number":4}]`, `checks[0] (answer) cannot pass: "5" does not meet "number"`},
		{add + `"checks":[{"type":"answer","equals":""}]`, "checks[0] (answer) cannot pass"},
		{`"gold":[{"name":"odd","arguments":{}}],"checks":[{"type":"answer","equals":"x"}]`, "gold[0] (odd): tool_error: odd is refused"},
		{`"gold":[{"name":"sly","arguments":{}}],"checks":[{"type":"answer","equals":"x"}]`, `"refusal" in the server's configuration would say so`},
		{add + `"checks":[{"type":"sql","path":"number","query":"SELECT 1","equals":"1"}]`, "checks[0] (sql) is not met by the gold calls: number: unusable"},
		{add + `"checks":[{"type":"command","command":["` + program(`exit 4`) + `"]}]`, "checks[0] (command) cannot be evaluated: the program"},
		// cannot fail
		{add + `"checks":[{"type":"state","name":"show","matches":{"$any":true}}]`, "checks[0] (state) cannot fail: it holds whatever it looks at"},
		{add + `"checks":[{"type":"file","path":"number","regex":"^.*$"}]`, "checks[0] (file) cannot fail"},
		{add + `"checks":[{"type":"answer","regex":"."}]`, "checks[0] (answer) cannot fail"},
		{add + `"checks":[{"type":"state","name":"show","regex":"^.n?|^$"}]`, "checks[0] (state) cannot fail"},
		{add + `"checks":[{"type":"state","name":"show","matches":{"$any_of":[{"number":{"$any":true}},{}]}}]`,
			"it also holds of wrong values in place of what the gold calls leave"},
		{add + `"checks":[{"type":"max_calls","max":100000},{"type":"call","name":"add","arguments":{}}]`, "checks[0] (max_calls) cannot fail"},
		{
			add + `"checks":[{"type":"command","command":["` + program(`echo 1`) +
				`"]},{"type":"call","name":"add","arguments":{}}]`,
			"checks[0] (command) cannot fail",
		},
		// silence and echo
		{`"checks":[{"type":"unchanged"}]`, "an episode without calls and answer passes the checks"},
		{`"checks":[{"type":"max_calls","max":1}]`, "an episode without calls and answer passes the checks"},
		{`"checks":[{"type":"max_calls","name":"odd","max":0}]`, "an episode without calls and answer passes the checks"},
		{`"checks":[{"type":"no_call","name":"odd"}]`, "an episode without calls and answer passes the checks"},
		{`"checks":[{"type":"unchanged"},{"type":"answer","contains":"task"}]`, "repeating the task passes the checks"},
		{`"template":"` + template + `","checks":[{"type":"file","path":"number","equals":"7"}]`, "an episode without calls and answer passes the checks"},
	} {
		for _, opening := range []string{`"task":"the task"`, `"user":{"says":["the task"]}`, `"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"7"},{"role":"user","content":"the task"}]`} {
			s := rowOf(t, `{`+opening+`,`+test.row+`}`)
			found := checktest.Alone(s)
			trial := checktest.Trial{
				Tools:    &counter{t: t},
				Programs: []string{"PATH=" + os.Getenv("PATH")},
				Refusal: func(text string) string {
					if strings.Contains(text, "error") {
						return "error"
					}
					return ""
				},
			}
			more, err := trial.Row(t.Context(), s)
			if err != nil {
				t.Errorf("%s: %v", test.row, err)
			}
			found = append(found, more...)
			if all := strings.Join(found, "\n"); test.want == "" && all != "" || !strings.Contains(all, test.want) ||
				len(found) > 2 {
				t.Errorf("%s: %q; want %q", test.row, found, test.want)
			}
		}
	}
}

// A server that is lost is no finding: nothing is known of the row.
func TestLostServer(t *testing.T) {
	for _, tool := range []string{"add", "show"} {
		s := rowOf(t, `{"task":"t",`+add+`"checks":[{"type":"state","name":"show","equals":"x"}]}`)
		found, err := checktest.Trial{Tools: &counter{t: t, lost: tool}}.Row(t.Context(), s)
		if fault.CodeOf(err) != fault.CodeUnavailable || len(found) > 0 {
			t.Errorf("%s: %q, %v", tool, found, err)
		}
	}
}

// Rows that nothing has to be called for need no server.
func TestLooks(t *testing.T) {
	for row, want := range map[string]bool{
		`{"task":"t","checks":[{"type":"no_call"}]}`:                false,
		`{"task":"t","checks":[{"type":"unchanged"}]}`:              true,
		`{"task":"t","gold":[{"name":"add","arguments":{}}]}`:       true,
		`{"task":"t","template":"x","checks":[{"type":"no_call"}]}`: true,
	} {
		if checktest.Looks(rowOf(t, row)) != want {
			t.Errorf("%s: not %v", row, want)
		}
	}
}

// A conversation's gold solution has what it asks the user in it: checks may be met by that, and turns count it.
func TestRowsWithAUser(t *testing.T) {
	const row = `{"user":{"says":["the task","yes"]},"gold":[{"name":"add","arguments":{},"asks":"It costs 12 dollars. Shall I?"}],"gold_answer":"Done.","checks":[%s]}`
	for check, want := range map[string]string{
		`{"type":"answer","contains":"12 dollars","any_turn":true}`:             "",
		`{"type":"answer","contains":"13 dollars","any_turn":true}`:             `checks[0] (answer) cannot pass: none of 2 messages to the user meets "contains"`,
		`{"type":"answer","contains":"12 dollars"}`:                             `checks[0] (answer) cannot pass: "Done." does not meet "contains"`,
		`{"type":"state","name":"show","after_turn":1,"matches":{"number":4}}`:  "an episode without calls and answer passes the checks",
		`{"type":"state","name":"show","after_turn":2,"matches":{"number":41}}`: "",
		`{"type":"answer","regex":".","any_turn":true}`:                         "checks[0] (answer) cannot fail",
	} {
		s := rowOf(t, strings.Replace(row, "%s", check, 1))
		found := checktest.Alone(s)
		more, err := checktest.Trial{Tools: &counter{t: t}}.Row(t.Context(), s)
		if err != nil {
			t.Errorf("%s: %v", check, err)
		}
		if all := strings.Join(append(found, more...), "\n"); want == "" && all != "" || !strings.Contains(all, want) {
			t.Errorf("%s: %q; want %q", check, all, want)
		}
	}
}

// A task whose answer stands in it is told from one whose answer is to be found, and from one that has none.
func TestEchoAnswers(t *testing.T) {
	for checks, want := range map[string]bool{
		`{"type":"answer","contains":"shop"},{"type":"unchanged"}`:              true,
		`{"type":"answer","contains":"shop"},{"type":"answer","contains":"to"}`: true,
		`{"type":"answer","contains":"shop"},{"type":"answer","contains":"7"}`:  false,
		`{"type":"unchanged"}`: false,
	} {
		s := rowOf(t, `{"task":"Where do I go to buy shop soap?","checks":[`+checks+`]}`)
		if checktest.EchoAnswers(s) != want {
			t.Errorf("%s: %v", checks, !want)
		}
	}
}
