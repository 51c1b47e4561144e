package objective

import (
	"math"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"

	"hone/internal/learn/batch"
)

// divergence adds beta times an estimate of KL(p || p_ref) to each token's loss (GRPO, arXiv 2402.03300, eq. 3 and 4),
// with x = log p - log p_ref (J. Schulman, "Approximating KL divergence", 2020):
//
//	k1 = x    k2 = x^2 / 2    k3 = exp(-x) - 1 + x
//
// The means of k1 and k3 over samples of p are the divergence; their gradients are not its gradient: that of k1 is 0 on
// the average, that of k3 is the one of the divergence the other way round. That of k2 is right (Y. Tang, R. Munos, "On
// a few pitfalls in KL divergence gradient estimation for RL", arXiv 2506.09477). So there are three gradients:
//
//	own    d k
//	k2     x dx, whatever the value is (verl's k1+ and k3+)
//	ratio  d (r k), and the value is r k, with r the ratio to the old policy, a row's in gspo
//	       (DeepSeek-V3.2, arXiv 2512.02556, section 3.1; TRL's use_bias_correction_kl)
//
// Tokens that are no samples of p, those of demonstrations and of rows that are imitated, say nothing of its
// divergence: they have none (batch.NoReference), x is 0 there.
type divergence struct {
	Objective
	kl batch.KL
}

func (d divergence) Name() string {
	return d.Objective.Name() + "_" + string(d.kl.Estimator) + "_" + string(d.kl.Gradient)
}

func (d divergence) Columns() []batch.Column {
	return append(slices.Clone(d.Objective.Columns()), batch.ColumnReferenceLogprobs)
}

func (d divergence) Numbers() []float32 { return append(d.Objective.Numbers(), float32(d.kl.Beta)) }

func (d divergence) Graph(t Tokens) *Node {
	columns, numbers := t.Columns, t.Numbers
	reference, beta := columns[len(columns)-1], numbers[len(numbers)-1]
	inner := t
	inner.Columns, inner.Numbers = columns[:len(columns)-1], numbers[:len(numbers)-1]
	has := LessThan(reference, Scalar(t.Logprobs.Graph(), reference.DType(), float64(batch.NoReference)))
	x := Mul(Sub(t.Logprobs, reference), ConvertDType(has, t.Logprobs.DType()))
	var k *Node
	k2 := MulScalar(Mul(x, x), 0.5)
	switch d.kl.Estimator {
	case batch.K1:
		k = x
	case batch.K2:
		k = k2
	default:
		k = Add(AddScalar(Exp(Neg(x)), -1), x)
	}
	switch d.kl.Gradient {
	case batch.GradientK2:
		k = Add(Sub(k2, StopGradient(k2)), StopGradient(k))
	case batch.GradientRatio:
		logRatio := Sub(t.Logprobs, columns[0])
		if d.rowRatio() {
			logRatio = t.rowMean(logRatio)
		}
		k = Mul(k, Exp(logRatio))
	}
	return Add(d.Objective.Graph(inner), Mul(beta, k))
}

// rowRatio reports whether the ratio is one for each row.
func (d divergence) rowRatio() bool {
	of := d.Objective
	if masked, ok := of.(offPolicy); ok {
		of = masked.Objective
	}
	_, ok := of.(gspo)
	return ok
}

func (d divergence) Reference(r Row) (loss float64, slopes []float64) {
	last := len(r.Columns) - 1
	loss, slopes = d.Objective.Reference(Row{Logprobs: r.Logprobs, Columns: r.Columns[:last], Weights: r.Weights})
	byRow := 0.0 // derivative by the logarithm of the row's ratio
	for i, logprob := range r.Logprobs {
		if r.Columns[last][i] >= float64(batch.NoReference) {
			continue
		}
		k, slope := d.estimate(logprob - r.Columns[last][i])
		weight := r.Weights[i] * d.kl.Beta
		switch {
		case d.kl.Gradient != batch.GradientRatio:
			loss, slopes[i] = loss+weight*k, slopes[i]+weight*slope
		case d.rowRatio():
			ratio := rowRatio(r)
			loss, slopes[i], byRow = loss+weight*ratio*k, slopes[i]+weight*ratio*slope, byRow+weight*ratio*k
		default:
			ratio := math.Exp(logprob - r.Columns[0][i])
			loss, slopes[i] = loss+weight*ratio*k, slopes[i]+weight*ratio*(slope+k)
		}
	}
	for i := range slopes {
		slopes[i] += byRow / float64(len(slopes))
	}
	return loss, slopes
}

// estimate is the estimator of x, and the derivative that a step takes, but for the ratio.
func (d divergence) estimate(x float64) (k, slope float64) {
	k = Estimate(d.kl.Estimator, x)
	switch {
	case d.kl.Gradient == batch.GradientK2 || d.kl.Estimator == batch.K2:
		return k, x
	case d.kl.Estimator == batch.K1:
		return k, 1
	}
	return k, 1 - math.Exp(-x)
}

// Estimate is an estimate of a divergence in nats by one token, with x = log p - log p_ref.
func Estimate(e batch.Estimator, x float64) float64 {
	switch e {
	case batch.K1:
		return x
	case batch.K2:
		return x * x / 2
	default:
		return math.Exp(-x) - 1 + x
	}
}
