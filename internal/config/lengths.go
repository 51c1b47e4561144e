package config

import (
	"cmp"
	"fmt"
)

// Tokens of a context and of a completion where the configuration leaves them open: on a GPU a model that thinks before
// it calls has room for it, and one that does not calls or answers in fewer; elsewhere each token of a context costs
// time in every step of sampling.
const (
	contextCPU, contextGPU     = 2048, 16384
	maxTokensCPU, maxTokensGPU = 512, 1024
	maxTokensThought           = 4096 // on a GPU
)

// SettleLengths fills in model.context and rollout.max_tokens where they are 0, for a device and a model, which thinks
// before it answers or does not, with so many positions (0: not known). A quarter of the positions is left to what all
// prompts begin with, and a completion is at most a quarter of the context. It is an error where a completion then
// fills the context. Evaluations are greedy where no card said otherwise (SettleTemperature).
func (c *Config) SettleLengths(gpu, thinks bool, positions int) error {
	context, tokens := contextCPU, maxTokensCPU
	c.SettleTemperature(0)
	switch {
	case gpu && thinks:
		context, tokens = contextGPU, maxTokensThought
	case gpu:
		context, tokens = contextGPU, maxTokensGPU
	}
	if context = max(context, 4*c.Rollout.MaxTokens); positions > 0 {
		context = min(context, max(positions/4*3, minContext))
	}
	c.Model.Context = cmp.Or(c.Model.Context, context)
	c.Rollout.MaxTokens = cmp.Or(c.Rollout.MaxTokens, min(tokens, c.Model.Context/4))
	return c.checkLengths()
}

// minContext is the least there is to be of a context.
const minContext = 64

// checkLengths refuses completions that leave no room for a prompt; what is still open fits.
func (c *Config) checkLengths() error {
	switch {
	case c.Model.Context != 0 && c.Model.Context < minContext:
		return &ValueError{"model.context", fmt.Sprintf("%d is below %d", c.Model.Context, minContext)}
	case c.Model.Context != 0 && c.Rollout.MaxTokens >= c.Model.Context:
		return &ValueError{"rollout.max_tokens",
			"one completion fills the model's context (model.context) and leaves no room for the prompt"}
	}
	return nil
}
