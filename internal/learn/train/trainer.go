package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sort"

	"hone/internal/fault"
	"hone/internal/learn/batch"
	"hone/internal/learn/engine"
	"hone/internal/learn/model"
)

// Options shape a trainer. Zero values mean the defaults named.
type Options struct {
	LoRA        model.LoRA
	MicroBatch  int     // rows computed at one time (2; 16 on a GPU): the inputs of all linear maps are kept, about 1.3 MB a token for a 135M model
	RowMultiple int     // row lengths are rounded up to it (64; 256 on a GPU): larger wastes work, smaller compiles more programs
	MaxPrefix   int     // longest prefix to share (no bound): each length is a compilation of its own
	Temperature float64 // of the logprobs, the one rollouts are sampled at (1)
}

// Trainer owns the adapter and its optimiser state. It is not safe for concurrent use.
type Trainer struct {
	engine      *engine.Engine
	spec        model.Spec
	lora        model.LoRA
	weights     []engine.Buffer
	temperature float64
	microBatch  int
	rowMultiple int
	maxPrefix   int
	size        int // length of the adapter's flat vector
	programs    map[string]*engine.Program

	adapter, m, v engine.Buffer
	steps         int // optimiser steps taken: the policy version
	momentSteps   int // of those, how many the moments have seen
}

// New starts from a state made by NewState or read from a checkpoint.
func New(e *engine.Engine, s model.Spec, weights []engine.Buffer, state State, o Options) (*Trainer, error) {
	if o.MicroBatch == 0 {
		o.MicroBatch = byDevice(e, 2, 16)
	}
	if o.RowMultiple == 0 {
		o.RowMultiple = byDevice(e, 64, 256)
	}
	if o.Temperature == 0 {
		o.Temperature = 1
	}
	if err := o.LoRA.Check(s); err != nil {
		return nil, err
	}
	_, size := o.LoRA.Pieces(s)
	t := &Trainer{engine: e, spec: s, lora: o.LoRA, weights: weights, temperature: o.Temperature,
		microBatch: o.MicroBatch, rowMultiple: o.RowMultiple, maxPrefix: o.MaxPrefix, size: size, programs: map[string]*engine.Program{}}
	if err := t.SetState(state); err != nil {
		return nil, err
	}
	return t, nil
}

func byDevice(e *engine.Engine, cpu, gpu int) int {
	if e.IsGPU() {
		return gpu
	}
	return cpu
}

// State is all a trainer must remember between steps, on the host.
type State struct {
	Adapter, M, V []float32 // flat, LoRA.Pieces' layout
	Steps         int       // optimiser steps taken: the policy version
	MomentSteps   int       // of those, how many M and V have seen
}

// NewState draws a fresh adapter as PEFT does: A uniform in +-1/sqrt(in) (Kaiming with a = sqrt 5), B zero.
func NewState(s model.Spec, l model.LoRA, seed uint64) State {
	pieces, size := l.Pieces(s)
	state := State{Adapter: make([]float32, size), M: make([]float32, size), V: make([]float32, size)}
	for _, p := range pieces {
		if p.B {
			continue
		}
		bound := 1 / math.Sqrt(float64(p.Cols))
		for i := range p.Rows * p.Cols {
			state.Adapter[p.Offset+i] = float32((2*uniform(seed, uint64(p.Offset+i)) - 1) * bound)
		}
	}
	return state
}

// uniform is draw i of stream seed, in [0, 1): splitmix64 of the counter, so that there is no generator state.
func uniform(seed, i uint64) float64 {
	x := seed*0xD1342543DE82EF95 + (i+1)*0x9E3779B97F4A7C15
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return float64((x^x>>31)>>11) / (1 << 53)
}

// SetState replaces adapter and optimiser state. Where it fails, the old state stays.
func (t *Trainer) SetState(s State) error {
	if len(s.Adapter) != t.size || len(s.M) != t.size || len(s.V) != t.size {
		return &fault.Error{Code: fault.CodeUsage, What: "the adapter does not fit the model",
			Why: fmt.Sprintf("it has %d numbers and moments of %d and %d, this model and rank need %d", len(s.Adapter), len(s.M), len(s.V), t.size)}
	}
	var fresh []engine.Buffer
	for _, flat := range [][]float32{s.Adapter, s.M, s.V} {
		b, err := t.engine.Upload(flat, t.size)
		if err != nil {
			engine.Free(fresh...)
			return err
		}
		fresh = append(fresh, b)
	}
	if t.adapter != nil {
		engine.Free(t.adapter, t.m, t.v)
	}
	t.adapter, t.m, t.v = fresh[0], fresh[1], fresh[2]
	t.steps, t.momentSteps = s.Steps, s.MomentSteps
	return nil
}

// ResetOptimizer forgets the moments and keeps the adapter: a stage with another loss begins with its own statistics.
func (t *Trainer) ResetOptimizer() error {
	state, err := t.State()
	if err != nil {
		return err
	}
	clear(state.M)
	clear(state.V)
	state.MomentSteps = 0
	return t.SetState(state)
}

// State copies the state to the host.
func (t *Trainer) State() (State, error) {
	s := State{Steps: t.steps, MomentSteps: t.momentSteps}
	var err error
	if s.Adapter, err = engine.Floats(t.adapter); err != nil {
		return s, err
	}
	if s.M, err = engine.Floats(t.m); err != nil {
		return s, err
	}
	s.V, err = engine.Floats(t.v)
	return s, err
}

// Adapter returns the adapter on the device, for the sampler to merge. It is valid until the next step.
func (t *Trainer) Adapter() engine.Buffer { return t.adapter }

// PolicyVersion counts the optimiser steps taken.
func (t *Trainer) PolicyVersion() int { return t.steps }

// Supervised takes one step on demonstrations: the mean negative log-likelihood of trained tokens.
func (t *Trainer) Supervised(ctx context.Context, b batch.Batch, u batch.Update) (batch.StepStats, error) {
	return t.step(ctx, b, objective{}, u)
}

// PolicyGradient takes one step of the DAPO loss on sampled trajectories.
func (t *Trainer) PolicyGradient(ctx context.Context, b batch.Batch, u batch.Update, clip batch.Clip) (batch.StepStats, error) {
	return t.step(ctx, b, objective{policy: true, clip: clip}, u)
}

// step takes one optimiser step: rows in micro-batches against one prefix, then the prefix's own backward pass, then
// Adam. Gradients equal those of the rows computed whole. A loss or gradient that is not finite is an error that leaves
// the state as it was.
func (t *Trainer) step(ctx context.Context, b batch.Batch, o objective, u batch.Update) (batch.StepStats, error) {
	b = b.Shorten(t.maxPrefix)
	stats := batch.StepStats{NumTokens: len(b.Prefix), NumTrained: b.NumTrained()}
	if stats.NumTrained == 0 {
		return stats, fmt.Errorf("a step without trained tokens")
	}
	if err := check(b.Rows); err != nil {
		return stats, err
	}
	gradient, err := t.gradient(ctx, b, o, &stats)
	if err != nil {
		return stats, err
	}
	n := float64(stats.NumTrained)
	stats.Mismatch, stats.MeanRatio = stats.Mismatch/n, stats.MeanRatio/n
	return stats, t.apply(gradient, u, &stats)
}

// gradient returns the adapter's gradient of the batch's loss, [A], and adds up the statistics.
func (t *Trainer) gradient(ctx context.Context, b batch.Batch, o objective, stats *batch.StepStats) (engine.Buffer, error) {
	kv, prefixIDs, err := t.prefix(b.Prefix)
	if err != nil {
		return nil, err
	}
	if prefixIDs != nil {
		defer engine.Free(append(kv, prefixIDs)...)
	}
	accumulators, err := t.zeros(len(b.Prefix))
	if err != nil {
		return nil, err
	}
	defer func() { engine.Free(accumulators...) }()
	for _, rows := range microBatches(b.Rows, t.microBatch) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		next, err := t.rows(rows, o, kv, len(b.Prefix), accumulators, stats)
		if err != nil {
			return nil, err
		}
		accumulators = next
	}
	gradient, err := t.prefixBackward(len(b.Prefix), prefixIDs, accumulators)
	if err != nil {
		return nil, err
	}
	accumulators = accumulators[1:]
	return gradient, nil
}

// apply moves the adapter along a gradient [A], which it consumes.
func (t *Trainer) apply(gradient engine.Buffer, u batch.Update, stats *batch.StepStats) error {
	out, err := t.applied(gradient, u, stats.Loss)
	if err != nil {
		engine.Free(gradient)
		return err
	}
	t.adapter, t.m, t.v = out[0], out[1], out[2]
	norm, err := take(out[3])
	if err != nil {
		return err
	}
	stats.GradNorm = float64(norm[0])
	if !finite(stats.GradNorm) {
		return t.refused("norm of the gradient", stats.GradNorm)
	}
	t.steps++
	t.momentSteps++
	return nil
}

// applied runs the apply program, which consumes state and gradient unless there is an error.
func (t *Trainer) applied(gradient engine.Buffer, u batch.Update, loss float64) ([]engine.Buffer, error) {
	if !finite(loss) {
		return nil, t.refused("loss", loss)
	}
	p, err := t.applyProgram()
	if err != nil {
		return nil, err
	}
	in := []engine.Buffer{t.adapter, t.m, t.v, gradient}
	s := float64(t.momentSteps + 1)
	bound := u.MaxGradNorm
	if bound == 0 {
		bound = math.MaxFloat32
	}
	for _, x := range []float64{u.Rate, bound, 1 - math.Pow(beta1, s), 1 - math.Pow(beta2, s)} {
		b, err := t.engine.Upload([]float32{float32(x)})
		if err != nil {
			return nil, err
		}
		defer engine.Free(b)
		in = append(in, b)
	}
	return p.Run(in...)
}

// refused is the error of a step that is not taken because a number is not finite.
func (t *Trainer) refused(what string, x float64) error {
	return &fault.Error{Code: fault.CodeError, What: fmt.Sprintf("the %s is %v", what, x), Where: fmt.Sprintf("optimiser step %d", t.steps+1),
		Why:  "a number of the model or of a row went out of bounds; the step is not taken, adapter and optimiser are as they were",
		Next: "lower the stage's learning_rate in hone.yaml; hone runs show names the last checkpoint"}
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// check refuses rows that begin with a trained token: no position comes before it to take its logprob from.
func check(rows []batch.Sequence) error {
	for i, r := range rows {
		if len(r.Trained) > 0 && r.Trained[0] {
			return fmt.Errorf("row %d of %d begins with a trained token", i+1, len(rows))
		}
	}
	return nil
}

// prefixBackward adds what dK,dV of a prefix of p tokens imply to the gradient, the first of the accumulators, which it
// consumes unless there is an error.
func (t *Trainer) prefixBackward(p int, ids engine.Buffer, accumulators []engine.Buffer) (engine.Buffer, error) {
	if p == 0 {
		return accumulators[0], nil
	}
	program, err := t.prefixBackwardProgram(p)
	if err != nil {
		return nil, err
	}
	out, err := program.Run(append(append(append(t.modelBuffers(), ids), accumulators[1:]...), accumulators[0])...)
	if err != nil {
		return nil, err
	}
	return out[0], nil
}

// prefix computes the keys and values of the prefix and keeps its ids for the backward pass. Without a prefix there is
// nothing of either.
func (t *Trainer) prefix(ids []int32) (kv []engine.Buffer, idsBuffer engine.Buffer, err error) {
	if len(ids) == 0 {
		return nil, nil, nil
	}
	p, err := t.prefixProgram(len(ids))
	if err != nil {
		return nil, nil, err
	}
	if idsBuffer, err = t.engine.Upload(ids, 1, len(ids)); err != nil {
		return nil, nil, err
	}
	if kv, err = p.Run(append(t.modelBuffers(), idsBuffer)...); err != nil {
		engine.Free(idsBuffer)
		return nil, nil, err
	}
	return kv, idsBuffer, nil
}

// zeros are the accumulators of one step: the adapter's gradient, then dK,dV of the prefix.
func (t *Trainer) zeros(p int) ([]engine.Buffer, error) {
	g, err := t.engine.Upload(make([]float32, t.size), t.size)
	if err != nil {
		return nil, err
	}
	out := []engine.Buffer{g}
	zero := make([]float32, t.spec.NumKVHeads*p*t.spec.HeadDim)
	for range t.numPrefix(p) {
		b, err := t.engine.Upload(zero, t.spec.NumKVHeads, p, t.spec.HeadDim)
		if err != nil {
			engine.Free(out...)
			return nil, err
		}
		out = append(out, b)
	}
	return out, nil
}

// rows runs forward and backward of one micro-batch and returns the new accumulators. It consumes the old ones unless
// there is an error.
func (t *Trainer) rows(rows []batch.Sequence, o objective, kv []engine.Buffer, p int, accumulators []engine.Buffer,
	stats *batch.StepStats) ([]engine.Buffer, error) {
	x := t.pad(rows, 1/float64(stats.NumTrained))
	program, err := t.rowsProgram(x.n, x.c, x.m, p)
	if err != nil {
		return nil, err
	}
	inputs, err := x.upload(t.engine)
	if err != nil {
		return nil, err
	}
	defer func() { engine.Free(inputs...) }()
	target, err := o.upload(t.engine)
	if err != nil {
		return nil, err
	}
	inputs = append(inputs, target)
	in := append(append(append(t.modelBuffers(), kv...), inputs...), accumulators...)
	out, err := program.Run(in...)
	if err != nil {
		return nil, err
	}
	loss, lossErr := take(out[0])
	logp, err := take(out[1])
	if err := errors.Join(lossErr, err); err != nil {
		engine.Free(out[2:]...)
		return nil, err
	}
	stats.Loss += float64(loss[0])
	for i, s := range x.sampler {
		if x.weight[i] == 0 || !x.sampled {
			continue
		}
		delta := float64(logp[i]) - float64(s)
		stats.MeanRatio += math.Exp(delta)
		stats.Mismatch += math.Exp(delta) - 1 - delta
		stats.MaxDelta = max(stats.MaxDelta, math.Abs(delta))
	}
	for _, r := range rows {
		stats.NumTokens += len(r.IDs)
	}
	return out[2:], nil
}

// take copies a buffer of float32 to the host and releases it.
func take(b engine.Buffer) ([]float32, error) {
	defer engine.Free(b)
	return engine.Floats(b)
}

// Score returns the trainer's logprobs of each row's trained tokens, in order.
func (t *Trainer) Score(b batch.Batch) ([][]float32, error) {
	b = b.Shorten(t.maxPrefix)
	if err := check(b.Rows); err != nil {
		return nil, err
	}
	kv, ids, err := t.prefix(b.Prefix)
	if err != nil {
		return nil, err
	}
	if ids != nil {
		defer engine.Free(append(kv, ids)...)
	}
	var scores [][]float32
	for start := 0; start < len(b.Rows); start += t.microBatch {
		rows := b.Rows[start:min(start+t.microBatch, len(b.Rows))]
		x := t.pad(rows, 1)
		p, err := t.scoreProgram(x.n, x.c, x.m, len(b.Prefix))
		if err != nil {
			return nil, err
		}
		inputs, err := x.upload(t.engine)
		if err != nil {
			return nil, err
		}
		out, err := p.Run(append(append(t.modelBuffers(), kv...), inputs[:3]...)...)
		engine.Free(inputs...)
		if err != nil {
			return nil, err
		}
		logp, err := take(out[0])
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			n := r.NumTrained()
			scores = append(scores, logp[:n:n])
			logp = logp[n:]
		}
	}
	return scores, nil
}

// microBatches sorts the rows by length, longest first, so that little is padded, and cuts them into runs of n. The
// gradient is a sum over rows, so their order within a step does not matter to it.
func microBatches(rows []batch.Sequence, n int) [][]batch.Sequence {
	sorted := append([]batch.Sequence{}, rows...)
	sort.SliceStable(sorted, func(i, j int) bool { return len(sorted[i].IDs) > len(sorted[j].IDs) })
	var out [][]batch.Sequence
	for start := 0; start < len(sorted); start += n {
		out = append(out, sorted[start:min(start+n, len(sorted))])
	}
	return out
}

func (t *Trainer) decoder(in []*node) *model.Decoder {
	return model.NewAdapted(t.spec, in[:len(t.weights)], t.lora, in[len(t.weights)])
}

func (t *Trainer) modelParams() []engine.Param {
	return append(t.spec.WeightParams(), engine.Param{Name: "adapter", Shape: engine.F32(t.size)})
}

func (t *Trainer) modelBuffers() []engine.Buffer {
	return append(append(make([]engine.Buffer, 0, len(t.weights)*2), t.weights...), t.adapter)
}

// numPrefix is the number of arrays that hold keys and values, or their gradients, of a prefix of p tokens.
func (t *Trainer) numPrefix(p int) int {
	if p == 0 {
		return 0
	}
	return 2 * t.spec.NumLayers
}

func (t *Trainer) prefixParams(name string, p int, donated bool) []engine.Param {
	var params []engine.Param
	for i := range t.numPrefix(p) {
		params = append(params, engine.Param{Name: fmt.Sprintf("%s%d", name, i),
			Shape: engine.F32(t.spec.NumKVHeads, p, t.spec.HeadDim), Donated: donated})
	}
	return params
}

// program returns the compiled program of a key, compiling it the first time.
func (t *Trainer) program(key string, compile func() (*engine.Program, error)) (*engine.Program, error) {
	if p, ok := t.programs[key]; ok {
		return p, nil
	}
	p, err := compile()
	if err == nil {
		t.programs[key] = p
	}
	return p, err
}
