package plan

import (
	"context"

	"hone/internal/engine"
	"hone/internal/episode/policy"
	"hone/internal/learn/model"
	"hone/internal/learn/sample"
)

// Serving is what the memory of a served model depends on, beside the model.
type Serving struct {
	GPU      bool
	Adapter  *model.LoRA // the shape of adapters beside the base model; nil: the base model alone
	Adapters int         // how many of them there is room for
	Slots    int         // completions sampled at once
	Context  int         // tokens of a slot
}

// MakeServing plans the serving of a model: one sampler of the base model and of its adapters.
func MakeServing(s model.Spec, o Serving) (Plan, error) {
	d := engine.OpenDry(o.GPU, 1)
	defer d.Close()
	s.Joined = o.GPU // as model.LoadToSample has it
	var p Plan
	weights, held, err := p.weights(d, s)
	if err != nil {
		return p, err
	}
	options := sample.Options{Slots: o.Slots, Context: o.Context}
	if o.Adapter != nil {
		options.LoRA, options.Adapters = *o.Adapter, o.Adapters
	}
	sampler, err := sample.New(d.Engine, s, weights, options)
	if err != nil {
		return p, err
	}
	defer sampler.Close()
	if o.Adapter != nil {
		_, size := o.Adapter.Pieces(s)
		adapter := d.Blank(engine.F32(size))
		if err := sampler.SetAdapterOf(0, adapter, 1); err != nil {
			return p, err
		}
		engine.Free(adapter) // written into the sampler's own arrays
	}
	held("keys and values", sampler.ExtraBytes())
	if o.Adapter != nil {
		held(HeldBySampler, 0)
	}
	if err := sampler.Rehearse(); err != nil {
		return p, err
	}
	if _, err = sampler.Sample(context.Background(),
		policy.Request{Prompt: make([]int32, 2), Sampling: policy.Sampling{MaxTokens: 1}}); err != nil {
		return p, err
	}
	p.Programs, err = programs(d, len(d.Programs()))
	return p, err
}

// ProposeServing returns settings with fewer slots that a limit of so many bytes holds, and false where one is too
// many.
func ProposeServing(s model.Spec, o Serving, limit int64) (Serving, Plan, bool, error) {
	for {
		p, err := MakeServing(s, o)
		if err != nil || p.Peak().Peak <= limit {
			return o, p, err == nil, err
		}
		if o.Slots == 1 {
			return o, p, false, nil
		}
		o.Slots /= 2
	}
}
