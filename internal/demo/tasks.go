package demo

import (
	"context"
	"fmt"

	"hone/internal/chat"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
)

// Size is how many scenarios of each split are made. Held is the split evaluated on: test, unless it says validation, on which
// settings are chosen.
type Size struct {
	Demonstrations, Train, Test int
	Held                        string
}

// SizeOf is what a machine has time for.
func SizeOf(pureGo bool) Size {
	if pureGo {
		return Size{Demonstrations: 16, Train: 8, Test: 8}
	}
	return Size{Demonstrations: 300, Train: 600, Test: 160}
}

// String says it.
func (s Size) String() string {
	return fmt.Sprintf("%d demonstrations, %d training and %d %s scenarios", s.Demonstrations, s.Train, s.Test, s.HeldOut())
}

// HeldOut is the split evaluated on.
func (s Size) HeldOut() string {
	if s.Held == "" {
		return scenario.Test
	}
	return s.Held
}

// Tasks are executed scenarios, and for SFT the conversations of an agent that did them.
type Tasks struct {
	Size           Size // what was asked for
	Demonstrations [][]chat.Message
	Train, Test    []scenario.Scenario
	Solutions      [][]chat.Message // of Train
}

// Execute executes the drafts of all splits on a live server. dropped is told of each that fails there.
func Execute(ctx context.Context, seed uint64, size Size, call func(context.Context, chat.ToolCall) trajectory.ToolResult, dropped func(task string, err error)) (Tasks, error) {
	t := Tasks{Size: size}
	execute := func(split string, n int, keep func(scenario.Scenario, []chat.Message)) error {
		for _, draft := range Generate(seed, split, n) {
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
	if err := execute(scenario.Train, size.Demonstrations+size.Train, func(s scenario.Scenario, m []chat.Message) {
		if len(t.Demonstrations) < size.Demonstrations {
			t.Demonstrations = append(t.Demonstrations, m)
		} else {
			t.Train, t.Solutions = append(t.Train, s), append(t.Solutions, m)
		}
	}); err != nil {
		return t, err
	}
	return t, execute(size.HeldOut(), size.Test, func(s scenario.Scenario, _ []chat.Message) { t.Test = append(t.Test, s) })
}
