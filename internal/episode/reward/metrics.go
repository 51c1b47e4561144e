package reward

import (
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/grade"
)

// FirstCall reports whether the first call of a trajectory is the first gold call, strictly: same tool, typed equality
// of arguments after defaults, well-formed. Searches of hone's own come before it. False where the scenario has no gold
// calls: there it is no metric.
func FirstCall(s *scenario.Scenario, t *trajectory.Trajectory, defaults grade.Defaults) bool {
	if len(s.Gold) == 0 {
		return false
	}
	for _, turn := range t.Turns {
		if turn.ParseError != "" {
			return false
		}
		for i, call := range turn.Calls {
			if i < len(turn.Results) && turn.Results[i].Search {
				continue
			}
			equal, err := grade.EqualCalls(call, s.Gold[0].Call(), defaults)
			return err == nil && equal
		}
	}
	return false
}

// Episode reports success: every check passes. Where a scenario has no checks it is what a judge decided of the episode
// alone. Where none did, and there are gold calls, they were made in order, each answered without error, and the
// episode ended by itself. Calls beyond them fail no episode: ExtraCalls counts them. False where there is none of the
// three.
func Episode(s *scenario.Scenario, t *trajectory.Trajectory, defaults grade.Defaults) bool {
	switch {
	case !t.Outcome.Trainable():
		return false
	case len(s.Checks) > 0:
		return len(FailedChecks(s, t, defaults)) == 0
	}
	if passed := Verdict(t); passed != nil {
		return *passed
	}
	return len(s.Gold) > 0 && t.StopReason == trajectory.StopCompleted && callsInOrder(s, t, defaults)
}

// callsInOrder reports whether the gold calls are a subsequence of the calls that were answered.
func callsInOrder(s *scenario.Scenario, t *trajectory.Trajectory, defaults grade.Defaults) bool {
	gold := s.GoldCalls()
	for _, call := range callsWithAnswer(episode{s, t, defaults}, t.Calls()) {
		if len(gold) == 0 {
			break
		}
		if equal, err := grade.EqualCalls(call, gold[0], defaults); err == nil && equal {
			gold = gold[1:]
		}
	}
	return len(gold) == 0
}

// Max is the greatest reward a scenario can earn, without expressions: theirs have no bound.
func (r Scorer) Max(s *scenario.Scenario) float64 {
	w := Default()
	if r.Weights != nil {
		w = *r.Weights
	}
	most := w.End
	if len(s.Checks) > 0 {
		most += w.Checks
	}
	if len(s.Gold) > 0 {
		most += w.Call + w.Tool + r.Effort.Arguments
	}
	if r.Program != nil {
		most += r.Program.Weight
	}
	if r.Judge != nil && (r.Judge.All || len(s.Checks) == 0) {
		most += r.Judge.Weight
	}
	return most
}
