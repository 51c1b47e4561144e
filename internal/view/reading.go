package view

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"hone/internal/episode/trajectory"
	"hone/internal/job"
	"hone/internal/job/records"
	"hone/internal/run"
)

// Reading is one run as the page reads it, for what shows it elsewhere.
type Reading struct {
	server *Server
	of     *followed

	mu   sync.Mutex
	file os.FileInfo // the ledger whose rows the index has
}

// NewReading reads the run in path. It opens the ledger for each question anew, so a run that goes on is read as it is.
func NewReading(env job.Env, path string) *Reading {
	s := &Server{Env: env, Runs: []string{path}}
	s.open()
	return &Reading{server: s, of: s.runs[0]}
}

// Overview is what a person wants to know of the run first.
func (r *Reading) Overview() (Overview, error) { return r.server.overview(r.of) }

// Series are metrics of a stage, all of them where no name is given.
func (r *Reading) Series(stage string, names ...string) (Series, error) {
	return r.server.series(r.of, stage, names)
}

// Filter says which trajectories of a run are wanted; what is empty lets all through.
type Filter struct {
	Stage, Scenario, Outcome, Reason, Tool string
	Text                                   string // in its name, task, answers or calls, in any letters
	Step                                   *int
	Passed                                 *bool
	Worst                                  bool // those that earned least first, without unscored ones
	Offset, Limit                          int
}

// Line is a trajectory in a list.
type Line struct {
	Name     string   `json:"name"`
	Stage    string   `json:"stage"`
	Step     int      `json:"step"`
	Scenario string   `json:"scenario"`
	Outcome  string   `json:"outcome"`
	Reason   string   `json:"reason,omitempty"` // why it ended
	Reward   *float64 `json:"reward"`           // null where it is not scored
	Passed   *bool    `json:"passed"`           // null where no check says
	Turns    int      `json:"turns"`
	Calls    int      `json:"calls"`
	Errors   int      `json:"call_errors"`
	Tokens   int      `json:"tokens"`
	Tools    []string `json:"tools"`
	Bad      string   `json:"bad,omitempty"` // why its row cannot be read
}

// Lines is a part of the trajectories that a filter lets through, in the order of the run unless the worst are asked
// for.
type Lines struct {
	Matching     int    `json:"matching"`       // in all
	Total        int    `json:"total"`          // of the run
	Next         int    `json:"next,omitempty"` // the offset of the next part; 0 where there is none
	Trajectories []Line `json:"trajectories"`
}

// Lines reads what is new of the ledger, and filters.
func (r *Reading) Lines(of Filter) (Lines, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	file, err := os.Stat(filepath.Join(r.of.Path, "ledger.db"))
	if err != nil {
		return Lines{}, err
	}
	if r.file != nil && !os.SameFile(r.file, file) { // it was rebuilt
		r.of.index = Index{}
	}
	r.file = file
	err = records.ReadLedger(r.of.Path, func(l *run.Ledger) error {
		if _, err := r.of.index.read(l, func() {}); err != nil {
			return err
		}
		return r.of.index.compare(l)
	})
	if err != nil {
		return Lines{}, err
	}
	return r.of.index.lines(of), nil
}

func (x *Index) lines(of Filter) Lines {
	x.mu.RLock()
	defer x.mu.RUnlock()
	var found []*row
	for i := range x.rows {
		if r := &x.rows[i]; x.lets(r, of) {
			found = append(found, r)
		}
	}
	if of.Worst {
		slices.SortStableFunc(found, func(a, b *row) int { return cmp.Compare(a.reward, b.reward) })
	}
	out := Lines{Matching: len(found), Total: len(x.rows), Trajectories: []Line{}}
	first := min(max(of.Offset, 0), len(found))
	last := min(first+of.Limit, len(found))
	if last < len(found) {
		out.Next = last
	}
	for _, r := range found[first:last] {
		out.Trajectories = append(out.Trajectories, x.line(r))
	}
	return out
}

// lets reports whether a row is one of those that are wanted.
func (x *Index) lets(r *row, of Filter) bool {
	named := func(want string, d *dictionary, at int) bool { return want == "" || d.names[at] == want }
	return named(of.Stage, &x.stages, r.stage) && named(of.Scenario, &x.scenarios, r.scenario) &&
		named(of.Outcome, &x.outcomes, r.outcome) && named(of.Reason, &x.stops, r.stop) &&
		(of.Tool == "" || slices.ContainsFunc(r.tools, func(t int) bool { return x.tools.names[t] == of.Tool })) &&
		(of.Step == nil || r.step == *of.Step) &&
		(of.Passed == nil || r.passed == verdictOf(*of.Passed)) &&
		(!of.Worst || r.scored && r.why == "" && trajectory.Outcome(x.outcomes.names[r.outcome]).Trainable()) &&
		strings.Contains(r.text, strings.ToLower(of.Text))
}

func (x *Index) line(r *row) Line {
	out := Line{Name: r.id, Stage: x.stages.names[r.stage], Step: r.step, Scenario: x.scenarios.names[r.scenario],
		Outcome: x.outcomes.names[r.outcome], Reason: x.stops.names[r.stop], Turns: r.turns, Calls: r.calls,
		Errors: r.errors, Tokens: r.tokens, Tools: []string{}, Bad: r.why}
	if r.scored && r.why == "" {
		out.Reward = new(r.reward)
	}
	if r.passed != unknown {
		out.Passed = new(r.passed == passed)
	}
	for _, t := range r.tools {
		out.Tools = append(out.Tools, x.tools.names[t])
	}
	return out
}

// Evaluation is what the systems of the run did, side by side.
func (r *Reading) Evaluation() (Evaluation, error) {
	r.of.tell("") // the run may be another one than when it was computed last
	return r.server.evaluation(r.of)
}
