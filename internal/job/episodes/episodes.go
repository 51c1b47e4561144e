// Package episodes opens what episodes need: servers, who scores and plays users, and the agent that speaks in them.
package episodes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"hone/internal/basemodel"
	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/episode/checktest"
	"hone/internal/episode/environment"
	"hone/internal/episode/reward"
	"hone/internal/episode/rollout"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/eval/stats"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/job"
	"hone/internal/learn/batch"
	"hone/internal/mcp"
	"hone/internal/recipe"
	"hone/internal/toolset"
)

// Episodes is everything that episodes of one model need: servers, model, sampler, trainer.
type Episodes struct {
	*toolset.Set
	Agent
	World    environment.Options // of episodes: tools, limits
	users    *players
	judge    *Judging // nil for none
	Options  rollout.Options
	Scorer   reward.Scorer
	Watch    func(*environment.Options) // of an evaluation, which books what episodes take; else nil
	opens    func(options any)
	refusals *refusals                           // nil: nobody is told of them
	KeyOf    func(*trajectory.Trajectory) string // content key of an episode, nil where none is made
}

// Open opens the servers of a run whose episodes are scored.
func Open(
	ctx context.Context, h *host.Host, c config.Config, servers mcp.Config, runDir string, only ...string,
) (*Episodes, error) {
	s, err := toolset.Open(ctx, h, c, servers, runDir, only...)
	if err != nil {
		return nil, err
	}
	return Of(h, c, s)
}

// Of are the episodes of a tool set, which they take over, without a model.
func Of(h *host.Host, c config.Config, s *toolset.Set) (*Episodes, error) {
	l := &Episodes{Set: s, opens: h.Opens, refusals: &refusals{}}
	if err := l.Under(h, c); err != nil {
		s.Close()
		return nil, err
	}
	h.Opens(l.Scorer)
	return l, nil
}

// Under has the episodes of an endpoint take place, and scored, as a configuration has it.
func (l *Episodes) Under(h *host.Host, c config.Config) (err error) {
	if l.Scorer, err = ScorerOf(h, c.Rewards, l.Catalog); err != nil {
		return err
	}
	if l.users, err = playersOf(h, c); err != nil {
		return err
	}
	l.World = l.WorldOf(h, c)
	return nil
}

// Remote are episodes on the same servers in which a model of an endpoint speaks.
func (l *Episodes) Remote(h *host.Host, c config.Config) *Episodes {
	r := &Episodes{Set: l.Set, refusals: l.refusals, Scorer: l.Scorer, users: l.users, opens: l.opens, Watch: l.Watch}
	r.World = r.WorldOf(h, c)
	r.World.Hang = hang(c)
	r.Options = optionsOf(c)
	return r
}

// Stamp adds to the record of an episode what only it knows: the adapter that made it, and what servers wrote to
// stderr.
func (l *Episodes) Stamp(t *trajectory.Trajectory) {
	t.Adapter = l.Held()
	if l.KeyOf != nil {
		t.ContentKey = l.KeyOf(t)
	}
	if l.Set != nil {
		l.Set.Stamp(t)
	}
}

// Resolve plans episodes in which the model speaks that is wanted. Nothing of it is opened.
func (l *Episodes) Resolve(h *host.Host, c config.Config, w Wanted) (Plan, error) {
	world := func(c config.Config, m *basemodel.Model) environment.Options {
		o := l.worldOf(h, c, m)
		o.Hang = hang(c)
		return o
	}
	largest := l.Selection.Largest
	if len(largest) > 0 && c.Rollout.CompleteTask {
		largest = environment.WithCompleteTask(largest)
	}
	return l.Agent.Resolve(h, c, w, world, l.Selection.Of != nil, largest)
}

// OpenModel opens the model of a plan.
func (l *Episodes) OpenModel(h *host.Host, p Plan) error {
	l.World, l.Options = p.World, optionsOf(p.Config)
	l.Options.Seats = p.Seats
	return l.Agent.Open(h, p)
}

// WorldOf is what the episodes of an endpoint take place in, as the configuration has it.
func (l *Episodes) WorldOf(h *host.Host, c config.Config) environment.Options {
	return l.worldOf(h, c, nil)
}

func (l *Episodes) worldOf(h *host.Host, c config.Config, m *basemodel.Model) environment.Options {
	list, of := l.Selection.List, l.Selection.ForScenario
	if c.Rollout.CompleteTask {
		list, of = environment.WithCompleteTask(list), func(s scenario.Scenario) ([]chat.Tool, error) {
			tools, err := l.Selection.ForScenario(s)
			return environment.WithCompleteTask(tools), err
		}
	}
	return environment.Options{
		Tools:        l.Selection.Tools,
		System:       c.Rollout.System,
		ToolList:     list,
		ToolsOf:      of,
		CompleteTask: c.Rollout.CompleteTask,
		MaxTurns:     c.Rollout.MaxTurns,
		MaxToolCalls: c.Rollout.MaxToolCalls,
		MaxMalformed: c.Rollout.MaxMalformed,
		CallExample:  callExample(m),
		MaxWork:      c.Rollout.Timeout,
		Programs:     toolset.Programs(h, c),
		User: environment.Players{Model: l.users.model(),
			Seed: c.Seed},
	}
}

// optionsOf are those of episodes, but for who speaks and where.
func optionsOf(c config.Config) rollout.Options {
	return rollout.Options{MaxTokens: c.Rollout.MaxTokens, Temperature: c.Rollout.Temperature, Seed: c.Seed, Retries: 2}
}

// callExample is a call as a model writes it; "" for an endpoint, which writes calls by its own rules.
func callExample(m *basemodel.Model) string {
	if m == nil {
		return ""
	}
	call := chat.Message{Role: chat.Assistant,
		ToolCalls: []chat.ToolCall{{ID: "call_0", Name: "tool_name", Arguments: `{"argument": "value"}`}}}
	ids, err := m.Renderer.Completion(call)
	if err != nil {
		return "" // a template that cannot write it alone
	}
	if stops := m.Renderer.StopIDs(); len(ids) > 0 && slices.Contains(stops, ids[len(ids)-1]) {
		ids = ids[:len(ids)-1]
	}
	return strings.TrimSpace(m.Text.Tokenizer.Decode(ids))
}

// hang is when a turn's calls are taken to hang. Each has mcp.timeout, and may be made again.
func hang(c config.Config) time.Duration { return max(c.Rollout.Timeout, 10*c.MCP.Timeout) }

// Rollouts returns a runner of rollouts to train on, at a temperature. They are never truncated: what the sampler
// leaves out, the policy gives a probability.
func (l *Episodes) Rollouts(temperature float64) *rollout.Runner {
	return l.Runner(l.Speaker, temperature)
}

// Runner runs episodes of the set's servers in which p speaks.
func (l *Episodes) Runner(p rollout.Policy, temperature float64) *rollout.Runner {
	o, world := l.Options, l.World
	l.opens(world)
	if l.Watch != nil {
		l.Watch(&world)
	}
	o.Environment, o.Policy, o.Temperature = environment.New(world), p, temperature
	l.opens(o)
	return rollout.New(o)
}

// Unreachable gives the error of a run that failed for its servers the exit code of that, also where the fault is the
// way to them.
func (l *Episodes) Unreachable(err error) error {
	if f, ok := errors.AsType[*fault.Error](err); ok && f.Code == fault.CodeError && l.NumLost() > 0 {
		f.Code = fault.CodeUnavailable
	}
	return err
}

// OpenJudge has the episodes judged by the configuration's judge, where it names one.
func (l *Episodes) OpenJudge(h *host.Host, c config.Config) (err error) {
	if l.judge, err = JudgeOf(h, c); err == nil {
		l.Scorer.Judge = l.judge.Term(c)
		h.Opens(l.Scorer)
	}
	return err
}

// SayJudge tells what the judge cost.
func (l *Episodes) SayJudge(h *host.Host) { l.judge.Say(h) }

func (l *Episodes) Close() {
	l.judge.Close()
	l.Scorer.Program.Close()
	l.CloseModel()
	l.Set.Close()
}

// CloseModel leaves the servers alone.
func (l *Episodes) CloseModel() { l.Agent.Close() }

// Parity is Agent's, of tasks in the episodes' world.
func (l *Episodes) Parity(c config.Config, tasks []scenario.Scenario) (*recipe.Parity, error) {
	return l.Agent.Parity(l.World, c, tasks)
}

// Criteria tell success by the scenarios' own checks. learnt is what the policy was trained with, nil where that is not
// known.
func (l *Episodes) Criteria(byID map[string]*scenario.Scenario, learnt *stats.Learnt) stats.Criteria {
	known := job.KnownFacts(l.Catalog)
	known.Learnt = learnt
	return stats.ByChecks(byID, l.Scorer.Defaults, known)
}

// Verdicts says of a scored episode of a scenario whether it passed, and whether rules know that: its checks, or its
// gold calls.
func (l *Episodes) Verdicts(list []scenario.Scenario) func(*trajectory.Trajectory) (passed, known bool) {
	byID := scenario.ByID(list)
	criteria := l.Criteria(byID, nil)
	return func(t *trajectory.Trajectory) (passed, known bool) {
		s := byID[t.ScenarioID]
		if s == nil || len(s.Checks)+len(s.Gold) == 0 {
			return false, false
		}
		return criteria.Episode(t), true
	}
}

// Rows renders conversations as training rows, under the system message and the tools that an episode of the scenario
// is sampled under.
func (l *Episodes) Rows(list []scenario.Solved) ([]batch.Sequence, error) {
	var rows []batch.Sequence
	for _, of := range list {
		messages := of.Messages
		if l.World.System != "" && messages[0].Role != chat.System {
			messages = append([]chat.Message{{Role: chat.System, Content: l.World.System}}, messages...)
		}
		tools, err := l.World.ToolsOf(of.Scenario)
		if err != nil {
			return nil, fmt.Errorf("the tools of %s: %w", of.Scenario.ID, err)
		}
		rendered, err := l.Model.Renderer.Sequences(messages, 0, tools)
		if err != nil {
			return nil, fmt.Errorf("rendering a demonstration of %s: %w", of.Scenario.ID, err)
		}
		for _, s := range rendered {
			rows = append(rows, batch.Sequence{IDs: s.IDs, Trained: s.Trained})
		}
	}
	return rows, nil
}

// Sendable knows which calls sessions on the servers send.
func (l *Episodes) Sendable(c config.Config) *checktest.Sessions {
	tools := slices.Concat(l.Selection.List, l.Catalog.Tools()) // a search of tools is called, too
	if c.Rollout.CompleteTask {
		tools = environment.WithCompleteTask(tools)
	}
	return checktest.NewSessions(tools, l.Scorer.Defaults)
}

// NoteUnsendable tells of scenarios whose calls no session makes, where they are measured: each counts as failed.
func (l *Episodes) NoteUnsendable(h *host.Host, c config.Config, list []scenario.Scenario) {
	n, first, sessions := 0, "", l.Sendable(c)
	for i := range list {
		if found := sessions.Unsendable(&list[i]); len(found) > 0 {
			if n++; n == 1 {
				first = list[i].ID + ": " + found[0]
			}
		}
	}
	if n > 0 {
		h.Say("note: %s cannot be done on these servers, and will count as failed, the first %s; "+
			"hone scenarios validate names all", fault.Count(n, "scenario"), first)
	}
}
