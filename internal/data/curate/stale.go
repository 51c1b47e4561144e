package curate

import (
	"fmt"
	"slices"

	"hone/internal/chat"
)

// stale is a call that was edited since it was made and answered.
type stale struct {
	message, call int
	made          string // its arguments when it was made
	written       string // and as a person wrote them
}

// noteEdit notes that a call has other arguments than before, or again those that it was made with.
func (t *Trace) noteEdit(message, call int, before string) {
	now := t.Row.Messages[message].ToolCalls[call].Arguments
	for _, list := range []*[]stale{&t.stale, &t.rewritten} {
		i := slices.IndexFunc(*list, func(s stale) bool { return s.message == message && s.call == call })
		switch {
		case i < 0 && now != before:
			*list = append(slices.Clone(*list), stale{message, call, before, now})
		case i >= 0 && now == (*list)[i].made:
			*list = slices.Delete(slices.Clone(*list), i, i+1)
		case i >= 0:
			*list = slices.Clone(*list)
			(*list)[i].written = now
		}
	}
}

// noteAnswer notes that a person wrote a message, which may be the result of an edited call.
func (t *Trace) noteAnswer(message int) {
	t.stale = slices.DeleteFunc(slices.Clone(t.stale), func(s stale) bool { return t.resultOf(s) == message })
}

// renumber gives the edited calls the numbers of messages that were kept; now is -1 of one that was not.
func (t *Trace) renumber(now []int) {
	for _, list := range []*[]stale{&t.stale, &t.rewritten} {
		var left []stale
		for _, s := range *list {
			if s.message = now[s.message]; s.message >= 0 {
				left = append(left, s)
			}
		}
		*list = left
	}
}

// resultOf is the number of the message with a call's result, -1 where there is none.
func (t *Trace) resultOf(s stale) int {
	list := t.Row.Messages
	id := list[s.message].ToolCalls[s.call].ID
	for i := s.message + 1; i < len(list) && list[i].Role == chat.ToolRole; i++ {
		if list[i].ToolCallID == id {
			return i
		}
	}
	return -1
}

// staleResults are the findings of results that another call gave.
func (t *Trace) staleResults() (out []string) {
	for _, s := range t.stale {
		if i := t.resultOf(s); i >= 0 {
			out = append(
				out, fmt.Sprintf("message %d is the result of the call before it was edited (message %d, call %d): "+
					"edit it too, or accept the trace", i, s.message, s.call),
			)
		}
	}
	return out
}
