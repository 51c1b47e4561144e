package train

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"hone/internal/basemodel"
	"hone/internal/chat"
	"hone/internal/data/dataset"
	"hone/internal/episode/environment"
	"hone/internal/episode/policy"
	"hone/internal/episode/rollout"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
	"hone/internal/grade"
	"hone/internal/job"
	"hone/internal/learn/sample"
	"hone/internal/llm"
	"hone/internal/llm/tinker"
	"hone/internal/recipe"
)

// A loss falls where nothing was learnt that can be used: a model that cannot write the tokens of a call still learns
// what stands around them. So after training it says the first turn of some rows, greedily, and what it says is held
// against what they show.

const (
	mostFirstTurns  = 16 // of the rows that are trained on, and as many of those held out
	leastFirstTurns = 4  // however long they take; of fewer calls nothing is concluded
	// On a CPU the first turns may take this many seconds, or this share of what training took.
	firstTurnsSeconds = 5.
	firstTurnsShare   = 0.05
)

// firstTurn is what a row shows first, behind a prompt.
type firstTurn struct {
	before []chat.Message
	tools  []chat.Tool
	shown  chat.Message
	prompt []int32
	most   int  // tokens that the model may say
	held   bool // the row is not trained on
}

// said is what became of first turns.
type said struct {
	Turns, Alike  int // all, and those that begin as the row does
	Calls, InForm int // those whose row calls a tool, and that do so too, in the form of calls
	cut           int // that call nothing and did not end
	other         llm.Forms
	example       string // of an answer that calls nothing where the row does
}

// firstTurnOf is the first turn of a row that is trained; ok is false where it has none, or it cannot be rendered.
func firstTurnOf(m *basemodel.Model, r dataset.Row) (f firstTurn, ok bool) {
	at := slices.IndexFunc(r.Messages, func(m chat.Message) bool { return m.Role == chat.Assistant && !m.NoLoss })
	for at >= 0 && at < len(r.Messages) && !r.Trains(at) {
		at++
	}
	if at < 0 || at == len(r.Messages) {
		return f, false
	}
	f = firstTurn{before: r.Messages[:at], tools: r.Tools, shown: r.Messages[at]}
	completion, err := m.Renderer.Completion(f.shown)
	if err == nil {
		f.prompt, err = m.Renderer.Prompt(f.before, f.tools)
	}
	f.most = 2*len(completion) + 16 // a call that is as long as the row's, and was begun with some words
	return f, err == nil && len(f.prompt) > 0
}

// firstTurnsOf are those of rows that are drawn by a seed.
func firstTurnsOf(m *basemodel.Model, rows []dataset.Row, seed uint64, context int) (turns []firstTurn) {
	for _, i := range rand.New(rand.NewPCG(seed, 0)).Perm(len(rows)) {
		if f, ok := firstTurnOf(m, rows[i]); ok && len(f.prompt)+f.most <= context {
			turns = append(turns, f)
		}
		if len(turns) == mostFirstTurns {
			break
		}
	}
	return turns
}

// alternate are turns of rows that are trained on and of those held out in turn, as long as there are of both.
func alternate(learnt, held []firstTurn) (turns []firstTurn) {
	for i := range max(len(learnt), len(held)) {
		if i < len(learnt) {
			turns = append(turns, learnt[i])
		}
		if i < len(held) {
			held[i].held = true
			turns = append(turns, held[i])
		}
	}
	return turns
}

// affordable is how many more turns there is time for, of those left: of the seconds for all some took so many.
func affordable(left, done int, took, seconds float64) int {
	if took <= 0 {
		return left
	}
	return max(0, min(left, int((seconds-took)/took*float64(done))))
}

// sayFirstTurns has the trained model say the first turn of rows, and tells how they compare. little says that more
// training is what helps. It is an error where the rows call tools and the model never does.
func (l Plan) sayFirstTurns(ctx context.Context, j *job.Job, t *basemodel.Trainer) (little bool, err error) {
	m, seed := l.Model, j.Config.Seed
	room := min(j.Config.Model.Context, m.Spec.MaxContext)
	turns := alternate(firstTurnsOf(m, l.rows, seed, room), firstTurnsOf(m, l.held, seed, room))
	if len(turns) == 0 {
		return false, nil
	}
	x, err := l.said(ctx, j, t, turns)
	if ctx.Err() != nil || fault.CodeOf(err) == fault.CodeExhausted { // the adapter is there all the same
		j.Say("note: the model's first turns are not looked at: %v", err)
		return false, nil
	}
	if err != nil {
		return false, err
	}
	j.Say("first turns of training rows at temperature 0: %s", x[0])
	if x[1].Turns > 0 {
		j.Say("first turns of held-out rows at temperature 0: %s", x[1])
	}
	all, tried := x[0].with(x[1]), t.PolicyVersion()*j.Config.SFT.BatchSize < len(l.Sequences)
	err = l.whyNone(j, all)
	if f, ok := err.(*fault.Error); ok && tried {
		pass := (len(l.Sequences) + j.Config.SFT.BatchSize - 1) / j.Config.SFT.BatchSize
		j.Say("note: %s; the steps were less than a pass over the rows, which is %s", f.What, fault.Count(pass, "step"))
		err = nil
	}
	return all.little(tried), err
}

// said has the model say turns: all, or on a CPU as many as there is time for. The first of what it returns is of the
// rows that are trained on, the second of those held out.
func (l Plan) said(ctx context.Context, j *job.Job, t *basemodel.Trainer, turns []firstTurn) (x [2]said, err error) {
	p, closes, err := l.openSpeaker(j, t, turns)
	if err != nil {
		return x, err
	}
	defer closes()
	first := len(turns)
	if !l.Model.Plugin.IsCUDA() {
		first = min(first, leastFirstTurns)
	}
	began := time.Now()
	replies, err := say(ctx, p, turns[:first])
	if err != nil {
		return x, err
	}
	if left := len(turns) - first; left > 0 {
		seconds := max(firstTurnsSeconds, firstTurnsShare*t.Seconds)
		more := affordable(left, first, time.Since(began).Seconds(), seconds)
		if more < left {
			j.Say("only %d of %d first turns are sampled, to take no more than %.0f seconds", first+more, len(turns),
				seconds)
		}
		rest, err := say(ctx, p, turns[first:first+more])
		if err != nil {
			return x, err
		}
		replies = append(replies, rest...)
	}
	for i, r := range replies {
		of := &x[0]
		if turns[i].held {
			of = &x[1]
		}
		of.add(turns[i], r)
	}
	return x, nil
}

// commonPrompt is what all prompts begin with.
func commonPrompt(turns []firstTurn) (prefix []int32) {
	for i, f := range turns {
		if i == 0 {
			prefix = f.prompt[:len(f.prompt)-1]
		}
		prefix = prefix[:policy.CommonPrefix(prefix, f.prompt[:len(f.prompt)-1])]
	}
	return prefix
}

// openSpeaker opens a sampler of the trainer's adapter that has room for the turns.
func (l Plan) openSpeaker(
	j *job.Job, t *basemodel.Trainer, turns []firstTurn,
) (p rollout.Sampled, closes func(), err error) {
	m, prefix, longest := l.Model, commonPrompt(turns), 0
	if prefix, err = m.BeforeTask(prefix, turns[0].tools, turns[0].before); err != nil {
		return p, nil, err
	}
	for _, f := range turns {
		longest = max(longest, len(f.prompt)-len(prefix)+f.most)
	}
	if away, ok := t.Steps.(*tinker.Trainer); ok { // its server samples too
		s, err := away.Sampler(len(prefix)+longest, m.Spec.VocabSize)
		return rollout.Sampled{Sampler: s, Renderer: m.Renderer}, func() {}, err
	}
	lora, err := m.AdapterShape(l.Config, j.Kept.Adapter)
	if err != nil {
		return p, nil, err
	}
	// shapes that other rows have too, so that programs are kept from one run to the next
	o := sample.Options{LoRA: lora, Slots: mostFirstTurns, Context: (longest + 255) / 256 * 256, Prefix: prefix}
	s, err := sample.NewSamplers(m.Engine, m.Spec, m.Weights, o)
	if err != nil {
		return p, nil, err
	}
	source := sample.Trained{Trainer: t.Steps.(sample.Trainer), Engine: m.Engine, Spec: m.Spec}
	if err := recipe.Publish(sample.NewPublisher(source, sample.InProcess(s)), "the trained adapter"); err != nil {
		s.Close()
		return p, nil, err
	}
	return rollout.Sampled{Sampler: s, Renderer: m.Renderer}, s.Close, nil
}

// say samples turns, all at once.
func say(ctx context.Context, p rollout.Sampled, turns []firstTurn) ([]environment.Reply, error) {
	replies, errs := make([]environment.Reply, len(turns)), make([]error, len(turns))
	var all sync.WaitGroup
	for i, f := range turns {
		all.Go(func() {
			speaker := p.Speaker(rollout.Attempt{Slot: i, MaxTokens: f.most})
			replies[i], errs[i] = speaker.Say(ctx, f.before, f.tools)
		})
	}
	all.Wait()
	return replies, errors.Join(errs...)
}

// add holds what was said against what a row shows.
func (x *said) add(f firstTurn, r environment.Reply) {
	if r.Turn == nil { // the context was full: nothing was said
		return
	}
	x.Turns++
	if beginsAlike(f.shown, *r.Turn) {
		x.Alike++
	}
	if len(f.shown.ToolCalls) == 0 {
		return
	}
	x.Calls++
	if len(r.Turn.Calls) > 0 {
		x.InForm++
		return
	}
	x.example = cmp.Or(x.example, strings.TrimSpace(r.Turn.Content))
	if r.Stop != "" {
		x.cut++
	}
	x.other.Add(&trajectory.Trajectory{Tools: f.tools, Turns: []trajectory.Turn{*r.Turn}})
}

// beginsAlike reports whether a turn calls first what a message calls first, or answers as it does.
func beginsAlike(shown chat.Message, turn trajectory.Turn) bool {
	if len(shown.ToolCalls) == 0 || len(turn.Calls) == 0 {
		return len(shown.ToolCalls) == len(turn.Calls) &&
			strings.TrimSpace(shown.Content) == strings.TrimSpace(turn.Content)
	}
	same, err := grade.EqualCalls(turn.Calls[0], shown.ToolCalls[0], nil)
	return err == nil && same
}

// little reports whether more training is what helps. A try is less than a pass over the rows.
func (x said) little(tried bool) bool {
	return tried && 2*x.Alike < x.Turns || x.Calls >= leastFirstTurns && x.Alike == 0
}

// String tells of them in a line.
func (x said) String() string {
	text := fmt.Sprintf("%d of %d match the row", x.Alike, x.Turns)
	if x.Calls > 0 {
		text += fmt.Sprintf("; %d of %d that should call a tool make a well-formed call", x.InForm, x.Calls)
	}
	return text
}

// with is both together.
func (x said) with(o said) said {
	x.Turns, x.Alike, x.Calls, x.InForm = x.Turns+o.Turns, x.Alike+o.Alike, x.Calls+o.Calls, x.InForm+o.InForm
	x.cut, x.example = x.cut+o.cut, cmp.Or(x.example, o.example)
	x.other.Join(o.other)
	return x
}

// whyNone is an error where rows call tools and the model never does, with the likeliest cause and what helps.
func (l Plan) whyNone(j *job.Job, x said) error {
	if x.Calls < leastFirstTurns || x.InForm > 0 {
		return nil
	}
	f := &fault.Error{Code: fault.CodeFailures, Where: j.Final(),
		What: fmt.Sprintf("the trained model never calls a tool where %d rows do", x.Calls)}
	example := fmt.Sprintf("it says %q", clip(x.example))
	more := moreSFT(j) + ", or set sft.epochs higher"
	switch untrained := l.Model.UntrainedUnder(j.Final()); {
	case untrained.Describe() != "":
		f.Why, f.Next = untrained.Describe()+", and the adapter has no rows for them; "+example,
			untrained.Help(j.Config.LoRA)
	case x.other.Held > 0:
		f.Why, f.Next = x.other.String()+"; "+example, more
		if name := x.other.Most().Name; name != "" {
			f.Next = "set model.tool_format: " + name + ", or " + more
		}
	case x.cut == x.Calls:
		f.Why, f.Next = "each answer goes on for twice as long as the row's; "+example, more
	default:
		f.Why, f.Next = "it answers in words; "+example, more
	}
	return f
}

// moreSFT is the command that goes on from the adapter.
func moreSFT(j *job.Job) string {
	return fmt.Sprintf("hone sft --adapter %s --data %s --output-dir %s, which goes on",
		j.Final(), cmp.Or(j.Kept.Data, "DATA"), j.Path+"-2")
}

// clip is the beginning of a text.
func clip(text string) string {
	const most = 200
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + " ..."
	}
	return text
}
