package play

import (
	"context"
	"errors"

	"hone/internal/chat"
	"hone/internal/episode/environment"
	"hone/internal/episode/rollout"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
	"hone/internal/job/collect"
	"hone/internal/toolset/access"
)

// speaker is the model in the conversation, behind the turns that are taken again.
type speaker struct {
	rollout.Speaker
	*Talk
}

// Say implements rollout.Speaker. Where the model fails, or makes many turns without an answer, the person says whether
// it goes on.
func (s *speaker) Say(ctx context.Context, messages []chat.Message, tools []chat.Tool) (environment.Reply, error) {
	if turn, again := s.turnAgain(); again {
		s.show(Speaking, nil)
		return environment.Reply{Turn: turn}, nil
	}
	if most := s.job.Config.Rollout.MaxTurns; s.turns >= most {
		s.turns = 0
		err := &fault.Error{Code: fault.CodeError, What: fault.Count(most, "turn") + " without an answer to you",
			Where: "rollout.max_turns", Next: "let it go on, or end it"}
		if a, err := s.await(ctx, Held, func(s *State) { s.Err = err }); err != nil || !a.yes {
			return environment.Reply{}, errEnded
		}
	}
	s.turns++
	for {
		s.show(Speaking, nil)
		reply, err := s.Speaker.Say(ctx, messages, tools)
		if err == nil {
			s.tellUnread(reply)
			return reply, nil
		}
		if ctx.Err() != nil {
			return reply, err
		}
		if a, stopped := s.await(ctx, Held, func(s *State) { s.Err = onward(err) }); stopped != nil || !a.yes {
			return reply, err
		}
	}
}

// onward is an endpoint's error as it is told where nothing is resumed.
func onward(err error) error {
	f, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return err
	}
	out := *f
	switch f.Code {
	case fault.CodeUnavailable:
		out.Next = "check that the endpoint is running, then ask again"
	case fault.CodeUsage, fault.CodeError:
		out.Next = f.Next + "; then begin again"
	}
	return &out
}

// tellUnread says what the endpoint left in the text of a turn.
func (t *Talk) tellUnread(r environment.Reply) {
	if r.Turn == nil {
		return
	}
	if what, next := collect.Unread(t.job, *r.Turn, t.client.IsHones()); what != "" {
		t.note("Turn %d: %s. Next: %s.", len(t.record.Turns), what, next)
	}
}

// Begin implements environment.User: the person is the user of the conversation.
func (t *Talk) Begin(_ scenario.Scenario, record *trajectory.Trajectory) environment.Partner {
	t.record = record
	return person{t}
}

// person is who talks with the model.
type person struct{ *Talk }

// Name implements environment.Partner.
func (person) Name() string { return "person" }

// Say implements environment.Partner.
func (p person) Say(ctx context.Context, _ []chat.Message) (environment.Words, error) {
	if text := p.wordsAgain(); text != "" {
		return environment.Words{Text: text}, nil
	}
	p.turns = 0
	a, err := p.await(ctx, Waiting, nil)
	if err != nil || a.text == "" {
		return environment.Words{Ended: trajectory.EndedByUser}, err
	}
	return environment.Words{Text: a.text}, nil
}

// Ask implements access.Prompter.
func (t *Talk) Ask(ctx context.Context, q access.Question) (access.Answer, error) {
	hints := t.hints[q.Tool.ID()]
	s, _ := t.State()
	if s.ReadsUnasked && hints.ReadOnlyHint && !hints.DestructiveHint {
		t.show(Calling, nil)
		return access.YesUnasked, nil
	}
	a, err := t.await(ctx, Asking, func(s *State) {
		s.Question = &Question{Number: s.Seq, Server: q.Tool.Server, Tool: q.Tool.Name, Arguments: q.Arguments,
			ReadOnly: hints.ReadOnlyHint, Destructive: hints.DestructiveHint, Before: t.before()}
	})
	if err != nil || !a.yes {
		return access.No, err
	}
	return access.Yes, nil
}

// setUpAsked has the calls that set a scenario up wait for the person too.
type setUpAsked struct {
	environment.Tools
	gate *access.Gate
}

// Open implements environment.Tools.
func (s setUpAsked) Open(
	ctx context.Context, episode string, templates ...environment.Template,
) (environment.Session, error) {
	session, err := s.Tools.Open(ctx, episode, templates...)
	return askedSession{session, s.gate}, err
}

type askedSession struct {
	environment.Session
	gate *access.Gate
}

// Probe implements environment.Session.
func (s askedSession) Probe(ctx context.Context, call chat.ToolCall) trajectory.ToolResult {
	if d := s.gate.Decide(ctx, call, access.Place{}); !d.Allowed {
		return access.Denial(call, d)
	}
	return s.Session.Probe(ctx, call)
}
