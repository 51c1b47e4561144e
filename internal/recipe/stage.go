package recipe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
	"hone/internal/learn/batch"
)

// Upkeep is what a stage keeps, compares and measures between steps.
type Upkeep struct {
	CheckpointEvery int         // steps; 0: at the end only
	MaxMismatch     float64     // bound on the mean mismatch KL of a step, in nats a token (guarded)
	Validation      *Validation // while it trains; nil: none
	Parity          *Parity     // a probe of each policy that is given to the sampler; nil: none
	StragglerWait   float64     // Rollouts.Wait of a step's episodes
}

// Passed says whether a scored episode passed, where rules know that.
type Passed func(*trajectory.Trajectory) (passed, known bool)

// count counts the episodes of a group that passed, of those of which it is known. nil: those whose reward is above 0.
func (p Passed) count(g trajectory.Group) (passed, n float64) {
	for _, t := range g.Trajectories {
		if !t.Outcome.Trainable() {
			continue
		}
		yes, known := t.Reward > 0, true
		if p != nil {
			yes, known = p(t)
		}
		if known {
			n++
		}
		if known && yes {
			passed++
		}
	}
	return passed, n
}

// stage is a stage of GRPO that runs: what its loop calls, in the order in which it does.
type stage struct {
	GRPO
	scenarios []scenario.Scenario
	runner    Runner
	scorer    Scorer
	trainer   Trainer
	publisher Publisher
	log       Log
	progress  Progress

	start   int
	saves   savers
	overlap *Overlap // nil where rollouts and training take turns
	next    *ahead   // the episodes of the next step, where they have begun
	watch   watch
	clock   clock

	probed map[string]float64 // of the policy that was published last
}

// begin puts the trainer and the additions where the stage goes on.
func (s *stage) begin(ctx context.Context) (err error) {
	if err := s.usable(s.scenarios); err != nil {
		return err
	}
	s.watch = watch{stage: s.Stage, notice: s.log.Notice, said: map[string]bool{}, guard: guard{bound: s.MaxMismatch}}
	_, raft := AdditionOf[*RAFT](s.Additions)
	_, taught := AdditionOf[*Distillation](s.Additions)
	s.watch.other = raft || taught
	kept := states{}
	s.saves = savers{s.trainer, kept}
	for _, a := range s.Additions {
		if err := a.Begin(s); err != nil {
			return err
		}
		if name, state := a.State(); name != "" {
			kept[name] = state
		}
	}
	if s.Validation != nil {
		s.Validation.seen = map[int]string{}
		kept["validation"] = &s.Validation.seen
	}
	if s.start, err = resume(s.Stage, s.trainer, s.saves, s.log); err != nil {
		return err
	}
	for _, a := range s.Additions {
		if err := a.Resume(ctx); err != nil {
			return err
		}
	}
	s.clock.began = time.Now()
	return nil
}

// end stops what is still being sampled.
func (s *stage) end() { s.next.end() }

// usable refuses what nothing can be learnt from.
func (g GRPO) usable(scenarios []scenario.Scenario) error {
	if len(scenarios) == 0 || g.GroupsPerStep < 1 || g.GroupSize < 2 {
		return &fault.Error{Code: fault.CodeUsage, What: "there is nothing to train on", Where: g.Stage,
			Why: fmt.Sprintf("%s, %d groups of %d a step: an advantage compares at least two episodes",
				fault.Count(len(scenarios), "scenario"), g.GroupsPerStep, g.GroupSize),
			Next: "give at least one scenario, one group a step, and two episodes a group"}
	}
	return nil
}

// publish gives the sampler the adapter of a step, once the step's episodes are there where they had begun before,
// probes it, and measures it where that is due.
func (s *stage) publish(ctx context.Context, step int) (err error) {
	if s.next != nil {
		if _, err := s.next.wait(); err != nil {
			return err
		}
	}
	if err := Publish(s.publisher, fmt.Sprintf("%s step %d", s.Stage, step)); err != nil {
		return err
	}
	if err := s.overlap.notePublish(); err != nil {
		return err
	}
	s.probed, err = s.Parity.look(ctx, fmt.Sprintf("%s step %d", s.Stage, step), s.Temperature,
		s.MaxMismatch, s.trainer)
	if err != nil || !s.Validation.due(step, s.Steps) {
		return err
	}
	began := time.Now()
	news, err := s.Validation.run(ctx, step, step == s.start, s.scorer, s.log, s.progress)
	if err == nil && news {
		err = s.watch.compare(s.Validation, step, s.log)
	}
	s.clock.began = s.clock.began.Add(time.Since(began)) // the probe is the step's, measuring is not
	return err
}

// over reports whether a stage ends after so many steps: all are taken, or those of late made nothing better.
func (s *stage) over(steps int) (bool, error) {
	if steps == s.Steps {
		return true, nil
	}
	enough, best, err := s.Validation.enough(steps, s.Steps, s.log)
	if enough {
		s.log.Notice(fmt.Sprintf("training ends after step %d of %d: on validation nothing was better than after step "+
			"%d in %s (grpo.patience)", steps, s.Steps, best, fault.Count(s.Validation.Patience, "evaluation")))
	}
	return enough, err
}

// sample returns a step with its episodes.
func (s *stage) sample(ctx context.Context, number int) (*Step, error) {
	now := s.next
	if now == nil {
		now = begin(ctx, false, s.sampling(number))
	}
	s.next = nil
	episodes, err := now.wait()
	if err != nil {
		return nil, err
	}
	return &Step{Number: number, Sampling: episodes, Stale: now.stale, Metrics: map[string]float64{},
		Update: s.Optimizer.Update(number, s.Steps)}, nil
}

// add has additions add to a step what they learn from, and to its loss.
func (s *stage) add(ctx context.Context, step *Step) error {
	for _, a := range s.Additions {
		if err := a.AddRows(ctx, step); err != nil {
			return err
		}
	}
	return nil
}

// sampling samples the episodes of a step.
func (s *stage) sampling(number int) func(ctx context.Context) (Sampling, error) {
	return func(ctx context.Context) (e Sampling, err error) {
		p := &Picked{Step: number, Scenarios: s.tasks(s.scenarios, number)}
		for _, a := range s.Additions {
			a.Pick(p)
		}
		rollouts := Rollouts{Stage: s.Stage, Step: number, Again: number <= s.start+s.overlap.staleness(),
			GroupSize: s.GroupSize, Runner: s.runner, Scorer: s.scorer, Log: s.log, Progress: s.episodes(number),
			Others: p.Others, Keep: p.Keep, Wait: s.StragglerWait}
		groups, replaced, err := rollouts.sample(ctx, p.Scenarios)
		if err != nil {
			return e, err
		}
		e.Groups, e.Sampled = groups, slices.Concat(groups, replaced)
		for _, a := range s.Additions {
			if err := a.Sample(ctx, rollouts, &e); err != nil {
				return e, err
			}
		}
		return e, nil
	}
}

// tasks returns the scenarios of a step, all different. They are walked through in shuffled passes of as many whole
// steps as they fill; what is over sits the pass out, others each time.
func (g GRPO) tasks(scenarios []scenario.Scenario, step int) []scenario.Scenario {
	n := min(g.GroupsPerStep, len(scenarios))
	perPass := len(scenarios) / n
	order := permutation(len(scenarios), g.Seed, step/perPass)
	picked := make([]scenario.Scenario, n)
	for i := range picked {
		picked[i] = scenarios[order[step%perPass*n+i]]
	}
	return picked
}

// episodes is the progress within a step, which is said as the progress of the stage is: the first is step 1.
func (s *stage) episodes(step int) Progress {
	return func(_ string, done, total int, _ string) {
		s.progress(s.Stage+"/episodes", done, total, fmt.Sprintf("of step %d", step+1))
	}
}

// record writes down what is known of a step, whether it was taken or refused, and returns why it was refused.
func (s *stage) record(step *Step) error {
	m := s.measure(step)
	maps.Copy(m, s.probed)
	maps.Copy(m, step.Metrics)
	maps.Copy(m, step.shares())
	m["learning_rate"] = step.Update.Rate
	if s.Iterations > 1 || s.Minibatches > 1 {
		m["clip_ratio/region_mean"] = step.Stats.Clipped
	}
	step.Metrics = m
	for _, a := range s.Additions {
		a.See(step)
	}
	s.clock.step(m, s.trainer)
	err := s.log.Metrics(s.Stage, step.Number, m)
	if step.Refused != nil {
		return errors.Join(step.Refused, err)
	}
	return err
}

// measure is metricsOf, and the share of the episodes that passed, of those that say something of the policy, where it
// is known which do. They are of all episodes: what is kept of them is no fair sample.
func (s *stage) measure(step *Step) map[string]float64 {
	compared := batch.Compare(step.Sampled)
	m := metricsOf(step.Sampled, compared.GroupStats(s.Advantage.Of(compared.Groups)), step.Stats)
	if s.Passed == nil {
		return m
	}
	passed, n := 0.0, 0.0
	for _, group := range step.Sampled {
		p, of := s.Passed.count(group)
		passed, n = passed+p, n+of
	}
	if n > 0 {
		m["success"] = passed / n
	}
	return m
}

// checkpoint keeps the policy after so many steps where that is due; the best one is to be kept.
func (s *stage) checkpoint(steps int) error {
	if !checkpointDue(steps-1, s.Steps, s.CheckpointEvery) && !s.Validation.due(steps, s.Steps) {
		return nil
	}
	return s.log.Checkpoint(s.Stage, steps, s.saves.Save)
}

// tell says that a step is taken.
func (s *stage) tell(step *Step) {
	s.progress(s.Stage, step.Number+1, s.Steps, fmt.Sprintf("reward %.2f", step.Metrics["reward"]))
}

// unsaved is an error after which the trainer is not where a step ended, so that no checkpoint may be made of it.
type unsaved struct{ error }

// Unwrap returns the error.
func (u unsaved) Unwrap() error { return u.error }

// stop keeps the whole steps of a stage that cannot go on, and returns why.
func (s *stage) stop(err error, steps int) error {
	if u, ok := errors.AsType[unsaved](err); ok {
		return u.error
	}
	return stopStage(err, s.Stage, steps, s.saves, s.log)
}

// score gives rows of n episodes, which Episode numbers, the logprobs that the policy has for them as it is; mean is
// that of all their trained tokens.
func (s *stage) score(
	ctx context.Context, source string, rows []batch.Sequence, n int,
) (earlier []batch.Earlier, mean float64, err error) {
	b := batch.New(rows)
	logprobs, err := s.trainer.Score(ctx, b, s.Temperature)
	if err != nil {
		return nil, 0, err
	}
	earlier = make([]batch.Earlier, n)
	for i := range earlier {
		earlier[i].Source = source
	}
	sum, before := 0.0, len(b.Prefix)
	for i, row := range b.Rows {
		sum += sumTrainedTokens(row, logprobs[i])
		earlier[row.Episode].Rows = append(earlier[row.Episode].Rows, batch.Sequence{
			IDs:             slices.Concat(b.Prefix, row.IDs),
			Trained:         slices.Concat(make([]bool, before), row.Trained),
			SamplerLogprobs: slices.Concat(make([]float32, before), logprobs[i]),
			Scored:          true,
		})
	}
	return earlier, sum / float64(cmp.Or(b.NumTrained(), 1)), nil
}
