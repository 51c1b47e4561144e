package records

import (
	"context"
	"errors"

	"hone/internal/basemodel"
	"hone/internal/episode/rollout"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
	"hone/internal/recipe"
	"hone/internal/run/metrics"
)

// statusOf is how a run ended that ended with an error, or nil.
func statusOf(err error) metrics.Status {
	f, ok := errors.AsType[*fault.Error](err)
	switch {
	case err == nil:
		return metrics.Finished
	case errors.Is(err, context.Canceled) || ok && f.Code == fault.CodeStopped:
		return metrics.Stopped
	}
	return metrics.Failed
}

// Rollouts are r, whose episodes are the part Rollout of the run; Evaluation is the same for the part Eval.
func (t *Track) Rollouts(r recipe.Runner) recipe.Runner { return timedRunner{r, t, metrics.Rollout} }

// Evaluation implements what Rollouts says.
func (t *Track) Evaluation(r recipe.Runner) recipe.Runner { return timedRunner{r, t, metrics.Eval} }

// Scores is s, timed as the part Score, or as Eval.
func (t *Track) Scores(s recipe.Scorer, p metrics.Part) recipe.Scorer { return timedScorer{s, t, p} }

// Trainer is x, whose work is the part Train. scores is the part that logprobs are computed for: Eval where they
// measure, else Train.
func (t *Track) Trainer(x *basemodel.Trainer, scores metrics.Part) recipe.Trainer {
	return x.With(func(w basemodel.Work) func(int) {
		part := metrics.Train
		if w == basemodel.Scoring {
			part = scores
		}
		end := t.begin(part)
		return func(int) { end() }
	})
}

// Publisher is p, timed as the part Publish. It is a recipe.Rewinder where p is.
func (t *Track) Publisher(p recipe.Publisher) recipe.Publisher {
	timed := timedPublisher{p, t}
	if r, ok := p.(recipe.Rewinder); ok {
		return timedRewinder{timed, r}
	}
	return timed
}

// Validation is v, timed as the part Eval; nil where v is.
func (t *Track) Validation(v *recipe.Validation) *recipe.Validation {
	if v == nil {
		return nil
	}
	timed := *v
	timed.Runner = t.Evaluation(v.Runner)
	if v.Scorer != nil {
		timed.Scorer = t.Scores(v.Scorer, metrics.Eval)
	}
	return &timed
}

type timedRunner struct {
	recipe.Runner
	track *Track
	part  metrics.Part
}

// Run implements recipe.Runner. An episode is under way from when it is asked for until it is handed over.
func (r timedRunner) Run(ctx context.Context, requests <-chan rollout.Request) <-chan *trajectory.Trajectory {
	asked, ended := make(chan rollout.Request), make(chan *trajectory.Trajectory)
	go func() {
		defer close(asked)
		for q := range requests {
			r.track.watch.Begin(r.part)
			asked <- q
		}
	}()
	go func() {
		defer close(ended)
		for t := range r.Runner.Run(ctx, asked) {
			r.track.watch.End(r.part)
			ended <- t
		}
	}()
	return ended
}

type timedScorer struct {
	recipe.Scorer
	track *Track
	part  metrics.Part
}

// Score implements recipe.Scorer.
func (s timedScorer) Score(ctx context.Context, x *scenario.Scenario, g trajectory.Group) ([]trajectory.Score, error) {
	defer s.track.begin(s.part)()
	return s.Scorer.Score(ctx, x, g)
}

type timedPublisher struct {
	recipe.Publisher
	track *Track
}

// Publish implements recipe.Publisher.
func (p timedPublisher) Publish() error {
	defer p.track.begin(metrics.Publish)()
	return p.Publisher.Publish()
}

// Policies implements recipe.Publisher.
func (p timedPublisher) Policies() (trained string, sampled []string, err error) {
	defer p.track.begin(metrics.Publish)()
	return p.Publisher.Policies()
}

// timedRewinder is a timedPublisher whose samplers can hold a policy that the trainer has left.
type timedRewinder struct {
	timedPublisher
	rewinder recipe.Rewinder
}

// Keep implements recipe.Rewinder.
func (p timedRewinder) Keep() (save func(dir string) error, err error) { return p.rewinder.Keep() }

// Restore implements recipe.Rewinder.
func (p timedRewinder) Restore(dir string) error {
	defer p.track.begin(metrics.Publish)()
	return p.rewinder.Restore(dir)
}
