package revise

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"hone/internal/chat"
	"hone/internal/episode/environment"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/grade"
)

// Environment is where episodes of one turn take place: at a row's point, the policy says what is to be called. With
// Drafts it is shown the row's draft and revises it; without, it answers as the upstream does, which is how drafts are
// made. Calls that are not the gold calls are made on the servers, where there are some, behind the calls of the
// scenario that come before.
type Environment struct {
	Rows     map[string]*Row // by their ids, which are those of the scenarios
	Tools    Tools
	Drafts   bool
	Servers  environment.Tools // nil: nothing is executed
	Defaults grade.Defaults
}

// Scenarios are rows as the loop of episodes takes them.
func (v *Environment) Scenarios(rows []Row) ([]scenario.Scenario, error) {
	var out []scenario.Scenario
	for i := range rows {
		messages, _, err := v.opening(&rows[i])
		if err != nil {
			return nil, fmt.Errorf("row %s: %w", rows[i].ID, err)
		}
		out = append(out,
			scenario.Scenario{ID: rows[i].ID, Messages: messages, Gold: rows[i].Gold, Split: rows[i].Split})
	}
	return out, nil
}

func (v *Environment) opening(r *Row) ([]chat.Message, []chat.Tool, error) {
	tools, err := v.Tools.Of(r.Point.Tools)
	if err != nil || !v.Drafts {
		return slices.Clone(r.Messages), tools, err
	}
	return Prompt(r.Messages, NewFixer(tools).Fix(r.Draft)), tools, nil
}

// Open implements environment.Environment.
func (v *Environment) Open(
	_ context.Context, s scenario.Scenario, t *trajectory.Trajectory,
) (environment.Episode, *environment.End) {
	row, known := v.Rows[s.ID]
	if !known {
		return nil, ours(t, fmt.Errorf("no row is called %s", s.ID))
	}
	messages, tools, err := v.opening(row)
	if err != nil {
		return nil, ours(t, err)
	}
	t.Messages, t.Tools, t.Opening = messages, tools, len(messages)
	return &turn{v, row, t}, nil
}

func ours(t *trajectory.Trajectory, err error) *environment.End {
	end := &environment.End{Outcome: trajectory.InfrastructureError, Reason: trajectory.StopError, Why: err.Error()}
	end.Note(t)
	return end
}

// turn is an episode.
type turn struct {
	v   *Environment
	row *Row
	t   *trajectory.Trajectory
}

// Tools implements environment.Episode.
func (e *turn) Tools() []chat.Tool { return e.t.Tools }

// Close implements environment.Episode.
func (e *turn) Close() error { return nil }

// Take implements environment.Episode: whatever the reply is, the episode is over.
func (e *turn) Take(ctx context.Context, r environment.Reply) *environment.End {
	end := &environment.End{Outcome: trajectory.OK, Reason: trajectory.StopCompleted}
	if r.Turn != nil {
		e.t.Turns = append(e.t.Turns, *r.Turn)
		e.t.Messages = append(e.t.Messages, Output(e.t))
	}
	switch {
	case r.Crowded:
		end = &environment.End{Outcome: trajectory.InfrastructureError, Reason: r.Stop, Why: r.Why}
	case r.Stop != "":
		end = &environment.End{Outcome: trajectory.Limit, Reason: r.Stop, Why: r.Why}
	case e.v.Servers != nil:
		if lost := e.execute(ctx); lost != nil {
			end = lost
		}
	}
	end.Note(e.t)
	return end
}

// execute makes the calls of the turn, behind the fixer, in a session of their own.
func (e *turn) execute(ctx context.Context) *environment.End {
	fixed := NewFixer(e.t.Tools).Fix(Output(e.t))
	if len(fixed.Message.ToolCalls) == 0 || !fixed.Valid() || e.row.IsGold(fixed.Message.ToolCalls, e.v.Defaults) {
		return nil // nothing to make, or known to be answered
	}
	results, err := Execute(ctx, e.v.Servers, e.t.ID, &e.row.Point, fixed.Message.ToolCalls)
	if err != nil {
		return &environment.End{Outcome: trajectory.EnvironmentError, Reason: trajectory.StopError, Why: err.Error(),
			Again: true}
	}
	e.t.Turns[0].Results = results
	return nil
}

// Execute makes calls at a point, in a session of their own. Its error says that the point could not be reached.
func Execute(
	ctx context.Context, servers environment.Tools, id string, p *Point, calls []chat.ToolCall,
) ([]trajectory.ToolResult, error) {
	session, err := servers.Open(ctx, id, environment.TemplatesOf(p.Template)...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = session.Close() }() // the results are there
	var before []chat.ToolCall
	for _, g := range p.Setup {
		before = append(before, g.Call())
	}
	for _, m := range p.Messages {
		before = append(before, m.ToolCalls...)
	}
	for _, c := range before {
		if r := session.Probe(ctx, c); environment.CallOutcome(r) != "" {
			return nil, fmt.Errorf("the call %s before it has no answer: %s", c.Name, r.Error)
		}
	}
	return session.Call(ctx, numberCalls(calls, nil)), nil
}

// Output is what an episode's policy said, as a message.
func Output(t *trajectory.Trajectory) chat.Message {
	if len(t.Turns) == 0 {
		return chat.Message{Role: chat.Assistant}
	}
	last := t.Turns[len(t.Turns)-1]
	return chat.Message{Role: chat.Assistant, Content: strings.TrimSpace(last.Content),
		ReasoningContent: last.ReasoningContent, ToolCalls: last.Calls}
}
