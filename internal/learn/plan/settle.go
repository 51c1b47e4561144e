package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"hone/internal/basemodel"
	"hone/internal/config"
	"hone/internal/fault"
	"hone/internal/hardware"
	"hone/internal/learn/batch"
	"hone/internal/learn/engine"
	"hone/internal/learn/model"
	"hone/internal/learn/plan"
	"hone/internal/learn/train"
	"hone/internal/modelfile"
)

// budget is the memory there is for a run, of each device, and what kind it is.
type budget struct {
	bytes int64
	of    string
}

// budget returns engine.memory where it is set, else what is free now.
func (a *app) budget(c config.Config, gpu bool) (budget, error) {
	if c.Engine.Memory > 0 {
		return budget{int64(c.Engine.Memory * (1 << 30)), "engine.memory"}, nil
	}
	if gpu {
		gpus, err := hardware.GPUs(hardware.CUDADriver)
		if err != nil || len(gpus) == 0 {
			return budget{}, err // opening the device will say more
		}
		least := slices.MinFunc(gpus[:min(len(gpus), max(1, c.Engine.Devices))], func(a, b hardware.GPU) int { return cmp.Compare(a.Free, b.Free) })
		return budget{least.Free, "free on " + least.Name}, nil
	}
	n, err := hardware.AvailableMemory()
	if err != nil {
		return budget{}, nil // a system that does not tell: there is nothing to compare with
	}
	if d := c.Engine.Devices; d > 1 {
		return budget{n / int64(d), fmt.Sprintf("free on this machine for each of %d devices", d)}, nil
	}
	return budget{n, "free on this machine"}, nil
}

// adapterShape is that of the adapter in a folder, or the configuration's where that is empty.
func adapterShape(c config.Config, s model.Spec, folder string) (model.LoRA, error) {
	if folder == "" {
		lora := loraOf(c.LoRA)
		return lora, lora.Check(s)
	}
	lora, _, err := train.LoadAdapter(folder, s)
	return lora, err
}

// settings are what the configuration says of memory; prefix, private (tokens of a slot) and row depend on the tasks.
func settings(c config.Config, lora model.LoRA, gpu bool, prefix, private, row int) plan.Settings {
	o := plan.Settings{GPU: gpu, Devices: c.Engine.Devices, Train: train.Options{LoRA: lora, MicroBatch: c.Engine.MicroBatch, Recompute: recomputeOf(c), RowMultiple: c.Engine.RowMultiple,
		EightBitMoments: c.Engine.Moments == "8bit", Dropout: c.LoRA.Dropout}, Prefix: prefix, Row: row, Context: private, DecodeSteps: c.Engine.DecodeSteps}
	if private > 0 {
		o.Slots = c.Engine.Slots
	}
	if o.ShardWeights = shards(c); o.ShardWeights {
		o.Train.Recompute = train.RecomputeLayer
	}
	o.Train = o.Train.Filled(gpu) // since a smaller micro-batch may be proposed
	return o
}

// recomputeOf is engine.recompute; what auto is, settle says before a trainer is made.
func recomputeOf(c config.Config) train.Recompute {
	if c.Engine.Recompute == string(train.RecomputeLayer) {
		return train.RecomputeLayer
	}
	return train.RecomputeNone
}

// shards reports whether weights are sharded: engine.shard_weights, where there are devices to hold parts. What auto is,
// settle says before a weight is read.
func shards(c config.Config) bool { return c.Engine.ShardWeights == "on" && c.Engine.Devices > 1 }

// loader is how a run that trains loads its weights.
func loader(c config.Config) func(*engine.Engine, *modelfile.Model) (model.Spec, []engine.Buffer, error) {
	if shards(c) {
		return model.LoadSharded
	}
	return model.Load
}

// checkDevices refuses devices that there are not, as far as that is known before servers are started.
func (a *app) checkDevices(c config.Config) error {
	if err := checkShards(c); err != nil {
		return err
	}
	plugin, err := basemodel.TakePlugin(a.Host, c.Engine)
	if err != nil {
		return err
	}
	return engine.CheckDevices(plugin.Path, c.Engine.Devices)
}

// checkShards refuses weights to be shared where there is one device. The configuration's own checks cannot: --num-gpus says
// after them how many devices there are.
func checkShards(c config.Config) error {
	if c.Engine.ShardWeights != "on" || c.Engine.Devices > 1 {
		return nil
	}
	return &fault.Error{Code: fault.CodeUsage, What: "one device has nobody to share the weights with", Where: "engine.shard_weights: on", Why: "engine.devices is 1",
		Next: "set engine.devices to how many devices are to share them (hone doctor shows those there are), or engine.shard_weights to auto"}
}

// settle returns settings that the limit holds, with their plan: those given or, where they are too large, others in what the
// configuration leaves open (engine.recompute: auto and, beside it, engine.micro_batch: 0; engine.shard_weights: auto).
// Where no choice helps, they are those given.
func settle(c config.Config, s model.Spec, o plan.Settings, limit int64) (plan.Settings, plan.Plan, error) {
	p, err := plan.Make(s, o)
	if err != nil || limit == 0 || p.Peak().Peak <= limit {
		return o, p, err
	}
	var tries []plan.Settings
	if c.Engine.Recompute == "auto" && c.Engine.MicroBatch == 0 {
		chosen, _, ok, err := plan.Propose(s, o, limit)
		if err != nil {
			return o, p, err
		}
		if ok && chosen.Slots == o.Slots {
			tries = append(tries, chosen)
		}
	}
	again := o
	again.Train.Recompute = train.RecomputeLayer
	sharded := again
	sharded.ShardWeights = true
	for _, x := range append(tries, again, sharded) {
		if x.ShardWeights && !o.ShardWeights && (c.Engine.ShardWeights != "auto" || o.Devices < 2) || x.Train.Recompute != o.Train.Recompute && c.Engine.Recompute != "auto" {
			continue // the configuration says otherwise
		}
		if q, err := plan.Make(s, x); err != nil || q.Peak().Peak <= limit {
			return x, q, err
		}
	}
	return o, p, nil
}

// fillStep lowers engine.micro_batch to the rows of a step: more would be padding, planned for and computed. A trajectory of
// several rows is then computed in several micro-batches.
func (a *app) fillStep(c *config.Config, rows int) {
	if n := c.Engine.MicroBatch; n > rows {
		a.Say("engine.micro_batch: %d is more than the %d rows of a step, which are computed at once", n, rows)
		c.Engine.MicroBatch = rows
	}
}

// settleLengths fills in what the configuration leaves open of model.context and rollout.max_tokens. What is not there yet, a
// plug-in or a model, is refused where it is used.
func (a *app) settleLengths(c *config.Config) error {
	gpu, positions := false, 0
	if found, err := basemodel.FindPlugin(a.Host, c.Engine); err == nil {
		gpu = found.IsCUDA()
	}
	if s, err := basemodel.ReadShape(a.Host, c.Model.Base, c.Model.Context); err == nil {
		positions = s.MaxContext
	}
	if err := c.SettleLengths(gpu, positions); err != nil {
		return &fault.Error{Code: fault.CodeUsage, What: "the configuration is not valid", Err: err, Next: "set both model.context and rollout.max_tokens"}
	}
	return nil
}

const shorterEpisodes = "lower model.context, rollout.max_turns or rollout.max_tokens, or show fewer tools with mcp.max_tools"

// episodeOf is what the configuration says of an episode's length.
func episodeOf(c config.Config) plan.Episode {
	return plan.Episode{MaxTurns: c.Rollout.MaxTurns, MaxTokens: c.Rollout.MaxTokens, MaxResult: c.Rollout.MaxResult}
}

// fits refuses a run on live rollouts that the model's positions or the memory do not hold, and settles in the configuration
// what that left to the plan. It returns how many tokens a slot holds after the prefix: room for the results of tools too, as
// far as there is memory, and how far that goes is said.
func (a *app) fits(c *config.Config, m *basemodel.Model, adapter string, prefix int, e plan.Episode, trains bool) (private int, err error) {
	s, gpu := m.Shape(), m.Plugin.IsCUDA()
	if err := refuseTooLong(s, prefix+min(e.Own(), c.Model.Context), shorterEpisodes); err != nil {
		return 0, err
	}
	lora, err := adapterShape(*c, s, adapter)
	if err != nil {
		return 0, err
	}
	if trains {
		a.fillStep(c, max(c.SFT.BatchSize, c.GRPO.GroupSize*c.GRPO.ScenariosPerStep)) // a demo has both stages
	}
	of := func(private int) plan.Settings {
		row := 0
		if trains {
			row = private
		}
		return settings(*c, lora, gpu, prefix, private, row)
	}
	b, err := a.budget(*c, gpu)
	if err != nil {
		return 0, err
	}
	room, err := findRoom(*c, s, e, of, min(c.Model.Context, s.MaxContext-prefix), b)
	if err != nil {
		return 0, err
	}
	a.Say("%s", room)
	return room.tokens, a.refuseTooLarge(c, s, of(room.tokens), false)
}

// room is what a slot holds of an episode.
type room struct {
	tokens   int
	episode  plan.Episode
	byMemory bool // else the context, or the model's positions, bound it
}

// String says it, and what to do where results may overflow.
func (r room) String() string {
	e := r.episode
	text := fmt.Sprintf("an episode has room for %s after the prefix: %d of its task and completions, %d of tools' results", fault.Count(r.tokens, "token"),
		min(r.tokens, e.Own()), e.Results(r.tokens))
	if r.tokens >= e.Whole() {
		return text
	}
	text += fmt.Sprintf(", of %d that rollout.max_result: %d can be in rollout.max_turns: %d. One that its results overflow is not trained on: ", e.Whole()-e.Own(), e.MaxResult, e.MaxTurns)
	if r.byMemory {
		return text + "the memory bounds it; lower rollout.max_result, rollout.max_turns or engine.slots"
	}
	return text + "raise model.context, as far as the model has positions, or lower rollout.max_result or rollout.max_turns"
}

// results are the tokens of results that a slot holds; 0 where nothing is known of the episode.
func (r room) results() int {
	if r.episode.MaxTurns == 0 {
		return 0
	}
	return r.episode.Results(r.tokens)
}

// findRoom takes the room for results that the memory holds beside what the policy can fill: half of what is left where
// training computes one row at once and, if it may, layers again. The other half lets it compute more.
func findRoom(c config.Config, s model.Spec, e plan.Episode, of func(private int) plan.Settings, limit int, b budget) (room, error) {
	least, most := e.Rooms(limit)
	if b.bytes == 0 || least == most {
		return room{most, e, false}, nil
	}
	s.BF16 = engine.DType(c.Engine.DType).IsBF16(of(least).GPU)
	peak := func(private int) (int64, error) {
		o := of(private)
		o.Train.MicroBatch = 1
		if c.Engine.Recompute == "auto" {
			o.Train.Recompute = train.RecomputeLayer
		}
		p, err := plan.Make(s, o)
		return p.Peak().Peak, err
	}
	low, err := peak(least)
	if err != nil {
		return room{}, err
	}
	high, err := peak(most)
	if err != nil || high <= (low+b.bytes)/2 {
		return room{most, e, false}, err
	}
	more := float64(max(0, b.bytes-low)) / 2 / float64(high-low) * float64(most-least)
	return room{least + int(more)/64*64, e, true}, nil
}

// settlement is what settle chose, beside what was asked for.
type settlement struct {
	asked, chosen plan.Settings
	plan          plan.Plan
	limit         int64
}

func settled(c config.Config, s model.Spec, o plan.Settings, b budget) (settlement, error) {
	chosen, p, err := settle(c, s, o, b.bytes)
	return settlement{o, chosen, p, b.bytes}, err
}

// layers reports whether layers are computed again.
func (x settlement) layers() bool {
	return x.asked.Row > 0 && x.chosen.Train.Recompute == train.RecomputeLayer
}

// fewer reports whether fewer rows are computed at once than asked for.
func (x settlement) fewer() bool { return x.chosen.Train.MicroBatch != x.asked.Train.MicroBatch }

// fits reports whether the memory holds it. Where rows may be shorter than planned (exact is false), rows are computed fewer
// at once only where layers are computed again too.
func (x settlement) fits(exact bool) bool {
	return x.plan.Peak().Peak <= x.limit && (exact || x.layers() || !x.fewer())
}

// fitsRows is the same of training on rows that are known.
func (a *app) fitsRows(c *config.Config, m *basemodel.Model, adapter string, prefix int, rows []batch.Sequence) error {
	longest := 0
	for _, r := range rows {
		longest = max(longest, len(r.IDs))
	}
	s, gpu := m.Shape(), m.Plugin.IsCUDA()
	if err := refuseTooLong(s, longest, "lower model.context: longer rows are left out"); err != nil {
		return err
	}
	lora, err := adapterShape(*c, s, adapter)
	if err != nil {
		return err
	}
	a.fillStep(c, min(c.SFT.BatchSize, len(rows)))
	return a.refuseTooLarge(c, s, settings(*c, lora, gpu, prefix, 0, longest-prefix), true)
}

// refuseTooLarge is an error where the memory there is cannot hold a run, with settings it could hold. Of a run whose rows
// are not known yet (exact is false) the shortest must fit; where the longest would not, it is said, and rows are
// computed fewer at once only where layers are computed again too. What is settled stands in the configuration afterwards.
func (a *app) refuseTooLarge(c *config.Config, s model.Spec, o plan.Settings, exact bool) error {
	b, err := a.budget(*c, o.GPU)
	if err != nil || b.bytes == 0 {
		return err
	}
	s.BF16 = engine.DType(c.Engine.DType).IsBF16(o.GPU)
	x, err := settled(*c, s, o, b)
	if err != nil {
		return err
	}
	if chosen, p := x.chosen, x.plan; x.fits(exact) {
		how := ""
		c.Engine.ShardWeights = "off"
		if chosen.ShardWeights {
			c.Engine.ShardWeights = "on"
			how = fmt.Sprintf(" on each of %d devices, which share the weights", chosen.Devices)
		}
		if x.fewer() {
			c.Engine.MicroBatch = chosen.Train.MicroBatch
			how += fmt.Sprintf(", with %d rows at once", chosen.Train.MicroBatch)
		}
		if o.Row > 0 {
			c.Engine.Recompute = string(chosen.Train.Recompute)
		}
		if x.layers() {
			how += ", each layer computed again in the backward pass"
		}
		a.Say("memory: %s planned%s, %s %s", gib(p.Peak().Peak), how, gib(b.bytes), b.of)
		return nil
	}
	err = a.tooLarge(s, o, b, exact)
	if f, ok := errors.AsType[*fault.Error](err); ok {
		f.Next += "; hone inspect memory shows what it goes to"
	}
	return err
}

// tooLarge is the error of a run that is, or the warning where only its longest rows are.
func (a *app) tooLarge(s model.Spec, o plan.Settings, b budget, exact bool) error {
	p, err := plan.Make(s, o)
	if err != nil {
		return err
	}
	smaller, proposed, ok, err := plan.Propose(s, o, b.bytes)
	if err != nil {
		return err
	}
	next := "use a smaller base model, or a machine with more memory"
	if ok {
		next = "set " + proposal(o, smaller) + ", which takes " + gib(proposed.Peak().Peak)
	}
	next += "; engine.memory overrides what is free"
	if !exact {
		short := o
		short.Row = min(o.Row, 2)
		least, err := plan.Make(s, short)
		if err != nil {
			return err
		}
		if least.Peak().Peak <= b.bytes {
			a.Say("warning: training rows of %d tokens, the longest there can be, would take %s; %s are %s: %s", o.Row, gib(p.Peak().Peak), gib(b.bytes), b.of, next)
			return nil
		}
	}
	return &fault.Error{Code: fault.CodeExhausted, What: "the memory does not hold this run", Where: b.of,
		Why: fmt.Sprintf("it takes %s, most of it while the program %s runs; there are %s", gib(p.Peak().Peak), p.Peak().Name, gib(b.bytes)), Next: next}
}

// proposal names the keys in which smaller settings differ.
func proposal(o, smaller plan.Settings) string {
	var keys []string
	if smaller.Slots != o.Slots {
		keys = append(keys, fmt.Sprintf("engine.slots: %d", smaller.Slots))
	}
	if smaller.Train.MicroBatch != o.Train.MicroBatch {
		keys = append(keys, fmt.Sprintf("engine.micro_batch: %d", smaller.Train.MicroBatch))
	}
	if smaller.Train.Recompute != o.Train.Recompute {
		keys = append(keys, fmt.Sprintf("engine.recompute: %s", smaller.Train.Recompute))
	}
	if smaller.ShardWeights != o.ShardWeights {
		keys = append(keys, "engine.shard_weights: on")
	}
	return strings.Join(keys, " and ")
}

// refuseTooLong is an error where sequences may have more tokens than the model has positions for.
func refuseTooLong(s model.Spec, tokens int, next string) error {
	if tokens <= s.MaxContext {
		return nil
	}
	if s.Rope.Kind == "longrope" && !s.Rope.Long {
		next += fmt.Sprintf("; or set model.context above %d (hone serve: --context), with which the model takes its factors for long sequences", s.Rope.OriginalContext)
	}
	return &fault.Error{Code: fault.CodeUsage, What: "sequences can be longer than the base model's positions reach", Where: s.Name,
		Why: fmt.Sprintf("there can be %d tokens in one, and the model has positions for %d", tokens, s.MaxContext), Next: next}
}

func gib(bytes int64) string { return fmt.Sprintf("%.2f GiB", float64(bytes)/(1<<30)) }
