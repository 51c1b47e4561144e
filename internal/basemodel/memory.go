package basemodel

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"hone/internal/config"
	"hone/internal/engine"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/learn/batch"
	"hone/internal/learn/model"
	"hone/internal/learn/plan"
	"hone/internal/text/render"
)

// LimitOf is engine.memory where it is set, else what is free now.
func LimitOf(e config.Engine, gpu bool) (plan.Limit, error) {
	if e.Memory > 0 {
		return plan.Limit{Bytes: int64(e.Memory * (1 << 30)), Of: "engine.memory"}, nil
	}
	if gpu {
		gpus, err := host.GPUs(host.CUDADriver)
		if err != nil || len(gpus) == 0 {
			return plan.Limit{}, err // opening the device will say more
		}
		least := slices.MinFunc(gpus[:min(len(gpus), max(1, e.Devices))], func(a, b host.GPU) int {
			return cmp.Compare(a.Free, b.Free)
		})
		return plan.Limit{Bytes: least.Free, Of: "free on " + least.Name}, nil
	}
	n, err := host.AvailableMemory()
	if err != nil {
		return plan.Limit{}, nil // a system that does not tell: there is nothing to compare with
	}
	if d := e.Devices; d > 1 {
		return plan.Limit{Bytes: n / int64(d), Of: fmt.Sprintf("free on this machine for each of %d devices", d)}, nil
	}
	return plan.Limit{Bytes: n, Of: "free on this machine"}, nil
}

// SettleLengths is the configuration with model.context, rollout.max_tokens, GRPO's learning rate and the temperature
// of evaluations where it leaves them open, by the device and the model. What is not there yet, a plug-in or a model,
// is refused where it is used.
func SettleLengths(h *host.Host, c config.Config) (config.Config, error) {
	gpu, thinks, positions, width := c.Trainer.Away(), true, 0, 0
	if found, err := FindPlugin(h, c.Engine); err == nil {
		gpu = gpu || found.IsCUDA()
	}
	if m, err := FindShape(h, c, c.Model.Base); err == nil {
		width = m.Shape().Hidden
		positions, thinks = m.Shape().MaxContext, m.Renderer != nil && render.Thinks(m.Renderer)
		if thinks {
			c.SettleTemperature(cardTemperature(m.File.Path))
		}
		m.Close()
	}
	c.SettleRate(width)
	if err := c.SettleLengths(gpu, thinks, positions); err != nil {
		return c, &fault.Error{Code: fault.CodeUsage, What: "the configuration is not valid", Err: err,
			Next: "set both model.context and rollout.max_tokens"}
	}
	return c, nil
}

// thinkingTemperature is what the cards of models that think say, where a model brings none.
const thinkingTemperature = 0.6

// cardTemperature is the temperature that a model's folder says to sample at (generation_config.json).
func cardTemperature(folder string) float64 {
	var says struct{ Temperature *float64 }
	text, err := os.ReadFile(filepath.Join(folder, "generation_config.json"))
	if err != nil || json.Unmarshal(text, &says) != nil || says.Temperature == nil || *says.Temperature < 0 {
		return thinkingTemperature
	}
	return *says.Temperature
}

// ShorterEpisodes is what to do where episodes are too long.
const ShorterEpisodes = "lower model.context, rollout.max_turns or rollout.max_tokens, " +
	"or show fewer tools with mcp.max_tools"

// EpisodeOf is what the configuration says of an episode's length.
func EpisodeOf(c config.Config) plan.Episode {
	return plan.Episode{MaxTurns: c.Rollout.MaxTurns, MaxTokens: c.Rollout.MaxTokens, MaxResult: c.Rollout.MaxResult}
}

// FillStep lowers engine.micro_batch to the rows of a step: more would be padding, planned for and computed. A
// trajectory of several rows is then computed in several micro-batches.
func FillStep(h *host.Host, e config.Engine, rows int) config.Engine {
	if n := e.MicroBatch; n > rows {
		h.Say("engine.micro_batch: %d is more than the %d rows of a step, which are computed at once", n, rows)
		e.MicroBatch = rows
	}
	return e
}

// RowsOfStep are the most rows that a step of the configuration has. A demo has both stages.
func RowsOfStep(c config.Config) int {
	return max(c.SFT.BatchSize, c.GRPO.GroupSize*c.GRPO.ScenariosPerStep)
}

// ofEpisodes are the settings of a run on episodes with so many tokens behind the prefix.
func ofEpisodes(c config.Config, lora model.LoRA, gpu bool, prefix, private int, trains bool) plan.Settings {
	row, kept := 0, private
	if trains {
		row = private
	}
	if c.Sampler.URL != "" { // which holds the episodes' tokens
		kept = 0
	}
	o := SettingsOf(c, lora, gpu, prefix, kept, row)
	o.Policy = trains
	return o
}

// Fit refuses a run on live rollouts that the model's positions or the memory do not hold. It returns the settings of
// the engine with what they left to the plan, how many tokens a slot holds after the prefix, room for the results of
// tools too, as far as there is memory, and how many episodes share a slot. The first two are said.
func (m *Model) Fit(
	c config.Config, adapter string, prefix int, e plan.Episode, trains bool,
) (settled config.Engine, private, seats int, err error) {
	s, gpu := m.Shape(), m.Plugin.IsCUDA()
	if err := plan.TooLong(s, prefix+min(e.Own(), c.Model.Context), ShorterEpisodes); err != nil {
		return c.Engine, 0, 0, err
	}
	lora, err := m.AdapterShape(c, adapter)
	if err != nil {
		return c.Engine, 0, 0, err
	}
	if trains {
		c.Engine = FillStep(m.host, c.Engine, RowsOfStep(c))
	}
	of := func(private int) plan.Settings { return ofEpisodes(c, lora, gpu, prefix, private, trains) }
	limit, err := LimitOf(c.Engine, gpu)
	if err != nil {
		return c.Engine, 0, 0, err
	}
	s.BF16 = engine.DType(c.Engine.DType).IsBF16(gpu)
	room, err := plan.FindRoom(s, e, of, OpenOf(c.Engine), min(c.Model.Context, s.MaxContext-prefix), limit)
	if err != nil {
		return c.Engine, 0, 0, err
	}
	room.Trains = trains
	m.host.Say("%s", room)
	c.Engine = Allot(c.Engine, room)
	settled, seats, err = settle(m.host, c.Engine, s, of(room.Tokens), limit, false)
	return settled, room.Tokens, seats, err
}

// Allot settles the slots of an engine, and whether its sampler joins weights.
func Allot(e config.Engine, r plan.Room) config.Engine {
	if e.Slots == 0 {
		e.Slots = r.Slots
	}
	if e.JoinWeights == "auto" {
		e.JoinWeights = "on"
		if r.Apart {
			e.JoinWeights = "off"
		}
	}
	return e
}

// FitAway is Fit of episodes that a server samples and that nothing is trained on: the model's positions and the
// context bound them, and no memory of this machine.
func (m *Model) FitAway(c config.Config, prefix int, e plan.Episode) (private int, err error) {
	s := m.Shape()
	if err := plan.TooLong(s, prefix+min(e.Own(), c.Model.Context), ShorterEpisodes); err != nil {
		return 0, err
	}
	room, err := plan.FindRoom(s, e, nil, plan.Open{}, min(c.Model.Context, s.MaxContext-prefix), plan.Limit{})
	m.host.Say("%s", room)
	return room.Tokens, err
}

// FitRows is Fit of training on rows that are known.
func (m *Model) FitRows(
	c config.Config, adapter string, prefix int, rows []batch.Sequence,
) (settled config.Engine, err error) {
	longest := 0
	for _, r := range rows {
		longest = max(longest, len(r.IDs))
	}
	s, gpu := m.Shape(), m.Plugin.IsCUDA()
	if err := plan.TooLong(s, longest, "lower model.context: longer rows are left out"); err != nil {
		return c.Engine, err
	}
	lora, err := m.AdapterShape(c, adapter)
	if err != nil {
		return c.Engine, err
	}
	c.Engine = FillStep(m.host, c.Engine, min(c.SFT.BatchSize, len(rows)))
	limit, err := LimitOf(c.Engine, gpu)
	if err != nil {
		return c.Engine, err
	}
	s.BF16 = engine.DType(c.Engine.DType).IsBF16(gpu)
	of := func(e config.Engine) plan.Settings {
		o := SettingsOf(c, lora, gpu, prefix, 0, max(longest-prefix, TreeTokensOf(e)))
		o.Train.TreeTokens = TreeTokensOf(e)
		return o
	}
	if packed := c.Engine; packed.Packing == "auto" {
		c.Engine.Packing, packed.Packing = "off", "tree"
		if !gpu {
			fits, err := plan.Fits(s, of(packed), limit)
			if err != nil {
				return c.Engine, err
			}
			if fits {
				c.Engine = packed
			}
		}
	}
	settled, _, err = settle(m.host, c.Engine, s, of(c.Engine), limit, true)
	return settled, err
}

// settle returns the settings of the engine with what they leave to the plan, and how many episodes share a slot. It is
// an error where the memory there is cannot hold a run, with settings it could hold. Of a run whose rows are not known
// yet (exact is false) the shortest must fit; where the longest would not, it is said.
func settle(
	h *host.Host, e config.Engine, s model.Spec, o plan.Settings, limit plan.Limit, exact bool,
) (config.Engine, int, error) {
	if limit.Bytes == 0 {
		return e, o.Seats, nil
	}
	x, err := plan.Settle(s, o, OpenOf(e), limit)
	if err != nil {
		return e, 0, err
	}
	if !x.Fits(exact) {
		warning, err := plan.TooLarge(s, x.Asked, limit, exact)
		if f, ok := errors.AsType[*fault.Error](err); ok {
			f.Next += "; hone inspect memory shows what it goes to"
		}
		if warning != "" {
			h.Say("warning: %s", warning)
		}
		return e, 0, err
	}
	if e.ShardWeights = "off"; x.Chosen.ShardWeights {
		e.ShardWeights = "on"
	}
	if x.Fewer() {
		e.MicroBatch = x.Chosen.Train.MicroBatch
	}
	if o.Row > 0 {
		e.Recompute, e.KeepTokens = string(x.Chosen.Train.Recompute), x.Chosen.Train.KeepTokens
	}
	h.Say("%s", x)
	if x.Chosen.ShardWeights {
		return e, 1, nil
	}
	return e, x.Chosen.Seats, nil
}

// FitServing refuses conversations that are longer than the model's positions, and a memory that does not hold the
// model with its slots, an adapter's beside the base model's own where a folder names one. No weight is read.
func (m *Model) FitServing(c config.Config, adapter *model.LoRA, adapters, context, slots int) error {
	s, gpu := m.Shape(), m.Plugin.IsCUDA()
	if context > s.MaxContext {
		return &fault.Error{
			Code: fault.CodeUsage,
			What: fmt.Sprintf("--context %d is more than the model has", context),
			Why:  fmt.Sprintf("it was trained on %d tokens", s.MaxContext),
			Next: "hone serve --help",
		}
	}
	s.BF16 = engine.DType(c.Engine.DType).IsBF16(gpu)
	o := plan.Serving{GPU: gpu, Adapter: adapter, Adapters: adapters, Slots: slots, Context: context}
	limit, err := LimitOf(c.Engine, gpu)
	if err != nil || limit.Bytes == 0 {
		return err
	}
	p, err := plan.MakeServing(s, o)
	if err != nil {
		return err
	}
	if most := p.Peak().Peak; most <= limit.Bytes {
		m.host.Say("memory: %s planned, %s %s", plan.GiB(most), plan.GiB(limit.Bytes), limit.Of)
		return nil
	}
	return plan.ServingTooLarge(s, o, limit)
}
