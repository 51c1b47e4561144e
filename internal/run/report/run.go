package report

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/eval/stats"
	"hone/internal/fault"
	"hone/internal/grade"
	"hone/internal/recipe"
	"hone/internal/run"
)

// Files of a run that a page is kept in.
const (
	HTMLFile    = "report.html"
	ResultsFile = "results.json" // the numbers
)

// EvalStage begins the name of a stage that evaluated a system; the rest is the system's name.
const EvalStage = "eval_"

// Source is what a run's folder does not say by itself.
type Source struct {
	Scenarios map[string]*scenario.Scenario // those that the run kept, by id
	Defaults  grade.Defaults                // of the tools' arguments, nil for none
	Bootstrap stats.Bootstrap
	Known     stats.Known                   // of the tools
	Ratings   map[string]*trajectory.Rating // of people, by the episodes' names in the run
	// Evaluated is whether only evaluations are read, and neither the groups of training nor its curves.
	Evaluated bool
	// Learnt is by system what it was trained with; one that a former page was made with stands.
	Learnt map[string]*stats.Learnt
}

// Read makes the page of the run in dir from its ledger, be the run finished or not. What only the process knew that
// measured, such as how long each part took, it takes from the results that are kept beside the page, where there are
// any.
func Read(dir string, from Source) (Page, error) {
	p := Page{Title: filepath.Base(filepath.Clean(dir)), Run: run.Name(dir)}
	summary, err := run.Summarize(dir)
	if err != nil {
		return p, err
	}
	if err := p.readResults(dir); err != nil {
		return p, err
	}
	p.Bootstrap = from.Bootstrap
	if p.Learnt == nil {
		p.Learnt = from.Learnt
	}
	l, err := run.ReadLedger(filepath.Join(dir, "ledger.db"))
	if err != nil {
		return p, err
	}
	defer func() { _ = l.Close() }() // read only
	r := reader{Source: from, page: &p, systems: map[string][]*trajectory.Trajectory{}, groups: map[groupKey]*counted{}}
	for _, s := range summary.Stages {
		if from.Evaluated && strings.HasPrefix(s.Name, EvalStage) {
			err = l.EachOf(s.Name, r.row)
		} else if !from.Evaluated {
			err = r.stage(l, s)
		}
		if err != nil {
			return p, err
		}
	}
	// what is measured on the way stands below what it is the way of
	sort.SliceStable(p.Stages, func(i, j int) bool {
		return cmp.Compare(rank(p.Stages[i]), rank(p.Stages[j])) < 0
	})
	if !from.Evaluated {
		err = l.Each(r.row)
	}
	if err != nil {
		return p, err
	}
	r.finish(summary)
	for _, key := range r.order {
		if g := r.groups[key]; g.num > 1 { // a run of single episodes, as of hone collect, has no groups
			p.Groups = append(p.Groups, g.Group)
		}
	}
	return p, nil
}

func rank(s Stage) int {
	if s.Name == recipe.ValidationStage {
		return 1
	}
	return 0
}

// readResults takes over what a former page was made with.
func (p *Page) readResults(dir string) error {
	path := filepath.Join(dir, ResultsFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var kept Numbers
	if err == nil {
		err = json.Unmarshal(text, &kept)
	}
	if err != nil {
		return &fault.Error{Code: fault.CodeUsage, What: "cannot read the run's results", Where: path, Err: err,
			Next: "move the file away, and give the command again"}
	}
	p.Parts, p.TrainedOn, p.NearTrained, p.Pairs, p.Facts, p.Learnt, p.Remarks =
		kept.Parts, kept.TrainedOn, kept.NearTrained, kept.Pairs, kept.Facts, kept.Learnt, kept.Remarks
	return nil
}

// reader gathers a page from a ledger.
type reader struct {
	Source
	page    *Page
	systems map[string][]*trajectory.Trajectory // by stage
	groups  map[groupKey]*counted
	order   []groupKey
}

// counted is a group and how many episodes it has, masked ones too.
type counted struct {
	Group
	num int
}

type groupKey struct {
	stage    string
	step     int
	scenario string
}

// stage reads a stage's metrics.
func (r *reader) stage(l *run.Ledger, s run.StageSummary) error {
	if s.NumSteps == 0 {
		return nil
	}
	rows, err := l.Metrics(s.Name)
	if err != nil {
		return err
	}
	stage := Stage{Name: s.Name}
	for _, row := range rows {
		step := Step{Number: row.Step}
		if json.Unmarshal(row.JSON, &step.Values) != nil {
			return nil // rows of another form: they are in metrics.jsonl
		}
		stage.Steps = append(stage.Steps, step)
	}
	r.page.Stages = append(r.page.Stages, stage)
	return nil
}

// row takes one episode of the ledger: whole where it was evaluated, else what its group needs of it.
func (r *reader) row(row run.TrajectoryRow) error {
	if strings.HasPrefix(row.Stage, EvalStage) {
		t := &trajectory.Trajectory{}
		err := row.Decode(t)
		t.Rating = r.Ratings[row.ID]
		r.systems[row.Stage] = append(r.systems[row.Stage], t)
		return err
	}
	if row.Stage == recipe.ValidationStage {
		return nil
	}
	var t struct {
		ScenarioID string             `json:"scenario_id"`
		Outcome    trajectory.Outcome `json:"outcome"`
		Reward     float64            `json:"reward"`
	}
	if err := row.Decode(&t); err != nil {
		return err
	}
	key := groupKey{row.Stage, row.Step, t.ScenarioID}
	if r.groups[key] == nil {
		r.groups[key] = &counted{Group: Group{Stage: row.Stage, Step: row.Step, ScenarioID: t.ScenarioID}}
		r.order = append(r.order, key)
	}
	if t.Outcome.Trainable() {
		r.groups[key].Rewards = append(r.groups[key].Rewards, t.Reward)
	}
	r.groups[key].num++
	return nil
}

// example has the scenario only where it is still the one that was run.
func (r *reader) example(id string, t *trajectory.Trajectory) stats.Example {
	e := stats.Example{Title: id, Trajectory: t}
	if s := r.Scenarios[t.ScenarioID]; s != nil && (t.Scenario == "" || s.Hash() == t.Scenario) {
		e.Scenario = s
	}
	return e
}

// finish makes systems of the evaluations, in the order in which the run made them.
func (r *reader) finish(s run.Summary) {
	for _, stage := range s.Stages {
		ts := r.systems[stage.Name]
		if len(ts) == 0 {
			continue
		}
		name := strings.TrimPrefix(stage.Name, EvalStage)
		known := slices.DeleteFunc(slices.Clone(ts), func(t *trajectory.Trajectory) bool {
			return r.Scenarios[t.ScenarioID] == nil
		})
		if n := len(ts) - len(known); n > 0 {
			r.page.Notes = append(r.page.Notes,
				fmt.Sprintf("%s: %s are left out, for the run does not hold their scenarios",
					name, fault.Count(n, "episode")))
		}
		if stage.Status != run.Finished {
			r.page.Unfinished = append(r.page.Unfinished, name)
			r.page.Notes = append(r.page.Notes,
				fmt.Sprintf("The evaluation of %s is not whole: %s so far.", name, fault.Count(len(ts), "episode")))
		}
		about := r.Known
		about.Learnt = r.page.Learnt[name]
		system := stats.NewSystem(name, known, stats.ByChecks(r.Scenarios, r.Defaults, about))
		for _, t := range known {
			system.Episodes = append(system.Episodes, r.example(stage.Name+"/"+t.ID, t))
		}
		r.page.Systems = append(r.page.Systems, system)
	}
}
