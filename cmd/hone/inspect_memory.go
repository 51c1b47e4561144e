package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"hone/internal/fault"
	"hone/internal/learn/engine"
	"hone/internal/learn/plan"
	"hone/internal/learn/train"
)

// planFlags say what the configuration does not: how long prompts and rows are depends on the tasks.
type planFlags struct {
	base, adapter        string
	prefix, private, row int
}

func (f *planFlags) register(c *cobra.Command) {
	modelFlag(c, &f.base)
	c.Flags().StringVar(&f.adapter, "adapter", "", "adapter folder whose shape counts (default the configuration's sft.lora)")
	c.Flags().IntVar(&f.prefix, "prefix", 512, "tokens all prompts begin with: the system message and the tools; 0 where they share none")
	c.Flags().IntVar(&f.private, "private", 0, "tokens of an episode after them (default what rollout.max_turns completions take, at most model.context)")
	c.Flags().IntVar(&f.row, "row", 0, "tokens of the longest training row after them (default --private); -1 trains nothing")
}

// make plans what the configuration says; no device is opened and no weight read.
func (f planFlags) make(a *app) (plan.Plan, plan.Settings, budget, error) {
	var p plan.Plan
	c, err := a.config()
	if err != nil {
		return p, plan.Settings{}, budget{}, err
	}
	if f.base == "" {
		f.base = c.Model.Base
	}
	if f.prefix < 0 || f.private < 0 || f.row < -1 {
		return p, plan.Settings{}, budget{}, &fault.Error{Code: fault.CodeUsage, What: "lengths are in tokens", Where: "--prefix, --private, --row",
			Next: "give them as hone inspect memory --help says"}
	}
	if f.private == 0 {
		f.private = min(c.Rollout.MaxTurns*c.Rollout.MaxTokens, c.Model.Context)
	}
	if f.row == 0 {
		f.row = f.private
	}
	if err := checkShards(c); err != nil {
		return p, plan.Settings{}, budget{}, err
	}
	found, err := a.findPlugin(c.Engine)
	if err != nil {
		return p, plan.Settings{}, budget{}, err
	}
	s, err := a.spec(f.base)
	if err != nil {
		return p, plan.Settings{}, budget{}, err
	}
	lora, err := adapterShape(c, s, f.adapter)
	if err != nil {
		return p, plan.Settings{}, budget{}, err
	}
	b, err := a.budget(c, found.isCUDA())
	if err != nil {
		return p, plan.Settings{}, b, err
	}
	a.fillStep(&c, max(c.SFT.BatchSize, c.GRPO.GroupSize*c.GRPO.ScenariosPerStep))
	o := settings(c, lora, found.isCUDA(), f.prefix, f.private, max(f.row, 0))
	s.BF16 = engine.DType(c.Engine.DType).IsBF16(o.GPU)
	o, p, err = settle(c, s, o, b.bytes)
	return p, o, b, err
}

func newInspectMemory(a *app) *cobra.Command {
	var f planFlags
	c := &cobra.Command{
		Use:   "memory",
		Short: "Plan the memory of a run of the configuration, before anything is allocated",
		Long: "memory makes the run's programs without a device and adds up what they and the run hold: exact for weights, caches,\n" +
			"adapter and moments, estimated for what a program needs while it runs (docs/guide.md says how well).",
		Example: "  hone inspect memory --prefix 900\n  hone inspect memory --config run.yaml --row 1200 --json",
		Args:    arguments(0, 0, ""),
		RunE:    func(*cobra.Command, []string) error { return runInspectMemory(a, f) },
	}
	f.register(c)
	return c
}

// memoryReport is what inspect memory prints as JSON. Bytes all.
type memoryReport struct {
	plan.Plan
	Peak      int64  `json:"peak"`
	During    string `json:"during"` // the program
	Available int64  `json:"available,omitempty"`
	Of        string `json:"of,omitempty"`
	Fits      bool   `json:"fits"`
	// What training steps do, settled where the configuration leaves it to the plan.
	MicroBatch int             `json:"micro_batch"`
	Recompute  train.Recompute `json:"recompute"`
	Sharded    bool            `json:"shard_weights"`
}

func runInspectMemory(a *app, f planFlags) error {
	p, o, b, err := f.make(a)
	if err != nil {
		return err
	}
	most := p.Peak()
	report := memoryReport{p, most.Peak, most.Name, b.bytes, b.of, b.bytes == 0 || most.Peak <= b.bytes, o.Train.MicroBatch, o.Train.Recompute, o.ShardWeights}
	mib := func(n int64) string { return fmt.Sprintf("%.1f", float64(n)/(1<<20)) }
	rows := [][]string{{"HELD THROUGHOUT", "MiB", ""}}
	for _, x := range p.Held {
		rows = append(rows, []string{x.Name, mib(x.Bytes), ""})
	}
	rows = append(rows, []string{"PROGRAM", "WHILE IT RUNS", "HELD IN ALL"})
	for _, x := range p.Programs {
		name := x.Name
		if x.Training { // the trainer and the sampler both have a prefix
			name += ", training"
		}
		rows = append(rows, []string{name, mib(x.Temporary), mib(x.Peak)})
	}
	rows = append(rows, []string{"most, during " + most.Name, "", mib(most.Peak)})
	if b.bytes > 0 {
		rows = append(rows, []string{b.of, "", mib(b.bytes)})
	}
	switch {
	case o.ShardWeights:
		a.say("on each of %d devices, which share the weights (engine.shard_weights):", o.Devices)
	case o.Devices > 1:
		a.say("on each of %d devices:", o.Devices)
	}
	a.say("%s of %s after a prefix of %d, rows of %s, %d at once, engine.recompute: %s", fault.Count(o.Slots, "slot"), fault.Count(o.Context, "token"), o.Prefix,
		fault.Count(o.Row, "token"), o.Train.MicroBatch, o.Train.Recompute)
	if err := a.print(report, rows); err != nil || b.bytes == 0 {
		return err
	}
	if report.Fits {
		a.say("it fits")
	} else {
		a.say("it does not fit: %s MiB are missing; lower --private or --row, engine.slots or the rank, or take a smaller base model", mib(most.Peak-b.bytes))
	}
	return nil
}

func newInspectPlan(a *app) *cobra.Command {
	var f planFlags
	folder := ""
	c := &cobra.Command{
		Use:   "plan",
		Short: "Write the programs a run of the configuration compiles, as StableHLO text, without running them",
		Long: "plan writes one file for each program, in the order a run compiles them: one operation a line, and at the top what\n" +
			"each input is. An output is written over an input that is donated.",
		Example: "  hone inspect plan --hlo programs --prefix 900",
		Args:    arguments(0, 0, ""),
		RunE:    func(*cobra.Command, []string) error { return runInspectPlan(a, f, folder) },
	}
	f.register(c)
	c.Flags().StringVar(&folder, "hlo", "", "folder that gets the files; it is made")
	return c
}

func runInspectPlan(a *app, f planFlags, folder string) error {
	if folder == "" {
		return &fault.Error{Code: fault.CodeUsage, What: "no folder for the programs", Next: "name one with --hlo"}
	}
	p, _, _, err := f.make(a)
	if err != nil {
		return err
	}
	if a.dryRun {
		a.say("would write %s into %s", fault.Count(len(p.Programs), "program"), folder)
		return nil
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	rows := [][]string{{"FILE", "LINES"}}
	files := []string{}
	for i, x := range p.Programs {
		file := filepath.Join(folder, fmt.Sprintf("%02d_%s.mlir", i+1, x.Name))
		text := x.Text()
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return err
		}
		files = append(files, file)
		rows = append(rows, []string{file, fmt.Sprint(strings.Count(text, "\n"))})
	}
	return a.print(map[string][]string{"files": files}, rows)
}
