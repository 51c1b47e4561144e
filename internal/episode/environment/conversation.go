package environment

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"hone/internal/chat"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
)

// User is whom the policy speaks with in scenarios that have a user. Package user has the kinds.
type User interface {
	// Begin is the user in one episode. The record says which scenario's and which rollout that is.
	Begin(s scenario.Scenario, t *trajectory.Trajectory) Partner
}

// Partner is the user in one episode. It is used by one goroutine at a time.
type Partner interface {
	Name() string // for the record: trajectory.User.Played
	// Say is what the user says to a conversation, or to begin one that has no message of its own yet. Its error says
	// that the user could not be played, which is nobody's doing in the episode.
	Say(ctx context.Context, messages []chat.Message) (Words, error)
}

// Words are what a user says.
type Words struct {
	Text  string // for the policy; "" where there is none
	Ended string // trajectory.EndedByUser and the like, where the user ends the conversation
	// What a model that plays the user read and wrote for it.
	PromptTokens, CompletionTokens int
}

// conversation is the part of an episode that its user has.
type conversation struct {
	user    *scenario.User // nil where the scenario has none
	partner Partner
}

// meet brings in the scenario's user, who finds the first words where the scenario has none. The end is nil where the
// policy may speak: not where these words are the last ones too.
func (e *episode) meet(ctx context.Context, s scenario.Scenario) *End {
	if s.User == nil {
		return nil
	}
	if e.o.User == nil {
		return absent(fmt.Errorf("nobody plays the user of the scenario"))
	}
	e.conversation = conversation{s.User, e.o.User.Begin(s, e.t)}
	e.t.User = &trajectory.User{Played: e.partner.Name(), Turns: 1}
	if !s.UserBegins() {
		return nil
	}
	words, end := e.ask(ctx)
	if end == nil && words.Text == "" {
		end = absent(fmt.Errorf("it ends the conversation (%s) before it began", words.Ended))
	}
	if end != nil {
		return end
	}
	e.t.Messages = append(e.t.Messages, chat.Message{Role: chat.User, Content: words.Text})
	e.t.Opening = len(e.t.Messages)
	if words.Ended != "" {
		return e.over(words.Ended)
	}
	return nil
}

// answerWords answers a message without a call. Without a user such a message ends the episode; else the user answers,
// or ends the conversation.
func (e *episode) answerWords(ctx context.Context, said string) *End {
	switch limit := e.limitOfUser(); {
	case e.partner == nil:
		return &End{Outcome: trajectory.OK, Reason: trajectory.StopCompleted}
	case strings.TrimSpace(said) == "" || strings.Contains(said, scenario.StopToken):
		// nothing to answer, or not to be answered
		return e.over(trajectory.EndedByPolicy)
	case limit > 0 && e.t.User.Turns >= limit:
		return e.limit(trajectory.StopMaxUserTurns, fmt.Sprintf("the user has written %d messages, "+
			"which is the most it may (max_turns of the scenario's user)", limit))
	}
	words, end := e.ask(ctx)
	if end != nil {
		return end
	}
	if words.Text != "" {
		e.t.Messages = append(e.t.Messages, chat.Message{Role: chat.User, Content: words.Text})
		e.t.User.Turns++
	}
	if words.Ended != "" {
		return e.over(words.Ended)
	}
	return nil
}

func (e *episode) limitOfUser() int {
	if e.user == nil {
		return 0
	}
	return e.user.Limit()
}

// endsOn reports whether one of the results is of a call that ends the conversation.
func (e *episode) endsOn(results []trajectory.ToolResult) bool {
	return e.user != nil && slices.ContainsFunc(results, func(r trajectory.ToolResult) bool {
		return r.Status == trajectory.CallOK && slices.Contains(e.user.EndsOn, r.Call.Name)
	})
}

// over ends a conversation by itself.
func (e *episode) over(by string) *End {
	e.t.User.Ended = by
	return &End{Outcome: trajectory.OK, Reason: trajectory.StopCompleted}
}

// ask has the user speak, and counts what that takes.
func (e *episode) ask(ctx context.Context) (Words, *End) {
	began := time.Now()
	words, err := e.partner.Say(ctx, e.userView())
	e.t.User.Seconds += time.Since(began).Seconds()
	e.t.User.PromptTokens += words.PromptTokens
	e.t.User.CompletionTokens += words.CompletionTokens
	if err != nil {
		return words, absent(err)
	}
	return words, nil
}

// absent is the end where the user cannot be played. Other episodes would meet the same.
func absent(err error) *End {
	err = fmt.Errorf("the simulated user: %w", err)
	return &End{Outcome: trajectory.InfrastructureError, Reason: trajectory.StopError, Why: err.Error(), Err: err}
}
