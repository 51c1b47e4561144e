package tinker

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hone/internal/engine"
	"hone/internal/episode/policy"
	"hone/internal/learn/batch"
	"hone/internal/learn/model"
	"hone/internal/learn/train"
	"hone/internal/testing/learntest"
	"hone/internal/testing/tinkertest"
)

// lora is the adapters' shape of these tests.
var lora = LoRA{Rank: 3, Seed: 5}

func modelLoRA() model.LoRA { return model.LoRA{Rank: lora.Rank, Alpha: tinkertest.Alpha} }

// bench is a server beside the engine that its models are on.
type bench struct {
	*tinkertest.Server
	engine  *engine.Engine
	weights []engine.Buffer
	client  *Client
}

// divisors are what servers of each reduction divide a row's losses by.
var divisors = map[Reduction]func(tokens, rows, all int) float64{
	Sum:       func(int, int, int) float64 { return 1 },
	RowMean:   func(tokens, rows, _ int) float64 { return float64(tokens * rows) },
	MeanRows:  func(_, rows, _ int) float64 { return float64(rows) },
	TokenMean: func(_, _, all int) float64 { return float64(all) },
}

// open starts a server that reduces losses so, and a client of it.
func open(t *testing.T, o tinkertest.Options, r Reduction) *bench {
	t.Helper()
	e, err := engine.Open(engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	b := &bench{engine: e, weights: learntest.Weights(t, e, learntest.Spec())}
	o.Engine, o.Spec, o.Weights, o.Scale = e, learntest.Spec(), b.weights, divisors[r]
	b.Server = tinkertest.New(t, o)
	b.client = b.begin(t)
	return b
}

// begin is a client of the server, with a session of its own.
func (b *bench) begin(t *testing.T) *Client {
	t.Helper()
	c, err := Open(context.Background(), Options{URL: b.URL, BackOff: time.Millisecond, Beat: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func (b *bench) trainer(t *testing.T, r Reduction) *Trainer {
	t.Helper()
	x, err := New(context.Background(), b.client, lora, Habits{Reduction: r, Bounds: true})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// own is a trainer of hone's engine that begins as the server's adapters do.
func (b *bench) own(t *testing.T) *train.Trainer {
	t.Helper()
	s, l := learntest.Spec(), modelLoRA()
	x, err := train.New(b.engine, s, b.weights, train.NewState(s, l, lora.Seed),
		train.Options{LoRA: l, RowMultiple: 16})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// adapter is the server's, as it is.
func (b *bench) adapter(t *testing.T, x *Trainer) []float32 {
	t.Helper()
	path, err := x.model.save(context.Background(), x.name("look"))
	if err != nil {
		t.Fatal(err)
	}
	return b.Kept(path).Adapter
}

// steps are three of rows of unlike length that begin alike, with all columns that losses have. The old logprobs are a
// little off the policy's, so that some ratios are clipped.
func steps() (all []batch.Batch) {
	for step := range 3 {
		var rows []batch.Sequence
		for r, n := range []int{20, 14, 17} {
			x := batch.Sequence{Group: r % 2, Episode: r, Scored: r == 1, Columns: map[batch.Column][]float32{}}
			var reference, slopes []float32
			for i := range n {
				id := int32(7+i*5) % 60
				if i >= 9 {
					id = int32(11+r*13+i*7+step) % 60
				}
				wave := float32(math.Sin(float64(1 + r + 3*i + 7*step)))
				x.IDs, x.Trained = append(x.IDs, id), append(x.Trained, i >= 9 && i%3 != 0)
				x.SamplerLogprobs = append(x.SamplerLogprobs, -4.1+0.5*wave)
				x.Advantages = append(x.Advantages, wave+0.2)
				x.Weights = append(x.Weights, 0.5+0.25*float32(r))
				reference, slopes = append(reference, -4.1-0.4*wave), append(slopes, 0.3*wave)
				if x.Scored && i%2 == 0 {
					reference[i] = batch.NoReference
				}
			}
			x.Columns[batch.ColumnReferenceLogprobs], x.Columns[batch.ColumnSlopes] = reference, slopes
			rows = append(rows, x)
		}
		b := batch.New(rows)
		b.Normaliser = 20 + step
		all = append(all, b)
	}
	return all
}

// objectives are all losses, with the terms that one may have.
func objectives() map[string]batch.Objective {
	all := map[string]batch.Objective{"preference": {Loss: batch.LossPreference}}
	for _, l := range batch.Losses() {
		all["loss "+string(l)] = batch.Objective{Loss: l, Clip: batch.Clip{Low: 0.2, High: 0.28}, Temperature: 1}
	}
	for _, e := range []batch.Estimator{batch.K1, batch.K2, batch.K3} {
		for _, g := range []batch.Gradient{batch.GradientOwn, batch.GradientK2, batch.GradientRatio} {
			all[fmt.Sprint("divergence ", e, " ", g)] = batch.Objective{Loss: batch.LossDAPO,
				Clip: batch.Clip{Low: 0.2, High: 0.28, Dual: 1.5}, KL: batch.KL{Beta: 0.3, Estimator: e, Gradient: g}}
		}
	}
	all["off policy"] = batch.Objective{Loss: batch.LossDAPO, Clip: batch.Clip{Low: 0.2, High: 0.28}, OffPolicy: 0.01}
	return all
}

// update has an epsilon at which Adam does not make numbers of 1e-8, which are rounding, as large as others.
var update = batch.Update{Rate: 1e-2, MaxGradNorm: 0.05, Adam: batch.Adam{WeightDecay: 0.01, Epsilon: 1e-5}}

func TestEachLossIsLearntAsTheEngineLearnsIt(t *testing.T) {
	for _, r := range []Reduction{Sum, RowMean, MeanRows, TokenMean} {
		b := open(t, tinkertest.Options{}, r)
		for name, o := range objectives() {
			if r != Sum && r != RowMean && name != "loss dapo" {
				continue
			}
			t.Run(string(r)+"/"+name, func(t *testing.T) { b.learnAlike(t, r, o) })
		}
	}
}

func (b *bench) learnAlike(t *testing.T, r Reduction, o batch.Objective) {
	there, here, ctx := b.trainer(t, r), b.own(t), context.Background()
	defer there.Close()
	first := b.adapter(t, there)
	for i, step := range steps() {
		want, err := here.Gradient(ctx, step, o)
		if err != nil {
			t.Fatal(err)
		}
		got, err := there.Gradient(ctx, step, o)
		if err != nil {
			t.Fatal(err)
		}
		for name, x := range map[string][2]float64{"loss": {got.Loss, want.Loss}, "mismatch": {got.Mismatch,
			want.Mismatch}, "ratio": {got.MeanRatio, want.MeanRatio}, "delta": {got.MaxDelta, want.MaxDelta},
			"clipped": {got.Clipped, want.Clipped}, "divergence": {got.KL, want.KL},
			"trained":  {float64(got.NumTrained), float64(want.NumTrained)},
			"compared": {float64(got.NumSampled), float64(want.NumSampled)},
			"referred": {float64(got.NumReferred), float64(want.NumReferred)}} {
			if math.Abs(x[0]-x[1]) > 1e-4 {
				t.Errorf("step %d: %s is %v, the engine has %v", i, name, x[0], x[1])
			}
		}
		norm, err := there.Apply(update)
		if err != nil {
			t.Fatal(err)
		}
		own, err := here.Apply(update)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(norm-own) > 1e-4*max(1, own) {
			t.Errorf("step %d: the gradient's norm is %v, the engine has %v", i, norm, own)
		}
	}
	state, err := here.State()
	if err != nil {
		t.Fatal(err)
	}
	if d := farthest(b.adapter(t, there), state.Adapter); d > 1e-4 {
		t.Errorf("after three steps the adapters differ by up to %v", d)
	}
	if d := farthest(first, state.Adapter); d < 1e-2 {
		t.Errorf("three steps moved the adapter by %v, so they tell nothing", d)
	}
}

func farthest(x, y []float32) (d float64) {
	if len(x) != len(y) {
		return math.Inf(1)
	}
	for i := range x {
		d = max(d, math.Abs(float64(x[i])-float64(y[i])))
	}
	return d
}

func TestProbeTellsServersApart(t *testing.T) {
	for _, r := range []Reduction{Sum, RowMean, MeanRows, TokenMean} {
		for _, bounds := range []bool{true, false} {
			b := open(t, tinkertest.Options{}, r)
			b.IgnoresBound = !bounds
			fitted := false
			h, err := Probe(context.Background(), b.client, lora, 60, func(dir string) error {
				l, _, err := model.LoadPEFT(dir, learntest.Spec())
				fitted = l.Rank == lora.Rank && l.Alpha == tinkertest.Alpha
				return err
			})
			if want := (Habits{Reduction: r, Bounds: bounds}); err != nil || h != want || !fitted {
				t.Errorf("%+v, %v, adapter read: %t; want %+v", h, err, fitted, want)
			}
			if n := b.Models(); n != 0 {
				t.Errorf("%d adapters are left at the server", n)
			}
		}
	}
	b := open(t, tinkertest.Options{OwnBound: 0.5}, Sum)
	h, err := Probe(context.Background(), b.client, lora, 60, func(string) error { return nil })
	if want := (Habits{Reduction: Sum, OwnBound: true}); err != nil || h.Reduction != Sum || !h.OwnBound {
		t.Errorf("%+v, %v; want %+v", h, err, want)
	}
}

func TestADroppedGradientLeavesNoTrace(t *testing.T) {
	b := open(t, tinkertest.Options{}, Sum)
	x, y, ctx, o := b.trainer(t, Sum), b.trainer(t, Sum), context.Background(), objectives()["loss dapo"]
	all := steps()
	for _, drop := range []batch.Batch{all[1], all[2]} {
		if _, err := x.Gradient(ctx, drop, o); err != nil {
			t.Fatal(err)
		}
	}
	for _, z := range []*Trainer{x, y} {
		if _, err := z.Gradient(ctx, all[0], o); err != nil {
			t.Fatal(err)
		}
		if _, err := z.Apply(update); err != nil {
			t.Fatal(err)
		}
	}
	if d := farthest(b.adapter(t, x), b.adapter(t, y)); d != 0 {
		t.Errorf("gradients that were not applied moved the adapter by %v", d)
	}
	if _, err := x.Apply(update); err == nil {
		t.Error("a gradient was applied twice")
	}
}

// A checkpoint is gone on with by another process, after the server has lost all its sessions.
func TestResumeIsExact(t *testing.T) {
	b := open(t, tinkertest.Options{}, RowMean)
	ctx, o, dir := context.Background(), objectives()["divergence k3 own"], t.TempDir()
	whole := b.trainer(t, RowMean)
	take := func(x *Trainer, step batch.Batch) {
		t.Helper()
		scores, err := x.ScoreReference(ctx, step, 1)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := x.Gradient(ctx, step.With(batch.ColumnReferenceLogprobs, scores), o); err != nil {
			t.Fatal(err)
		}
		if _, err := x.Apply(update); err != nil {
			t.Fatal(err)
		}
	}
	all := steps()
	if err := whole.HoldReference(); err != nil {
		t.Fatal(err)
	}
	take(whole, all[0])
	if err := whole.Save(dir); err != nil {
		t.Fatal(err)
	}
	named, _ := whole.AdapterChecksums()
	take(whole, all[1])
	if moved, _ := whole.AdapterChecksums(); slices.Equal(named, moved) {
		t.Error("a step left the policy its name")
	}
	want := b.adapter(t, whole)
	b.Forget()
	b.client = b.begin(t)
	again := b.trainer(t, RowMean)
	if err := again.Load(dir); err != nil {
		t.Fatal(err)
	}
	if back, _ := again.AdapterChecksums(); !slices.Equal(named, back) || again.PolicyVersion() != 1 {
		t.Errorf("the policy of the checkpoint is %x at step %d, it was %x", back, again.PolicyVersion(), named)
	}
	take(again, all[1])
	if d := farthest(b.adapter(t, again), want); d != 0 {
		t.Errorf("a run that went on is off by %v", d)
	}
	if _, flat, err := model.LoadPEFT(filepath.Join(dir, adapterDir), learntest.Spec()); err != nil || len(flat) == 0 {
		t.Errorf("the checkpoint's adapter: %v", err)
	}
	if err := again.Load(t.TempDir()); err == nil || !strings.Contains(err.Error(), "trainer.api") {
		t.Errorf("a folder without a checkpoint: %v", err)
	}
	again.Close()
	if n := b.Models(); n != 0 {
		t.Errorf("%d adapters are left at the server", n)
	}
}

func TestSnapshot(t *testing.T) {
	b := open(t, tinkertest.Options{}, Sum)
	x, ctx, o := b.trainer(t, Sum), context.Background(), objectives()["loss dapo"]
	was := b.adapter(t, x)
	restore, err := x.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.Gradient(ctx, steps()[0], o); err != nil {
		t.Fatal(err)
	}
	b.Tell(func(path string) int { // the server takes the second pass and fails at the step
		if path == "optim_step" {
			return 400
		}
		return 0
	})
	if _, err := x.Apply(update); err == nil {
		t.Fatal("a step that was refused was taken")
	}
	b.Tell(nil)
	_, err = x.Gradient(ctx, steps()[0], o)
	_, unpublished := x.Publish()
	for what, err := range map[string]error{"gradient": err, "checkpoint": x.Save(t.TempDir()), "policy": unpublished} {
		if err == nil || !strings.Contains(err.Error(), "half-way") {
			t.Errorf("a %s was made while a gradient lies at the server: %v", what, err)
		}
	}
	for range 2 { // as often as it takes, after a step too
		if err := restore(); err != nil {
			t.Fatal(err)
		}
		path, err := x.Publish()
		if err != nil {
			t.Fatal(err)
		}
		if d := farthest(b.Kept(path).Adapter, was); d != 0 || x.PolicyVersion() != 0 {
			t.Errorf("put back, the adapter is off by %v", d)
		}
		if _, err := x.Gradient(ctx, steps()[0], o); err != nil {
			t.Fatal(err)
		}
		if _, err := x.Apply(update); err != nil {
			t.Fatal(err)
		}
		if path, err = x.Publish(); err != nil || farthest(b.Kept(path).Adapter, was) == 0 {
			t.Errorf("the step's policy was not published: %v", err)
		}
	}
}

// Answers are lost, refused for a while and late: what was asked for is done once.
func TestLostAnswers(t *testing.T) {
	for _, lost := range []int{1500, 503, 429, 1502} {
		b := open(t, tinkertest.Options{}, Sum)
		x, y, ctx, o := b.trainer(t, Sum), b.trainer(t, Sum), context.Background(), objectives()["loss dapo"]
		for i, z := range []*Trainer{x, y} {
			times := map[string]int{}
			b.Tell(func(path string) int {
				if times[path]++; i == 0 && times[path] <= 2 && path != "session_heartbeat" {
					return lost
				}
				return 0
			})
			if _, err := z.Gradient(ctx, steps()[0], o); err != nil {
				t.Fatal(err)
			}
			if _, err := z.Apply(update); err != nil {
				t.Fatal(err)
			}
			b.Tell(nil)
		}
		if d := farthest(b.adapter(t, x), b.adapter(t, y)); d != 0 {
			t.Errorf("status %d: the adapter is off by %v", lost, d)
		}
	}
}

func TestSessionIsKeptAlive(t *testing.T) {
	b := open(t, tinkertest.Options{}, Sum)
	beat := make(chan struct{}, 10000)
	b.Tell(func(path string) int {
		if path == "session_heartbeat" {
			beat <- struct{}{}
			return 500
		}
		return 0
	})
	for range 3 {
		select {
		case <-beat:
		case <-time.After(time.Minute):
			t.Fatal("no sign of life was given")
		}
	}
}

func TestSampler(t *testing.T) {
	b := open(t, tinkertest.Options{}, Sum)
	x, ctx := b.trainer(t, Sum), context.Background()
	if _, err := x.Gradient(ctx, steps()[0], objectives()["loss "]); err != nil {
		t.Fatal(err)
	}
	if _, err := x.Apply(update); err != nil {
		t.Fatal(err)
	}
	path, err := x.Publish()
	if err != nil {
		t.Fatal(err)
	}
	s := NewSampler(b.client, 30, 60)
	if err := s.Hold(ctx, path, x.PolicyVersion()); err != nil {
		t.Fatal(err)
	}
	q := policy.Request{Prompt: []int32{4, 9, 2}, Key: policy.Key{Seed: 3, Stream: 8},
		Sampling: policy.Sampling{Temperature: 1, MaxTokens: 12, StopIDs: []int32{59}}}
	c, err := s.Sample(ctx, q)
	if err != nil {
		t.Fatal(err)
	}
	ids := append(slices.Clone(q.Prompt), c.IDs...)
	trained := make([]bool, len(ids))
	for i := len(q.Prompt); i < len(ids); i++ {
		trained[i] = true
	}
	row := batch.New([]batch.Sequence{{IDs: ids, Trained: trained}})
	scores, err := x.Score(ctx, row, 1)
	if err != nil {
		t.Fatal(err)
	}
	own := scores[0][len(scores[0])-len(c.IDs):]
	for i, p := range c.SamplerLogprobs {
		if math.Abs(float64(p-own[i])) > 1e-4 {
			t.Errorf("token %d has the logprob %v to the sampler and %v to the trainer", i, p, own[i])
		}
	}
	if c.PolicyVersion != 1 {
		t.Errorf("the completion is of version %d", c.PolicyVersion)
	}
	same, err := s.Sample(ctx, q)
	if err != nil || !slices.Equal(same.IDs, c.IDs) {
		t.Errorf("the same stream gave %v and %v, %v", c.IDs, same.IDs, err)
	}
	if q.Key.Stream++; seedOf(q.Key) == seedOf(policy.Key{Seed: 3, Stream: 8}) {
		t.Error("two streams have one seed")
	}
	for name, r := range map[string]policy.Request{
		"room":  {Prompt: make([]int32, 30), Sampling: policy.Sampling{MaxTokens: 1}},
		"texts": {Prompt: q.Prompt, Sampling: policy.Sampling{MaxTokens: 1, Stop: []string{"x"}}},
		"min-p": {Prompt: q.Prompt, Sampling: policy.Sampling{MaxTokens: 1, MinP: 0.1, Temperature: 1}},
	} {
		if _, err := s.Sample(ctx, r); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestUnsoundCompletions(t *testing.T) {
	s := NewSampler(nil, 100, 60)
	q := policy.Request{Sampling: policy.Sampling{StopIDs: []int32{9}}}
	nan := float32(math.NaN())
	for name, c := range map[string]sampled{
		"empty":       {},
		"no logprobs": {ids: []int32{1}},
		"too long":    {ids: []int32{1, 2, 3}, logprobs: []float32{-1, -1, -1}},
		"no stop id":  {ids: []int32{1}, logprobs: []float32{-1}, stopped: true},
		"unknown id":  {ids: []int32{60}, logprobs: []float32{-1}},
		"NaN":         {ids: []int32{1}, logprobs: []float32{nan}},
		"above 1":     {ids: []int32{1}, logprobs: []float32{0.1}},
	} {
		if s.sound(c, q, 2) == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if err := s.sound(sampled{ids: []int32{1, 9}, logprobs: []float32{-1, -2}, stopped: true}, q, 2); err != nil {
		t.Error(err)
	}
}

func TestRequestsAreCut(t *testing.T) {
	rows := make([]Row, 1500)
	for i := range rows {
		rows[i].IDs = make([]int32, 200)
	}
	n := 0
	for _, part := range requests(rows) {
		if len(part) == 0 || len(part) > maxRequestRows || 200*len(part) > maxRequestTokens {
			t.Errorf("a request has %d rows", len(part))
		}
		n += len(part)
	}
	if long := requests([]Row{{IDs: make([]int32, 2*maxRequestTokens)}}); n != len(rows) || len(long) != 1 {
		t.Errorf("%d rows of %d are sent, and a long one in %d requests", n, len(rows), len(long))
	}
}

func TestRefusals(t *testing.T) {
	b := open(t, tinkertest.Options{}, Sum)
	ctx := context.Background()
	for name, o := range map[string]Options{
		"password": {URL: "http://a:b@" + strings.TrimPrefix(b.URL, "http://")},
		"scheme":   {URL: "tinker://x"},
		"model":    {URL: b.URL, Model: "another"},
		"nobody":   {URL: "http://127.0.0.1:1", Retries: -1},
	} {
		if _, err := Open(ctx, o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	x := b.trainer(t, Sum)
	bonus := objectives()["loss dapo"]
	bonus.Bonus.On = true
	if _, err := x.Gradient(ctx, steps()[0], bonus); err == nil || !strings.Contains(err.Error(), "entropies") {
		t.Errorf("a bonus: %v", err)
	}
	if _, err := x.Score(ctx, steps()[0], 0.7); err == nil || !strings.Contains(err.Error(), "temperature") {
		t.Errorf("a temperature: %v", err)
	}
	if err := unpack([]byte("no archive"), t.TempDir()); err == nil {
		t.Error("an archive that is none was unpacked")
	}
}
