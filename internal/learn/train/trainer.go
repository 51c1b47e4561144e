package train

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"hone/internal/engine"
	"hone/internal/fault"
	"hone/internal/learn/batch"
	"hone/internal/learn/model"
)

// Options shape a trainer. Zero values mean the defaults named.
type Options struct {
	LoRA model.LoRA
	// rows computed at one time at most (1; on a GPU 16, within 4096 MicroTokens): the inputs of all linear maps are
	// kept, about 1.1 MB a token for a 135M model
	MicroBatch  int
	MicroTokens int // of several rows computed at one time, at most (no bound)
	RowMultiple int // row lengths are rounded up to a multiple of it (64; 256 on a GPU), and long ones to few (bucket)
	// Lengths are all that rows are padded to, rising, each a length that RowMultiple gives too; a row that is longer
	// than all of them has RowMultiple's (none: each has RowMultiple's).
	// LengthSteps is for how many optimiser steps they are so (0: all).
	Lengths     []int
	LengthSteps int
	MaxPrefix   int // longest prefix to share (no bound): each length is a compilation of its own
	// VaryingPrefix says that rows of a step may begin alike beyond MaxPrefix too, in another way each step: such rows
	// are computed behind what they share, of which as much is taken as makes few lengths.
	VaryingPrefix bool
	// TreeTokens is how many tokens behind the prefix rows have together, where they are computed as a tree, what
	// several begin with once (none are). Losses that look at whole rows compute them apart.
	TreeTokens int

	// Recompute says what the backward pass computes again instead of keeping it (RecomputeNone).
	Recompute Recompute
	// KeepTokens is how many tokens what is computed at one time may have and still be kept whole, where Recompute says
	// otherwise (0).
	KeepTokens int
	// EightBitMoments stores Adam's moments in 8 bits a number.
	EightBitMoments bool
	// Dropout is the share of each adapter's inputs that a supervised step leaves out (0). Policy-gradient steps leave
	// nothing out, since they compare with a sampler that does not.
	Dropout float64
	Seed    uint64 // of what is left out
	// Notice is told what the trainer changes by itself; nil: nobody is.
	Notice func(text string)
}

// Recompute says what a training program computes again in its backward pass instead of keeping it: gradient
// checkpointing (arXiv 1604.06174). The gradient is the same to rounding.
type Recompute string

// The values of Options.Recompute; empty is RecomputeNone.
const (
	RecomputeNone  Recompute = "none"  // the MLP's product alone, and the scores of attention that is not fused
	RecomputeLayer Recompute = "layer" // each layer, from its input (model.Decoder.RecomputeLayers)
)

// Trainer owns the adapter and its optimiser state. It is not safe for concurrent use.
type Trainer struct {
	engine      *engine.Engine
	spec        model.Spec
	lora        model.LoRA
	weights     []engine.Buffer
	microBatch  int
	microTokens int
	rowMultiple int
	lengths     []int // Options.Lengths
	lengthSteps int   // Options.LengthSteps
	maxPrefix   int
	alike       int // tokens that rows begin alike with at least to be computed behind them (byPrefix); 0: none are
	treeTokens  int
	size        int // length of the adapter's flat vector
	dropout     float64
	recompute   Recompute
	keepTokens  int
	mlpChunk    int  // tokens, where layers are computed again
	inTurn      bool // chunks of the head wait for each other
	together    bool // a prefix is computed with the rows, where they are one micro-batch
	seed        uint64
	notice      func(text string)
	lessened    bool       // less is computed at once, because the device ran out of memory
	compiled    sync.Mutex // of the next two, while programs are compiled at one time
	programs    map[string]program
	made        made // programs since they were last asked for

	adapter     engine.Buffer
	store       store
	moments     []engine.Buffer // as the store has them
	steps       int             // optimiser steps taken: the policy version
	momentSteps int             // of those, how many the moments have seen
	gradient    engine.Buffer   // [A], to be applied; nil where there is none
	reference   engine.Buffer   // [A], an adapter that is held for comparison; nil where there is none
}

// program is a compiled one.
type program interface {
	Run(in ...engine.Buffer) ([]engine.Buffer, error)
}

// New starts from a state made by NewState or read from a checkpoint.
func New(e *engine.Engine, s model.Spec, weights []engine.Buffer, state State, o Options) (*Trainer, error) {
	if err := o.LoRA.Check(s); err != nil {
		return nil, err
	}
	if !(o.Dropout >= 0 && o.Dropout < 1) {
		return nil, &fault.Error{Code: fault.CodeUsage,
			What: fmt.Sprintf("a dropout of %v leaves nothing to train on",
				o.Dropout), Next: "give lora.dropout a share from 0 to below 1"}
	}
	o = o.WithDefaults(e.IsGPU())
	if o.Notice == nil {
		o.Notice = func(string) {}
	}
	_, size := o.LoRA.Pieces(s)
	t := &Trainer{engine: e, spec: s, lora: o.LoRA, weights: weights,
		microBatch: o.MicroBatch, microTokens: o.MicroTokens, rowMultiple: o.RowMultiple,
		lengths: o.Lengths, lengthSteps: o.LengthSteps, maxPrefix: o.MaxPrefix,
		treeTokens: o.TreeTokens, size: size, programs: map[string]program{}, dropout: o.Dropout,
		recompute: o.Recompute, keepTokens: o.KeepTokens, mlpChunk: mlpChunk, inTurn: e.IsGPU(), together: e.IsGPU(),
		seed: o.Seed, notice: o.Notice, store: whole{}}
	if o.EightBitMoments {
		t.store = blockwise{}
	}
	if o.VaryingPrefix {
		t.alike = leastAlike
	}
	if err := t.SetState(state); err != nil {
		return nil, err
	}
	return t, nil
}

// WithDefaults returns the options with the shapes of rows that a device takes where they are zero.
func (o Options) WithDefaults(gpu bool) Options {
	byDevice := func(onCPU, onGPU int) int {
		if gpu {
			return onGPU
		}
		return onCPU
	}
	if o.MicroBatch == 0 {
		o.MicroBatch, o.MicroTokens = byDevice(1, 16), byDevice(0, microTokens)
	}
	o.RowMultiple = cmp.Or(o.RowMultiple, byDevice(64, 256))
	return o
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
			Why: fmt.Sprintf("it has %d numbers and moments of %d and %d, this model and rank need %d",
				len(s.Adapter), len(s.M), len(s.V), t.size)}
	}
	adapter, err := t.engine.Upload(s.Adapter, t.size)
	if err != nil {
		return err
	}
	moments, err := t.store.upload(t.engine, s.M, s.V)
	if err != nil {
		engine.Free(adapter)
		return err
	}
	if t.adapter != nil {
		engine.Free(append(t.moments, t.adapter)...)
	}
	t.adapter, t.moments = adapter, moments
	t.steps, t.momentSteps = s.Steps, s.MomentSteps
	t.drop()
	return nil
}

// Snapshot returns what puts the trainer back where it is now, from a copy on the host.
func (t *Trainer) Snapshot() (restore func() error, err error) {
	state, err := t.State()
	return func() error { return t.SetState(state) }, err
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
	s.M, s.V, err = t.store.download(t.moments, t.size)
	return s, err
}

// Adapter returns the adapter on the device, for the sampler to apply. It is valid until the next step.
func (t *Trainer) Adapter() engine.Buffer { return t.adapter }

// PolicyVersion counts the optimiser steps taken.
func (t *Trainer) PolicyVersion() int { return t.steps }

// Step takes one optimiser step: Gradient, then Apply.
func (t *Trainer) Step(ctx context.Context, b batch.Batch, o batch.Objective, u batch.Update) (batch.StepStats, error) {
	stats, err := t.Gradient(ctx, b, o)
	if err != nil {
		return stats, err
	}
	stats.GradNorm, err = t.Apply(u)
	return stats, err
}

// Gradient computes the gradient of a batch's loss: that of a prefix and of rows in micro-batches, equal to that of the
// rows computed whole. It is kept on the device for Apply, in the place of one that was not applied; adapter and
// optimiser stay as they are. A loss that is not finite is an error.
func (t *Trainer) Gradient(ctx context.Context, b batch.Batch, o batch.Objective) (batch.StepStats, error) {
	t.drop()
	b = b.Shorten(t.maxPrefix)
	fresh := batch.StepStats{NumTrained: b.NumTrained()}
	stats := fresh
	if stats.NumTrained == 0 {
		return stats, fmt.Errorf("a step without trained tokens")
	}
	if err := check(b.Rows); err != nil {
		return stats, err
	}
	goal, err := t.goalOf(o, b.Rows)
	if err != nil {
		return stats, err
	}
	gradient, err := t.gradientOf(ctx, b, goal, &stats)
	for t.lessens(err, b, !goal.ByRow(), true) {
		stats = fresh
		gradient, err = t.gradientOf(ctx, b, goal, &stats)
	}
	if err != nil {
		return stats, t.memoryError(err, mostRows(t.calls(b.Rows, !goal.ByRow())))
	}
	if !finite(stats.Loss) {
		engine.Free(gradient)
		return stats, t.notFiniteError("loss", stats.Loss)
	}
	t.gradient = gradient
	n, sampled := float64(stats.NumTrained), float64(max(1, stats.NumSampled))
	stats.Mismatch, stats.MeanRatio, stats.Clipped, stats.KL, stats.Entropy =
		stats.Mismatch/sampled, stats.MeanRatio/sampled, stats.Clipped/n,
		stats.KL/float64(max(1, stats.NumReferred)), stats.Entropy/sampled
	stats.EntropyChosen /= float64(max(1, stats.NumChosen))
	return stats, nil
}

// drop releases a gradient that was not applied.
func (t *Trainer) drop() {
	if t.gradient != nil {
		engine.Free(t.gradient)
		t.gradient = nil
	}
}

// gradientOf returns the adapter's gradient of the batch's loss, [A], and adds up the statistics. Of several devices
// each has the gradient of its own micro-batches: the whole is their sum.
func (t *Trainer) gradientOf(
	ctx context.Context, b batch.Batch, o goal, stats *batch.StepStats,
) (gradient engine.Buffer, err error) {
	parts := t.byPrefix(b)
	ahead := t.ahead()
	ahead.gradient(parts, o)
	if err := ahead.compile(); err != nil {
		return nil, err
	}
	for _, part := range parts {
		if gradient, err = t.gradientOfPart(ctx, part.Batch, o, stats, gradient, len(parts) == 1); err != nil {
			return nil, err
		}
	}
	return gradient, nil
}

// gradientOfPart adds the gradient of a part to the one of those before, which it consumes; nil: it is the first. Where
// it is alone, and each device has one micro-batch, a GPU computes a prefix with it. Else the prefix is computed
// before, each adds to the gradient of its keys and values, and it is computed again in its own backward pass.
func (t *Trainer) gradientOfPart(
	ctx context.Context, b batch.Batch, o goal, stats *batch.StepStats, before engine.Buffer, alone bool,
) (engine.Buffer, error) {
	m, calls := t.masks(o.dropout, b.Prefix), t.calls(b.Rows, !o.ByRow())
	stats.NumTokens += len(b.Prefix)
	for _, x := range calls {
		stats.NumPadded += x.n * x.c * t.engine.NumDevices()
		for _, tree := range x.trees {
			stats.NumTokens, stats.NumPadded = stats.NumTokens+len(tree.ids), stats.NumPadded-len(tree.ids)
		}
	}
	if calls[0].packed {
		stats.NumApart += Options{}.NumTokens(b)
	}
	weight := 1 / float64(cmp.Or(b.Normaliser, stats.NumTrained))
	pad := func(x call) []padded { return t.pad(x, b.Rows, weight, o.columns, m) }
	if alone && t.oneProgram(b, calls) {
		return t.tree(ctx, b.Prefix, pad(calls[0]), o, m, stats)
	}
	accumulators, err := t.zeros(len(b.Prefix), before)
	if err != nil {
		return nil, err
	}
	defer func() { engine.Free(accumulators...) }()
	kv, prefix, err := t.prefix(b.Prefix, m)
	if err != nil {
		return nil, err
	}
	defer func() { engine.Free(append(kv, prefix...)...) }()
	for _, x := range calls {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		next, err := t.rows(pad(x), o, kv, len(b.Prefix), accumulators, stats)
		if err != nil {
			return nil, err
		}
		accumulators = next
	}
	gradient, err := t.prefixBackward(len(b.Prefix), m, prefix, accumulators)
	if err != nil {
		return nil, err
	}
	accumulators = accumulators[1:]
	return gradient, nil
}

// lessens reports whether what ended with err is to be tried again, when the device ran out of memory: with rows that
// are not packed; then once with half as many rows at a time, or with a row apart from the prefix, where it may be
// computed together with it.
func (t *Trainer) lessens(err error, b batch.Batch, packed, together bool) bool {
	if !engine.OutOfMemory(err) || t.lessened {
		return false
	}
	calls := t.calls(b.Rows, packed)
	before := mostRows(calls)
	what := "a prefix is computed apart from its rows from here on"
	switch {
	case packed && t.treeTokens > 0:
		t.treeTokens = 0
		t.ranOut("rows are not packed from here on (engine.packing)")
		return true
	case t.keepTokens > 0 && t.recompute == RecomputeLayer:
		t.keepTokens = 0
		t.ranOut("layers of all rows are computed again from here on (engine.keep_tokens)")
		return true
	case before > 1:
		t.microBatch, t.microTokens = (before+1)/2, t.microTokens/2
		what = fmt.Sprintf("rows are computed %d at a time from here on, not %d (engine.micro_batch)",
			t.microBatch, before)
	case together && t.oneProgram(b, calls):
		t.together = false
	default:
		return false
	}
	t.lessened = true
	t.ranOut(what)
	return true
}

func (t *Trainer) ranOut(what string) {
	t.notice(fmt.Sprintf("the device ran out of memory in optimiser step %d: %s", t.steps+1, what))
}

// memoryError is an error of a step, which says what helps where that is memory.
func (t *Trainer) memoryError(err error, n int) error {
	if !engine.OutOfMemory(err) {
		return err
	}
	next := "lower engine.row_multiple, model.context or the rank"
	switch {
	case n > 1:
		next = fmt.Sprintf("set engine.micro_batch below %d", n)
	case t.recompute != RecomputeLayer && t.spec.Shards <= 1:
		next = "set engine.recompute to layer, or " + next
	}
	return &fault.Error{Code: fault.CodeExhausted, What: "the device is out of memory",
		Where: fmt.Sprintf("optimiser step %d", t.steps+1),
		Why: fmt.Sprintf("with %d rows at a time; the step is not taken, adapter and optimiser are as they were",
			n), Err: err, Next: next}
}

// notFiniteError is the error of a step that is not taken because a number is not finite.
func (t *Trainer) notFiniteError(what string, x float64) error {
	return &fault.Error{
		Code:  fault.CodeError,
		What:  fmt.Sprintf("the %s is %v", what, x),
		Where: fmt.Sprintf("optimiser step %d", t.steps+1),
		Why:   "the step is not taken, adapter and optimiser are as they were",
		Err:   batch.ErrNotFinite,
		Next:  "lower the stage's learning_rate in hone.yaml; hone runs show names the last checkpoint",
	}
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

// tree returns the gradient of a prefix and one micro-batch of each device.
func (t *Trainer) tree(
	ctx context.Context, ids []int32, each []padded, o goal, m masks, stats *batch.StepStats,
) (engine.Buffer, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p, err := t.treeProgram(each[0].shape, len(ids), o)
	if err != nil {
		return nil, err
	}
	prefix, err := t.uploadPrefix(ids, m)
	if err != nil {
		return nil, err
	}
	defer engine.Free(prefix...)
	out, err := t.run(p, prefix, each, o, nil, stats)
	if err != nil {
		return nil, err
	}
	return out[0], nil
}

// zeros are the accumulators of one part: the adapter's gradient, which goes on from that of the parts before (nil: of
// none), then dK,dV of the prefix. Where it fails, what came before is released.
func (t *Trainer) zeros(p int, before engine.Buffer) ([]engine.Buffer, error) {
	g := []engine.Buffer{before}
	if before == nil {
		var err error
		if g, err = t.engine.Zeros(engine.F32(t.size), 1); err != nil {
			return nil, err
		}
	}
	kv, err := t.engine.Zeros(engine.F32(t.spec.NumKVHeads, p, t.spec.HeadDim), t.numPrefix(p))
	if err != nil {
		engine.Free(g...)
		return nil, err
	}
	return append(g, kv...), nil
}

// rows runs forward and backward of a micro-batch on each device and returns the new accumulators. It consumes the old
// ones unless there is an error.
func (t *Trainer) rows(each []padded, o goal, kv []engine.Buffer, p int, accumulators []engine.Buffer,
	stats *batch.StepStats) ([]engine.Buffer, error) {
	program, err := t.rowsProgram(each[0].shape, p, o)
	if err != nil {
		return nil, err
	}
	return t.run(program, kv, each, o, accumulators, stats)
}

// run runs a program of rows, given what its inputs have before and behind them, adds to the statistics, and returns
// what the program returns beside losses and logprobs.
func (t *Trainer) run(
	p program, before []engine.Buffer, each []padded, o goal, behind []engine.Buffer, stats *batch.StepStats,
) ([]engine.Buffer, error) {
	inputs, err := upload(t.engine, each, o.ByRow())
	if err != nil {
		return nil, err
	}
	defer func() { engine.Free(inputs...) }()
	settings, err := o.upload(t.engine)
	if err != nil {
		return nil, err
	}
	inputs = slices.Insert(inputs, o.numByToken(), settings...)
	out, err := p.Run(slices.Concat(t.modelBuffers(), before, inputs, behind)...)
	if err != nil {
		return nil, err
	}
	loss, lossErr := takeEach(out[0], len(each))
	logp, err := takeEach(out[1], len(each))
	rest := out[1+len(o.outputs()):]
	var entropies [][]float32
	var entropyErr error
	if o.settings.Bonus.On {
		entropies, entropyErr = takeEach(out[2], len(each))
	}
	if err := errors.Join(lossErr, err, entropyErr); err != nil {
		engine.Free(rest...)
		return nil, err
	}
	for i, x := range each {
		stats.Loss += float64(loss[i][0])
		x.compare(logp[i], o, stats)
		if entropies != nil {
			x.explore(entropies[i], o, stats)
		}
	}
	return rest, nil
}

// take copies a buffer of float32 to the host and releases it.
func take(b engine.Buffer) ([]float32, error) {
	defer engine.Free(b)
	return engine.Floats(b)
}

// takeEach copies what each of n devices has of a buffer of float32 to the host and releases it.
func takeEach(b engine.Buffer, n int) ([][]float32, error) {
	defer engine.Free(b)
	out := make([][]float32, n)
	for i := range out {
		var err error
		if out[i], err = engine.Floats(engine.Part(b, i)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (t *Trainer) decoder(in []*node) *model.Decoder {
	return model.NewAdapterDecoder(t.spec, in[:len(t.weights)], t.lora, in[len(t.weights)])
}

func (t *Trainer) modelParams() []engine.Param {
	return append(t.spec.WeightParams(), engine.Param{Name: "adapter", Shape: engine.F32(t.size)})
}

func (t *Trainer) modelBuffers() []engine.Buffer { return t.buffersUnder(t.adapter) }

// buffersUnder are modelBuffers with another adapter.
func (t *Trainer) buffersUnder(adapter engine.Buffer) []engine.Buffer {
	return append(append(make([]engine.Buffer, 0, len(t.weights)*2), t.weights...), adapter)
}
