package recipe

import (
	"context"
	"fmt"
	"sync"

	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
	"hone/internal/learn/batch"
)

// Sidecar trains a model that revises another model's tool calls. An episode has one turn: it is shown a task, the
// tools and a draft, and writes the call that is right. First SFT on revised pairs, then GRPO on what the policy writes
// itself, under a reward that takes away for a right call that is damaged.
//
// SFT alone is the baseline that was found wanting (Lablup 2025, "Training MCP Sidecar Model"): most drafts are nearly
// right, so most tokens of a pair are the draft's, and the loss falls smoothly while the model learns to say the draft
// again. A loss cannot show that. So both stages measure it on drafts that need a change:
//
//	copies/rows    episodes whose draft needs a change
//	copies/equal   share of them that say the draft again
//	copies/near    share whose output has more than 90% of its tokens from the draft
//	copies/fixed   share that is right
//
// GRPO measures the episodes of each step. SFT samples none, so it is probed: before each Every-th step and at the end
// the policy so far revises the probe's drafts, greedily, as the steps of the stage CopyStage.
type Sidecar struct {
	SFT     SFT
	GRPO    GRPO // no Steps: SFT alone
	Copying Copying
	Probe   Probe
}

// CopyStage is where SFT's probes keep their episodes and metrics, by the steps taken before.
const CopyStage = "copies"

// Copying says of an episode whether its draft needs a change, and if so what became of it.
type Copying func(t *trajectory.Trajectory) (needed bool, c Copied)

// Copied is how much of a draft an output is.
type Copied struct{ Equal, Near, Right bool }

// Probe is how the policy is measured while SFT trains it.
type Probe struct {
	Every     int // steps; 0: no probe
	Scenarios []scenario.Scenario
	Runner    Runner // greedy
	Scorer    Scorer
}

// mostCopied is the share of equal outputs above which the user is told, of at least fewest drafts that need a change.
const (
	mostCopied = 0.5
	fewest     = 20
)

// Run trains on pairs, then on drafts, resuming where the log left either, and leaves the final adapter published.
func (s Sidecar) Run(
	ctx context.Context, pairs []batch.Sequence, drafts []scenario.Scenario, runner Runner, scorer Scorer,
	trainer Trainer, publisher Publisher, log Log, progress Progress,
) error {
	if s.Copying == nil || s.SFT.Steps == 0 && s.SFT.Epochs == 0 && s.GRPO.Steps == 0 {
		return &fault.Error{Code: fault.CodeUsage, What: "there is nothing to train", Where: "sidecar",
			Next: "give SFT or GRPO at least one step"}
	}
	watched := &copyLog{Log: log, copying: s.Copying, seen: map[string]map[string]Copied{}, said: map[string]bool{}}
	if s.SFT.Steps > 0 || s.SFT.Epochs > 0 {
		_, start, err := log.Latest(s.SFT.Stage)
		if err != nil {
			return err
		}
		p := &prober{Sidecar: s, log: watched, publisher: publisher, progress: progress, step: start}
		l := s.SFT.learner(pairs, trainer)
		l.gradient = p.before(l.gradient)
		if err := s.SFT.run(ctx, len(pairs), l, publisher, log, progress); err != nil {
			return err
		}
		if err := p.probe(ctx); err != nil {
			return err
		}
	}
	if s.GRPO.Steps == 0 {
		return nil
	}
	return s.GRPO.Run(ctx, drafts, runner, scorer, trainer, publisher, watched, progress)
}

// prober measures the policy of SFT before some of its steps.
type prober struct {
	Sidecar
	log       *copyLog
	publisher Publisher
	progress  Progress
	step      int
	first     float64 // loss of the first step of this process
	last      float64
	losses    int
}

// before is a gradient ahead of which the policy is measured where that is due.
func (p *prober) before(gradient gradient) gradient {
	return func(ctx context.Context, step int, picked []int) (batch.StepStats, map[string]float64, error) {
		p.step = step
		if p.Probe.Every > 0 && p.step > 0 && p.step%p.Probe.Every == 0 {
			if err := p.probe(ctx); err != nil {
				return batch.StepStats{}, nil, err
			}
		}
		s, more, err := gradient(ctx, step, picked)
		if p.losses++; p.losses == 1 {
			p.first = s.Loss
		}
		p.last = s.Loss
		p.step = step + 1
		return s, more, err
	}
}

// probe measures the policy as it is. One that was recorded before is not run again.
func (p *prober) probe(ctx context.Context) error {
	if p.Probe.Every == 0 || len(p.Probe.Scenarios) == 0 {
		return nil
	}
	if _, ok, err := p.log.StepMetrics(CopyStage, p.step); ok || err != nil {
		return err
	}
	if err := Publish(p.publisher, fmt.Sprintf("%s step %d", CopyStage, p.step)); err != nil {
		return err
	}
	_, err := Evaluation{
		Stage:  CopyStage,
		Step:   p.step,
		Runner: p.Probe.Runner,
		Scorer: p.Probe.Scorer,
		Log:    p.log,
		Progress: func(_ string, done, total int, note string) {
			p.progress(fmt.Sprintf("%s/%d", CopyStage, p.step), done, total, note)
		},
	}.Run(ctx, p.Probe.Scenarios)
	if err != nil {
		return err
	}
	if p.losses > 1 {
		p.log.context = fmt.Sprintf(", while the loss went from %.2f to %.2f", p.first, p.last)
	}
	return p.log.Metrics(CopyStage, p.step, map[string]float64{"loss": p.last})
}

// copyLog is a log that adds to the metrics of a step how much of its episodes is copied.
type copyLog struct {
	Log
	copying Copying
	context string // what an alarm says of the loss
	mutex   sync.Mutex
	seen    map[string]map[string]Copied // by stage and step, then by episode
	said    map[string]bool
}

// see notes an episode, however often it is met.
func (l *copyLog) see(stage string, step int, t *trajectory.Trajectory) {
	if !t.Outcome.Trainable() {
		return
	}
	needed, c := l.copying(t)
	if !needed {
		return
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	key := fmt.Sprintf("%s %d", stage, step)
	if l.seen[key] == nil {
		l.seen[key] = map[string]Copied{}
	}
	l.seen[key][t.ID] = c
}

// Trajectory implements Log.
func (l *copyLog) Trajectory(stage string, step int, t *trajectory.Trajectory) error {
	l.see(stage, step, t)
	return l.Log.Trajectory(stage, step, t)
}

// Trajectories implements Log.
func (l *copyLog) Trajectories(stage string, step int) ([]Kept, error) {
	all, err := l.Log.Trajectories(stage, step)
	for _, k := range all {
		l.see(stage, step, k.Trajectory)
	}
	return all, err
}

// Metrics implements Log.
func (l *copyLog) Metrics(stage string, step int, m map[string]float64) error {
	l.mutex.Lock()
	key := fmt.Sprintf("%s %d", stage, step)
	of := l.seen[key]
	delete(l.seen, key)
	l.mutex.Unlock()
	var n, equal, near, right float64
	for _, c := range of {
		n++
		for count, yes := range map[*float64]bool{&equal: c.Equal, &near: c.Near, &right: c.Right} {
			if yes {
				*count++
			}
		}
	}
	m["copies/rows"] = n
	if n > 0 {
		m["copies/equal"], m["copies/near"], m["copies/fixed"] = equal/n, near/n, right/n
	}
	if n >= fewest && equal/n > mostCopied && !l.said[stage] {
		l.said[stage] = true
		l.Notice(
			fmt.Sprintf("alarm: the sidecar copies. Of %.0f drafts that need a change, "+
				"step %d of %s says %.0f%% again, mends %.0f%%, and in %.0f%% more than 90%% of the tokens are the "+
				"draft's%s: it learns to copy, not to revise. Give more drafts that need a change, or go on with GRPO",
				n, step, stage, 100*equal/n, 100*right/n, 100*near/n, l.context),
		)
	}
	return l.Log.Metrics(stage, step, m)
}
