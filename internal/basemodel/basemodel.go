package main

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"time"

	"hone/internal/assets"
	"hone/internal/config"
	"hone/internal/episode/rollout"
	"hone/internal/episode/scenario"
	"hone/internal/host"
	"hone/internal/learn/batch"
	"hone/internal/learn/engine"
	"hone/internal/learn/model"
	"hone/internal/learn/samplers"
	"hone/internal/learn/train"
	"hone/internal/modelfile"
	"hone/internal/text/render"
	"hone/internal/text/tokenizer"
)

// machine is a base model on a device, with its text layer: what every verb that thinks needs.
type machine struct {
	file     *modelfile.Model
	engine   *engine.Engine
	dtype    engine.DType
	devices  int
	context  int // model.context, by which a longrope model takes its factors
	cache    engine.Cache
	spec     model.Spec
	weights  []engine.Buffer
	tok      *tokenizer.Tokenizer
	renderer render.Renderer
	host     *host.Host
}

// openMachine loads the base model (a path, or the name of an installed one) and opens the device. It has no text layer.
func (a *app) openMachine(c config.Config, base string) (*machine, error) {
	m, plugin, err := a.findModelFile(c, base)
	if err != nil {
		return nil, err
	}
	m.devices = 1 // engine.devices are a run's, which trains and samples on all of them
	return m, m.load(plugin, base, model.Load)
}

// load opens the devices and copies the weights to each, as one of model's functions does.
func (m *machine) load(plugin, base string, load func(*engine.Engine, *modelfile.Model) (model.Spec, []engine.Buffer, error)) (err error) {
	o := engine.Options{Plugin: plugin, DType: m.dtype, Devices: m.devices, Cache: m.cache}
	m.host.Opens(o)
	if m.engine, err = engine.Open(o); err != nil {
		return err
	}
	m.spec, m.weights, err = load(m.engine, m.file)
	m.spec.MaxContext = m.file.Config.MaxContext
	m.spec = m.spec.ForContext(m.context)
	m.spec.Name = base // what an adapter will say it was trained on
	return err
}

// checkDevices refuses devices that there are not, as far as that is known before servers are started.
func (a *app) checkDevices(c config.Config) error {
	if err := checkShards(c); err != nil {
		return err
	}
	plugin, err := a.plugin(c)
	if err != nil {
		return err
	}
	return engine.CheckDevices(plugin, c.Engine.Devices)
}

// loader is how a run that trains loads its weights.
func loader(c config.Config) func(*engine.Engine, *modelfile.Model) (model.Spec, []engine.Buffer, error) {
	if shards(c) {
		return model.LoadSharded
	}
	return model.Load
}

// findModelFile finds the plug-in and the base model's file. No device is opened.
func (a *app) findModelFile(c config.Config, base string) (m *machine, plugin string, err error) {
	path, err := a.modelPath(base)
	if err != nil {
		return nil, "", err
	}
	if plugin, err = a.plugin(c); err != nil {
		return nil, "", err
	}
	m = &machine{dtype: engine.DType(c.Engine.DType), devices: c.Engine.Devices, context: c.Model.Context, cache: a.programCache(c.Engine), host: a.Host}
	m.file, err = modelfile.Open(path)
	return m, plugin, err
}

// findMachine is findModelFile with the text layer: the model is prompted as trained says; where that is nil, as the base
// model and the configuration do.
func (a *app) findMachine(c config.Config, base string, trained *render.Prompting) (m *machine, plugin string, err error) {
	if m, plugin, err = a.findModelFile(c, base); err != nil {
		return nil, "", err
	}
	words, err := textOf(c.Model, m.file)
	if err != nil {
		return nil, "", err
	}
	if trained != nil {
		words.trained = trained
	}
	m.tok = words.tok
	m.renderer, err = words.renderer(c.Rollout.System)
	return m, plugin, err
}

func (a *app) modelPath(base string) (string, error) {
	if base != assets.Model().Name {
		return base, nil
	}
	s, err := a.Store()
	if err != nil {
		return "", err
	}
	return s.Path(assets.Model()), nil
}

// close releases the device and the file.
func (m *machine) close() {
	if m.engine != nil {
		m.engine.Close()
	}
	_ = m.file.Close() // read only
}

// sharedPrefix is what the prompts of all scenarios begin with: the system message with its tools, and what follows it.
// It returns the length of the longest prompt too.
func (m *machine) sharedPrefix(o rollout.Options, scenarios []scenario.Scenario) (shared []int32, longest int, err error) {
	for i, s := range scenarios {
		ids, err := m.renderer.Prompt(rollout.Opening(o.System, s.Task), o.ToolList)
		if err != nil {
			return nil, 0, err
		}
		longest = max(longest, len(ids))
		if i == 0 {
			shared = ids[:len(ids)-1]
			continue
		}
		n := 0
		for n < len(shared) && n < len(ids)-1 && shared[n] == ids[n] {
			n++
		}
		shared = shared[:n]
	}
	return shared, longest, nil
}

// trainer has the adapter in folder, or a fresh one where that is empty. prefix is what all rows share: steps that shared
// more than that by chance would each be compiled anew.
func (m *machine) trainer(c config.Config, folder string, prefix int) (*train.Trainer, model.LoRA, error) {
	lora := loraOf(c.LoRA)
	state := train.NewState(m.spec, lora, c.Seed)
	if folder != "" {
		var err error
		if lora, state.Adapter, err = train.LoadAdapter(folder, m.spec); err != nil {
			return nil, lora, err
		}
		state.M, state.V = make([]float32, len(state.Adapter)), make([]float32, len(state.Adapter))
	}
	o := train.Options{LoRA: lora, MicroBatch: c.Engine.MicroBatch, Recompute: recomputeOf(c),
		RowMultiple: c.Engine.RowMultiple, MaxPrefix: max(1, prefix), EightBitMoments: c.Engine.Moments == "8bit",
		Dropout: c.LoRA.Dropout, Seed: c.Seed, Notice: func(text string) { m.host.Say("%s", text) }}
	m.host.Opens(o)
	m.host.Opens(state)
	t, err := train.New(m.engine, m.spec, m.weights, state, o)
	return t, lora, err
}

// learner is a trainer whose adapter a sampler follows; it counts what training costs.
type learner struct {
	*train.Trainer
	renderer render.Renderer
	sampler  *samplers.Samplers
	seconds  float64
	tokens   int    // computed, a shared prefix counted once a step
	held     string // hash of the adapter that the sampler holds, "" for the base model
}

// Publish gives the adapter to the sampler.
func (l *learner) Publish() (err error) {
	if err := l.sampler.SetAdapter(l.Adapter(), l.PolicyVersion()); err != nil {
		return err
	}
	l.held, err = adapterHash(l.Trainer)
	return err
}

// Checksums implements recipe.Trainer.
func (l *learner) Checksums() (trained, sampled []uint64, err error) {
	if trained, err = l.AdapterChecksums(); err != nil {
		return nil, nil, err
	}
	sampled, err = l.sampler.Checksums()
	return trained, sampled, err
}

// withdraw leaves the base model to the sampler.
func (l *learner) withdraw() error {
	l.held = ""
	return l.sampler.SetAdapter(nil, 0)
}

// adapterHash names a trainer's adapter by its numbers, bit for bit: on a GPU a step that is computed again gives others.
func adapterHash(t *train.Trainer) (string, error) {
	numbers, err := engine.Floats(t.Adapter())
	if err != nil {
		return "", err
	}
	h := sha256.New()
	if err := binary.Write(h, binary.LittleEndian, numbers); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// Save implements recipe.Trainer.
func (l *learner) Save(dir string) error { return saveState(dir, l.Trainer, l.renderer) }

// Gradient implements recipe.Trainer.
func (l *learner) Gradient(ctx context.Context, b batch.Batch, o batch.Objective) (batch.StepStats, error) {
	began := time.Now()
	stats, err := l.Trainer.Gradient(ctx, b, o)
	l.seconds += time.Since(began).Seconds()
	l.tokens += stats.NumTokens
	return stats, err
}

// Apply implements recipe.Trainer.
func (l *learner) Apply(u batch.Update) (float64, error) {
	began := time.Now()
	norm, err := l.Trainer.Apply(u)
	l.seconds += time.Since(began).Seconds()
	return norm, err
}
