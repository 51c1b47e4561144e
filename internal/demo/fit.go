package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"time"

	"hone/internal/job"
	"hone/internal/job/episodes"
	"hone/internal/recipe"
	"hone/internal/run"
	"hone/internal/run/report"
)

// A demo measures what an episode and a row of SFT take on this machine before it trains, and does as much as its
// minutes hold.

// Fit is how long a demo may take. It is kept with the run: version.json's study.
type Fit struct {
	Minutes float64 `json:"minutes,omitempty"` // after set-up
	Full    bool    `json:"full,omitempty"`    // all tasks, however long they take
}

// mostMinutes is a day: beyond it a demo is no demo.
const mostMinutes = 24 * 60

// size is of all tasks that a demo may take.
func (f Fit) size() Size {
	if f.Full {
		return Full()
	}
	return Size{Demonstrations: mostRows, Train: 8 * mostSteps, Test: mostTests, Few: true}
}

// Stages of a demo: the base model's evaluation, and GRPO.
const (
	baseStage = report.EvalStage + job.BaseOnly
	grpoStage = "grpo"
)

// pace is what was measured on the machine, in seconds.
type pace struct {
	Opening   float64 `json:"opening"`   // until the first episode: servers, tasks, model, the sampler's programs
	Compiling float64 `json:"compiling"` // of it and of the first gradient
	Episode   float64 `json:"episode"`   // of the base model, where as many run at once as there are slots
	Row       float64 `json:"row"`       // of SFT, the compiling apart
	Spent     float64 `json:"spent"`     // when all this was known
	Ran       int     `json:"ran"`       // episodes that were measured, which the evaluation does not run again
}

// choice is how much a demo does. It is kept in its run directory, so that one that goes on does the same.
type choice struct {
	pace
	Tests    int `json:"tests"`    // held-out tasks, of each of three evaluations
	Rows     int `json:"rows"`     // of SFT
	Steps    int `json:"steps"`    // of GRPO
	Episodes int `json:"episodes"` // of a step
}

const choiceFile = "choice.json"

// What a result needs that a person believes, and what more is worth: at most is made of tasks. Measured (docs/log).
const (
	leastTests, mostTests = 64, 128
	leastRows, mostRows   = 128, 256
	leastSteps, mostSteps = 2, 8
)

// What stages take beside what was measured, worked out from recorded demos (docs/log).
const (
	// programs of GRPO's rows, of two lengths, and of the logprobs that the adapter is kept with, beside those of SFT's
	compiled   = 2.0
	twoTurns   = 1.0 // an episode of the trained model, which reads the tool's result too, beside one of the base model
	learntFrom = 0.5 // rows of a step of GRPO beside its episodes: a group without a spread teaches nothing
)

// parts are what is left of a demo by a choice, with what they take.
func (c choice) parts() []part {
	evaluation := c.Episode * twoTurns * float64(c.Tests)
	parts := []part{
		{stage: baseStage, name: "evaluating base", seconds: c.Episode * float64(max(0, c.Tests-c.Ran))},
		{stage: "sft", name: "SFT", seconds: c.Row * float64(c.Rows)},
		{stage: report.EvalStage + "sft", name: "evaluating SFT", seconds: evaluation},
		{
			stage:   grpoStage,
			name:    "GRPO",
			seconds: compiled*c.Compiling + float64(c.Steps*c.Episodes)*(c.Episode*twoTurns+c.Row*learntFrom),
			steps:   c.Steps,
		},
		{stage: report.EvalStage + grpoStage, name: "evaluating GRPO", seconds: evaluation},
	}
	for i := range parts {
		parts[i].left = parts[i].seconds
	}
	return parts
}

// total is when a choice ends, in seconds from the beginning.
func (c choice) total() float64 {
	total := c.Spent
	for _, p := range c.parts() {
		total += p.seconds
	}
	return total
}

// least is what a result needs that a person believes.
func least(p pace, episodes int) choice {
	return choice{pace: p, Tests: leastTests, Rows: leastRows, Steps: leastSteps, Episodes: episodes}
}

// fitting is the choice for a number of minutes: what a result needs, then by turns what fits of more rows, more steps
// and more tasks. Where what a result needs takes more than twice the minutes, enough is false, and the choice shows
// the stages only.
func fitting(p pace, minutes float64, batchSize, episodes int) (c choice, enough bool) {
	c = least(p, episodes)
	if c.total() > 2*60*minutes {
		return choice{pace: p, Tests: max(8, p.Ran), Rows: 2 * batchSize, Steps: 1, Episodes: episodes / 4}, false
	}
	for grown := true; grown; {
		grown = false
		for _, more := range []choice{{Rows: 2 * batchSize}, {Steps: 1}, {Tests: 8}} {
			next := c
			next.Rows, next.Steps, next.Tests = c.Rows+more.Rows, c.Steps+more.Steps, c.Tests+more.Tests
			if next.Rows <= mostRows && next.Steps <= mostSteps && next.Tests <= mostTests &&
				next.total() <= 60*minutes {
				c, grown = next, true
			}
		}
	}
	return c, true
}

// String tells what was measured and what was chosen.
func (c choice) String() string {
	return fmt.Sprintf("measured: %.0f s to begin, %.0f s to compile, %.2f s an episode, %.2f s a row of SFT\n"+
		"chosen: %d held-out tasks, %d rows of SFT and %d steps of GRPO of %d episodes, which take about %s in all",
		c.Opening, c.Compiling, c.Episode, c.Row, c.Tests, c.Rows, c.Steps, c.Episodes, clockText(seconds(c.total())))
}

// loadOrChoose is what this or an earlier attempt chose.
func (d *demo) loadOrChoose(
	ctx context.Context, data recipe.Data, evaluation recipe.Evaluation, l *episodes.Episodes,
) (c choice, err error) {
	text, err := os.ReadFile(filepath.Join(d.dir.Path, choiceFile))
	switch {
	case err == nil:
		if err = json.Unmarshal(text, &c); err == nil {
			d.Say("goes on with what was chosen. %s", c)
		}
	case errors.Is(err, fs.ErrNotExist):
		c, err = d.choose(ctx, data, evaluation, l)
	}
	if err != nil {
		return c, err
	}
	if text, err = json.Marshal(c); err == nil {
		err = d.dir.AddInput(run.Input{Name: choiceFile, Data: text}) // again: a kill may have come before its sum
	}
	return c, err
}

// choose measures the machine and chooses.
func (d *demo) choose(
	ctx context.Context, data recipe.Data, evaluation recipe.Evaluation, l *episodes.Episodes,
) (choice, error) {
	p, err := d.measure(ctx, data, evaluation, l)
	if err != nil {
		return choice{}, err
	}
	g := d.c.GRPO
	if d.fit.Full {
		c := choice{pace: p, Tests: len(data.Test), Rows: d.c.SFT.Epochs * len(data.Demonstrations), Steps: g.Steps,
			Episodes: g.ScenariosPerStep * g.GroupSize}
		d.Say("%s", c)
		return c, nil
	}
	c, enough := fitting(p, d.fit.Minutes, d.c.SFT.BatchSize, g.ScenariosPerStep*g.GroupSize)
	d.Say("%s", c)
	if !enough {
		d.Say("that is too little to learn from: on a machine of this speed a result takes --minutes %.0f",
			math.Ceil(least(p, g.ScenariosPerStep*g.GroupSize).total()/60))
	}
	return c, nil
}

// measure times the first episodes of the base model's evaluation, which are kept as its own, and one gradient, which
// is not applied.
func (d *demo) measure(
	ctx context.Context, data recipe.Data, evaluation recipe.Evaluation, l *episodes.Episodes,
) (p pace, err error) {
	p.Opening = time.Since(d.began).Seconds()
	began, fresh := time.Now(), 0
	for rest := data.Test; fresh == 0 && len(rest) > 0; { // an earlier attempt may have left some, which take no time
		n := min(l.Speaker.NumSlots(), len(rest))
		ts, err := evaluation.Part(ctx, rest[:n])
		if err == nil {
			err = recipe.NothingRan(ts)
		}
		if err != nil {
			return p, err
		}
		for _, t := range ts {
			if t.Attempt == d.dir.Attempt {
				fresh++
			}
		}
		p.Ran, rest = p.Ran+n, rest[n:]
	}
	p.Episode = time.Since(began).Seconds() / float64(max(1, fresh))
	p.Row, p.Compiling, err = l.Trainer.Measure(ctx,
		data.Demonstrations[:min(d.c.SFT.BatchSize, len(data.Demonstrations))])
	p.Spent = time.Since(d.began).Seconds()
	return p, err
}
