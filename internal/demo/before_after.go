package demo

import (
	"fmt"
	"strings"

	"hone/internal/episode/trajectory"
	"hone/internal/eval/stats"
)

// beforeAfter shows one held-out task that the last system does and the first does not: what each of them wrote and
// called. It is nil where there is none.
func beforeAfter(c stats.Comparison) []string {
	if len(c.Systems) < 2 {
		return nil
	}
	first, last := c.Systems[0], c.Systems[len(c.Systems)-1]
	before := map[string]*trajectory.Trajectory{}
	for _, e := range first.Episodes {
		if e.Fails() && e.Trajectory.Outcome.Trainable() {
			before[e.Trajectory.ScenarioID] = e.Trajectory
		}
	}
	for _, e := range last.Episodes {
		if was := before[e.Trajectory.ScenarioID]; was != nil && !e.Fails() && e.Scenario != nil {
			return append(append([]string{"a held-out task: " + oneLine(e.Scenario.Task)}, script(first.Name, was)...),
				script(last.Name, e.Trajectory)...)
		}
	}
	return nil
}

// script is what a system wrote in an episode: a line for each call and for each text.
func script(system string, t *trajectory.Trajectory) (lines []string) {
	for _, turn := range t.Turns {
		if turn.Content != "" {
			lines = append(lines, fmt.Sprintf("  %-5s says   %s", system, oneLine(turn.Content)))
		}
		for i, call := range turn.Calls {
			line := fmt.Sprintf("  %-5s calls  %s %s", system, call.Name, oneLine(call.Arguments))
			if i < len(turn.Results) {
				line += " -> " + oneLine(turn.Results[i].Text)
			}
			lines = append(lines, line)
		}
	}
	return lines
}

// oneLine is a text that fits beside others: its first 120 characters, without line breaks.
func oneLine(text string) string {
	const most = 120
	r := []rune(strings.Join(strings.Fields(text), " "))
	if len(r) > most {
		return string(r[:most]) + " ..."
	}
	return string(r)
}
