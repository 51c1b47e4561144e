package config

import (
	"math"
	"strings"
	"testing"
)

// What is open follows the model's width and the adapter's record, and is told with a reason; what is given stays, and
// is told of none.
func TestGRPOIsSettled(t *testing.T) {
	for _, c := range []struct {
		name       string
		width      int
		shown      string
		rate       float64 // given
		rows       int     // given
		file       string  // given
		wantRate   float64
		wantRows   int
		wantFile   string
		told, mute string
	}{
		{"the measured width", 576, "", 0, -1, "", 1.5e-4, 0, "", "learning_rate: 0.00015", "demonstrations"},
		{"a wide model", 2560, "sft/c.jsonl", 0, -1, "", 3.375e-5, 16, "sft/c.jsonl",
			"demonstrations.rows: 16 of sft/c.jsonl", ""},
		{"a narrow one", 24, "", 0, -1, "mine.jsonl", 1.5e-4, 16, "mine.jsonl", "demonstrations.rows: 16 of mine.jsonl", ""},
		{"not known", 0, "", 0, 0, "", 2e-5, 0, "", "", "learning_rate"},
		{"given", 2560, "sft/c.jsonl", 3e-4, 0, "", 3e-4, 0, "", "", "learning_rate"},
		{"given rows", 576, "sft/c.jsonl", 0, 5, "mine.jsonl", 1.5e-4, 5, "mine.jsonl", "", "demonstrations"},
	} {
		x := Default()
		x.GRPO.Optimizer.LearningRate, x.GRPO.Demonstrations.Rows, x.GRPO.Demonstrations.File = c.rate, c.rows, c.file
		given := x
		x.SettleRate(c.width)
		x.SettleDemonstrations(c.shown)
		told := ""
		for _, choice := range x.Choices(given) {
			told += choice.String() + "\n"
		}
		d := x.GRPO.Demonstrations
		if math.Abs(x.GRPO.Optimizer.LearningRate-c.wantRate) > 1e-12 || d.Rows != c.wantRows || d.File != c.wantFile ||
			x.Validate() != nil {
			t.Errorf("%s: %v, %+v, %v", c.name, x.GRPO.Optimizer.LearningRate, d, x.Validate())
		}
		if !strings.Contains(told, c.told) || c.mute != "" && strings.Contains(told, c.mute) ||
			!strings.Contains(told, "advantage: centred") || strings.Count(told, "docs/LEARNING.md") < 2 {
			t.Errorf("%s: told %q", c.name, told)
		}
	}
	x := Default()
	x.GRPO.Advantage, x.GRPO.Minibatches = "group", 1
	if told := x.Choices(x); len(told) != 1 {
		t.Errorf("told of what was given: %v", told)
	}
}
