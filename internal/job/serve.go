package main

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"hone/internal/basemodel"
	"hone/internal/config"
	"hone/internal/fault"
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

// baseOnly is what --model is given where no adapter is to be served.
const baseOnly = "base"

type serveOptions struct {
	model, base, listen, keyEnv string
	context, slots              int
}

func newServe(a *app) *cobra.Command {
	o := serveOptions{}
	c := &cobra.Command{
		Use:   "serve --model DIR|base",
		Short: "Answer OpenAI's chat-completions protocol with a trained adapter, or with the base model",
		Long: "serve loads a base model and an adapter folder (PEFT's files, as a run's final/) and answers /v1/chat/completions.\n" +
			"Both are served: the adapter under the name given to --model, the base model under its own. Ctrl-C lets requests\n" +
			"in flight finish.",
		Example: "  hone serve --model runs/demo-20260102-150405/final\n  hone serve --model base --listen 127.0.0.1:8001",
		Args:    arguments(0, 0, ""),
		RunE:    func(c *cobra.Command, _ []string) error { return runServe(c.Context(), a, o) },
	}
	f := c.Flags()
	f.StringVar(&o.model, "model", "", "adapter folder, or base for the base model alone")
	f.StringVar(&o.base, "base-model", "", "base model: a path, or the name of an installed one (default the configuration's)")
	f.StringVar(&o.listen, "listen", "127.0.0.1:8000", "address; port 0 takes a free one")
	f.StringVar(&o.keyEnv, "key-env", "", "environment variable that holds the key clients must send")
	f.IntVar(&o.context, "context", 1024, "tokens of one conversation")
	f.IntVar(&o.slots, "slots", 8, "completions sampled at once, for each model")
	return c
}

// served is what serve prints once it answers.
type served struct {
	URL    string   `json:"url"`
	Models []string `json:"models"`
}

func runServe(ctx context.Context, a *app, o serveOptions) error {
	c, err := a.config()
	if err != nil {
		return err
	}
	if o.base == "" {
		o.base = c.Model.Base
	}
	key, err := o.check(a)
	if err != nil {
		return err
	}
	listener, err := o.listener(key)
	if err != nil {
		return err
	}
	defer func() { _ = listener.Close() }() // Serve has closed it where all went well
	c.Engine.Devices = 1
	trained, template, own, err := o.prompting(a, c)
	if err != nil {
		return err
	}
	own.Model.Context = o.context
	m, err := basemodel.Find(a.Host, own, o.base, trained)
	if err != nil {
		return err
	}
	defer m.Close()
	served := o.model
	if served == baseOnly {
		served = ""
	}
	if err := m.FitServing(c, served, o.context, o.slots); err != nil {
		return err
	}
	if a.DryRun {
		a.Say("would serve %s over %s on %s", o.model, o.base, o.listen)
		return nil
	}
	if err := m.Load(model.LoadToSample); err != nil {
		return err
	}
	if template != "" && template != m.Renderer.Template() {
		a.Say("warning: %s differs from hone's own template: the adapter is not prompted as it was trained", filepath.Join(o.model, render.TemplateFile))
	}
	models, closeModels, err := o.models(a, c, m)
	defer closeModels()
	if err != nil {
		return err
	}
	basemodel.SayPrograms(a.Host, m.Engine)
	level := slog.LevelWarn
	if a.Verbose {
		level = slog.LevelDebug
	}
	shorten, err := toolset.Shortener(a.Host, c.Rollout)
	if err != nil {
		return err
	}
	s, err := serve.New(serve.Options{Models: models, Key: key, MaxTokens: o.context, Shorten: shorten,
		Logger: slog.New(slog.NewTextHandler(a.Talk, &slog.HandlerOptions{Level: level}))})
	if err != nil {
		return err
	}
	if err := announce(a, "http://"+listener.Addr().String()+"/v1", models, o.keyEnv); err != nil {
		return err
	}
	return s.Serve(ctx, listener)
}

// listener listens where it is to, before the model takes its time to load, and refuses what others can reach without a key.
func (o serveOptions) listener(key string) (net.Listener, error) {
	listener, err := net.Listen("tcp", o.listen)
	if err != nil {
		return nil, &fault.Error{Code: fault.CodeUsage, What: "cannot listen", Where: o.listen, Next: "name another address with --listen", Err: err}
	}
	if at, ok := listener.Addr().(*net.TCPAddr); key == "" && (!ok || !at.IP.IsLoopback()) {
		_ = listener.Close() // nobody has come
		return nil, &fault.Error{Code: fault.CodeUsage, What: "will not serve without a key", Where: "--listen " + o.listen,
			Why: "the address can be reached from other machines", Next: "name the variable that holds a key with --key-env, or listen on 127.0.0.1"}
	}
	return listener, nil
}

// check validates the flags and reads the key.
func (o serveOptions) check(a *app) (key string, err error) {
	wrong := ""
	switch {
	case o.model == "":
		wrong = "--model is missing: give an adapter folder, or base"
	case o.slots < 1:
		wrong = "--slots must be at least 1"
	case o.context < 1:
		wrong = "--context must be at least 1"
	}
	if wrong != "" {
		return "", &fault.Error{Code: fault.CodeUsage, What: wrong, Next: "hone serve --help"}
	}
	if o.isBase() {
		return "", &fault.Error{Code: fault.CodeUsage, What: "this is a base model, where an adapter's folder is asked for", Where: "--model " + o.model,
			Next: "hone serve --model " + baseOnly + " --base-model " + o.model}
	}
	if o.keyEnv == "" {
		return "", nil
	}
	if key, _ = a.LookupEnv(o.keyEnv); key == "" {
		return "", &fault.Error{Code: fault.CodeUsage, What: "there is no key for clients to send", Where: "--key-env " + o.keyEnv,
			Why: "the variable is not set or empty", Next: "set it, or leave out --key-env"}
	}
	return key, nil
}

// isBase reports whether --model is a whole model: a file, or a folder with a model's configuration and no adapter's.
func (o serveOptions) isBase() bool {
	info, err := os.Stat(o.model)
	if o.model == baseOnly || err != nil {
		return false
	}
	_, adapterErr := os.Stat(filepath.Join(o.model, adapter.ConfigFile))
	_, modelErr := os.Stat(filepath.Join(o.model, "config.json"))
	return !info.IsDir() || adapterErr != nil && modelErr == nil
}

// prompting says how the adapter was prompted in training, and the configuration with which it is prompted so. Of an adapter
// that does not say, template is the chat template beside it, in which hone's own form is recognised.
func (o serveOptions) prompting(a *app, c config.Config) (trained *render.Prompting, template string, own config.Config, err error) {
	c.Rollout.System = ""
	if o.model == baseOnly {
		return nil, "", c, nil
	}
	if c, trained, err = basemodel.TrainedUnder(a.Host, c, o.model, false); trained != nil || err != nil {
		return trained, "", c, err
	}
	c.Rollout.System, template, err = o.template()
	return nil, template, c, err
}

// template reads the chat template beside the adapter, if there is one, and the system message that stands in it: the
// adapter must be prompted as it was trained.
func (o serveOptions) template() (system, template string, err error) {
	if o.model == baseOnly {
		return "", "", nil
	}
	text, err := os.ReadFile(filepath.Join(o.model, render.TemplateFile))
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
func (o serveOptions) models(a *app, c config.Config, m *basemodel.Model) ([]serve.Model, func(), error) {
	var open []*samplers.Samplers
	stop := func() {
		for _, s := range open {
			s.Close()
		}
	}
	var models []serve.Model
	add := func(id string, r render.Renderer, lora model.LoRA) (*samplers.Samplers, error) {
		a.Say("loading %s on %s; programs that are not kept yet are compiled", id, m.Engine.Description())
		s, err := samplers.New(m.Engine, m.Spec, m.Weights, sample.Options{LoRA: lora, Slots: o.slots, Context: o.context,
			NewDecoder: func() sample.Decoder { return m.Text.Tokenizer.NewDecoder() }})
		if err == nil {
			open = append(open, s)
			models = append(models, serve.Model{ID: id, Sampler: s, Renderer: r, Decode: m.Text.Tokenizer.Decode,
				NewDecoder: func() serve.Decoder { return m.Text.Tokenizer.NewDecoder() }, Read: func(prompt []int32) serve.Reader { return r.Reader(prompt) },
				VocabSize: m.Spec.VocabSize})
		}
		return s, err
	}
	if o.model != baseOnly {
		f, err := publish.OpenFolder(m.Engine, m.Spec, o.model, 1) // not 0, which tells the base model in an answer's fingerprint
		if err != nil {
			return nil, stop, err
		}
		defer f.Close() // it is copied into the sampler's own arrays
		s, err := add(filepath.ToSlash(filepath.Clean(o.model)), m.Renderer, f.LoRA())
		if err == nil {
			err = recipe.Publish(publish.New(f, publish.InProcess(s)), "the adapter "+o.model)
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
	if err != nil && o.model != baseOnly {
		a.Say("%s alone is not served: %v", o.base, err)
		return models, stop, nil
	}
	if err != nil {
		return nil, stop, err
	}
	_, err = add(o.base, r, model.LoRA{})
	return models, stop, err
}

func announce(a *app, url string, models []serve.Model, keyEnv string) error {
	s := served{URL: url}
	for _, m := range models {
		s.Models = append(s.Models, m.ID)
	}
	if err := a.Print(s, [][]string{{s.URL}}); err != nil {
		return err
	}
	authorization := ""
	if keyEnv != "" {
		authorization = ` -H "Authorization: Bearer $` + keyEnv + `"`
	}
	a.Say("models: %s", strings.Join(s.Models, ", "))
	a.Say("try:  curl %s/chat/completions%s -H 'Content-Type: application/json' \\\n"+
		`        -d '{"model": %q, "messages": [{"role": "user", "content": "Hello"}]}'`, url, authorization, s.Models[0])
	return nil
}
