package serve

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"hone/internal/chat"
	"hone/internal/text/toolcall"
)

// Calls are numbered through a conversation from 0, as an episode of training does: some templates write the numbers,
// so they are in what the model is trained on. Clients keep calls of many conversations in one place, and are told of
// ids that no other call has: call_2_6f1c...; where they come back, the number counts.

// isTold reports whether an id is of the form in which clients are told of calls.
func isTold(id string) bool {
	rest, ours := strings.CutPrefix(id, "call_")
	number, unique, two := strings.Cut(rest, "_")
	_, err := strconv.ParseUint(number, 10, 31)
	return ours && two && err == nil && len(unique) == uniqueLength && strings.Trim(unique, "0123456789abcdef") == ""
}

// uniqueLength is that of newID's ids.
const uniqueLength = 24

func callID(number int, unique string) string { return fmt.Sprintf("call_%d_%s", number, unique) }

// numberCalls gives the calls that were told here their numbers, in the order of the conversation: two that were put
// together have each numbers of its own.
func numberCalls(messages []chat.Message) {
	numbers := map[string]string{}
	next := 0
	for i := range messages {
		m := &messages[i]
		for j := range m.ToolCalls {
			c := &m.ToolCalls[j]
			if isTold(c.ID) {
				id := fmt.Sprintf("call_%d", next)
				numbers[c.ID], c.ID = id, id
			}
			next++
		}
		if id, ok := numbers[m.ToolCallID]; ok && m.Role == chat.ToolRole {
			m.ToolCallID = id
		}
	}
}

// nextCall is the number of the next call. One that a conversation has is not given again.
func nextCall(messages []chat.Message) int {
	next := 0
	for _, m := range messages {
		for _, call := range m.ToolCalls {
			if n, err := strconv.Atoi(strings.TrimPrefix(call.ID, "call_")); err == nil && n < 1<<30 {
				next = max(next, n+1)
			}
		}
	}
	return next
}

// nameResults gives results the names of the tools that were called, where they have none.
func nameResults(messages []chat.Message) {
	names := map[string]string{}
	for i := range messages {
		m := &messages[i]
		for _, c := range m.ToolCalls {
			names[c.ID] = c.Name
		}
		if m.Role == chat.ToolRole && m.Name == "" {
			m.Name = names[m.ToolCallID]
		}
	}
}

// argumentsOf are the arguments of a call that a client sends back, as an object: they may be one in a text once more,
// or, where max_tokens ended the answer that made the call, the beginning of one.
func argumentsOf(text string) (object string, ok bool) {
	var inner string
	if json.Unmarshal([]byte(text), &inner) == nil {
		text = inner
	}
	if strings.TrimSpace(text) == "null" {
		text = ""
	}
	return toolcall.CutObject(text)
}
