package batch

// Reduction says how the losses of a step's tokens become its loss.
type Reduction string

// The reductions there are. T_i is the number of sampled tokens of episode i, N of episodes, L a number of tokens that
// does not depend on the episodes. All run over the step's groups, those that teach nothing among them, and not over
// episodes whose outcome may not be trained on.
const (
	// TokenMean is sum_i sum_t l_it / sum_i T_i (DAPO, arXiv 2503.14476, eq. 8): each token counts alike, so long
	// episodes count more.
	TokenMean Reduction = "token_mean"
	// EpisodeMean is sum_i (sum_t l_it / T_i) / N (GRPO, arXiv 2402.03300, eq. 3): each episode counts alike, so a
	// token of a long one counts less.
	EpisodeMean Reduction = "episode_mean"
	// Constant is sum_i sum_t l_it / (N L) (Dr. GRPO, arXiv 2503.20783, section 3.2): nothing depends on how long
	// episodes are.
	Constant Reduction = "constant"
)

// Reduction is that of a loss, as its paper and TRL have it.
func (l Loss) Reduction() Reduction {
	switch l {
	case LossGRPO, LossGSPO:
		return EpisodeMean
	case LossDrGRPO:
		return Constant
	default:
		return TokenMean
	}
}

// RatioByRow reports whether the ratio that a loss clips is one for each row, and not each token's.
func (l Loss) RatioByRow() bool { return l == LossGSPO }

// weight is that of a token in the step's sum of losses, for an episode of so many sampled tokens.
func (r Reduction) weight(tokens int) float64 {
	if r == EpisodeMean {
		return 1 / float64(tokens)
	}
	return 1
}

// normaliser is what the sum is divided by, of so many episodes with so many sampled tokens in all.
func (r Reduction) normaliser(episodes, tokens, length int) int {
	switch r {
	case EpisodeMean:
		return episodes
	case Constant:
		return episodes * length
	default:
		return tokens
	}
}
