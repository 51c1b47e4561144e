package batch

import "math"

// Preference is a loss of pairs of completions of one prompt, one of them preferred (DPO, arXiv 2305.18290, eq. 7).
// With x the sum over a completion's trained tokens of log p - log p_ref, of the preferred one w and of the other l,
// and s the logistic function:
//
//	h = beta (x_w - x_l)
//	loss = -(1 - e) log s(h) - e log s(-h)                     mean over the pairs of a step
//
// The first is the loss sigmoid. In sigmoid_norm each x is a mean over its tokens, so that long completions weigh no
// more than short ones (TRL's sigmoid_norm; SimPO, arXiv 2405.14734, has the mean without a reference); beta is about
// 20 times as large there. e is the share of pairs that are thought to be the wrong way round (label smoothing:
// conservative DPO, section 3 of E. Mitchell, "A note on DPO with noisy preferences", 2023). Alpha adds the likelihood
// of the preferred ones, so that their probability does not fall together with the others' (RPO, arXiv 2404.19733, eq.
// 1), as a mean over the tokens of all preferred completions of a step, as in TRL:
//
//	loss += -alpha sum_w log p / sum_w T_w
type Preference struct {
	Loss           PreferenceLoss
	Beta           float64
	LabelSmoothing float64 // e, below 1/2
	Alpha          float64 // TRL's rpo_alpha; 0: no likelihood is added
}

// PreferenceLoss is the name of such a loss, TRL's.
type PreferenceLoss string

// The losses of pairs there are.
const (
	PreferenceSigmoid     PreferenceLoss = "sigmoid"
	PreferenceSigmoidNorm PreferenceLoss = "sigmoid_norm"
)

// Side is what is known of one completion of a pair: sums over its trained tokens of logprobs under the policy and the
// reference, and how many there are.
type Side struct {
	Policy, Reference float64
	Tokens            int
}

// Pair is the preferred completion, and the other.
type Pair struct{ Chosen, Rejected Side }

// Slopes are what Of gives for a pair: the derivatives of the loss by the logprob of each token of a side, alike for
// all of its tokens.
type Slopes struct{ Chosen, Rejected float64 }

// Of is the loss of a step's pairs, and its derivatives.
func (p Preference) Of(pairs []Pair) (loss float64, slopes []Slopes) {
	n, tokens := float64(len(pairs)), 0.0
	for _, x := range pairs {
		tokens += float64(x.Chosen.Tokens)
	}
	slopes = make([]Slopes, len(pairs))
	for i, x := range pairs {
		perChosen, perRejected := 1.0, 1.0
		if p.Loss == PreferenceSigmoidNorm {
			perChosen, perRejected = 1/float64(max(1, x.Chosen.Tokens)), 1/float64(max(1, x.Rejected.Tokens))
		}
		h := p.Beta * (perChosen*(x.Chosen.Policy-x.Chosen.Reference) -
			perRejected*(x.Rejected.Policy-x.Rejected.Reference))
		loss -= ((1-p.LabelSmoothing)*logistic(h) + p.LabelSmoothing*logistic(-h)) / n
		slope := p.Beta * (p.LabelSmoothing*math.Exp(logistic(h)) - (1-p.LabelSmoothing)*math.Exp(logistic(-h))) / n
		slopes[i] = Slopes{slope * perChosen, -slope * perRejected}
		if p.Alpha > 0 {
			loss -= p.Alpha * x.Chosen.Policy / tokens
			slopes[i].Chosen -= p.Alpha / tokens
		}
	}
	return loss, slopes
}

// logistic is log s(h).
func logistic(h float64) float64 {
	if h < 0 {
		return h - math.Log1p(math.Exp(h))
	}
	return -math.Log1p(math.Exp(-h))
}

// Metrics describe a step's pairs under TRL's names: rewards are beta times the difference of the two policies'
// logprobs, accuracies the share of pairs whose preferred completion has the larger one.
func (p Preference) Metrics(pairs []Pair) map[string]float64 {
	m := map[string]float64{"rewards/chosen": 0, "rewards/rejected": 0, "rewards/margins": 0, "rewards/accuracies": 0,
		"logps/chosen": 0, "logps/rejected": 0}
	for _, x := range pairs {
		n := float64(len(pairs))
		chosen, rejected := p.Beta*(x.Chosen.Policy-x.Chosen.Reference), p.Beta*(x.Rejected.Policy-x.Rejected.Reference)
		m["rewards/chosen"] += chosen / n
		m["rewards/rejected"] += rejected / n
		m["rewards/margins"] += (chosen - rejected) / n
		m["logps/chosen"] += x.Chosen.Policy / n
		m["logps/rejected"] += x.Rejected.Policy / n
		if chosen > rejected {
			m["rewards/accuracies"] += 1 / n
		}
	}
	return m
}
