// Package basemodel finds and opens the model that is trained: the plug-in it computes with, its weights, its
// tokenizer, and how it is prompted.
package basemodel

import (
	"slices"

	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/engine"
	"hone/internal/episode/policy"
	"hone/internal/host"
	"hone/internal/learn/model"
	"hone/internal/learn/modelfile"
	"hone/internal/text/render"
)

// Model is a base model, on a device once it is loaded.
type Model struct {
	Name     string // a path, or the name of an installed one
	File     *modelfile.Model
	Plugin   Plugin
	Text     *Text // nil where the model was opened without
	Renderer render.Renderer
	Engine   *engine.Engine // nil until Load
	Spec     model.Spec
	Weights  []engine.Buffer
	host     *host.Host
	Options  engine.Options // of Load
	// RowPrograms counts those that are compiled.
	RowPrograms *RowPrograms
	context     int        // model.context, by which a longrope model takes its factors
	found       *Untrained // nil until it is looked for
}

// Find finds the plug-in and the file of a base model, by its path or its installed name, with its text layer: it is
// prompted as trained says; where that is nil, as the model itself and the configuration do. No device is opened.
func Find(h *host.Host, c config.Config, base string, trained *render.Prompting) (*Model, error) {
	m, err := FindWithoutText(h, c, base)
	if err != nil {
		return nil, err
	}
	if m.Text, err = ReadText(c.Model, m.File); err != nil {
		return nil, err
	}
	if trained != nil {
		m.Text.trained = trained
	}
	m.Renderer, err = m.Text.Renderer(c.Rollout.System)
	return m, err
}

// FindWithoutText is Find of a model that is given ids: it may have no tokenizer and no chat template.
func FindWithoutText(h *host.Host, c config.Config, base string) (*Model, error) {
	path, err := Path(h, base)
	if err != nil {
		return nil, err
	}
	m := &Model{Name: base, host: h, context: c.Model.Context, RowPrograms: &RowPrograms{}}
	if m.Plugin, err = TakePlugin(h, c.Engine); err != nil {
		return nil, err
	}
	m.Options = engine.Options{Plugin: m.Plugin.Path, DType: engine.DType(c.Engine.DType), Devices: c.Engine.Devices,
		Cache: ProgramCache(h, c.Engine), Compiling: Compiling(h, m.Plugin.IsCUDA(), m.RowPrograms)}
	m.File, err = modelfile.Open(path)
	return m, err
}

// Load opens the devices and copies the weights to each, as one of model's functions does.
func (m *Model) Load(weights func(*engine.Engine, *modelfile.Model) (model.Spec, []engine.Buffer, error)) (err error) {
	m.host.Opens(m.Options)
	if m.Engine, err = engine.Open(m.Options); err != nil {
		return err
	}
	m.Spec, m.Weights, err = weights(m.Engine, m.File)
	m.Spec.MaxContext = m.File.Config.MaxContext
	m.Spec = m.Spec.ForContext(m.context)
	m.Spec.Name = m.Name // what an adapter will say it was trained on
	return err
}

// LoadShape is Load of a model that another process computes: pure Go is opened for what is to be said of its adapters,
// and no weight is read.
func (m *Model) LoadShape() (err error) {
	m.Options = engine.Options{}
	m.Engine, err = engine.Open(m.Options)
	m.Spec = m.Shape()
	m.Spec.Name = m.Name
	return err
}

// Shape is that of a model that is not loaded, as Load makes it.
func (m *Model) Shape() model.Spec { return shapeOf(m.File, m.context) }

func shapeOf(file *modelfile.Model, context int) model.Spec {
	return model.Spec{Config: file.Config}.ForContext(context)
}

func openFile(h *host.Host, base string) (*modelfile.Model, error) {
	path, err := Path(h, base)
	if err != nil {
		return nil, err
	}
	return modelfile.Open(path)
}

// Close releases the devices and the file.
func (m *Model) Close() {
	if m.Engine != nil {
		m.Engine.Close()
	}
	_ = m.File.Close() // read only
}

// fewWords are tokens that the tasks of a set may begin with alike by chance: to share them is worth no programs of a
// length of its own.
const fewWords = 32

// BeforeTask cuts what the prompts of some conversations begin with to what comes before the first of them says its
// task, where that is little shorter: so it does not hang on which tasks there are, and sft, train, eval and serve have
// the same on the same tools.
func (m *Model) BeforeTask(prefix []int32, tools []chat.Tool, first []chat.Message) ([]int32, error) {
	at := -1
	for i, message := range first {
		if message.Role == chat.User {
			at = i
		}
	}
	if at < 0 {
		return prefix, nil
	}
	var other [2][]int32
	for i, text := range []string{"Hi.", "please"} {
		messages := slices.Clone(first)
		messages[at].Content = text
		var err error
		if other[i], err = m.Renderer.Prompt(messages, tools); err != nil {
			return nil, err
		}
	}
	n := min(policy.CommonPrefix(other[0], other[1]), policy.CommonPrefix(other[0], prefix))
	if len(prefix)-n > fewWords {
		return prefix, nil
	}
	return prefix[:n], nil
}

// SharedPrefix is what the prompts of all conversations begin with, behind the tools and before their tasks. It returns
// the length of the longest prompt too.
func (m *Model) SharedPrefix(
	tools []chat.Tool, conversations [][]chat.Message,
) (shared []int32, longest int, err error) {
	for i, messages := range conversations {
		ids, err := m.Renderer.Prompt(messages, tools)
		if err != nil {
			return nil, 0, err
		}
		longest = max(longest, len(ids))
		if i == 0 {
			shared = ids[:len(ids)-1]
			continue
		}
		shared = shared[:policy.CommonPrefix(shared, ids[:len(ids)-1])]
	}
	if len(conversations) > 0 {
		shared, err = m.BeforeTask(shared, tools, conversations[0])
	}
	return shared, longest, err
}

// BaseOf returns the base model for an adapter: the one given, else the one the adapter names, else the
// configuration's.
func BaseOf(folder, given string, c config.Config) (string, error) {
	if given != "" || folder == "" {
		if given == "" {
			given = c.Model.Base
		}
		return given, nil
	}
	a, _, err := modelfile.LoadAdapter(folder)
	if err != nil || a.BaseModel != "" {
		return a.Base(), err
	}
	return c.Model.Base, nil
}

// StartFrom is c with the base model and the adapter that training starts from, and with lengths for them.
func StartFrom(h *host.Host, c config.Config, lora GivenLoRA, adapter, base string) (config.Config, error) {
	var err error
	if c.Model.Base, err = BaseOf(adapter, base, c); err == nil {
		c.Model.Base, err = PinRevision(h, c.Model.Base)
	}
	if err == nil {
		if c, err = SettleLengths(h, c); err == nil {
			err = lora.Apply(h, &c, adapter)
		}
	}
	return c, err
}
