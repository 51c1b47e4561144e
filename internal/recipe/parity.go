package recipe

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"hone/internal/fault"
	"hone/internal/learn/batch"
)

// Parity is a probe that compares sampler and trainer each time that the sampler was given a policy, before an episode
// of it is run. The sampler completes fixed prompts, with random streams that are fixed too, by the very way that
// episodes go, and the trainer scores the same ids. What both hold is the same policy if their logprobs are: a checksum
// tells that the right adapter lies there, the probe that it is computed with.
type Parity struct {
	// Sample returns a row for each prompt, whose completion is trained on as an episode's would be.
	Sample func(ctx context.Context) ([]batch.Sequence, error)
	Text   func(id int32) string // of a token, for a person
}

// farthest is which share of the probe's tokens is left out of its mean: those whose logprobs differ most. bfloat16
// rounds one of some hundred tokens by a whole nat (leastTokens has the measurement), and a probe has fewer; where
// policies differ most tokens do.
const farthest = 1. / 16

// slack is how many times the bound on a step's mean the mean of a probe may be: the bound is close to what bfloat16
// gives over thousands of tokens (docs/ENGINE.md), and a probe of 64 scatters around that. A policy that is another one
// is off by far more.
const slack = 4

// apart is one token as sampler and trainer see it.
type apart struct {
	row, at int // which row of the batch, and its index among those trained in it
	id      int32
	sampler float32
	trainer float32
}

// delta is the difference of the logprobs.
func (a apart) delta() float64 { return float64(a.trainer) - float64(a.sampler) }

func (a apart) mismatch() float64 { return Mismatch(a.delta()) }

// Mismatch is the k3 estimate, by one token, of how far two policies are apart in nats
// (http://joschu.net/blog/kl-approx.html), given the difference of its logprobs; what is no number is as far as can be.
func Mismatch(delta float64) float64 {
	k3 := math.Exp(delta) - 1 - delta
	if math.IsNaN(k3) {
		return math.Inf(1)
	}
	return k3
}

// look samples and scores. It is a *fault.Error where the mean mismatch of the tokens is above the bound.
func (p *Parity) look(
	ctx context.Context, where string, temperature, bound float64, trainer Trainer,
) (map[string]float64, error) {
	if p == nil {
		return nil, nil
	}
	rows, err := p.Sample(ctx)
	if err != nil {
		return nil, err
	}
	b := batch.New(rows)
	if b.NumTrained() == 0 || len(b.Rows) != len(rows) {
		return nil, fmt.Errorf("the probe of %s has %d rows of %d", where, len(b.Rows), len(rows))
	}
	scores, err := trainer.Score(ctx, b, temperature)
	if err != nil {
		return nil, err
	}
	tokens := tokensOf(b, scores)
	mean, each := 0.0, make([]float64, len(tokens))
	for i, x := range tokens {
		mean, each[i] = mean+x.mismatch()/float64(len(tokens)), x.mismatch()
	}
	worst := slices.MaxFunc(tokens, func(x, y apart) int { return cmp.Compare(x.mismatch(), y.mismatch()) })
	metrics := map[string]float64{"sampling/probe_kl": mean, "sampling/probe_max_logp_delta": math.Abs(worst.delta())}
	kept, near := Near(each, ProbeBound(bound))
	if near {
		return metrics, nil
	}
	return metrics, &fault.Error{
		Code:  fault.CodeError,
		What:  "sampler and trainer do not hold the same policy",
		Where: where,
		Why: fmt.Sprintf("the mean mismatch KL of %d probed tokens, without the %d farthest, is %.2g nats a token, "+
			"and the bound is %.2g; farthest is token %d of the completion of prompt %d, %q (id %d): its logprob is "+
			"%.4f to the sampler and %.4f to the trainer", len(tokens), numExcluded(len(tokens)), kept,
			ProbeBound(bound), worst.at, worst.row, p.text(worst.id), worst.id, worst.sampler, worst.trainer),
		Next: "the steps before are kept, and no episode of this policy was run; " +
			"where sampler.url is set, the server must serve the same base model, unquantised and in a like dtype, " +
			"and apply the adapter to all of its target modules",
	}
}

// Near is the mean of a probe's mismatches without the farthest, and whether it is within a bound and all are numbers.
func Near(each []float64, bound float64) (mean float64, near bool) {
	sorted := slices.Sorted(slices.Values(each))
	kept := sorted[:len(sorted)-numExcluded(len(sorted))]
	for _, x := range kept {
		mean += x / float64(len(kept))
	}
	return mean, mean <= bound && !math.IsInf(sorted[len(sorted)-1], 0)
}

// ProbeBound is the bound on a probe's mean, given the one on a step's.
func ProbeBound(bound float64) float64 { return slack * bound }

// numExcluded is how many of so many tokens are no part of the mean.
func numExcluded(tokens int) int {
	if tokens < 2 {
		return 0
	}
	return int(math.Ceil(farthest * float64(tokens)))
}

func (p *Parity) text(id int32) string {
	if p == nil || p.Text == nil {
		return ""
	}
	return p.Text(id)
}

// tokensOf are the trained tokens of a batch that a sampler has logprobs of, with their scores.
func tokensOf(b batch.Batch, scores [][]float32) (tokens []apart) {
	for i, r := range b.Rows {
		at := 0
		for j, trained := range r.Trained {
			if trained && !r.Scored {
				tokens = append(tokens, apart{i, at, r.IDs[j], r.SamplerLogprobs[j], scores[i][j]})
				at++
			}
		}
	}
	return tokens
}
