package judge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
)

// maxSamples bounds how often one group may be asked about.
const maxSamples = 64

// tries is how often one sample is asked for, where the reply is not what was asked for.
const tries = 3

// Model answers questions. Package llm has endpoints.
type Model interface {
	Name() string
	// Ask returns a reply. Its errors are those of llm.Client.Chat: CodeUsage, CodeBudget and CodeExhausted are of what
	// the next question would meet too.
	Ask(ctx context.Context, q Question) (Reply, error)
}

// Reply is what a model answered, and what that costs, whether it was asked or a cache had the answer.
type Reply struct {
	Text                           string
	PromptTokens, CompletionTokens int
	Cost                           *float64 // US dollars; nil where the price is not known
	Cached                         bool     // a cache had it
}

// Options of a Judge. Model, Context and MaxTokens are required.
type Options struct {
	Model    Model
	Fallback Model // asked where Model failed; what it says is marked. nil: nobody
	Rubric   Rubric
	// questions about a group, or about an attempt alone, whose scores are averaged; 0: the rubric's number, else 2
	Samples int
	// as many questions about a group as it has attempts, in place of Samples: each attempt in each place once
	Rotate      bool
	Temperature float64
	MaxTokens   int     // of a reply
	Context     int     // tokens of a question and its reply
	Tie         float64 // scores of a group that differ by no more are one
	Cap         float64 // the most that an attempt earns of whose calls none succeeded; 0 caps nothing
	Seed        uint64
	Stop        bool // a judge that fails stops the run, else it masks the group
	// Reference is what is known of a scenario beside it, by its id; nil for nothing.
	Reference func(id string) map[string]any
}

// Judge scores attempts. It may be used from many goroutines.
type Judge struct{ o Options }

// New returns a judge.
func New(o Options) *Judge {
	if len(o.Rubric.Criteria)+len(o.Rubric.Axes) == 0 {
		o.Rubric = DefaultRubric()
	}
	if o.Samples == 0 {
		o.Samples = o.Rubric.Samples
	}
	if o.Samples == 0 {
		o.Samples = 2
	}
	return &Judge{o}
}

// Samples is how many questions it asks about a group.
func (j *Judge) Samples() int { return j.o.Samples }

// Judge scores the episodes of a group against each other. It returns a term for each, in their order, without name and
// weight.
func (j *Judge) Judge(
	ctx context.Context, s *scenario.Scenario, ts []*trajectory.Trajectory,
) ([]trajectory.Term, error) {
	a, err := attemptsOf(ts)
	if err != nil {
		return nil, err
	}
	each, err := j.decide(ctx, s, a, false)
	if err != nil {
		return nil, err
	}
	scores := make([]float64, len(each))
	for i := range each {
		scores[i] = each[i].Score
	}
	for i, score := range mergeTies(scores, j.o.Tie) {
		each[i].Score = score
	}
	terms := make([]trajectory.Term, len(ts))
	for i, t := range ts {
		terms[i] = each[a.of[i]]
		j.capReward(s, t, &terms[i])
	}
	share(terms)
	return terms, nil
}

// capReward takes away from an episode none of whose calls succeeded what is above the cap. What was decided of it
// alone is decided by what is left.
func (j *Judge) capReward(s *scenario.Scenario, t *trajectory.Trajectory, term *trajectory.Term) {
	if j.o.Cap == 0 || term.Score <= j.o.Cap || hasSuccess(s, t) {
		return
	}
	term.Score, term.Why = j.o.Cap, fmt.Sprintf("no call succeeded, so at most %v; %s", j.o.Cap, term.Why)
	if term.Judgement.Passed != nil {
		passed := j.o.Rubric.passes(term.Score)
		term.Judgement.Passed = &passed
	}
}

// share divides what the questions took among a group's members.
func share(terms []trajectory.Term) {
	for i := range terms {
		own := *terms[i].Judgement
		own.PromptTokens, own.CompletionTokens =
			portion(own.PromptTokens, len(terms), i), portion(own.CompletionTokens, len(terms), i)
		if own.Cost != nil {
			cost := *own.Cost / float64(len(terms))
			own.Cost = &cost
		}
		terms[i].Judgement = &own
	}
}

// portion is part i of n of a number of tokens; the parts add up to it.
func portion(total, n, i int) int { return total*(i+1)/n - total*i/n }

// hasSuccess reports whether a call of an episode succeeded, or none was to be made.
func hasSuccess(s *scenario.Scenario, t *trajectory.Trajectory) bool {
	for _, c := range s.Checks {
		if c.Type == scenario.NoCallCheck && c.Name == "" {
			return true
		}
	}
	for _, tag := range s.Tags {
		if tag == "missing_tool" {
			return true
		}
	}
	for _, r := range t.ServerCalls() {
		if r.Status == trajectory.CallOK {
			return true
		}
	}
	return len(t.Tools) == 0
}

// Verdict decides of each episode alone whether it passes, with a reason, of all at once. A term's score is the share
// of samples in which it passed, or with axes the joined score.
func (j *Judge) Verdict(
	ctx context.Context, s *scenario.Scenario, ts []*trajectory.Trajectory,
) ([]trajectory.Term, error) {
	terms, errs := make([]trajectory.Term, len(ts)), make([]error, len(ts))
	var all sync.WaitGroup
	for i, t := range ts {
		all.Go(func() {
			a, err := attemptsOf([]*trajectory.Trajectory{t})
			if err != nil {
				errs[i] = err
				return
			}
			one, err := j.decide(ctx, s, a, true)
			if errs[i] = err; err == nil {
				terms[i] = one[0]
				j.capReward(s, t, &terms[i])
			}
		})
	}
	all.Wait()
	for _, err := range errs { // the first that stops the run, else the first
		if err != nil && !passes(err) {
			return nil, err
		}
	}
	if i := slices.IndexFunc(errs, func(err error) bool { return err != nil }); i >= 0 {
		return nil, errs[i]
	}
	return terms, nil
}

// decide asks the judge, and where it fails the fallback.
func (j *Judge) decide(ctx context.Context, s *scenario.Scenario, a attempts, alone bool) ([]trajectory.Term, error) {
	terms, err := j.samples(ctx, j.o.Model, s, a, alone)
	if err == nil || ctx.Err() != nil {
		return terms, err
	}
	if j.o.Fallback != nil && passes(err) {
		first := err
		if terms, err = j.samples(ctx, j.o.Fallback, s, a, alone); err == nil {
			for i := range terms {
				terms[i].Judgement.Fallback = true
				terms[i].Judgement.Failed = fault.Short(first.Error())
			}
			return terms, nil
		}
		if ctx.Err() == nil && passes(err) {
			err = fmt.Errorf("%w; before it %w", err, first)
		}
	}
	if j.o.Stop && ctx.Err() == nil && passes(err) {
		return nil, &fault.Error{Code: fault.CodeStopped, What: "the judge failed, and judge.on_failure is stop",
			Where: "scenario " + s.ID, Err: err,
			Next: "see to the judge, then resume: episodes are kept, and answers that were paid for too"}
	}
	return nil, err
}

// passes reports whether an error may be gone at another time, or is of this question alone.
func passes(err error) bool {
	switch fault.CodeOf(err) {
	case fault.CodeUsage, fault.CodeBudget, fault.CodeExhausted, fault.CodeStopped:
		return false
	}
	return !errors.Is(err, context.Canceled)
}

// samples asks a model as often as there are samples, one after the other: a reply that cannot be had ends them, and
// pays for no more.
func (j *Judge) samples(
	ctx context.Context, m Model, s *scenario.Scenario, a attempts, alone bool,
) ([]trajectory.Term, error) {
	reference, err := j.o.Rubric.reference(s, j.o.Reference)
	if err != nil {
		return nil, err
	}
	drawn, err := j.seed(a, reference)
	if err != nil {
		return nil, err
	}
	all := make([]tally, len(a.each))
	var total Reply
	number := j.o.Samples
	switch {
	case j.o.Rotate && !alone:
		number = len(a.each)
	case len(a.each) == 1 && !alone: // all are the same: there is no order to balance, and nothing to compare
		number = 1
	}
	for n, order := range orders(number, len(a.each), drawn) {
		opinions, err := j.sample(ctx, m, a, reference, order, n, alone, &total)
		if err != nil {
			return nil, fmt.Errorf("%s, sample %d: %w", m.Name(), n, err)
		}
		for place, i := range order {
			all[i].add(opinions[i], place)
		}
	}
	terms := make([]trajectory.Term, len(all))
	for i := range all {
		terms[i] = all[i].term(&j.o.Rubric)
		judged := terms[i].Judgement
		judged.Model, judged.Rubric = m.Name(), j.o.Rubric.Name
		judged.PromptTokens, judged.CompletionTokens, judged.Cost =
			total.PromptTokens, total.CompletionTokens, total.Cost
	}
	return terms, nil
}

// sample asks one question until its reply can be read, or too often. What a cache has of an earlier run that failed is
// no try of this one: else a judge that failed once would fail for ever.
func (j *Judge) sample(
	ctx context.Context, m Model, a attempts, reference string, order []int, n int, alone bool, total *Reply,
) ([]Opinion, error) {
	var last error
	for try, fresh := 0, 0; fresh < tries; try++ {
		q, err := j.ask(a, reference, order, n, try, alone)
		if err != nil {
			return nil, err
		}
		reply, err := m.Ask(ctx, q.Question)
		if err != nil {
			return nil, err
		}
		total.add(reply, n == 0 && try == 0)
		opinions, err := j.read(reply.Text, q, alone)
		if err == nil {
			return opinions, nil
		}
		last = &badReply{err, reply.Text}
		if !reply.Cached {
			fresh++
		}
	}
	return nil, fmt.Errorf("in %d tries no reply could be used: %w", tries, last)
}

// badReply is a reply that is not what was asked for.
type badReply struct {
	why  error
	text string
}

func (e *badReply) Error() string { return fmt.Sprintf("%v: %.200q", e.why, e.text) }
func (e *badReply) Unwrap() error { return e.why }

func (j *Judge) read(text string, q asked, alone bool) ([]Opinion, error) {
	if alone {
		o, err := j.o.Rubric.ReadOne(text)
		return []Opinion{o}, err
	}
	byID, err := j.o.Rubric.ReadGroup(text, q.ids)
	opinions := make([]Opinion, len(q.ids))
	for i, id := range q.ids {
		opinions[i] = byID[id]
	}
	return opinions, err
}

// add counts a reply too. A cost that is not known of one is not known of all.
func (r *Reply) add(o Reply, first bool) {
	switch {
	case first:
		r.Cost = o.Cost
	case r.Cost != nil && o.Cost != nil:
		sum := *r.Cost + *o.Cost
		r.Cost = &sum
	default:
		r.Cost = nil
	}
	r.PromptTokens, r.CompletionTokens = r.PromptTokens+o.PromptTokens, r.CompletionTokens+o.CompletionTokens
}
