package eval

import (
	"cmp"
	"fmt"
	"slices"

	"hone/internal/episode/trajectory"
)

// System is one model under evaluation: its name ("base", "sft", "grpo") and its judged episodes.
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
	}
	for _, mean := range []*float64{&out.Turns, &out.ToolErrors, &out.InvalidCalls, &out.CompletionTokens, &out.Reward, &out.Seconds} {
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
}

// Difference compares two systems.
func Difference(old, new System, b Bootstrap) Delta {
	return Delta{old.Name, new.Name, Compare(WithGold(old.Rows), WithGold(new.Rows), FirstCall, b), Compare(old.Rows, new.Rows, Episode, b)}
}

// Deltas compares each system with the one before it, and the last with the first where there are more than two.
func Deltas(systems []System, b Bootstrap) []Delta {
	var out []Delta
	add := func(old, new System) { out = append(out, Difference(old, new, b)) }
	for i := 1; i < len(systems); i++ {
		add(systems[i-1], systems[i])
	}
	if len(systems) > 2 {
		add(systems[0], systems[len(systems)-1])
	}
	return out
}

// KindRow is one kind of scenario in the per-kind table.
type KindRow struct {
	Kind  string
	First []Interval // by system, over scenarios with gold calls
	Whole []Interval // whole-episode success, by system
}

// Kinds estimates success by kind, the kinds in alphabetic order.
func Kinds(systems []System, b Bootstrap) []KindRow {
	byKind := map[string][][]Row{}
	for i, s := range systems {
		for _, r := range s.Rows {
			if byKind[r.Kind] == nil {
				byKind[r.Kind] = make([][]Row, len(systems))
			}
			byKind[r.Kind][i] = append(byKind[r.Kind][i], r)
		}
	}
	var out []KindRow
	for kind, rows := range byKind {
		k := KindRow{Kind: kind}
		for _, r := range rows {
			k.First = append(k.First, Estimate(WithGold(r), FirstCall, b))
			k.Whole = append(k.Whole, Estimate(r, Episode, b))
		}
		out = append(out, k)
	}
	slices.SortFunc(out, func(a, b KindRow) int { return cmp.Compare(a.Kind, b.Kind) })
	return out
}

// Regression is a scenario that the last system does worse than the first.
type Regression struct {
	ScenarioID string
	Kind       string
	Old, New   float64 // whole-episode success rates
}

// Regressions lists the scenarios whose whole-episode success fell from the first system to the last, worst first.
func Regressions(systems []System) []Regression {
	if len(systems) < 2 {
		return nil
	}
	last := systems[len(systems)-1].Rows
	old, new := cluster(systems[0].Rows, Episode), cluster(last, Episode)
	kinds := map[string]string{}
	for _, r := range last {
		kinds[r.ScenarioID] = r.Kind
	}
	var out []Regression
	for _, id := range inOrder(new) {
		if was, both := old[id]; both && new[id].mean() < was.mean() {
			out = append(out, Regression{id, kinds[id], was.mean(), new[id].mean()})
		}
	}
	slices.SortStableFunc(out, func(a, b Regression) int { return cmp.Compare(a.New-a.Old, b.New-b.Old) })
	return out
}
