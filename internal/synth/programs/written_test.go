package programs

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"hone/internal/episode/scenario"
)

// What somebody wrote can be read, is answered as its own checks want it, and is said once.
func TestWrittenWorlds(t *testing.T) {
	said := map[string]bool{}
	for _, w := range WrittenWorlds() {
		changes := 0
		for _, p := range w.Tasks {
			as := p.Word(nil, scenario.Train)
			if as.Task == "" || as.Answer == "" || said[as.Task] || p.Answer.Form != "" && len(as.Checks) == 0 {
				t.Errorf("%s: %+v", w.Name, as)
			}
			said[as.Task] = true
			for _, c := range as.Checks {
				if why := c.AnswerUnmet(as.Answer); why != "" {
					t.Errorf("%s: %q is answered %q: %s", w.Name, as.Task, as.Answer, why)
				}
			}
			if len(as.Checks) > 0 && !p.Changes() && !slices.ContainsFunc(as.Checks, func(c scenario.Check) bool {
				return !c.Answer(as.Task)
			}) {
				t.Errorf("%s: who repeats %q has answered it", w.Name, as.Task)
			}
			if p.Changes() {
				changes++
			}
			for _, s := range p.Steps {
				if refused := p.Kind == Unknown || p.Kind == Cannot || p.Kind == AskBack; s.Writes && refused {
					t.Errorf("%s: %q is not to be done", w.Name, as.Task)
				}
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
