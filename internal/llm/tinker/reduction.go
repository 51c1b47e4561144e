package tinker

import (
	"context"
	"fmt"
	"math"
	"os"

	"hone/internal/fault"
)

// Reduction says what a server does with the losses of the tokens of a step.
type Reduction string

// The reductions that are known. The API has the sum; SkyRL's JAX backend has the mean over rows of each row's mean.
const (
	Sum       Reduction = "sum"
	RowMean   Reduction = "mean over rows of the mean over their tokens"
	MeanRows  Reduction = "mean over rows"
	TokenMean Reduction = "mean over tokens"
)

// scale is what a row's losses are multiplied by, so that a server has the sum: of a row of tokens, of a step of rows
// with all tokens.
func (r Reduction) scale(tokens, rows, all int) float64 {
	switch r {
	case RowMean:
		return float64(tokens) * float64(rows)
	case MeanRows:
		return float64(rows)
	case TokenMean:
		return float64(all)
	}
	return 1
}

// Habits are what a server does that its answers do not tell.
type Habits struct {
	Reduction Reduction
	Bounds    bool // the norm of a step's gradient, where it is asked to
	OwnBound  bool // the norm of a step's gradient, unasked
}

// The rows of the probe: both begin alike, and one token is trained, whose gradient so is the same in both.
const probeShort, probeLong, probeToken = 5, 13, 3

// Probe finds a server's habits on an adapter of its own, which is then let go. With Adam's decays 0 and an epsilon far
// above the gradient a step is linear in the gradient g: the logprob of the trained token rises by rate/epsilon |g|^2.
// So rises tell by how much the server's g is another than that of a short row alone:
//
//	the long row             1 or short/long, where a row's tokens are averaged
//	both, the long without advantage   1 or 1/2 or short/(short+long)
//
// The text is ids 1, 2, 3 and so on, below vocabulary. First the adapter is fetched, as a run's last one will be: fits
// looks at its folder.
func Probe(
	ctx context.Context, c *Client, l LoRA, vocabulary int, fits func(dir string) error,
) (h Habits, err error) {
	if vocabulary <= probeLong+1 {
		return h, fmt.Errorf("a vocabulary of %d is too small for a probe", vocabulary)
	}
	m, err := c.create(ctx, l)
	if err != nil {
		return h, err
	}
	defer m.unload(context.WithoutCancel(ctx))
	if err := m.fetch(ctx, fits); err != nil {
		return h, err
	}
	x := prober{m: m, rate: probeRate}
	if err := x.begin(ctx); err != nil {
		return h, err
	}
	var rises [6]float64
	for i, step := range []func() (float64, error){
		func() (float64, error) { return x.rise(ctx, 1, 0, probeShort) },
		func() (float64, error) { return x.rise(ctx, 1, 0, probeLong) },
		func() (float64, error) { return x.rise(ctx, 1, 0, probeShort, probeLong) },
		func() (float64, error) { return x.rise(ctx, 1, 0, probeShort) }, // what the steps between have moved
		func() (float64, error) { return x.rise(ctx, 1, probeBound, probeShort) },
		func() (float64, error) { return x.rise(ctx, probeLarger, 0, probeShort) },
	} {
		if rises[i], err = step(); err != nil {
			return h, err
		}
	}
	one := (rises[0] + rises[3]) / 2
	h.Bounds, h.OwnBound = rises[4] < one/2, rises[5] < one/2
	for _, r := range []struct {
		Reduction
		long, both float64
	}{
		{Sum, 1, 1}, {MeanRows, 1, 0.5}, {RowMean, float64(probeShort-1) / (probeLong - 1), 0.5},
		{TokenMean, float64(probeShort-1) / (probeLong - 1), float64(probeShort-1) / (probeShort + probeLong - 2)},
	} {
		if near(rises[1]/one, r.long) && near(rises[2]/one, r.both) {
			h.Reduction = r.Reduction
			return h, nil
		}
	}
	return h, &fault.Error{Code: fault.CodeError, What: "the trainer's gradients cannot be understood", Where: c.o.URL,
		Why: fmt.Sprintf("a step on one token moved its logprob by %.3g, in a longer row by %.3g, beside a row that "+
			"has no advantage by %.3g: that is no sum and no mean", one, rises[1], rises[2]),
		Next: "report it, with the server and its version"}
}

// fetch has the adapter looked at as it comes from the server.
func (m *Remote) fetch(ctx context.Context, fits func(dir string) error) error {
	dir, err := os.MkdirTemp("", "hone-tinker-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	path, err := m.publish(ctx, "probe")
	if err == nil {
		err = m.archive(ctx, path, dir)
	}
	if err != nil {
		return err
	}
	return fits(dir)
}

// near reports whether a ratio is what is expected, in bfloat16 too: the nearest two expected are 1/4 and 1/2.
func near(x, expected float64) bool { return math.Abs(math.Log2(x/expected)) < 0.45 }

const (
	probeEpsilon = 1e4
	probeRate    = 10.
	probeBound   = 1e-9
	probeLeast   = 0.05 // a rise that rounding does not hide
	probeMost    = 0.3  // and in which a step is still linear
	probeTries   = 14
	// probeAdvantage keeps the gradient's norm below 1, which some servers bound it to; probeLarger times it does not.
	probeAdvantage, probeLarger = 1e-3, 1e5
)

// prober takes the probe's steps.
type prober struct {
	m    *Remote
	rate float64
	last float64 // the trained token's logprob
}

// begin finds the rate at which a step moves the logprob well.
func (x *prober) begin(ctx context.Context) (err error) {
	if x.last, err = x.logprob(ctx); err != nil {
		return err
	}
	moved := 0.
	for range probeTries {
		if moved, err = x.rise(ctx, 1, 0, probeShort); err != nil {
			return err
		}
		if moved >= probeLeast && moved <= probeMost {
			return nil
		}
		x.rate *= min(30, max(1e-3, math.Sqrt(probeLeast*probeMost)/max(math.Abs(moved), 1e-9)))
	}
	return &fault.Error{Code: fault.CodeError, What: "the trainer's steps do not move its policy",
		Where: x.m.o.URL,
		Why: fmt.Sprintf("the logprob of a token that is trained rose by %.3g in the last of %d steps", moved,
			probeTries),
		Next: "see that the server's adapters are trained, and look at its log"}
}

func (x *prober) logprob(ctx context.Context) (float64, error) {
	rows := []Row{{IDs: probeIDs(probeShort), Inputs: map[string][]float32{"weights": ones(probeShort - 1)}}}
	p, err := x.m.pass(ctx, crossEntropy, rows, true)
	if err != nil {
		return 0, err
	}
	return float64(p[0][probeToken-1]), nil
}

// rise is by how much a step on rows of these lengths moves the logprob; the first row alone has an advantage, so many
// times as large as at other steps, at a rate so many times as small.
func (x *prober) rise(ctx context.Context, larger, bound float64, lengths ...int) (float64, error) {
	var rows []Row
	for i, n := range lengths {
		logprobs, advantages := make([]float32, n-1), make([]float32, n-1)
		if i == 0 {
			logprobs[probeToken-1], advantages[probeToken-1] = float32(x.last), float32(larger*probeAdvantage)
		}
		rows = append(rows, Row{IDs: probeIDs(n), Inputs: map[string][]float32{"logprobs": logprobs,
			"advantages": advantages}})
	}
	if _, err := x.m.pass(ctx, importanceSampling, rows, false); err != nil {
		return 0, err
	}
	if _, err := x.m.step(ctx, adam{rate: x.rate / larger, epsilon: probeEpsilon, maxNorm: bound}); err != nil {
		return 0, err
	}
	now, err := x.logprob(ctx)
	moved := now - x.last
	x.last = now
	return moved, err
}

func probeIDs(n int) []int32 {
	ids := make([]int32, n)
	for i := range ids {
		ids[i] = int32(i + 1)
	}
	return ids
}

func ones(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = 1
	}
	return x
}
