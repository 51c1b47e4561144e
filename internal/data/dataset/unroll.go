package dataset

import (
	"fmt"
	"slices"

	"hone/internal/chat"
)

// Schemes of rows.
const (
	Whole = "whole" // the conversation as it is
	Turns = "turns" // one row for each user turn, cut at its last assistant message; that turn alone is trained
	// one row for each user turn, cut there too; all of the row is trained, so early turns are trained several times
	Prefixes = "prefixes"
)

// Schemes are the names of all.
func Schemes() []string { return []string{Whole, Turns, Prefixes} }

// UnrollRow are the rows that a scheme makes of a conversation. Those of the other schemes than Whole say which turn of
// which trace they are. A user turn without an assistant message that may be learnt gives no row.
func UnrollRow(scheme string, r Row) []Row {
	if scheme == Whole || scheme == "" {
		return []Row{r}
	}
	starts := turnStarts(r.Messages)
	var out []Row
	for i, start := range starts {
		end := len(r.Messages)
		if i+1 < len(starts) {
			end = starts[i+1]
		}
		last := end - 1
		for last >= start && !r.Trains(last) {
			last--
		}
		if last < start {
			continue
		}
		row := r
		row.TraceID, row.Turn, row.NumTurns = r.Name(), i+1, len(starts)
		row.ID = fmt.Sprintf("%s.%d", r.Name(), i+1) // a data set's ids tell its rows apart
		row.Messages, row.Results = r.Messages[:last+1:last+1], nil
		if len(out) > 0 { // what it took is told once
			row.Usage = nil
		}
		if scheme == Turns {
			row.Opening = max(r.Opening, start)
		}
		out = append(out, row)
	}
	return out
}

// Runs are rows for a trainer that learns all that the assistant says behind a row's opening: one for each run of
// messages that no mask leaves out. Each message that is to be learnt is learnt by one row. A row without masks is
// itself.
func Runs(r Row) []Row {
	if !slices.ContainsFunc(r.Messages[r.Opening:], func(m chat.Message) bool { return m.NoLoss }) {
		return []Row{r}
	}
	var out []Row
	start, last := -1, -1 // of a run: its first and its last message that is learnt
	end := func() {
		if start < 0 {
			return
		}
		row := r
		row.Messages, row.Opening, row.Results = r.Messages[:last+1:last+1], start, nil
		row.ID = fmt.Sprintf("%s.m%d", r.Name(), start)
		if len(out) > 0 {
			row.Usage = nil
		}
		out, start = append(out, row), -1
	}
	for i := r.Opening; i < len(r.Messages); i++ {
		switch {
		case r.Trains(i):
			if start < 0 {
				start = i
			}
			last = i
		case r.Messages[i].NoLoss:
			end()
		}
	}
	end()
	return out
}

// Unroll are the rows of all conversations.
func Unroll(scheme string, rows []Row) []Row {
	var out []Row
	for _, r := range rows {
		out = append(out, UnrollRow(scheme, r)...)
	}
	return out
}

// turnStarts are where user turns begin: at each run of user messages. What stands before the first belongs to it.
func turnStarts(messages []chat.Message) []int {
	starts := []int{0}
	for i := 1; i < len(messages); i++ {
		if messages[i].Role == chat.User && messages[i-1].Role != chat.User &&
			slices.ContainsFunc(messages[:i], func(m chat.Message) bool { return m.Role == chat.User }) {
			starts = append(starts, i)
		}
	}
	return starts
}
