package demo

import (
	"strings"
	"testing"

	"hone/internal/config"
	"hone/internal/eval/stats"
	"hone/internal/host"
	"hone/internal/run"
)

// What a demo came to is a row for each of its policies, the folder's page and adapter, and what it does not say.
func TestWhatADemoCameTo(t *testing.T) {
	of := func(first, episode float64) stats.Summary {
		rate := func(x float64) stats.Interval { return stats.Interval{Mean: x, Low: x / 2, High: (1 + x) / 2, N: 64} }
		return stats.Summary{
			N:       64,
			Success: &first,
			Metrics: map[string]stats.Interval{stats.FirstCall().Name: rate(first),
				stats.Completion().Name: rate(episode)},
		}
	}
	d := demo{c: config.Default(), dir: &run.Dir{Path: "runs/a"}}
	d.c.GRPO.Steps = 3
	lines := d.got(demoSummary{Base: of(0, 0.25), SFT: of(0.75, 0.5), GRPO: of(0.5, 1)},
		stats.Results{Deltas: []stats.Delta{
			{Old: "sft", New: "grpo", Episode: stats.Interval{Mean: 0.5, Low: 0.25, High: 0.75, N: 64}},
		}})
	for i, want := range []string{
		"64 tasks", "FIRST CALL", "base 0.0% [0.0, 50.0] 25.0% [12.5, 62.5]",
		"after SFT 75.0% [37.5, 87.5] 50.0% [25.0, 75.0]", "after GRPO 50.0% [25.0, 75.0] 100.0% [50.0, 100.0]",
		"grpo against sft: +50.0 [+25.0, +75.0] points",
	} {
		if got := strings.Join(strings.Fields(lines[i]), " "); !strings.Contains(got, want) {
			t.Errorf("line %d is %q, want %q", i, got, want)
		}
	}
	text := strings.Join(lines, "\n")
	for _, want := range []string{
		"no rates on your tasks", "GRPO's 3 steps show", "runs/a/report.html", "hone serve --model runs/a/final",
		strings.Join(host.FirstRun()[2:], "\n         "),
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
}
