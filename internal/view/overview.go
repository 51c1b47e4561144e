package view

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"time"

	"hone/internal/config"
	"hone/internal/episode/trajectory"
	"hone/internal/eval/stats"
	"hone/internal/job"
	"hone/internal/job/records"
	"hone/internal/recipe"
	"hone/internal/run"
	"hone/internal/run/metrics"
)

// Overview is what a person wants to know of a run first.
type Overview struct {
	Key         string           `json:"key"`
	Name        string           `json:"name"`
	Path        string           `json:"path"`
	Created     time.Time        `json:"created"`
	State       string           `json:"state"`
	Live        bool             `json:"live"` // a process is writing it
	Verb        string           `json:"verb,omitempty"`
	Attempts    int              `json:"attempts"`
	Facts       [][2]string      `json:"facts"`
	Stages      []StageFacts     `json:"stages"`
	Checkpoints []CheckpointMark `json:"checkpoints"`
	Cards       Cards            `json:"cards"`
	Words       []string         `json:"words"` // where the time went, and what it cost
	Alerts      []Alert          `json:"alerts"`
	Panels      []Panel          `json:"panels"`            // which curves are looked at together
	Trouble     string           `json:"trouble,omitempty"` // why something of it cannot be read
}

// StageFacts is one stage: what it holds, and its metrics.
type StageFacts struct {
	Name         string   `json:"name"`
	Status       string   `json:"status"`
	Trajectories int      `json:"trajectories"`
	Steps        int      `json:"steps"`
	Metrics      []string `json:"metrics"` // names of all
}

// CheckpointMark is a checkpoint on the axis of steps.
type CheckpointMark struct {
	Stage string `json:"stage"`
	Step  int    `json:"step"`
}

// Cards are the numbers at the top. Nil is what was not measured.
type Cards struct {
	Reward    *Measured `json:"reward"`
	HeldOut   *Measured `json:"held_out"`
	Trainable *Measured `json:"trainable"` // share of the groups in which something differs, of the last steps
	Cost      *float64  `json:"cost"`      // US dollars, of the judge
	Budget    float64   `json:"budget"`    // 0 is none
	Seconds   float64   `json:"seconds"`   // that the run has worked
	Done      int       `json:"done"`      // steps of the main stage
	Steps     int       `json:"steps"`     // that it is to take; 0 where that is not known
	Left      *float64  `json:"left"`      // seconds, by the last steps
	MainStage string    `json:"main_stage"`
}

// Measured is a number with an interval.
type Measured struct {
	stats.Interval
	Step     int `json:"step"`
	Episodes int `json:"episodes"`
}

// lastSteps is over how many steps the present is judged.
const lastSteps = 10

// outline is what of an overview no metric is read for.
type outline struct {
	Overview
	summary run.Summary
	config  config.Config
	begun   job.Begun
	resume  string // what goes on with the run, "" where it has ended
}

// outline reads a run's.
func (s *Server) outline(f *followed) (outline, error) {
	o := outline{Overview: Overview{Key: f.Key, Name: f.Key, Path: f.Path, Facts: [][2]string{}, Stages: []StageFacts{},
		Checkpoints: []CheckpointMark{}, Words: []string{}, Alerts: []Alert{}, Panels: Panels()}}
	summary, err := run.Summarize(f.Path)
	if err != nil {
		return o, err
	}
	if s.ends && summary.InUseBy == strconv.Itoa(os.Getpid()) {
		summary.InUseBy = ""
	}
	o.summary = summary
	o.Name, o.Created, o.Live, o.Attempts = summary.Name, summary.Created, summary.InUseBy != "", summary.NumAttempts
	o.State, o.resume = s.Env.Table.State(summary)
	for _, c := range summary.Checkpoints {
		o.Checkpoints = append(o.Checkpoints, CheckpointMark{c.Stage, c.Step})
	}
	if json.Unmarshal(summary.Version, &o.begun) == nil && o.begun.Verb != "" {
		o.Verb = "hone " + o.begun.Verb
	}
	if o.config, err = configOf(f.Path); err != nil {
		o.Trouble = err.Error()
	}
	return o, nil
}

// overview reads a run's. What cannot be read is said in it, and the rest is there.
func (s *Server) overview(f *followed) (Overview, error) {
	o, err := s.outline(f)
	if err != nil {
		return o.Overview, err
	}
	err = records.ReadLedger(f.Path, func(l *run.Ledger) error {
		if newer, err := l.Newer(); err == nil && newer != "" {
			o.Trouble = newer
		}
		series, err := f.series(l, o.Created)
		if err != nil {
			return err
		}
		o.addStages(o.summary.Stages, series)
		o.Words = append(o.Words, metrics.AddUp(series).Lines()...)
		o.Cards = cardsOf(o.config, o.summary, series)
		if !o.Live && o.resume == "" { // it took as many steps as it was to take, whatever was planned
			o.Cards.Steps, o.Cards.Left = 0, nil
		}
		if err := o.Cards.measure(l, series, o.config); err != nil {
			return err
		}
		o.Alerts = append(o.Alerts, alertsOf(series, o.Cards)...)
		return nil
	})
	o.addFacts(o.config, o.begun)
	return o.Overview, err
}

func (o *Overview) addFacts(c config.Config, begun job.Begun) {
	for _, fact := range [][2]string{
		{"base model", c.Model.Base}, {"seed", fmt.Sprint(c.Seed)}, {"begun from", begun.Flags.Adapter}, {"data",
			begun.Flags.Data},
		{"temperature", fmt.Sprint(c.Rollout.Temperature)}, {"hone", begun.Build.Version}, {"folder", o.Path},
	} {
		if fact[1] != "" {
			o.Facts = append(o.Facts, fact)
		}
	}
}

func (o *Overview) addStages(stages []run.StageSummary, series []metrics.Row) {
	names := map[string]map[string]bool{}
	for _, r := range series {
		if names[r.Stage] == nil {
			names[r.Stage] = map[string]bool{}
		}
		for name := range r.Values {
			names[r.Stage][name] = true
		}
	}
	for _, s := range stages {
		list := slices.AppendSeq([]string{}, maps.Keys(names[s.Name]))
		slices.Sort(list)
		o.Stages = append(o.Stages, StageFacts{Name: s.Name, Status: s.Status, Trajectories: s.NumTrajectories,
			Steps: s.NumSteps, Metrics: list})
	}
}

// configOf is the configuration that a run was begun with. A relative path of the base model is from where that was.
func configOf(path string) (config.Config, error) {
	c, err := config.Read(filepath.Join(path, run.ConfigFile))
	if err != nil {
		return c, err
	}
	var begun job.Begun
	version, err := os.ReadFile(filepath.Join(path, "version.json"))
	if err == nil && json.Unmarshal(version, &begun) == nil && begun.Folder != "" {
		c.Model.Base = fromFolder(begun.Folder, c.Model.Base)
	}
	return c, nil
}

// cardsOf are the cards that metrics alone tell.
func cardsOf(c config.Config, s run.Summary, series []metrics.Row) Cards {
	out := Cards{Budget: c.Judge.BudgetUSD}
	spent := metrics.AddUp(series)
	out.Seconds = spent.Seconds
	if spent.JudgeCost > 0 || c.Judge.BudgetUSD > 0 {
		out.Cost = &spent.JudgeCost
	}
	out.MainStage = mainStage(s.Stages)
	last := tail(series, out.MainStage, lastSteps)
	if len(last) == 0 {
		return out
	}
	out.Done = last[len(last)-1].Step + 1
	switch out.MainStage {
	case "grpo":
		out.Steps = c.GRPO.Steps
	case "sft":
		out.Steps = c.SFT.Steps
	}
	took, n := 0.0, 0
	for _, r := range last {
		if x := r.Values["step_time"]; x > 0 {
			took, n = took+x, n+1
		}
	}
	if out.Steps > out.Done && n > 0 {
		left := took / float64(n) * float64(out.Steps-out.Done)
		out.Left = &left
	}
	if share, steps, ok := mean(last, "frac_reward_zero_std"); ok {
		empty, _, _ := mean(last, "frac_groups_empty")
		out.Trainable = &Measured{Interval: stats.Interval{Mean: max(0, 1-share-empty), N: steps},
			Step: last[len(last)-1].Step}
	}
	return out
}

// mainStage is the one that trains, the last where several do; "" where none does.
func mainStage(stages []run.StageSummary) string {
	for _, name := range []string{"grpo", "dpo", "sft"} {
		if slices.ContainsFunc(stages,
			func(x run.StageSummary) bool { return x.Name == name && (x.NumSteps > 0 || x.Status != "") }) {
			return name
		}
	}
	return ""
}

// tail are the last rows of a stage.
func tail(series []metrics.Row, stage string, n int) (rows []metrics.Row) {
	for _, r := range series {
		if r.Stage == stage {
			rows = append(rows, r)
		}
	}
	sort.SliceStable(rows, func(i, j int) bool { return rows[i].Step < rows[j].Step })
	return rows[max(0, len(rows)-n):]
}

// mean is that of a metric over rows; ok is false where none has it.
func mean(rows []metrics.Row, name string) (x float64, n int, ok bool) {
	for _, r := range rows {
		if v, has := r.Values[name]; has {
			x, n = x+v, n+1
		}
	}
	return x / float64(max(1, n)), n, n > 0
}

// measure puts intervals around what the episodes of the last step and of the last validation earned and passed.
func (c *Cards) measure(l *run.Ledger, series []metrics.Row, of config.Config) (err error) {
	rewards := stats.Metric{Name: "reward", Of: func(r stats.Row) (float64, float64) { return r.Reward, 1 }}
	if c.MainStage == "grpo" && c.Done > 0 {
		if c.Reward, err = estimate(l, c.MainStage, c.Done-1, rewards, job.IntervalsOf(of)); err != nil {
			return err
		}
	}
	held := tail(series, recipe.ValidationStage, 1)
	if len(held) == 0 {
		return nil
	}
	c.HeldOut, err = estimate(l, recipe.ValidationStage, held[0].Step, stats.Completion(), job.IntervalsOf(of))
	return err
}

// estimate is a metric of the episodes of one step, nil where there are none that say something of the policy.
func estimate(l *run.Ledger, stage string, step int, m stats.Metric, b stats.Bootstrap) (*Measured, error) {
	list, err := l.Trajectories(stage, step)
	if err != nil {
		return nil, err
	}
	var rows []stats.Row
	for _, row := range list {
		t := &trajectory.Trajectory{}
		if row.Decode(t) != nil || row.Score == nil || !t.Outcome.Trainable() {
			continue // the list of trajectories marks it
		}
		rows = append(rows, stats.Row{ScenarioID: t.ScenarioID, Repeat: t.Rollout, Reward: t.Reward,
			Episode: !stats.Example{Trajectory: t}.Fails()})
	}
	if len(rows) == 0 {
		return nil, nil
	}
	x := stats.Estimate(rows, m, b)
	for _, end := range []float64{x.Mean, x.Low, x.High} {
		if math.IsNaN(end) || math.IsInf(end, 0) {
			return nil, nil
		}
	}
	return &Measured{Interval: x, Step: step, Episodes: len(rows)}, nil
}

// Series is metrics of a stage in columns. A value is null where a row has none, or none that is finite.
type Series struct {
	Stage  string                `json:"stage"`
	Steps  []int                 `json:"steps"`
	Values map[string][]*float64 `json:"values"`
}

// series are metrics of a stage, all of them where names is empty.
func (s *Server) series(f *followed, stage string, names []string) (out Series, err error) {
	out = Series{Stage: stage, Steps: []int{}, Values: map[string][]*float64{}}
	wants := func(name string) bool { return len(names) == 0 || slices.Contains(names, name) }
	err = records.ReadLedger(f.Path, func(l *run.Ledger) error {
		rows, err := f.series(l, time.Time{})
		if err != nil {
			return err
		}
		rows = tail(rows, stage, len(rows))
		for i, r := range rows {
			out.Steps = append(out.Steps, r.Step)
			for name, x := range r.Values {
				if !wants(name) {
					continue
				}
				if out.Values[name] == nil {
					out.Values[name] = make([]*float64, len(rows))
				}
				out.Values[name][i] = &x
			}
		}
		return nil
	})
	return out, err
}
