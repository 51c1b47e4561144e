package report

import (
	"encoding/json"
	"maps"
	"math"
	"path/filepath"
	"slices"

	"hone/internal/blob"
	"hone/internal/episode/trajectory"
	"hone/internal/eval/stats"
	"hone/internal/fault"
)

// Numbers are all numbers of a page, which results.json has.
type Numbers struct {
	stats.Results
	Confidence float64  `json:"confidence"` // coverage of the intervals
	Title      string   `json:"title"`
	Verb       string   `json:"verb,omitempty"`
	Facts      []Fact   `json:"facts,omitempty"`
	Notes      []string `json:"notes,omitempty"`
	// of the notes, those that only the process knew that measured
	Remarks   []string                 `json:"remarks,omitempty"`
	Power     *stats.ObservedPower     `json:"power,omitempty"`  // nil with fewer than two systems
	Learnt    map[string]*stats.Learnt `json:"learnt,omitempty"` // what each system was trained with
	Terms     []Term                   `json:"terms,omitempty"`
	Stages    []Stage                  `json:"stages,omitempty"`
	NumGroups int                      `json:"num_groups,omitempty"`
	Worst     []Group                  `json:"worst_groups,omitempty"` // of NumGroups those with the least mean reward
	Best      []Group                  `json:"best_groups,omitempty"`
}

// Term is one term of the reward: its weight, and by system the mean score of the episodes that have it, before the
// weight.
type Term struct {
	Name   string                    `json:"name"`
	Weight float64                   `json:"weight"`
	Scores map[string]stats.Interval `json:"scores"`
}

// Numbers computes the numbers of the page.
func (p Page) Numbers() Numbers {
	n := Numbers{
		Results: p.Results(), Title: p.Title, Verb: p.Verb, Facts: p.Facts, Notes: slices.Concat(p.Remarks, p.Notes),
		Remarks: p.Remarks, Confidence: p.Confidence(), Power: p.ObservedPower(), Learnt: p.Learnt, Terms: p.terms(),
		Stages: p.Stages, NumGroups: len(p.Groups),
	}
	n.Stages = slices.Clone(n.Stages)
	for i, s := range n.Stages { // JSON has no numbers that are not finite
		n.Stages[i].Steps = nil
		for _, step := range s.Steps {
			values := maps.Clone(step.Values)
			maps.DeleteFunc(values, func(_ string, x float64) bool { return !finite(x) })
			n.Stages[i].Steps = append(n.Stages[i].Steps, Step{step.Number, values})
		}
	}
	n.Worst, n.Best = Extremes(p.Groups)
	return n
}

// terms are in the order in which the episodes have them.
func (p Page) terms() (out []Term) {
	rows := map[string]map[string][]stats.Row{} // by term and system
	for _, s := range p.Systems {
		for _, e := range s.Episodes {
			if !e.Trajectory.Outcome.Trainable() {
				continue
			}
			for _, t := range e.Trajectory.Terms {
				if rows[t.Name] == nil {
					rows[t.Name] = map[string][]stats.Row{}
					out = append(out, Term{Name: t.Name, Weight: t.Weight, Scores: map[string]stats.Interval{}})
				}
				rows[t.Name][s.Name] = append(rows[t.Name][s.Name], termRow(e.Trajectory, t))
			}
		}
	}
	for _, t := range out {
		for system, list := range rows[t.Name] {
			t.Scores[system] = stats.Estimate(list,
				stats.Metric{Of: func(r stats.Row) (float64, float64) { return r.Reward, 1 }}, p.Bootstrap)
		}
	}
	return out
}

// termRow is a row that holds one term's score alone.
func termRow(t *trajectory.Trajectory, term trajectory.Term) stats.Row {
	return stats.Row{ScenarioID: t.ScenarioID, Repeat: t.Rollout, Reward: term.Score}
}

// Write writes the numbers into the folder of a run; the file is replaced whole.
func (n Numbers) Write(dir string) error {
	path := filepath.Join(dir, ResultsFile)
	text, err := json.MarshalIndent(n, "", "  ")
	if err == nil {
		err = blob.Write(path, text, 0o644)
	}
	if err != nil {
		return &fault.Error{Code: fault.CodeError, What: "cannot write the report", Where: path, Err: err,
			Next: "make room there, then hone runs report"}
	}
	return nil
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
