// Package job does what the verbs of hone do, in a run directory where they have one.
package job

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"

	"hone/internal/basemodel"
	"hone/internal/config"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/learn/adapter"
	"hone/internal/learn/model"
	"hone/internal/learn/publish"
	"hone/internal/learn/sample"
	"hone/internal/learn/samplers"
	"hone/internal/recipe"
	"hone/internal/serve"
	"hone/internal/text/render"
	"hone/internal/toolset"
)

// BaseOnly is what --model is given where no adapter is to be served.
const BaseOnly = "base"

// ServeOptions are the flags of hone serve.
type ServeOptions struct {
	Model   string // adapter folder, or BaseOnly
	Base    string // base model; "" is the configuration's
	Listen  string // address
	KeyEnv  string // variable that holds the key clients must send; "": none
	Context int    // tokens of one conversation; 0: as many as the adapter was trained at, where its run says so
	Slots   int    // completions sampled at once, for each model
}

// served is what serve prints once it answers.
type served struct {
	URL    string   `json:"url"`
	Models []string `json:"models"`
}

// Serve answers OpenAI's chat-completions protocol until ctx ends.
func Serve(ctx context.Context, h *host.Host, c config.Config, o ServeOptions) error {
	if o.Base == "" {
		o.Base = c.Model.Base
	}
	key, err := o.check(h)
	if err != nil {
		return err
	}
	if o.Context == 0 {
		o.Context = o.trainedAt()
	}
	listener, err := o.listener(key)
	if err != nil {
		return err
	}
	defer func() { _ = listener.Close() }() // Serve has closed it where all went well
	c.Engine.Devices = 1
	trained, template, own, err := o.Prompting(h, c)
	if err != nil {
		return err
	}
	own.Model.Context = o.Context
	m, err := basemodel.Find(h, own, o.Base, trained)
	if err != nil {
		return err
	}
	defer m.Close()
	served := o.Model
	if served == BaseOnly {
		served = ""
	}
	if err := m.FitServing(c, served, o.Context, o.Slots); err != nil {
		return err
	}
	if h.DryRun {
		h.Say("would serve %s over %s on %s", o.Model, o.Base, o.Listen)
		return nil
	}
	if err := m.Load(model.LoadToSample); err != nil {
		return err
	}
	if template != "" && template != m.Renderer.Template() {
		h.Say("warning: %s differs from hone's own template: the adapter is not prompted as it was trained", filepath.Join(o.Model, render.TemplateFile))
	}
	models, closeModels, err := o.models(h, c, m)
	defer closeModels()
	if err != nil {
		return err
	}
	basemodel.SayPrograms(h, m.Engine)
	level := slog.LevelWarn
	if h.Verbose {
		level = slog.LevelDebug
	}
	shorten, err := toolset.Shortener(h, c.Rollout)
	if err != nil {
		return err
	}
	s, err := serve.New(serve.Options{Models: models, Key: key, MaxTokens: o.Context, Shorten: shorten,
		Logger: slog.New(slog.NewTextHandler(h.Talk, &slog.HandlerOptions{Level: level}))})
	if err != nil {
		return err
	}
	if err := announce(h, "http://"+listener.Addr().String()+"/v1", models, o.KeyEnv); err != nil {
		return err
	}
	return s.Serve(ctx, listener)
}

// trainedAt is model.context of the run that the adapter lies in: in longer conversations it was never trained. Where no run says it, it
// is 1024.
func (o ServeOptions) trainedAt() int {
	const usual = 1024
	if o.Model == BaseOnly {
		return usual
	}
	dir := runOf(o.Model)
	text, err := os.ReadFile(filepath.Join(dir, configFile))
	if dir == "" || err != nil {
		return usual
	}
	c, err := config.Parse(configFile, text)
	if err != nil || c.Model.Context == 0 {
		return usual
	}
	return c.Model.Context
}

// listener listens where it is to, before the model takes its time to load, and refuses what others can reach without a key.
func (o ServeOptions) listener(key string) (net.Listener, error) {
	listener, err := net.Listen("tcp", o.Listen)
	if err != nil {
		return nil, &fault.Error{Code: fault.CodeUsage, What: "cannot listen", Where: o.Listen, Next: "name another address with --listen", Err: err}
	}
	if at, ok := listener.Addr().(*net.TCPAddr); key == "" && (!ok || !at.IP.IsLoopback()) {
		_ = listener.Close() // nobody has come
		return nil, &fault.Error{Code: fault.CodeUsage, What: "will not serve without a key", Where: "--listen " + o.Listen,
			Why: "the address can be reached from other machines", Next: "name the variable that holds a key with --key-env, or listen on 127.0.0.1"}
	}
	return listener, nil
}

// check validates the flags and reads the key.
func (o ServeOptions) check(h *host.Host) (key string, err error) {
	wrong := ""
	switch {
	case o.Model == "":
		wrong = "--model is missing: give an adapter folder, or base"
	case o.Slots < 1:
		wrong = "--slots must be at least 1"
	case o.Context < 0:
		wrong = "--context must not be negative"
	}
	if wrong != "" {
		return "", &fault.Error{Code: fault.CodeUsage, What: wrong, Next: "hone serve --help"}
	}
	if o.isBase() {
		return "", &fault.Error{Code: fault.CodeUsage, What: "this is a base model, where an adapter's folder is asked for", Where: "--model " + o.Model,
			Next: "hone serve --model " + BaseOnly + " --base-model " + o.Model}
	}
	if o.KeyEnv == "" {
		return "", nil
	}
	if key, _ = h.LookupEnv(o.KeyEnv); key == "" {
		return "", &fault.Error{Code: fault.CodeUsage, What: "there is no key for clients to send", Where: "--key-env " + o.KeyEnv,
			Why: "the variable is not set or empty", Next: "set it, or leave out --key-env"}
	}
	return key, nil
}

// isBase reports whether --model is a whole model: a file, or a folder with a model's configuration and no adapter's.
func (o ServeOptions) isBase() bool {
	info, err := os.Stat(o.Model)
	if o.Model == BaseOnly || err != nil {
		return false
	}
	_, adapterErr := os.Stat(filepath.Join(o.Model, adapter.ConfigFile))
	_, modelErr := os.Stat(filepath.Join(o.Model, "config.json"))
	return !info.IsDir() || adapterErr != nil && modelErr == nil
}

// Prompting says how the adapter was prompted in training, and the configuration with which it is prompted so. Of an adapter
// that does not say, template is the chat template beside it, in which hone's own form is recognised.
func (o ServeOptions) Prompting(h *host.Host, c config.Config) (trained *render.Prompting, template string, own config.Config, err error) {
	c.Rollout.System = ""
	if o.Model == BaseOnly {
		return nil, "", c, nil
	}
	if c, trained, err = basemodel.TrainedUnder(h, c, o.Model, false); trained != nil || err != nil {
		return trained, "", c, err
	}
	c.Rollout.System, template, err = o.template()
	return nil, template, c, err
}

// template reads the chat template beside the adapter, if there is one, and the system message that stands in it: the
// adapter must be prompted as it was trained.
func (o ServeOptions) template() (system, template string, err error) {
	if o.Model == BaseOnly {
		return "", "", nil
	}
	text, err := os.ReadFile(filepath.Join(o.Model, render.TemplateFile))
	if errors.Is(err, fs.ErrNotExist) {
		return "", "", nil
	}
	return templateSystem(string(text)), string(text), err
}

// templateSystem is the default system message of a template that render.ChatML wrote; empty where it finds none.
func templateSystem(template string) string {
	for line := range strings.Lines(template) {
		literal, ok := strings.CutPrefix(strings.TrimSpace(line), "{%- set system = '")
		if literal, isText := strings.CutSuffix(literal, "' %}"); ok && isText {
			return strings.NewReplacer(`\\`, `\`, `\'`, `'`, `\n`, "\n", `\r`, "\r").Replace(literal)
		}
	}
	return ""
}

// models starts a sampler for the base model and, where there is one, for the adapter. The function returned stops
// them and is never nil.
func (o ServeOptions) models(h *host.Host, c config.Config, m *basemodel.Model) ([]serve.Model, func(), error) {
	var open []*samplers.Samplers
	stop := func() {
		for _, s := range open {
			s.Close()
		}
	}
	var models []serve.Model
	add := func(id string, r render.Renderer, lora model.LoRA) (*samplers.Samplers, error) {
		h.Say("loading %s on %s; programs that are not kept yet are compiled", id, m.Engine.Description())
		s, err := samplers.New(m.Engine, m.Spec, m.Weights, sample.Options{LoRA: lora, Slots: o.Slots, Context: o.Context,
			NewDecoder: func() sample.Decoder { return m.Text.Tokenizer.NewDecoder() }})
		if err == nil {
			open = append(open, s)
			models = append(models, serve.Model{ID: id, Sampler: s, Renderer: r, Decode: m.Text.Tokenizer.Decode,
				NewDecoder: func() serve.Decoder { return m.Text.Tokenizer.NewDecoder() }, Read: func(prompt []int32) serve.Reader { return r.Reader(prompt) },
				VocabSize: m.Spec.VocabSize})
		}
		return s, err
	}
	if o.Model != BaseOnly {
		f, err := publish.OpenFolder(m.Engine, m.Spec, o.Model, 1) // not 0, which tells the base model in an answer's fingerprint
		if err != nil {
			return nil, stop, err
		}
		defer f.Close() // it is copied into the sampler's own arrays
		s, err := add(filepath.ToSlash(filepath.Clean(o.Model)), m.Renderer, f.LoRA())
		if err == nil {
			err = recipe.Publish(publish.New(f, publish.InProcess(s)), "the adapter "+o.Model)
		}
		if err != nil {
			return nil, stop, err
		}
	}
	text, err := basemodel.ReadText(c.Model, m.File) // the base model is prompted its own way, not the adapter's
	if err != nil {
		return nil, stop, err
	}
	r, err := text.Renderer("")
	if err != nil && o.Model != BaseOnly {
		h.Say("%s alone is not served: %v", o.Base, err)
		return models, stop, nil
	}
	if err != nil {
		return nil, stop, err
	}
	_, err = add(o.Base, r, model.LoRA{})
	return models, stop, err
}

func announce(h *host.Host, url string, models []serve.Model, keyEnv string) error {
	s := served{URL: url}
	for _, m := range models {
		s.Models = append(s.Models, m.ID)
	}
	if err := h.Print(s, [][]string{{s.URL}}); err != nil {
		return err
	}
	authorization := ""
	if keyEnv != "" {
		authorization = ` -H "Authorization: Bearer $` + keyEnv + `"`
	}
	h.Say("models: %s", strings.Join(s.Models, ", "))
	h.Say("try:  curl %s/chat/completions%s -H 'Content-Type: application/json' \\\n"+
		`        -d '{"model": %q, "messages": [{"role": "user", "content": "Hello"}]}'`, url, authorization, s.Models[0])
	return nil
}
