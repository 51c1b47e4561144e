package basemodel

import (
	"context"
	"errors"
	"fmt"

	"hone/internal/config"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/learn/batch"
	"hone/internal/learn/model"
	"hone/internal/learn/plan"
	"hone/internal/llm/tinker"
)

// awayAlpha is the alpha of the adapters that servers of the Tinker API make: their requests have none.
const awayAlpha = 32

// CheckAway refuses, where a server takes the steps of a stage, what the Tinker API cannot do, by its key. adapter is
// the one to start from, and gpus how many of this machine are asked for.
func CheckAway(c config.Config, stage, adapter string, gpus int) error {
	if !c.Trainer.Away() {
		return nil
	}
	l, g := c.LoRA, c.GRPO
	names, _ := l.Targets()
	episodes := stage == "grpo"
	for _, x := range []struct {
		refused        bool
		key, why, next string
	}{
		{adapter != "", "--adapter", "its adapters begin fresh, and it takes none from elsewhere", "leave it out"},
		{gpus > 0, "--num-gpus", "no device of this machine takes a step", "leave it out"},
		{l.Alpha != awayAlpha, "lora.alpha", "alpha is the server's", fmt.Sprintf("set lora.alpha: %d", awayAlpha)},
		{l.RSLoRA, "lora.rslora", "the scale is alpha / rank", "set lora.rslora: false"},
		{l.Dropout > 0, "lora.dropout", "it leaves nothing out", "set lora.dropout: 0"},
		{len(names) > 0 || len(l.TargetModules) != 1 || l.TargetModules[0] != config.AllLinear, "lora.target_modules",
			"its adapters are of all linear maps", "set lora.target_modules: [" + config.AllLinear + "]"},
		{len(l.RankPattern) > 0, "lora.rank_pattern", "all maps have one rank", "leave it out"},
		{len(l.AlphaPattern) > 0, "lora.alpha_pattern", "all maps have one alpha", "leave it out"},
		{c.Engine.Moments != "float32", "engine.moments", "the server keeps the moments",
			"set engine.moments: float32"},
		{episodes && c.Sampler.URL != "", "sampler.url", "the server that trains samples too",
			"leave sampler.url out"},
		{episodes && c.Rollout.Temperature != 1, "rollout.temperature", "its passes have temperature 1",
			"set rollout.temperature: 1"},
		{episodes && (g.Entropy.Coefficient > 0 || g.Entropy.Target > 0), "grpo.entropy", "it tells no entropies",
			"leave grpo.entropy out"},
		{episodes && g.TopEntropy > 0 && g.TopEntropy < 1, "grpo.top_entropy", "it tells no entropies",
			"set grpo.top_entropy: 1"},
		{episodes && g.KeepTokens > 0, "grpo.keep_tokens", "it tells no entropies, which are kept too",
			"set grpo.keep_tokens: 0"},
		{episodes && g.Staleness > 0, "grpo.staleness", "it does not sample what the adapter was before",
			"set grpo.staleness: 0"},
		{episodes && g.Explorations > 0, "grpo.explorations", "it holds completions to no form",
			"set grpo.explorations: 0"},
		{episodes && c.Eval.Every > 0 && c.Eval.MinP > 0, "eval.min_p", "it has no min-p", "set eval.min_p: 0"},
	} {
		if x.refused {
			return &fault.Error{Code: fault.CodeUsage, What: "a trainer behind the Tinker API cannot do that",
				Where: x.key, Why: x.why, Next: x.next + ", or train on this machine's engine"}
		}
	}
	return nil
}

// OpenAway begins a session at the server that takes the steps of a stage.
func OpenAway(ctx context.Context, h *host.Host, c config.Config, stage string) (*tinker.Client, error) {
	if err := CheckAway(c, stage, "", 0); err != nil {
		return nil, err
	}
	t := c.Trainer
	key, err := h.KeyIn(t.KeyEnv, "the trainer", t.URL, "set trainer.key_env to another")
	if err != nil {
		return nil, err
	}
	o := tinker.Options{URL: t.URL, Model: t.Model, Key: fault.Secret(key), Slots: t.Slots,
		Timeout: t.Timeout, Retries: t.Retries}
	if t.Retries == 0 {
		o.Retries = -1
	}
	h.Opens(o)
	client, err := tinker.Open(ctx, o)
	if err == nil {
		h.Say("%s at %s takes the steps", client.Base(), t.URL)
	}
	return client, err
}

// Away is a trainer at a server, with what else it can do.
type Away struct {
	*Trainer
	Tinker *tinker.Trainer
}

// TrainAway makes a fresh adapter of the model at a server, once a probe on another one has shown what the server does
// with a step, and that the adapter can be fetched. bound is the stage's max_grad_norm, of that key.
func TrainAway(
	ctx context.Context, h *host.Host, client *tinker.Client, m *Model, c config.Config, bound float64, key string,
) (Away, error) {
	lora, err := m.LoRA(c.LoRA)
	if err != nil {
		return Away{}, err
	}
	if len(lora.Tokens) > 0 {
		return Away{}, &fault.Error{Code: fault.CodeUsage, What: "a trainer behind the Tinker API cannot do that",
			Where: "lora.trainable_tokens",
			Why:   "it trains no rows of the embedding, and the model has tokens that were never trained",
			Next:  "set lora.trainable_tokens: \"off\", or train on this machine's engine"}
	}
	l := tinker.LoRA{Rank: lora.Rank, Seed: c.Seed}
	habits, err := tinker.Probe(ctx, client, l, m.Spec.VocabSize, func(dir string) error {
		there, _, err := model.LoadPEFT(dir, m.Spec)
		if want := lora.Explicit(m.Spec); err == nil && !there.Explicit(m.Spec).Equal(want) {
			err = &fault.Error{Code: fault.CodeUsage, What: "the trainer's adapters have another shape", Where: "lora",
				Why:  fmt.Sprintf("they have %+v, and the configuration says %+v", there, want),
				Next: "give lora the server's shape, or train on this machine's engine"}
		}
		return err
	})
	if err != nil {
		return Away{}, err
	}
	h.Say("its steps have the %s of the tokens' losses", habits.Reduction)
	if bound > 0 && !habits.Bounds && !habits.OwnBound {
		return Away{}, &fault.Error{Code: fault.CodeUsage, What: "the trainer does not bound gradients", Where: key,
			Why: "a step of its probe was as large with a bound as without", Next: "set " + key + ": 0"}
	}
	if habits.OwnBound {
		h.Say("note: it bounds gradients by a number of its own, whatever %s is", key)
	}
	t, err := tinker.New(ctx, client, l, habits)
	if err != nil {
		return Away{}, err
	}
	return Away{newTrainer(t, m), t}, nil
}

// FitRowsAway refuses rows that the model's positions do not hold; memory is the server's.
func (m *Model) FitRowsAway(rows []batch.Sequence) error {
	longest := 0
	for _, r := range rows {
		longest = max(longest, len(r.IDs))
	}
	if longest == 0 {
		return errors.New("there are no rows")
	}
	return plan.TooLong(m.Shape(), longest, "lower model.context: longer rows are left out")
}
