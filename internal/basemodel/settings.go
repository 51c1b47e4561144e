package basemodel

import (
	"fmt"
	"time"

	"hone/internal/config"
	"hone/internal/engine"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/learn/batch"
	"hone/internal/learn/model"
	"hone/internal/learn/modelfile"
	"hone/internal/learn/plan"
	"hone/internal/learn/train"
)

// LoRAOf is the adapter that the configuration describes, but for rows of tokens, which depend on the model.
func LoRAOf(c config.LoRA) model.LoRA {
	l := model.LoRA{Rank: c.Rank, Alpha: c.Alpha, RankStabilized: c.RSLoRA}
	l.Targets, l.TargetPattern = c.Targets()
	for _, p := range config.Patterns(c.RankPattern) {
		l.RankPattern = append(l.RankPattern, model.Pattern[int]{Pattern: p.Pattern, Value: int(p.Value)})
	}
	for _, p := range config.Patterns(c.AlphaPattern) {
		l.AlphaPattern = append(l.AlphaPattern, model.Pattern[float64]{Pattern: p.Pattern, Value: p.Value})
	}
	return l
}

// LoRA is the adapter that the configuration describes for the model, with rows of its own for the tokens that
// lora.trainable_tokens names.
func (m *Model) LoRA(c config.LoRA) (model.LoRA, error) {
	l := LoRAOf(c)
	var ids []int32
	switch {
	case c.TrainableTokens.Is(config.NoTokens):
	case c.TrainableTokens.Is(config.AutoTokens):
		ids = m.untrainedTokens().IDs
	default:
		for _, token := range c.TrainableTokens {
			id, ok := int32(0), false
			if m.Text != nil {
				id, ok = m.Text.Tokenizer.ID(token)
			}
			if !ok {
				return l, &fault.Error{Code: fault.CodeUsage, What: fmt.Sprintf("the model has no token %q", token),
					Where: "lora.trainable_tokens",
					Why:   "its tokenizer writes that text as several tokens, or not at all",
					Next:  "set lora.trainable_tokens: auto, or name tokens of the model"}
			}
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return l, nil
	}
	return l.WithTokens(m.Shape(), ids), nil
}

// CheckLoRA refuses an adapter that the base model has no place for, before servers are started and weights are read. A
// model that cannot be opened is refused where it is used, after what is wrong with the data.
func CheckLoRA(h *host.Host, c config.Config) error {
	if _, err := Path(h, c.Model.Base); err != nil {
		return err
	}
	file, err := openFile(h, c.Model.Base)
	if err != nil {
		return nil
	}
	m := readPrompting(file, c)
	defer m.Close()
	_, err = m.AdapterShape(c, "")
	return err
}

// AdapterShape is that of the adapter in a folder, or the configuration's where that is empty.
func (m *Model) AdapterShape(c config.Config, folder string) (lora model.LoRA, err error) {
	if folder != "" {
		lora, _, err = model.LoadPEFT(folder, m.Shape())
	} else if lora, err = m.LoRA(c.LoRA); err == nil {
		err = lora.Check(m.Shape())
	}
	return lora, err
}

// SettingsOf are what the configuration says of memory; prefix, private (tokens of a slot) and row depend on the tasks.
func SettingsOf(c config.Config, lora model.LoRA, gpu bool, prefix, private, row int) plan.Settings {
	o := plan.Settings{
		GPU:     gpu,
		Devices: c.Engine.Devices,
		Train: train.Options{LoRA: lora, MicroBatch: c.Engine.MicroBatch, Recompute: RecomputeOf(c.Engine),
			KeepTokens: c.Engine.KeepTokens, RowMultiple: c.Engine.RowMultiple,
			EightBitMoments: c.Engine.Moments == "8bit", Dropout: c.LoRA.Dropout},
		Prefix:      prefix,
		Row:         row,
		Context:     private,
		DecodeSteps: c.Engine.DecodeSteps,
		Entropies:   c.GRPO.Entropy.Coefficient > 0 || c.GRPO.Entropy.Target > 0,
	}
	if private > 0 {
		o.Slots, o.Policy, o.Apart = SlotsOf(c, gpu), row > 0, c.Engine.JoinWeights == "off"
	}
	if o.ShardWeights = Shards(c.Engine); o.ShardWeights {
		o.Train.Recompute = train.RecomputeLayer
	}
	o.Seats = SeatsOf(o.Slots)
	o.Train = o.Train.WithDefaults(gpu) // since a smaller micro-batch may be proposed
	return o
}

// slotsCPU is how many there are on a CPU where the configuration leaves it open: more would not be faster.
const slotsCPU = 16

// SlotsOf is engine.slots, or as many as are wanted where it is 0: on a GPU those of a step's episodes.
func SlotsOf(c config.Config, gpu bool) int {
	switch {
	case c.Engine.Slots > 0:
		return c.Engine.Slots
	case gpu:
		return c.GRPO.GroupSize * c.GRPO.ScenariosPerStep
	}
	return slotsCPU
}

// seats is how many episodes share a slot: one speaks while the other's tools work.
const seats = 2

// SeatsOf is how many episodes share each of so many slots. Who has one slot has one episode after the other.
func SeatsOf(slots int) int {
	if slots < 2 {
		return 1
	}
	return seats
}

// OpenOf is what the configuration leaves to the plan.
func OpenOf(e config.Engine) plan.Open {
	return plan.Open{MicroBatch: e.MicroBatch == 0, Recompute: e.Recompute == "auto", Shard: e.ShardWeights == "auto",
		Slots: e.Slots == 0, Join: e.JoinWeights == "auto"}
}

// treeTokens is how many tokens behind the prefix rows have together, where they are computed as a tree: on a CPU
// attention's work on them is a quarter of the linear maps' at most.
const treeTokens = 1024

// CountPacking is how rows of so many steps are computed as trees: with how many tokens, and with how many if each row
// were behind the prefix by itself.
func CountPacking(e config.Engine, gpu bool, steps []batch.Batch) (packed, apart int) {
	o := train.Options{RowMultiple: e.RowMultiple}.WithDefaults(gpu)
	for _, b := range steps {
		apart += o.NumTokens(b)
	}
	o.TreeTokens = treeTokens
	for _, b := range steps {
		packed += o.NumTokens(b)
	}
	return packed, apart
}

// programPositions is how many positions of rows a CPU computes while it compiles a program of rows (docs/log).
const programPositions = 2048

// An H200 compiled a program of rows in 12 s, of a model of 28 layers, and computed 1.6e14 operations a second in
// between (docs/log).
const (
	layerCompileTime = 0.44 // seconds
	gpuSpeed         = 1.6e14
)

// positionsOfProgram is how many positions of rows a device computes while it compiles a program of rows.
func positionsOfProgram(s model.Spec, gpu bool) float64 {
	if !gpu {
		return programPositions
	}
	return layerCompileTime * float64(s.NumLayers) * gpuSpeed / positionWork(s)
}

// rowOptions are the options of a trainer that the shapes of rows follow from.
func rowOptions(e config.Engine, gpu bool) train.Options {
	return train.Options{MicroBatch: e.MicroBatch, RowMultiple: e.RowMultiple,
		TreeTokens: TreeTokensOf(e)}.WithDefaults(gpu)
}

// RowMultiple is to how many tokens the rows of a run are best padded, where the settings leave that open: a run of few
// steps is over before programs of as many lengths as it can have are worth their compiling. The steps are some of the
// run's, which takes so many times their number. It is 0 where nothing is to be gained, or where a CPU computes several
// rows at a time.
func RowMultiple(s model.Spec, e config.Engine, gpu bool, steps []batch.Batch, times float64) int {
	if e.RowMultiple != 0 || !gpu && (e.MicroBatch > 1 || e.Devices > 1) {
		return 0
	}
	o := rowOptions(e, gpu)
	least := o.RowMultiple
	best, cost := 0, 0.
	for multiple := least; multiple <= 8*least; multiple += least {
		o.RowMultiple = multiple
		programs, positions := o.RowPrograms(steps, max(1, e.Devices))
		c := float64(programs)*positionsOfProgram(s, gpu) + times*float64(positions)
		if best == 0 || c < cost {
			best, cost = multiple, c
		}
	}
	if best == least {
		return 0
	}
	return best
}

// An episode's rows have few lengths on a GPU: so many tokens the shortest, and for so many steps at least. All lengths
// are about so many programs more, and save about so much of the positions, of which a row has about so many.
const (
	shortestRow  = 512
	stepsOfFew   = 20
	programsMore = 8
	paddingSaved = 0.2
	typicalRow   = 1024
)

// EpisodeLengths are the lengths that a GPU pads the rows of episodes to, where the settings leave that open: few, each
// about twice the one before, since nobody knows before a run which there will be, and the first step waits for the
// programs of all that it has. longest is the room of an episode. It is also for how many optimiser steps they are so:
// in a run of many steps, programs of all lengths are worth their compiling behind the first (0: to the end).
func EpisodeLengths(s model.Spec, c config.Config, gpu bool, longest int) (lengths []int, steps int) {
	if !gpu || c.Engine.RowMultiple != 0 {
		return nil, 0
	}
	lengths = rowOptions(c.Engine, gpu).Ladder(shortestRow, longest)
	g := c.GRPO
	positions := float64(g.GroupSize*g.ScenariosPerStep*typicalRow) * float64(max(1, g.NumIterations))
	even := programsMore * positionsOfProgram(s, gpu) / (paddingSaved * positions)
	if float64(g.Steps-stepsOfFew) > even {
		steps = stepsOfFew * max(1, g.NumIterations) * max(1, g.Minibatches)
	}
	return lengths, steps
}

// RowProgramsOf is how many programs of rows a run of such steps compiles, and how many positions of rows the steps
// compute; 0: not known.
func RowProgramsOf(e config.Engine, gpu bool, steps []batch.Batch) (programs, positions int) {
	if !gpu && (e.MicroBatch > 1 || e.Devices > 1) {
		return 0, 0
	}
	return rowOptions(e, gpu).RowPrograms(steps, max(1, e.Devices))
}

// coreSpeed is how many floating-point operations of training a free core does in a second. Cores and what else they do
// make two to three times of it more or less (docs/log), so what follows from it is told as a rough number.
const coreSpeed = 20e9

// RowTime is about how long so many cores take to compile programs of rows and to train an adapter on positions of
// them.
func RowTime(s model.Spec, cores, programs int, positions float64) time.Duration {
	operations := positionWork(s) * (float64(programs)*programPositions + positions)
	return time.Duration(operations / (coreSpeed * float64(cores)) * float64(time.Second))
}

// positionWork is how many operations training takes for a position of rows: forward and back, four for each weight of
// a linear map, and of the head at half of the positions.
func positionWork(s model.Spec) float64 {
	weights := s.VocabSize * s.Hidden / 2
	for _, w := range s.Weights() {
		if w.Linear {
			weights += w.Dims[0] * w.Dims[1]
		}
	}
	return 4 * float64(weights)
}

// TreeTokensOf is engine.packing as a trainer takes it. What auto is, FitRows settles.
func TreeTokensOf(e config.Engine) int {
	if e.Packing == "tree" {
		return treeTokens
	}
	return 0
}

// RecomputeOf is engine.recompute. What auto is, Fit settles.
func RecomputeOf(e config.Engine) train.Recompute {
	if e.Recompute == string(train.RecomputeLayer) {
		return train.RecomputeLayer
	}
	return train.RecomputeNone
}

// Shards reports whether weights are sharded: engine.shard_weights, where there are devices to hold parts. What auto
// is, Fit settles.
func Shards(e config.Engine) bool { return e.ShardWeights == "on" && e.Devices > 1 }

// Loader is how a run that trains loads its weights.
func Loader(e config.Engine) func(*engine.Engine, *modelfile.Model) (model.Spec, []engine.Buffer, error) {
	if Shards(e) {
		return model.LoadShards
	}
	return model.Load
}

// CheckShards refuses weights to be shared where there is one device. The configuration's own checks cannot: --num-gpus
// says after them how many devices there are.
func CheckShards(e config.Engine) error {
	if e.ShardWeights != "on" || e.Devices > 1 {
		return nil
	}
	return &fault.Error{Code: fault.CodeUsage, What: "one device has nobody to share the weights with",
		Where: "engine.shard_weights: on", Why: "engine.devices is 1",
		Next: "set engine.devices to how many devices are to share them (hone doctor shows those there are), " +
			"or engine.shard_weights to auto"}
}

// CheckDevices refuses devices that there are not, as far as that is known before servers are started.
func CheckDevices(h *host.Host, e config.Engine) error {
	if err := CheckShards(e); err != nil {
		return err
	}
	plugin, err := TakePlugin(h, e)
	if err != nil {
		return err
	}
	return engine.CheckDevices(plugin.Path, e.Devices)
}
