// Package demo makes the scenarios of hone's demo: small tasks for the npm server @coo-quack/calc-mcp 2.1.1, worded by
// templates and answered by the live server.
//
// The first call of a task belongs to one split by its hash, so no first call of a test task is the first call of a
// training task, whatever the kinds of both. The second call of a chain is built from what the server answered to the
// first, so which split it would belong to is not known when the task is made: a training task may ask for it, as a
// first or a second call. What no training task asks for is the chain. Half of the test and validation scenarios also
// use wordings that training never sees.
package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"

	"hone/internal/chat"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
)

// Package is the npm server the scenarios are for.
const Package = "@coo-quack/calc-mcp@2.1.1"

// System is the system message of the demo. It stands in every prompt, so it is short.
const System = "Call a tool to get the result, then reply with the result only."

// Tags of a scenario's wording.
const (
	SeenWording   = "wording:seen"
	UnseenWording = "wording:unseen" // in no training scenario
)

// Tags that tell, where demonstrations are of some kinds only, whether a scenario's kind is one of them.
const (
	ShownKind   = "demonstrated:yes"
	UnshownKind = "demonstrated:no"
)

// Tools returns the names of the server's tools that the demo uses; it has 21, whose list alone is 14,000 tokens.
func Tools() []string {
	return []string{"hash", "base64", "encode", "count", "math", "date", "base", "color"}
}

// Draft is a task whose calls have not been made yet.
type Draft struct {
	ID    string
	Kind  string // "crc32", "base64 encode", ...
	Task  string
	Split string
	Tags  []string

	values values
	steps  []step
}

// streamOf gives each split its own random numbers, so that what the test split holds depends on nothing else drawn.
func streamOf(split string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte("demo/" + split)) // a hash does not fail
	return h.Sum64()
}

// splitOf says which split a call belongs to: one in eight to validation, one in eight to test.
func splitOf(c chat.ToolCall) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(c.Name + c.Arguments))
	switch h.Sum64() >> 32 % 8 { // the low bits of FNV are the weak ones
	case 0:
		return scenario.Validation
	case 1:
		return scenario.Test
	}
	return scenario.Train
}

// maxDraws bounds how often a kind's values are drawn for one draft: about eleven times as many as the kind with the fewest has values.
const maxDraws = 100_000

// Generate returns n drafts of a split, every kind about equally often, no two of a kind with the same first call. The same
// seed and split give the same drafts, and the first of them whatever n is. They are fewer than n where a kind has no
// other first calls, which takes tens of thousands of drafts.
func Generate(seed uint64, split string, n int) []Draft { return generate(kinds(), seed, split, n) }

func generate(all []kind, seed uint64, split string, n int) []Draft {
	r := rand.New(rand.NewPCG(seed, streamOf(split)))
	seen := map[string]bool{}
	var drafts []Draft
	var order []int
	for i := range n {
		if len(order) == 0 {
			order = r.Perm(len(all))
		}
		k := all[order[0]]
		order = order[1:]
		v, ok := k.fresh(r, split, seen)
		if !ok {
			return drafts
		}
		// The coin is tossed in training too, so that the splits differ in nothing but its meaning.
		wordings, tag := k.seen, SeenWording
		if coin := r.IntN(2); coin == 1 && split != scenario.Train {
			wordings, tag = k.unseen, UnseenWording
		}
		tags := []string{"kind:" + k.name, tag}
		if len(k.steps) > 1 {
			tags = append(tags, "chain")
		}
		drafts = append(drafts, Draft{
			ID:     fmt.Sprintf("demo-%s-%05d", split, i),
			Kind:   k.name,
			Task:   v.fill(wordings[r.IntN(len(wordings))]),
			Split:  split,
			Tags:   tags,
			values: v,
			steps:  k.steps,
		})
	}
	return drafts
}

// fresh draws values whose first call is of the split and not seen before; ok is false where there seem to be none.
func (k kind) fresh(r *rand.Rand, split string, seen map[string]bool) (v values, ok bool) {
	for range maxDraws {
		v = k.draw(r)
		first := k.steps[0].call(v, "")
		if key := k.name + first.Arguments; splitOf(first) == split && !seen[key] {
			seen[key] = true
			return v, true
		}
	}
	return nil, false
}

// Execute makes the draft's calls through call, each built from the result before it, and returns the finished scenario
// and the conversation of an agent that did the same. Its error is the reason the draft is to be dropped.
func (d Draft) Execute(ctx context.Context, call func(context.Context, chat.ToolCall) trajectory.ToolResult) (scenario.Scenario, []chat.Message, error) {
	s := scenario.Scenario{ID: d.ID, Task: d.Task, Split: d.Split, Tags: d.Tags, Difficulty: "single"}
	if len(d.steps) > 1 {
		s.Difficulty = "chain"
	}
	messages := []chat.Message{{Role: chat.System, Content: System}, {Role: chat.User, Content: d.Task}}
	answer := ""
	for i, step := range d.steps {
		c := step.call(d.values, answer)
		c.ID = fmt.Sprintf("call_%d", i)
		result := call(ctx, c)
		if result.Status != trajectory.CallOK {
			return s, nil, fmt.Errorf("call %d (%s): %s: %s%s", i, c.Name, result.Status, result.Error, result.Text)
		}
		var err error
		if answer, err = step.read(result.Text); err != nil {
			return s, nil, fmt.Errorf("call %d (%s): %w", i, c.Name, err)
		}
		arguments := json.RawMessage(c.Arguments)
		s.Gold = append(s.Gold, scenario.Gold{Name: c.Name, Arguments: arguments})
		s.Checks = append(s.Checks, scenario.Check{Type: scenario.CallCheck, Name: c.Name, Arguments: arguments})
		messages = append(messages, chat.Message{Role: chat.Assistant, ToolCalls: []chat.ToolCall{c}},
			chat.Message{Role: chat.ToolRole, Content: result.Text, ToolCallID: c.ID, Name: c.Name})
	}
	check, err := answerCheck(d.Task, answer)
	if err != nil {
		return s, nil, err
	}
	s.Checks = append(s.Checks, check)
	return s, append(messages, chat.Message{Role: chat.Assistant, Content: answer}), s.Validate()
}

// maxAnswer is what a small model can still copy, in bytes.
const maxAnswer = 48

// answerCheck wants the final message to be the answer and nothing else, text or number: where it had only to be in the
// message, naming all weekdays would do. It fails where the task holds the answer, for then repeating the task might do:
// as its last number where it is one, since "4" is in "14", else anywhere.
func answerCheck(task, answer string) (scenario.Check, error) {
	if answer == "" || len(answer) > maxAnswer || strings.ContainsAny(answer, "\n\r") {
		return scenario.Check{}, fmt.Errorf("the result %q is empty or too long to be an answer", answer)
	}
	held := scenario.Check{Type: scenario.AnswerCheck, Contains: &answer}
	var n float64
	// Leading zeros and the like mark a text of digits, not a number.
	if err := json.Unmarshal([]byte(answer), &n); err == nil && fmt.Sprint(n) == answer {
		held = scenario.Check{Type: scenario.AnswerCheck, Number: &n}
	}
	check := scenario.Check{Type: scenario.AnswerCheck, Equals: &answer}
	if held.Answer(task) {
		return check, fmt.Errorf("the task already holds its result %q", answer)
	}
	return check, nil
}
