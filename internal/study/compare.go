package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/demo"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/eval"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/job"
	"hone/internal/recipe"
	"hone/internal/report"
	"hone/internal/run"
	"hone/internal/toolset"
)

// demo learn asks what GRPO adds: from one adapter, fine-tuned on few demonstrations, it goes on in several ways of
// equal size, and measures each on the same held-out scenarios.

// learnFlags are those of demo learn.
type learnFlags struct {
	backend, split, arms, output string
	numGPUs                      int
	steps, groups, groupSize     int
	demonstrations, epochs       int
	rate, grpoRate               float64
	resume                       bool
}

// The arms, in the order they are run. An SFT arm takes as many rows as GRPO samples rollouts.
const (
	armGRPO      = "grpo"
	armRejection = "rejection" // SFT on those of the start's own rollouts that passed, as many as GRPO samples
	armContinued = "continued" // SFT on the start's demonstrations, further
	armGold      = "gold"      // SFT on executed solutions of the very tasks GRPO is only told to try
)

func newDemoLearn(a *app) *cobra.Command {
	var f learnFlags
	c := &cobra.Command{
		Use:   "learn",
		Short: "Compare GRPO with SFT of equal size, from one start on few demonstrations; for a GPU, or hours of CPU",
		Long: "learn fine-tunes on few demonstrations of the demo's tasks, then goes on from that adapter in several ways that\n" +
			"are of about equal size: " + armGRPO + " (live rollouts, rule rewards), " + armRejection + " (SFT on the start's own rollouts\n" +
			"that passed), " + armContinued + " (SFT on the same demonstrations) and " + armGold + " (SFT on executed solutions of GRPO's tasks).\n" +
			"Each is evaluated on the same held-out scenarios, and the paired differences are printed.",
		Example: "  hone demo learn --backend cuda --seed 1\n  hone demo learn --arms grpo --split validation",
		Args:    arguments(0, 0, ""),
		RunE:    func(c *cobra.Command, _ []string) error { return runDemoLearn(c.Context(), a, f) },
	}
	c.Flags().StringVar(&f.backend, "backend", "auto", "auto, cuda, cpu or go")
	c.Flags().IntVar(&f.numGPUs, "num-gpus", 0, numGPUsUsage)
	c.Flags().StringVar(&f.split, "split", scenario.Test, "what to evaluate on: validation, to choose settings, or test")
	c.Flags().StringVar(&f.arms, "arms", strings.Join([]string{armGRPO, armRejection, armContinued, armGold}, ","), "what to run, separated by commas; empty is the start alone")
	c.Flags().IntVar(&f.demonstrations, "demonstrations", 150, "rows of the start")
	c.Flags().IntVar(&f.epochs, "epochs", 2, "passes of the start over them")
	c.Flags().IntVar(&f.steps, "steps", 100, "GRPO steps")
	c.Flags().IntVar(&f.groups, "groups", 32, "scenarios of a step")
	c.Flags().IntVar(&f.groupSize, "group-size", 4, "rollouts of a scenario in a step")
	c.Flags().Float64Var(&f.grpoRate, "grpo-rate", 3e-4, "peak learning rate of "+armGRPO)
	c.Flags().Float64Var(&f.rate, "sft-rate", 3e-4, "peak learning rate of the arms that are SFT")
	c.Flags().StringVar(&f.output, "output-dir", "", "run directory (default one under the configuration's runs_dir)")
	c.Flags().BoolVar(&f.resume, "resume", false, "go on with the run in --output-dir, by what it was begun with")
	return c
}

// numHeld is how many scenarios are held out.
const numHeld = 320

// keptStudy are the flags that hone runs resume needs of a comparison, beside the configuration.
type keptStudy struct {
	Arms           []string `json:"arms"`
	Demonstrations int      `json:"demonstrations"`
	SFTRate        float64  `json:"sft_rate"`
}

func runDemoLearn(ctx context.Context, a *app, f learnFlags) error {
	if f.resume {
		if f.output == "" {
			return &fault.Error{Code: fault.CodeUsage, What: "no run to go on with", Where: "--resume", Next: "name its folder with --output-dir; hone runs ls lists them"}
		}
		return a.resume(ctx, toolset.Source{}, f.output)
	}
	kept := keptStudy{Arms: []string{}, Demonstrations: f.demonstrations, SFTRate: f.rate}
	if f.arms != "" {
		kept.Arms = strings.Split(f.arms, ",")
	}
	for _, arm := range kept.Arms {
		if !slices.Contains([]string{armGRPO, armRejection, armContinued, armGold}, arm) {
			return &fault.Error{Code: fault.CodeUsage, What: fmt.Sprintf("unknown arm %q", arm), Where: "--arms",
				Next: strings.Join([]string{armGRPO, armRejection, armContinued, armGold}, ", ") + " are known"}
		}
	}
	if f.split != scenario.Test && f.split != scenario.Validation {
		return &fault.Error{Code: fault.CodeUsage, What: fmt.Sprintf("cannot evaluate on %q", f.split), Where: "--split", Next: "give validation or test"}
	}
	c, err := a.config()
	if err != nil {
		return err
	}
	if err := onGPUs(&c, f.numGPUs); err != nil {
		return err
	}
	if f.numGPUs > 0 {
		f.backend = c.Engine.Backend
	}
	c = learnConfig(c, f)
	if f.output == "" {
		f.output = filepath.Join(c.RunsDir, "learn-"+time.Now().Format("20060102-150405"))
	}
	if a.DryRun {
		a.Say("would make %s, then compare %s in %s", sizeOfStudy(c, kept), strings.Join(append([]string{"the start"}, kept.Arms...), ", "), f.output)
		return nil
	}
	study, err := json.Marshal(kept)
	if err != nil {
		return err
	}
	dir, err := a.jobs(c).Create(f.output, c, job.Begun{Build: host.ReadBuild(), Verb: "demo learn", Study: study})
	if err != nil {
		return err
	}
	return learn(ctx, a, c, dir, kept)
}

// resumeDemoLearn goes on with the comparison in path.
func (a *app) resumeDemoLearn(ctx context.Context, e job.Env, path string, b job.Begun, _ toolset.Source) error {
	var kept keptStudy
	if b.Study == nil {
		return &fault.Error{Code: fault.CodeUsage, What: "cannot resume the run", Where: path, Why: "its arms were not kept by the hone that began it",
			Next: "begin it again with hone demo learn"}
	}
	if err := json.Unmarshal(b.Study, &kept); err != nil {
		return fmt.Errorf("reading how %s was begun: %w", path, err)
	}
	var c config.Config
	dir, err := e.Open(path, &c)
	if err != nil {
		return err
	}
	return learn(ctx, a, c, dir, kept)
}

// learn makes what is missing of a comparison, and closes its directory.
func learn(ctx context.Context, a *app, c config.Config, dir *run.Dir, kept keptStudy) error {
	defer func() { _ = dir.Close() }() // the ledger is durable row by row
	err := demoRun{a: a, c: c, dir: dir, began: time.Now(), size: sizeOfStudy(c, kept)}.learn(ctx, kept)
	if ctx.Err() != nil {
		return &fault.Error{Code: fault.CodeStopped, What: "stopped; nothing finished is lost", Where: dir.Path, Next: "hone runs resume " + run.Name(dir.Path)}
	}
	return err
}

// sizeOfStudy follows from the configuration a run keeps, so that a resumed one makes the same scenarios.
func sizeOfStudy(c config.Config, kept keptStudy) demo.Size {
	return demo.Size{Demonstrations: kept.Demonstrations, Train: c.GRPO.Steps * c.GRPO.ScenariosPerStep, Test: numHeld, Held: c.Eval.Split}
}

// learnConfig is the demo's, with as many steps as it takes for GRPO to show.
func learnConfig(c config.Config, f learnFlags) config.Config {
	c = demoConfig(c, false)
	if c.Seed == 0 {
		c.Seed = 1
	}
	c.Engine.Backend, c.Eval.Split = f.backend, f.split
	c.GRPO.Steps, c.GRPO.ScenariosPerStep, c.GRPO.GroupSize = f.steps, f.groups, f.groupSize
	c.GRPO.CheckpointEvery, c.SFT.Epochs = 10, f.epochs
	c.GRPO.Optimizer.LearningRate = f.grpoRate
	if f.backend == "cuda" {
		c.Engine.Slots, c.Engine.RowMultiple = 128, 128
	}
	return c
}

func (d demoRun) learn(ctx context.Context, kept keptStudy) error {
	servers, err := toolset.Configured(d.a.Host, d.c, toolset.Source{File: d.c.MCP.Config})
	if err != nil {
		return err
	}
	l, err := job.Open(ctx, d.a.Host, d.c, servers, "", demo.Tools()...)
	if err != nil {
		return err
	}
	defer l.Close()
	if err := l.Catalog.Save(filepath.Join(d.dir.Path, job.CatalogFile)); err != nil {
		return err
	}
	tasks, err := d.tasks(ctx, l.Tools)
	if err != nil {
		return err
	}
	if err := l.OpenModel(d.a.Host, &d.c, "", slices.Concat(tasks.Train, tasks.Test), true); err != nil {
		return err
	}
	s := study{d, l, tasks, kept.SFTRate, job.Journal{Dir: d.dir, Say: d.a.Say, Episodes: l}, d.a.Progress(l.Speaker.NumSlots())}
	systems, err := s.run(ctx, kept.Arms)
	if err != nil {
		return err
	}
	return s.report(systems)
}

// study is one comparison on an open lab.
type study struct {
	demoRun
	lab      *job.Episodes
	tasks    demo.Tasks
	rate     float64
	log      job.Journal
	progress recipe.Progress
}

// run makes the start, then each arm from it, and evaluates them.
func (s study) run(ctx context.Context, arms []string) ([]recipe.System, error) {
	rows, err := s.lab.Rows(s.tasks.Demonstrations)
	if err != nil {
		return nil, err
	}
	pipeline := s.pipeline(job.MaxMismatch(s.lab.Model))
	if err := pipeline.SFT.Run(ctx, rows, s.lab.Trainer, s.lab.Policy, s.log, s.progress); err != nil {
		return nil, err
	}
	start, _, err := s.log.Latest(pipeline.SFT.Stage)
	if err != nil {
		return nil, err
	}
	var systems []recipe.System
	evaluate := func(name string) error {
		ts, err := recipe.Evaluate(ctx, "eval_"+name, 0, s.tasks.Test, s.lab.Evaluation(s.c.Eval), s.lab.Scorer, s.log, s.progress)
		systems = append(systems, recipe.System{Name: name, Trajectories: ts})
		return err
	}
	if err := evaluate("start"); err != nil {
		return nil, err
	}
	for _, arm := range arms {
		began := time.Now()
		if err := s.lab.Trainer.Load(start); err != nil {
			return nil, err
		}
		if err := s.arm(ctx, arm); err != nil {
			return nil, err
		}
		s.a.Say("%s: %s", arm, time.Since(began).Round(time.Second))
		if err := evaluate(arm); err != nil {
			return nil, err
		}
	}
	return systems, nil
}

// arm trains one arm from the adapter that is loaded.
func (s study) arm(ctx context.Context, name string) error {
	sampled, grpo := s.lab.Rollouts(s.c.Rollout.Temperature), s.pipeline(job.MaxMismatch(s.lab.Model)).GRPO
	steps := grpo.Steps * grpo.GroupsPerStep * grpo.GroupSize / s.c.SFT.BatchSize // as many rows as GRPO samples rollouts
	optimizer := job.OptimizerOf(s.c.SFT.Optimizer)
	optimizer.LearningRate = s.rate
	sft := recipe.SFT{Stage: name, BatchSize: s.c.SFT.BatchSize, Optimizer: optimizer, Steps: steps, CheckpointEvery: 100, Seed: s.c.Seed}
	supervised := func(conversations [][]chat.Message) error {
		rows, err := s.lab.Rows(conversations)
		if err != nil {
			return err
		}
		return sft.Run(ctx, rows, s.lab.Trainer, s.lab.Policy, s.log, s.progress)
	}
	switch name {
	case armContinued:
		return supervised(s.tasks.Demonstrations)
	case armGold:
		return supervised(s.tasks.Solutions)
	case armRejection:
		success := s.lab.Criteria(job.ByID(s.tasks.Train))
		r := recipe.Rejection{GroupSize: grpo.GroupSize, SFT: sft, Keep: func(t *trajectory.Trajectory) bool { return t.Outcome == trajectory.OK && success.Episode(t) }}
		return r.Run(ctx, s.tasks.Train, sampled, s.lab.Scorer, s.lab.Trainer, s.lab.Policy, s.log, s.progress)
	default:
		return grpo.Run(ctx, s.tasks.Train, sampled, s.lab.Scorer, s.lab.Trainer, s.lab.Policy, s.log, s.progress)
	}
}

// learnSummary is the last line on stdout. Deltas are paired differences of each arm to the start, then of the first
// arm to each other one.
type learnSummary struct {
	Split   string                  `json:"split"`
	Seed    uint64                  `json:"seed"`
	Systems map[string]eval.Summary `json:"systems"`
	Deltas  []eval.Delta            `json:"deltas"`
	Seconds float64                 `json:"seconds"`
}

func (s study) report(systems []recipe.System) error {
	p, err := job.WritePage(s.a.Host, s.dir.Path, func(p *report.Page) {
		p.Facts = append(p.Facts, report.Fact{Name: "device", Value: s.lab.Model.Engine.Description()}, report.Fact{Name: "split", Value: s.size.HeldOut()})
		p.Pairs = []eval.Pair{}
		for i, x := range systems { // each arm to the start, then to the first arm
			if i > 0 {
				p.Pairs = append(p.Pairs, eval.Pair{Old: systems[0].Name, New: x.Name})
			}
			if i > 1 {
				p.Pairs = append(p.Pairs, eval.Pair{Old: x.Name, New: systems[1].Name})
			}
		}
	})
	if err != nil {
		return err
	}
	results := p.Results()
	for _, x := range systems {
		v := results.Systems[x.Name]
		s.a.Say("%-10s first call %s  whole episode %s  of %d", x.Name, v.FirstCallText(), v.EpisodeText(), v.N)
	}
	summary := learnSummary{Split: s.size.HeldOut(), Seed: s.c.Seed, Systems: results.Systems, Deltas: results.Deltas, Seconds: time.Since(s.began).Seconds()}
	return json.NewEncoder(s.a.Data).Encode(summary)
}

// studyEnded reports whether a comparison has ended.
func studyEnded(s run.Summary, b job.Begun) bool {
	var kept keptStudy
	if b.Study == nil || json.Unmarshal(b.Study, &kept) != nil {
		return false
	}
	return !slices.ContainsFunc(append([]string{"start"}, kept.Arms...), func(arm string) bool { return !job.Ended(s, report.EvalStage+arm) })
}
