package stats

import (
	"hone/internal/chat"
	"hone/internal/episode/trajectory"
	"hone/internal/grade"
)

// recovery counts the intents of an episode that failed, and of them those that succeeded after all.
//
// A call fails where the tool answered it with an error, unless wanted says that the task asks for that error, or where
// it was invalid (unknown tool, arguments against its schema), or broken, so that it could not be read. Denied calls
// and those without an answer are not the model's failures. A failed call opens an intent; another failed call of the
// same intent, before it succeeds, opens no second one. The intent has succeeded when, in a later turn, a call of the
// same intent is answered without error.
//
// Two calls have the same intent where they call the same tool; or where they have the same arguments, and some: then
// the first one named a wrong tool. What a broken call meant nobody knows: it opens one intent, and the next call that
// is answered without error is taken for it. For example, "search with bad arguments, search with bad arguments,
// search" is one intent, recovered.
func recovery(t *trajectory.Trajectory, wanted func(trajectory.ToolResult) bool) (numFailed, numRecovered int) {
	var open []chat.ToolCall
	broken := false // an intent of a broken call is open
	for _, turn := range t.Turns {
		closed := map[int]bool{}
		for _, r := range turn.Results {
			if r.Status != trajectory.CallOK {
				continue
			}
			if broken {
				broken = false
				numRecovered++
			}
			for i, failed := range open {
				if sameIntent(failed, r.Call) {
					closed[i] = true
				}
			}
		}
		numRecovered += len(closed)
		var still []chat.ToolCall
		for i, failed := range open {
			if !closed[i] {
				still = append(still, failed)
			}
		}
		open = still
		if hasBadCall(t, turn) && !broken {
			broken = true
			numFailed++
		}
		for _, r := range turn.Results {
			if failed := r.Status == trajectory.CallInvalid ||
				r.Status == trajectory.CallToolError && !wanted(r); !failed {
				continue
			}
			if !anySame(open, r.Call) {
				open = append(open, r.Call)
				numFailed++
			}
		}
	}
	return numFailed, numRecovered
}

func anySame(open []chat.ToolCall, call chat.ToolCall) bool {
	for _, c := range open {
		if sameIntent(c, call) {
			return true
		}
	}
	return false
}

func sameIntent(failed, call chat.ToolCall) bool {
	if failed.Name == call.Name {
		return true
	}
	renamed := call
	renamed.Name = failed.Name
	equal, err := grade.EqualCalls(failed, renamed, nil)
	return err == nil && equal && hasArguments(call)
}

func hasArguments(c chat.ToolCall) bool {
	v, err := grade.Decode(c.Arguments)
	object, ok := v.(map[string]any)
	return err == nil && ok && len(object) > 0
}
