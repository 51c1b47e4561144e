package proxy

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"hone/internal/chat"
)

// InitialCall is the initial-call agent before an upstream.
type InitialCall struct {
	Agent    *Agent
	Deadline time.Duration // of the small model; what takes longer goes to the upstream. 0: 5 s
	Hands    *Hands        // make the calls; nil: clients do

	memory memory
}

var _ Mode = (*InitialCall)(nil)

// Name implements Mode.
func (*InitialCall) Name() string { return "initial-call" }

const (
	outcomes     = "hone:initial_call_total"
	askSeconds   = "hone:initial_call_seconds"
	smallTokens  = "hone:initial_call_tokens_total"
	repeated     = "hone:initial_call_repeated_total"
	executed     = "hone:initial_call_executed_total"
	callSeconds  = "hone:initial_call_execution_seconds"
	speculations = "hone:initial_call_speculated_total"
	userTurns    = "hone:user_turns_total"
	turnSteps    = "hone:user_turn_upstream_requests_total"
	turnPrompt   = "hone:user_turn_upstream_prompt_tokens_total"
	turnWritten  = "hone:user_turn_upstream_completion_tokens_total"
	turnSeconds  = "hone:user_turn_seconds_total"
	turnUSD      = "hone:user_turn_upstream_usd_total"
)

// Metrics implements Mode.
func (*InitialCall) Metrics() map[string]string {
	return map[string]string{
		outcomes: "User turns by what the small model came to.", askSeconds: "Seconds that the small model took.",
		smallTokens: "Tokens of the small model.",
		repeated: "Proposed calls after whose result the upstream called the same tool again: " +
			"an upper bound of those that were wrong.",
		executed:     "Calls that were made in clients' place, by their status.",
		callSeconds:  "Seconds that the calls of a turn took.",
		speculations: "Calls that were made while the upstream read, by whether it made the same.",
		userTurns:    "User turns, with an initial call and without.",
		turnSteps:    "Requests to the upstream in user turns.",
		turnPrompt:   "Prompt tokens of the upstream in user turns.",
		turnWritten:  "Completion tokens of the upstream in user turns.",
		turnSeconds:  "Seconds of requests in user turns.", turnUSD: "US dollars of the upstream in user turns.",
	}
}

// mark begins the ids of calls that were proposed here, by which a later request of the conversation tells of them.
const mark = "call_initial"

// Labels of user turns, for counters.
const (
	with       = "with"       // the small model's call stands in the place of the upstream's
	without    = "without"    // all is the upstream's
	speculated = "speculated" // the call is the upstream's, and its result was there
)

// Answer implements Mode.
func (m *InitialCall) Answer(ctx context.Context, x *Exchange) error {
	t, err := m.begin(x)
	if err != nil {
		return err
	}
	if why := unfit(x); why != "" {
		return t.goOn(ctx, why)
	}
	if t.work, err = m.memory.begin(ctx, t.key, false); err != nil {
		return err
	}
	if t.work != nil && t.work.failed != "" {
		return t.passOnFailure(ctx)
	}
	if t.work != nil { // the upstream failed behind a call that was made, or the client did not wait, and asks again
		defer t.over()
		return t.resumeCalls(ctx)
	}
	q := &x.Request
	began := time.Now()
	p := m.propose(ctx, t.messages, q.Tools, q.ParallelToolCalls != nil && !*q.ParallelToolCalls)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	took := time.Since(began)
	x.Observe(askSeconds, took)
	x.Count(smallTokens, float64(p.Used.PromptTokens), "kind", "prompt")
	x.Count(smallTokens, float64(p.Used.CompletionTokens), "kind", "completion")
	t.args = []any{"confidence", p.Confidence, "seconds", took.Seconds(), "prompt_tokens", p.Used.PromptTokens,
		"completion_tokens", p.Used.CompletionTokens}
	for i := range p.Calls {
		p.Calls[i].ID = newID()
	}
	switch {
	case p.Calls == nil && m.Hands.mayTry(ctx, p.Unsure):
		x.Count(outcomes, 1, "outcome", string(p.Why))
		return t.speculate(ctx, p)
	case p.Calls == nil:
		x.Count(outcomes, 1, "outcome", string(p.Why))
		why := string(p.Why)
		if p.Why == Late || p.Why == Failed { // what a person can do something about
			x.Warn("the small model made no call", "reason", why, "detail", p.Detail)
		}
		if p.Why == Late {
			why += ": " + p.Detail
		}
		return t.askUpstream(ctx, why, p.Detail)
	}
	x.Count(outcomes, 1, "outcome", "proposed")
	if m.Hands != nil && !isRequired(q.ToolChoice) { // a client that requires a call is to get one
		why := m.Hands.may(ctx, p.Calls)
		if why == "" {
			return t.execute(ctx, p)
		}
		t.args = append(t.args, "not_executed", why)
	}
	return t.propose(p)
}

// propose asks the small model, which may take so long and no longer.
func (m *InitialCall) propose(ctx context.Context, messages []chat.Message, tools []chat.Tool, oneCall bool) Proposal {
	most := cmp.Or(m.Deadline, 5*time.Second)
	limited, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	p := m.Agent.Propose(limited, messages, tools, oneCall)
	if p.Why == Failed && errors.Is(limited.Err(), context.DeadlineExceeded) {
		p.Why, p.Detail = Late, fmt.Sprintf("no answer within --deadline %s", most)
	}
	return p
}

// Try measures how long a call takes here: of one short message and one tool, behind one that is not measured, since
// the first may compile. late tells that most was not enough.
func (m *InitialCall) Try(ctx context.Context, most time.Duration) (took time.Duration, late bool) {
	limited, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	tool := chat.Tool{
		Name:        "look_up",
		Description: "Look a word up.",
		InputSchema: json.RawMessage(
			`{"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}`,
		),
	}
	for range 2 {
		began := time.Now()
		m.Agent.Propose(limited, []chat.Message{{Role: chat.User, Content: "Look up the word alder."}},
			[]chat.Tool{tool}, true)
		if took = time.Since(began); limited.Err() != nil {
			return took, true
		}
	}
	return took, false
}

func newID() string {
	var b [9]byte
	_, _ = rand.Read(b[:]) // never fails
	return mark + hex.EncodeToString(b[:])
}

// isRequired reports whether a client wants a call, whichever.
func isRequired(choice json.RawMessage) bool { return string(choice) == `"required"` }

// unfit says why a request is none that the small model is asked about; "" where it is one.
func unfit(x *Exchange) string {
	q := &x.Request
	var choice string
	logprobs, _ := Get(x.Body, "logprobs")
	switch {
	case q.Opaque != nil:
		return "not-text"
	case len(q.Messages) == 0 || q.Messages[len(q.Messages)-1].Role != chat.User:
		return "no-user-turn"
	case len(q.Tools) == 0:
		return "no-tools"
	case q.N != 1 || string(logprobs) == "true":
		return "more-asked-for"
	case len(q.ToolChoice) > 0 && string(q.ToolChoice) != "null" &&
		(json.Unmarshal(q.ToolChoice, &choice) != nil || choice != "auto" && choice != "required"):
		return "tool-choice"
	}
	return ""
}

// proposals are the names of tools that were proposed in the last user turn; known is false where there is no user
// turn.
func proposals(messages []chat.Message) (names map[string]bool, known bool) {
	names = map[string]bool{}
	for _, m := range slices.Backward(messages) {
		if m.Role == chat.User {
			return names, true
		}
		for _, c := range m.ToolCalls {
			if strings.HasPrefix(c.ID, mark) {
				names[c.Name] = true
			}
		}
	}
	return names, false
}

// account books a request for its user turn, so that turns with an initial call can be held against those without.
func (m *InitialCall) account(x *Exchange, label string) {
	asks, used, usd := x.Cost()
	x.Count(turnSteps, float64(asks), "initial_call", label)
	x.Count(turnPrompt, float64(used.PromptTokens), "initial_call", label)
	x.Count(turnWritten, float64(used.CompletionTokens), "initial_call", label)
	x.Count(turnSeconds, x.Since().Seconds(), "initial_call", label)
	if usd > 0 {
		x.Count(turnUSD, usd, "initial_call", label)
	}
}
