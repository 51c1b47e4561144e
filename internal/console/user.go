package console

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"hone/internal/chat"
	"hone/internal/episode/environment"
	"hone/internal/episode/rollout"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/host"
)

// Name is what records call a person.
const Name = "person"

// Prompt is before what is typed.
const Prompt = "> "

// User is a person who speaks with a policy: the user of conversations. It implements environment.User, for one episode
// at a time.
type User struct {
	host  *host.Host
	lines *Lines
	// Left is whether the person has ended all, and not one conversation alone.
	Left bool
}

// NewUser is the person at a host.
func NewUser(h *host.Host) *User { return &User{host: h, lines: NewLines(h)} }

// Begin implements environment.User.
func (u *User) Begin(scenario.Scenario, *trajectory.Trajectory) environment.Partner { return u }

// Name implements environment.Partner.
func (*User) Name() string { return Name }

// Say implements environment.Partner.
func (u *User) Say(ctx context.Context, _ []chat.Message) (environment.Words, error) {
	text, err := u.Words(ctx)
	if err != nil || text == "" {
		return environment.Words{Ended: trajectory.EndedByUser}, err
	}
	return environment.Words{Text: text}, nil
}

// Words are what the person says next; "" where they end the conversation, or with Left all of them.
func (u *User) Words(ctx context.Context) (string, error) {
	for {
		text, err := u.lines.Next(ctx, Prompt)
		switch {
		case errors.Is(err, io.EOF):
			u.Left = true
			return "", nil
		case err != nil:
			return "", err
		case text == "/new":
			return "", nil
		case strings.HasPrefix(text, "/"):
			u.host.Say("/new ends this conversation and begins another, %s ends all; both are kept", Quit)
		case slices.ContainsFunc(scenario.EndTokens(), func(token string) bool {
			return strings.Contains(text, token)
		}):
			u.host.Say("a message cannot hold %s, by which simulated users end conversations",
				strings.Join(scenario.EndTokens(), ", "))
		default:
			return text, nil
		}
	}
}

// Hearing returns a policy whose words the person hears. Where it fails, or makes more than most turns without an
// answer, whoever types is asked whether to go on.
func (u *User) Hearing(p rollout.Policy, most int) rollout.Policy { return heard{p, u, most} }

type heard struct {
	rollout.Policy
	user *User
	most int
}

// Speaker implements rollout.Policy.
func (h heard) Speaker(a rollout.Attempt) rollout.Speaker {
	return &hearing{h.Policy.Speaker(a), h.user, h.most, 0}
}

type hearing struct {
	rollout.Speaker
	user  *User
	most  int
	turns int // since the person spoke
}

// Say implements rollout.Speaker.
func (s *hearing) Say(ctx context.Context, messages []chat.Message, tools []chat.Tool) (environment.Reply, error) {
	if messages[len(messages)-1].Role == chat.User {
		s.turns = 0
	}
	if s.turns == s.most {
		if !s.user.goOn(ctx, fmt.Sprintf("%d turns without an answer", s.turns)) {
			return environment.Reply{}, fmt.Errorf("%d turns without an answer (rollout.max_turns)", s.turns)
		}
		s.turns = 0
	}
	s.turns++
	for {
		reply, err := s.Speaker.Say(ctx, messages, tools)
		if err == nil {
			s.user.hear(reply.Turn)
			return reply, nil
		}
		if ctx.Err() != nil || !s.user.goOn(ctx, err.Error()) {
			return reply, err
		}
	}
}

// hear shows a turn, but for its calls.
func (u *User) hear(t *trajectory.Turn) {
	if t == nil {
		return
	}
	if t.ReasoningContent != "" {
		fmt.Fprintln(u.host.Talk, t.ReasoningContent)
	}
	if t.Content != "" {
		fmt.Fprintln(u.host.Data, t.Content)
	}
}

// goOn asks whoever types whether to go on all the same; nobody does on a pipe.
func (u *User) goOn(ctx context.Context, why string) bool {
	if !u.lines.IsTerminal() {
		return false
	}
	u.host.Say("%s", why)
	text, err := u.lines.One(ctx, "Enter goes on, /new begins another conversation, "+Quit+" ends: ")
	u.Left = u.Left || text == Quit || errors.Is(err, io.EOF)
	return err == nil && text == ""
}

// IsTerminal reports whether the person types, and is not a pipe.
func (u *User) IsTerminal() bool { return u.lines.IsTerminal() }
