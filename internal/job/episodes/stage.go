package episodes

import (
	"fmt"
	"slices"
	"strings"

	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/episode/reward"
	"hone/internal/episode/rollout"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/recipe"
	"hone/internal/toolset"
)

// Stage gives a stage of GRPO on tasks what it asks of their episodes: which passed, and what can be forced.
func (l *Episodes) Stage(g *recipe.GRPO, tasks []scenario.Scenario) error {
	g.Passed = l.Verdicts(tasks)
	if d, ok := recipe.AdditionOf[*recipe.Distillation](g.Additions); ok {
		d.Hint, d.Room = l.hint, l.Room
	}
	if share := l.Selection.Share; share != nil {
		g.Additions = append(g.Additions, &recipe.Together{Share: share})
	}
	return l.Explores(g)
}

// hint is the prompt that an episode began with, with the gold calls behind what the user said last.
func (l *Episodes) hint(s *scenario.Scenario, t *trajectory.Trajectory) ([]int32, error) {
	if s == nil || len(s.Gold) == 0 {
		return nil, nil
	}
	opening := slices.Clone(t.Messages[:t.Opening])
	for i, m := range slices.Backward(opening) {
		if m.Role == chat.User {
			opening[i].Content = m.Content + "\n\n" + goldText(s)
			return l.Model.Renderer.Prompt(opening, t.Tools)
		}
	}
	return nil, nil
}

// goldText are a scenario's gold calls as a person would show them, whatever form the model writes its own in.
func goldText(s *scenario.Scenario) string {
	lines := []string{"These calls do it:"}
	for _, g := range s.Gold {
		lines = append(lines, fmt.Sprintf(`{"name": %q, "arguments": %s}`, g.Name, g.Arguments))
	}
	if s.GoldAnswer != "" {
		lines = append(lines, "The answer is then: "+s.GoldAnswer)
	}
	return strings.Join(lines, "\n")
}

// Explores lets a stage force calls, where it explores.
func (l *Episodes) Explores(g *recipe.GRPO) error {
	explorations, ok := recipe.AdditionOf[*recipe.Explorations](g.Additions)
	if !ok {
		return nil
	}
	if err := l.ForceCalls(); err != nil {
		return err
	}
	destroys := l.destructive()
	explorations.Choices = func(s *scenario.Scenario, behind []trajectory.Turn) (names []string) {
		so := &trajectory.Trajectory{Turns: behind}
		for _, turn := range behind {
			for _, c := range turn.Calls {
				if s.Forbids(c.Name) && reward.NumCalls(so, c.Name) > 0 { // nothing behind it passes
					return nil
				}
			}
		}
		tools, err := l.Selection.ForScenario(*s)
		if err != nil { // then its episodes end by it
			return nil
		}
		for _, t := range tools {
			denied := destroys[t.Name] || l.Gate != nil && l.Gate.Refusal(t.Name) != ""
			if !denied && !s.Forbids(t.Name) {
				names = append(names, t.Name)
			}
		}
		if wordsHelp(s, so) {
			names = append(names, "")
		}
		return names
	}
	return nil
}

// destructive are the tools that say of themselves that they destroy: the policy may choose to call one, and nobody
// chooses it in its place.
func (l *Episodes) destructive() map[string]bool {
	names := map[string]bool{}
	for _, server := range l.Catalog.Servers {
		for _, t := range server.Tools {
			if toolset.HintsOf(t.Annotations).DestructiveHint {
				names[t.ModelName] = true
			}
		}
	}
	return names
}

// wordsHelp reports whether words can be what a scenario wants next: a check looks at them, or any would pass, and each
// call that checks want was made.
func wordsHelp(s *scenario.Scenario, so *trajectory.Trajectory) (looked bool) {
	for _, c := range s.Checks {
		switch c.Type {
		case scenario.CallCheck:
			if reward.NumCalls(so, c.Name) == 0 {
				return false
			}
		case scenario.AnswerCheck, scenario.CommandCheck:
			looked = true
		}
	}
	return looked
}

// Evaluation returns a runner of episodes that are only measured.
func (l *Episodes) Evaluation(e config.Eval) *rollout.Runner {
	return l.Runner(l.Measured(e), max(0, e.Temperature)) // greedy where no card says otherwise
}

// Validation is how a stage measures the policy on the way; nil where it does not.
func (l *Episodes) Validation(c config.Config, held []scenario.Scenario) *recipe.Validation {
	if c.Eval.Every == 0 || len(held) == 0 {
		return nil
	}
	return &recipe.Validation{Every: c.Eval.Every, Patience: c.GRPO.Patience, Scenarios: held,
		Runner: l.Evaluation(c.Eval),
		Scorer: l.Scorer.Alone(), Passed: l.Criteria(scenario.ByID(held), nil).Episode}
}
