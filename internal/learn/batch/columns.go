package batch

// Column names per-token numbers of a row, which an objective asks for. Rows may carry others under names of their own,
// such as the logprobs of a reference policy.
type Column string

// The columns that objectives know.
const (
	// ColumnAdvantages is Sequence.Advantages.
	ColumnAdvantages Column = "advantages"
	// ColumnOldLogprobs are those that the ratio of a policy gradient is taken against: of the policy that the episodes
	// were sampled from, at the first optimiser step on a batch as at each later one. Rows without a column of that
	// name have the sampler's, which were measured as it sampled: the trainer's own, which differ by rounding, would
	// hide that difference from the ratio.
	ColumnOldLogprobs Column = "old_logprobs"
	// ColumnSamplerLogprobs is Sequence.SamplerLogprobs.
	ColumnSamplerLogprobs Column = "sampler_logprobs"
	// ColumnReferenceLogprobs are those of the policy that a divergence is taken from, at the sampling temperature, or
	// NoReference.
	ColumnReferenceLogprobs Column = "reference_logprobs"
	// ColumnSlopes are derivatives of a step's loss by each token's logprob (Preference).
	ColumnSlopes Column = "slopes"
	// ColumnChosen is 1 at the tokens that TopEntropy lets the policy learn at, and 0 at the others.
	ColumnChosen Column = "chosen"
	// ColumnBonus is what the entropy of a token counts in a step's bonus for it, beside what its loss counts in the
	// step's (Batch.Exploring).
	ColumnBonus Column = "bonus"
	// ColumnTaught is how much of a token's advantage a teacher made, and no reward.
	ColumnTaught Column = "taught"
)

// NoReference is what a token that has no divergence has for its reference's logprob; no logprob is as large.
const NoReference float32 = 1e30

// Column returns a column, as long as the row; nil where the row has none of that name.
func (s Sequence) Column(c Column) []float32 {
	own, ok := s.Columns[c]
	switch {
	case ok:
		return own
	case c == ColumnAdvantages:
		return s.Advantages
	case c == ColumnSamplerLogprobs, c == ColumnOldLogprobs:
		return s.SamplerLogprobs
	}
	return nil
}

// Even is a column of n equal numbers: an advantage that all tokens of an episode share.
func Even(n int, x float64) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = float32(x)
	}
	return out
}

// columns maps each column that a row has.
func (s *Sequence) columns(f func([]float32) []float32) {
	for _, c := range []*[]float32{&s.SamplerLogprobs, &s.Weights, &s.Advantages} {
		if *c != nil {
			*c = f(*c)
		}
	}
	if s.Columns == nil {
		return
	}
	mapped := make(map[Column][]float32, len(s.Columns))
	for name, c := range s.Columns {
		mapped[name] = f(c)
	}
	s.Columns = mapped
}
