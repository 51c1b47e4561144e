package revise

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"hone/internal/chat"
	"hone/internal/grade"
)

// Reviser is the sidecar's model.
type Reviser interface {
	Revise(ctx context.Context, q Question) (Said, error)
}

// Question is what the sidecar is asked.
type Question struct {
	Messages []chat.Message // that the upstream was asked
	Tools    []chat.Tool
	Draft    Fixed
	Slot     int // of a sampler that has several; any
}

// Said is one message of the sidecar.
type Said struct {
	Message chat.Message
	Whole   bool // it ended by itself
	// of the whole completion, by the sampler: what the model takes for its chance to say just this
	Probability      float64
	PromptTokens     int
	CompletionTokens int
}

// Verdict is what became of a draft.
type Verdict string

const (
	Untouched Verdict = "untouched" // as the upstream wrote it, byte for byte
	Mended    Verdict = "mended"    // by the fixer
	Revised   Verdict = "revised"   // by the sidecar
	// as the upstream wrote it, though something is wrong with it: nobody knew better, or not in time
	Original Verdict = "original"
)

// Rule says when the sidecar's word counts.
type Rule struct {
	// Confidence is the least probability of a revision that replaces calls in which no rule finds a fault. 1 or more:
	// none does, and the sidecar is not even asked.
	Confidence float64
	// Repair is the least probability of a revision that replaces a draft which is not valid; 0 is any.
	Repair float64
	// NoCall is the least probability of a call that replaces a draft which makes none, such as an answer in words. 1
	// or more: such a draft goes on, and the sidecar is not asked.
	NoCall float64
	// Unknown says that nobody knows which form of the prompt the sidecar was trained with.
	Unknown bool
	// Deadline bounds how long a draft waits for the sidecar; 0: no bound.
	Deadline time.Duration
}

// Sidecar decides about drafts. Without a Reviser it is the fixer alone.
type Sidecar struct {
	Rule
	Reviser  Reviser
	Defaults grade.Defaults // by which two calls are the same; may be nil
}

// Decision is what became of one draft, and why.
type Decision struct {
	Message  chat.Message `json:"message"`
	Verdict  Verdict      `json:"verdict"`
	Why      string       `json:"why"`
	Changes  []Change     `json:"changes,omitempty"`  // that the fixer made
	Problems []Problem    `json:"problems,omitempty"` // of the draft behind the fixer
	// What the sidecar said, where it was asked in time: its probability, the tokens it read and wrote.
	Asked            bool    `json:"asked,omitempty"`
	Probability      float64 `json:"probability,omitempty"`
	PromptTokens     int     `json:"prompt_tokens,omitempty"`
	CompletionTokens int     `json:"completion_tokens,omitempty"`
	Seconds          float64 `json:"seconds"`
}

// Decide mends or revises what an upstream answered to messages. It never fails: where something is in the way, the
// draft goes on.
func (s Sidecar) Decide(
	ctx context.Context, messages []chat.Message, tools []chat.Tool, draft chat.Message, slot int,
) Decision {
	began := time.Now()
	fixer := NewFixer(tools)
	fixed := fixer.Fix(draft)
	said, why := s.ask(ctx, Question{messages, tools, fixed, slot})
	d := s.weigh(fixer, draft, fixed, said, why)
	d.Seconds = time.Since(began).Seconds()
	return d
}

// Weigh is Decide where the sidecar has been asked before; said is what it answered, nil where it was not asked.
func (s Sidecar) Weigh(fixer *Fixer, draft chat.Message, said *Said) Decision {
	fixed := fixer.Fix(draft)
	why := s.skipReason(fixed, len(fixer.names))
	if why != "" {
		said = nil
	} else if said == nil {
		why = "the sidecar was not asked"
	}
	return s.weigh(fixer, draft, fixed, said, why)
}

// skipReason is why the sidecar is not asked, "" where it is.
func (s Sidecar) skipReason(draft Fixed, numTools int) string {
	switch {
	case numTools == 0:
		return "no tool is offered"
	case draft.Valid() && draft.IsPlain() && s.NoCall >= 1:
		return "a plain answer"
	case draft.Valid() && !draft.IsPlain() && s.Confidence >= 1:
		return "no fault is found, and the sidecar may not revise such"
	}
	return ""
}

// ask asks the sidecar, where its answer could count; why is why there is none.
func (s Sidecar) ask(ctx context.Context, q Question) (said *Said, why string) {
	if s.Reviser == nil {
		return nil, "there is no sidecar"
	}
	if why := s.skipReason(q.Draft, len(q.Tools)); why != "" {
		return nil, why
	}
	if s.Deadline > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.Deadline)
		defer cancel()
	}
	type answer struct {
		said Said
		err  error
	}
	answered := make(chan answer, 1) // a sidecar that does not heed its context ends on its own
	go func() {
		said, err := s.Reviser.Revise(ctx, q)
		answered <- answer{said, err}
	}()
	select {
	case <-ctx.Done():
		return nil, late(ctx, s.Deadline)
	case a := <-answered:
		switch {
		case a.err != nil && ctx.Err() != nil:
			return nil, late(ctx, s.Deadline)
		case a.err != nil:
			return nil, "the sidecar failed: " + a.err.Error()
		}
		return &a.said, ""
	}
}

func late(ctx context.Context, deadline time.Duration) string {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Sprintf("the sidecar took longer than %s", deadline)
	}
	return "the request ended"
}

// weigh chooses between the draft, what the fixer made of it, and the revision.
func (s Sidecar) weigh(fixer *Fixer, draft chat.Message, fixed Fixed, said *Said, why string) Decision {
	d := Decision{Message: draft, Changes: fixed.Changes, Problems: fixed.Problems}
	if said != nil {
		d.Asked, d.Probability, d.PromptTokens, d.CompletionTokens =
			true, said.Probability, said.PromptTokens, said.CompletionTokens
		var revision Fixed
		if revision, why = s.counts(fixer, fixed, *said); why == "" {
			d.Verdict, d.Why = Revised, fmt.Sprintf("the sidecar's call, with probability %.3f", d.Probability)
			if len(fixed.Problems) > 0 {
				d.Why += "; the draft: " + fixed.Problems[0].String()
			}
			d.Message.Content, d.Message.ToolCalls = "", numberCalls(revision.Message.ToolCalls, draft.ToolCalls)
			return d
		}
	}
	switch {
	case len(fixed.Changes) == 0 && fixed.Valid():
		d.Verdict, d.Why = Untouched, why
	case fixed.Valid():
		d.Verdict, d.Why = Mended, describe(fixed.Changes)+"; "+why
		d.Message.Content, d.Message.ToolCalls =
			fixed.Message.Content, numberCalls(fixed.Message.ToolCalls, draft.ToolCalls)
	default:
		d.Verdict, d.Why = Original, why+"; the draft: "+fixed.Problems[0].String()
	}
	return d
}

// counts is the revision, and why it does not count, "" where it does.
func (s Sidecar) counts(fixer *Fixer, draft Fixed, said Said) (revision Fixed, why string) {
	threshold := s.Confidence
	switch {
	case !draft.Valid():
		threshold = s.Repair
	case draft.IsPlain():
		threshold = s.NoCall
	}
	revision = fixer.Fix(said.Message)
	switch {
	case !said.Whole:
		why = "the revision is cut off"
	case len(revision.Message.ToolCalls) == 0:
		why = "the revision holds no call"
	case !revision.Valid():
		why = "the revision is not valid: " + revision.Problems[0].String()
	case s.same(revision.Message.ToolCalls, draft.Message.ToolCalls):
		why = "the sidecar says the same"
	case said.Probability < threshold:
		why = fmt.Sprintf("the sidecar is not sure: %.3f, of %.3f", said.Probability, threshold)
	}
	return revision, why
}

// same reports whether two lists are the same calls in the same order.
func (s Sidecar) same(a, b []chat.ToolCall) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if equal, err := grade.EqualCalls(a[i], b[i], s.Defaults); err != nil || !equal {
			return false
		}
	}
	return true
}

// numberCalls gives calls the ids of the draft's in their places, and own ones where it has none, or one twice.
func numberCalls(calls, draft []chat.ToolCall) []chat.ToolCall {
	out := make([]chat.ToolCall, len(calls))
	given := map[string]bool{}
	for i, c := range calls {
		c.ID = fmt.Sprintf("call_sidecar_%d", i)
		if i < len(draft) && draft[i].ID != "" && !given[draft[i].ID] {
			c.ID = draft[i].ID
		}
		given[c.ID] = true
		out[i] = c
	}
	return out
}

func describe(changes []Change) string {
	var words []string
	for _, c := range changes {
		word := c.Kind
		if c.Where != "" {
			word += " " + c.Where
		}
		words = append(words, word)
	}
	return strings.Join(words, ", ")
}

// Header is the decision as the value of one header: the verdict, then why, in printable ASCII.
func (d Decision) Header() string {
	why := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, strings.ReplaceAll(d.Why, "\n", " "))
	return shorten(string(d.Verdict)+"; "+why, 400)
}

// LogValue implements slog.LogValuer. It holds no text of the conversation but what is wrong with the call.
func (d Decision) LogValue() slog.Value {
	return slog.GroupValue(slog.String("verdict", string(d.Verdict)), slog.String("why", d.Why),
		slog.Any("changes", d.Changes), slog.Any("problems", d.Problems), slog.Bool("asked", d.Asked),
		slog.Float64("probability", d.Probability), slog.Int("prompt_tokens",
			d.PromptTokens),
		slog.Int("completion_tokens", d.CompletionTokens), slog.Float64("seconds", d.Seconds))
}
