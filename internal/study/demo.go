// Package study trains and measures on the demo's tasks: the demo itself, and a comparison of ways to go on from one start.
package study

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"hone/internal/basemodel"
	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/demo"
	"hone/internal/episode/environment"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/host/assets"
	"hone/internal/job"
	"hone/internal/recipe"
	"hone/internal/report"
	"hone/internal/run"
	"hone/internal/run/metrics"
	"hone/internal/toolset"
)

// settings is the demo's own choice, made on its train and validation splits (docs/log).
func settings(c config.Config, full bool) config.Config {
	c.MCP.Config, c.Model.Context = filepath.Join("demo", "mcp.json"), 2048
	c.Model.Base, c.Rollout.System = assets.Model().Name, demo.System
	c.Engine.Slots = 32                                                        // episodes end at different times, and a step costs little less where slots are idle (docs/log)
	c.Rollout.MaxTurns, c.Rollout.MaxTokens, c.Rollout.MaxToolCalls = 4, 64, 6 // no turn of a demonstration is longer than 60
	c.Rollout.MaxResult = 128                                                  // no answer of the demo's tools has more than 90 bytes, and caches are made for this many tokens a turn
	c.Eval.Split = scenario.Test
	c.SFT.Epochs, c.SFT.BatchSize, c.SFT.Optimizer.LearningRate = 2, 16, 1e-3
	c.GRPO.Steps, c.GRPO.ScenariosPerStep, c.GRPO.GroupSize = 4, 16, 4
	c.GRPO.Optimizer.LearningRate, c.GRPO.CheckpointEvery = 2e-5, 1
	if !full { // small steps, of which a short time holds more; each row is shown once
		c.SFT.Epochs, c.SFT.BatchSize, c.SFT.Optimizer.LearningRate = 1, 8, 2e-3
		c.GRPO.ScenariosPerStep = 8
		c.Rollout.MaxTurns, c.Rollout.MaxTokens, c.Rollout.MaxToolCalls = 3, 56, 3 // no turn of a demonstration of few kinds is longer than 48
		c.Engine.RowMultiple = 144                                                 // their rows have 75 to 141 tokens behind the prefix: one program for all
	}
	return c
}

// experiment is one demo, or one comparison, in its run directory.
type experiment struct {
	job.Env
	c     config.Config
	dir   *run.Dir
	size  demo.Size
	fit   Fit // of a demo
	began time.Time
	// servers are those of the scenarios of size.File; the demo has its own.
	servers toolset.Source
	solved  bool // an arm learns from the solutions of training scenarios
}

// Demo runs the whole loop, small, in a new run directory.
func Demo(ctx context.Context, e job.Env, c config.Config, fit Fit) error {
	began := time.Now()
	if !fit.Full && !(fit.Minutes > 0 && fit.Minutes <= mostMinutes) {
		return &fault.Error{Code: fault.CodeUsage, What: fmt.Sprintf("a demo cannot take %v minutes", fit.Minutes), Where: "--minutes", Next: "give more than 0, or --full"}
	}
	plugin, err := basemodel.TakePlugin(e.Host, c.Engine)
	if err != nil {
		return err
	}
	if c.Seed == 0 {
		c.Seed = 1
	}
	name := c.Name
	if name == "" {
		name = "demo-" + began.Format("20060102-150405")
	}
	path := filepath.Join(c.RunsDir, name)
	c = settings(c, fit.Full)
	if plugin.Path == "" {
		c.Engine.Slots = 8
	}
	if e.DryRun {
		e.Say("would make %s, then train and evaluate in %s on as many of them as fit into the time", fit.size(), path)
		return nil
	}
	text, err := json.Marshal(fit)
	if err != nil {
		return err
	}
	dir, err := e.Create(path, c, job.Begun{Build: host.ReadBuild(), Verb: "demo", Study: text})
	if err != nil {
		return err
	}
	return experiment{Env: e, c: c, dir: dir, size: fit.size(), fit: fit, began: began}.finish(ctx)
}

// ResumeDemo goes on with the demo in path.
func ResumeDemo(ctx context.Context, e job.Env, path string, b job.Begun, _ toolset.Source) error {
	began, fit := time.Now(), Fit{Full: true} // what a demo was before there was a choice
	if b.Study != nil {
		fit = Fit{}
		if err := json.Unmarshal(b.Study, &fit); err != nil {
			return fmt.Errorf("reading how %s was begun: %w", path, err)
		}
	}
	var c config.Config
	dir, err := e.Open(path, &c)
	if err != nil {
		return err
	}
	return experiment{Env: e, c: c, dir: dir, size: fit.size(), fit: fit, began: began}.finish(ctx)
}

// finish runs what is left of a demo, and closes its directory.
func (d experiment) finish(ctx context.Context) error {
	defer func() { _ = d.dir.Close() }() // the ledger is durable row by row
	d.Say("run %s: it may be stopped (Ctrl-C); hone runs resume %s then goes on with it", d.dir.Path, run.Name(d.dir.Path))
	err := d.run(ctx)
	if ctx.Err() != nil {
		return &fault.Error{Code: fault.CodeStopped, What: "stopped; nothing finished is lost", Where: d.dir.Path, Next: "hone runs resume " + run.Name(d.dir.Path)}
	}
	return err
}

// open opens servers and model, on tasks that are executed, or read back. Its episodes must be closed.
func (d *experiment) open(ctx context.Context) (l *job.Episodes, tasks demo.Tasks, err error) {
	from, only := d.servers, []string(nil)
	if d.size.File == "" {
		from, only = toolset.Source{File: d.c.MCP.Config}, demo.Tools(d.size.Few)
	}
	servers, err := toolset.LoadServers(d.Host, d.c, from)
	if err != nil {
		return nil, tasks, err
	}
	if l, err = job.Open(ctx, d.Host, d.c, servers, "", only...); err != nil {
		return nil, tasks, err
	}
	defer func() {
		if err != nil {
			l.Close()
			l = nil
		}
	}()
	if err = l.Catalog.Save(filepath.Join(d.dir.Path, job.CatalogFile)); err != nil {
		return l, tasks, err
	}
	made := false
	if tasks, made, err = d.made(); err == nil && !made {
		if d.size.File != "" {
			tasks, err = d.own(l)
		} else {
			tasks, err = d.tasks(ctx, l.Tools)
		}
	}
	if err == nil { // what the memory leaves to the plan is settled in d.c
		err = l.OpenModel(d.Host, &d.c, "", slices.Concat(tasks.Train, tasks.Test), true)
	}
	if err == nil && d.size.File != "" && !made {
		if err = d.show(ctx, l, &tasks); err == nil {
			err = d.keep(tasks)
		}
	}
	return l, tasks, err
}

func (d experiment) run(ctx context.Context) (err error) {
	l, tasks, err := d.open(ctx)
	if err != nil {
		return err
	}
	defer l.Close()
	data, err := d.data(l, tasks)
	if err != nil {
		return err
	}
	started := time.Now()
	whole := &whole{told: d.Progress(l.Speaker.NumSlots()), began: d.began}
	if err := recipe.Publish(l.Policy, baseStage); err != nil {
		return err
	}
	journal := job.Journal{Dir: d.dir, Say: d.Say, Episodes: l}
	chosen, err := d.chosen(ctx, data, recipe.Evaluation{Stage: baseStage, Runner: l.Evaluation(d.c.Eval), Scorer: l.Scorer, Log: journal, Progress: whole.report}, l)
	if err != nil {
		return err
	}
	data.Test, data.Demonstrations = data.Test[:min(len(data.Test), chosen.Tests)], data.Demonstrations[:min(len(data.Demonstrations), chosen.Rows)]
	d.c.GRPO.Steps, d.c.GRPO.ScenariosPerStep = chosen.Steps, chosen.Episodes/d.c.GRPO.GroupSize
	whole.expect(chosen)
	p := d.pipeline(job.MaxMismatch(l.Model))
	if err := l.Stage(d.c, &p.GRPO, data.Train); err != nil {
		return err
	}
	p.GRPO.Demonstrations.Of = data.Demonstrations
	track := d.StartTracking(d.c.Metrics, d.dir, job.Tracked{Main: p.GRPO.Stage, Engine: l.Model.Engine})
	defer func() { track.Close(err) }()
	journal.Track = track
	_, err = p.Run(ctx, data, track.Rollouts(l.Rollouts(d.c.Rollout.Temperature)), track.Evaluation(l.Evaluation(d.c.Eval)), track.Scores(l.Scorer, metrics.Score),
		track.Trainer(l.Trainer, metrics.Train), track.Publisher(l.Policy), journal, track.Progress(whole.report))
	if err != nil {
		return err
	}
	if err := l.SaveFinal(ctx, d.Host, filepath.Join(d.dir.Path, "final")); err != nil {
		return err
	}
	return d.report(data, l, time.Since(started))
}

func (d experiment) pipeline(maxMismatch float64) recipe.Pipeline {
	p := recipe.Pipeline{SFT: job.SFTOf(d.c), GRPO: job.GRPOOf(d.c, maxMismatch)}
	p.SFT.CheckpointEvery = 5
	return p
}

const tasksFile = "tasks.json"

// made are the tasks that an earlier attempt executed, if one did.
func (d experiment) made() (t demo.Tasks, ok bool, err error) {
	path := filepath.Join(d.dir.Path, tasksFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return t, false, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &t)
	}
	if err != nil {
		return t, false, err
	}
	if t.Size != d.size {
		return t, false, &fault.Error{Code: fault.CodeUsage, What: "the run was begun with other tasks", Where: path,
			Why: fmt.Sprintf("it holds %s, asked for are %s", t.Size, d.size), Next: "give the flags it was begun with, or another --output-dir"}
	}
	if slices.ContainsFunc(t.Demonstrations, func(s demo.Solved) bool { return s.Scenario.ID == "" }) {
		return t, false, &fault.Error{Code: fault.CodeUsage, What: "the run cannot go on", Where: path,
			Why: "the hone that began it did not keep of which scenarios its demonstrations are", Next: "begin it again, with another --output-dir"}
	}
	return t, true, d.dir.AddInput(run.Input{Name: tasksFile, Data: text}) // a kill may have come before its sum
}

// keep keeps tasks for a run that goes on.
func (d experiment) keep(t demo.Tasks) error {
	text, err := json.Marshal(t)
	if err != nil {
		return err
	}
	return d.dir.AddInput(run.Input{Name: tasksFile, Data: text})
}

// tasks executes the drafts of all splits on the live server.
func (d experiment) tasks(ctx context.Context, tools environment.Tools) (t demo.Tasks, err error) {
	session, err := tools.Open(ctx, "gold")
	if err != nil {
		return t, err
	}
	defer func() { _ = session.Close() }() // only reads were made
	call := func(ctx context.Context, c chat.ToolCall) trajectory.ToolResult {
		return session.Call(ctx, []chat.ToolCall{c})[0]
	}
	dropped := 0
	t, err = demo.Execute(ctx, d.c.Seed, d.size, call, func(task string, err error) {
		dropped++
		d.Say("dropped %q: %v", task, err)
	})
	if err != nil {
		return t, err
	}
	d.Say("executed on the live server: %d demonstrations, %d training and %d %s scenarios; %d dropped",
		len(t.Demonstrations), len(t.Train), len(t.Test), d.size.EvalSplit(), dropped)
	if len(t.Demonstrations) == 0 || len(t.Train) == 0 || len(t.Test) == 0 {
		return t, &fault.Error{Code: fault.CodeFailures, What: "no scenario could be executed", Where: d.c.MCP.Config, Next: "hone doctor"}
	}
	return t, d.keep(t)
}

// data renders the demonstrations as training rows.
func (d experiment) data(l *job.Episodes, t demo.Tasks) (recipe.Data, error) {
	rows, err := l.Rows(t.Demonstrations)
	return recipe.Data{Demonstrations: rows, Train: t.Train, Test: t.Test}, err
}

// DemoEnded reports whether a demo has ended.
func DemoEnded(s run.Summary, b job.Begun) bool {
	return job.HasAdapter(s, b) && job.Ended(s, report.EvalStage+ArmGRPO)
}
