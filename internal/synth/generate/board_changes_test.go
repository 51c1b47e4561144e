package generate

import (
	"testing"

	"hone/internal/synth/programs"
)

// dealsBoard is a list of two deals whose owner views alone show.
func dealsBoard(text string) *boarding {
	m := newMaker(nil, []Tool{toolOf("list_deals", "List deals", none),
		toolOf("update_deal", "Update a deal", `{"type":"object","properties":{"id":{"type":"string"},
			"stage":{"type":"string"},"owner":{"type":"string"}},"required":["id"]}`),
		toolOf("create_deal", "Create a deal", `{"type":"object","properties":{"title":{"type":"string"},
			"stage":{"type":"string"}},"required":["title"]}`)}, nil, Options{})
	edit, create := m.byName["update_deal"], m.byName["create_deal"]
	table := &programs.Table{Name: "deals", One: "deal", Key: 0, Label: 1, Columns: []programs.Column{{Name: "id"},
		{Name: "title"}, {Name: "stage"}, {Name: "owner"}},
		Rows: [][]any{{"D-1", "Roof", "lead", "Ana"}, {"D-2", "Depot", "won", "Ben"}}}
	return &boarding{seat: seat{m: m}, boardState: &boardState{table: table, text: text,
		world: &programs.World{Tables: []*programs.Table{table}},
		board: &board{list: m.byName["list_deals"], listed: "deals", keyed: "id", edit: edit,
			editors: []*subject{edit}, create: create, columns: []boardColumn{{name: "id"},
				{name: "title", create: create.field("title")},
				{name: "stage", edit: edit.field("stage"), create: create.field("stage")},
				{name: "owner", edit: edit.field("owner"), hidden: true}}}}}
}

// What a task does to another list is looked at: what it changes, what it removes, and that nothing else is otherwise.
func TestStaysBut(t *testing.T) {
	const was = `{"deals":[{"id":"D-1","title":"Roof","stage":"lead"},{"id":"D-2","title":"Depot","stage":"won"}]}`
	const won = `{"deals":[{"id":"D-1","title":"Roof","stage":"won"},{"id":"D-2","title":"Depot","stage":"won"}]}`
	const both = `{"deals":[{"id":"D-1","title":"Roof","stage":"won"},{"id":"D-2","title":"Depot","stage":"lost"}]}`
	const gone = `{"deals":[{"id":"D-2","title":"Depot","stage":"won"}]}`
	const more = `{"deals":[{"id":"D-1","title":"Roof","stage":"lead"},{"id":"D-2","title":"Depot","stage":"won"},
		{"id":"D-3","title":"Gate","stage":"lead"}]}`
	wins := map[string]map[string]string{"D-1": {"stage": "won"}}
	removes := map[string]map[string]string{"D-1": nil}
	for _, tc := range []struct {
		after map[string]map[string]string
		text  string
		holds bool
	}{
		{nil, was, true}, {nil, won, false}, {nil, gone, false}, {nil, more, false},
		{wins, won, true}, {wins, was, false}, {wins, both, false}, {wins, gone, false},
		{removes, gone, true}, {removes, was, false},
	} {
		b, task := dealsBoard(was), &boardTask{}
		b.staysBut(task, tc.after)
		if got := task.looks[0].holds(tc.text); got != tc.holds {
			t.Errorf("%v: %s holds: %v", tc.after, tc.text, got)
		}
	}
}

// A change of another list is made and looked at where its list shows it; a new thing there is no task, nor is a change
// that views alone show.
func TestChangeKin(t *testing.T) {
	row := func(id, title, stage, owner any) []any { return []any{id, title, stage, owner} }
	for _, tc := range []struct {
		rows programs.NumberedRows
		able bool
	}{
		{programs.NumberedRows{1: row("D-1", "Roof", "won", "Ana"), 2: row("D-2", "Depot", "won", "Ben")}, true},
		{programs.NumberedRows{1: row("D-1", "Roof", "lead", "Cleo"), 2: row("D-2", "Depot", "won", "Ben")}, false},
		{programs.NumberedRows{1: row("D-1", "Roof", "lead", "Ana"), 2: row("D-2", "Depot", "won", "Ben"),
			3: row(nil, "Gate", "lead", nil)}, false},
	} {
		kin, task := dealsBoard(`{"deals":[]}`), &boardTask{Program: &programs.Program{}}
		able := (&boarding{}).changeKin(task, kin, tc.rows)
		if able != tc.able || able && (len(task.changes) != 1 || len(task.looks) != 1 ||
			task.looks[0].call.Tool != "list_deals") {
			t.Errorf("%v: %v, changes %v, %d looks", tc.rows, able, task.changes, len(task.looks))
		}
	}
}
