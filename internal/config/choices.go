package config

import "fmt"

// What learning does where nothing is set is what docs/LEARNING.md measured as better than its opposite; each choice
// has a reason, and is said.

// grpoRate was the best of GRPO's learning rates with minibatches, on a model of measuredWidth. Wider models take
// smaller steps, in proportion (mu-parametrisation, arXiv 2203.03466); that of narrower ones is not known. A model of
// which nothing is known, as one that a server trains, takes one that is small for any.
const (
	grpoRate      = 1.5e-4
	measuredWidth = 576
	smallRate     = 2e-5
)

// Choice is what a key is where nothing is set, and why.
type Choice struct{ Key, Value, Why string }

// String tells of it.
func (c Choice) String() string { return fmt.Sprintf("%s: %s, since %s", c.Key, c.Value, c.Why) }

// SettleRate fills in GRPO's learning rate where it is 0, for a model of a width (0: not known).
func (c *Config) SettleRate(width int) {
	o := &c.GRPO.Optimizer
	switch {
	case o.LearningRate > 0:
	case width == 0:
		o.LearningRate = smallRate
	default:
		o.LearningRate = grpoRate * min(1, measuredWidth/float64(width))
	}
}

// SettleTemperature fills in the temperature of evaluations where it is the card's: of a model that thinks, what that
// says, since greedy reasoning repeats itself (Qwen3's card); of others 0, as a call is right or wrong.
func (c *Config) SettleTemperature(card float64) {
	if c.Eval.Temperature == ByCard {
		c.Eval.Temperature = card
	}
}

// SettleDemonstrations fills in how many demonstrations a step of GRPO has where that is -1, for an adapter whose SFT
// kept its conversations in a file ("" for none).
func (c *Config) SettleDemonstrations(shown string) {
	g, d := c.GRPO, &c.GRPO.Demonstrations
	if d.Rows >= 0 {
		return
	}
	if d.File == "" {
		d.File = shown
	}
	if d.Rows = 0; d.File != "" {
		d.Rows = max(1, g.GroupSize*g.ScenariosPerStep/4)
	}
}

// How long SFT goes on where the configuration leaves it open. The rates of docs/SYNTH.md are of two passes: on tasks
// that people wrote 6.0 points [-0.5, 12.9] above one, and three gained no more. Over few rows two passes have few
// steps, so there is a third.
const (
	epochs     = 2
	fewEpochs  = 3
	fewSteps   = 150
	mostEpochs = 8 // where a patience ends it
)

// SettleEpochs fills in how many passes SFT makes over so many rows where epochs and steps are 0.
func (c *Config) SettleEpochs(rows int) []Choice {
	s := &c.SFT
	if s.Epochs > 0 || s.Steps > 0 {
		return nil
	}
	if s.Patience > 0 {
		s.Epochs = mostEpochs
		return []Choice{{"sft.epochs", fmt.Sprintf("%d at most", mostEpochs), "sft.patience ends training"}}
	}
	why := "the rates of docs/SYNTH.md are of two passes, and three gained no more"
	if s.Epochs = epochs; epochs*((rows+s.BatchSize-1)/s.BatchSize) < fewSteps {
		s.Epochs, why = fewEpochs, fmt.Sprintf("two passes have fewer than %d steps", fewSteps)
	}
	return []Choice{{"sft.epochs", fmt.Sprint(s.Epochs), why}}
}

// TemperatureChoice is that of evaluations, where the configuration left it open as it was given and the model's card
// says another than 0.
func (c *Config) TemperatureChoice(given Config) []Choice {
	if given.Eval.Temperature != ByCard || c.Eval.Temperature <= 0 {
		return nil
	}
	return []Choice{{"eval.temperature", fmt.Sprintf("%g", c.Eval.Temperature),
		"the chat template has the model think, and its card says so"}}
}

// Choices are those of GRPO's settings, and of its evaluations, that the configuration left open as it was given, or
// that are the defaults.
func (c *Config) Choices(given Config) (list []Choice) {
	was, g := Default().GRPO, c.GRPO
	add := func(is bool, key, value, why string) {
		if is {
			list = append(list, Choice{"grpo." + key, value, why + " (docs/LEARNING.md)"})
		}
	}
	list = append(list, c.TemperatureChoice(given)...)
	if c.Eval.Every > 0 && g.Patience == was.Patience {
		list = append(list, Choice{"grpo.patience", fmt.Sprint(g.Patience), fmt.Sprintf("%d steps in which no "+
			"evaluation is better are taken for the end", g.Patience*c.Eval.Every)})
	}
	add(g.Recipe != was.Recipe, "recipe", g.Recipe, recipes[g.Recipe].why)
	add(g.Advantage == was.Advantage, "advantage", g.Advantage,
		"62.8% of whole episodes passed with it, and 46.2% with group, on one seed of validation")
	add(g.Minibatches == was.Minibatches, "minibatches", fmt.Sprint(g.Minibatches),
		"62.5% passed with it, and 45.3% with 1, on one seed of validation")
	add(given.GRPO.Optimizer.LearningRate == 0 && g.Optimizer.LearningRate != smallRate, "optimizer.learning_rate",
		fmt.Sprintf("%.3g", g.Optimizer.LearningRate),
		"at a width of 576 65.0% passed with 1.5e-4, and 62.8% with 3e-4; wider models take less in proportion")
	add(given.GRPO.Demonstrations.Rows < 0 && g.Demonstrations.Rows > 0, "demonstrations.rows",
		fmt.Sprintf("%d of %s", g.Demonstrations.Rows, g.Demonstrations.File),
		"with demonstrations in each step 7.6 points [5.2, 10.0] more passed on test, on three seeds")
	return list
}
