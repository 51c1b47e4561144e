package evallog

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hone/internal/chat"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/eval/stats"
)

// sampler makes a system's samples.
type sampler struct {
	run   Run
	model string
}

// sample lays out one episode, of which there is a row: where it is scored the one, where it is in no rate the other.
func (m sampler) sample(e stats.Example, row, lost *stats.Row) Sample {
	t := e.Trajectory
	s := Sample{ID: cmp.Or(t.ScenarioID, e.Name()), Epoch: t.Rollout + 1, Target: target(e.Scenario),
		Metadata: metadata(e, cmp.Or(row, lost)), Store: map[string]any{}, Messages: []Message{}, Input: []Message{},
		Output: Output{Model: m.model, Choices: []Choice{}}, TotalTime: t.Seconds, ModelUsage: map[string]Usage{},
		UUID: digest(m.run.Name, m.model, e.Name()), Attachments: map[string]string{}}
	opening := t.Opening
	if opening == 0 {
		opening = slices.IndexFunc(t.Messages, func(m chat.Message) bool { return m.Role == chat.Assistant })
	}
	if opening < 0 || opening > len(t.Messages) { // nothing was sampled
		opening = len(t.Messages)
	}
	d := dialogue{sampler: m, clock: clock{begun: m.run.Created, sample: s.UUID}, long: s.Attachments, sample: &s,
		turns: t.Turns, results: t.Calls(), stop: t.StopReason}
	for i, message := range t.Messages[:opening] {
		s.Messages = append(s.Messages, d.message(i, message, "input"))
	}
	for _, message := range s.Messages {
		if message.Role != chat.System { // which says how to work, and is the same in all samples
			s.Input = append(s.Input, message)
		}
	}
	d.add(InitEvent{d.event("sample_init"), Init{d.long.messages(s.Input), s.Target, s.ID}, map[string]any{}})
	for i, message := range t.Messages[opening:] {
		d.say(opening+i, message)
	}
	if usage := d.usage; usage.Total > 0 {
		s.ModelUsage[m.model] = usage
	}
	s.WorkingTime = d.worked
	d.end(e, lost)
	if row != nil {
		s.Scores = scores(e, row)
		for _, name := range sortedKeys(s.Scores) {
			d.add(ScoreEvent{Event: d.event("score"), Score: s.Scores[name], Target: s.Target})
		}
	}
	return s
}

// dialogue goes through the messages of an episode, with its turns and results beside them.
type dialogue struct {
	sampler
	clock
	long    attachments
	sample  *Sample
	turns   []trajectory.Turn
	results []trajectory.ToolResult
	stop    trajectory.StopReason
	prompt  int // tokens of the next turn's prompt, without its bridge
	usage   Usage
}

func (d *dialogue) add(event any) { d.sample.Events = append(d.sample.Events, event) }

// say adds one message of the episode, and the event that it came by.
func (d *dialogue) say(i int, m chat.Message) {
	out := d.message(i, m, "")
	switch m.Role {
	case chat.Assistant:
		out.Source, out.Model = "generate", d.model
		d.complete(out)
	case chat.ToolRole:
		d.answer(&out)
	}
	d.sample.Messages = append(d.sample.Messages, out)
}

// complete adds the completion that a message is.
func (d *dialogue) complete(m Message) {
	var turn trajectory.Turn
	if len(d.turns) > 0 {
		turn, d.turns = d.turns[0], d.turns[1:]
	}
	out := Output{Model: d.model, Choices: []Choice{{m, "stop"}}, Completion: textOf(m), Time: turn.SampleSeconds}
	switch {
	case len(m.Calls) > 0:
		out.Choices[0].StopReason = "tool_calls"
	case len(d.turns) > 0: // it goes on
	case d.stop == trajectory.StopMaxTokens:
		out.Choices[0].StopReason = "max_tokens"
	case d.stop == trajectory.StopContextOverflow:
		out.Choices[0].StopReason = "model_length"
	}
	out.Usage = d.count(turn)
	d.sample.Output = out
	event := ModelEvent{Event: d.event("model"), Model: d.model, Input: d.long.messages(d.sample.Messages),
		Tools: []any{}, ToolChoice: "auto", Config: map[string]any{}, Output: out, WorkingTime: turn.SampleSeconds}
	event.Output.Choices = []Choice{{d.long.message(m), out.Choices[0].StopReason}}
	d.worked += turn.SampleSeconds
	event.Completed = d.now()
	d.add(event)
}

// count is the tokens of a turn, nil where nothing counted them: what an endpoint says of it, else by its ids.
func (d *dialogue) count(turn trajectory.Turn) *Usage {
	if turn.Rewrite != "" {
		d.prompt = 0
	}
	d.prompt += len(turn.BridgeIDs)
	u := Usage{Input: d.prompt, Output: len(turn.CompletionIDs)}
	d.prompt += u.Output
	if turn.Usage != nil {
		u = Usage{Input: turn.Usage.PromptTokens, Output: turn.Usage.CompletionTokens}
	}
	if u.Total = u.Input + u.Output; u.Total == 0 {
		return nil
	}
	d.usage = Usage{d.usage.Input + u.Input, d.usage.Output + u.Output, d.usage.Total + u.Total}
	return &u
}

// answer adds the call that a tool's message answers.
func (d *dialogue) answer(m *Message) {
	var r trajectory.ToolResult
	if len(d.results) > 0 {
		r, d.results = d.results[0], d.results[1:]
	}
	m.Error = failure(r)
	c := call(r.Call, 0)
	event := ToolEvent{Event: d.event("tool"), Type: "function", ID: cmp.Or(m.ToolCallID, c.ID),
		Function: cmp.Or(m.Function, c.Function), Arguments: c.Arguments, Result: d.long.text(textOf(*m)),
		Error: m.Error, Events: []any{}, WorkingTime: r.Seconds, MessageID: m.ID}
	d.worked += r.Seconds
	event.Completed = d.now()
	d.add(event)
}

// end adds what ended the episode, where that was not the model.
func (d *dialogue) end(e stats.Example, lost *stats.Row) {
	t := e.Trajectory
	switch {
	case lost != nil || !t.Outcome.Trainable():
		outcome, why := t.Outcome, cmp.Or(t.Error, string(t.StopReason))
		if lost != nil && lost.Outcome != t.Outcome { // it ended well, and cannot be judged
			outcome, why = lost.Outcome, "no verdict of "+strings.Join(lost.ChecksFailedToRun, ", ")
		}
		why = fmt.Sprintf("%s: %s", outcome, why)
		d.sample.Error = &Error{why, why, why}
		d.add(ErrorEvent{d.event("error"), *d.sample.Error})
	case t.Outcome == trajectory.Limit:
		kind := limits[t.StopReason]
		d.sample.Limit = &Limit{Type: cmp.Or(kind, "custom")}
		if kind == "context" { // which an event cannot name
			kind = "token"
		}
		d.add(LimitEvent{Event: d.event("sample_limit"), Type: cmp.Or(kind, "custom"), Message: string(t.StopReason)})
	}
}

// limits are Inspect's names of what ended an episode.
var limits = map[trajectory.StopReason]string{
	trajectory.StopMaxTurns: "message", trajectory.StopMaxTokens: "token", trajectory.StopContextOverflow: "context",
	trajectory.StopMaxWork: "working", trajectory.StopTimeout: "time", trajectory.StopCancelled: "operator",
}

// failure is what Inspect calls a call that was not answered as asked, nil for one that was.
func failure(r trajectory.ToolResult) *CallError {
	kind := map[trajectory.CallStatus]string{
		trajectory.CallToolError: "unknown", trajectory.CallInvalid: "parsing", trajectory.CallDenied: "approval",
		trajectory.CallTimeout: "timeout", trajectory.CallTransportError: "unknown",
	}[r.Status]
	if kind == "" {
		return nil
	}
	return &CallError{kind, cmp.Or(r.Error, r.Text, string(r.Status))}
}

// message is one of the conversation.
func (d *dialogue) message(i int, m chat.Message, source string) Message {
	out := Message{ID: digest(d.sample.UUID, "message", strconv.Itoa(i)), Role: m.Role, Content: m.Content,
		Source: source}
	if m.ReasoningContent != "" {
		parts := []Part{{Type: "reasoning", Reasoning: m.ReasoningContent}}
		if m.Content != "" {
			parts = append(parts, Part{Type: "text", Text: m.Content})
		}
		out.Content = parts
	}
	for k, c := range m.ToolCalls {
		out.Calls = append(out.Calls, call(c, k))
	}
	if m.Role == chat.ToolRole {
		out.ToolCallID, out.Function = m.ToolCallID, m.Name
	}
	return out
}

func call(c chat.ToolCall, k int) Call {
	out := Call{ID: cmp.Or(c.ID, fmt.Sprint("call_", k)), Function: c.Name, Arguments: json.RawMessage(c.Arguments),
		Type: "function"}
	var object map[string]json.RawMessage
	if json.Unmarshal(out.Arguments, &object) != nil || object == nil {
		out.Arguments, out.ParseError = json.RawMessage("{}"), "the arguments are no JSON object: "+c.Arguments
	}
	return out
}

func textOf(m Message) string {
	switch content := m.Content.(type) {
	case string:
		return content
	case []Part:
		return content[len(content)-1].Text
	}
	return ""
}

// target is what a good episode does, as far as its scenario says: the gold calls, then the gold answer.
func target(s *scenario.Scenario) string {
	if s == nil {
		return ""
	}
	var lines []string
	for _, g := range s.Gold {
		lines = append(lines, g.Name+" "+string(g.Arguments))
	}
	if s.GoldAnswer != "" {
		lines = append(lines, s.GoldAnswer)
	}
	return strings.Join(lines, "\n")
}

// metadata is what hone knows of an episode that Inspect has no field for.
func metadata(e stats.Example, row *stats.Row) map[string]any {
	t := e.Trajectory
	out := map[string]any{"episode": e.Name(), "outcome": t.Outcome, "stop_reason": t.StopReason}
	if t.Split != "" {
		out["split"] = t.Split
	}
	if s := e.Scenario; s != nil && len(s.Tags) > 0 {
		out["tags"] = s.Tags
	}
	if s := e.Scenario; s != nil && s.Difficulty != "" {
		out["difficulty"] = s.Difficulty
	}
	if len(t.Stderr) > 0 {
		out["stderr"] = t.Stderr
	}
	if len(t.Seen) > 0 {
		out["seen_by_checks"] = t.Seen
	}
	if row != nil {
		out["row"] = row
	}
	return out
}
