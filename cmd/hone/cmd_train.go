package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"hone/internal/basemodel"
	"hone/internal/config"
	"hone/internal/episode/scenario"
	"hone/internal/fault"
	"hone/internal/mcp/lint"
	"hone/internal/recipe"
	"hone/internal/run"
	"hone/internal/toolset"
)

// trainFlags are those of train; the names are the ones users of other trainers know.
type trainFlags struct {
	servers                               toolset.Source
	lora                                  loraFlags
	dataset, base, adapter, output, judge string
	numGPUs                               int
	resume                                bool
	allowFindings                         lint.Allowed
}

func newTrain(a *app) *cobra.Command {
	var f trainFlags
	c := &cobra.Command{
		Use:   "train",
		Short: "Train an adapter by GRPO on live rollouts, rewarded by the scenarios' checks",
		Example: "  MCP_URL=http://127.0.0.1:3000/mcp hone train --dataset scenarios.json --base-model SmolLM2-135M-Instruct --output-dir out\n" +
			"  hone train --mcp-config .mcp.json --dataset scenarios.json --adapter out/final --output-dir out2",
		Args: arguments(0, 0, ""),
		RunE: func(c *cobra.Command, _ []string) error { return runTrain(c.Context(), a, f) },
	}
	a.serverFlags(c.Flags(), &f.servers)
	c.Flags().StringVar(&f.dataset, "dataset", "", "scenarios file (default the configuration's)")
	c.Flags().StringVar(&f.base, "base-model", "", "base model: a .gguf file, its folder, or an installed name")
	c.Flags().StringVar(&f.adapter, "adapter", "", "start from this adapter instead of a fresh one")
	c.Flags().StringVar(&f.output, "output-dir", "", "run directory; the adapter ends up in its folder final")
	c.Flags().StringVar(&f.judge, "judge-model", "", "model that scores scenarios without checks, as provider/name")
	c.Flags().IntVar(&f.numGPUs, "num-gpus", 0, numGPUsUsage)
	c.Flags().BoolVar(&f.resume, "resume", false, "go on with the run in --output-dir, by what it was begun with")
	f.lora.register(c.Flags())
	allowFindingsFlag(c.Flags(), &f.allowFindings)
	return c
}

const numGPUsUsage = "GPUs to use: n is engine.backend: cuda and engine.devices: n; 0 leaves both to the configuration"

// onGPUs sets what --num-gpus says, after which it is known how many devices are wanted.
func onGPUs(c *config.Config, n int) error {
	if n < 0 {
		return &fault.Error{Code: fault.CodeUsage, What: fmt.Sprintf("cannot train on %d GPUs", n), Where: "--num-gpus",
			Next: "give how many there are, or leave it out to train on what engine.backend and engine.devices say"}
	}
	if n > 0 {
		c.Engine.Backend, c.Engine.Devices = "cuda", n
	}
	return basemodel.CheckShards(c.Engine)
}

func runTrain(ctx context.Context, a *app, f trainFlags) error {
	if f.output == "" {
		return &fault.Error{Code: fault.CodeUsage, What: "no output folder", Next: "name one with --output-dir"}
	}
	if f.resume {
		return resumeRun(ctx, a, f.servers, f.output)
	}
	c, err := a.config()
	if err != nil {
		return err
	}
	if f.dataset != "" {
		c.Scenarios.File = f.dataset
	}
	if err := onGPUs(&c, f.numGPUs); err != nil {
		return err
	}
	if c.Rollout.Temperature == 0 {
		return &fault.Error{Code: fault.CodeUsage, What: "cannot train on greedy rollouts", Where: "rollout.temperature",
			Why:  "at 0 all episodes of a group are the same, so there is nothing to compare",
			Next: "set rollout.temperature above 0, such as 1; eval.temperature is that of evaluations"}
	}
	if err := free(f.output); err != nil {
		return err
	}
	list, err := scenarios(c.Scenarios.File, f.judge)
	if err != nil {
		return err
	}
	tasks, err := ofSplit(list, scenario.Train, c.Scenarios.File)
	if err != nil {
		return err
	}
	if c.Model.Base, err = basemodel.BaseOf(f.adapter, f.base, c); err != nil {
		return err
	}
	if c, err = basemodel.SettleLengths(a.Host, c); err != nil {
		return err
	}
	if err := f.lora.apply(a, &c, f.adapter); err != nil {
		return err
	}
	t := &tuning{a: a, verb: "train", path: f.output, c: c, kept: keptFlags{Adapter: f.adapter, AllowFindings: f.allowFindings}}
	t.kept.keep(a, c, f.servers)
	if a.DryRun {
		if err := t.rehearse(ctx, list, f.servers); err != nil {
			return err
		}
		a.Say("would take %s of %d x %d rollouts on %s in %s", fault.Count(c.GRPO.Steps, "step"), c.GRPO.ScenariosPerStep,
			c.GRPO.GroupSize, fault.Count(len(tasks), "scenario"), f.output)
		return nil
	}
	defer t.close()
	return t.train(ctx, list, f.servers)
}

func resumeTrain(ctx context.Context, a *app, f toolset.Source, path string, kept keptFlags) error {
	f, err := kept.again(a, f, path)
	if err != nil {
		return err
	}
	t := &tuning{a: a, verb: "train", path: path, kept: kept}
	defer t.close()
	if err := t.reopen(); err != nil {
		return err
	}
	if err := a.alsoDeny(&t.c); err != nil {
		return err
	}
	list, err := scenario.LoadKept(filepath.Join(path, scenariosFile))
	if err != nil {
		return err
	}
	return t.train(ctx, list, f)
}

// rehearse looks whether all is there that train needs, memory included. It lists the servers' tools and reads the model's
// files; it makes no call, opens no device, and leaves no run directory.
func (t *tuning) rehearse(ctx context.Context, list []scenario.Scenario, f toolset.Source) error {
	l, err := t.openServers(ctx, list, f)
	if err != nil {
		return err
	}
	defer l.close()
	return l.rehearse(t.a, t.c, t.kept.Adapter, list, true)
}

// openServers opens the servers of GRPO on the training split of list, and refuses tools and scenarios that cannot be
// trained on.
func (t *tuning) openServers(ctx context.Context, list []scenario.Scenario, f toolset.Source) (*lab, error) {
	servers, err := toolset.Configured(t.a.Host, t.c, f)
	if err != nil {
		return nil, err
	}
	if err := basemodel.CheckDevices(t.a.Host, t.c.Engine); err != nil {
		return nil, err
	}
	l, err := t.a.open(ctx, t.c, servers, t.path)
	if err != nil {
		return nil, err
	}
	if t.dir != nil {
		err = t.sameTools(l.Catalog)
	}
	if err == nil {
		err = toolset.RefuseFindings(t.a.Host, l.Catalog.LintTools(), t.kept.AllowFindings)
	}
	tasks := scenario.OfSplit(list, scenario.Train)
	if t.c.Eval.Every > 0 {
		tasks = slices.Concat(tasks, scenario.OfSplit(list, scenario.Validation))
	}
	if err == nil {
		err = l.Runnable(t.c, tasks)
	}
	if err == nil {
		err = toolset.Allowed(t.a.Host, l.Gate, tasks)
	}
	if err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

// train runs what is left of GRPO on the training split of list.
func (t *tuning) train(ctx context.Context, list []scenario.Scenario, f toolset.Source) error {
	l, err := t.openServers(ctx, list, f)
	if err != nil {
		return err
	}
	defer l.close()
	if err := l.openModel(t.a, &t.c, t.kept.Adapter, list, true); err != nil {
		return err
	}
	catalog, err := encodeCatalog(l.Catalog)
	if err != nil {
		return err
	}
	text, err := scenario.Encode(list, false)
	if err != nil {
		return err
	}
	if err := t.begin(run.Input{Name: scenariosFile, Data: text}, catalog); err != nil {
		return err
	}
	c := t.c
	grpo := grpoOf(c, maxMismatch(l.machine))
	t.a.Opens(grpo)
	log := runLog{t.dir, t.a.Say, l}
	grpo.Validation = l.validation(c, list)
	if grpo.Validation != nil {
		t.a.Opens(*grpo.Validation)
	} else if c.Eval.Every > 0 {
		t.a.Say("no scenario is in the split validation, so nothing says which checkpoint is best")
	}
	err = grpo.Run(ctx, scenario.OfSplit(list, scenario.Train), l.at(c.Rollout.Temperature), l.scorer, l.learner, l.policy,
		log, t.a.Progress(l.speaker.NumSlots()))
	if err := l.unreachable(t.ended(ctx, grpo.Stage, err)); err != nil {
		return err
	}
	final := filepath.Join(t.path, "final")
	if err := l.saveFinal(final); err != nil {
		return err
	}
	if err := t.sayBest(log, grpo.Stage, grpo.Steps); err != nil {
		return err
	}
	if err := t.reportTrain(l); err != nil {
		return err
	}
	if err := t.unlearnt(grpo.Stage, final); err != nil {
		return err
	}
	t.a.Say("adapter: %s", final)
	t.a.Say("next: hone eval --model %s --dataset %s --split validation", final, c.Scenarios.File)
	return nil
}

// validation is how train measures the policy on the way; nil where it does not.
func (l *lab) validation(c config.Config, list []scenario.Scenario) *recipe.Validation {
	held := scenario.OfSplit(list, scenario.Validation)
	if c.Eval.Every == 0 || len(held) == 0 {
		return nil
	}
	return &recipe.Validation{Every: c.Eval.Every, Scenarios: held, Runner: l.evaluation(c.Eval), Passed: l.criteria(byID(held)).Episode}
}

// sayBest says which step was best on validation, and where its adapter is; the final adapter is the last step's in any case.
func (t *tuning) sayBest(log runLog, stage string, steps int) error {
	step, m, err := log.best(stage, steps+1)
	if err != nil || step == 0 {
		return err
	}
	last, _, err := log.Recorded(recipe.ValidationStage, steps)
	if err != nil {
		return err
	}
	if step == steps {
		t.a.Say("on validation the last step was best: %s", measuredText(m))
		return nil
	}
	t.a.Say("on validation step %d was best: %s, the last step's are %s; its adapter is %s", step, measuredText(m), measuredText(last),
		filepath.Join(t.path, "checkpoints", fmt.Sprintf("%s_step_%d", stage, step), "adapter"))
	return nil
}

// measuredText is what a validation measured, for a person.
func measuredText(m map[string]float64) string {
	return fmt.Sprintf("success %.1f%%, reward %.2f", 100*m["success"], m["reward"])
}

// unlearnt is an error where no group of any step of a stage had two rewards that differ.
func (t *tuning) unlearnt(stage, final string) error {
	rows, err := t.dir.Ledger.Metrics(stage)
	if err != nil {
		return err
	}
	for _, r := range rows {
		var m struct {
			RewardStd float64 `json:"reward_std"`
		}
		if err := json.Unmarshal(r.JSON, &m); err != nil {
			return fmt.Errorf("reading the metrics of %s step %d: %w", stage, r.Step, err)
		}
		if m.RewardStd > 0 {
			return nil
		}
	}
	return &fault.Error{Code: fault.CodeFailures, What: "nothing was learnt: in no step did two episodes of one scenario earn different rewards",
		Where: t.path, Why: "GRPO learns from such differences alone; the adapter in " + final + " is the one it began with",
		Next: "see the rewards in trajectories.jsonl; where all fail, hone sft first or easier scenarios; where none do, harder ones"}
}
