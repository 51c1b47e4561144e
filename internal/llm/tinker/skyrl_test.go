package tinker

import (
	"context"
	"flag"
	"fmt"
	"math"
	"os"
	"slices"
	"testing"

	"hone/internal/engine"
	"hone/internal/episode/policy"
	"hone/internal/episode/rollout"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/learn/batch"
	"hone/internal/learn/model"
	"hone/internal/learn/modelfile"
	"hone/internal/learn/train"
	"hone/internal/recipe"
)

// Of TestAgainstAServer, which testdata/parity.py runs.
var (
	serverURL  = flag.String("url", "", "of a server of the Tinker API")
	serverBase = flag.String("base", "", "folder of the server's base model")
)

// Five steps of GRPO, with a divergence, at a real server, and on hone's engine beside it on the same rollouts. -url
// and -base name the server and its model, in float32.
func TestAgainstAServer(t *testing.T) {
	if *serverURL == "" {
		t.Skip("no -url")
	}
	ctx := context.Background()
	c, err := Open(ctx, Options{URL: *serverURL})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	file, err := modelfile.Open(*serverBase)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	e, err := engine.Open(engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	spec, weights, err := model.Load(e, file)
	if err != nil {
		t.Fatal(err)
	}
	l := LoRA{Rank: 8, Seed: 3}
	h, err := Probe(ctx, c, l, spec.VocabSize, func(dir string) error {
		_, _, err := model.LoadPEFT(dir, spec)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("%+v\n", h)
	there, err := New(ctx, c, l, h)
	if err != nil {
		t.Fatal(err)
	}
	defer there.Close()
	both := &beside{Trainer: there, t: t, spec: spec}
	shape, flat := both.adapter()
	both.own = newOwn(shape, spec, flat)
	if both.here, err = train.New(e, spec, weights, both.own.state(), train.Options{LoRA: shape}); err != nil {
		t.Fatal(err)
	}
	s := NewSampler(c, 64, spec.VocabSize)
	g := recipe.GRPO{Stage: "grpo", Steps: 5, GroupsPerStep: 2, GroupSize: 4, Temperature: 1,
		Advantage: batch.Advantages{By: "group"},
		Loss:      recipe.Loss{Name: batch.LossDAPO, Clip: batch.Clip{Low: 0.2, High: 0.28}},
		Updates: recipe.Updates{Optimizer: recipe.Optimizer{LearningRate: 5e-3,
			Schedule: recipe.Schedule{Decay: recipe.Constant}, Adam: batch.Adam{Epsilon: 1e-6}}},
		Additions: []recipe.Addition{&recipe.Divergence{KL: batch.KL{Beta: 0.05, Estimator: batch.K3,
			Gradient: batch.GradientOwn}}},
		Upkeep: recipe.Upkeep{MaxMismatch: 1e-4}}
	fmt.Println("step  loss there   loss here    gradient there / here   mismatch KL  logprobs apart  " +
		"reference apart  adapter apart")
	list := []scenario.Scenario{{ID: "a"}, {ID: "b"}, {ID: "c"}, {ID: "d"}}
	silent := func(string, int, int, string) {}
	samplers := given{there, s, new(string)}
	if err := g.Run(ctx, list, drawn{s}, lowIDs{}, both, samplers, forgotten{}, silent); err != nil {
		t.Fatal(err)
	}
	if both.steps != 5 {
		t.Errorf("%d steps were taken", both.steps)
	}
}

// beside is a trainer at a server with one of the engine that is given the same.
type beside struct {
	*Trainer
	here  *train.Trainer
	own   *own
	t     *testing.T
	spec  model.Spec
	row   [2]batch.StepStats // there, here
	apart float64            // of the reference's logprobs
	steps int
}

// adapter is the server's, as it is.
func (b *beside) adapter() (model.LoRA, []float32) {
	dir, err := os.MkdirTemp("", "adapter")
	if err != nil {
		b.t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := b.SaveAdapter(dir); err != nil {
		b.t.Fatal(err)
	}
	shape, flat, err := model.LoadPEFT(dir, b.spec)
	if err != nil {
		b.t.Fatal(err)
	}
	return shape, flat
}

func (b *beside) Gradient(ctx context.Context, x batch.Batch, o batch.Objective) (s batch.StepStats, err error) {
	if b.row[1], err = b.here.Gradient(ctx, x, o); err == nil {
		b.row[0], err = b.Trainer.Gradient(ctx, x, o)
	}
	return b.row[0], err
}

func (b *beside) HoldReference() error {
	if err := b.here.HoldReference(); err != nil {
		return err
	}
	return b.Trainer.HoldReference()
}

func (b *beside) ScoreReference(ctx context.Context, x batch.Batch, temperature float64) ([][]float32, error) {
	here, err := b.here.ScoreReference(ctx, x, temperature)
	if err != nil {
		return nil, err
	}
	there, err := b.Trainer.ScoreReference(ctx, x, temperature)
	b.apart = 0
	for i := range there {
		b.apart = max(b.apart, farthest(here[i], there[i]))
	}
	return there, err
}

func (b *beside) Apply(u batch.Update) (float64, error) {
	here, err := b.own.step(b.here, u)
	if err != nil {
		return 0, err
	}
	there, err := b.Trainer.Apply(u)
	if err != nil {
		return 0, err
	}
	_, flat := b.adapter()
	apart := distance(flat, b.own.flat) / distance(b.own.flat, b.own.start)
	b.steps++
	fmt.Printf("%4d  %+.7f  %+.7f  %.6f / %.6f     %.2e     %.2e        %.2e         %.2e\n", b.steps, b.row[0].Loss,
		b.row[1].Loss, there, here, b.row[0].Mismatch, b.row[0].MaxDelta, b.apart, apart)
	for name, x := range map[string]struct{ got, most float64 }{
		"loss":      {math.Abs(b.row[0].Loss - b.row[1].Loss), 1e-4},
		"gradient":  {math.Abs(there/here - 1), 1e-3},
		"mismatch":  {b.row[0].Mismatch, 1e-7},
		"reference": {b.apart, 1e-3},
		"adapter":   {apart, 1e-2},
	} {
		if !(x.got <= x.most) {
			b.t.Errorf("step %d: %s: %.2e, and the bound is %.0e", b.steps, name, x.got, x.most)
		}
	}
	return there, nil
}

// own takes Adam's steps along the engine's gradients. SkyRL computes linear maps that read the same as one, with one
// A: matrices A that are the same at the start are one matrix here too.
type own struct {
	start, flat []float32
	m, v        []float64
	steps       int
	one         [][]int // places in flat that hold one number
}

func newOwn(l model.LoRA, s model.Spec, flat []float32) *own {
	o := &own{start: slices.Clone(flat), flat: flat, m: make([]float64, len(flat)), v: make([]float64, len(flat))}
	pieces, _ := l.Pieces(s)
	shared := map[string][]int{} // offsets by contents
	for _, p := range pieces {
		key := fmt.Sprint(p.B, flat[p.Offset:p.Offset+p.Rows*p.Cols])
		if p.B {
			key = fmt.Sprint(p.Offset)
		}
		if shared[key] = append(shared[key], p.Offset); len(shared[key]) > 1 {
			continue
		}
		for i := range p.Rows * p.Cols {
			o.one = append(o.one, []int{p.Offset + i})
		}
	}
	for i, places := range o.one {
		for _, offsets := range shared {
			for _, p := range pieces {
				if at := places[0] - p.Offset; p.Offset == offsets[0] && at >= 0 && at < p.Rows*p.Cols {
					for _, other := range offsets[1:] {
						o.one[i] = append(o.one[i], other+at)
					}
				}
			}
		}
	}
	return o
}

func (o *own) state() train.State {
	return train.State{Adapter: slices.Clone(o.flat), M: make([]float32, len(o.flat)), V: make([]float32, len(o.flat))}
}

// step takes one along the gradient that the trainer computed last, and returns its norm. Adam with an epsilon far
// above the gradient shows what that is.
func (o *own) step(x *train.Trainer, u batch.Update) (norm float64, err error) {
	const rate, epsilon = 1e6, 1e4
	if _, err := x.Apply(batch.Update{Rate: rate, Adam: batch.Adam{Beta1: 1e-30, Beta2: 1e-30,
		Epsilon: epsilon}}); err != nil {
		return 0, err
	}
	after, err := x.State()
	if err != nil {
		return 0, err
	}
	o.steps++
	const beta1, beta2 = 0.9, 0.99
	for _, places := range o.one {
		g := 0.
		for _, i := range places {
			g += (float64(o.flat[i]) - float64(after.Adapter[i])) * epsilon / rate
		}
		norm += g * g
		i := places[0]
		o.m[i], o.v[i] = beta1*o.m[i]+(1-beta1)*g, beta2*o.v[i]+(1-beta2)*g*g
		m, v := o.m[i]/(1-math.Pow(beta1, float64(o.steps))), o.v[i]/(1-math.Pow(beta2, float64(o.steps)))
		next := float64(o.flat[i]) - u.Rate*m/(math.Sqrt(v)+u.Adam.Epsilon)
		for _, i := range places {
			o.flat[i] = float32(next)
		}
	}
	return math.Sqrt(norm), x.SetState(o.state())
}

func distance(x, y []float32) (d float64) {
	for i := range x {
		d += math.Pow(float64(x[i])-float64(y[i]), 2)
	}
	return math.Sqrt(d)
}

// given publishes the trainer's policy to the sampler.
type given struct {
	*Trainer
	sampler *Sampler
	held    *string
}

func (g given) Publish() error {
	path, err := g.Trainer.Publish()
	if err == nil {
		err = g.sampler.Hold(context.Background(), path, g.PolicyVersion())
	}
	*g.held = g.state.Identity
	return err
}

func (g given) Policies() (string, []string, error) { return g.state.Identity, []string{*g.held}, nil }

// drawn runs episodes of one completion behind a prompt of a scenario's own.
type drawn struct{ *Sampler }

func (d drawn) Run(ctx context.Context, requests <-chan rollout.Request) <-chan *trajectory.Trajectory {
	ended := make(chan *trajectory.Trajectory)
	go func() {
		defer close(ended)
		for q := range requests {
			id := q.Scenario.ID
			prompt := []int32{1, 40, int32(id[0]), int32(id[0]) + 7, 9}
			x := &trajectory.Trajectory{ID: fmt.Sprint(q.Step, id, q.Rollout), ScenarioID: id, Rollout: q.Rollout,
				Outcome: trajectory.OK, Temperature: 1}
			c, err := d.Sample(ctx, policy.Request{Prompt: prompt,
				Sampling: policy.Sampling{Temperature: 1, MaxTokens: 12},
				Key:      policy.Key{Seed: 5, Stream: uint64(q.Step*100 + int(id[0])*10 + q.Rollout)}})
			if err != nil {
				x.Outcome = trajectory.InfrastructureError
			}
			x.Turns = []trajectory.Turn{{BridgeIDs: prompt, CompletionIDs: c.IDs, SamplerLogprobs: c.SamplerLogprobs}}
			ended <- x
		}
	}()
	return ended
}

// lowIDs rewards the share of small ids.
type lowIDs struct{}

func (lowIDs) Score(_ context.Context, _ *scenario.Scenario, g trajectory.Group) (all []trajectory.Score, _ error) {
	for _, t := range g.Trajectories {
		low := slices.DeleteFunc(slices.Clone(t.Turns[0].CompletionIDs), func(id int32) bool { return id >= 100 })
		all = append(all, trajectory.Score{Outcome: t.Outcome, Reward: float64(len(low)) / 12})
	}
	return all, nil
}

// forgotten keeps nothing.
type forgotten struct{}

func (forgotten) Trajectory(string, int, *trajectory.Trajectory) error      { return nil }
func (forgotten) Scores(string, trajectory.Group, []trajectory.Score) error { return nil }
func (forgotten) Trajectories(string, int) ([]recipe.Kept, error)           { return nil, nil }
func (forgotten) Metrics(string, int, map[string]float64) error             { return nil }
func (forgotten) StepMetrics(string, int) (map[string]float64, bool, error) { return nil, false, nil }
func (forgotten) Measurements(string) (map[int]map[string]float64, error)   { return nil, nil }
func (forgotten) Notice(text string)                                        { fmt.Println(text) }
func (forgotten) Checkpoint(string, int, func(string) error) error          { return nil }
func (forgotten) Finish(string) error                                       { return nil }
func (forgotten) Latest(string) (string, int, error)                        { return "", 0, nil }
