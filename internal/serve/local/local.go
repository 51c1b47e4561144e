// Package local serves models of this machine: a base model, and adapters over it in one sampler. It opens hone proxy
// too: a proxy before an upstream, with what its mode needs of this machine.
package local

import (
	"cmp"
	"context"
	"log/slog"
	"net"
	"path/filepath"
	"strings"

	"hone/internal/basemodel"
	"hone/internal/config"
	"hone/internal/host"
	"hone/internal/serve"
	"hone/internal/text/render"
	"hone/internal/toolset"
)

// Base is what --model is given where no adapter is to be served.
const Base = "base"

// Options are the flags of hone serve.
type Options struct {
	Models  []string // adapter folders, each with a name before it or not: NAME=DIR; or Base
	Base    string   // base model; "" is the configuration's
	Listen  string   // address
	KeyEnvs []string // variables that hold the keys that clients may send; none: no key
	// tokens of one conversation; 0: as many as the first adapter was trained at, where its run says so
	Context int
	Slots   int // completions sampled at once
	// adapters held at one time, those of Models among them; 0: those, and none is loaded at run time
	MaxAdapters int
	MaxRank     int // of adapters loaded at run time; 0: 16, or more where one of Models has more
	Agent       Agency

	adapters []adapterFolder
}

// adapterFolder is an adapter to serve under a name.
type adapterFolder struct{ name, dir string }

// first is the folder of the first adapter; "" where there is none.
func (o *Options) first() string {
	if len(o.adapters) == 0 {
		return ""
	}
	return o.adapters[0].dir
}

// announced is what serve prints once it answers.
type announced struct {
	URL    string   `json:"url"`
	Models []string `json:"models"`
}

// Serve answers until ctx ends.
func Serve(ctx context.Context, h *host.Host, c config.Config, o Options) error {
	o.Base = cmp.Or(o.Base, c.Model.Base)
	keys, err := o.check(h)
	if err != nil {
		return err
	}
	for i := range o.adapters {
		if o.adapters[i].dir, err = basemodel.AdapterFolder(h, o.adapters[i].dir); err != nil {
			return err
		}
	}
	if o.Context == 0 {
		o.Context = TrainingContext(o.first())
	}
	listener, err := Listen(o.Listen, keys)
	if err != nil {
		return err
	}
	c.Engine.Devices = 1
	if h.DryRun {
		defer func() { _ = listener.Close() }() // nothing was said on it
		places, err := open(h, c, o)
		if err != nil {
			return err
		}
		places.close()
		h.Say("would serve %s over %s on %s", cmp.Or(strings.Join(o.Models, ", "), Base), o.Base, o.Listen)
		return nil
	}
	var started loaded
	defer started.close()
	options := serve.Options{Keys: keys, MaxTokens: o.Context, Logger: Logger(h)}
	return serve.Early(ctx, listener, options, func(ctx context.Context, opened func(*serve.Server)) error {
		s, models, err := started.load(ctx, h, c, o, options)
		if err != nil {
			return err
		}
		opened(s) // before it is announced: who reads that asks at once
		return o.announce(h, listener, models)
	})
}

// loaded is what a server stands on, as far as it was loaded.
type loaded struct {
	places *places
	tools  *toolset.Set
}

func (l *loaded) close() {
	if l.tools != nil {
		l.tools.Close()
	}
	if l.places != nil {
		l.places.close()
	}
}

// load opens the models and, for an agent, its servers, and makes a server of them.
func (l *loaded) load(
	ctx context.Context, h *host.Host, c config.Config, o Options, options serve.Options,
) (*serve.Server, []serve.Model, error) {
	var err error
	if l.places, err = open(h, c, o); err != nil {
		return nil, nil, err
	}
	if options.Models, err = l.places.load(); err != nil {
		return nil, nil, err
	}
	basemodel.SayPrograms(h, l.places.base.Engine)
	if options.Shorten, err = toolset.Shortener(h, c.Rollout); err != nil {
		return nil, nil, err
	}
	if o.MaxAdapters > 0 {
		options.Adapters = l.places
	}
	if o.Agent.On {
		c.Model.Context = o.Context // which a list of tools takes a share of
		if options.Agent, l.tools, err = o.Agent.open(ctx, h, c); err != nil {
			return nil, nil, err
		}
	}
	s, err := serve.New(options)
	return s, options.Models, err
}

// Logger writes a server's log to where a command talks: warnings, and with --verbose each request.
func Logger(h *host.Host) *slog.Logger {
	level := slog.LevelWarn
	if h.Verbose {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(h.Talk, &slog.HandlerOptions{Level: level}))
}

// open finds the base model and the shape of what is served beside it, and refuses what the memory does not hold.
// Nothing is on a device yet.
func open(h *host.Host, c config.Config, o Options) (*places, error) {
	trained, template, own, err := Prompting(h, c, o.first())
	if err != nil {
		return nil, err
	}
	own.Model.Context = o.Context
	base, err := basemodel.Find(h, own, o.Base, trained)
	if err != nil {
		return nil, err
	}
	base.WarnUntrainedTokens(c.LoRA, o.first(), false)
	p := &places{host: h, config: c, options: o, base: base}
	if err := p.shape(); err != nil {
		base.Close()
		return nil, err
	}
	if err := base.FitServing(c, p.lora, p.count, o.Context, o.Slots); err != nil {
		base.Close()
		return nil, err
	}
	if template != "" && template != base.Renderer.Template() {
		h.Say("warning: %s differs from hone's own template: the adapter is not prompted as it was trained",
			filepath.Join(o.first(), render.TemplateFile))
	}
	return p, nil
}

func (o *Options) announce(h *host.Host, l net.Listener, models []serve.Model) error {
	s := announced{URL: "http://" + l.Addr().String() + "/v1"}
	for _, m := range models {
		s.Models = append(s.Models, m.ID)
	}
	if err := h.Print(s, [][]string{{s.URL}}); err != nil {
		return err
	}
	authorization := ""
	if len(o.KeyEnvs) > 0 {
		authorization = ` -H "Authorization: Bearer $` + o.KeyEnvs[0] + `"`
	}
	h.Say("models: %s", strings.Join(s.Models, ", "))
	h.Say("try:  curl %s/chat/completions%s -H 'Content-Type: application/json' \\\n"+
		`        -d '{"model": %q, "messages": [{"role": "user", "content": "Hello"}]}'`, s.URL, authorization,
		s.Models[0])
	return nil
}
