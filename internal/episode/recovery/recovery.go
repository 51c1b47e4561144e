// Package recovery makes tasks of what went wrong: an episode up to a call that failed, from which the policy is to go on (Fission-GRPO, arXiv
// 2601.15625, section 3). Where a policy seldom recovers from a failed call, groups from the beginning hold few recoveries to learn from.
package recovery

import (
	"encoding/json"
	"slices"

	"hone/internal/chat"
	"hone/internal/digest"
	"hone/internal/episode/reward"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/grade"
)

// Of is the task to go on from the first failed call of an episode, and whether there is one. What the episode had said and done until then, with the
// error that the server or the schema gave, is the opening. Its calls that succeeded are made again before, in the new episode's own session. Gold calls
// and checks are those that were not made or met by then.
//
// The paper has a model write the error; here the server itself did. There is none for scenarios with a user, or with checks that look at the
// world between turns or at what changed: what came before cannot be told apart there. Nor is there one where a limit on calls is used up.
func Of(s *scenario.Scenario, t *trajectory.Trajectory, defaults grade.Defaults) (scenario.Scenario, bool) {
	at := slices.IndexFunc(t.Turns, failed)
	if at < 0 || !t.Outcome.Trainable() || s.User != nil {
		return scenario.Scenario{}, false
	}
	before := *t
	before.Turns = t.Turns[:at+1]
	before.Messages = upTo(t, at)
	r := *s
	r.Task, r.Messages, r.GoldAnswer, r.Provenance = "", slices.Clone(before.Messages), "", nil
	r.Setup = append(slices.Clone(s.Setup), again(&before)...)
	r.Gold = reward.Unmade(s, &before, defaults)
	ok := false
	if r.Checks, ok = checksLeft(s, &before, defaults); !ok || len(r.Checks)+len(r.Gold) == 0 {
		return scenario.Scenario{}, false
	}
	text, err := json.Marshal(r.Messages)
	if err != nil {
		return scenario.Scenario{}, false
	}
	r.ID = s.ID + "~" + digest.Of(text).String()[:8]
	return r, r.Validate() == nil // a call that is no JSON cannot stand in a prompt
}

// failed reports whether a turn holds a call that a server or a schema refused, of which the policy was told.
func failed(turn trajectory.Turn) bool {
	return slices.ContainsFunc(turn.Results, func(r trajectory.ToolResult) bool {
		return !r.Search && !r.Ends && (r.Status == trajectory.CallToolError || r.Status == trajectory.CallInvalid)
	})
}

// upTo are the messages of an episode up to the results of a turn.
func upTo(t *trajectory.Trajectory, turn int) []chat.Message {
	for i := t.Opening; i < len(t.Messages); i++ {
		if t.Messages[i].Role != chat.Assistant {
			continue
		}
		if turn--; turn >= 0 {
			continue
		}
		for i+1 < len(t.Messages) && t.Messages[i+1].Role == chat.ToolRole {
			i++
		}
		return t.Messages[:i+1]
	}
	return t.Messages
}

// again are the calls that made the world what it is.
func again(t *trajectory.Trajectory) (calls []scenario.Gold) {
	for _, r := range t.ServerCalls() {
		if r.Status == trajectory.CallOK {
			calls = append(calls, scenario.Gold{Name: r.Call.Name, Arguments: json.RawMessage(r.Call.Arguments)})
		}
	}
	return calls
}

// checksLeft are the checks that are still to be met; not ok where all are, or where one cannot be met or told any more.
func checksLeft(s *scenario.Scenario, before *trajectory.Trajectory, defaults grade.Defaults) (left []scenario.Check, ok bool) {
	for _, c := range s.Checks {
		switch c.Type {
		case scenario.CallCheck:
			if reward.Unmet(c, before, defaults) == "" {
				continue
			}
		case scenario.MaxCallsCheck:
			n := *c.Max - reward.NumCalls(before, c.Name)
			if n < 0 {
				return nil, false
			}
			c.Max = &n
		case scenario.NoCallCheck:
			if reward.NumCalls(before, c.Name) > 0 {
				return nil, false
			}
		case scenario.UnchangedCheck, scenario.CommandCheck: // these look at the whole episode
			return nil, false
		}
		if c.AfterTurn > 0 {
			return nil, false
		}
		left = append(left, c)
	}
	return left, len(left) > 0 || len(s.Checks) == 0
}
