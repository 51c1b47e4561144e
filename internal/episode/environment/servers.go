package environment

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"hone/internal/chat"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
)

// Options of Servers. Only Tools is required; of the limits 0 means the default in brackets.
type Options struct {
	Tools Tools

	System       string      // system message; empty for none
	ToolList     []chat.Tool // the tools shown to the model
	MaxTurns     int         // completions of one episode [16]
	MaxToolCalls int         // calls of one episode [32]
	// messages with a malformed call that are answered by what is wrong with them; the next ends the episode
	MaxMalformed int
	CompleteTask bool   // whether calls of CompleteTask end an episode; ToolList and ToolsOf have it then
	CallExample  string // a call as the model writes it, for these answers; "" where that is not known
	// working time of the tools in one episode: of each turn its longest call; 0 for no limit
	MaxWork  time.Duration
	Hang     time.Duration // after which, by the clock, a turn's calls are taken to hang; 0 for never
	Programs []string      // environment of the programs that checks name; nil where none may run
	User     User          // plays the users of scenarios that have one; nil where none has

	// ToolsOf chooses the tools shown in a scenario's episodes, where one list for all would be too long. It must give
	// a scenario the same each time. Without it ToolList is shown.
	ToolsOf func(s scenario.Scenario) ([]chat.Tool, error)
}

// Servers is the environment of MCP servers: each episode has a session of its own on them. It may be used from many
// goroutines.
type Servers struct{ o Options }

// New returns the environment of some servers.
func New(o Options) *Servers {
	if o.MaxTurns == 0 {
		o.MaxTurns = 16
	}
	if o.MaxToolCalls == 0 {
		o.MaxToolCalls = 32
	}
	return &Servers{o}
}

// Open implements Environment.
func (v *Servers) Open(ctx context.Context, s scenario.Scenario, t *trajectory.Trajectory) (Episode, *End) {
	var err error
	t.Messages, t.Tools, err = v.Shows(s)
	t.Opening = len(t.Messages)
	e, end := v.open(ctx, s, t, err)
	if end != nil {
		end.Note(t)
		return nil, end
	}
	return e, nil
}

// Shows returns what the policy is shown when an episode of a scenario begins. Without an error it depends on nothing
// else.
func (v *Servers) Shows(s scenario.Scenario) (messages []chat.Message, tools []chat.Tool, err error) {
	tools = v.o.ToolList
	if v.o.ToolsOf != nil {
		tools, err = v.o.ToolsOf(s)
	}
	return Opening(v.o.System, s), tools, err
}

// open opens an episode whose opening is written, unless shown says why not.
func (v *Servers) open(
	ctx context.Context, s scenario.Scenario, t *trajectory.Trajectory, shown error,
) (*episode, *End) {
	if err := cmp.Or(ctx.Err(), shown); err != nil {
		return nil, &End{Outcome: trajectory.InfrastructureError, Reason: trajectory.StopError, Why: err.Error()}
	}
	session, err := v.o.Tools.Open(ctx, t.ID, TemplatesOf(s.Template)...)
	if err != nil {
		return nil, &End{Outcome: openOutcome(err), Reason: trajectory.StopError, Why: err.Error(), Again: true}
	}
	e := &episode{o: v.o, t: t, session: session}
	end := setUp(ctx, session, s.SetupCalls())
	if end == nil {
		var lost *Lost
		e.watch, lost = OpenWatch(ctx, session, s.Checks, v.o.Programs)
		end = unseen(lost)
	}
	if end == nil {
		if end = e.meet(ctx, s); end != nil && end.Outcome == trajectory.OK {
			end = e.finish(ctx, end)
		}
	}
	if end != nil {
		_ = session.Close() // the episode is over, whatever its servers say to that
		return nil, end
	}
	return e, nil
}

// episode is one on MCP servers.
type episode struct {
	o        Options
	t        *trajectory.Trajectory
	session  Session
	watch    *Watch
	numCalls int
	told     []int // places of the messages that answer a malformed one, which stands before
	worked   time.Duration
	conversation
}

// Close implements Episode.
func (e *episode) Close() error { return e.session.Close() }

// Tools implements Episode.
func (e *episode) Tools() []chat.Tool {
	s, ok := e.session.(Offering)
	switch {
	case !ok:
		return e.t.Tools
	case e.o.CompleteTask:
		return WithCompleteTask(s.CallableTools())
	}
	return s.CallableTools()
}

// Take implements Episode.
func (e *episode) Take(ctx context.Context, r Reply) *End {
	end := e.answer(ctx, r)
	if end == nil {
		end = unseen(e.watch.AfterTurn(ctx, e.t))
	}
	switch {
	case end != nil:
	case len(e.t.Turns) < e.o.MaxTurns:
		return nil
	default:
		end = e.limit(trajectory.StopMaxTurns, "")
	}
	return e.finish(ctx, end)
}

// finish notes an end, and what the world looks like then, which may be another end.
func (e *episode) finish(ctx context.Context, end *End) *End {
	end.Note(e.t)
	if blind := unseen(e.watch.End(ctx, e.t)); blind != nil {
		blind.Note(e.t)
		return blind
	}
	return end
}

// answer writes the reply into the record and makes its calls. The end is nil where another turn may follow.
func (e *episode) answer(ctx context.Context, r Reply) *End {
	if r.Turn != nil {
		e.write(*r.Turn)
	}
	switch {
	case r.Crowded:
		return &End{Outcome: trajectory.InfrastructureError, Reason: r.Stop, Why: r.Why}
	case r.Stop != "":
		// Before the parse error: a call cut by the limit is unterminated because of the limit.
		return e.limit(r.Stop, r.Why)
	case r.Turn.ParseError != "":
		return e.answerBadCall()
	case len(r.Turn.Calls) == 0:
		return e.answerWords(ctx, r.Turn.Content)
	case e.numCalls+len(r.Turn.Calls) > e.o.MaxToolCalls:
		return e.limit(trajectory.StopMaxToolCalls, "")
	}
	return e.call(ctx, r.Turn.Calls)
}

// write adds a turn to the record. Calls without an id of their own get one, for results name calls by it: some
// endpoints give none, or count from 0 in each message.
func (e *episode) write(turn trajectory.Turn) {
	used := map[string]bool{}
	for _, m := range e.t.Messages {
		for _, c := range m.ToolCalls {
			used[c.ID] = true
		}
	}
	for i := range turn.Calls {
		id := turn.Calls[i].ID
		for n := e.numCalls + i; id == "" || used[id]; n++ {
			id = fmt.Sprintf("call_%d", n)
		}
		turn.Calls[i].ID, used[id] = id, true
	}
	e.t.Turns = append(e.t.Turns, turn)
	e.t.Messages = append(e.t.Messages, chat.Message{
		Role:             chat.Assistant,
		Content:          turn.Content,
		ReasoningContent: turn.ReasoningContent,
		ToolCalls:        turn.Calls,
		NoLoss:           turn.NoLoss,
	})
}

// limit is the end at one of the limits.
func (e *episode) limit(reason trajectory.StopReason, why string) *End {
	return &End{Outcome: limitOutcome(e.t), Reason: reason, Why: why}
}

// call makes the calls of the turn just written.
func (e *episode) call(ctx context.Context, calls []chat.ToolCall) *End {
	e.numCalls += len(calls)
	limited, cancel := ctx, context.CancelFunc(func() {})
	if e.o.Hang > 0 {
		limited, cancel = context.WithTimeout(ctx, e.o.Hang)
	}
	others, results := e.completes(calls)
	if len(others) > 0 {
		answered := e.session.Call(limited, others)
		for i := range results {
			if results[i].Status == "" {
				results[i], answered = answered[0], answered[1:]
			}
		}
	}
	hung := limited.Err() != nil
	cancel()
	e.t.Turns[len(e.t.Turns)-1].Results = results
	for _, r := range results {
		e.t.Messages = append(e.t.Messages,
			chat.Message{Role: chat.ToolRole, Content: r.Text, ToolCallID: r.Call.ID, Name: r.Call.Name})
	}
	end := endOfLostCall(results)
	if end != nil && hung {
		return &End{Outcome: trajectory.InfrastructureError, Reason: trajectory.StopTimeout,
			Why: fmt.Sprintf("the calls hang: they did not end within %s (%s)", e.o.Hang, end.Why), Again: true}
	}
	if e.worked += workingTime(results); end == nil && e.o.MaxWork > 0 && e.worked > e.o.MaxWork {
		return e.limit(trajectory.StopMaxWork, fmt.Sprintf("the tools worked for %s, of %s", e.worked, e.o.MaxWork))
	}
	switch {
	case end != nil:
	case e.endsOn(results), results[0].Ends && e.user != nil:
		return e.over(trajectory.EndedByTool)
	case results[0].Ends:
		return &End{Outcome: trajectory.OK, Reason: trajectory.StopCompleted}
	}
	return end
}

// unseen is the end where what a check looks at could not be seen; nil where it could.
func unseen(lost *Lost) *End {
	if lost == nil {
		return nil
	}
	return &End{Outcome: lost.Outcome, Reason: lost.Reason, Why: lost.Why, Again: lost.Again}
}
