package llm

import (
	"context"
	"errors"
	"fmt"
	"time"

	"hone/internal/chat"
	"hone/internal/episode/rollout"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
)

// Chatter is the part of a Client that an episode needs.
type Chatter interface {
	Chat(ctx context.Context, r Request) (Response, error)
}

// Limits of one collected episode. Zero fields take the defaults.
type Limits struct {
	MaxTurns     int // completions; 0: 16
	MaxTokens    int // completion tokens over the episode; 0: no limit
	MaxToolCalls int // over the episode; 0: no limit
}

// Episode is what Collect runs.
type Episode struct {
	ID         string // of the trajectory, unique in the run
	ScenarioID string
	Rollout    int

	Model       string
	Temperature float64
	Seed        uint64 // of the first turn; turn k asks with Seed+k
	System      string // may be empty
	Task        string
	Tools       []chat.Tool
	Limits      Limits

	// Approve decides each call before it is sent; why names the rule or person, and reaches the model on denial.
	// Required: that calls need no approval is for the caller to say.
	Approve func(chat.ToolCall) (allow bool, why string)
}

// Collect runs one episode with an endpoint as its policy and records it, messages only: the turns hold no token ids,
// so it can be curated and turned into SFT rows but not be trained on as sampled. The trajectory is always returned
// and says by its outcome how the episode ended. The error is for what must stop the run too: a spent budget, a
// refused key, an endpoint that is gone, a cancelled ctx. The caller opens and closes the session.
func Collect(ctx context.Context, client Chatter, session rollout.Session, e Episode) (*trajectory.Trajectory, error) {
	t := &trajectory.Trajectory{ID: e.ID, ScenarioID: e.ScenarioID, Rollout: e.Rollout, Temperature: e.Temperature, Tools: e.Tools}
	if e.Approve == nil {
		err := &fault.Error{Code: fault.CodeUsage, What: "cannot collect", Why: "nothing says which calls are allowed", Next: "give an approval policy"}
		t.Outcome, t.StopReason, t.Error = trajectory.InfrastructureError, trajectory.StopError, err.Why
		return t, err
	}
	if e.Limits.MaxTurns == 0 {
		e.Limits.MaxTurns = 16
	}
	if e.System != "" {
		t.Messages = append(t.Messages, chat.Message{Role: chat.System, Content: e.System})
	}
	t.Messages = append(t.Messages, chat.Message{Role: chat.User, Content: e.Task})
	start := time.Now()
	err := (&collector{client: client, session: session, Episode: e, t: t, used: map[string]bool{}}).run(ctx)
	t.Seconds = time.Since(start).Seconds()
	return t, err
}

type collector struct {
	Episode
	client  Chatter
	session rollout.Session
	t       *trajectory.Trajectory

	used                map[string]bool // ids of calls
	numTokens, numCalls int
}

func (c *collector) run(ctx context.Context) error {
	for turn := 0; ; turn++ {
		if turn == c.Limits.MaxTurns {
			c.limit(trajectory.StopMaxTurns)
			return nil
		}
		done, err := c.turn(ctx, turn)
		if done || err != nil {
			return err
		}
	}
}

// turn asks for one completion and runs its calls.
func (c *collector) turn(ctx context.Context, turn int) (done bool, err error) {
	request := Request{Model: c.Model, Messages: c.t.Messages, Tools: c.Tools, Temperature: c.Temperature}
	if s, ok := c.session.(interface{ Offered() []chat.Tool }); ok { // tools that a search found; the record keeps those of the beginning
		request.Tools = s.Offered()
	}
	if c.Seed != 0 {
		request.Seed = c.Seed + uint64(turn)
	}
	if c.Limits.MaxTokens > 0 {
		request.MaxTokens = c.Limits.MaxTokens - c.numTokens
	}
	start := time.Now()
	resp, err := c.client.Chat(ctx, request)
	if err != nil {
		return true, c.chatFailed(ctx, err)
	}
	m := resp.Message
	for i := range m.ToolCalls {
		if id := m.ToolCalls[i].ID; id == "" || c.used[id] { // some endpoints leave it out, or count from 0 in each completion
			m.ToolCalls[i].ID = fmt.Sprintf("call_%d_%d", turn, i)
		}
		c.used[m.ToolCalls[i].ID] = true
	}
	c.numTokens += resp.Usage.CompletionTokens
	c.t.Messages = append(c.t.Messages, m)
	c.t.Turns = append(c.t.Turns, trajectory.Turn{Content: m.Content, Calls: m.ToolCalls, SampleSeconds: time.Since(start).Seconds()})
	switch {
	case resp.FinishReason == "length", c.Limits.MaxTokens > 0 && c.numTokens >= c.Limits.MaxTokens && len(m.ToolCalls) > 0:
		c.limit(trajectory.StopMaxTokens)
		return true, nil
	case len(m.ToolCalls) == 0:
		c.t.Outcome, c.t.StopReason = trajectory.OK, trajectory.StopCompleted
		return true, nil
	case c.Limits.MaxToolCalls > 0 && c.numCalls+len(m.ToolCalls) > c.Limits.MaxToolCalls:
		c.limit(trajectory.StopMaxToolCalls)
		return true, nil
	}
	return c.calls(ctx, m.ToolCalls)
}

// calls asks for approval, sends what is allowed, and answers the model in call order.
func (c *collector) calls(ctx context.Context, calls []chat.ToolCall) (done bool, err error) {
	results := make([]trajectory.ToolResult, len(calls))
	var allowed []chat.ToolCall
	var places []int
	for i, call := range calls {
		allow, why := c.Approve(call)
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
	if ctx.Err() != nil { // before the statuses: a cancelled call looks like a failed one
		return true, c.stopped(ctx)
	}
	for _, r := range results {
		if outcome := rollout.CallOutcome(r); outcome != "" {
			c.t.Outcome, c.t.StopReason, c.t.Error = outcome, trajectory.StopError, r.Error
			if r.Status == trajectory.CallTimeout {
				c.t.StopReason = trajectory.StopTimeout
			}
			return true, nil
		}
	}
	return false, nil
}

// limit ends the episode at a limit. One that made calls, none of them valid, is the policy's error.
func (c *collector) limit(why trajectory.StopReason) {
	c.t.Outcome, c.t.StopReason = trajectory.Limit, why
	results := c.t.Calls()
	for _, r := range results {
		if r.Status != trajectory.CallInvalid {
			return
		}
	}
	if len(results) > 0 {
		c.t.Outcome = trajectory.PolicyError
	}
}

func (c *collector) chatFailed(ctx context.Context, err error) error {
	var status *StatusError
	if errors.As(err, &status) && status.Code == "context_length_exceeded" {
		c.limit(trajectory.StopContextOverflow)
		return nil
	}
	if ctx.Err() != nil {
		return c.stopped(ctx)
	}
	c.t.Outcome, c.t.StopReason, c.t.Error = trajectory.InfrastructureError, trajectory.StopError, err.Error()
	return err
}

// stopped ends the episode by its context: its own time ran out, which is a limit, or someone cancelled it.
func (c *collector) stopped(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		c.limit(trajectory.StopTimeout)
		return nil
	}
	c.t.Outcome, c.t.StopReason, c.t.Error = trajectory.InfrastructureError, trajectory.StopCancelled, ctx.Err().Error()
	return ctx.Err()
}
