package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"hone/internal/basemodel"
	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/engine"
	"hone/internal/episode/policy"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/learn/model"
	"hone/internal/learn/modelfile"
	"hone/internal/learn/sample"
	"hone/internal/serve"
	"hone/internal/text/grammar"
	"hone/internal/text/render"
)

// places are where adapters stand in a sampler: beside the base model, each in a place of one shape. One place more
// than are served at one time is there, so that an adapter can be replaced while requests of the old one go on.
type places struct {
	host    *host.Host
	config  config.Config
	options Options
	base    *basemodel.Model
	lora    *model.LoRA // the shape; nil: the base model alone
	count   int

	sampler *sample.Samplers
	words   *grammar.Vocabulary

	mu      sync.Mutex
	taken   []bool
	version int // policy version of the last adapter set
}

// usualRank is the rank that adapters loaded at run time may have, as vLLM has it.
const usualRank = 16

// shape finds the shape that holds all adapters: that of them where they are alike, else one of all linear maps and the
// largest rank, with rows of the tokens that any has. Where adapters come at run time, those that a fresh one would
// have are among them.
func (p *places) shape() error {
	spec := p.base.Shape()
	alike, rank := true, 0
	var tokens, headTokens []int32
	with := func(l model.LoRA) { tokens, headTokens = union(tokens, l.Tokens), union(headTokens, l.HeadTokens) }
	for i, a := range p.options.adapters {
		lora, err := p.base.AdapterShape(p.config, a.dir)
		if err != nil {
			return err
		}
		if i == 0 {
			p.lora = &lora
		}
		alike = alike && p.lora.Equal(lora)
		with(lora)
		pieces, _ := lora.Pieces(spec)
		for _, x := range pieces {
			if !x.B {
				rank = max(rank, x.Rows)
			}
		}
	}
	if most := p.options.MaxAdapters; most > 0 {
		alike, rank = false, max(rank, p.options.MaxRank)
		if p.options.MaxRank == 0 {
			rank = max(rank, usualRank)
		}
		p.count = most + 1
		fresh, err := p.base.LoRA(p.config.LoRA)
		if err != nil {
			return err
		}
		with(fresh)
	} else {
		p.count = max(2, len(p.options.adapters)) // a sampler of one adapter has no base model beside it
	}
	if !alike {
		p.lora = &model.LoRA{Rank: rank, Alpha: float64(rank), Tokens: tokens, HeadTokens: headTokens}
	}
	if p.lora == nil {
		p.count = 0
	}
	return nil
}

// union are the ids of both.
func union(x, y []int32) []int32 {
	for _, id := range y {
		if !slices.Contains(x, id) {
			x = append(x, id)
		}
	}
	return x
}

// load puts the weights on the device and starts the sampler, with the adapters in it.
func (p *places) load() (models []serve.Model, err error) {
	if err := p.base.Load(model.LoadToSample); err != nil {
		return nil, err
	}
	o := p.options
	tok := p.base.Text.Tokenizer
	sampling := sample.Options{Slots: o.Slots, Context: o.Context, NewDecoder: func() sample.Decoder {
		return tok.NewDecoder()
	}}
	if p.lora != nil {
		sampling.LoRA, sampling.Adapters = *p.lora, p.count
	}
	p.host.Say("loading %s on %s; programs that are not kept yet are compiled", o.Base, p.base.Engine.Description())
	if p.sampler, err = sample.NewSamplers(p.base.Engine, p.base.Spec, p.base.Weights, sampling); err != nil {
		return nil, err
	}
	p.taken = make([]bool, p.count)
	p.words = render.TokenTexts(tok, p.base.Spec.VocabSize)
	for _, a := range o.adapters {
		f, err := readFolder(a.dir)
		if err != nil {
			return nil, err
		}
		m, err := p.put(a.name, f)
		if err != nil {
			return nil, err
		}
		models = append(models, m)
	}
	// the base model is prompted its own way, not an adapter's
	text, err := basemodel.ReadText(p.config.Model, p.base.File)
	if err != nil {
		return nil, err
	}
	r, err := text.Renderer("")
	if err != nil && len(models) > 0 {
		p.host.Say("%s alone is not served: %v", o.Base, err)
		return models, nil
	}
	if err != nil {
		return nil, err
	}
	m := p.model(o.Base, r)
	if p.count > 0 {
		m.Adapter = policy.NoAdapter
	}
	return append(models, m), nil
}

// model is what is served under a name with a renderer.
func (p *places) model(name string, r render.Renderer) serve.Model {
	tok := p.base.Text.Tokenizer
	m := serve.Model{
		ID:         name,
		Sampler:    p.sampler,
		Renderer:   r,
		Decode:     tok.Decode,
		Encode:     tok.Encode,
		Token:      tok.Token,
		MaxContext: p.options.Context,
		NewDecoder: func() serve.Decoder { return tok.NewDecoder() },
		Failed:     p.sampler.Failed,
		Read: func(prompt []int32, tools []chat.Tool) serve.Reader {
			if len(tools) == 0 {
				return r.Reader(prompt, nil).WithoutCalls()
			}
			return r.Reader(prompt, tools)
		},
		VocabSize: p.base.Spec.VocabSize,
		Shape:     &serve.Shape{Words: p.words, Opens: r.Opens},
	}
	if frame, ok := r.ToolFormat().Frame(); ok {
		held := grammar.Frame(frame)
		m.Shape.Frame, m.Shape.Read = &held, func(prompt []int32) serve.Reader {
			return r.Reader(prompt, nil).WithFrame(frame)
		}
	}
	return m
}

// Load implements serve.Adapters. A client learns of a path that it holds an adapter, and of that whether it fits; of
// any other it does not even learn whether something is there.
func (p *places) Load(_ context.Context, name, dir string) (serve.Model, error) {
	f, err := readFolder(dir)
	if err != nil {
		p.host.Say("warning: a client asked for an adapter that cannot be read: %v", err)
		return serve.Model{}, &fault.Error{Code: fault.CodeUsage, What: "there is no adapter that can be read",
			Where: dir, Why: "the server's log says why",
			Next: "name the folder that holds " + modelfile.ConfigFile + " and " + modelfile.WeightsFile}
	}
	return p.put(name, f)
}

// folder is an adapter's, with what was read of it.
type folder struct {
	dir     string
	config  modelfile.AdapterConfig
	tensors map[string]modelfile.Matrix
}

// readFolder reads an adapter. All that is read of a folder, here or later, is a regular file or a link to one: opening
// another, such as a pipe, may take forever.
func readFolder(dir string) (f folder, err error) {
	for _, name := range []string{
		modelfile.ConfigFile, modelfile.WeightsFile, render.PromptingFile, render.TemplateFile,
	} {
		path := filepath.Join(dir, name)
		info, err := os.Stat(path)
		missing := errors.Is(err, fs.ErrNotExist) && (name == render.PromptingFile || name == render.TemplateFile)
		if err == nil && !info.Mode().IsRegular() {
			err = errors.New("it is no regular file")
		}
		if err != nil && !missing {
			return f, &fault.Error{Code: fault.CodeUsage, What: "cannot read the adapter", Where: path, Err: err,
				Next: "name the folder that holds " + modelfile.ConfigFile + " and " + modelfile.WeightsFile}
		}
	}
	f.dir = dir
	f.config, f.tensors, err = modelfile.LoadAdapter(dir)
	return f, err
}

// put makes an adapter a model of a name.
func (p *places) put(name string, f folder) (serve.Model, error) {
	dir := f.dir
	trained, template, own, err := Prompting(p.host, p.config, dir)
	if err != nil {
		return serve.Model{}, err
	}
	text, err := basemodel.ReadText(own.Model, p.base.File)
	if err != nil {
		return serve.Model{}, err
	}
	r, err := text.Under(trained).Renderer(own.Rollout.System)
	if err != nil {
		return serve.Model{}, err
	}
	if template != "" && template != r.Template() {
		p.host.Say("warning: %s differs from hone's own template: the adapter is not prompted as it was trained",
			filepath.Join(dir, render.TemplateFile))
	}
	lora, flat, err := model.PEFTOf(dir, f.config, f.tensors, p.base.Spec)
	if err != nil {
		return serve.Model{}, err
	}
	if flat, err = lora.Within(p.base.Spec, flat, *p.lora); err != nil {
		return serve.Model{}, &fault.Error{Code: fault.CodeUsage, What: "the adapter does not fit its place",
			Where: dir, Err: err,
			Next: "start hone serve with a larger --max-rank, or with this adapter, where it has rows of tokens"}
	}
	place, err := p.set(flat)
	if err != nil {
		return serve.Model{}, err
	}
	m := p.model(name, r)
	m.Adapter, m.Root, m.Parent = place, dir, p.options.Base
	return m, nil
}

// set writes an adapter into a free place.
func (p *places) set(flat []float32) (place int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for place < len(p.taken) && p.taken[place] {
		place++
	}
	if place == len(p.taken) {
		return 0, &fault.Error{Code: fault.CodeExhausted, What: "all places for adapters are taken",
			Why: fmt.Sprintf("there are %d",
				p.count-1), Next: "unload one, or start hone serve with a larger --max-adapters"}
	}
	b, err := p.base.Engine.Upload(flat, len(flat))
	if err != nil {
		return 0, err
	}
	defer engine.Free(b) // it is copied into the sampler's own arrays
	p.version++
	// not 0, which tells the base model in an answer's fingerprint
	if err := p.sampler.SetAdapterOf(place, b, p.version); err != nil {
		return 0, err
	}
	p.taken[place] = true
	return place, nil
}

// Unload implements serve.Adapters.
func (p *places) Unload(m serve.Model) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken[m.Adapter] = false
}

func (p *places) close() {
	if p.sampler != nil {
		p.sampler.Close()
	}
	p.base.Close()
}
