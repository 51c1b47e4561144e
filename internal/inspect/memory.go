package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"hone/internal/basemodel"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/learn/engine"
	"hone/internal/learn/model"
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
	c.Flags().StringVar(&f.adapter, "adapter", "", "adapter folder whose shape counts (default the configuration's lora)")
	c.Flags().IntVar(&f.prefix, "prefix", 512, "tokens all prompts begin with: the system message and the tools; 0 where they share none")
	c.Flags().IntVar(&f.private, "private", 0, "tokens of an episode after them (default what rollout.max_turns completions and results of rollout.max_result take, at most model.context, as far as there is memory)")
	c.Flags().IntVar(&f.row, "row", 0, "tokens of the longest training row after them (default --private); -1 trains nothing")
}

// forecast is a run of the configuration as far as a plan knows it.
type forecast struct {
	plan.Settlement // of what the configuration says, with what it leaves to the plan
	spec            model.Spec
	room            plan.Room
	exact           bool // the row's length is given: else rows may be shorter
}

// make plans what the configuration says; no device is opened and no weight read.
func (f planFlags) make(a *app) (forecast, error) {
	x := forecast{exact: f.row > 0}
	c, err := a.config()
	if err != nil {
		return x, err
	}
	if f.base == "" {
		f.base = c.Model.Base
	}
	if f.prefix < 0 || f.private < 0 || f.row < -1 {
		return x, &fault.Error{Code: fault.CodeUsage, What: "lengths are in tokens", Where: "--prefix, --private, --row",
			Next: "give them as hone inspect memory --help says"}
	}
	if err := basemodel.CheckShards(c.Engine); err != nil {
		return x, err
	}
	found, err := basemodel.FindPlugin(a.Host, c.Engine)
	if err != nil {
		return x, err
	}
	c.Model.Base = f.base
	if c, err = basemodel.SettleLengths(a.Host, c); err != nil {
		return x, err
	}
	if x.spec, err = basemodel.ReadShape(a.Host, f.base, c.Model.Context); err != nil {
		return x, err
	}
	lora, err := basemodel.AdapterShape(c, x.spec, f.adapter)
	if err != nil {
		return x, err
	}
	limit, err := basemodel.LimitOf(c.Engine, found.IsCUDA())
	if err != nil {
		return x, err
	}
	c.Engine = basemodel.FillStep(a.Host, c.Engine, basemodel.RowsOfStep(c))
	x.spec.BF16 = engine.DType(c.Engine.DType).IsBF16(found.IsCUDA())
	x.room = plan.Room{Tokens: f.private}
	if f.private == 0 {
		row := f.row
		of := func(private int) plan.Settings {
			if f.row = row; row == 0 {
				f.row = private
			}
			return basemodel.SettingsOf(c, lora, found.IsCUDA(), f.prefix, private, max(f.row, 0))
		}
		e := basemodel.EpisodeOf(c)
		if x.room, err = plan.FindRoom(x.spec, e, of, basemodel.OpenOf(c.Engine), max(1, min(c.Model.Context, x.spec.MaxContext-f.prefix)), limit); err != nil {
			return x, err
		}
		f.private, f.row = x.room.Tokens, row
		a.Say("%s", x.room)
	}
	if f.row == 0 {
		f.row = f.private
	}
	x.Settlement, err = plan.Settle(x.spec, basemodel.SettingsOf(c, lora, found.IsCUDA(), f.prefix, f.private, max(f.row, 0)), basemodel.OpenOf(c.Engine), limit)
	return x, err
}

// tokens is the length of the longest sequence.
func (x forecast) tokens() int { return x.Asked.Prefix + max(x.Asked.Context, x.Asked.Row) }

// refusal is an error with all for which the run would be refused.
func (x forecast) refusal(h *host.Host) error {
	all := []error{plan.TooLong(x.spec, x.tokens(), basemodel.ShorterEpisodes+"; here --prefix, --private and --row say how long they are")}
	if !x.Holds() {
		warning, err := plan.TooLarge(x.spec, x.Asked, x.Limit, x.exact)
		if warning != "" {
			h.Say("warning: %s", warning)
		}
		all = append(all, err)
	}
	var why, next []string
	for _, err := range all {
		if err == nil {
			continue
		}
		f, ok := errors.AsType[*fault.Error](err)
		if !ok {
			return err
		}
		why, next = append(why, f.What+": "+f.Why), append(next, f.Next)
	}
	if why == nil {
		return nil
	}
	return &fault.Error{Code: fault.CodeFailures, What: "this run would be refused", Where: x.spec.Name, Why: strings.Join(why, "\n    "), Next: strings.Join(next, "; ")}
}

func newInspectMemory(a *app) *cobra.Command {
	var f planFlags
	c := &cobra.Command{
		Use:   "memory",
		Short: "Plan the memory of a run of the configuration, before anything is allocated",
		Long: "memory makes the run's programs without a device and adds up what they and the run hold: exact for weights, caches,\n" +
			"adapter and moments, estimated for what a program needs while it runs (docs/guide.md says how well). The exit code is 3\n" +
			"where the run would be refused: for want of memory, or because its sequences outgrow the model's positions.",
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
	Private   int    `json:"private"` // tokens of a slot after the prefix
	Results   int    `json:"results"` // of them, those for tools' results; 0 where --private is given
	// The longest sequence, and what the model has positions for.
	Tokens    int `json:"tokens"`
	Positions int `json:"positions"`
	// What training steps do, settled where the configuration leaves it to the plan.
	MicroBatch int             `json:"micro_batch"`
	Recompute  train.Recompute `json:"recompute"`
	Sharded    bool            `json:"shard_weights"`
}

func runInspectMemory(a *app, f planFlags) error {
	x, err := f.make(a)
	if err != nil {
		return err
	}
	most, o, b := x.Plan.Peak(), x.Chosen, x.Limit
	report := memoryReport{x.Plan, most.Peak, most.Name, b.Bytes, b.Of, x.Holds(), x.Asked.Context, x.room.Results(), x.tokens(), x.spec.MaxContext, o.Train.RowsAtOnce(o.Row), o.Train.Recompute, o.ShardWeights}
	mib := func(n int64) string { return fmt.Sprintf("%.1f", float64(n)/(1<<20)) }
	rows := [][]string{{"HELD THROUGHOUT", "MiB", ""}}
	for _, item := range x.Plan.Held {
		rows = append(rows, []string{item.Name, mib(item.Bytes), ""})
	}
	rows = append(rows, []string{"PROGRAM", "WHILE IT RUNS", "HELD IN ALL"})
	for _, program := range x.Plan.Programs {
		name := program.Name
		if program.Training { // the trainer and the sampler both have a prefix
			name += ", training"
		}
		rows = append(rows, []string{name, mib(program.Temporary), mib(program.Peak)})
	}
	rows = append(rows, []string{"most, during " + most.Name, "", mib(most.Peak)})
	if b.Bytes > 0 {
		rows = append(rows, []string{b.Of, "", mib(b.Bytes)})
	}
	switch {
	case o.ShardWeights:
		a.Say("on each of %d devices, which share the weights (engine.shard_weights):", o.Devices)
	case o.Devices > 1:
		a.Say("on each of %d devices:", o.Devices)
	}
	a.Say("%s of %s after a prefix of %d, rows of %s, %d at once, engine.recompute: %s", fault.Count(o.Slots, "slot"), fault.Count(o.Context, "token"), o.Prefix,
		fault.Count(o.Row, "token"), o.Train.RowsAtOnce(o.Row), o.Train.Recompute)
	a.Say("the longest sequence has %s, and the model positions for %d", fault.Count(report.Tokens, "token"), report.Positions)
	if err := a.Print(report, rows); err != nil {
		return err
	}
	if !report.Fits {
		a.Say("it does not fit: %s MiB are missing", mib(most.Peak-b.Bytes))
	}
	if err := x.refusal(a.Host); err != nil {
		return err
	}
	if report.Fits && b.Bytes > 0 {
		a.Say("it fits")
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
	p, err := f.make(a)
	if err != nil {
		return err
	}
	if a.DryRun {
		a.Say("would write %s into %s", fault.Count(len(p.Plan.Programs), "program"), folder)
		return nil
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	rows := [][]string{{"FILE", "LINES"}}
	files := []string{}
	for i, x := range p.Plan.Programs {
		file := filepath.Join(folder, fmt.Sprintf("%02d_%s.mlir", i+1, x.Name))
		text := x.Text()
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return err
		}
		files = append(files, file)
		rows = append(rows, []string{file, fmt.Sprint(strings.Count(text, "\n"))})
	}
	return a.Print(map[string][]string{"files": files}, rows)
}
