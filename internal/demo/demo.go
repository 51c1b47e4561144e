// Package demo is the work of hone demo: the whole loop, small, on this machine. Its tasks are
// small ones for the npm server @coo-quack/calc-mcp 2.1.1, drawn from kinds.yaml as anybody may write it for a server,
// and answered by the live server.
//
// The first call of a task belongs to one split by its hash, so no first call of a test task is the first call of a
// training task, whatever the kinds of both. The second call of a chain is built from what the server answered to the
// first, so which split it would belong to is not known when the task is made: a training task may ask for it, as a
// first or a second call. What no training task asks for is the chain. Half of the test and validation scenarios also
// use wordings that training never sees.
package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"hone/internal/basemodel"
	"hone/internal/config"
	"hone/internal/episode/scenario"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/job"
	"hone/internal/job/episodes"
	"hone/internal/job/records"
	"hone/internal/recipe"
	"hone/internal/run"
	"hone/internal/run/metrics"
	"hone/internal/run/report"
	"hone/internal/toolset"
)

// Settings is the demo's own choice, made on its train and validation splits (docs/log).
func Settings(c config.Config, full bool) config.Config {
	c.MCP.Config, c.Model.Context = filepath.Join("demo", "mcp.json"), 2048
	c.Model.Base, c.Rollout.System = host.BaseModelAsset().Name, System
	// episodes end at different times, and a step costs little less where slots are idle (docs/log)
	c.Engine.Slots = 32
	// no turn of a demonstration is longer than 60
	c.Rollout.MaxTurns, c.Rollout.MaxTokens, c.Rollout.MaxToolCalls = 4, 64, 6
	// no answer of the demo's tools has more than 90 bytes, and caches are made for this many tokens a turn
	c.Rollout.MaxResult = 128
	c.Eval.Split = scenario.Test
	c.SFT.Epochs, c.SFT.BatchSize, c.SFT.Optimizer.LearningRate = 2, 16, 1e-3
	c.GRPO.Steps, c.GRPO.ScenariosPerStep, c.GRPO.GroupSize = 4, 16, 4
	c.GRPO.Optimizer.LearningRate, c.GRPO.CheckpointEvery = 2e-5, 1
	// what was measured (docs/log)
	c.GRPO.Advantage, c.GRPO.Minibatches = "group", 1
	if !full { // small steps, of which a short time holds more; each row is shown once
		c.SFT.Epochs, c.SFT.BatchSize, c.SFT.Optimizer.LearningRate = 1, 8, 2e-3
		c.GRPO.ScenariosPerStep = 8
		// no turn of a demonstration of few kinds is longer than 48
		c.Rollout.MaxTurns, c.Rollout.MaxTokens, c.Rollout.MaxToolCalls = 3, 56, 3
		// their rows have 75 to 141 tokens behind the prefix: one program for all
		c.Engine.RowMultiple = 144
	}
	return c
}

// demo is one in its run directory.
type demo struct {
	job.Env
	c     config.Config
	dir   *run.Dir
	fit   Fit
	began time.Time
}

// Run runs the whole loop, small, in a new run directory.
func Run(ctx context.Context, e job.Env, c config.Config, fit Fit) error {
	began := time.Now()
	if !fit.Full && !(fit.Minutes > 0 && fit.Minutes <= mostMinutes) {
		return &fault.Error{Code: fault.CodeUsage, What: fmt.Sprintf("a demo cannot take %v minutes", fit.Minutes),
			Where: "--minutes", Next: "give more than 0, or --full"}
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
	c = Settings(c, fit.Full)
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
	return demo{Env: e, c: c, dir: dir, fit: fit, began: began}.finish(ctx)
}

// Resume goes on with the demo in path.
func Resume(ctx context.Context, e job.Env, path string, b job.Begun, _ toolset.Source) error {
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
	return demo{Env: e, c: c, dir: dir, fit: fit, began: began}.finish(ctx)
}

// finish runs what is left of a demo, and closes its directory.
func (d demo) finish(ctx context.Context) error {
	defer func() { _ = d.dir.Close() }() // the ledger is durable row by row
	d.Say("run %s: it may be stopped (Ctrl-C); hone runs resume %s then goes on with it",
		d.dir.Path, run.Name(d.dir.Path))
	err := d.run(ctx)
	if ctx.Err() != nil {
		return &fault.Error{Code: fault.CodeStopped, What: "stopped; nothing finished is lost", Where: d.dir.Path,
			Next: "hone runs resume " + run.Name(d.dir.Path)}
	}
	return err
}

// open opens servers and model, on tasks that are executed, or read back. Its episodes must be closed.
func (d *demo) open(ctx context.Context) (l *episodes.Episodes, tasks Tasks, err error) {
	servers, err := toolset.LoadServers(d.Host, d.c, toolset.Source{File: d.c.MCP.Config})
	if err != nil {
		return nil, tasks, err
	}
	if l, err = episodes.Open(ctx, d.Host, d.c, servers, "", Tools(!d.fit.Full)...); err != nil {
		return nil, tasks, err
	}
	defer func() {
		if err != nil {
			l.Close()
			l = nil
		}
	}()
	if err = l.Catalog.Save(filepath.Join(d.dir.Path, job.CatalogFile)); err == nil {
		tasks, err = TasksOf(ctx, d.Host, d.dir, d.c, d.fit.size(), l.Tools)
	}
	var p episodes.Plan
	if err == nil {
		p, err = l.Resolve(d.Host, d.c,
			episodes.Wanted{Scenarios: slices.Concat(tasks.Train, tasks.Test), Trains: true, Shares: true})
	}
	if err == nil {
		d.c, err = p.Config, l.OpenModel(d.Host, p)
	}
	return l, tasks, err
}

func (d demo) run(ctx context.Context) (err error) {
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
	log := records.Journal{Dir: d.dir, Say: d.Say, Episodes: l}
	chosen, err := d.loadOrChoose(ctx, data, recipe.Evaluation{Stage: baseStage, Runner: l.Evaluation(d.c.Eval),
		Scorer: l.Scorer, Log: log, Progress: whole.report}, l)
	if err != nil {
		return err
	}
	data.Test, data.Demonstrations =
		data.Test[:min(len(data.Test), chosen.Tests)], data.Demonstrations[:min(len(data.Demonstrations), chosen.Rows)]
	d.c.GRPO.Steps, d.c.GRPO.ScenariosPerStep = chosen.Steps, chosen.Episodes/d.c.GRPO.GroupSize
	whole.expect(chosen)
	p := PipelineOf(d.c, l.MaxMismatch())
	records.TokensIn(d.dir.Path).Take(p.GRPO.Additions)
	if err := l.Stage(&p.GRPO, data.Train); err != nil {
		return err
	}
	p.GRPO.Show(data.Demonstrations)
	track := records.StartTracking(d.Env, d.c.Metrics, d.dir,
		records.Tracked{Main: p.GRPO.Stage, Engine: l.Model.Engine})
	defer func() { track.Close(err) }()
	log.Track = track
	_, err = p.Run(ctx, data, track.Rollouts(l.Rollouts(d.c.Rollout.Temperature)),
		track.Evaluation(l.Evaluation(d.c.Eval)), track.Scores(l.Scorer, metrics.Score), track.Trainer(l.Trainer,
			metrics.Train), track.Publisher(l.Policy), log, track.Progress(whole.report))
	if err != nil {
		return err
	}
	if err := l.SaveFinal(ctx, d.Host, filepath.Join(d.dir.Path, "final")); err != nil {
		return err
	}
	return d.report(data, l, time.Since(started))
}

// PipelineOf are the stages of a configuration, SFT with a checkpoint every few steps.
func PipelineOf(c config.Config, maxMismatch float64) recipe.Pipeline {
	p := recipe.Pipeline{SFT: job.SFTOf(c), GRPO: job.GRPOOf(c, maxMismatch)}
	p.SFT.CheckpointEvery = 5
	return p
}

// data renders the demonstrations as training rows.
func (d demo) data(l *episodes.Episodes, t Tasks) (recipe.Data, error) {
	rows, err := l.Rows(t.Demonstrations)
	return recipe.Data{Demonstrations: rows, Train: t.Train, Test: t.Test}, err
}

// HasEnded reports whether a demo has ended.
func HasEnded(s run.Summary, b job.Begun) bool {
	return job.HasAdapter(s, b) && job.HasEnded(s, report.EvalStage+grpoStage)
}
