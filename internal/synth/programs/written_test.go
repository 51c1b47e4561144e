package programs

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hone/internal/episode/checktest"
	"hone/internal/episode/scenario"
)

// What somebody wrote can be read, is answered as its own checks want it, and is said once.
func TestWrittenWorlds(t *testing.T) {
	said := map[string]bool{}
	for _, w := range WrittenWorlds() {
		changes := 0
		for _, p := range w.Tasks {
			checkWritten(t, said, w.Name, p, p.Changes())
			if p.Changes() {
				changes++
			}
		}
		if len(w.Tasks) < 20 || 3*changes < len(w.Tasks) || len(w.Tables) < 3 {
			t.Errorf("%s: %d tasks, %d change something, %d tables", w.Name, len(w.Tasks), changes, len(w.Tables))
		}
		for _, table := range w.Tables {
			if table.Key < 0 || slices.ContainsFunc(table.Rows, func(row []any) bool {
				return len(row) != len(table.Columns)
			}) {
				t.Errorf("%s: table %s", w.Name, table.Name)
			}
		}
	}
}

// The same of graphs, whose changes can be made one after the other.
func TestWrittenGraphs(t *testing.T) {
	said := map[string]bool{}
	for _, w := range WrittenGraphs() {
		for _, p := range w.Tasks {
			checkWritten(t, said, w.Name, p.Program, len(p.Edits) > 0)
			after, ok := w.Graph.Apply(p.Edits)
			if !ok || p.Think == "" || len(p.Edits) > 0 && after.Equal(w.Graph) {
				t.Errorf("%s: %q: %+v", w.Name, p.asked, p.Edits)
			}
		}
		if len(w.Tasks) < 20 || w.Graph.Size() < 3000 {
			t.Errorf("%s: %d tasks, %d bytes", w.Name, len(w.Tasks), w.Graph.Size())
		}
	}
	unknown := `{"tasks": [{"task": "t", "form": "done", "do": [{"op": "sing"}]}]}`
	if _, err := readWrittenGraph([]byte(unknown)); err == nil {
		t.Error("a change that nobody knows is taken")
	}
}

// checkWritten holds a request against its own checks. Who repeats the request has not answered it.
func checkWritten(t *testing.T, said map[string]bool, where string, p *Program, changes bool) {
	t.Helper()
	as := p.Word(nil, scenario.Train)
	if as.Task == "" || as.Answer == "" || said[as.Task] || p.Answer.Form != "" && len(as.Checks) == 0 {
		t.Errorf("%s: %+v", where, as)
	}
	said[as.Task] = true
	for _, why := range checktest.Alone(&scenario.Scenario{Task: as.Task, GoldAnswer: as.Answer, Checks: as.Checks}) {
		if why != checktest.EchoPasses || !changes { // of a change, its end state is checked, too
			t.Errorf("%s: %q: %s", where, as.Task, why)
		}
	}
	repeated := len(as.Checks) > 0 && !changes
	for _, c := range as.Checks {
		if why := c.AnswerUnmet(as.Answer); why != "" {
			t.Errorf("%s: %q is answered %q: %s", where, as.Task, as.Answer, why)
		}
		repeated = repeated && c.Answer(as.Task)
	}
	if repeated {
		t.Errorf("%s: who repeats %q has answered it", where, as.Task)
	}
	if changes && slices.Contains([]string{Unknown, Cannot, AskBack}, p.Kind) {
		t.Errorf("%s: %q is not to be done", where, as.Task)
	}
}

// A form that nobody knows is an error, and so is a file that is none.
func TestWrittenWorldsAreRead(t *testing.T) {
	const table = `"tables": [{"name": "a", "key": "id", "columns": [{"name": "id", "kind": "number"}, {"name": "of",
		"kind": "number", "of": "a"}, {"name": "x", "kind": "number"}], "rows": [[1, 1, 2.5], [2, null, 3]]}]`
	w, err := readWritten([]byte(`{` + table + `, "tasks": [{"task": "t", "form": "done", "answer": "Done.", "steps":
		[{"sql": "SELECT 1", "think": "one"}, {"sql": "INSERT INTO a (x) VALUES (1)"}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	p, a := w.Tasks[0], w.Tables[0]
	if got := fmt.Sprint(a.Rows, a.Columns[1].Ref == a, a.Key, a.Label); got != "[[1 1 2.5] [2 <nil> 3]] true 0 -1" ||
		fmt.Sprintf("%T %T", a.Rows[0][0], a.Rows[0][2]) != "int64 float64" {
		t.Error(got)
	}
	if !p.Free || p.Steps[0].Writes || !p.Steps[1].Writes || p.Steps[0].Why != "one" || len(p.Tables) != 1 ||
		p.Kind != Written || p.Meanings(w.World, scenario.Train) != nil {
		t.Errorf("%+v", p)
	}
	for _, bad := range []string{`{"tasks": [{"task": "t", "form": "guess"}]}`, `{`} {
		if _, err := readWritten([]byte(bad)); err == nil || strings.Contains(bad, "guess") &&
			!strings.Contains(err.Error(), "guess") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// The statements of what somebody wrote over a database run, show something, and change what they are to change.
func TestWrittenStatements(t *testing.T) {
	for _, w := range WrittenWorlds() {
		db := open(t, w.World)
		for _, p := range w.Tasks {
			tx, err := db.db.Begin()
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range p.Steps {
				if s.Writes {
					r, err := tx.Exec(s.SQL)
					if err != nil {
						t.Errorf("%s: %q: %v", w.Name, s.SQL, err)
					} else if n, _ := r.RowsAffected(); n == 0 {
						t.Errorf("%s: %q changes nothing", w.Name, s.SQL)
					}
					continue
				}
				rows, err := tx.Query(s.SQL)
				if err != nil {
					t.Errorf("%s: %q: %v", w.Name, s.SQL, err)
					continue
				}
				_ = rows.Close()
			}
			if err := tx.Rollback(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// An answer may be worded freely: its values must be said, in their order where that is wanted, each beside what it is
// of, and not much else.
func TestWrittenAnswers(t *testing.T) {
	for _, c := range []struct {
		is        WrittenAnswer
		good, bad []string
		acts      bool
	}{
		{WrittenAnswer{Form: "ordered", Values: []string{"Ana", "Bo"}, Answer: "Ana, Bo"},
			[]string{"First Ana, then Bo."}, []string{"Bo, Ana", "Ana", "Anatol, Bo"}, false},
		{WrittenAnswer{Form: "list", Values: []string{"Ana", "Bo"}, Answer: "Ana, Bo"},
			[]string{"Bo and Ana"}, []string{"Bo", "Ana and Bo, or else " + strings.Repeat("somebody, ", 20)}, false},
		{WrittenAnswer{Form: "pairs", Values: []string{"Ana: 3", "Bo: 4"}, Answer: "Ana: 3\nBo: 4"},
			[]string{"Bo has 4\nAna has 3.0"}, []string{"Ana: 4\nBo: 3\nof 4", "Ana: 3\nBo: 40"}, false},
		{WrittenAnswer{Form: "number", Values: []string{"24"}, Answer: "24"},
			[]string{"It is 24.", "24.00 euros", "€24"}, []string{"240", "124", "1.24", "24.5"}, false},
		{WrittenAnswer{Form: "number", Values: []string{"2.5"}, Answer: "2.5"},
			[]string{"2.50", "It is 2.5."}, []string{"2.55", "12.5", "25"}, false},
		{WrittenAnswer{Form: "number", Values: []string{"24000.50"}, Answer: "24000.50"},
			[]string{"24,000.5", "24000.50.", "EUR 24,000.50"},
			[]string{"24,0005", "4,000.5", "24,000.51", "24,000"}, false},
		{WrittenAnswer{Form: "number", Values: []string{"26"}, Answer: "26"},
			[]string{"26.00", "26, in all"}, []string{"26,500", "1,26", "26.5"}, false},
		{WrittenAnswer{Form: "yes_no", Values: []string{"No"}, Answer: "No."},
			[]string{"It is 50 now. No, we have none."}, []string{"It is 50 now, no doubt", "Not known"}, true},
		{WrittenAnswer{Form: "text", Values: []string{"2026-05-10"}, Answer: "2026-05-10"},
			[]string{"By 10 May 2026.", "May 10th, 2026"}, []string{"2026-05-11", "in May"}, false},
		{WrittenAnswer{Form: "yes_no", Values: []string{"No"}, Answer: "No."},
			[]string{"No, none.", "**no**"}, []string{"Not known", "Yes, no doubt"}, false},
	} {
		p, err := NewWritten("Which?", "", c.acts, c.is)
		if err != nil {
			t.Fatal(err)
		}
		checks := p.Word(nil, scenario.Train).Checks
		fails := func(said string) bool {
			return slices.ContainsFunc(checks, func(check scenario.Check) bool { return check.AnswerUnmet(said) != "" })
		}
		for _, said := range c.good {
			if fails(said) {
				t.Errorf("%+v is not answered by %q", c.is, said)
			}
		}
		for _, said := range c.bad {
			if !fails(said) {
				t.Errorf("%+v is answered by %q", c.is, said)
			}
		}
	}
}

// The working of a request over a graph stands once: before the first change, or before the answer.
func TestWorkingStandsOnce(t *testing.T) {
	for _, w := range WrittenGraphs() {
		for _, q := range w.Tasks {
			if len(q.Edits) > 0 && q.working != "" || len(q.Edits) == 0 && q.Working != "" {
				t.Errorf("%s: %q: %q, %q", w.Name, q.asked, q.Working, q.working)
			}
		}
	}
}

func TestInSteps(t *testing.T) {
	for working, want := range map[string]string{
		"Sold: 17 + 9 + 20 = 46. That x 12 = 552.": "Sold: 17 + 9 = 26, 26 + 20 = 46. That x 12 = 552.",
		"66.00 + 29.60 + 34.00 = 129.60":           "66.00 + 29.60 = 95.60, 95.60 + 34.00 = 129.60",
		"0.25 + 1 + 2 = 3.25":                      "0.25 + 1 = 1.25, 1.25 + 2 = 3.25",
		"2+3+4=9, less 1: 8":                       "2 + 3 = 5, 5 + 4 = 9, less 1: 8",
		"2 + 3 + 4 = 10":                           "2 + 3 + 4 = 10", // does not hold
		"2 + 3 = 5":                                "2 + 3 = 5",
		"A12 + 3":                                  "A12 + 3",
	} {
		if got := InSteps(working); got != want {
			t.Errorf("%q is %q, not %q", working, got, want)
		}
	}
	many := regexp.MustCompile(`\d ?\+ ?\d[\d.]* ?\+`)
	for _, w := range WrittenGraphs() {
		for _, q := range w.Tasks {
			if text := q.working + q.Working; many.MatchString(text) {
				t.Errorf("%s: %q", w.Name, text)
			}
		}
	}
}
