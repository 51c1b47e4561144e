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
		{"a wide model", 2560, "sft/c.jsonl", 0, -1, "", 3.375e-5, 32, "sft/c.jsonl",
			"demonstrations.rows: 32 of sft/c.jsonl", ""},
		{"a narrow one", 24, "", 0, -1, "mine.jsonl", 1.5e-4, 32, "mine.jsonl", "demonstrations.rows: 32 of mine.jsonl", ""},
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
	x.GRPO.Advantage, x.GRPO.Minibatches, x.GRPO.Patience = "group", 1, 0
	if told := x.Choices(x); len(told) != 1 {
		t.Errorf("told of what was given: %v", told)
	}
}

// Who sets no temperature of evaluations has the card's of a model that thinks, and else none; what is given stays.
func TestTemperatureIsSettled(t *testing.T) {
	for _, c := range []struct{ given, card, want float64 }{
		{ByCard, 0.6, 0.6}, {ByCard, 0, 0}, {0, 0.6, 0}, {0.3, 0.6, 0.3},
	} {
		x := Default()
		x.Eval.Temperature = c.given
		if c.card > 0 {
			x.SettleTemperature(c.card)
		}
		if err := x.SettleLengths(true, true, 0); err != nil || x.Eval.Temperature != c.want {
			t.Errorf("%g by a card that says %g is %g, want %g, %v", c.given, c.card, x.Eval.Temperature, c.want, err)
		}
		given := Default()
		given.Eval.Temperature = c.given
		if told := x.TemperatureChoice(given); (len(told) == 1) != (c.given == ByCard && c.want > 0) {
			t.Errorf("%g by a card that says %g: told %v", c.given, c.card, told)
		}
	}
	x := Default()
	if x.Eval.Temperature = -0.5; x.Validate() == nil {
		t.Error("a temperature of -0.5 is taken")
	}
}

// Who says nothing of how long SFT goes on gets two passes, and three over few rows; a patience watches at most eight.
// What is given stays.
func TestEpochsAreSettled(t *testing.T) {
	for _, c := range []struct {
		name         string
		given        SFT
		rows, epochs int
		told         int
	}{
		{"many rows", SFT{BatchSize: 8}, 5000, 2, 1},
		{"just as many steps, the last of a pass with one row", SFT{BatchSize: 8}, 593, 2, 1},
		{"fewer", SFT{BatchSize: 8}, 592, 3, 1},
		{"small batches", SFT{BatchSize: 1}, 100, 2, 1},
		{"patience", SFT{BatchSize: 8, Patience: 4, Validation: 0.1}, 5000, 8, 1},
		{"epochs", SFT{BatchSize: 8, Epochs: 1}, 50, 1, 0},
		{"steps", SFT{BatchSize: 8, Steps: 7}, 50, 0, 0},
	} {
		x := Default()
		x.SFT.Epochs, x.SFT.Steps, x.SFT.BatchSize, x.SFT.Validation, x.SFT.Patience =
			c.given.Epochs, c.given.Steps, c.given.BatchSize, c.given.Validation, c.given.Patience
		told := x.SettleEpochs(c.rows)
		if x.SFT.Epochs != c.epochs || x.SFT.Validation != c.given.Validation || len(told) != c.told ||
			x.Validate() != nil {
			t.Errorf("%s: %+v, told %v, %v", c.name, x.SFT, told, x.Validate())
		}
		if again := x.SettleEpochs(c.rows); len(again) != 0 {
			t.Errorf("%s: what is settled is settled again: %v", c.name, again)
		}
	}
}
