package programs

import (
	"math/rand/v2"
	"testing"
)

// The state of work says what is open; that of a room, or one that might be dropped, does not.
func TestStageColumn(t *testing.T) {
	for _, c := range []struct {
		one, column string
		values      []any
		want        bool
		open        string // its value that is not begun
	}{
		{"task", "status", []any{"To Do", "In Progress", "Done"}, true, "To Do"},
		{"task", "status", []any{"todo", "in_progress", "completed"}, true, "todo"},
		{"task", "status", []any{"To Do", "In Review", "Done"}, true, "To Do"},
		{"issue", "state", []any{"open", "closed"}, true, "open"},
		{"room", "state", []any{"open", "closed"}, false, ""},
		{"room", "state", []any{"let", "closed", "ready"}, false, ""},
		{"task", "status", []any{"To Do", "Done", "Cancelled"}, false, ""},
		{"task", "status", []any{"To Do", "Done", "Closed"}, false, ""}, // which is it?
		{"task", "priority", []any{"new", "done"}, false, ""},
		{"task", "status", []any{"To Do", nil}, false, ""},
		{"task", "status", []any{"todo", "done", "released"}, false, ""},
		{"booking", "state", []any{"new", "closed"}, false, ""},
		{"booking", "state", []any{"new", "confirmed", "closed"}, false, ""},
	} {
		table := &Table{Name: c.one, One: c.one, Columns: []Column{{Name: c.column, Kind: Text}}}
		for _, v := range c.values {
			table.Rows = append(table.Rows, []any{v})
		}
		if got := table.StageColumn() == 0; got != c.want {
			t.Errorf("%s %v: %v", c.one, c.values, got)
		} else if c.want && table.StageValue(0, NotBegun) != c.open {
			t.Errorf("%v: %q is not begun", c.values, table.StageValue(0, NotBegun))
		}
	}
}

// What is open is all that is not done.
func TestOpen(t *testing.T) {
	table := &Table{One: "task", Columns: []Column{{Name: "status", Kind: Text}},
		Rows: [][]any{{"To Do"}, {"Blocked"}, {"Done"}}}
	c, said, ok := table.Open(rand.New(rand.NewPCG(1, 2)))
	if rows := table.Matching([]Cond{c}); !ok || said == "" || len(rows) != 2 || rows[1][0] != "Blocked" {
		t.Errorf("%q: %v", said, rows)
	}
}
