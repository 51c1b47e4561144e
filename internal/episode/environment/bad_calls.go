package environment

import (
	"fmt"
	"slices"

	"hone/internal/chat"
	"hone/internal/episode/trajectory"
)

// answerBadCall answers the turn just written, which holds a malformed call, by what is wrong with it. None of its
// calls is made: a model that began another one by mistake may mean both otherwise. The answer is a message of the role
// user, which every chat template takes behind a message without a call. Beyond the limit it is the end.
func (e *episode) answerBadCall() *End {
	turn := &e.t.Turns[len(e.t.Turns)-1]
	if len(e.told) >= e.o.MaxMalformed {
		return &End{Outcome: trajectory.PolicyError, Reason: trajectory.StopParseError, Why: turn.ParseError}
	}
	for _, c := range turn.Calls {
		r := trajectory.ToolResult{Call: c, Status: trajectory.CallInvalid, Text: "not called",
			Error: "another call of the message is malformed"}
		turn.Results = append(turn.Results, r)
		e.t.Messages = append(e.t.Messages,
			chat.Message{Role: chat.ToolRole, Content: r.Text, ToolCallID: c.ID, Name: c.Name})
	}
	e.numCalls += len(turn.Calls)
	turn.Feedback = fmt.Sprintf("Your last message holds a malformed tool call, so no tool was called: %s.",
		turn.ParseError)
	if e.o.CallExample != "" {
		turn.Feedback += " Write the call again, in this form:\n" + e.o.CallExample
	} else {
		turn.Feedback += " Write the call again."
	}
	e.told = append(e.told, len(e.t.Messages))
	e.t.Messages = append(e.t.Messages, chat.Message{Role: chat.User, Content: turn.Feedback})
	return nil
}

// userView is the conversation as a simulated user hears it: without malformed messages and what they were told.
func (e *episode) userView() []chat.Message {
	if len(e.told) == 0 {
		return e.t.Messages
	}
	heard := slices.Clone(e.t.Messages)
	for _, at := range slices.Backward(e.told) {
		first := at - 1
		for heard[first].Role != chat.Assistant {
			first--
		}
		heard = slices.Delete(heard, first, at+1)
	}
	return heard
}
