package dataset

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"hone/internal/chat"
)

// plainly tells a conversation without what formats leave out or number anew: ids, names of tools on results, and
// blanks in arguments.
func plainly(t *testing.T, messages []chat.Message, system, reasoning bool) string {
	t.Helper()
	var b strings.Builder
	ids := map[string]string{}
	for _, m := range messages {
		if m.Role == chat.System && !system {
			continue
		}
		b.WriteString(m.Role + ": " + m.Content)
		if reasoning && m.ReasoningContent != "" {
			b.WriteString(" (" + m.ReasoningContent + ")")
		}
		for _, c := range m.ToolCalls {
			v, err := chat.Decode([]byte(c.Arguments), chat.DecodeOptions{})
			if err != nil {
				t.Fatal(err)
			}
			sorted, _ := chat.AppendJSON(nil, v, chat.Format{SortKeys: true})
			ids[c.ID] = c.Name + strings.ReplaceAll(string(sorted), ".0", "")
			b.WriteString(" -> " + ids[c.ID])
		}
		if m.Role == chat.ToolRole {
			b.WriteString(" <- " + ids[m.ToolCallID])
		}
		b.WriteString("\n")
	}
	return b.String()
}

// What the Hub's own library wrote, in every form, is the conversation that it was given.
func TestRowsOfTheRealWriter(t *testing.T) {
	text, err := os.ReadFile("testdata/rows.json")
	if err != nil {
		t.Fatal(err)
	}
	var given [][]chat.Message
	if err := json.Unmarshal(text, &given); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name, format      string
		rows              int
		system, reasoning bool
	}{
		{"nested", "openai", 3, true, true}, {"objects", "openai", 3, true, true}, {"strings", "openai", 3, true, true},
		{"toucan", "toucan", 3, false, false}, {"apigen_mt", "apigen-mt", 1, false, false},
		{"hermes", "hermes", 3, false, false},
		{"xlam", "xlam", 1, false, false},
	} {
		for _, ending := range []string{".parquet", ".jsonl"} {
			rows, report, err := Load([]string{filepath.Join("testdata", tc.name+ending)}, Options{})
			if err != nil || len(rows) != tc.rows || report.Formats[tc.format] != tc.rows || report.NumRefused() != 0 {
				t.Errorf("%s%s: %d rows, %+v, %v", tc.name, ending, len(rows), report, err)
				continue
			}
			for i, r := range rows {
				want := given[i]
				if tc.name == "xlam" {
					want = given[i][:3]
				}
				if got, want := plainly(t, r.Messages, tc.system, tc.reasoning), plainly(t, want, tc.system,
					tc.reasoning); got != want {
					t.Errorf("%s%s row %d:\n got\n%s want\n%s", tc.name, ending, i+1, got, want)
				}
			}
			tools(t, tc.name+ending, rows)
		}
	}
}

// tools are those that the rows were written with.
func tools(t *testing.T, name string, rows []Row) {
	t.Helper()
	want := []string{`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`,
		`{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["a","b"]}`}
	if strings.HasPrefix(name, "xlam") {
		want[0] = `{"type":"object","properties":{"city":{"description":"c","type":"string"}},"required":["city"]}`
	}
	for i, r := range rows {
		if i == 2 {
			if len(r.Tools) != 0 {
				t.Errorf("%s: row 3 has tools: %+v", name, r.Tools)
			}
			continue
		}
		if len(r.Tools) != 1 {
			t.Errorf("%s row %d: %d tools", name, i+1, len(r.Tools))
			continue
		}
		if !sameJSON(t, string(r.Tools[0].InputSchema), want[i]) {
			t.Errorf("%s row %d: schema %s, want %s", name, i+1, r.Tools[0].InputSchema, want[i])
		}
	}
}

func sameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	var x, y any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		t.Fatalf("not JSON: %s, %s", a, b)
	}
	return reflect.DeepEqual(x, y)
}
