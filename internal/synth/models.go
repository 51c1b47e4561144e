package synth

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"

	"hone/internal/config"
	"hone/internal/episode/reward"
	"hone/internal/episode/rollout"
	"hone/internal/episode/scenario"
	"hone/internal/eval"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/job"
	"hone/internal/job/episodes"
	"hone/internal/llm"
	"hone/internal/serve/local"
	"hone/internal/synth/generate"
)

// askedModels are the models that a synthesis asks. Their answers are kept in hone's cache folder, so a command that
// goes on, or is given again, pays for none twice. All share one budget.
type askedModels struct {
	h      *host.Host
	c      config.Config
	slots  int
	cache  string
	budget *llm.Budget
	byName map[string]*generate.Model // as a flag names them
	close  []func()
}

func newAskedModels(h *host.Host, c config.Config, x Options) (*askedModels, error) {
	store, err := h.Store()
	if err != nil {
		return nil, err
	}
	return &askedModels{h: h, c: c, slots: x.Workers, cache: filepath.Join(store.Dir, "synth"),
		budget: llm.NewBudget(x.BudgetTokens, x.BudgetUSD), byName: map[string]*generate.Model{}}, nil
}

// Close ends the models on this machine.
func (a *askedModels) Close() {
	for _, f := range a.close {
		f()
	}
}

// into opens the models that a synthesis names, for its options.
func (a *askedModels) into(o *generate.Options, l *episodes.Episodes, x Options) (err error) {
	for _, one := range []struct {
		flag, given string
		into        **generate.Model
	}{{"--teacher", x.Teacher, &o.Teacher}, {"--held-teacher", x.Held, &o.Held}, {"--judge", x.Judge, &o.Judge}} {
		if *one.into, err = a.model(one.flag, one.given); err != nil {
			return err
		}
	}
	reference, err := a.model("--reference", x.Reference)
	if err != nil {
		return err
	}
	o.Reference = a.agentOf(l, reference)
	return nil
}

// say tells what was paid for.
func (a *askedModels) say() {
	if used, usd := a.budget.Usage(); used.Total() > 0 {
		a.h.Say("models: %s sent and %s received; $%.4f where a price is known",
			fault.Count(used.PromptTokens, "token"), fault.Count(used.CompletionTokens, "token"), usd)
	}
}

// model opens the model that a flag names as hone eval --compare does; nil where it names none.
func (a *askedModels) model(flag, given string) (*generate.Model, error) {
	if given == "" || a.byName[given] != nil {
		return a.byName[given], nil
	}
	systems, err := eval.SystemsOf(a.c, "", []string{given})
	if err != nil {
		if f, ok := errors.AsType[*fault.Error](err); ok {
			f.Where = flag + " " + given
		}
		return nil, err
	}
	if systems[0].IsLocal() {
		a.byName[given], err = a.local(systems[0].Adapter)
	} else {
		a.byName[given], err = a.endpoint(flag+" "+given, *systems[0].Endpoint)
	}
	return a.byName[given], err
}

func (a *askedModels) endpoint(where string, r job.Remote) (*generate.Model, error) {
	key, err := a.h.KeyIn(r.KeyEnv, "the endpoint", where, "set key_env of the provider to another")
	if err != nil {
		return nil, err
	}
	o := llm.Options{BaseURL: r.URL, API: r.API, Key: llm.Secret(key), Budget: a.budget, CacheDir: a.cache}
	if r.Price != nil {
		o.Cost = r.Price.Of
	}
	client, err := llm.New(o)
	if err != nil {
		return nil, err
	}
	return &generate.Model{Chatter: client, Name: r.Model}, nil
}

// local opens the base model, or an adapter over it, and asks it in this process.
func (a *askedModels) local(folder string) (*generate.Model, error) {
	m, err := local.OpenServed(a.h, a.c, folder, a.slots)
	if err != nil {
		return nil, err
	}
	a.close = append(a.close, m.Close)
	client, err := llm.New(llm.Options{
		BaseURL:   "http://127.0.0.1/" + m.Fingerprint + "/v1",
		Budget:    a.budget,
		CacheDir:  a.cache,
		Transport: local.InProcess{Handler: http.StripPrefix("/"+m.Fingerprint, m.Handler)},
		Cost:      func(int, int) float64 { return 0 },
	})
	return &generate.Model{Chatter: client, Name: m.ID}, err
}

// agent runs scenarios in episodes in which a model speaks; it implements Reference.
type agent struct {
	model  *generate.Model
	runner *rollout.Runner
	l      *episodes.Episodes
}

// agentOf is the agent in whose episodes m speaks, as hone eval has them; nil where there is no model.
func (a *askedModels) agentOf(l *episodes.Episodes, m *generate.Model) generate.Reference {
	if m == nil {
		return nil
	}
	l.World = l.WorldOf(a.h, a.c)
	l.World.Hang = max(a.c.Rollout.Timeout, 10*a.c.MCP.Timeout)
	l.Options = rollout.Options{MaxTokens: a.c.Rollout.MaxTokens, Seed: a.c.Seed, Retries: 2}
	return agent{m, l.Runner(llm.Policy{Client: m.Chatter, Model: m.Name, Slots: a.slots}, a.c.Rollout.Temperature), l}
}

// Name implements Reference.
func (a agent) Name() string { return a.model.Name }

// Try implements Reference.
func (a agent) Try(ctx context.Context, s scenario.Scenario, run int) (passed, says bool, err error) {
	t, err := a.runner.Episode(ctx, s, run, 0, 0)
	if err != nil || !t.Outcome.Trainable() {
		return false, false, err
	}
	return reward.Episode(&s, t, a.l.Scorer.Defaults), true, nil
}
