package demo

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"hone/internal/chat"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
)

// Size is how many scenarios of each split are made. Held is the split evaluated on: test, unless it says validation,
// on which settings are chosen. ShownKinds is how many kinds of task the demonstrations are of, drawn by the seed; 0 is
// all of them.
type Size struct {
	Demonstrations, Train, Test int
	// what a stage measures itself on; where Held is validation, the first of Test
	Validation int `json:",omitempty"`
	Held       string
	ShownKinds int `json:",omitempty"`
	// Few is of few kinds, which need few tools and one call each, so that a model learns them in minutes. No learning
	// figure was measured on them.
	Few bool `json:",omitempty"`
	// File is whose scenarios are taken in the place of the demo's; then Train and Test are 0, and of ShownKinds tools
	// there are demonstrations.
	File string `json:",omitempty"`
}

// Full is the size that the learning figures of a CPU were measured with.
func Full() Size { return Size{Demonstrations: 300, Train: 600, Test: 160} }

// String says it.
func (s Size) String() string {
	of := ""
	switch {
	case s.File != "" && s.ShownKinds > 0:
		of = fmt.Sprintf(" of %d tools", s.ShownKinds)
	case s.Few:
		of = fmt.Sprintf(" of %d kinds", len(kindsOf(true)))
	case s.ShownKinds > 0:
		of = fmt.Sprintf(" of %d kinds", s.ShownKinds)
	}
	if s.File != "" {
		return fmt.Sprintf("%d demonstrations%s, scenarios of %s, held out: %s",
			s.Demonstrations, of, s.File, s.EvalSplit())
	}
	return fmt.Sprintf("%d demonstrations%s, %d training and %d %s scenarios",
		s.Demonstrations, of, s.Train, s.Test, s.EvalSplit())
}

// EvalSplit is the split evaluated on.
func (s Size) EvalSplit() string {
	if s.Held == "" {
		return scenario.Test
	}
	return s.Held
}

// Tasks are executed scenarios, and for SFT those that an agent did.
type Tasks struct {
	Size           Size // what was asked for
	Demonstrations []scenario.Solved
	Train, Test    []scenario.Scenario
	Validation     []scenario.Scenario
	Solutions      []scenario.Solved // of Train
}

// Execute executes the drafts of all splits on a live server. dropped is told of each that fails there.
func Execute(
	ctx context.Context, seed uint64, size Size, call func(context.Context, chat.ToolCall) trajectory.ToolResult,
	dropped func(task string, err error),
) (Tasks, error) {
	t := Tasks{Size: size}
	shown := drawKinds(seed, size.ShownKinds)
	execute := func(drafts []Draft, keep func(scenario.Scenario, []chat.Message)) error {
		for _, draft := range drafts {
			if shown != nil {
				draft.Tags = append(draft.Tags, tagOf(shown[draft.Kind]))
			}
			s, messages, err := draft.Execute(ctx, call)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				dropped(draft.Task, err)
				continue
			}
			keep(s, messages)
		}
		return nil
	}
	if err := execute(trainDrafts(seed, size, shown), func(s scenario.Scenario, m []chat.Message) {
		if len(t.Demonstrations) < size.Demonstrations && !slices.Contains(s.Tags, UnshownKind) {
			t.Demonstrations = append(t.Demonstrations, scenario.Solved{Scenario: s, Messages: m})
		} else {
			t.Train, t.Solutions = append(t.Train, s), append(t.Solutions, scenario.Solved{Scenario: s, Messages: m})
		}
	}); err != nil {
		return t, err
	}
	if err := execute(generate(kindsOf(size.Few), seed, size.EvalSplit(), size.Test),
		func(s scenario.Scenario, _ []chat.Message) { t.Test = append(t.Test, s) }); err != nil {
		return t, err
	}
	if size.EvalSplit() == scenario.Validation {
		t.Validation = t.Test[:min(size.Validation, len(t.Test))]
		return t, nil
	}
	return t, execute(generate(kindsOf(size.Few), seed, scenario.Validation, size.Validation),
		func(s scenario.Scenario, _ []chat.Message) { t.Validation = append(t.Validation, s) })
}

// drawKinds are n kinds drawn by the seed, or nil for all.
func drawKinds(seed uint64, n int) map[string]bool {
	if n <= 0 {
		return nil
	}
	all, shown := all(), map[string]bool{}
	for _, i := range rand.New(rand.NewPCG(seed, streamOf("shown kinds"))).Perm(len(all))[:min(n, len(all))] {
		shown[all[i].Name] = true
	}
	return shown
}

func tagOf(shown bool) string {
	if shown {
		return ShownKind
	}
	return UnshownKind
}

// trainDrafts are those of demonstrations, of shown kinds alone, and behind them those of training scenarios, of all
// kinds.
func trainDrafts(seed uint64, size Size, shown map[string]bool) []Draft {
	if shown == nil {
		return generate(kindsOf(size.Few), seed, scenario.Train, size.Demonstrations+size.Train)
	}
	// Kinds come in rounds of all of them, so this many rounds hold enough of the shown ones.
	rounds := (size.Demonstrations + len(shown) - 1) / len(shown)
	drawn := Generate(seed, scenario.Train, rounds*len(all())+size.Train)
	drafts := make([]Draft, 0, len(drawn))
	for i, d := range drawn {
		if len(drafts) == size.Demonstrations {
			return append(drafts, drawn[i:min(i+size.Train, len(drawn))]...)
		}
		if shown[d.Kind] {
			drafts = append(drafts, d)
		}
	}
	return drafts
}
