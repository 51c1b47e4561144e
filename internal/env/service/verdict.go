package service

import (
	"hone/internal/episode/trajectory"
)

// Verdict is how an episode ended, as trainers are told.
type Verdict struct {
	Outcome    trajectory.Outcome    `json:"outcome"`
	StopReason trajectory.StopReason `json:"stop_reason"`
	Trainable  bool                  `json:"trainable"` // false: it says nothing of the policy, and has no reward
	Error      string                `json:"error,omitempty"`
	Terms      map[string]float64    `json:"terms,omitempty"` // score times weight
	Reward     *float64              `json:"-"`               // nil: not trainable
}

// verdictOf is the verdict of an episode that has ended, with its score. An episode without terms was not scored.
func verdictOf(t *trajectory.Trajectory, s trajectory.Score) *Verdict {
	v := &Verdict{Outcome: t.Outcome, StopReason: t.StopReason, Error: t.Error}
	if s.Outcome != "" {
		v.Outcome, v.Error = s.Outcome, s.Error
	}
	if !v.Outcome.Trainable() || len(s.Terms) == 0 {
		return v
	}
	v.Trainable, v.Reward, v.Terms = true, &s.Reward, map[string]float64{}
	for _, term := range s.Terms {
		v.Terms[term.Name] += term.Score * term.Weight
	}
	return v
}
