// Package sidecar does the work of hone sidecar: it makes the data of package revise from real models and from errors
// that are fitted to theirs, trains a sidecar in a run directory, and measures it against what there is without one.
package sidecar

import (
	"context"
	"fmt"
	"path/filepath"

	"hone/internal/basemodel"
	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/episode/rollout"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/job"
	"hone/internal/job/episodes"
	"hone/internal/llm"
	"hone/internal/mcp"
	"hone/internal/proxy/revise"
	"hone/internal/recipe"
	"hone/internal/toolset"
)

// speaker is a model that answers at the points of rows.
type speaker struct {
	policy rollout.Policy
	c      config.Config // with the lengths of its context and its completions
	say    func()        // what was paid for
}

// models answer at the points of rows, one after the other. Those on this machine share one base model and one sampler,
// as long as their adapters have one shape and are prompted alike, since each new sampler is compiled anew.
type models struct {
	*host.Host
	c       config.Config // of whole episodes
	catalog *mcp.Catalog
	budget  *llm.Budget // of all endpoints; nil: none

	list  []scenario.Scenario // all that is expected to be asked
	shown map[string][]string // the tools of each

	open    *episodes.Episodes // the model that is open; nil for none
	settled config.Config      // as it was opened
	base    string
	under   string // the adapter's folder that it was opened for
	held    string // and the one that it holds
}

// expect has samplers planned for rows of v too.
func (m *models) expect(v *revise.Environment, list []scenario.Scenario) {
	if m.shown == nil {
		m.shown = map[string][]string{}
	}
	for _, s := range list {
		shown := v.Rows[s.ID].Point.Tools
		s.ID = fmt.Sprintf("%d/%s", len(m.list), s.ID) // a row may be asked about in several ways
		m.list, m.shown[s.ID] = append(m.list, s), shown
	}
}

// Close ends a model on this machine.
func (m *models) Close() {
	if m.open != nil {
		m.open.CloseModel()
		m.open = nil
	}
}

// oneTurn is the configuration of a model that answers once. Servers are not opened under it: it has no room for what
// they say.
func oneTurn(c config.Config) config.Config {
	c.Rollout.MaxTurns, c.Rollout.MaxToolCalls, c.Rollout.MaxResult, c.Rollout.CompleteTask = 1, 1, 1, false
	return c
}

// episodesOf are episodes without a model; shown are the tools of each scenario.
func episodesOf(catalog *mcp.Catalog, shown func(id string) []string) *episodes.Episodes {
	tools := revise.NewTools(catalog.Tools())
	of := func(s scenario.Scenario) ([]chat.Tool, error) { return tools.Of(shown(s.ID)) }
	return &episodes.Episodes{Set: &toolset.Set{Catalog: catalog, Selection: toolset.Selection{Of: of}}}
}

// here turns to a system on this machine.
func (m *models) here(ctx context.Context, s job.System) (*speaker, error) {
	base, err := basemodel.BaseOf(s.Adapter, "", m.c)
	if err != nil {
		return nil, err
	}
	same := m.open != nil && base == m.base
	if same {
		if same, err = m.open.Model.Alike(m.c, s.Adapter, m.under); err != nil {
			return nil, err
		}
	}
	if !same {
		err = m.reopen(ctx, base, s.Adapter)
	} else if s.Adapter != m.held {
		err = m.open.Hold(s.Adapter)
	}
	if err != nil {
		return nil, err
	}
	m.held = s.Adapter
	return &speaker{policy: m.open.Speaker, c: m.settled, say: func() {}}, nil
}

// reopen opens a base model and the sampler of an adapter.
func (m *models) reopen(ctx context.Context, base, folder string) error {
	m.Close()
	c := oneTurn(m.c)
	c.Model.Base = base
	c, err := basemodel.SettleLengths(m.Host, c)
	if err != nil {
		return err
	}
	l := episodesOf(m.catalog, func(id string) []string { return m.shown[id] })
	var p episodes.Plan
	if err = l.OpenSampler(ctx, m.Host, c, "", false, nil); err == nil {
		p, err = l.Resolve(m.Host, c, episodes.Wanted{Adapter: folder, Scenarios: m.list})
	}
	if err == nil {
		err = l.OpenModel(m.Host, p)
	}
	if err != nil {
		l.CloseModel()
		return err
	}
	m.open, m.settled, m.base, m.under = l, p.Config, base, folder
	return nil
}

// speaker turns to a system.
func (m *models) speaker(ctx context.Context, s job.System) (*speaker, error) {
	if s.IsLocal() {
		return m.here(ctx, s)
	}
	r, c := s.Endpoint, m.c
	if err := c.SettleLengths(true, true, 0); err != nil { // an endpoint may think, whatever this machine is
		return nil, err
	}
	key, err := m.KeyIn(r.KeyEnv, "the endpoint", r.URL, "set key_env of the provider to another")
	if err != nil {
		return nil, err
	}
	store, err := m.Store()
	if err != nil {
		return nil, err
	}
	o := llm.Options{BaseURL: r.URL, API: r.API, Key: llm.Secret(key), Budget: m.budget,
		CacheDir: filepath.Join(store.Dir, "sidecar")}
	if r.Price != nil {
		o.Cost = r.Price.Of
	}
	client, err := llm.New(o)
	if err != nil {
		return nil, err
	}
	return &speaker{policy: llm.Policy{Client: client, Model: r.Model, Slots: r.Episodes}, c: c, say: func() {
		spent := client.Usage()
		m.Say("%s: %s sent and %s received were paid for", s.Name, fault.Count(spent.PromptTokens, "token"),
			fault.Count(spent.CompletionTokens, "token"))
	}}, nil
}

// answers has a policy answer each of a list once, and returns the episodes by their scenarios. Where none came to
// anything it says why.
func answers(
	ctx context.Context, h *host.Host, c config.Config, what string, v *revise.Environment, p rollout.Policy,
	list []scenario.Scenario, temperature float64,
) (map[string]*trajectory.Trajectory, error) {
	runner := rollout.New(rollout.Options{Environment: v, Policy: p, MaxTokens: c.Rollout.MaxTokens,
		Temperature: temperature, Seed: c.Seed, Retries: 1})
	requests := make(chan rollout.Request)
	go func() {
		defer close(requests)
		for i, s := range list {
			requests <- rollout.Request{Scenario: s, Place: i}
		}
	}()
	progress := h.Progress(p.NumSlots())
	defer h.Working("running " + what)()
	out := map[string]*trajectory.Trajectory{}
	var all []*trajectory.Trajectory
	for t := range runner.Run(ctx, requests) {
		out[t.ScenarioID] = t
		all = append(all, t)
		progress(what, len(all), len(list), "")
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return out, recipe.NothingRan(all)
}
