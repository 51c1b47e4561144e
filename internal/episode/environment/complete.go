package environment

import (
	"encoding/json"
	"strings"

	"hone/internal/chat"
	"hone/internal/episode/trajectory"
)

const completeTask = "complete_task"

// CompleteTask is the tool by which a policy can end an episode, beside a message without a call: some models go on
// calling tools until they may call one that says that they are done. hone answers it; no server sees the call. Its
// answer is the episode's.
func CompleteTask() chat.Tool {
	return chat.Tool{Name: completeTask, Description: "Ends the task. Call it alone and last, when all else is done.",
		InputSchema: json.RawMessage(`{"type": "object", "properties": {"answer": {"type": "string", "description": "The answer to the task, for the user."}}, "required": ["answer"]}`)}
}

// WithCompleteTask puts the tool before those of an episode, none of which is to have its name. In front it is recorded
// apart from a catalog's.
func WithCompleteTask(tools []chat.Tool) []chat.Tool {
	return append([]chat.Tool{CompleteTask()}, tools...)
}

// completes answers calls of complete_task, and returns the others, which are for the servers. results has a place for
// each call.
func (e *episode) completes(calls []chat.ToolCall) (others []chat.ToolCall, results []trajectory.ToolResult) {
	results = make([]trajectory.ToolResult, len(calls))
	for i, c := range calls {
		if !e.o.CompleteTask || c.Name != completeTask {
			others = append(others, c)
			continue
		}
		results[i] = trajectory.ToolResult{Call: c, Status: trajectory.CallInvalid}
		switch answer, err := trajectory.FinalAnswer(c); {
		case len(calls) > 1:
			results[i].Error = "it is to be called alone, when the results of all other calls are there"
		case err != nil:
			results[i].Error = err.Error()
		case strings.TrimSpace(answer) == "":
			results[i].Error = "its answer is empty"
		default:
			results[i].Status, results[i].Ends, results[i].Text = trajectory.CallOK, true, "The task is over."
		}
		if results[i].Error != "" {
			results[i].Text = completeTask + ": " + results[i].Error
		}
	}
	return others, results
}
