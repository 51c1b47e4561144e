package render

import (
	"slices"

	"hone/internal/chat"
)

// inOrder puts the results that follow a message into the order of its calls. Hardly any template writes which call a
// result is of, so the place is all that a model goes by; clients and data sets have results as they came. Where each
// message of the outcome stood before is in at, nil where nothing moved. Results of which one names no call of the
// message, or of calls whose ids are not told apart, stay.
func inOrder(messages []chat.Message) (out []chat.Message, at []int) {
	out = messages
	for i, m := range messages {
		if len(m.ToolCalls) < 2 {
			continue
		}
		end := i + 1
		for end < len(messages) && messages[end].Role == chat.ToolRole {
			end++
		}
		places := map[string]int{}
		for j, call := range m.ToolCalls {
			places[call.ID] = j
		}
		place := func(k int) int {
			if n, ok := places[messages[k].ToolCallID]; ok {
				return n
			}
			return -1
		}
		var order []int
		for k := i + 1; k < end; k++ {
			order = append(order, k)
		}
		byCall := func(a, b int) int { return place(a) - place(b) }
		if len(places) < len(m.ToolCalls) || slices.ContainsFunc(order, func(k int) bool { return place(k) < 0 }) ||
			slices.IsSortedFunc(order, byCall) {
			continue
		}
		if at == nil {
			out = slices.Clone(messages)
			for k := range messages {
				at = append(at, k)
			}
		}
		slices.SortStableFunc(order, byCall)
		for j, k := range order {
			out[i+1+j], at[i+1+j] = messages[k], k
		}
	}
	return out, at
}

// restoreOrder gives spans the places that their messages had before inOrder.
func restoreOrder(rows []Sequence, at []int) {
	if at == nil {
		return
	}
	for _, s := range rows {
		for i := range s.Spans {
			s.Spans[i].Message = at[s.Spans[i].Message]
		}
	}
}
