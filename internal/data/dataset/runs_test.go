package dataset

import (
	"reflect"
	"testing"

	"hone/internal/chat"
)

// Each message that is to be learnt is learnt by one of the runs, as trainers without masks learn all behind the
// opening.
func TestRuns(t *testing.T) {
	say := func(text string, noLoss bool) chat.Message {
		return chat.Message{Role: chat.Assistant, Content: text, NoLoss: noLoss}
	}
	user := chat.Message{Role: chat.User}
	for _, tc := range []struct {
		messages []chat.Message
		opening  int
		want     [][]int // of each run: its opening and its end
	}{
		{[]chat.Message{user, say("1", false), user, say("2", false)}, 1, [][]int{{1, 4}}},
		{[]chat.Message{user, say("1", true), user, say("2", false), user, say("3", false)}, 0, [][]int{{3, 6}}},
		{[]chat.Message{user, say("1", false), user, say("2", true), user, say("3", false), user}, 0, [][]int{{1, 2}, {5, 6}}},
		{[]chat.Message{user, say("1", true)}, 0, nil},
		{[]chat.Message{say("0", true), user, say("1", false)}, 1, [][]int{{1, 3}}},
	} {
		r := Row{ID: "x", Messages: tc.messages, Opening: tc.opening}
		var got [][]int
		ids := map[string]bool{}
		for _, row := range Runs(r) {
			got = append(got, []int{row.Opening, len(row.Messages)})
			ids[row.ID] = true
			for i := row.Opening; i < len(row.Messages); i++ {
				if row.Messages[i].NoLoss {
					t.Errorf("message %d is learnt", i)
				}
			}
		}
		if !reflect.DeepEqual(got, tc.want) || len(ids) != len(got) {
			t.Errorf("%v: %v, want %v", tc.messages, got, tc.want)
		}
	}
}

// The rows of one conversation have ids of their own, and a turn that nothing is to be learnt of gives none.
func TestIDsOfRows(t *testing.T) {
	r := Row{ID: "x", Messages: []chat.Message{
		{Role: chat.User}, {Role: chat.Assistant, NoLoss: true}, {Role: chat.User}, {Role: chat.Assistant},
		{Role: chat.User}, {Role: chat.Assistant},
	}}
	rows := UnrollRow(Turns, r)
	if len(rows) != 2 || rows[0].ID != "x.2" || rows[1].ID != "x.3" || rows[0].TraceID != "x" {
		t.Errorf("%+v", rows)
	}
}
