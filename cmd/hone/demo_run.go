package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/demo"
	"hone/internal/episode/reward"
	"hone/internal/episode/rollout"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
	"hone/internal/learn/batch"
	"hone/internal/learn/model"
	"hone/internal/learn/sample"
	"hone/internal/learn/train"
	"hone/internal/mcp"
	"hone/internal/recipe"
	"hone/internal/run"
)

// demoRun is one demo in its run directory.
type demoRun struct {
	a     *app
	c     config.Config
	dir   *run.Dir
	size  demoSize
	began time.Time
}

func (d demoRun) run(ctx context.Context) error {
	servers, err := mcp.LoadConfig(d.c.MCP.Config, d.a.lookupEnv)
	if err != nil {
		return err
	}
	catalog, err := mcp.Discover(ctx, servers)
	if err != nil {
		return err
	}
	if catalog, err = catalog.Only(demo.Tools()...); err != nil {
		return err
	}
	if err := catalog.Save(filepath.Join(d.dir.Path, "catalog.json")); err != nil {
		return err
	}
	pool, err := mcp.NewPool(ctx, servers, catalog, mcp.Options{Timeout: d.c.MCP.Timeout, MaxResult: d.c.Rollout.MaxResult})
	if err != nil {
		return err
	}
	defer pool.Close()
	tasks, err := d.tasks(ctx, pool)
	if err != nil {
		return err
	}

	m, err := d.a.openMachine(d.c, d.c.Model.Base, demo.System)
	if err != nil {
		return err
	}
	defer m.close()
	d.a.say("model %s on %s", m.spec.Name, m.engine.Description())
	options := rollout.Options{Tools: pool, Renderer: m.renderer, System: demo.System, ToolList: catalog.Tools(),
		MaxTurns: d.c.Rollout.MaxTurns, MaxTokens: d.c.Rollout.MaxTokens, MaxToolCalls: d.c.Rollout.MaxToolCalls,
		Temperature: d.c.Rollout.Temperature, Timeout: d.c.Rollout.Timeout, Seed: d.c.Seed, Retries: 2}
	l, err := d.learner(m, options, tasks)
	if err != nil {
		return err
	}
	defer l.sampler.Close()
	options.Sampler = l.sampler
	greedy := options
	greedy.Temperature = d.c.Eval.Temperature

	data, err := d.data(m, options, tasks)
	if err != nil {
		return err
	}
	scorer := reward.Scorer{Defaults: catalog.Defaults()}
	started := time.Now()
	systems, err := d.pipeline().Run(ctx, data, rollout.New(options), rollout.New(greedy), scorer, l,
		runLog{d.dir, d.a.say}, d.a.progress().report())
	if err != nil {
		return err
	}
	adapter := filepath.Join(d.dir.Path, "final")
	if err := saveFinal(l.Trainer, m, adapter); err != nil {
		return err
	}
	return d.report(systems, data, scorer, l, time.Since(started))
}

// learner makes a fresh adapter, its trainer, and the sampler that follows it.
func (d demoRun) learner(m *machine, o rollout.Options, tasks demoTasks) (*learner, error) {
	prefix, err := m.sharedPrefix(o, append(append([]scenario.Scenario{}, tasks.Train...), tasks.Test...))
	if err != nil {
		return nil, err
	}
	lora := model.LoRA{Rank: d.c.SFT.LoRA.Rank, Alpha: d.c.SFT.LoRA.Alpha, RankStabilized: d.c.SFT.LoRA.RSLoRA}
	trainer, err := train.New(m.engine, m.spec, m.weights, train.NewState(m.spec, lora, d.c.Seed), train.Options{LoRA: lora,
		Clip: d.c.SFT.Optimizer.MaxGradNorm, Temperature: d.c.Rollout.Temperature})
	if err != nil {
		return nil, err
	}
	d.a.say("shared prefix of %d tokens; compiling", len(prefix))
	sampler, err := sample.New(m.engine, m.spec, m.weights, sample.Options{LoRA: lora, Slots: d.c.Engine.Slots, Prefix: prefix})
	return &learner{Trainer: trainer, sampler: sampler}, err
}

func (d demoRun) pipeline() recipe.Pipeline {
	return recipe.Pipeline{
		SFT: recipe.SFT{Stage: "sft", Epochs: d.c.SFT.Epochs, BatchSize: d.c.SFT.BatchSize,
			Rate: d.c.SFT.Optimizer.LearningRate, CheckpointEvery: 5, Seed: d.c.Seed},
		GRPO: recipe.GRPO{Stage: "grpo", Steps: d.c.GRPO.Steps, GroupsPerStep: d.c.GRPO.ScenariosPerStep,
			GroupSize: d.c.GRPO.GroupSize, Rate: d.c.GRPO.Optimizer.LearningRate,
			Clip:            batch.Clip{Low: d.c.GRPO.ClipLow, High: d.c.GRPO.ClipHigh},
			CheckpointEvery: d.c.GRPO.CheckpointEvery, MaxMismatch: 1e-5, Seed: d.c.Seed},
	}
}

// demoTasks are executed scenarios, and for SFT the conversations of an agent that did them.
type demoTasks struct {
	Demonstrations [][]chat.Message
	Train, Test    []scenario.Scenario
}

// tasks executes the drafts of all splits on the live server, or reads back what an earlier attempt executed.
func (d demoRun) tasks(ctx context.Context, tools rollout.Tools) (demoTasks, error) {
	path := filepath.Join(d.dir.Path, "tasks.json")
	var t demoTasks
	if text, err := os.ReadFile(path); err == nil {
		return t, json.Unmarshal(text, &t)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return t, err
	}
	session, err := tools.Open(ctx, "gold")
	if err != nil {
		return t, err
	}
	defer func() { _ = session.Close() }() // only reads were made
	call := func(ctx context.Context, c chat.ToolCall) trajectory.ToolResult {
		return session.Call(ctx, []chat.ToolCall{c})[0]
	}
	dropped := 0
	execute := func(split string, n int, keep func(scenario.Scenario, []chat.Message)) error {
		for _, draft := range demo.Generate(d.c.Seed, split, n) {
			s, messages, err := draft.Execute(ctx, call)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				dropped++
				d.a.say("dropped %q: %v", draft.Task, err)
				continue
			}
			keep(s, messages)
		}
		return nil
	}
	if err := execute(scenario.Train, d.size.Demonstrations+d.size.Train, func(s scenario.Scenario, m []chat.Message) {
		if len(t.Demonstrations) < d.size.Demonstrations {
			t.Demonstrations = append(t.Demonstrations, m)
		} else {
			t.Train = append(t.Train, s)
		}
	}); err != nil {
		return t, err
	}
	if err := execute(scenario.Test, d.size.Test, func(s scenario.Scenario, _ []chat.Message) { t.Test = append(t.Test, s) }); err != nil {
		return t, err
	}
	d.a.say("executed on the live server: %d demonstrations, %d training and %d test scenarios; %d dropped",
		len(t.Demonstrations), len(t.Train), len(t.Test), dropped)
	if len(t.Demonstrations) == 0 || len(t.Train) == 0 || len(t.Test) == 0 {
		return t, &fault.Error{Code: fault.CodeFailures, What: "no scenario could be executed", Where: d.c.MCP.Config, Next: "hone doctor"}
	}
	text, err := json.Marshal(t)
	if err != nil {
		return t, err
	}
	return t, writeFile(path, text)
}

// data renders the demonstrations as training rows.
func (d demoRun) data(m *machine, o rollout.Options, t demoTasks) (recipe.Data, error) {
	data := recipe.Data{Train: t.Train, Test: t.Test}
	for _, messages := range t.Demonstrations {
		if messages[0].Role != chat.System {
			messages = append(rollout.Opening(o.System, "")[:1], messages...)
		}
		ids, trained, err := m.renderer.RenderTraining(messages, o.ToolList)
		if err != nil {
			return data, fmt.Errorf("rendering a demonstration: %w", err)
		}
		data.Demonstrations = append(data.Demonstrations, batch.Sequence{IDs: ids, Trained: trained})
	}
	return data, nil
}

// saveFinal writes the adapter with the chat template it was trained under, so that other servers prompt the same.
func saveFinal(t *train.Trainer, m *machine, dir string) error {
	if err := t.SaveAdapter(dir); err != nil {
		return err
	}
	return writeFile(filepath.Join(dir, "chat_template.jinja"), []byte(m.renderer.Template()))
}

// writeFile replaces a file whole.
func writeFile(path string, data []byte) error {
	tmp := path + ".tmp"
	if err := os.WriteFile(tmp, data, 0o644); err != nil {
		return err
	}
	return os.Rename(tmp, path)
}

func kindOf(tags []string) string {
	for _, t := range tags {
		if kind, ok := strings.CutPrefix(t, "kind:"); ok {
			return kind
		}
	}
	return ""
}
