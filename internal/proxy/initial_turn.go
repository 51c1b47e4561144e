package proxy

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"hone/internal/chat"
	"hone/internal/episode/trajectory"
)

// turn is a request, with what its client does not know of the conversation put into it.
type turn struct {
	*Exchange
	mode     *InitialCall
	keys     []string       // of the places in the client's conversation
	key      string         // of the last
	body     []byte         // as the upstream gets it
	messages []chat.Message // of it
	label    string         // of the last user's message, where its calls were made here; else ""
	args     []any          // of decisions, for the log
	work     *work          // that equal requests wait for; nil: none
}

// begin puts into a conversation the calls that were made in it here.
func (m *InitialCall) begin(x *Exchange) (*turn, error) {
	t := &turn{Exchange: x, mode: m, body: x.Body, messages: x.Request.Messages}
	if len(t.messages) == 0 {
		return t, nil
	}
	var err error
	if t.keys, err = threads(x.Client, t.messages); err != nil {
		return nil, err
	}
	t.key = t.keys[len(t.keys)-1]
	more, all := map[int][]chat.Message{}, []chat.Message(nil)
	for i, said := range x.Request.Messages {
		if all = append(all, said); said.Role != chat.User {
			continue
		}
		t.label = ""
		if i+1 < len(t.keys) {
			if x.Request.Messages[i+1].Role == chat.User {
				m.memory.goOn(t.keys[i], t.keys[i+1])
			}
			if h, ok := m.memory.find(t.keys[i+1]); ok {
				more[i], t.label = h.messages, h.label
				all = append(all, h.messages...)
			}
		}
	}
	if len(more) > 0 {
		t.messages = all
		t.body, err = Insert(x.Body, more)
	}
	return t, err
}

// propose answers with the calls, which the client is to make.
func (t *turn) propose(p Proposal) error {
	t.Count(userTurns, 1, "initial_call", with)
	t.Decide("proposed", sure(p), t.args...)
	// What the client pays the upstream for is what it used: nothing.
	a, err := t.NewAnswer(chat.Message{Role: chat.Assistant, ToolCalls: p.Calls}, "tool_calls", "hone-initial-call",
		Usage{})
	if err != nil {
		return err
	}
	err = t.Tell(a)
	t.mode.account(t.Exchange, with)
	return err
}

func sure(p Proposal) string {
	return fmt.Sprintf("%s, confidence %.3f", p.Calls[0].Name, p.Confidence)
}

// askUpstream passes a user's turn on.
func (t *turn) askUpstream(ctx context.Context, why, detail string) error {
	t.Decide("asked-upstream", why, append(t.args, "detail", detail)...)
	t.Count(userTurns, 1, "initial_call", without)
	err := t.Pass(ctx, t.body)
	t.mode.account(t.Exchange, without)
	return err
}

// execute makes the calls, and has the upstream go on from their results. Where they failed and changed nothing it is
// as if they had not been made; else the upstream is told how they failed, for it would make them again.
func (t *turn) execute(ctx context.Context, p Proposal) error {
	var err error
	if t.work, err = t.mode.memory.begin(ctx, t.key, true); err != nil {
		return err
	}
	if t.work.failed != "" {
		return t.passOnFailure(ctx)
	}
	defer t.over()
	if t.work.made != nil {
		return t.resumeCalls(ctx)
	}
	m := t.mode.Hands.make(ctx, p.Calls)
	t.count(m)
	if ctx.Err() != nil && m.readOnly {
		return ctx.Err()
	}
	if !m.whole() && m.readOnly {
		t.work.failed = m.failure()
		t.over()
		return t.askUpstream(ctx, "call-failed", m.failure())
	}
	t.AddSteps(m.steps(p.Calls)...)
	t.Decide("executed", sure(p), append(t.args, "call_seconds", m.took.Seconds())...)
	return t.goFrom(ctx, hidden{messages: m.messages(chat.Message{Role: chat.Assistant, ToolCalls: p.Calls}),
		label: with, readOnly: m.readOnly})
}

// over lets requests go on that wait for this one.
func (t *turn) over() {
	t.mode.memory.end(t.key, t.work)
	t.work = nil
}

// resumeCalls has the upstream go on from calls that were made for an equal request.
func (t *turn) resumeCalls(ctx context.Context) error {
	t.Decide("executed", "the call was made before")
	return t.goFrom(ctx, *t.work.made)
}

// passOnFailure passes on a request that waited for an equal one whose calls failed, as that one was.
func (t *turn) passOnFailure(ctx context.Context) error {
	failed := t.work.failed
	t.work = nil // the other's, and over
	return t.askUpstream(ctx, "call-failed", failed)
}

// goFrom has the upstream go on from results of which the client does not know.
func (t *turn) goFrom(ctx context.Context, h hidden) error {
	if t.work != nil {
		t.work.made = &h
		if h.readOnly { // the result is there: who waits for it asks the upstream beside this request
			t.over()
		}
	}
	t.Count(userTurns, 1, "initial_call", h.label)
	body, err := Insert(t.body, map[int][]chat.Message{len(t.messages) - 1: h.messages})
	if err == nil {
		t.OnMessage(func() { t.keep(h) })
		err = t.Pass(ctx, body)
	}
	if err != nil {
		t.mode.memory.keep(retried+t.key, h)
	}
	t.mode.account(t.Exchange, h.label)
	return err
}

// keep remembers calls that were made for the requests that go on from the upstream's answer.
func (t *turn) keep(h hidden) {
	said := t.LastAnswer()
	if said == nil || said.Opaque != nil || len(said.Message.ToolCalls) == 0 {
		return
	}
	keys, err := threads(t.Client, append(slices.Clone(t.Request.Messages), said.Message))
	if err != nil {
		return
	}
	t.mode.memory.keep(keys[len(keys)-1], h)
	if h.label == with && slices.ContainsFunc(said.Message.ToolCalls, func(c chat.ToolCall) bool {
		return slices.ContainsFunc(h.messages[0].ToolCalls, func(made chat.ToolCall) bool {
			return made.Name == c.Name
		})
	}) {
		t.Count(repeated, 1)
	}
}

// speculate makes calls of which the small model is not sure while the upstream reads. Where the upstream makes the
// same, it is asked to go on from their results at once; else its answer is told as it is.
func (t *turn) speculate(ctx context.Context, p Proposal) error {
	t.Decide("asked-upstream", string(p.Why), append(t.args, "detail", p.Detail)...)
	trying, cancel := context.WithCancel(ctx)
	tried := make(chan made, 1)
	go func() { tried <- t.mode.Hands.make(trying, p.Unsure) }()
	a, err := t.Follow(ctx, t.body, nil)
	agreed := err == nil && a.Opaque == nil && !a.Sent() && same(a.Message.ToolCalls, p.Unsure)
	if !agreed {
		cancel()
		if err == nil { // the client waits for no call that is of no use to it
			t.Count(speculations, 1, "result", "differed")
			err = t.TellAtOnce(a)
		}
	}
	m := <-tried
	cancel()
	t.count(m)
	if agreed && !m.whole() {
		agreed = false
		t.Count(speculations, 1, "result", "failed")
		err = t.Tell(a)
	}
	if !agreed {
		t.Count(userTurns, 1, "initial_call", without)
		t.mode.account(t.Exchange, without)
		return err
	}
	t.Count(speculations, 1, "result", "agreed")
	t.Supersede(a)
	t.AddSteps(m.steps(a.Message.ToolCalls)...)
	t.Decide("executed", "the upstream calls "+a.Message.ToolCalls[0].Name+" too", "call_seconds", m.took.Seconds())
	return t.goFrom(ctx, hidden{messages: m.messages(a.Message), label: speculated})
}

// count counts calls that were made.
func (t *turn) count(m made) {
	if m.err != nil {
		t.Count(executed, 1, "status", string(trajectory.CallTransportError))
		return
	}
	for _, r := range m.results {
		t.Count(executed, 1, "status", string(r.Status))
	}
	t.Observe(callSeconds, m.took)
}

// goOn passes a request on of which the small model has nothing to say: most of them go on from a call.
func (t *turn) goOn(ctx context.Context, why string) error {
	proposed, known := proposals(t.messages)
	label := without
	switch {
	case t.label != "":
		label = t.label
	case len(proposed) > 0:
		label = with
	}
	if why != "no-user-turn" {
		t.Count(outcomes, 1, "outcome", "skipped")
		t.Decide("asked-upstream", why)
	} else if label != without {
		t.Decide("went-on", "")
	}
	err := t.Pass(ctx, t.body)
	if last := t.Request.Messages; known && len(proposed) > 0 && strings.HasPrefix(last[len(last)-1].ToolCallID, mark) {
		if said := t.LastAnswer(); said != nil &&
			slices.ContainsFunc(said.Message.ToolCalls, func(c chat.ToolCall) bool { return proposed[c.Name] }) {
			t.Count(repeated, 1)
		}
	}
	if known {
		t.mode.account(t.Exchange, label)
	}
	return err
}
