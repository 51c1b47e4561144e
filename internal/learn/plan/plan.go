// Package plan says what a run will compile and how much memory it will hold, before it does either: it makes the run's
// sampler and trainer on an engine without a device, takes steps with them, and reads the programs they wrote.
package plan

import (
	"context"
	"fmt"

	"hone/internal/engine"
	"hone/internal/episode/policy"
	"hone/internal/learn/batch"
	"hone/internal/learn/model"
	"hone/internal/learn/sample"
	"hone/internal/learn/train"
)

// Settings are what memory depends on, beside the model.
type Settings struct {
	GPU     bool
	Devices int // that a run is spread over (1)
	// ShardWeights has each of several devices hold a part of the linear maps; layers are then computed again.
	ShardWeights bool
	Train        train.Options
	Prefix       int  // tokens all prompts begin with
	Row          int  // tokens of the longest training row, after the prefix; 0: nothing is trained
	Slots        int  // completions sampled at once; 0: nothing is sampled
	Context      int  // private tokens of a slot
	DecodeSteps  int  // see sample.Options
	Apart        bool // see sample.Options
	Seats        int  // see sample.Options
	Policy       bool // rows are episodes, learnt from as GRPO does, whoever samples them; else they are texts
	Entropies    bool // of the policy are computed with its loss
}

// Program is one program a run compiles, in the order of a run.
type Program struct {
	Name      string `json:"name"`
	HLO       string `json:"-"`
	inputs    []string
	results   []string
	Temporary int64 `json:"temporary"` // estimated bytes while it runs, beside inputs and outputs
	Peak      int64 `json:"peak"`      // bytes of all buffers while it runs, temporary ones included
	Training  bool  `json:"training"`  // it is the trainer's, else the sampler's
}

// KeysAndValues is what a sampler's slots hold, and its prefix.
const KeysAndValues = "keys and values"

// SetAside is what slots hold of conversations that others take turns with.
const SetAside = "keys and values set aside"

// HeldBySampler is what a sampler holds of an adapter, and of the weights that it joins on a GPU.
const HeldBySampler = "sampler's adapter and joined weights"

// Item is memory held from its beginning to the end of a run.
type Item struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
}

// Plan is the memory of a run.
type Plan struct {
	Held     []Item    `json:"held"`
	Programs []Program `json:"programs"`
}

// Throughout is how many bytes are held whatever runs.
func (p Plan) Throughout() int64 {
	n := int64(0)
	for _, x := range p.Held {
		n += x.Bytes
	}
	return n
}

// held is how many bytes are held by a name.
func (p Plan) held(name string) int64 {
	for _, x := range p.Held {
		if x.Name == name {
			return x.Bytes
		}
	}
	return 0
}

// Peak is the program during which most is held.
func (p Plan) Peak() Program {
	var most Program
	for _, x := range p.Programs {
		if x.Peak > most.Peak {
			most = x
		}
	}
	return most
}

// weights holds a model's weights; held names what is held since it was last called, but for so many bytes.
func (p *Plan) weights(
	d *engine.Dry, s model.Spec,
) (weights []engine.Buffer, held func(name string, but int64), err error) {
	before := int64(0)
	held = func(name string, but int64) {
		p.Held = append(p.Held, Item{name, d.Live() - before - but})
		before = d.Live() - but
	}
	for _, w := range s.WeightParams() {
		b, err := d.BlankParam(w)
		if err != nil {
			return nil, nil, err
		}
		weights = append(weights, b)
	}
	held("weights", 0)
	return weights, held, nil
}

// Make plans a run of a model, on one of its devices: all hold as much.
func Make(s model.Spec, o Settings) (Plan, error) {
	d := engine.OpenDry(o.GPU, max(1, o.Devices))
	defer d.Close()
	if s.Shards = 0; o.ShardWeights {
		s.Shards = o.Devices
	}
	var p Plan
	weights, held, err := p.weights(d, s)
	if err != nil {
		return p, err
	}
	_, size := o.Train.LoRA.Pieces(s)
	state := train.State{Adapter: make([]float32, size), M: make([]float32, size), V: make([]float32, size)}
	t, err := train.New(d.Engine, s, weights, state, o.Train)
	if err != nil {
		return p, err
	}
	held("adapter and moments", 0)
	if o.Slots > 0 {
		on, base, adapter := d.On(0), engine.Parts(weights, 0), engine.Part(t.Adapter(), 0)
		if o.ShardWeights { // one sampler is on all devices
			on, base, adapter = d.Engine, weights, t.Adapter()
		}
		sampling := sample.Options{LoRA: o.Train.LoRA, Slots: o.Slots, DecodeSteps: o.DecodeSteps, Context: o.Context,
			Prefix: make([]int32, o.Prefix), Apart: o.Apart, Seats: o.Seats}
		if o.Seats > 1 && !o.GPU && !o.ShardWeights { // it comes and goes while the sampler's programs run
			d.Blank(sampling.Aside(s))
			held(SetAside, 0)
		}
		sampler, err := sample.New(on, s, base, sampling)
		if err != nil {
			return p, err
		}
		defer sampler.Close()
		if err := sampler.SetAdapter(adapter, 1); err != nil {
			return p, err
		}
		held(KeysAndValues, sampler.ExtraBytes())
		held(HeldBySampler, 0)
		if err := sampler.Rehearse(); err != nil {
			return p, err
		}
		if _, err := sampler.Sample(context.Background(),
			policy.Request{Prompt: make([]int32, o.Prefix+2), Sampling: policy.Sampling{MaxTokens: 1}}); err != nil {
			return p, err
		}
	}
	numSampling := len(d.Programs())
	if o.Row > 0 {
		if err := steps(t, o); err != nil {
			return p, err
		}
	}
	p.Programs, err = programs(d, numSampling)
	return p, err
}

// programs are those a dry engine compiled, of which the first so many are the sampler's.
func programs(d *engine.Dry, numSampling int) ([]Program, error) {
	var out []Program
	for i, x := range d.Programs() {
		temporary, err := Temporaries(x.HLO(), d.IsGPU())
		if err != nil {
			return nil, fmt.Errorf("%s: %w", x.Name(), err)
		}
		out = append(out, Program{x.Name(), x.HLO(), x.InputNames(), x.ResultNames(), temporary,
			d.MostLive(x) + temporary, i >= numSampling})
	}
	return out, nil
}

// steps takes a step on rows of the longest length, one on rows of which a micro-batch has the most tokens, and one on
// the longest that keep their layers where longer ones do not.
func steps(t *train.Trainer, o Settings) error {
	longest := max(o.Row, 2) // the first token of a row is not trained
	if err := stepsOf(t, o, longest); err != nil {
		return err
	}
	if full := o.Train.FullestRow(longest); full < longest {
		if err := stepsOf(t, o, full); err != nil {
			return err
		}
	}
	if kept := o.Train.KeptRow(longest); kept > 1 && o.Train.Recompute == train.RecomputeLayer {
		return stepsOf(t, o, kept)
	}
	return nil
}

// stepsOf takes a step on rows of a length: as many as are computed at once. A GPU takes one more with another row, as
// a prefix is then not computed with the rows. No row begins as another does, so packed rows are as many trees.
func stepsOf(t *train.Trainer, o Settings, n int) error {
	numbers := make([]float32, n)
	b := batch.Batch{Prefix: make([]int32, o.Prefix)}
	add := func(trained bool) {
		row := batch.Sequence{IDs: make([]int32, n), Trained: make([]bool, n), SamplerLogprobs: numbers,
			Advantages: numbers}
		row.IDs[0] = int32(len(b.Rows))
		for i := 1; i < n; i++ {
			row.Trained[i] = trained
		}
		b.Rows = append(b.Rows, row)
	}
	// of several devices each is to compute a whole micro-batch, as one does of any row
	for i := range max(1, o.Devices) * o.Train.RowsAtOnce(n) {
		add(i == 0)
	}
	err := step(t, b, o)
	if err == nil && o.GPU && o.Prefix > 0 {
		add(true)
		err = step(t, b, o)
	}
	return err
}

func step(t *train.Trainer, b batch.Batch, s Settings) error {
	var o batch.Objective // with dropout, where there is any
	if s.Policy {
		o = batch.Objective{Loss: batch.LossDAPO, Temperature: 1, Clip: batch.Clip{Low: 0.2, High: 0.2},
			Bonus: batch.Bonus{On: s.Entropies}}
		b = b.Exploring()
	}
	_, err := t.Step(context.Background(), b, o, batch.Update{Rate: 1, MaxGradNorm: 1})
	return err
}
