package eval

import (
	"cmp"
	"fmt"
	"slices"

	"hone/internal/episode/trajectory"
)

// System is one model under evaluation: its name ("base", "sft", "grpo") and its scored episodes.
type System struct {
	Name     string
	Rows     []Row
	Excluded map[trajectory.Outcome]int // episodes that are in no rate, by outcome
	Episodes []Example                  // all of them, to be shown
}

// NumExcluded is how many episodes are in no rate. It belongs beside each rate: leaving many out can flatter a system.
func (s System) NumExcluded() int {
	n := 0
	for _, k := range s.Excluded {
		n += k
	}
	return n
}

// FirstLost is the error of the first episode that is in no rate, with what its server said last; "" where there is none.
func (s System) FirstLost() string {
	for _, e := range s.Episodes {
		if !e.Trajectory.Outcome.Trainable() && e.Trajectory.Error != "" {
			return e.Trajectory.Error
		}
	}
	return ""
}

// Summary is a system's line in the headline table. Rates are in [0, 1], with Wilson's intervals; the rest are means per
// episode. What gold calls are needed for is over the scenarios that have some, and nil (null in JSON) where none has.
type Summary struct {
	Success          *float64 `json:"success"` // of the first call: it is the first gold call, arguments and all
	Low              *float64 `json:"low"`
	High             *float64 `json:"high"`
	N                int      `json:"n"`               // scenarios
	NumWithGold      int      `json:"n_gold"`          // of them, those with gold calls
	EpisodeSuccess   float64  `json:"episode_success"` // of the whole episode: its checks pass
	EpisodeLow       float64  `json:"episode_low"`
	EpisodeHigh      float64  `json:"episode_high"`
	ExtraCalls       *float64 `json:"extra_calls"` // economy: calls beyond the number of gold calls
	NumEpisodes      int      `json:"num_episodes"`
	NumExcluded      int      `json:"num_excluded"`
	Turns            float64  `json:"turns"`
	ToolErrors       float64  `json:"tool_errors"`
	InvalidCalls     float64  `json:"invalid_calls"`
	CompletionTokens float64  `json:"completion_tokens"`
	Reward           float64  `json:"reward"`
	Seconds          float64  `json:"seconds"`
	ModelSeconds     float64  `json:"model_seconds"` // of them, those in which the model wrote
	ToolSeconds      float64  `json:"tool_seconds"`  // and those in which tools worked
}

// Summarize computes a system's line.
func Summarize(s System, b Bootstrap) Summary {
	asked := WithGold(s.Rows)
	first, episode := Estimate(asked, FirstCall, b), Estimate(s.Rows, Episode, b)
	out := Summary{
		N: episode.N, NumWithGold: first.N,
		EpisodeSuccess: episode.Mean, EpisodeLow: episode.Low, EpisodeHigh: episode.High,
		NumEpisodes: len(s.Rows),
	}
	if first.N > 0 {
		extra := 0.0
		for _, r := range asked {
			extra += float64(r.NumExtraCalls) / float64(len(asked))
		}
		out.Success, out.Low, out.High, out.ExtraCalls = &first.Mean, &first.Low, &first.High, &extra
	}
	out.NumExcluded = s.NumExcluded()
	if len(s.Rows) == 0 {
		return out
	}
	for _, r := range s.Rows {
		out.Turns += float64(r.NumTurns)
		out.ToolErrors += float64(r.NumToolErrors)
		out.InvalidCalls += float64(r.NumInvalidCalls)
		out.CompletionTokens += float64(r.NumCompletionTokens)
		out.Reward += r.Reward
		out.Seconds += r.Seconds
		out.ModelSeconds += r.ModelSeconds
		out.ToolSeconds += r.ToolSeconds
	}
	for _, mean := range []*float64{&out.Turns, &out.ToolErrors, &out.InvalidCalls, &out.CompletionTokens, &out.Reward, &out.Seconds, &out.ModelSeconds, &out.ToolSeconds} {
		*mean /= float64(len(s.Rows))
	}
	return out
}

// FirstCallText is the rate of the first call with its interval, in percent, or "-" where there is none.
func (s Summary) FirstCallText() string {
	if s.Success == nil {
		return "-"
	}
	return fmt.Sprintf("%.1f%% [%.1f, %.1f]", 100**s.Success, 100**s.Low, 100**s.High)
}

// EpisodeText is the rate of the whole episode with its interval, in percent.
func (s Summary) EpisodeText() string {
	return fmt.Sprintf("%.1f%% [%.1f, %.1f]", 100*s.EpisodeSuccess, 100*s.EpisodeLow, 100*s.EpisodeHigh)
}

// ExtraCallsText is the mean number of calls beyond the gold calls, or "-" where there are none.
func (s Summary) ExtraCallsText() string {
	if s.ExtraCalls == nil {
		return "-"
	}
	return number(*s.ExtraCalls)
}

// Delta compares a system with an earlier one on the scenarios both have.
type Delta struct {
	Old     string   `json:"old"`
	New     string   `json:"new"`
	First   Interval `json:"first_call,omitzero"` // over scenarios with gold calls
	Episode Interval `json:"episode"`
	// Regressions and Gains are the scenarios that New does less, and more, often than Old, the largest change first.
	Regressions []Change `json:"regressions,omitempty"`
	Gains       []Change `json:"gains,omitempty"`
}

// Difference compares two systems.
func Difference(old, new System, b Bootstrap) Delta {
	d := Delta{Old: old.Name, New: new.Name, First: Compare(WithGold(old.Rows), WithGold(new.Rows), FirstCall, b), Episode: Compare(old.Rows, new.Rows, Episode, b)}
	for _, c := range Changes(old.Rows, new.Rows) {
		if c.New < c.Old {
			d.Regressions = append(d.Regressions, c)
		} else {
			d.Gains = append(d.Gains, c)
		}
	}
	slices.SortStableFunc(d.Gains, func(a, b Change) int { return cmp.Compare(b.New-b.Old, a.New-a.Old) })
	return d
}
