package generate

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A parameter that takes SQL, or code of another language, gets nothing that was made up: programs are made for a
// database.
func TestNoWordsForCode(t *testing.T) {
	for _, tc := range []struct {
		tool Tool
		want *regexp.Regexp // nil: no arguments
	}{
		{toolOf("query", "Execute a query on the DuckDB database", `{"type":"object","properties":{"query":{"type":"string","description":"SQL query to execute that is a single statement"}},"required":["query"]}`), nil},
		{toolOf("run", "Run it on the server.", `{"type":"object","properties":{"command":{"type":"string","description":"The SQL command"}},"required":["command"]}`), nil},
		{toolOf("query", "Ask the graph.", `{"type":"object","properties":{"query":{"type":"string","description":"a Cypher query"}},"required":["query"]}`), nil},
		{toolOf("search", "Find notes.", `{"type":"object","properties":{"query":{"type":"string","description":"what to look for"}},"required":["query"]}`), regexp.MustCompile(`^[a-z]+$`)},
		{toolOf("connect", "Open a MySQL database.", `{"type":"object","properties":{"database":{"type":"string","description":"name of the MySQL database"}},"required":["database"]}`), regexp.MustCompile(`^[a-z]+( [a-z]+)?`)},
	} {
		s := &subject{Tool: tc.tool, schema: readParam(tc.tool.InputSchema)}
		f := filler{Options{Seed: 4}.random("code"), s, &values{}}
		for range 20 {
			for _, make := range []func() (json.RawMessage, bool){
				func() (json.RawMessage, bool) { return f.arguments(false) }, f.missing,
			} {
				arguments, ok := make()
				if tc.want == nil {
					if ok {
						t.Errorf("%s: %s", tc.tool.Description, arguments)
					}
					continue
				}
				value := ""
				for _, l := range leavesOf(string(arguments)) {
					value = l.text()
				}
				if !ok || !tc.want.MatchString(strings.TrimPrefix(value, "missing-")) {
					t.Errorf("%s: %s", tc.tool.Description, arguments)
				}
			}
		}
	}
}

// A tool whose answers all begin as errors is in no task, and its row and a warning say by which pattern its server is
// to mark them.
func TestUnmarkedErrors(t *testing.T) {
	for _, tc := range []struct {
		name    string
		answer  func(text string) string
		pattern string // of "refusal"; "" where the tool is good
	}{
		{"an error by its first word", func(string) string { return "Error: no such thing" }, `(error|failed|failure|exception)(\\*\\*)?\\s*:"`},
		{"a query that failed", func(text string) string { return "The query has failed: " + text }, `"^The query has failed"`},
		{"errors of several forms", func(text string) string { return text[:1] + ": syntax error" }, "error"},
		{"one that is none", func(text string) string {
			if strings.Contains(text, "a") {
				return "denied: " + text
			}
			return "taken: " + text
		}, ""},
		{"a report of no errors", func(text string) string { return "0 errors in " + text }, ""},
	} {
		shop := newShop(t)
		shop.tools["send"] = func(_ *stock, args map[string]any) (string, error) {
			return tc.answer(fmt.Sprint(args["title"])), nil
		}
		send := tool("send", "Send it off.",
			`{"type":"object","properties":{"title":{"type":"string"}},"required":["title"]}`)
		made := run(t, shop, append(slices.DeleteFunc(shopTools(), func(x Tool) bool {
			return x.Name != "list_items" && x.Name != "get_item" && x.Name != "count_words"
		}), send), optionsOf(shop))
		for _, row := range made.Report.Tools {
			if row.Tool == "send" && (row.Scenarios == 0) != (tc.pattern != "") || row.Tool == "send" &&
				(!strings.Contains(row.Why, tc.pattern) || (row.Why == "") != (tc.pattern == "")) {
				t.Errorf("%s: %+v", tc.name, row)
			}
		}
		if found := strings.Join(made.Report.Unmarked, "\n"); !strings.Contains(found, tc.pattern) ||
			(found == "") != (tc.pattern == "") {
			t.Errorf("%s: %s", tc.name, found)
		}
	}
}

// The row of a tool that no call of was answered says what is true: no program calls it, it was not tried, or nothing
// fits its schema.
func TestWhyAToolWasNotCalled(t *testing.T) {
	plain := `{"type":"object","properties":{"name":{"type":"string"}}}`
	for _, tc := range []struct {
		asks     map[string]bool
		explored bool
		schema   string
		want     string
	}{
		{map[string]bool{"query": true}, true, plain, noProgram},
		{map[string]bool{"other": true}, false, plain, "it was not tried: programs over tables made all tasks"},
		{nil, true, plain, "no arguments were found that fit its schema"},
		{
			nil, true, `{"type":"object","properties":{"rows":{"type":"array","items":{"type":"object"}}},"required":["rows"]}`, "rows takes objects, and nothing says what is in one",
		},
	} {
		of := toolOf("query", "Ask for rows.", tc.schema)
		m := newMaker(nil, []Tool{of}, nil, Options{})
		m.asks[m.tools[0].Server], m.explored = tc.asks, tc.explored
		if got := m.untried(m.tools[0]); got != tc.want {
			t.Errorf("asks %v, explored %v: %q, want %q", tc.asks, tc.explored, got, tc.want)
		}
	}
}
