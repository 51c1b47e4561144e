package revise

import (
	"context"
	"slices"
	"strings"
	"time"

	"hone/internal/chat"
	"hone/internal/proxy"
)

// Mode is the sidecar before an upstream.
type Mode struct {
	Sidecar Sidecar
	// Hint tells the upstream once what is wrong with a call that could not be mended, and takes its second answer
	// where it is valid.
	Hint bool
}

var _ proxy.Mode = (*Mode)(nil)

// Name implements proxy.Mode.
func (*Mode) Name() string { return "sidecar" }

const (
	decisions = "hone:sidecar_decisions_total"
	seconds   = "hone:sidecar_seconds"
	tokens    = "hone:sidecar_tokens_total"
	hints     = "hone:sidecar_hints_total"
)

// Metrics implements proxy.Mode.
func (*Mode) Metrics() map[string]string {
	return map[string]string{decisions: "Answers by what became of them.", seconds: "Seconds that a decision took.",
		tokens: "Tokens of the sidecar's model.",
		hints:  "Upstreams that were told of their error, by whether that helped."}
}

// Answer implements proxy.Mode. Text of a stream goes on as it comes, unless it begins like a call; calls are held
// until they are decided.
func (m *Mode) Answer(ctx context.Context, x *proxy.Exchange) error {
	if why := unfit(x); why != "" {
		x.Decide("passed", why)
		return x.Pass(ctx, x.Body)
	}
	a, err := x.Follow(ctx, x.Body, beginsCall)
	if err != nil {
		return err
	}
	if a.Opaque != nil || a.FinishReason == "length" || a.FinishReason == "content_filter" {
		x.Decide("passed", "the answer is not whole, or could not be read")
		return x.Tell(a)
	}
	s := m.Sidecar
	if x.Request.Stream { // its text was told
		s.NoCall = 1
	}
	d := s.Decide(ctx, x.Request.Messages, x.Request.Tools, a.Message, 0)
	if err := ctx.Err(); err != nil {
		return err
	}
	m.count(x, d)
	if d.Verdict == Original && m.Hint {
		if again, ok := m.hint(ctx, x, a, d); ok {
			return x.Tell(again)
		}
	}
	x.Decide(string(d.Verdict), d.Why, "decision", d)
	if d.Verdict == Mended || d.Verdict == Revised {
		a.Replace(d.Message, "tool_calls")
	}
	return x.Tell(a)
}

func (m *Mode) count(x *proxy.Exchange, d Decision) {
	x.Count(decisions, 1, "verdict", string(d.Verdict))
	x.Observe(seconds, time.Duration(d.Seconds*float64(time.Second)))
	x.Count(tokens, float64(d.PromptTokens), "kind", "prompt")
	x.Count(tokens, float64(d.CompletionTokens), "kind", "completion")
}

// hint asks the upstream once more, behind its draft and what is wrong with it. ok is false where that was no help.
func (m *Mode) hint(ctx context.Context, x *proxy.Exchange, a *proxy.Answer, d Decision) (_ *proxy.Answer, ok bool) {
	said := chat.Message{Role: chat.Assistant, Content: DraftText(a.Message)}
	last := len(x.Request.Messages) - 1
	body, err := proxy.Insert(x.Body, map[int][]chat.Message{last: {said, Hint(Fixed{Problems: d.Problems})}})
	if err != nil {
		return nil, false
	}
	again, err := x.Ask(ctx, body)
	if err != nil || again.Opaque != nil {
		x.Count(hints, 1, "helped", "no")
		return nil, false
	}
	fixed := NewFixer(x.Request.Tools).Fix(again.Message)
	if !fixed.Valid() || len(fixed.Message.ToolCalls) == 0 {
		x.Count(hints, 1, "helped", "no")
		return nil, false
	}
	x.Count(hints, 1, "helped", "yes")
	x.Decide("hinted", "the upstream was told: "+d.Problems[0].String(), "decision", d)
	a.Replace(fixed.Message, "tool_calls")
	return a, true
}

// unfit says why an answer is none that the sidecar looks at; "" where it is one.
func unfit(x *proxy.Exchange) string {
	q := &x.Request
	logprobs, _ := proxy.Get(x.Body, "logprobs")
	switch {
	case q.Opaque != nil:
		return "what is asked could not be read"
	case len(q.Tools) == 0:
		return "no tool is offered"
	case string(q.ToolChoice) == `"none"`:
		return "no tool may be called"
	case q.N != 1 || string(logprobs) == "true":
		return "several answers, or log-probabilities, are asked for"
	}
	return ""
}

// beginsCall reports whether a text may be a call that stands in it. It is asked as the text grows: one that began as
// plain words was told.
func beginsCall(text string) bool {
	head := strings.TrimLeft(text, " \t\r\n")
	if head == "" {
		return false
	}
	return slices.Contains([]byte("{[<`"), head[0])
}
