package llm

import (
	"context"
	"errors"
	"fmt"
	"time"

	"hone/internal/chat"
	"hone/internal/episode/rollout"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/episode/world"
	"hone/internal/fault"
)

// Chatter is the part of a Client that an episode needs.
type Chatter interface {
	Chat(ctx context.Context, r Request) (Response, error)
}

// Limits of one collected episode, in the words of rollout.Options. Zero fields take the defaults.
type Limits struct {
	MaxTurns     int           // completions; 0: 16
	MaxTokens    int           // of one completion; 0: the endpoint's own
	MaxToolCalls int           // over the episode; 0: no limit
	MaxWork      time.Duration // working time of the tools over the episode, see rollout.Worked; 0: no limit
}

// Episode is what Collect runs.
type Episode struct {
	ID         string // of the trajectory, unique in the run
	ScenarioID string
	Split      string // of the scenario, with its hash, for the record
	Scenario   string
	Rollout    int

	Model       string
	Temperature float64
	Seed        uint64 // of the first turn; turn k asks with Seed+k
	System      string // may be empty
	Task        string
	Tools       []chat.Tool
	Setup       []chat.ToolCall  // made on the session first, unasked; the model does not see them
	Checks      []scenario.Check // what they look at is recorded
	Programs    []string         // environment of the programs that checks name; nil where none may run
	Limits      Limits

	// Approve decides each call before it is sent; why names the rule or person, and reaches the model on denial.
	// nth is the call's number in the episode, from 1. Required: that calls need no approval is for the caller to say.
	Approve func(call chat.ToolCall, nth int) (allow bool, why string)
}

// Collect runs one episode with an endpoint as its policy and records it, messages only: the turns hold no token ids,
// so it can be curated and turned into SFT rows but not be trained on as sampled. The trajectory is always returned
// and says by its outcome how the episode ended, by package rollout's rules. The error is for what must stop the run too: a spent budget, a
// refused key, an endpoint that is gone, a cancelled ctx. The caller opens and closes the session.
func Collect(ctx context.Context, client Chatter, session rollout.Session, e Episode) (*trajectory.Trajectory, error) {
	t := &trajectory.Trajectory{ID: e.ID, ScenarioID: e.ScenarioID, Split: e.Split, Scenario: e.Scenario, Rollout: e.Rollout, Temperature: e.Temperature, Tools: e.Tools}
	if e.Approve == nil {
		err := &fault.Error{Code: fault.CodeUsage, What: "cannot collect", Why: "nothing says which calls are allowed", Next: "give an approval policy"}
		t.Outcome, t.StopReason, t.Error = trajectory.InfrastructureError, trajectory.StopError, err.Why
		return t, err
	}
	if e.Limits.MaxTurns == 0 {
		e.Limits.MaxTurns = 16
	}
	t.Messages = rollout.Opening(e.System, e.Task)
	start := time.Now()
	defer func() { t.Seconds = time.Since(start).Seconds() }()
	err := (&collector{client: client, session: session, Episode: e, t: t, used: map[string]bool{}}).run(ctx)
	if ctx.Err() != nil && t.Outcome != trajectory.OK { // whatever the cancelled endpoint or server reported
		t.Outcome, t.StopReason, t.Error = rollout.Interrupted(ctx)
		err = ctx.Err()
	}
	return t, err
}

type collector struct {
	Episode
	client  Chatter
	session rollout.Session
	t       *trajectory.Trajectory

	used     map[string]bool // ids of calls
	numCalls int
	worked   time.Duration
}

func (c *collector) run(ctx context.Context) error {
	if outcome, why := rollout.SetUp(ctx, c.session, c.Setup); outcome != "" {
		c.t.Outcome, c.t.StopReason, c.t.Error = outcome, trajectory.StopError, why
		return nil
	}
	watch, lost := world.Open(ctx, c.session, c.Checks, c.Programs)
	for turn := 0; lost == nil; turn++ {
		if turn == c.Limits.MaxTurns {
			c.limit(trajectory.StopMaxTurns)
			lost = watch.End(ctx, c.t)
			break
		}
		done, err := c.turn(ctx, turn)
		if err != nil {
			return err
		}
		if done {
			lost = watch.End(ctx, c.t)
			break
		}
		lost = watch.AfterTurn(ctx, c.t)
	}
	if lost != nil {
		c.t.Outcome, c.t.StopReason, c.t.Error = lost.Outcome, lost.Reason, lost.Why
	}
	return nil
}

// turn asks for one completion and runs its calls.
func (c *collector) turn(ctx context.Context, turn int) (done bool, err error) {
	request := Request{Model: c.Model, Messages: c.t.Messages, Tools: c.Tools, Temperature: c.Temperature, MaxTokens: c.Limits.MaxTokens}
	if s, ok := c.session.(interface{ Offered() []chat.Tool }); ok { // tools that a search found; the record keeps those of the beginning
		request.Tools = s.Offered()
	}
	if c.Seed != 0 {
		request.Seed = c.Seed + uint64(turn)
	}
	start := time.Now()
	resp, err := c.client.Chat(ctx, request)
	if err != nil {
		return true, c.chatFailed(err)
	}
	m := resp.Message
	for i := range m.ToolCalls {
		if id := m.ToolCalls[i].ID; id == "" || c.used[id] { // some endpoints leave it out, or count from 0 in each completion
			m.ToolCalls[i].ID = fmt.Sprintf("call_%d_%d", turn, i)
		}
		c.used[m.ToolCalls[i].ID] = true
	}
	c.t.Messages = append(c.t.Messages, m)
	c.t.Turns = append(c.t.Turns, trajectory.Turn{ReasoningContent: m.ReasoningContent, Content: m.Content, Calls: m.ToolCalls, SampleSeconds: time.Since(start).Seconds()})
	switch {
	case resp.FinishReason == "length":
		c.limit(trajectory.StopMaxTokens)
		return true, nil
	case len(m.ToolCalls) == 0:
		c.t.Outcome, c.t.StopReason = trajectory.OK, trajectory.StopCompleted
		return true, nil
	case c.Limits.MaxToolCalls > 0 && c.numCalls+len(m.ToolCalls) > c.Limits.MaxToolCalls:
		c.limit(trajectory.StopMaxToolCalls)
		return true, nil
	}
	return c.calls(ctx, m.ToolCalls), nil
}

// calls asks for approval, sends what is allowed, and answers the model in call order.
func (c *collector) calls(ctx context.Context, calls []chat.ToolCall) (done bool) {
	results := make([]trajectory.ToolResult, len(calls))
	var allowed []chat.ToolCall
	var places []int
	for i, call := range calls {
		allow, why := c.Approve(call, c.numCalls+i+1)
		results[i] = trajectory.ToolResult{Call: call, Status: trajectory.CallDenied, Approval: why, Error: why,
			Text: "The call was denied: " + why}
		if allow {
			allowed, places = append(allowed, call), append(places, i)
		}
	}
	if len(allowed) > 0 {
		for k, r := range c.session.Call(ctx, allowed) {
			r.Approval = results[places[k]].Approval
			results[places[k]] = r
		}
	}
	c.numCalls += len(calls)
	c.t.Turns[len(c.t.Turns)-1].Results = results
	for i, r := range results {
		c.t.Messages = append(c.t.Messages, chat.Message{Role: chat.ToolRole, ToolCallID: calls[i].ID, Name: calls[i].Name, Content: r.Text})
	}
	if outcome, reason, why := rollout.LostCall(results); outcome != "" {
		c.t.Outcome, c.t.StopReason, c.t.Error = outcome, reason, why
		return true
	}
	if c.worked += rollout.Worked(results); c.Limits.MaxWork > 0 && c.worked > c.Limits.MaxWork {
		c.limit(trajectory.StopMaxWork)
		return true
	}
	return false
}

func (c *collector) limit(why trajectory.StopReason) {
	c.t.Outcome, c.t.StopReason = rollout.LimitOutcome(c.t), why
}

func (c *collector) chatFailed(err error) error {
	var status *StatusError
	if errors.As(err, &status) && status.Code == "context_length_exceeded" {
		c.limit(trajectory.StopContextOverflow)
		return nil
	}
	c.t.Outcome, c.t.StopReason, c.t.Error = trajectory.InfrastructureError, trajectory.StopError, err.Error()
	return err
}
