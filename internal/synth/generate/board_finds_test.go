package generate

import (
	"encoding/json"
	"testing"

	"hone/internal/synth/programs"
)

// What views alone show, and the things of other lists that a request names, have to be read before they are used.
func TestUsesUnshown(t *testing.T) {
	change := func(owner string) []Call {
		return []Call{{Tool: "update_deal", Arguments: json.RawMessage(`{"id":"D-1","owner":"` + owner + `"}`)}}
	}
	act := func(slots map[string]string) *programs.Program { return programs.NewAct(programs.Set, "set", slots) }
	const list = `{"deals":[{"id":"D-1","title":"Roof"},{"id":"D-2","title":"Depot"}]}`
	const view = `{"id":"D-2","title":"Depot","owner":"Ben"}`
	for name, tc := range map[string]struct {
		task  *boardTask
		shown []string
		want  bool
	}{
		"taken from a view that is not read": {&boardTask{Program: act(map[string]string{"x": "Roof"}),
			changes: change("Ben")}, []string{list}, true},
		"read": {&boardTask{Program: act(map[string]string{"x": "Roof"}), changes: change("Ben")},
			[]string{list, view}, false},
		"said":       {&boardTask{Program: act(map[string]string{"v": "Ben"}), changes: change("Ben")}, []string{list}, false},
		"new":        {&boardTask{Program: act(map[string]string{"x": "Roof"}), changes: change("Cai")}, []string{list}, false},
		"other list": {&boardTask{Program: act(map[string]string{"y": "Ines Berg"})}, []string{list}, true},
		"both lists": {&boardTask{Program: act(map[string]string{"y": "Ines Berg"})}, []string{list, `Ines Berg`}, false},
		"refused": {&boardTask{Program: programs.NewAct(programs.Unknown, "unknown",
			map[string]string{"y": "Ines Berg"})}, []string{list}, false},
	} {
		b := dealsBoard(list)
		contacts := &programs.Table{Name: "contacts", Key: 0, Label: 1,
			Columns: []programs.Column{{Name: "id"}, {Name: "name"}}, Rows: [][]any{{"C-1", "Ines Berg"}}}
		b.kin = []*boarding{{boardState: &boardState{table: contacts,
			board: &board{columns: []boardColumn{{name: "id"}, {name: "name"}}}}}}
		got := &Played{}
		for _, text := range tc.shown {
			tc.task.reads = append(tc.task.reads, Call{Tool: "list_deals"})
			got.Results = append(got.Results, Answered{"ok", text})
		}
		if is := b.usesUnshown(tc.task, got); is != tc.want {
			t.Errorf("%s: %v", name, is)
		}
		if b.isShared("Roof") || !b.isShared("ines berg") {
			t.Error("a name of another list is not known")
		}
	}
}
