// Package unroll makes several training rows of one conversation, and proves by which of them each assistant message is trained.
//
// Example: U1 A1 T A2 U2 A3, where T is a tool's result. Brackets show what is trained.
//
//	turns:     U1 [A1] T [A2]         and  U1 A1 T A2 U2 [A3]
//	prefixes:  U1 [A1] T [A2]         and  U1 [A1] T [A2] U2 [A3]
//
// A chat template that drops the reasoning of earlier user turns shows that of A1 and A2 in the first row alone, so one row of the
// whole conversation would not train it.
package unroll

import (
	"slices"

	"hone/internal/chat"
	"hone/internal/data/dataset"
)

// Schemes of rows.
const (
	Whole    = "whole"    // the conversation as it is
	Turns    = "turns"    // one row for each user turn, cut at its last assistant message; that turn alone is trained
	Prefixes = "prefixes" // one row for each user turn, cut there too; all of the row is trained, so early turns are trained several times
)

// Schemes are the names of all.
func Schemes() []string { return []string{Whole, Turns, Prefixes} }

// Rows are the rows that a scheme makes of a conversation. Those of the other schemes than Whole say which turn of which trace they
// are. A user turn without an assistant message that may be learnt gives no row.
func Rows(scheme string, r dataset.Row) []dataset.Row {
	if scheme == Whole || scheme == "" {
		return []dataset.Row{r}
	}
	starts := turnStarts(r.Messages)
	var out []dataset.Row
	for i, start := range starts {
		end := len(r.Messages)
		if i+1 < len(starts) {
			end = starts[i+1]
		}
		last := end - 1
		for last >= start && r.Messages[last].Role != chat.Assistant {
			last--
		}
		if last < start || last < r.Opening {
			continue
		}
		row := r
		row.TraceID, row.Turn, row.NumTurns = r.Name(), i+1, len(starts)
		row.Messages, row.Results = r.Messages[:last+1:last+1], nil
		if scheme == Turns {
			row.Opening = max(r.Opening, start)
		}
		out = append(out, row)
	}
	return out
}

// All are the rows of all conversations.
func All(scheme string, rows []dataset.Row) []dataset.Row {
	var out []dataset.Row
	for _, r := range rows {
		out = append(out, Rows(scheme, r)...)
	}
	return out
}

// turnStarts are where user turns begin: at each run of user messages. What stands before the first belongs to it.
func turnStarts(messages []chat.Message) []int {
	starts := []int{0}
	for i := 1; i < len(messages); i++ {
		if messages[i].Role == chat.User && messages[i-1].Role != chat.User && slices.ContainsFunc(messages[:i], func(m chat.Message) bool { return m.Role == chat.User }) {
			starts = append(starts, i)
		}
	}
	return starts
}
