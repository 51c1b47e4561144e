package main

import (
	"cmp"
	"fmt"
	"slices"

	"hone/internal/config"
	"hone/internal/doctor"
	"hone/internal/fault"
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
		gpus, err := doctor.GPUs(doctor.CUDADriver)
		if err != nil || len(gpus) == 0 {
			return budget{}, err // opening the device will say more
		}
		least := slices.MinFunc(gpus[:min(len(gpus), max(1, c.Engine.Devices))], func(a, b doctor.GPU) int { return cmp.Compare(a.Free, b.Free) })
		return budget{least.Free, "free on " + least.Name}, nil
	}
	n, err := doctor.AvailableMemory()
	if err != nil {
		return budget{}, nil // a system that does not tell: there is nothing to compare with
	}
	if d := c.Engine.Devices; d > 1 {
		return budget{n / int64(d), fmt.Sprintf("free on this machine for each of %d devices", d)}, nil
	}
	return budget{n, "free on this machine"}, nil
}

// specOf is the shape of a model that is not loaded, as model.Load makes it.
func (m *machine) specOf() model.Spec {
	s := model.Spec{Config: m.file.Config}
	if s.Rope.Kind == "longrope" {
		s.MaxContext = min(s.MaxContext, s.Rope.OriginalContext)
	}
	return s
}

// spec is the shape of a base model, by its path or its installed name; no weight is read.
func (a *app) spec(base string) (model.Spec, error) {
	path, err := a.modelPath(base)
	if err != nil {
		return model.Spec{}, err
	}
	m := &machine{}
	if m.file, err = modelfile.Open(path); err != nil {
		return model.Spec{}, err
	}
	defer func() { _ = m.file.Close() }() // read only
	return m.specOf(), nil
}

// adapterShape is that of the adapter in a folder, or the configuration's where that is empty.
func adapterShape(c config.Config, s model.Spec, folder string) (model.LoRA, error) {
	if folder == "" {
		lora := loraOf(c.SFT.LoRA)
		return lora, lora.Check(s)
	}
	lora, _, err := train.LoadAdapter(folder, s)
	return lora, err
}

// settings are what the configuration says of memory; prefix, private (tokens of a slot) and row depend on the tasks.
func settings(c config.Config, lora model.LoRA, gpu bool, prefix, private, row int) plan.Settings {
	o := plan.Settings{GPU: gpu, Devices: c.Engine.Devices, Train: train.Options{LoRA: lora, MicroBatch: c.Engine.MicroBatch, RowMultiple: c.Engine.RowMultiple,
		EightBitMoments: c.Engine.Moments == "8bit", Dropout: c.SFT.LoRA.Dropout}, Prefix: prefix, Row: row, Context: private}
	if private > 0 {
		o.Slots = c.Engine.Slots
	}
	if o.Train.MicroBatch == 0 { // the trainer's defaults, said here because a smaller one may be proposed
		o.Train.MicroBatch = 2
		if gpu {
			o.Train.MicroBatch = 16
		}
	}
	return o
}

// fits refuses a run on live rollouts that the model's positions or the memory do not hold.
func (a *app) fits(c config.Config, m *machine, adapter string, gpu bool, prefix, private int, trains bool) error {
	s := m.specOf()
	if err := refuseTooLong(s, prefix+private, "lower model.context, rollout.max_turns or rollout.max_tokens, or show fewer tools with mcp.max_tools"); err != nil {
		return err
	}
	lora, err := adapterShape(c, s, adapter)
	if err != nil {
		return err
	}
	row := 0
	if trains {
		row = private
	}
	return a.refuseTooLarge(c, s, settings(c, lora, gpu, prefix, private, row), false)
}

// fitsRows is the same of training on rows that are known.
func (a *app) fitsRows(c config.Config, m *machine, adapter string, gpu bool, prefix int, rows []batch.Sequence) error {
	longest := 0
	for _, r := range rows {
		longest = max(longest, len(r.IDs))
	}
	s := m.specOf()
	if err := refuseTooLong(s, longest, "lower model.context: longer rows are left out"); err != nil {
		return err
	}
	lora, err := adapterShape(c, s, adapter)
	if err != nil {
		return err
	}
	return a.refuseTooLarge(c, s, settings(c, lora, gpu, prefix, 0, longest-prefix), true)
}

// refuseTooLarge is an error where the memory there is cannot hold a run, with settings it could hold. Of a run whose rows
// are not known yet (exact is false) the shortest must fit; where the longest would not, it is said.
func (a *app) refuseTooLarge(c config.Config, s model.Spec, o plan.Settings, exact bool) error {
	b, err := a.budget(c, o.GPU)
	if err != nil || b.bytes == 0 {
		return err
	}
	s.BF16 = engine.DType(c.Engine.DType).IsBF16(o.GPU)
	p, err := plan.Make(s, o)
	if err != nil {
		return err
	}
	if p.Peak().Peak <= b.bytes {
		a.say("memory: %s planned, %s %s", gib(p.Peak().Peak), gib(b.bytes), b.of)
		return nil
	}
	smaller, proposed, ok, err := plan.Propose(s, o, b.bytes)
	if err != nil {
		return err
	}
	next := "use a smaller base model, or a machine with more memory"
	if ok {
		next = fmt.Sprintf("set engine.slots: %d and engine.micro_batch: %d, which take %s", smaller.Slots, smaller.Train.MicroBatch, gib(proposed.Peak().Peak))
		if smaller.Slots == o.Slots {
			next = fmt.Sprintf("set engine.micro_batch: %d, which takes %s", smaller.Train.MicroBatch, gib(proposed.Peak().Peak))
		}
	}
	next += "; hone inspect memory shows what it goes to, and engine.memory overrides what is free"
	if !exact {
		short := o
		short.Row = min(o.Row, 2)
		least, err := plan.Make(s, short)
		if err != nil {
			return err
		}
		if least.Peak().Peak <= b.bytes {
			a.say("warning: training rows of %d tokens, the longest there can be, would take %s; %s are %s: %s", o.Row, gib(p.Peak().Peak), gib(b.bytes), b.of, next)
			return nil
		}
	}
	return &fault.Error{Code: fault.CodeExhausted, What: "the memory does not hold this run", Where: b.of,
		Why: fmt.Sprintf("it takes %s, most of it while the program %s runs; there are %s", gib(p.Peak().Peak), p.Peak().Name, gib(b.bytes)), Next: next}
}

// refuseTooLong is an error where sequences may have more tokens than the model has positions for.
func refuseTooLong(s model.Spec, tokens int, next string) error {
	if tokens <= s.MaxContext {
		return nil
	}
	return &fault.Error{Code: fault.CodeUsage, What: "sequences can be longer than the base model's positions reach", Where: s.Name,
		Why: fmt.Sprintf("there can be %d tokens in one, and the model has positions for %d", tokens, s.MaxContext), Next: next}
}

func gib(bytes int64) string { return fmt.Sprintf("%.2f GiB", float64(bytes)/(1<<30)) }
