package train_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"testing"

	"hone/internal/engine"
	"hone/internal/episode/rollout"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/learn/batch"
	"hone/internal/learn/modelfile"
	"hone/internal/learn/train"
	"hone/internal/recipe"
	"hone/internal/testing/learntest"
)

// steps is testdata/reference/trl_steps.json, which make_trl_steps.py writes.
type steps struct {
	Before matrices
	SFT    struct {
		taken
		Rows, Validation []struct {
			IDs  []int32 `json:"input_ids"`
			Mask []int   `json:"assistant_masks"`
		}
		EvalLoss []float64 `json:"eval_loss"`
	}
	DPO []struct {
		taken
		Settings struct {
			Loss           batch.PreferenceLoss
			Beta           float64
			LabelSmoothing float64 `json:"label_smoothing"`
			RPOAlpha       float64 `json:"rpo_alpha"`
		}
		Pairs []struct {
			Prompt   []int32 `json:"prompt_ids"`
			Chosen   []int32 `json:"chosen_ids"`
			Rejected []int32 `json:"rejected_ids"`
		}
	}
	GRPO []struct {
		taken
		Size     int
		Settings struct {
			Loss        batch.Loss
			Schedule    string
			Temperature float64
			Beta        float64
			Gradient    batch.Gradient
			Iterations  int
		}
		Tasks    []string
		Episodes [][]episode // of each of TRL's generations, group by group
		AfterOne matrices    `json:"after_one"`
	}
}

// taken are the steps that TRL took.
type taken struct {
	Seed      uint64
	Epochs    int
	BatchSize int `json:"batch_size"`
	Rate      float64
	Steps     []map[string]float64
	After     matrices
}

// matrices are an adapter's, by their names in PEFT's files.
type matrices map[string][]float64

type episode struct {
	Task        string
	Prompt, IDs []int32
	Mask        []int // 0 where a tool wrote
	Logprobs    []float64
	Reward      float64
}

func readSteps(t *testing.T) (s steps) {
	t.Helper()
	text, err := os.ReadFile("../../../testdata/reference/trl_steps.json")
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err != nil || len(s.SFT.Steps) != 20 || len(s.GRPO) < 3 {
		t.Fatal(err)
	}
	return s
}

// flat lays matrices out as the trainer has them.
func (m matrices) flat(t *testing.T) []float32 {
	t.Helper()
	s := learntest.Spec()
	pieces, size := learntest.LoRA().Pieces(s)
	out := make([]float32, size)
	for _, p := range pieces {
		x := m[modelfile.AdapterKey(s.Path(p.Layer, p.Target), p.B)]
		if len(x) != p.Rows*p.Cols {
			t.Fatalf("%s of layer %d has %d numbers", p.Target.Name(), p.Layer, len(x))
		}
		for i, v := range x {
			out[p.Offset+i] = float32(v)
		}
	}
	return out
}

// onTheModelOfTRL runs a test on each device with a trainer whose adapter is the one that TRL began with.
func onTheModelOfTRL(t *testing.T, s steps, test func(t *testing.T, of steps, fresh func() *train.Trainer)) {
	learntest.EachDevice(t, func(t *testing.T, e *engine.Engine) {
		spec := learntest.Spec()
		weights := learntest.Weights(t, e, spec)
		of := s
		if !e.PureGo() { // programs take seconds to compile
			of.DPO, of.GRPO = s.DPO[3:], s.GRPO[1:2]
		}
		test(t, of, func() *train.Trainer {
			state := train.NewState(spec, learntest.LoRA(), 1)
			state.Adapter = s.Before.flat(t)
			tr, err := train.New(e, spec, weights, state,
				train.Options{LoRA: learntest.LoRA(), MicroBatch: 4, RowMultiple: 64, MaxPrefix: 6})
			if err != nil {
				t.Fatal(err)
			}
			return tr
		})
	})
}

// isTRLs compares how far the adapter moved with how far TRL's did: the norm of the difference, of the norm of TRL's.
func isTRLs(t *testing.T, what string, tr *train.Trainer, before, after matrices) {
	t.Helper()
	state, err := tr.State()
	if err != nil {
		t.Fatal(err)
	}
	start, want := before.flat(t), after.flat(t)
	apart, moved := 0.0, 0.0
	for i, x := range state.Adapter {
		apart += math.Pow(float64(x-want[i]), 2)
		moved += math.Pow(float64(want[i]-start[i]), 2)
	}
	relative := math.Sqrt(apart / moved)
	if !(relative <= 1e-4) {
		t.Errorf("%s: the adapter's change differs from TRL's by %.2g of it", what, relative)
	}
	t.Logf("%s: the adapter's change differs from TRL's by %.2g of it", what, relative)
}

// optimizer is that of the golden's script.
func (x taken) optimizer(schedule string) recipe.Optimizer {
	return recipe.Optimizer{LearningRate: x.Rate, MaxGradNorm: 1, Schedule: recipe.Schedule{Decay: schedule},
		Adam: batch.Adam{Beta1: 0.9, Beta2: 0.99, Epsilon: 1e-8}}
}

// areTRLs compares metrics of a stage's steps with those that TRL logged.
func (x taken) areTRLs(t *testing.T, l *keeping, stage string) {
	t.Helper()
	worst := 0.0
	for i, want := range x.Steps {
		for name, v := range want {
			got, ok := l.metrics[key(stage, i)][name]
			apart := math.Abs(got-v) / math.Max(1, math.Abs(v))
			if worst = math.Max(worst, apart); !ok || !(apart <= 1e-4) {
				t.Errorf("step %d: %s is %.6g, TRL's %.6g", i, name, got, v)
			}
		}
	}
	t.Logf("%d steps: the largest difference of a metric is %.2g", len(x.Steps), worst)
}

// keeping is a log in memory.
type keeping struct {
	recipe.Log // the rest is not asked for
	metrics    map[string]map[string]float64
	notices    []string
	every      func(steps int)
}

func newKeeping() *keeping { return &keeping{metrics: map[string]map[string]float64{}} }

func key(stage string, step int) string { return fmt.Sprintf("%s %d", stage, step) }

func (l *keeping) Metrics(stage string, step int, m map[string]float64) error {
	l.metrics[key(stage, step)] = m
	return nil
}

func (l *keeping) Measurements(string) (map[int]map[string]float64, error) { return nil, nil }

func (l *keeping) StepMetrics(stage string, step int) (map[string]float64, bool, error) {
	m, ok := l.metrics[key(stage, step)]
	return m, ok, nil
}

func (l *keeping) Checkpoint(_ string, steps int, _ func(string) error) error {
	if l.every != nil {
		l.every(steps)
	}
	return nil
}

func (l *keeping) Latest(string) (string, int, error)                        { return "", 0, nil }
func (l *keeping) Finish(string) error                                       { return nil }
func (l *keeping) Notice(text string)                                        { l.notices = append(l.notices, text) }
func (l *keeping) Trajectory(string, int, *trajectory.Trajectory) error      { return nil }
func (l *keeping) Scores(string, trajectory.Group, []trajectory.Score) error { return nil }
func (l *keeping) Trajectories(string, int) ([]recipe.Kept, error)           { return nil, nil }
func silent(string, int, int, string)                                        {}

// Twenty steps of SFT have the losses, the norms of gradients, the rates and the losses of held rows that TRL's
// SFTTrainer has on PEFT's adapter, and end with its adapter.
func TestSFTIsTRLs(t *testing.T) {
	s := readSteps(t)
	var rows, held []batch.Sequence
	for i, r := range slices.Concat(s.SFT.Rows, s.SFT.Validation) {
		row := batch.Sequence{IDs: r.IDs}
		for _, m := range r.Mask {
			row.Trained = append(row.Trained, m == 1)
		}
		if i < len(s.SFT.Rows) {
			rows = append(rows, row)
		} else {
			held = append(held, row)
		}
	}
	onTheModelOfTRL(t, s, func(t *testing.T, s steps, fresh func() *train.Trainer) {
		tr, log := fresh(), newKeeping()
		sft := recipe.SFT{Stage: "sft", Epochs: s.SFT.Epochs, BatchSize: s.SFT.BatchSize,
			Optimizer: s.SFT.optimizer(recipe.Linear), Seed: s.SFT.Seed, Held: held, EvalEvery: 5}
		if err := sft.Run(context.Background(), rows, tr, nil, log, silent); err != nil {
			t.Fatal(err)
		}
		s.SFT.areTRLs(t, log, "sft")
		for i, want := range s.SFT.EvalLoss {
			if got := log.metrics[key(recipe.ValidationStage, 5*(i+1))]["eval_loss"]; !(math.Abs(got-want) <= 1e-4) {
				t.Errorf("step %d: eval_loss %.6g, TRL's %.6g", 5*(i+1), got, want)
			}
		}
		isTRLs(t, "20 steps", tr, s.Before, s.SFT.After)
	})
}

// Twelve steps of DPO have the losses, gradients, rewards and logprobs of TRL's DPOTrainer, and end with its adapter;
// the reference is the adapter at the start.
func TestDPOIsTRLs(t *testing.T) {
	s := readSteps(t)
	if len(s.DPO) < 4 {
		t.Fatal(len(s.DPO))
	}
	onTheModelOfTRL(t, s, func(t *testing.T, s steps, fresh func() *train.Trainer) {
		for _, g := range s.DPO {
			row := func(prompt, completion []int32) []batch.Sequence {
				return []batch.Sequence{
					{IDs: slices.Concat(prompt, completion),
						Trained: append(make([]bool, len(prompt)), slices.Repeat([]bool{true}, len(completion))...)},
				}
			}
			var pairs []recipe.PreferencePair
			for _, p := range g.Pairs {
				pairs = append(pairs,
					recipe.PreferencePair{Chosen: row(p.Prompt, p.Chosen), Rejected: row(p.Prompt, p.Rejected)})
			}
			o := g.Settings
			tr, log := fresh(), newKeeping()
			dpo := recipe.DPO{
				SFT: recipe.SFT{Stage: "dpo", Epochs: g.Epochs, BatchSize: g.BatchSize,
					Optimizer: g.optimizer(recipe.Linear), Seed: g.Seed},
				Preference: batch.Preference{Loss: o.Loss, Beta: o.Beta, LabelSmoothing: o.LabelSmoothing,
					Alpha: o.RPOAlpha},
			}
			if err := dpo.Run(context.Background(), pairs, tr, nil, log, silent); err != nil {
				t.Fatal(err)
			}
			g.areTRLs(t, log, "dpo")
			isTRLs(t, fmt.Sprintf("%+v, 12 steps", o), tr, s.Before, g.After)
		}
	})
}

// replaying gives the episodes that TRL was given.
type replaying struct{ episodes [][]episode }

func (r replaying) Run(_ context.Context, requests <-chan rollout.Request) <-chan *trajectory.Trajectory {
	out := make(chan *trajectory.Trajectory)
	go func() {
		defer close(out)
		for q := range requests {
			n := 0
			for _, e := range r.episodes[q.Step] {
				if e.Task != q.Scenario.ID {
					continue
				}
				if n == q.Rollout {
					out <- e.trajectory(q)
				}
				n++
			}
		}
	}()
	return out
}

// trajectory has a turn for each completion; what a tool wrote stands before the next.
func (e episode) trajectory(q rollout.Request) *trajectory.Trajectory {
	t := &trajectory.Trajectory{ID: fmt.Sprintf("%s/%d/%d", e.Task, q.Step, q.Rollout), ScenarioID: e.Task,
		Scenario: q.Scenario.Hash(), Rollout: q.Rollout, Outcome: trajectory.OK, Reward: e.Reward,
		Turns: []trajectory.Turn{{BridgeIDs: e.Prompt}}}
	for i, id := range e.IDs {
		last := &t.Turns[len(t.Turns)-1]
		switch {
		case e.Mask[i] == 1:
			last.CompletionIDs, last.SamplerLogprobs =
				append(last.CompletionIDs, id), append(last.SamplerLogprobs, float32(e.Logprobs[i]))
		case len(last.CompletionIDs) > 0:
			t.Turns = append(t.Turns, trajectory.Turn{BridgeIDs: []int32{id}})
		default:
			last.BridgeIDs = append(last.BridgeIDs, id)
		}
	}
	return t
}

// Score gives each episode what it earned under TRL.
func (r replaying) Score(_ context.Context, s *scenario.Scenario, g trajectory.Group) ([]trajectory.Score, error) {
	var out []trajectory.Score
	for _, t := range g.Trajectories {
		out = append(out, trajectory.Score{Reward: t.Reward})
	}
	return out, nil
}

// held is a publisher without a sampler.
type held struct{}

func (held) Publish() error                      { return nil }
func (held) Policies() (string, []string, error) { return "x", []string{"x"}, nil }

// One and ten steps of GRPO move the adapter as TRL's GRPOTrainer moves PEFT's, given the same episodes: with tool
// results in them, a group whose episodes are all alike, a divergence from the adapter at the start, a temperature, and
// two optimiser steps on a batch.
func TestGRPOIsTRLs(t *testing.T) {
	s := readSteps(t)
	onTheModelOfTRL(t, s, func(t *testing.T, s steps, fresh func() *train.Trainer) {
		for _, g := range s.GRPO {
			name := fmt.Sprintf("%+v", g.Settings)
			tr, log := fresh(), newKeeping()
			log.every = func(steps int) {
				if steps == 1 && g.Settings.Iterations == 0 {
					isTRLs(t, name+", one step", tr, s.Before, g.AfterOne)
				}
			}
			o := g.Settings
			of := recipe.GRPO{Stage: "grpo", Steps: len(g.Episodes), GroupsPerStep: len(g.Tasks), GroupSize: g.Size,
				Temperature: o.Temperature, Seed: g.Seed, Loss: recipe.Loss{Name: o.Loss,
					Clip: batch.Clip{Low: 0.2, High: 0.28}},
				Updates: recipe.Updates{Optimizer: g.optimizer(o.Schedule), Iterations: o.Iterations},
				Upkeep:  recipe.Upkeep{CheckpointEvery: 1, MaxMismatch: 1e-6}}
			if o.Beta > 0 {
				of.Additions = []recipe.Addition{&recipe.Divergence{KL: batch.KL{
					Beta:      o.Beta,
					Estimator: batch.K3,
					Gradient:  o.Gradient,
				}}}
			}
			tasks := make([]scenario.Scenario, len(g.Tasks))
			for i, id := range g.Tasks {
				tasks[i].ID = id
			}
			r := replaying{g.Episodes}
			if err := of.Run(context.Background(), tasks, r, r, tr, held{}, log, silent); err != nil {
				t.Fatal(err)
			}
			if o.Iterations == 0 { // else TRL logs each of them, hone their mean
				g.areTRLs(t, log, "grpo")
			}
			isTRLs(t, name+", ten steps", tr, s.Before, g.After)
		}
	})
}
