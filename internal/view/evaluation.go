package view

import (
	"slices"
	"strings"

	"hone/internal/data/overlap"
	"hone/internal/eval/stats"
	"hone/internal/job/records"
	"hone/internal/run/report"
)

// Evaluation is what the systems of a run did, side by side.
type Evaluation struct {
	report.Numbers
	// Made and Written are the same of the tasks that a program or a model made, and of those that people wrote. Nil is
	// where all tasks are of one kind.
	Made       *stats.Results `json:"made"`
	Written    *stats.Results `json:"written"`
	NumMade    int            `json:"num_made"`
	NumWritten int            `json:"num_written"`
	Tasks      map[string]Ask `json:"tasks"` // by scenario
	// Attempts are, by scenario and system, the episodes and whether each did its task.
	Attempts map[string]map[string][]Attempt `json:"attempts"`
	Judge    []Judging                       `json:"judge"`
	Next     []report.NextStep               `json:"next"` // what to do about it, the most pressing first
	Measures []Measure                       `json:"metrics"`
}

// Measure is a metric of episodes.
type Measure struct {
	Name  string `json:"name"`
	Says  string `json:"says"`
	Unit  string `json:"unit"` // "s", "tokens", "$"; "" for plain counts
	Share bool   `json:"share"`
}

// measures are all metrics, the reward but for its terms.
func measures() (out []Measure) {
	for _, m := range stats.Metrics() {
		if m.Name != "reward" {
			out = append(out, Measure{m.Name, m.Text, m.Unit, m.Scale != stats.Amount})
		}
	}
	return out
}

// Ask is what a scenario asks.
type Ask struct {
	Task       string   `json:"task"`
	Kind       string   `json:"kind,omitempty"`
	Difficulty string   `json:"difficulty,omitempty"`
	Made       bool     `json:"made"`
	Tools      []string `json:"tools,omitempty"`
	Server     string   `json:"server,omitempty"`
}

// Attempt is one episode of a system.
type Attempt struct {
	Name   string `json:"name"`
	Passed bool   `json:"passed"`
	Lost   bool   `json:"lost,omitempty"` // it says nothing of the system
}

// Judging is how a judge of the run's episodes went about it.
type Judging struct {
	Model    string `json:"model"`
	Episodes int    `json:"episodes"`
	Samples  int    `json:"samples"`
	// share of the episodes of several samples on which all samples agree whether it passed
	Agreement float64 `json:"agreement"`
	Several   int     `json:"several"` // episodes with more than one sample
	// First and Later are the mean scores of samples in which the episode was shown first, and at other places: a judge
	// without a bias for places gives both alike. NumFirst and NumLater are how many they are.
	First    float64 `json:"first"`
	Later    float64 `json:"later"`
	NumFirst int     `json:"num_first"`
	NumLater int     `json:"num_later"`
	Failed   int     `json:"failed"` // episodes that another judge scored in its place
}

// evaluation reads and computes one. That takes seconds of many systems, so it is kept until the run changes.
func (s *Server) evaluation(f *followed) (Evaluation, error) {
	return remember(f, "evaluation", func() (Evaluation, error) {
		p, err := records.EvaluationOf(f.Path)
		if err != nil {
			return Evaluation{}, err
		}
		return evaluationOf(p, p.Numbers()), nil
	})
}

// evaluationOf lays out a page's systems, by its numbers.
func evaluationOf(p report.Page, n report.Numbers) Evaluation {
	e := Evaluation{Numbers: n, Tasks: map[string]Ask{}, Attempts: map[string]map[string][]Attempt{},
		Judge: judging(p), Next: p.Next(n), Measures: measures()}
	e.Stages, e.Worst, e.Best = nil, nil, nil // other screens have them
	e.describe(p)
	made := func(id string) bool { return e.Tasks[id].Made }
	for _, ask := range e.Tasks {
		if ask.Made {
			e.NumMade++
		} else {
			e.NumWritten++
		}
	}
	if e.NumMade > 0 && e.NumWritten > 0 {
		e.Made, e.Written = part(p.Comparison, made), part(p.Comparison, func(id string) bool { return !made(id) })
	}
	return e
}

// part is the comparison on those scenarios that of takes.
func part(c stats.Comparison, of func(id string) bool) *stats.Results {
	systems := slices.Clone(c.Systems)
	for i := range systems {
		kept := func(rows []stats.Row) []stats.Row {
			return slices.DeleteFunc(slices.Clone(rows), func(r stats.Row) bool { return !of(r.ScenarioID) })
		}
		systems[i].Rows, systems[i].Lost = kept(systems[i].Rows), kept(systems[i].Lost)
	}
	c.Systems, c.Parts = systems, nil
	c.TrainedOn = slices.DeleteFunc(slices.Clone(c.TrainedOn), func(id string) bool { return !of(id) })
	c.NearTrained = slices.DeleteFunc(slices.Clone(c.NearTrained), func(n overlap.Near) bool {
		return !of(n.ScenarioID)
	})
	out := c.Results()
	return &out
}

// describe says what each scenario asks, and which episodes there are of it.
func (e *Evaluation) describe(p report.Page) {
	for _, system := range p.Systems {
		facts := map[string]stats.Row{}
		for _, r := range slices.Concat(system.Rows, system.Lost) {
			facts[r.ScenarioID] = r
		}
		for _, x := range system.Episodes {
			id := x.Trajectory.ScenarioID
			if _, known := e.Tasks[id]; !known {
				r := facts[id]
				ask := Ask{Kind: r.Kind, Difficulty: r.Difficulty, Tools: r.Tools,
					Server: strings.Join(r.Servers, ", ")}
				if x.Scenario != nil {
					ask.Task, ask.Made = x.Scenario.Asks(), x.Scenario.Provenance != nil
				}
				e.Tasks[id] = ask
			}
			if e.Attempts[id] == nil {
				e.Attempts[id] = map[string][]Attempt{}
			}
			e.Attempts[id][system.Name] = append(e.Attempts[id][system.Name],
				Attempt{Name: x.Name(), Passed: !x.Fails(), Lost: !x.Trajectory.Outcome.Trainable()})
		}
	}
}

// judging adds up what the judges of the evaluated episodes did.
func judging(p report.Page) []Judging {
	out := []Judging{}
	agreed := map[int]int{}
	for _, system := range p.Systems {
		for _, x := range system.Episodes {
			for _, term := range x.Trajectory.Terms {
				j := term.Judgement
				if j == nil {
					continue
				}
				i := slices.IndexFunc(out, func(o Judging) bool { return o.Model == j.Model })
				if i < 0 {
					i, out = len(out), append(out, Judging{Model: j.Model})
				}
				o := &out[i]
				o.Episodes++
				o.Samples += len(j.Samples)
				if j.Fallback {
					o.Failed++
				}
				if len(j.Samples) > 1 {
					o.Several++
					if (slices.Min(j.Samples) >= 0.5) == (slices.Max(j.Samples) >= 0.5) {
						agreed[i]++
					}
				}
				for k, score := range j.Samples {
					if k >= len(j.Places) {
						break
					}
					if j.Places[k] == 0 {
						o.First, o.NumFirst = o.First+score, o.NumFirst+1
					} else {
						o.Later, o.NumLater = o.Later+score, o.NumLater+1
					}
				}
			}
		}
	}
	for i := range out {
		o := &out[i]
		o.Agreement = float64(agreed[i]) / float64(max(1, o.Several))
		o.First, o.Later = o.First/float64(max(1, o.NumFirst)), o.Later/float64(max(1, o.NumLater))
	}
	return out
}
