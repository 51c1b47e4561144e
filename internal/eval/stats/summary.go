package stats

import (
	"cmp"
	"slices"
	"sort"

	"hone/internal/episode/trajectory"
)

// Summary is a system's line in the headline table. Rates are in [0, 1]; the rest are means per
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
	ModelSeconds     float64  `json:"model_seconds"` // of them, those in which the episode waited for the model
	ToolSeconds      float64  `json:"tool_seconds"`  // and those in which tools answered calls

	Model      Model               `json:"model,omitzero"`
	Metrics    map[string]Interval `json:"metrics,omitempty"` // by Metric.Name, those that some row counts in
	Passes     []Pass              `json:"passes,omitempty"`
	SecondsP50 Interval            `json:"seconds_p50,omitzero"` // half of the episodes take no longer
	SecondsP95 Interval            `json:"seconds_p95,omitzero"`
	NumRepeats int                 `json:"num_repeats,omitempty"` // the most episodes of one scenario
	// US dollars that this evaluation paid, of the episodes whose cost is known; nil where none is
	TotalCost *float64 `json:"total_cost,omitempty"`
	// and what earlier evaluations paid for the episodes that are reused
	ReusedCost    *float64                   `json:"reused_cost,omitempty"`
	Excluded      map[trajectory.Outcome]int `json:"excluded,omitempty"`
	ExcludedShare float64                    `json:"excluded_share"`       // of all episodes
	Unreliable    bool                       `json:"unreliable,omitempty"` // half of the episodes or more are excluded
	// completion, were all excluded episodes failures
	WorstCase Interval      `json:"worst_case,omitzero"`
	NotRun    []FailedToRun `json:"checks_failed_to_run,omitempty"`
}

// Summarize computes a system's line.
func Summarize(s System, b Bootstrap) Summary {
	out := Summary{NumEpisodes: len(s.Rows), NumExcluded: s.NumExcluded(), Model: s.Model,
		Metrics: map[string]Interval{}, Passes: Passes(s.Rows, b), NumRepeats: s.NumRepeats(), Excluded: s.Excluded,
		Unreliable: s.Unreliable(), NotRun: s.BrokenChecks()}
	if all := out.NumEpisodes + out.NumExcluded; all > 0 {
		out.ExcludedShare = float64(out.NumExcluded) / float64(all)
	}
	for _, m := range Metrics() {
		if i := Estimate(s.Rows, m, b); i.N > 0 {
			out.Metrics[m.Name] = i
		}
	}
	whole := out.Metrics[Completion().Name]
	out.N, out.EpisodeSuccess, out.EpisodeLow, out.EpisodeHigh = whole.N, whole.Mean, whole.Low, whole.High
	if first, ok := out.Metrics[FirstCall().Name]; ok {
		extra := out.Metrics["extra_calls"].Mean
		out.NumWithGold, out.Success, out.Low, out.High, out.ExtraCalls =
			first.N, &first.Mean, &first.Low, &first.High, &extra
	}
	for name, mean := range map[string]*float64{
		"turns": &out.Turns, "tool_errors": &out.ToolErrors, "invalid_calls": &out.InvalidCalls,
		"completion_tokens": &out.CompletionTokens, "reward": &out.Reward, "seconds": &out.Seconds,
		"model_seconds": &out.ModelSeconds, "tool_seconds": &out.ToolSeconds,
	} {
		*mean = out.Metrics[name].Mean
	}
	out.SecondsP50, out.SecondsP95 = Quantile(s.Rows, 0.5, b), Quantile(s.Rows, 0.95, b)
	out.WorstCase = Estimate(s.WorstCase(), Completion(), b)
	out.TotalCost = totalCost(slices.Concat(s.Rows, s.Lost), false)
	out.ReusedCost = totalCost(slices.Concat(s.Rows, s.Lost), true)
	return out
}

// totalCost is what the episodes cost that are reused, or those that are not; nil where that is known of none. What a
// lost episode cost was paid too.
func totalCost(rows []Row, reused bool) *float64 {
	var costs []float64
	for _, r := range rows {
		if r.Cost != nil && r.Reused == reused {
			costs = append(costs, *r.Cost)
		}
	}
	if costs == nil {
		return nil
	}
	slices.Sort(costs)
	total := 0.0
	for _, c := range costs {
		total += c
	}
	return &total
}

// FirstCallText is the rate of the first call with its interval, in percent, or "-" where there is none.
func (s Summary) FirstCallText() string {
	if s.Success == nil {
		return "-"
	}
	return s.Metrics[FirstCall().Name].RateText()
}

// EpisodeText is the rate of the whole episode with its interval, in percent.
func (s Summary) EpisodeText() string {
	return s.Metrics[Completion().Name].RateText()
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
	Old     string              `json:"old"`
	New     string              `json:"new"`
	First   Interval            `json:"first_call,omitzero"` // over scenarios with gold calls
	Episode Interval            `json:"episode"`
	Metrics map[string]Interval `json:"metrics,omitempty"` // by Metric.Name: those of New minus those of Old
	// Regressions and Gains are the scenarios that New does less, and more, often than Old, the largest change first.
	Regressions []Change `json:"regressions,omitempty"`
	Gains       []Change `json:"gains,omitempty"`
}

// Difference compares two systems.
func Difference(old, new System, b Bootstrap) Delta {
	d := Delta{Old: old.Name, New: new.Name, Metrics: map[string]Interval{}}
	for _, m := range Metrics() {
		if i := Compare(old.Rows, new.Rows, m, b); i.N > 0 {
			d.Metrics[m.Name] = i
		}
	}
	d.First, d.Episode = d.Metrics[FirstCall().Name], d.Metrics[Completion().Name]
	for _, c := range Changes(old.Rows, new.Rows) {
		if c.New < c.Old {
			d.Regressions = append(d.Regressions, c)
		} else {
			d.Gains = append(d.Gains, c)
		}
	}
	sort.SliceStable(d.Gains, func(i, j int) bool {
		a, b := d.Gains[i], d.Gains[j]
		return cmp.Compare(b.New-b.Old, a.New-a.Old) < 0
	})
	return d
}
