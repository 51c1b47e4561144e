package formats

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hone/internal/data/dataset"
)

// rowsIn reads lines of a file as conversations.
func rowsIn(t *testing.T, lines ...string) ([]dataset.Row, Report) {
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
func learnt(r dataset.Row) string {
	var said []string
	for i, m := range r.Messages {
		if r.Learnt(i) {
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
		{"a call without a text", `{"messages":[` + q + `,{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function",` +
			`"function":{"name":"weather","arguments":"{}"}}]},{"role":"tool","tool_call_id":"1","content":"dry"},{"role":"assistant","content":"a"}]}`, "|a", false},
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
		if x.empty && x.learnt == "" && rows[0].NotDemonstrated() == "" {
			t.Errorf("%s: it has something to learn", x.name)
		}
	}
}

func TestEmptySidesOfPairs(t *testing.T) {
	const whole = `{"messages":[{"role":"user","content":"q"}],"chosen":[{"role":"assistant","content":CHOSEN},{"role":"user","content":"so"},` +
		`{"role":"assistant","content":"Paris"}],"rejected":"Rome"}`
	pairs, refused := pairsIn(t, `{"prompt":"q","chosen":"","rejected":"Rome"}`, `{"prompt":"q","chosen":"Paris","rejected":" "}`,
		`{"prompt":"q","chosen":[{"role":"assistant","content":null,"refusal":"No."}],"rejected":"Rome"}`, strings.Replace(whole, "CHOSEN", `""`, 1))
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
	if lines := report.AsideLines(); len(rows) != 3 || len(lines) != 1 || !strings.HasPrefix(lines[0], "left aside: an empty answer, in 2 rows, the first at ") ||
		!strings.HasSuffix(lines[0], "rows.jsonl:2") || !slices.Contains(said, lines[0]) {
		t.Errorf("%d rows, %q, of %v; told: %q", len(rows), lines, slices.Collect(maps.Keys(report.Aside)), said)
	}
}
