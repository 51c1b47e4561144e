package recipe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hone/internal/episode/rollout"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
	"hone/internal/learn/batch"
)

// fakeTrainer's state is the list of its steps; before is called ahead of each.
type fakeTrainer struct {
	resets    int // not kept in checkpoints
	Steps     []string
	made      int // programs, of which each takes a second
	prepared  []string
	gradient  string // not applied yet
	published int
	mismatch  float64
	apart     int // steps whose gradient has no mismatch yet
	before    func(step int)
	publish   func(f *fakeTrainer) // what Publish does; nil: what it is to do
	Reference int                  // steps of the policy that is held for comparison, and one
}

func (f *fakeTrainer) Gradient(ctx context.Context, b batch.Batch, o batch.Objective) (batch.StepStats, error) {
	if f.before != nil {
		f.before(len(f.Steps))
	}
	if ctx.Err() != nil {
		return batch.StepStats{}, ctx.Err()
	}
	f.gradient = fmt.Sprintf("sft %v", b)
	if o != (batch.Objective{}) {
		f.gradient = fmt.Sprintf("sft by %v: %v", o, b)
	}
	if o.Loss != batch.LossLikelihood {
		f.gradient = fmt.Sprintf("grpo %v %v", o, b)
	}
	// as of a step with many tokens
	s := batch.StepStats{Loss: float64(len(fmt.Sprint(f.Steps, f.gradient))), NumTrained: leastTokens,
		NumSampled: leastTokens}
	if len(f.Steps) >= f.apart {
		s.Mismatch = f.mismatch
	}
	if o.Bonus.On {
		s.Entropy = []float64{0.5, 0.5, 0.1, 0.1, 0.2, 0.3, 0.1}[len(f.Steps)%7]
		s.EntropyChosen, s.NumChosen = s.Entropy+0.125, 1
	}
	return s, nil
}

// Prepare takes a second for each batch.
func (f *fakeTrainer) Prepare(batches []batch.Batch, o batch.Objective) {
	f.made += len(batches)
	f.prepared = append(f.prepared, fmt.Sprint(len(f.Steps), batches, o))
}

func (f *fakeTrainer) CompileStats() (programs int, seconds float64) {
	programs, f.made = f.made, 0
	return programs, float64(programs)
}

func (f *fakeTrainer) Apply(u batch.Update) (float64, error) {
	if f.gradient == "" {
		return 0, errors.New("no gradient")
	}
	f.Steps, f.gradient = append(f.Steps, fmt.Sprintf("%s %v", f.gradient, u)), ""
	return float64(len(f.Steps)), nil
}

func (f *fakeTrainer) Snapshot() (func() error, error) {
	steps := slices.Clone(f.Steps)
	return func() error { f.Steps = steps; return nil }, nil
}

// Score says of each token how many steps were taken.
func (f *fakeTrainer) Score(ctx context.Context, b batch.Batch, temperature float64) ([][]float32, error) {
	return f.scores(ctx, b, len(f.Steps))
}

func (f *fakeTrainer) ScoreReference(ctx context.Context, b batch.Batch, temperature float64) ([][]float32, error) {
	if f.Reference == 0 {
		return nil, errors.New("no reference")
	}
	return f.scores(ctx, b, 100+f.Reference-1)
}

// Entropies says of each token how likely it is to be chosen: more to the left, and less after each step.
func (f *fakeTrainer) Entropies(ctx context.Context, b batch.Batch, _ float64) (all [][]float32, err error) {
	for _, r := range b.Rows {
		of := make([]float32, len(r.IDs))
		for i := range of {
			of[i] = 1 / float32(1+i+len(f.Steps))
		}
		all = append(all, of)
	}
	return all, ctx.Err()
}

func (f *fakeTrainer) scores(ctx context.Context, b batch.Batch, steps int) (all [][]float32, err error) {
	for _, r := range b.Rows {
		all = append(all, batch.Even(len(r.IDs), -float64(steps)/8))
	}
	return all, ctx.Err()
}

func (f *fakeTrainer) HoldReference() error { f.Reference = 1 + len(f.Steps); return nil }

func (f *fakeTrainer) ResetOptimizer() error { f.resets++; return nil }

func (f *fakeTrainer) Publish() error {
	if f.publish != nil {
		f.publish(f)
		return nil
	}
	f.published = len(f.Steps)
	return nil
}

func (f *fakeTrainer) Policies() (trained string, sampled []string, err error) {
	return fmt.Sprint(len(f.Steps)), []string{fmt.Sprint(f.published)}, nil
}

func (f *fakeTrainer) Save(dir string) error {
	text, err := json.Marshal(append([]string{fmt.Sprint(f.Reference)}, f.Steps...))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "steps"), text, 0o644)
}

func (f *fakeTrainer) Load(dir string) error {
	text, err := os.ReadFile(filepath.Join(dir, "steps"))
	if err != nil {
		return err
	}
	f.Steps = nil
	if err := json.Unmarshal(text, &f.Steps); err != nil {
		return err
	}
	_, err = fmt.Sscan(f.Steps[0], &f.Reference)
	f.Steps = f.Steps[1:]
	return err
}

// fakeRunner's episodes depend on the published policy. Once ctx ends, so do they, as infrastructure errors.
type fakeRunner struct {
	trainer  *fakeTrainer
	outcome  trajectory.Outcome
	before   func(step, episode int)
	episodes int // run, and not taken from the log
	shape    func(q rollout.Request, t *trajectory.Trajectory)
}

func (f *fakeRunner) Run(ctx context.Context, requests <-chan rollout.Request) <-chan *trajectory.Trajectory {
	ended := make(chan *trajectory.Trajectory)
	go func() {
		defer close(ended)
		n := 0
		for q := range requests {
			f.episodes++
			if f.before != nil {
				f.before(q.Step, n)
			}
			n++
			s := q.Scenario
			t := &trajectory.Trajectory{
				ID:         fmt.Sprintf("%s/%d/%d", s.ID, q.Step, q.Rollout),
				ScenarioID: s.ID,
				Scenario:   s.Hash(),
				Rollout:    q.Rollout,
				Outcome:    f.outcome,
				Turns: []trajectory.Turn{{BridgeIDs: []int32{1, int32(s.ID[0])},
					CompletionIDs:   []int32{int32(100 + q.Rollout), int32(f.trainer.published)},
					SamplerLogprobs: []float32{-1, -2}}},
			}
			if f.shape != nil {
				f.shape(q, t)
			}
			if ctx.Err() != nil {
				t.Outcome = trajectory.InfrastructureError
			}
			ended <- t
		}
	}()
	return ended
}

// scoreFunc scores by rollout.
type scoreFunc func(rollout int) float64

func (f scoreFunc) Score(_ context.Context, s *scenario.Scenario, g trajectory.Group) ([]trajectory.Score, error) {
	scores := make([]trajectory.Score, len(g.Trajectories))
	for i, t := range g.Trajectories {
		if s.ID != t.ScenarioID || t.Rollout != g.Trajectories[0].Rollout+i {
			panic("scored under another scenario, or in another order")
		}
		if t.Outcome.Trainable() {
			scores[i] = trajectory.Score{Reward: f(i),
				Terms: []trajectory.Term{{Name: "checks", Score: f(i), Weight: 1}}}
		}
	}
	return scores, nil
}

func byRollout(rollout int) float64 { return float64(rollout) }

// memoryLog keeps the last trajectory of an id, as the run directory does.
type memoryLog struct {
	root     string
	Kept     map[string]trajectory.Trajectory // by stage, step and id, as they ended
	Earned   map[string]trajectory.Score      // by stage and id
	Metric   map[string]map[string]float64    // by stage and step
	said     []string
	latest   map[string]int
	Finished map[string]bool
}

func newLog(t *testing.T) *memoryLog {
	return &memoryLog{t.TempDir(), map[string]trajectory.Trajectory{}, map[string]trajectory.Score{},
		map[string]map[string]float64{}, nil, map[string]int{}, map[string]bool{}}
}

func (l *memoryLog) Trajectory(stage string, step int, t *trajectory.Trajectory) error {
	if t.Terms != nil {
		return errors.New("it was scored before it was kept")
	}
	l.Kept[fmt.Sprintf("%s %d %s", stage, step, t.ID)] = *t
	delete(l.Earned, stage+" "+t.ID)
	return nil
}

func (l *memoryLog) Scores(stage string, g trajectory.Group, scores []trajectory.Score) error {
	for i, s := range scores {
		l.Earned[stage+" "+g.Trajectories[i].ID] = s
	}
	return nil
}

// Trajectories come in another order than scenarios have, as episodes of a real run do not end in their order.
func (l *memoryLog) Trajectories(stage string, step int) (all []Kept, err error) {
	for _, key := range slices.Backward(slices.Sorted(maps.Keys(l.Kept))) {
		if t := l.Kept[key]; strings.HasPrefix(key, fmt.Sprintf("%s %d ", stage, step)) {
			k := Kept{Trajectory: &t}
			if score, ok := l.Earned[stage+" "+t.ID]; ok {
				k.Score = &score
			}
			all = append(all, k)
		}
	}
	return all, nil
}

func (l *memoryLog) Finish(stage string) error { l.Finished[stage] = true; return nil }

func (l *memoryLog) Metrics(stage string, step int, m map[string]float64) error {
	for name := range m {
		if strings.HasPrefix(name, "time/") || name == "step_time" { // a clock's, which no two runs share
			delete(m, name)
		}
	}
	l.Metric[fmt.Sprint(stage, step)] = m
	return nil
}

func (l *memoryLog) StepMetrics(stage string, step int) (map[string]float64, bool, error) {
	m, ok := l.Metric[fmt.Sprint(stage, step)]
	return m, ok, nil
}

func (l *memoryLog) Measurements(stage string) (map[int]map[string]float64, error) {
	all := map[int]map[string]float64{}
	for key, m := range l.Metric {
		if step, err := strconv.Atoi(strings.TrimPrefix(key, stage)); err == nil {
			all[step] = m
		}
	}
	return all, nil
}

func (l *memoryLog) Notice(text string) { l.said = append(l.said, text) }

func (l *memoryLog) dir(stage string, step int) string {
	return filepath.Join(l.root, fmt.Sprint(stage, step))
}

func (l *memoryLog) Checkpoint(stage string, step int, write func(string) error) error {
	l.latest[stage] = step
	if err := os.MkdirAll(l.dir(stage, step), 0o755); err != nil {
		return err
	}
	return write(l.dir(stage, step))
}

func (l *memoryLog) Latest(stage string) (string, int, error) {
	return l.dir(stage, l.latest[stage]), l.latest[stage], nil
}

func silent(string, int, int, string) {}

func scenarios(n int) []scenario.Scenario {
	s := make([]scenario.Scenario, n)
	for i := range s {
		s[i].ID = string(rune('a' + i))
	}
	return s
}

func demonstrations(n int) []batch.Sequence {
	rows := make([]batch.Sequence, n)
	for i := range rows {
		rows[i] = batch.Sequence{IDs: []int32{1, int32(i), 2}, Trained: []bool{false, false, true}}
	}
	return rows
}

func grpo() GRPO {
	return GRPO{Stage: "grpo", Steps: 7, GroupsPerStep: 2, GroupSize: 2, Seed: 7,
		Loss:    Loss{Name: batch.LossDAPO, Clip: batch.Clip{Low: 0.2, High: 0.28}},
		Updates: Updates{Optimizer: Optimizer{LearningRate: 0.5, Schedule: Schedule{Warmup: 0.1}}},
		Upkeep:  Upkeep{CheckpointEvery: 3, MaxMismatch: 0.1}}
}

// with is g with more additions.
func (g GRPO) with(more ...Addition) GRPO {
	g.Additions = slices.Concat(g.Additions, more)
	return g
}

// without is g without an addition.
func without[T Addition](g GRPO) GRPO {
	g.Additions = slices.DeleteFunc(slices.Clone(g.Additions), func(a Addition) bool { _, is := a.(T); return is })
	return g
}

// begun is a stage on some scenarios whose additions have begun.
func begun(t *testing.T, g GRPO, list []scenario.Scenario) *stage {
	t.Helper()
	s := &stage{GRPO: g, scenarios: list}
	for _, a := range g.Additions {
		if err := a.Begin(s); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// of is the addition of a kind, which the stage has.
func of[T Addition](s *stage) T {
	a, _ := AdditionOf[T](s.Additions)
	return a
}

// took is a step that is taken, with groups that all are learnt from.
func took(groups ...trajectory.Group) *Step {
	return &Step{Sampling: Sampling{Groups: groups, Sampled: groups}, Metrics: map[string]float64{}, Taken: true}
}

func pipeline() Pipeline {
	return Pipeline{
		SFT: SFT{Stage: "sft", Epochs: 2, BatchSize: 2,
			Optimizer: Optimizer{LearningRate: 0.1, Schedule: Schedule{Warmup: 0.1}}, CheckpointEvery: 2, Seed: 3},
		GRPO: grpo(),
	}
}

// attempt runs the pipeline with a fresh trainer, as a new process would. stop may cancel before an optimiser step of
// the trainer or before an episode.
func attempt(log *memoryLog, stopStep int, stopEpisode [2]int) (*fakeTrainer, []System, [2]int, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	trainer := &fakeTrainer{before: func(step int) {
		if step == stopStep {
			cancel()
		}
	}}
	sampled := &fakeRunner{trainer: trainer, outcome: trajectory.OK, before: func(step, episode int) {
		if [2]int{step, episode} == stopEpisode {
			cancel()
		}
	}}
	greedy := &fakeRunner{trainer: trainer, outcome: trajectory.OK}
	d := Data{Demonstrations: demonstrations(5), Train: scenarios(5), Test: scenarios(3)}
	systems, err := pipeline().Run(ctx, d, sampled, greedy, scoreFunc(byRollout), trainer, trainer, log, silent)
	return trainer, systems, [2]int{sampled.episodes, greedy.episodes}, err
}

var never = [2]int{-1, -1}

func TestResumedPipelineEqualsUninterrupted(t *testing.T) {
	wantLog := newLog(t)
	want, wantSystems, _, err := attempt(wantLog, -1, never)
	if err != nil || len(want.Steps) != 13 || want.published != 13 || len(wantSystems) != 3 {
		t.Fatalf("%v: %d steps, %d published, %d systems", err, len(want.Steps), want.published, len(wantSystems))
	}
	type stop struct {
		step    int
		episode [2]int
	}
	stops := []stop{{-1, [2]int{0, 0}}, {-1, [2]int{1, 3}}, {-1, [2]int{4, 1}}, {-1, [2]int{6, 2}}}
	for step := range want.Steps {
		stops = append(stops, stop{step, never})
	}
	for _, s := range stops {
		log := newLog(t)
		if _, _, _, err := attempt(log, s.step, s.episode); !errors.Is(err, context.Canceled) {
			t.Fatalf("%v: stopped with %v", s, err)
		}
		got, systems, _, err := attempt(log, -1, never)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got.Steps, want.Steps) {
			t.Errorf("%v: batches\n%q, want\n%q", s, got.Steps, want.Steps)
		}
		if !reflect.DeepEqual(log.Metric, wantLog.Metric) || !reflect.DeepEqual(log.Kept, wantLog.Kept) ||
			!reflect.DeepEqual(log.Earned, wantLog.Earned) || !reflect.DeepEqual(log.Finished, wantLog.Finished) {
			t.Errorf("%v: the log differs", s)
		}
		if !reflect.DeepEqual(systems, wantSystems) {
			t.Errorf("%v: evaluations %v, want %v", s, systems, wantSystems)
		}
	}
}

func TestPipelineSkipsFinishedStages(t *testing.T) {
	log := newLog(t)
	_, want, calls, err := attempt(log, -1, never)
	if err != nil || calls != [2]int{7 * 4, 3 * 3} {
		t.Fatal(calls, err)
	}
	trainer, got, calls, err := attempt(log, 0, [2]int{0, 0}) // a step or an episode would stop it
	if err != nil || calls != [2]int{} || trainer.published != 13 || !reflect.DeepEqual(got, want) {
		t.Errorf("%v calls, %d published, %v: %v", calls, trainer.published, got, err)
	}
}

// A stopped evaluation keeps the episodes it had and later runs only the others.
func TestStoppedEvaluationGoesOn(t *testing.T) {
	whole, err := Evaluation{Stage: "eval_base", Runner: &fakeRunner{trainer: &fakeTrainer{}, outcome: trajectory.OK},
		Scorer: scoreFunc(byRollout), Log: newLog(t), Progress: silent}.Run(context.Background(), scenarios(3))
	if err != nil {
		t.Fatal(err)
	}
	for episode := range 3 {
		log := newLog(t)
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		r := &fakeRunner{trainer: &fakeTrainer{}, outcome: trajectory.OK, before: func(_, n int) {
			if n == episode {
				cancel()
			}
		}}
		_, err := Evaluation{Stage: "eval_base", Runner: r, Scorer: scoreFunc(byRollout), Log: log,
			Progress: silent}.Run(ctx, scenarios(3))
		if !errors.Is(err, context.Canceled) || len(log.Kept) != episode || log.Finished["eval_base"] {
			t.Errorf("%v, %d trajectories", err, len(log.Kept))
		}
		r.before = nil
		r.episodes = 0
		got, err := Evaluation{Stage: "eval_base", Runner: r, Scorer: scoreFunc(byRollout), Log: log,
			Progress: silent}.Run(context.Background(), scenarios(3))
		if err != nil || r.episodes != 3-episode || !reflect.DeepEqual(got, whole) {
			t.Errorf("%v, %d more episodes gave %v, want %v", err, r.episodes, got, whole)
		}
	}
}

// Episodes of a scenario that was edited while the run was stopped are not taken for those of the scenario as it is
// now.
func TestEditedScenarioIsRunAgain(t *testing.T) {
	log, r, list := newLog(t), &fakeRunner{trainer: &fakeTrainer{}, outcome: trajectory.OK}, scenarios(3)
	for i, want := range []int{3, 0, 1} {
		if r.episodes = 0; i == 2 {
			list[1].Task += " Now."
		}
		if _, err := (Evaluation{Stage: "eval_base", Runner: r, Scorer: scoreFunc(byRollout), Log: log,
			Progress: silent}).Run(context.Background(), list); err != nil || r.episodes != want {
			t.Errorf("%d: %v, %d episodes, want %d", i, err, r.episodes, want)
		}
	}
}

// train runs GRPO and returns its trainer and log.
func train(
	t *testing.T, outcome trajectory.Outcome, score scoreFunc, mismatch float64,
) (*fakeTrainer, *memoryLog, error) {
	trainer, log := &fakeTrainer{mismatch: mismatch}, newLog(t)
	r := &fakeRunner{trainer: trainer, outcome: outcome}
	return trainer, log, grpo().Run(context.Background(), scenarios(5), r, score, trainer, trainer, log, silent)
}

func TestGRPOTrainsOnlyWhatTeaches(t *testing.T) {
	flat := func(int) float64 { return 0.5 }
	for _, c := range []struct {
		name    string
		outcome trajectory.Outcome
		score   scoreFunc
		steps   int
		metrics map[string]float64
	}{
		{"spread", trajectory.OK, byRollout, 7, map[string]float64{
			"reward": 0.5, "reward_spread": math.Sqrt(0.5), "reward_std": math.Sqrt(1.0 / 3),
			"rewards/checks/mean": 0.5, "rewards/checks/std": math.Sqrt(1.0 / 3), "outcome/ok": 4,
			"completions/mean_length": 2, "turns/mean": 1,
		}},
		{"policy error", trajectory.PolicyError, byRollout, 7, map[string]float64{"outcome/policy_error": 4}},
		{"no spread", trajectory.OK, flat, 0, map[string]float64{"frac_reward_zero_std": 1, "reward": 0.5, "frac_groups_empty": 0}},
	} {
		trainer, log, err := train(t, c.outcome, c.score, 0)
		if err != nil || len(trainer.Steps) != c.steps || len(log.Metric) != 7 {
			t.Errorf("%s: %d optimiser steps, %d metrics, %v", c.name, len(trainer.Steps), len(log.Metric), err)
		}
		for name, want := range c.metrics {
			if got, ok := log.Metric["grpo0"][name]; !ok || math.Abs(got-want) > 1e-12 {
				t.Errorf("%s: %s is %v, want %v", c.name, name, got, want)
			}
		}
	}
}

// Of three groups one says nothing about the policy, and one has no spread: each is a share of its own.
func TestEmptyGroupsAreReported(t *testing.T) {
	group := func(outcome trajectory.Outcome, rewards ...float64) (g trajectory.Group) {
		for _, r := range rewards {
			g.Trajectories = append(g.Trajectories, &trajectory.Trajectory{Outcome: outcome, Reward: r})
		}
		return g
	}
	groups := []trajectory.Group{group(trajectory.OK, 0, 1), group(trajectory.EnvironmentError, 0, 1),
		group(trajectory.OK, 1, 1)}
	m := begun(t, grpo(), nil).measure(took(groups...))
	for name, want := range map[string]float64{
		"frac_groups_empty":         1.0 / 3,
		"frac_reward_zero_std":      1.0 / 2,
		"reward":                    3.0 / 4,
		"outcome/environment_error": 2,
	} {
		if math.Abs(m[name]-want) > 1e-12 {
			t.Errorf("%s is %v, want %v", name, m[name], want)
		}
	}
}

// Equal rewards are no spread, whatever their mean rounds to: seven times 1.55/7 is not 1.55. A term that some episodes
// do not have is averaged over those that do, as TRL's is.
func TestMetricsOfEqualRewardsAndAbsentTerms(t *testing.T) {
	var g trajectory.Group
	for i := range 7 {
		e := &trajectory.Trajectory{Outcome: trajectory.OK, Reward: 1.55,
			Terms: []trajectory.Term{{Name: "end", Score: 1}}}
		if i < 2 {
			e.Terms = append(e.Terms, trajectory.Term{Name: "repeat", Score: float64(i)})
			e.User = &trajectory.User{Turns: 1 + 2*i, PromptTokens: 10 * i, CompletionTokens: i}
		}
		g.Trajectories = append(g.Trajectories, e)
	}
	m := begun(t, grpo(), nil).measure(took(g))
	for name, want := range map[string]float64{
		"frac_reward_zero_std": 1, "reward": 1.55, "rewards/end/mean": 1, "rewards/repeat/mean": 0.5, "user/turns": 2,
		"user/tokens": 5.5,
	} {
		if math.Abs(m[name]-want) > 1e-12 {
			t.Errorf("%s is %v, want %v", name, m[name], want)
		}
	}
	if m["reward_spread"] != 0 { // a run without any spread is told from one with little by this
		t.Errorf("reward_spread is %v, want exactly 0", m["reward_spread"])
	}
}

// What is said to have failed is one episode's story: a server's, where there is one, since the rest may follow from
// it.
func TestNothingRanNamesOneEpisode(t *testing.T) {
	episode := func(id string, o trajectory.Outcome) *trajectory.Trajectory {
		return &trajectory.Trajectory{ID: id, Outcome: o, Error: "why " + id}
	}
	for _, c := range []struct {
		name     string
		episodes []*trajectory.Trajectory
		code     fault.Code
		where    string
	}{
		{
			"ours", []*trajectory.Trajectory{episode("a", trajectory.InfrastructureError),
				episode("b", trajectory.InfrastructureError)}, fault.CodeError, "episode a",
		},
		{
			"a server's, then ours", []*trajectory.Trajectory{episode("a", trajectory.EnvironmentError),
				episode("b", trajectory.InfrastructureError)}, fault.CodeUnavailable, "episode a",
		},
		{
			"ours, then a server's", []*trajectory.Trajectory{episode("a", trajectory.InfrastructureError),
				episode("b", trajectory.EnvironmentError)}, fault.CodeUnavailable, "episode b",
		},
	} {
		err, ok := errors.AsType[*fault.Error](NothingRan(c.episodes))
		if !ok || err.Code != c.code || err.Where != c.where ||
			"episode "+strings.TrimPrefix(err.Why, "why ") != c.where || !strings.Contains(err.Next, "hone ") {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if err := NothingRan([]*trajectory.Trajectory{episode("a", trajectory.EnvironmentError),
		episode("b", trajectory.Limit)}); err != nil {
		t.Errorf("one episode ran: %v", err)
	}
	if err := NothingRan(nil); err != nil {
		t.Errorf("there was none to run: %v", err)
	}
}

// A server that is gone must not be trained on, evaluated, nor read back as a result once it is there again.
func TestNothingRunIsAnError(t *testing.T) {
	trainer, log := &fakeTrainer{}, newLog(t)
	r := &fakeRunner{trainer: trainer, outcome: trajectory.EnvironmentError}
	for name, run := range map[string]func() error{
		"grpo": func() error {
			return grpo().Run(context.Background(), scenarios(5), r, scoreFunc(byRollout), trainer, trainer,
				log, silent)
		},
		"eval": func() error {
			_, err := Evaluation{Stage: "eval", Runner: r, Scorer: scoreFunc(byRollout), Log: log,
				Progress: silent}.Run(context.Background(), scenarios(5))
			return err
		},
	} {
		var f *fault.Error
		if err := run(); !errors.As(err, &f) || f.Code != fault.CodeUnavailable {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(trainer.Steps) != 0 || len(log.Metric) != 0 {
		t.Errorf("steps %v, metrics %v", trainer.Steps, log.Metric)
	}
	r.outcome = trajectory.OK
	ts, err := Evaluation{Stage: "eval", Runner: r, Scorer: scoreFunc(byRollout), Log: log,
		Progress: silent}.Run(context.Background(), scenarios(5))
	if err != nil || len(ts) != 5 || ts[0].Outcome != trajectory.OK {
		t.Errorf("%v: %d trajectories", err, len(ts))
	}
}

func TestMismatchStopsTheRun(t *testing.T) {
	for _, mismatch := range []float64{0.11, math.Inf(1), math.NaN()} {
		trainer, log, err := train(t, trajectory.OK, byRollout, mismatch)
		var f *fault.Error
		if !errors.As(err, &f) || f.Where != "grpo step 0" || len(trainer.Steps) != 0 || log.latest["grpo"] != 0 ||
			len(log.Metric) != 1 {
			t.Errorf("%v: %v after %d steps", mismatch, err, len(trainer.Steps))
		}
	}
	if _, _, err := train(t, trajectory.OK, byRollout, 0.1); err != nil {
		t.Errorf("at the bound: %v", err)
	}
}

// The step whose sampler and trainer are apart is not taken; those before it are kept, and a resumed run goes on after
// them.
func TestMismatchKeepsTheStepsBefore(t *testing.T) {
	trainer, log := &fakeTrainer{mismatch: 0.2, apart: 5}, newLog(t)
	runner := &fakeRunner{trainer: trainer, outcome: trajectory.OK}
	err := grpo().Run(context.Background(), scenarios(5), runner, scoreFunc(byRollout), trainer, trainer, log, silent)
	if f, ok := errors.AsType[*fault.Error](err); !ok || f.Where != "grpo step 5" || len(trainer.Steps) != 5 ||
		log.latest["grpo"] != 5 {
		t.Fatalf("%v after %d steps, of which %d are kept", err, len(trainer.Steps), log.latest["grpo"])
	}
	if got := log.Metric["grpo5"]["sampling/mismatch_kl"]; got != 0.2 {
		t.Errorf("the refused step's mismatch is recorded as %v", got)
	}
	want, _, err := train(t, trajectory.OK, byRollout, 0)
	if err != nil {
		t.Fatal(err)
	}
	again := &fakeTrainer{}
	runner.trainer = again
	if err := grpo().Run(context.Background(), scenarios(5), runner, scoreFunc(byRollout), again, again, log,
		silent); err != nil || !slices.Equal(again.Steps, want.Steps) {
		t.Errorf("%v: resumed to %q, want %q", err, again.Steps, want.Steps)
	}
}

// Rollouts' temperature reaches the policy gradient; demonstrations have none.
func TestTemperatureOfObjectives(t *testing.T) {
	p := pipeline()
	p.GRPO.Temperature = 0.7
	trainer := &fakeTrainer{}
	runner := &fakeRunner{trainer: trainer, outcome: trajectory.OK}
	if _, err := p.Run(context.Background(),
		Data{Demonstrations: demonstrations(5), Train: scenarios(5), Test: scenarios(3)}, runner, runner,
		scoreFunc(byRollout), trainer, trainer, newLog(t), silent); err != nil {
		t.Fatal(err)
	}
	for i, s := range trainer.Steps {
		if sampled := strings.HasPrefix(s, "grpo {dapo {0.2 0.28 0} {0  } 0 0.7 {false 0}}"); sampled != (i >= 6) ||
			!sampled && !strings.HasPrefix(s, "sft {") {
			t.Errorf("step %d: %s", i, s)
		}
	}
}

func TestGRPOTasksCoverEachPass(t *testing.T) {
	g := GRPO{GroupsPerStep: 2, Seed: 1}
	for pass := range 3 {
		seen := map[string]bool{}
		for step := range 3 {
			for _, s := range g.tasks(scenarios(6), pass*3+step) {
				seen[s.ID] = true
			}
		}
		if len(seen) != 6 {
			t.Errorf("pass %d saw %v", pass, seen)
		}
	}
	left := map[string]bool{} // of seven, one sits each pass out, and not always the same
	for pass := range 9 {
		seen := map[string]bool{}
		for step := range 3 {
			for _, s := range g.tasks(scenarios(7), pass*3+step) {
				seen[s.ID] = true
			}
		}
		if len(seen) != 6 {
			t.Errorf("pass %d of seven saw %v", pass, seen)
		}
		for _, s := range scenarios(7) {
			if !seen[s.ID] {
				left[s.ID] = true
			}
		}
	}
	if len(left) < 3 {
		t.Errorf("only %v ever sat a pass out", left)
	}
	if got := g.tasks(scenarios(1), 4); len(got) != 1 {
		t.Errorf("one scenario gave %v", got)
	}
}

func TestRate(t *testing.T) {
	for _, c := range []struct {
		step, total int
		want        float64
	}{{0, 20, 1}, {1, 20, 2}, {2, 20, 2}, {11, 20, 1}, {19, 20, 2.0 / 18}, {0, 1, 2}, {0, 5, 2}, {4, 5, 0.5}} {
		if got := (Schedule{Warmup: 0.1}).Rate(2, c.step, c.total); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("step %d of %d: got %v, want %v", c.step, c.total, got, c.want)
		}
	}
}

func TestShuffledIsAPermutation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, seed, epoch :=
			rapid.IntRange(0, 60).Draw(t, "n"), rapid.Uint64().Draw(t, "seed"), rapid.IntRange(0, 9).Draw(t, "epoch")
		order := permutation(n, seed, epoch)
		if !slices.Equal(order, permutation(n, seed, epoch)) {
			t.Fatal("the same seed gave another order")
		}
		slices.Sort(order)
		for i, x := range order {
			if i != x {
				t.Fatalf("%v is no permutation", order)
			}
		}
	})
	if slices.Equal(permutation(30, 1, 0), permutation(30, 1, 1)) ||
		slices.Equal(permutation(30, 1, 0), permutation(30, 2, 0)) {
		t.Error("the order does not depend on epoch and seed")
	}
}

func TestNothingToTrainOnIsAnError(t *testing.T) {
	trainer := &fakeTrainer{}
	runner := &fakeRunner{trainer: trainer, outcome: trajectory.OK}
	alone := grpo()
	alone.GroupSize = 1
	short := pipeline().SFT
	short.Epochs = 0
	for name, err := range map[string]error{
		"no scenarios":  grpo().Run(context.Background(), nil, runner, scoreFunc(byRollout), trainer, trainer, newLog(t), silent),
		"groups of one": alone.Run(context.Background(), scenarios(3), runner, scoreFunc(byRollout), trainer, trainer, newLog(t), silent),
		"no rows":       pipeline().SFT.Run(context.Background(), nil, trainer, trainer, newLog(t), silent),
		"no steps":      short.Run(context.Background(), demonstrations(5), trainer, trainer, newLog(t), silent),
		"nothing kept": Rejection{GroupSize: 2, SFT: pipeline().SFT,
			Keep: func(*trajectory.Trajectory) bool { return false }}.Run(
			context.Background(), scenarios(3), runner, scoreFunc(byRollout), trainer, trainer, newLog(t), silent),
	} {
		if f, ok := errors.AsType[*fault.Error](err); !ok || f.Next == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(trainer.Steps) != 0 {
		t.Errorf("it trained: %v", trainer.Steps)
	}
}

// Only what was kept is trained on, each wording once, for as many steps as asked, and the same after a stop.
func TestRejectionTrainsOnWhatWasKept(t *testing.T) {
	r := Rejection{
		GroupSize: 3,
		SFT: SFT{Stage: "kept", Steps: 7, BatchSize: 2,
			Optimizer: Optimizer{LearningRate: 1, Schedule: Schedule{Warmup: 0.1}}, CheckpointEvery: 2, Seed: 5},
		Keep: func(t *trajectory.Trajectory) bool { return t.Rollout > 0 },
	}
	run := func(log *memoryLog, stop int) (*fakeTrainer, *fakeRunner, error) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		trainer := &fakeTrainer{before: func(step int) {
			if step == stop {
				cancel()
			}
		}}
		runner := &fakeRunner{trainer: trainer, outcome: trajectory.OK}
		return trainer, runner, r.Run(ctx, scenarios(2), runner, scoreFunc(byRollout), trainer, trainer, log, silent)
	}
	want, _, err := run(newLog(t), -1)
	if err != nil || len(want.Steps) != 7 || want.published != 7 {
		t.Fatalf("%v: %d steps, %d published", err, len(want.Steps), want.published)
	}
	if text := fmt.Sprint(want.Steps); strings.Contains(text, "100") || !strings.Contains(text, "101") ||
		!strings.Contains(text, "102") {
		t.Errorf("rollout 0 was rejected, 1 and 2 were not; trained on %s", text)
	}
	log := newLog(t)
	if _, _, err := run(log, 5); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	got, runner, err := run(log, -1)
	if err != nil || !slices.Equal(got.Steps, want.Steps) {
		t.Errorf("%v: resumed to %q, want %q", err, got.Steps, want.Steps)
	}
	if runner.episodes != 0 {
		t.Error("finished rollouts were sampled again")
	}
	r.Beside = []batch.Sequence{{IDs: []int32{1, 777}, Trained: []bool{false, true}}}
	log = newLog(t)
	if got, _, err := run(log, -1); err != nil || !strings.Contains(fmt.Sprint(got.Steps), "777") ||
		!strings.Contains(fmt.Sprint(got.Steps), "102") || !slices.Contains(log.said,
		"kept trains on 4 rows that passed and 1 demonstration") {
		t.Errorf("%v: beside a demonstration it trained on %s, and said %q", err, got.Steps, log.said)
	}
	episode := func(rollout int, o trajectory.Outcome) *trajectory.Trajectory {
		return &trajectory.Trajectory{Rollout: rollout, Outcome: o, Turns: []trajectory.Turn{{BridgeIDs: []int32{1}}}}
	}
	same := []trajectory.Group{
		{Trajectories: []*trajectory.Trajectory{episode(1, trajectory.OK), episode(2, trajectory.OK)}},
		{Trajectories: []*trajectory.Trajectory{episode(1, trajectory.OK)}},
		{Trajectories: []*trajectory.Trajectory{episode(1, trajectory.InfrastructureError)}},
	}
	if n := len(r.rows(same)); n != 2 {
		t.Errorf("%d rows of two scenarios with one wording each", n)
	}
}
