package basemodel

import (
	"fmt"

	"hone/internal/config"
	"hone/internal/fault"
	"hone/internal/host"
)

// GivenLoRA is lora's section of the configuration as the command line has it.
type GivenLoRA struct {
	config.LoRA
	Given func(flag string) bool // whether a flag is there, by the name that it has on the command line
}

// Apply puts the flags that were given over the configuration. The shape of an adapter to start from is its own; that
// of a fresh one must fit the base model.
func (g GivenLoRA) Apply(h *host.Host, c *config.Config, adapter string) error {
	l := &c.LoRA
	given := ""
	for name, set := range map[string]func(){
		"lora-rank": func() { l.Rank = g.Rank }, "lora-alpha": func() { l.Alpha = g.Alpha }, "rslora": func() {
			l.RSLoRA = g.RSLoRA
		},
		"target-modules": func() { l.TargetModules = g.TargetModules }, "rank-pattern": func() {
			l.RankPattern = g.RankPattern
		},
		"alpha-pattern": func() { l.AlphaPattern = g.AlphaPattern },
	} {
		if g.Given(name) {
			given = "--" + name
			set()
		}
	}
	if given != "" && adapter != "" {
		return &fault.Error{Code: fault.CodeUsage, What: "an adapter to start from keeps its shape",
			Where: given + " with --adapter " + adapter, Next: "leave out one of the two"}
	}
	if g.Given("lora-dropout") {
		l.Dropout = g.Dropout
	}
	if err := c.Validate(); err != nil {
		return &fault.Error{Code: fault.CodeUsage, What: "the adapter's shape is not valid", Err: err,
			Next: "hone config schema describes each key under lora"}
	}
	if adapter != "" {
		return nil
	}
	return CheckLoRA(h, *c)
}

// OnGPUs sets what --num-gpus says, after which it is known how many devices are wanted.
func OnGPUs(c *config.Config, n int) error {
	if n < 0 {
		return &fault.Error{Code: fault.CodeUsage, What: fmt.Sprintf("cannot train on %d GPUs", n), Where: "--num-gpus",
			Next: "give how many there are, or leave it out to train on what engine.backend and engine.devices say"}
	}
	if n > 0 {
		c.Engine.Backend, c.Engine.Devices = "cuda", n
	}
	return CheckShards(c.Engine)
}
