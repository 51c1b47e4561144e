// Package batch turns trajectories and demonstrations into the rows of one optimiser step.
package batch

import (
	"slices"

	"hone/internal/episode/trajectory"
)

// Sequence is one training row. The slices have equal length, where they are not nil.
//
// Example, a demonstration of one turn (p prompt, s completion; Trained marks s):
//
//	IDs      p p p p s s s
//	Trained  - - - - x x x
type Sequence struct {
	IDs             []int32
	Trained         []bool
	SamplerLogprobs []float32 // natural log at the sampling temperature; unused in supervised rows
	Scored          bool      // SamplerLogprobs are the trainer's own, so they say nothing of a sampler
	Advantages      []float32 // of trained tokens; unused in supervised rows
	// of trained tokens in the loss's sum; nil: 1 each. The normaliser counts tokens, whatever they weigh
	Weights []float32
	Columns map[Column][]float32 // more numbers of each token

	Place string // of a demonstration, for messages: its file and line

	Group int // of the batch's groups, the one that the row is of
	// of the batch's episodes, counted over its groups; it has several rows where its prompts do not go on from each
	// other
	Episode int
}

// NumTrained counts the trained tokens.
func (s Sequence) NumTrained() int {
	n := 0
	for _, t := range s.Trained {
		if t {
			n++
		}
	}
	return n
}

// Update is how one optimiser step is taken.
type Update struct {
	Rate        float64 // learning rate
	MaxGradNorm float64 // bound of the gradient's global norm; 0 is none
	Adam        Adam
}

// Adam holds the constants of AdamW (arXiv 1711.05101, algorithm 2). Zeros mean the defaults named.
type Adam struct {
	Beta1       float64 // decay of the first moment (0.9)
	Beta2       float64 // decay of the second moment (0.99)
	Epsilon     float64 // added to the root of the second moment (1e-8)
	WeightDecay float64 // decoupled from the gradient: a step takes Rate * WeightDecay of the adapter away (none)
}

// Batch is the rows of one step as a prefix tree of depth one: what all rows begin with is held, and computed, once.
type Batch struct {
	Prefix []int32
	Rows   []Sequence // what follows the prefix
	// Normaliser is what the sum of the tokens' losses is divided by; 0 is the number of trained tokens. It is more
	// where tokens whose loss has no gradient were left out.
	Normaliser int
}

// NumTrained counts the trained tokens of all rows.
func (b Batch) NumTrained() int {
	n := 0
	for _, r := range b.Rows {
		n += r.NumTrained()
	}
	return n
}

// New shares the longest common prefix of the rows. A token's logprob comes from the position before it, so a row's
// first token is never trained, and at least one token stays in each row before its first trained one. Rows without
// trained tokens are dropped.
func New(rows []Sequence) Batch {
	var kept []Sequence
	for _, r := range rows {
		if len(r.Trained) > 0 && r.Trained[0] {
			r.Trained = slices.Clone(r.Trained)
			r.Trained[0] = false
		}
		if r.NumTrained() > 0 {
			kept = append(kept, r)
		}
	}
	if len(kept) == 0 {
		return Batch{}
	}
	shared := len(kept[0].IDs)
	for _, r := range kept {
		n := 0
		for n < shared && n+1 < len(r.IDs) && r.IDs[n] == kept[0].IDs[n] && !r.Trained[n+1] {
			n++
		}
		shared = n
	}
	b := Batch{Prefix: kept[0].IDs[:shared]}
	for _, r := range kept {
		r.IDs, r.Trained = r.IDs[shared:], r.Trained[shared:]
		r.columns(func(c []float32) []float32 { return c[shared:] })
		b.Rows = append(b.Rows, r)
	}
	return b
}

// Shorten returns the batch with a prefix of at most n tokens (0: no bound); what is cut off goes back into the rows.
func (b Batch) Shorten(n int) Batch {
	if n == 0 || len(b.Prefix) <= n {
		return b
	}
	cut := b.Prefix[n:]
	short := Batch{Prefix: b.Prefix[:n], Normaliser: b.Normaliser}
	for _, r := range b.Rows {
		r.IDs = append(append(make([]int32, 0, len(cut)+len(r.IDs)), cut...), r.IDs...)
		r.Trained = append(make([]bool, len(cut)), r.Trained...)
		r.columns(func(c []float32) []float32 { return append(make([]float32, len(cut)), c...) })
		short.Rows = append(short.Rows, r)
	}
	return short
}

// Options say how the rows of a GRPO step are made. The zero value is the mean over tokens.
type Options struct {
	Reduction Reduction
	Length    int // L of the reduction Constant, in tokens
	// KeepAlike keeps the rows of groups without spread, whose loss has a gradient too where there is a divergence from
	// a reference.
	KeepAlike bool
	// Earlier are episodes of earlier steps and demonstrations, which are learnt from beside those of the groups.
	Earlier []Earlier
}

// Earlier is an episode of an earlier step, or a demonstration: it is in no group, and has an advantage of its own. Its
// tokens count in the Normaliser.
type Earlier struct {
	// with IDs, Trained and SamplerLogprobs; several where its prompts do not go on from each other
	Rows      []Sequence
	Advantage float64 // of all tokens of rows that have no Advantages
	Source    string  // what a step's metrics call those that such rows come from
}

// rows are those of an earlier episode.
func (e Earlier) rows(group, episode int, reduction Reduction) (rows []Sequence, tokens int) {
	for _, r := range e.Rows {
		tokens += r.NumTrained()
	}
	for _, r := range e.Rows {
		r.Group, r.Episode = group, episode
		if r.Advantages == nil {
			r.Advantages = Even(len(r.IDs), e.Advantage)
		}
		if w := reduction.weight(tokens); w != 1 {
			r.Weights = Even(len(r.IDs), w)
		}
		rows = append(rows, r)
	}
	return rows, tokens
}

// Compared are the groups of a step whose members can be compared.
type Compared struct {
	Groups []Earned // what their members earned

	members  [][]member
	numAll   int // groups, those that compare nothing too
	episodes int // of these
	masked   int
}

// Compare takes from the groups of a step those members whose outcome may be trained on. A group of fewer than two such
// members compares nothing, and is dropped with all it has.
func Compare(groups []trajectory.Group) (c Compared) {
	for number, g := range groups {
		var own []member
		var e Earned
		for i, t := range g.Trajectories {
			if !t.Outcome.Trainable() {
				c.masked++
				continue
			}
			own = append(own, member{t, number, c.episodes + i})
			e.Rewards, e.Terms, e.Turns =
				append(e.Rewards, t.Reward), append(e.Terms, t.Terms), append(e.Turns, t.TurnRewards)
		}
		c.episodes += len(g.Trajectories)
		if len(own) >= 2 {
			c.Groups, c.members = append(c.Groups, e), append(c.members, own)
		}
	}
	c.numAll = len(groups)
	return c
}

// GroupStats counts what teaches nothing, given the advantages of each turn of each member of each of the Groups.
func (c Compared) GroupStats(advantages [][][]float64) Stats {
	s := Stats{Groups: c.numAll, Empty: c.numAll - len(c.Groups), Masked: c.masked}
	for _, a := range advantages {
		if alike(a) {
			s.ZeroSpread++
		}
	}
	return s
}

// alike reports whether no member of a group has an advantage.
func alike(group [][]float64) bool {
	for _, turns := range group {
		for _, a := range turns {
			if a != 0 {
				return false
			}
		}
	}
	return true
}

// Rows makes the rows of a GRPO step, given the advantages of each turn of each member of each of the Groups. Groups
// without an advantage need not be computed, but their sampled tokens and episodes count in the Normaliser, as in TRL
// and DAPO (arXiv 2503.14476, eq. 8). A trajectory is as many rows as it has prompts that do not go on from the one
// before, all with its advantage.
func (c Compared) Rows(advantages [][][]float64, o Options) Batch {
	var rows []Sequence
	numEpisodes, numTokens := 0, 0
	for i, own := range c.members {
		kept := o.KeepAlike || !alike(advantages[i])
		for j, m := range own {
			numEpisodes, numTokens = numEpisodes+1, numTokens+m.NumSampled()
			if kept {
				rows = append(rows, m.rows(advantages[i][j], o.Reduction)...)
			}
		}
	}
	for i, e := range o.Earlier {
		own, tokens := e.rows(c.numAll+i, c.episodes+i, o.Reduction)
		rows, numEpisodes, numTokens = append(rows, own...), numEpisodes+1, numTokens+tokens
	}
	b := New(rows)
	b.Normaliser = o.Reduction.normaliser(numEpisodes, numTokens, o.Length)
	return b
}

// Split cuts a step into at most n parts of whole groups, each for an optimiser step of its own. Groups are dealt out
// in turn, so no part has more than one group more than another. Each part has the n-th part of the normaliser: its
// gradient is as large as the whole's in the mean.
func (b Batch) Split(n int) []Batch {
	var groups []int
	for _, r := range b.Rows {
		if !slices.Contains(groups, r.Group) {
			groups = append(groups, r.Group)
		}
	}
	if n = min(n, len(groups)); n < 2 {
		return []Batch{b}
	}
	normaliser := b.Normaliser
	if normaliser == 0 {
		normaliser = b.NumTrained()
	}
	parts := make([]Batch, n)
	for i := range parts {
		parts[i] = Batch{Prefix: b.Prefix, Normaliser: max(1, normaliser/n)}
	}
	for _, r := range b.Rows {
		part := &parts[slices.Index(groups, r.Group)%n]
		part.Rows = append(part.Rows, r)
	}
	return parts
}

// member is an episode that may be trained on.
type member struct {
	*trajectory.Trajectory
	group, episode int
}

// rows are those of an episode: what was sampled in each is the same episode's doing. advantages are those of its
// turns, or one for all.
func (m member) rows(advantages []float64, reduction Reduction) []Sequence {
	var rows []Sequence
	turn := 0
	for _, r := range m.Rows() {
		row := Sequence{IDs: r.IDs, Trained: r.Sampled, SamplerLogprobs: r.Logprobs, Group: m.group, Episode: m.episode}
		for i := 0; turn < len(m.Turns) && (i == 0 || m.Turns[turn].Rewrite == ""); i, turn = i+1, turn+1 {
			t := m.Turns[turn]
			row.Advantages = append(row.Advantages,
				Even(len(t.BridgeIDs)+len(t.CompletionIDs), advantages[min(turn, len(advantages)-1)])...)
		}
		if w := reduction.weight(m.NumSampled()); w != 1 {
			row.Weights = Even(len(r.IDs), w)
		}
		rows = append(rows, row)
	}
	return rows
}

// Stats counts what of a step's groups teaches nothing.
type Stats struct {
	Groups int // all groups
	Empty  int // groups with fewer than two members that may be trained on: their servers failed, or our side did
	// other groups, in which nothing that the advantage looks at differs: the scenario is solved, or out of reach
	ZeroSpread int
	Masked     int // trajectories whose outcome may not be trained on
}
