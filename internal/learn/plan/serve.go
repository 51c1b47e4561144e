package plan

import (
	"context"

	"hone/internal/learn/engine"
	"hone/internal/learn/model"
	"hone/internal/learn/sample"
	"hone/internal/policy"
)

// Serving is what the memory of a served model depends on, beside the model.
type Serving struct {
	GPU     bool
	Adapter *model.LoRA // served beside the base model; nil: the base model alone
	Slots   int         // completions of each of the two sampled at once
	Context int         // tokens of a slot
}

// MakeServing plans the serving of a model: the samplers of the adapter and of the base model, in the order they are made.
func MakeServing(s model.Spec, o Serving) (Plan, error) {
	d := engine.OpenDry(o.GPU, 1)
	defer d.Close()
	s.Joined = o.GPU // as model.LoadToSample has it
	var p Plan
	weights, held, err := p.weights(d, s)
	if err != nil {
		return p, err
	}
	var samplers []*sample.Sampler
	defer func() {
		for _, x := range samplers {
			x.Close()
		}
	}()
	serve := func(name string, lora model.LoRA, adapted bool) error {
		sampler, err := sample.New(d.Engine, s, weights, sample.Options{LoRA: lora, Slots: o.Slots, Context: o.Context})
		if err != nil {
			return err
		}
		samplers = append(samplers, sampler)
		if adapted {
			_, size := lora.Pieces(s)
			adapter := d.Blank(engine.F32(size))
			if err := sampler.SetAdapter(adapter, 1); err != nil {
				return err
			}
			engine.Free(adapter) // written into the sampler's own arrays
		}
		held("keys and values of the "+name, sampler.HeldBytes())
		if adapted {
			held(HeldBySampler, 0)
		}
		_, err = sampler.Sample(context.Background(), policy.Request{Prompt: make([]int32, 2), Sampling: policy.Sampling{MaxTokens: 1}})
		return err
	}
	if o.Adapter != nil {
		if err := serve("adapter", *o.Adapter, true); err != nil {
			return p, err
		}
	}
	if err := serve("base model", model.LoRA{}, false); err != nil {
		return p, err
	}
	p.Programs, err = programs(d, len(d.Programs()))
	return p, err
}

// ProposeServing returns settings with fewer slots that a limit of so many bytes holds, and false where one is too many.
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
