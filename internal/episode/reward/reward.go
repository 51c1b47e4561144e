// Package reward scores trajectories by rules: a reward is a sum of named terms, each score x weight.
package reward

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"hone/internal/chat"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
	"hone/internal/grade"
)

// Weights are what each term's score is multiplied by, but for Extra. Scores lie in 0..1, so a penalty has a negative
// weight.
type Weights struct {
	Checks  float64 // 1 if every check of the scenario passes
	Call    float64 // fraction of gold calls made, arguments and all, in any order
	Tool    float64 // fraction of gold calls whose tool was validly called: a foothold before arguments are right
	End     float64 // where the episode ended right (see ended): 1, or the fraction of gold calls made
	Extra   float64 // share of what the terms above earned that each call beyond the number of gold calls takes away
	Repeat  float64 // fraction of calls that repeat an earlier one exactly
	Invalid float64 // fraction of calls that were never sent: unknown tool, or arguments against its schema
	Parse   float64 // 1 if a turn held a malformed call
}

// Default returns weights under which guessing does not pay. Of two or more calls that may be the right one, a policy
// that does not know which can make several, in one turn or over turns. Each call beyond the number of gold calls at most
// doubles its chance, and halves what it earns, however many there are. So its mean reward over what the gold calls may
// be is at most that of an honest attempt, which makes as many calls as there are gold calls and then answers. For any
// number n of gold calls, which the checks need:
//
//	without one right call   at most Tool, by calling the right tools with wrong arguments, since End needs right calls
//	with k right calls       at least (Call + Tool + End) k/n, where the episode makes at most n calls and ends right
//	with all and the answer  Checks more, which is more than all other terms together
//
// A policy that reads what one call answered before it makes the next one is no guesser: it has learnt something. It pays
// for its calls beyond gold too, but they never make its reward negative.
func Default() Weights {
	return Weights{Checks: 1, Call: 0.5, Tool: 0.2, End: 0.2, Extra: 0.5, Repeat: -0.2, Invalid: -0.2, Parse: -0.2}
}

// Validate refuses weights that would reward a fault or punish a success.
func (w Weights) Validate() error {
	for _, good := range []struct {
		name   string
		weight float64
	}{{"checks", w.Checks}, {"call", w.Call}, {"tool", w.Tool}, {"end", w.End},
		{"repeat", -w.Repeat}, {"extra", w.Extra}, {"invalid", -w.Invalid}, {"parse", -w.Parse}} {
		if !(good.weight >= 0) { // also NaN
			return fmt.Errorf("weight of reward term %q has the wrong sign", good.name)
		}
	}
	if w.Extra > 1 {
		return fmt.Errorf("reward term %q takes a share away, at most 1", "extra")
	}
	return nil
}

// Scorer scores trajectories. The zero value scores with Default.
type Scorer struct {
	Weights *Weights
	// Defaults gives the schema defaults of a tool's arguments; nil for none.
	Defaults grade.Defaults
}

// Score sets t.Terms and t.Reward. An outcome that is not the policy's doing is not scored: no terms, reward 0, and
// the caller must mask it (Outcome.Trainable). Nor is one whose record lacks what a check looks at (Unseen). Terms that need
// gold calls are left out where there are none.
func (r Scorer) Score(s *scenario.Scenario, t *trajectory.Trajectory) {
	t.Terms, t.Reward = nil, 0
	if !t.Outcome.Trainable() || len(Unseen(s, t)) > 0 {
		return
	}
	w := Default()
	if r.Weights != nil {
		w = *r.Weights
	}
	add := func(name string, score, weight float64, why string) {
		t.Terms = append(t.Terms, trajectory.Term{Name: name, Score: score, Weight: weight, Why: why})
		t.Reward += score * weight
	}
	if len(s.Checks) > 0 {
		failed := FailedChecks(s, t, r.Defaults)
		add("checks", truth(len(failed) == 0), w.Checks, strings.Join(failed, "; "))
	}
	numCalls, gold := len(t.Calls()), s.GoldCalls()
	made := 1.0 // the part of gold calls that was made
	if len(gold) > 0 {
		missing := missingCalls(s, gold, t, r.Defaults)
		made = 1 - float64(len(missing))/float64(len(gold))
		add("call", made, w.Call, strings.Join(missing, "; "))
		add("tool", toolShare(gold, t), w.Tool, "")
	}
	why := r.ended(s, gold, t)
	add("end", truth(why == "")*made, w.End, why)
	if len(gold) > 0 {
		extra, earned := ExtraCalls(s, t), t.Reward
		add("extra", 1-math.Pow(1-w.Extra, float64(extra)), 0-earned, beyond(extra))
	}
	if numCalls > 0 {
		add("repeat", float64(repeats(t))/float64(numCalls), w.Repeat, "")
		add("invalid", float64(numCalls-len(sent(t)))/float64(numCalls), w.Invalid, "")
	}
	add("parse", truth(parseError(t) != ""), w.Parse, parseError(t))
}

// ExtraCalls is the number of calls beyond the gold calls, 0 where a scenario has none: nothing says then how many its
// task takes. Searches of hone's own are no calls of the task.
func ExtraCalls(s *scenario.Scenario, t *trajectory.Trajectory) int {
	if len(s.Gold) == 0 {
		return 0
	}
	return max(0, len(t.ServerCalls())-len(s.Gold))
}

func beyond(extra int) string {
	if extra == 0 {
		return ""
	}
	return fault.Count(extra, "call") + " beyond the gold calls"
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// answered returns the calls that a tool answered as the scenario wants: without error, for a call refused or failed has
// done nothing; or, where a check asks for a refusal, with one.
func answered(s *scenario.Scenario, t *trajectory.Trajectory, defaults grade.Defaults) []chat.ToolCall {
	var calls []chat.ToolCall
	for _, r := range t.Calls() {
		refused := r.Status == trajectory.CallToolError && slices.ContainsFunc(s.Checks, func(c scenario.Check) bool {
			return c.Type == scenario.CallCheck && c.Refused && c.IsCall(r.Call, defaults)
		})
		if r.Status == trajectory.CallOK || refused {
			calls = append(calls, r.Call)
		}
	}
	return calls
}

// sent returns the calls that were well-formed, whatever became of them.
func sent(t *trajectory.Trajectory) []chat.ToolCall {
	var calls []chat.ToolCall
	for _, r := range t.Calls() {
		if r.Status != trajectory.CallInvalid {
			calls = append(calls, r.Call)
		}
	}
	return calls
}

func missingCalls(s *scenario.Scenario, gold []chat.ToolCall, t *trajectory.Trajectory, defaults grade.Defaults) []string {
	var missing []string
	for i, j := range grade.Match(answered(s, t, defaults), gold, defaults) {
		if j < 0 {
			missing = append(missing, fmt.Sprintf("gold[%d] (%s) was not called", i, gold[i].Name))
		}
	}
	return missing
}

// toolShare is the part of gold calls whose tool was called, each call counting once. Arguments must be strict JSON:
// a repeated key must not earn what a server's lenient reader forgave.
func toolShare(gold []chat.ToolCall, t *trajectory.Trajectory) float64 {
	free := map[string]int{}
	for _, c := range sent(t) {
		if _, err := grade.Decode(c.Arguments); err == nil {
			free[c.Name]++
		}
	}
	found := 0
	for _, g := range gold {
		if free[g.Name] > 0 {
			free[g.Name]--
			found++
		}
	}
	return float64(found) / float64(len(gold))
}

// ended says why an episode did not end right, or "". Right is: every completion stopped by itself, turns that call
// hold nothing but their calls, and an answer followed, or only MaxTurns kept it from following the last gold call.
// Where gold calls exist one must have been made, or silence would be the cheapest way to this term.
func (r Scorer) ended(s *scenario.Scenario, gold []chat.ToolCall, t *trajectory.Trajectory) string {
	for i, turn := range t.Turns {
		if len(turn.Calls) > 0 && strings.TrimSpace(turn.Content) != "" {
			return fmt.Sprintf("turn %d holds text around its calls", i)
		}
	}
	matched := len(gold) - len(missingCalls(s, gold, t, r.Defaults))
	switch {
	case t.StopReason == trajectory.StopCompleted && strings.TrimSpace(t.Answer()) == "":
		return "the answer is empty"
	case t.StopReason == trajectory.StopCompleted && (matched > 0 || len(gold) == 0):
		return ""
	case t.StopReason == trajectory.StopMaxTurns && matched > 0 && matched == len(gold) && len(t.ServerCalls()) == matched:
		return ""
	case t.StopReason == trajectory.StopCompleted:
		return "no gold call was made"
	}
	return "stopped by " + string(t.StopReason)
}

// repeats counts calls equal to an earlier one. Calls that are not strict JSON are compared as text.
func repeats(t *trajectory.Trajectory) int {
	var seen []chat.ToolCall
	n := 0
	for _, result := range t.Calls() {
		again := false
		for _, c := range seen {
			equal, err := grade.EqualCalls(result.Call, c, nil)
			again = again || err == nil && equal || c.Name == result.Call.Name && c.Arguments == result.Call.Arguments
		}
		if again {
			n++
		}
		seen = append(seen, result.Call)
	}
	return n
}

func parseError(t *trajectory.Trajectory) string {
	// A call cut off by the token limit is the limit's doing, which costs the end term already.
	if t.StopReason == trajectory.StopMaxTokens {
		return ""
	}
	for _, turn := range t.Turns {
		if turn.ParseError != "" {
			return turn.ParseError
		}
	}
	return ""
}
