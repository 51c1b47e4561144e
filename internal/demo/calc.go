package demo

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"sync"

	"hone/internal/chat"
	"hone/internal/data/kinds"
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

// Tools returns the names of the server's tools that the demo uses, all of them or those of few kinds of task; it
// has 21.
func Tools(few bool) []string {
	if few {
		return []string{"base64", "count", "math", "base", "color"}
	}
	return []string{"hash", "base64", "encode", "count", "math", "date", "base", "color"}
}

//go:embed kinds.yaml
var builtIn []byte

// all are the kinds of the demo's tasks: single calls, then chains.
var all = sync.OnceValue(func() []kinds.Kind {
	set, err := kinds.Parse("internal/demo/kinds.yaml", builtIn)
	if err != nil {
		panic(err) // a mistake in this package, which its tests show
	}
	return set.Kinds
})

// kindsOf are the kinds, all of them or few: those whose tools have the shortest descriptions, which stand in every
// prompt.
func kindsOf(few bool) []kinds.Kind {
	if !few {
		return all()
	}
	return slices.DeleteFunc(slices.Clone(all()), func(k kinds.Kind) bool {
		return !slices.Contains([]string{"base64 encode", "count characters", "count words", "math", "decimal to hex",
			"hex to rgb"}, k.Name)
	})
}

// Draft is a task whose calls have not been made yet.
type Draft struct {
	ID    string
	Kind  string // "crc32", "base64 encode", ...
	Task  string
	Split string
	Tags  []string

	kind   *kinds.Kind
	values kinds.Values
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

// maxDraws bounds how often a kind's values are drawn for one draft: about eleven times as many as the kind with the
// fewest has values.
const maxDraws = 100_000

// Generate returns n drafts of a split, every kind about equally often, no two of a kind with the same first call. The
// same seed and split give the same drafts, and the first of them whatever n is. They are fewer than n where a kind has
// no other first calls, which takes tens of thousands of drafts.
func Generate(seed uint64, split string, n int) []Draft { return generate(all(), seed, split, n) }

func generate(all []kinds.Kind, seed uint64, split string, n int) []Draft {
	r := rand.New(rand.NewPCG(seed, streamOf(split)))
	seen := map[string]bool{}
	var drafts []Draft
	var order []int
	for i := range n {
		if len(order) == 0 {
			order = r.Perm(len(all))
		}
		k := &all[order[0]]
		order = order[1:]
		v, ok := fresh(k, r, split, seen)
		if !ok {
			return drafts
		}
		// The coin is tossed in training too, so that the splits differ in nothing but its meaning.
		wordings, tag := k.Wordings, SeenWording
		if coin := r.IntN(2); coin == 1 && split != scenario.Train {
			wordings, tag = k.HeldOut, UnseenWording
		}
		tags := []string{"kind:" + k.Name, tag}
		if k.NumCalls() > 1 {
			tags = append(tags, "chain")
		}
		drafts = append(drafts, Draft{
			ID:     fmt.Sprintf("demo-%s-%05d", split, i),
			Kind:   k.Name,
			Task:   v.Fill(wordings[r.IntN(len(wordings))]),
			Split:  split,
			Tags:   tags,
			kind:   k,
			values: v,
		})
	}
	return drafts
}

// fresh draws values whose first call is of the split and not seen before; ok is false where there seem to be none.
func fresh(k *kinds.Kind, r *rand.Rand, split string, seen map[string]bool) (v kinds.Values, ok bool) {
	for range maxDraws {
		v = k.Draw(r)
		first, err := k.Call(0, v, "")
		if key := k.Name + first.Arguments; err == nil && splitOf(first) == split && !seen[key] {
			seen[key] = true
			return v, true
		}
	}
	return nil, false
}

// Execute makes the draft's calls through call, each built from the result before it, and returns the finished scenario
// and the conversation of an agent that did the same. Its error is the reason the draft is to be dropped.
func (d Draft) Execute(
	ctx context.Context, call func(context.Context, chat.ToolCall) trajectory.ToolResult,
) (scenario.Scenario, []chat.Message, error) {
	s := scenario.Scenario{ID: d.ID, Task: d.Task, Split: d.Split, Tags: d.Tags, Difficulty: "single"}
	if d.kind.NumCalls() > 1 {
		s.Difficulty = "chain"
	}
	messages := []chat.Message{{Role: chat.System, Content: System}, {Role: chat.User, Content: d.Task}}
	answer := ""
	var calls []chat.ToolCall
	for i := range d.kind.NumCalls() {
		c, err := d.kind.Call(i, d.values, answer)
		if err != nil {
			return s, nil, fmt.Errorf("call %d: %w", i, err)
		}
		c.ID = fmt.Sprintf("call_%d", i)
		result := call(ctx, c)
		if result.Status != trajectory.CallOK {
			return s, nil, fmt.Errorf("call %d (%s): %s: %s%s", i, c.Name, result.Status, result.Error, result.Text)
		}
		if answer, err = d.kind.Take(i, result.Text); err != nil {
			return s, nil, fmt.Errorf("call %d (%s): %w", i, c.Name, err)
		}
		calls = append(calls, c)
		s.Gold = append(s.Gold, scenario.Gold{Name: c.Name, Arguments: json.RawMessage(c.Arguments)})
		messages = append(messages, chat.Message{Role: chat.Assistant, ToolCalls: []chat.ToolCall{c}},
			chat.Message{Role: chat.ToolRole, Content: result.Text, ToolCallID: c.ID, Name: c.Name})
	}
	var err error
	if s.Checks, err = d.kind.Checks(d.values, calls, d.Task, answer); err != nil {
		return s, nil, err
	}
	return s, append(messages, chat.Message{Role: chat.Assistant, Content: answer}), s.Validate()
}
