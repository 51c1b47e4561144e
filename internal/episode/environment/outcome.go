package environment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"hone/internal/chat"
	"hone/internal/episode/trajectory"
)

// openOutcome is how an episode ends whose session could not be opened.
func openOutcome(err error) trajectory.Outcome {
	if b, ok := errors.AsType[Blamer](err); ok {
		return b.Blame()
	}
	return trajectory.EnvironmentError
}

// CallOutcome is how an episode ends for a call without an answer, "" where there is one. A result that says nothing of
// whose fault it is counts as the environment's.
func CallOutcome(r trajectory.ToolResult) trajectory.Outcome {
	if r.Status != trajectory.CallTimeout && r.Status != trajectory.CallTransportError {
		return ""
	}
	if r.Outcome != "" {
		return r.Outcome
	}
	return trajectory.EnvironmentError
}

// endOfLostCall is the end by the first of a turn's calls that has no answer; nil where all have one.
func endOfLostCall(results []trajectory.ToolResult) *End {
	for i, r := range results {
		outcome := CallOutcome(r)
		if outcome == "" {
			continue
		}
		end := &End{Outcome: outcome, Reason: trajectory.StopError,
			Why: fmt.Sprintf("%s: %s: %s", r.Call.Name, r.Status, r.Error), Again: true}
		if r.Status == trajectory.CallTimeout {
			end.Reason = trajectory.StopTimeout
		}
		if outcome == trajectory.EnvironmentError {
			end.Lost = &results[i].Call
		}
		return end
	}
	return nil
}

// limitOutcome is how an episode ends that ran out of turns, tokens, calls, context or working time. Where it made
// calls and not one of them was valid, or well-formed, that is the policy's error: it was no nearer to an end.
func limitOutcome(t *trajectory.Trajectory) trajectory.Outcome {
	tried := false
	for _, turn := range t.Turns {
		tried = tried || turn.Feedback != ""
		for _, r := range turn.Results {
			if r.Status != trajectory.CallInvalid {
				return trajectory.Limit
			}
			tried = true
		}
	}
	if tried {
		return trajectory.PolicyError
	}
	return trajectory.Limit
}

// workingTime is how long the tools worked in a turn: as long as its longest call, since they run at once. It is what
// an episode's time is counted by. How long the sampler takes, or other episodes, is nobody's doing in it.
func workingTime(results []trajectory.ToolResult) time.Duration {
	longest := 0.0
	for _, r := range results {
		longest = max(longest, r.Seconds)
	}
	return time.Duration(longest * float64(time.Second))
}

// EndOfCancel is the end of an episode that was cancelled, which says nothing of the policy.
func EndOfCancel(ctx context.Context) *End {
	return &End{Outcome: trajectory.InfrastructureError, Reason: trajectory.StopCancelled,
		Why: fmt.Sprint(context.Cause(ctx))}
}

// setUp makes a scenario's setup calls, one after the other. The end is nil where all were answered without error; else
// the environment is not as the task has it, which is not the policy's doing.
func setUp(ctx context.Context, session Session, setup []chat.ToolCall) *End {
	for _, call := range setup {
		if r := session.Probe(ctx, call); r.Status != trajectory.CallOK {
			return &End{Outcome: cmp.Or(CallOutcome(r), trajectory.EnvironmentError), Reason: trajectory.StopError,
				Why: fmt.Sprintf("setup call %s: %s: %s%s", call.Name, r.Status, r.Error, r.Text), Again: true}
		}
	}
	return nil
}
