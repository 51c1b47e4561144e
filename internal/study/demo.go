package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/demo"
	"hone/internal/episode/environment"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
	"hone/internal/job"
	"hone/internal/recipe"
	"hone/internal/run"
	"hone/internal/toolset"
)

// demoRun is one demo in its run directory.
type demoRun struct {
	a     *app
	c     config.Config
	dir   *run.Dir
	size  demo.Size
	began time.Time
}

func (d demoRun) run(ctx context.Context) error {
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
	if err := l.OpenModel(d.a.Host, &d.c, "", append(append([]scenario.Scenario{}, tasks.Train...), tasks.Test...), true); err != nil {
		return err
	}
	data, err := d.data(l, tasks)
	if err != nil {
		return err
	}
	started := time.Now()
	_, err = d.pipeline(job.MaxMismatch(l.Model)).Run(ctx, data, l.Rollouts(d.c.Rollout.Temperature), l.Evaluation(d.c.Eval), l.Scorer, l.Trainer, l.Policy,
		job.Journal{Dir: d.dir, Say: d.a.Say, Episodes: l}, d.a.Progress(l.Speaker.NumSlots()))
	if err != nil {
		return err
	}
	if err := l.SaveFinal(filepath.Join(d.dir.Path, "final")); err != nil {
		return err
	}
	return d.report(data, l, time.Since(started))
}

func (d demoRun) pipeline(maxMismatch float64) recipe.Pipeline {
	p := recipe.Pipeline{SFT: job.SFTOf(d.c), GRPO: job.GRPOOf(d.c, maxMismatch)}
	p.SFT.CheckpointEvery = 5
	return p
}

// tasks executes the drafts of all splits on the live server, or reads back what an earlier attempt executed.
func (d demoRun) tasks(ctx context.Context, tools environment.Tools) (demo.Tasks, error) {
	path := filepath.Join(d.dir.Path, "tasks.json")
	var t demo.Tasks
	if text, err := os.ReadFile(path); err == nil {
		if err := json.Unmarshal(text, &t); err != nil {
			return t, err
		}
		if t.Size != d.size {
			return t, &fault.Error{Code: fault.CodeUsage, What: "the run was begun with other tasks", Where: path,
				Why: fmt.Sprintf("it holds %s, asked for are %s", t.Size, d.size), Next: "give the flags it was begun with, or another --output-dir"}
		}
		return t, nil
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
	t, err = demo.Execute(ctx, d.c.Seed, d.size, call, func(task string, err error) {
		dropped++
		d.a.Say("dropped %q: %v", task, err)
	})
	if err != nil {
		return t, err
	}
	d.a.Say("executed on the live server: %d demonstrations, %d training and %d %s scenarios; %d dropped",
		len(t.Demonstrations), len(t.Train), len(t.Test), d.size.HeldOut(), dropped)
	if len(t.Demonstrations) == 0 || len(t.Train) == 0 || len(t.Test) == 0 {
		return t, &fault.Error{Code: fault.CodeFailures, What: "no scenario could be executed", Where: d.c.MCP.Config, Next: "hone doctor"}
	}
	text, err := json.Marshal(t)
	if err != nil {
		return t, err
	}
	return t, job.WriteFile(path, text)
}

// data renders the demonstrations as training rows.
func (d demoRun) data(l *job.Episodes, t demo.Tasks) (recipe.Data, error) {
	rows, err := l.Rows(t.Demonstrations)
	return recipe.Data{Demonstrations: rows, Train: t.Train, Test: t.Test}, err
}
