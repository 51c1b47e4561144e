package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"hone/internal/chat"
	"hone/internal/episode/environment"
	"hone/internal/episode/policy"
	"hone/internal/episode/trajectory"
)

// Agent makes a server run the loop of an agent: a client sends a task, the model calls the server's own tools, and the
// client gets the answer. Of what happens between, streams tell in comments, which clients pass over (": hone.call
// {...}", ": hone.result {...}"), and whole answers under the key "hone".
type Agent struct {
	Tools environment.Tools // that decide by themselves which calls are sent
	List  []chat.Tool       // that the model is shown, where ListOf is nil
	// ListOf chooses what the model is shown in a task, of the conversation that the task ends; nil: List.
	ListOf func(messages []chat.Message) ([]chat.Tool, error)

	MaxTurns    int           // completions of one task
	MaxCalls    int           // calls of one task
	MaxTime     time.Duration // of one task
	MaxSessions int           // that are open at one time
	Idle        time.Duration // after which a session that nobody uses is closed
}

// sessionHeader names the session in which a task is run, so that a later task finds what an earlier one left on the
// servers. Without it a task has a session of its own, which ends with it.
const sessionHeader = "Hone-Session"

// Step is a call that the server made for the model, as clients are told of it.
type Step struct {
	ID        string                `json:"id"`
	Name      string                `json:"name"`
	Arguments string                `json:"arguments"`
	Status    trajectory.CallStatus `json:"status,omitempty"` // as in trajectories: "denied" was not sent
	Result    string                `json:"result,omitempty"` // what the model is shown
	Approval  string                `json:"approval,omitempty"`
}

// Steps are what an answer says of the loop.
type Steps struct {
	Steps   []Step `json:"steps"`
	Stopped string `json:"stopped,omitempty"` // the limit that ended the task: max_turns or max_tool_calls
}

// task checks a request for a task, and gives it the server's tools.
func (g *Agent) task(q *request, header http.Header) *apiError {
	switch {
	case q.prompts != nil || q.raw != nil: // texts are gone on with, and nothing is called
		return nil
	case q.begun != nil:
		return unsupportedError("messages", "a task ends with a message of the user's")
	case len(q.tools) > 0:
		return unsupportedError("tools", "this server runs tools of its own (hone serve --agent)")
	case q.n > 1:
		return unsupportedError("n", "a task has one answer")
	case len(header.Get(sessionHeader)) > 128:
		return invalid(sessionHeader, "the name of a session has at most 128 characters")
	}
	q.tools, q.agent, q.session = g.List, &Steps{Steps: []Step{}}, header.Get(sessionHeader)
	if g.ListOf == nil {
		return nil
	}
	var err error
	if q.tools, err = g.ListOf(q.messages); err != nil {
		return asRefusal(err)
	}
	return nil
}

var errTaskTime = errors.New("the task took longer than this server lets one take")

// work runs the loop of a task. tell is told of tokens, turns and calls in their order; its context is the task's,
// behind which nothing is waited for.
func (s *Server) work(ctx context.Context, x *exchange, tell func(context.Context, news)) error {
	limited, cancel := context.WithTimeoutCause(ctx, s.o.Agent.MaxTime, errTaskTime)
	defer cancel()
	session, err := s.sessions.take(limited, sessionKey{x.owner, x.request.session})
	if err != nil {
		return err
	}
	defer s.sessions.give(session)
	if err := s.turns(limited, x, session.Session, func(n news) { tell(limited, n) }); err != nil {
		if ctx.Err() == nil && limited.Err() != nil {
			return errTaskTime
		}
		return err
	}
	return nil
}

func (s *Server) turns(ctx context.Context, x *exchange, session environment.Session, tell func(news)) error {
	a, q, messages, numCalls := x.answers[0], *x.request, x.request.messages, 0
	seed := x.seed()
	for turn := 1; ; turn++ {
		key := policy.Key{Seed: seed, Stream: uint64(turn - 1)}
		if err := s.sample(ctx, x, &q, a, key,
			func(a *answer, t *policy.Token) { tell(news{answer: a, token: t}) }); err != nil {
			return err
		}
		message := s.message(x, &q, a, messages)
		calls := message.ToolCalls
		stopped := ""
		switch {
		case turn == s.o.Agent.MaxTurns:
			stopped = "max_turns"
		case numCalls+len(calls) > s.o.Agent.MaxCalls:
			stopped = "max_tool_calls"
		}
		if len(calls) == 0 || a.cut() || stopped != "" {
			if len(calls) > 0 && stopped != "" {
				a.FinishReason = policy.FinishLength
			} else {
				stopped = ""
			}
			tell(news{answer: a, stopped: stopped})
			return nil
		}
		tell(news{answer: a, turned: true})
		numCalls += len(calls)
		messages = append(messages[:len(messages):len(messages)], message)
		for _, c := range calls {
			tell(news{answer: a, step: &Step{ID: c.ID, Name: c.Name, Arguments: c.Arguments}})
		}
		if err := ctx.Err(); err != nil { // the client was perhaps not told of them
			return err
		}
		for _, r := range session.Call(ctx, calls) {
			tell(news{answer: a, step: &Step{r.Call.ID, r.Call.Name, r.Call.Arguments, r.Status, r.Text, r.Approval}})
			messages = append(messages,
				chat.Message{Role: chat.ToolRole, ToolCallID: r.Call.ID, Name: r.Call.Name, Content: r.Text})
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		q.choice = toolChoice{mode: choiceAuto} // what had to be called was
		prompt, err := x.model.Renderer.Prompt(messages, q.tools)
		if err != nil {
			return invalid("messages", "the conversation cannot be rendered: "+err.Error())
		}
		tell(news{answer: a, said: messages[len(x.request.messages):]})
		a = &answer{prompt: prompt, reading: s.reading(x, &q, prompt, messages), first: a.first, begun: true}
	}
}

// message is what a completion says, with its calls numbered as training numbers them.
func (s *Server) message(x *exchange, q *request, a *answer, messages []chat.Message) chat.Message {
	r := s.reading(x, q, a.prompt, messages)
	for _, id := range a.IDs {
		r.next(id)
	}
	r.close(&a.Completion)
	message := r.message
	for i := range message.ToolCalls {
		message.ToolCalls[i].ID = fmt.Sprintf("call_%d", r.first+i)
	}
	return message
}

// turn goes on with the answer in a, the next completion of a task. Its text follows what was said before, and its
// calls are the server's affair.
func (x *exchange) turn(a *answer) {
	if last := x.answers[0]; last != a {
		x.past = append(x.past, last)
		a.blocks = last.blocks
		a.behind = len(a.blocks) > 0 && a.blocks[len(a.blocks)-1].text != ""
		x.answers[0] = a
	}
}

// separateTexts sets the text of a completion apart from that of the one before.
func (x *exchange) separateTexts(a *answer, deltas []chat.Delta) []chat.Delta {
	for i := range deltas {
		if deltas[i].Content != "" && a.behind {
			deltas[i].Content, a.behind = "\n\n"+deltas[i].Content, false
		}
	}
	return deltas
}

// sum makes the message of a task's answer: all that the model said. What is kept of a conversation has it in parts,
// between the calls.
func (x *exchange) sum(a *answer) {
	a.message.ToolCalls = nil
	if x.request.extra != nil {
		last := a.message
		x.request.extra.last = &last
	}
	a.message.Content, a.message.ReasoningContent = "", ""
	for _, b := range a.blocks {
		a.message.Content += b.text
		a.message.ReasoningContent += b.reasoning
	}
}

// note is what a client is told of a piece of news of a task, as a comment; "" is nothing.
func (x *exchange) note(n news) string {
	if n.said != nil && x.request.extra != nil {
		x.request.extra.said = append(x.request.extra.said, n.said[len(x.request.extra.added):]...)
		x.request.extra.added = n.said
	}
	if n.stopped != "" {
		x.request.agent.Stopped = n.stopped
	}
	if n.step == nil {
		return ""
	}
	kind := "hone.call"
	if n.step.Status != "" {
		kind = "hone.result"
		x.request.agent.Steps = append(x.request.agent.Steps, *n.step)
	}
	text, err := json.Marshal(n.step)
	if err != nil {
		return ""
	}
	return ": " + kind + " " + strings.ReplaceAll(string(text), "\n", " ")
}

// withoutCalls leaves out what the server does itself.
func withoutCalls(deltas []chat.Delta) (out []chat.Delta) {
	for _, d := range deltas {
		if d.Call == nil && d.Arguments == "" {
			out = append(out, d)
		}
	}
	return out
}
