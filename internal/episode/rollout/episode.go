package rollout

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"hone/internal/chat"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/episode/world"
	"hone/internal/policy"
)

// episode is one attempt at a scenario in progress.
type episode struct {
	o        Options
	scenario scenario.Scenario
	step     int
	slot     int
	prompt   []int32 // all ids so far
	numCalls int
	again    bool // what ended it may not end another attempt
	worked   time.Duration
	witness  *witness
	lostCall *chat.ToolCall // that the environment left without an answer, and when
	lostAt   int
	t        *trajectory.Trajectory
}

func (r *Runner) newEpisode(s scenario.Scenario, rollout, step, slot int) *episode {
	t := &trajectory.Trajectory{
		ID:          fmt.Sprintf("%s/%d/%d", s.ID, step, rollout),
		ScenarioID:  s.ID,
		Split:       s.Split,
		Scenario:    s.Hash(),
		Rollout:     rollout,
		Temperature: r.o.Temperature,
		Tools:       r.o.ToolList,
	}
	t.Messages = Opening(r.o.System, s.Task)
	return &episode{o: r.o, scenario: s, step: step, slot: slot, t: t}
}

// Opening is the conversation an episode begins with: the system message, where there is one, and the task.
func Opening(system, task string) []chat.Message {
	messages := []chat.Message{{Role: chat.User, Content: task}}
	if system != "" {
		messages = append([]chat.Message{{Role: chat.System, Content: system}}, messages...)
	}
	return messages
}

func (e *episode) end(outcome trajectory.Outcome, reason trajectory.StopReason, why string) {
	e.t.Outcome, e.t.StopReason, e.t.Error = outcome, reason, why
}

// run plays the episode to its end and sets Outcome, StopReason and Error exactly once.
func (e *episode) run(ctx context.Context) {
	began := time.Now()
	defer func() { e.t.Seconds = time.Since(began).Seconds() }()
	e.play(ctx)
	// Whatever a cancelled sampler or server reported, the cause is the cancellation.
	if ctx.Err() != nil && e.t.Outcome != trajectory.OK {
		e.end(Interrupted(ctx))
	}
}

func (e *episode) play(ctx context.Context) {
	if err := ctx.Err(); err != nil {
		e.end(trajectory.InfrastructureError, trajectory.StopCancelled, err.Error())
		return
	}
	if e.o.ToolsOf != nil {
		tools, err := e.o.ToolsOf(e.scenario)
		if err != nil {
			e.end(trajectory.InfrastructureError, trajectory.StopError, err.Error())
			return
		}
		e.t.Tools = tools
	}
	session, err := e.o.Tools.Open(ctx, e.t.ID, TemplatesOf(e.scenario.Template)...)
	if err != nil {
		e.lost(OpenOutcome(err), trajectory.StopError, err.Error())
		return
	}
	defer func() {
		if err := session.Close(); err != nil && e.t.Error == "" {
			e.t.Error = "closing the session: " + err.Error() // worth a note; the episode itself is whole
		}
	}()
	if outcome, why := SetUp(ctx, session, e.scenario.SetupCalls()); outcome != "" {
		e.lost(outcome, trajectory.StopError, why)
		return
	}
	watch, lost := world.Open(ctx, session, e.scenario.Checks, e.o.Programs)
	if lost == nil {
		if lost = e.converse(ctx, session, watch); lost == nil {
			lost = watch.End(ctx, e.t)
		}
	}
	if lost != nil {
		e.again = lost.Again
		e.end(lost.Outcome, lost.Reason, lost.Why)
	}
}

// converse takes the turns of an episode. It gives up where a check cannot look at what is there between two.
func (e *episode) converse(ctx context.Context, session Session, watch *world.Watch) *world.Lost {
	rewrite := ""
	bridge, err := e.o.Renderer.Prompt(e.t.Messages, e.t.Tools)
	for turn := 0; ; turn++ {
		if err != nil {
			e.end(trajectory.InfrastructureError, trajectory.StopError, "rendering: "+err.Error())
			return nil
		}
		if turn == e.o.MaxTurns {
			e.limit(trajectory.StopMaxTurns, "")
			return nil
		}
		if rewrite != "" {
			e.prompt = nil
		}
		numResults, more := e.turn(ctx, session, turn, bridge, rewrite)
		if !more {
			return nil
		}
		if lost := watch.AfterTurn(ctx, e.t); lost != nil {
			return lost
		}
		at := len(e.t.Messages) - numResults - 1
		bridge, rewrite, err = e.o.Renderer.Next(e.t.Messages, at, e.t.Turns[turn].CompletionIDs, e.t.Tools)
	}
}

// limit ends the episode at one of its limits.
func (e *episode) limit(reason trajectory.StopReason, why string) {
	e.end(LimitOutcome(e.t), reason, why)
}

// overflow ends the episode for want of context: its next prompt, of the messages so far, has numPrompt ids. Where it is the
// results of tools, or the task, that fill it, the policy is not to blame: there is too little room.
func (e *episode) overflow(results, numPrompt, maxContext int) {
	why := fmt.Sprintf("the context is full: %d of %d ids", numPrompt, maxContext)
	if !e.filled(results, numPrompt, maxContext) {
		e.limit(trajectory.StopContextOverflow, why)
		return
	}
	e.end(trajectory.InfrastructureError, trajectory.StopContextOverflow,
		fmt.Sprintf("%s, %d of them results of tools; raise model.context, or lower rollout.max_result or rollout.max_turns", why, results))
}

// filled reports whether the results of tools fill the context, without which there would be room for a completion; or what
// stands before the first one.
func (e *episode) filled(results, numPrompt, maxContext int) bool {
	if results > 0 {
		return numPrompt-results+e.o.MaxTokens <= maxContext
	}
	return len(e.t.Turns) == 0
}

// results is how many ids of a prompt are results of tools: those that it has beyond one in which the tools returned nothing,
// whatever the template rewrites.
func (e *episode) results(messages []chat.Message) int {
	empty := slices.Clone(messages)
	for i := range empty {
		if empty[i].Role == chat.ToolRole {
			empty[i].Content = ""
		}
	}
	whole, err := e.o.Renderer.Prompt(messages, e.t.Tools)
	if err != nil {
		return 0
	}
	without, err := e.o.Renderer.Prompt(empty, e.t.Tools)
	if err != nil {
		return 0
	}
	return max(0, len(whole)-len(without))
}

// lost ends the episode for a failure of the tools.
func (e *episode) lost(outcome trajectory.Outcome, reason trajectory.StopReason, why string) {
	e.again = true
	e.end(outcome, reason, why)
}

// turn samples one completion and runs its calls. It returns how many results there are to feed back; more is false where
// the episode ended.
func (e *episode) turn(ctx context.Context, session Session, turn int, bridge []int32, rewrite string) (numResults int, more bool) {
	e.prompt = append(e.prompt, bridge...)
	began := time.Now()
	c, err := e.o.Sampler.Sample(ctx, policy.Request{
		Prompt:   slices.Clone(e.prompt), // the sampler may keep it
		Slot:     e.slot,
		Sampling: policy.Sampling{Temperature: e.o.Temperature, MaxTokens: e.o.MaxTokens, StopIDs: e.o.Renderer.StopIDs()},
		Key:      policy.Key{Seed: e.o.Seed, Stream: streamOf(e.step, e.scenario.ID, e.t.Rollout, turn, e.t.Retries)},
	})
	var overflow *policy.ContextError
	switch {
	case errors.As(err, &overflow):
		// The bridge is dropped: a row must not end in ids nobody answered.
		e.overflow(e.results(e.t.Messages), overflow.NumPrompt, overflow.MaxContext)
		return 0, false
	case err != nil:
		e.end(trajectory.InfrastructureError, trajectory.StopError, "sampling: "+err.Error())
		return 0, false
	case len(c.IDs) == 0 || len(c.IDs) != len(c.SamplerLogprobs):
		e.end(trajectory.InfrastructureError, trajectory.StopError,
			fmt.Sprintf("sampling: %d ids with %d logprobs", len(c.IDs), len(c.SamplerLogprobs)))
		return 0, false
	}
	e.prompt = append(e.prompt, c.IDs...)
	m, parseError := e.o.Renderer.Parse(c.IDs)
	calls := m.ToolCalls
	for i := range calls {
		calls[i].ID = fmt.Sprintf("call_%d", e.numCalls+i)
	}
	e.t.Turns = append(e.t.Turns, trajectory.Turn{
		BridgeIDs: bridge, Rewrite: rewrite, CompletionIDs: c.IDs, SamplerLogprobs: c.SamplerLogprobs, PolicyVersion: c.PolicyVersion,
		ReasoningContent: m.ReasoningContent, Content: m.Content, Calls: calls, ParseError: parseError, SampleSeconds: time.Since(began).Seconds(),
	})
	e.t.Messages = append(e.t.Messages, m)

	cut := c.FinishReason == policy.FinishLength
	results := 0
	if cut && len(c.IDs) < e.o.MaxTokens { // by the context
		results = e.results(e.t.Messages[:len(e.t.Messages)-1])
	}
	switch {
	case results > 0 && e.filled(results, len(e.prompt)-len(c.IDs), len(e.prompt)):
		e.overflow(results, len(e.prompt)-len(c.IDs), len(e.prompt))
	case cut:
		// Before the parse error: a call cut by the limit is unterminated because of the limit.
		e.limit(trajectory.StopMaxTokens, parseError)
	case parseError != "":
		e.end(trajectory.PolicyError, trajectory.StopParseError, parseError)
	case len(calls) == 0:
		e.end(trajectory.OK, trajectory.StopCompleted, "")
	case e.numCalls+len(calls) > e.o.MaxToolCalls:
		e.limit(trajectory.StopMaxToolCalls, "")
	default:
		return e.call(ctx, session, calls)
	}
	return 0, false
}

// call runs the calls of the turn just sampled.
func (e *episode) call(ctx context.Context, session Session, calls []chat.ToolCall) (numResults int, more bool) {
	e.numCalls += len(calls)
	limited, cancel := ctx, context.CancelFunc(func() {})
	if e.o.Hang > 0 {
		limited, cancel = context.WithTimeout(ctx, e.o.Hang)
	}
	results := session.Call(limited, calls)
	hung := limited.Err() != nil
	cancel()
	e.t.Turns[len(e.t.Turns)-1].Results = results
	for _, r := range results {
		e.t.Messages = append(e.t.Messages, chat.Message{Role: chat.ToolRole, Content: r.Text, ToolCallID: r.Call.ID, Name: r.Call.Name})
	}
	now := e.witness.see(e.t.ID, results)
	outcome, reason, why := LostCall(results)
	switch {
	case outcome != "" && hung:
		e.lost(trajectory.InfrastructureError, trajectory.StopTimeout, fmt.Sprintf("the calls hang: they did not end within %s (%s)", e.o.Hang, why))
		return 0, false
	case outcome != "":
		e.lostCall, e.lostAt = lostCall(results), now
		e.lost(outcome, reason, why)
		return 0, false
	}
	if e.worked += Worked(results); e.o.MaxWork > 0 && e.worked > e.o.MaxWork {
		e.limit(trajectory.StopMaxWork, fmt.Sprintf("the tools worked for %s, of %s", e.worked, e.o.MaxWork))
		return 0, false
	}
	return len(results), true
}
