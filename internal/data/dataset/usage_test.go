package dataset

import (
	"testing"

	"hone/internal/chat"
	"hone/internal/episode/trajectory"
)

// What a trace took is told once, however many rows it is cut into.
func TestRowsTellWhatATraceTookOnce(t *testing.T) {
	say := func(role string, noLoss bool) chat.Message {
		return chat.Message{Role: role, Content: "x", NoLoss: noLoss}
	}
	r := Row{ID: "a", Usage: &trajectory.Usage{PromptTokens: 7, CompletionTokens: 3},
		Messages: []chat.Message{say(chat.User, false), say(chat.Assistant, false), say(chat.User, false),
			say(chat.Assistant, true), say(chat.User, false), say(chat.Assistant, false)}}
	for name, rows := range map[string][]Row{
		"turns":    UnrollRow(Turns, r),
		"prefixes": UnrollRow(Prefixes, r),
		"runs":     Runs(r),
		"whole":    UnrollRow(Whole, r),
	} {
		var bill Bill
		for i := range rows {
			bill.Add(&rows[i])
		}
		if bill.PromptTokens != 7 || bill.CompletionTokens != 3 || bill.Counted != 1 ||
			name != "whole" && len(rows) != 2 {
			t.Errorf("%s: %d rows tell of %+v", name, len(rows), bill)
		}
	}
}
