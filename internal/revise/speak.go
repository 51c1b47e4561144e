// Package revise does the work of hone sidecar: it makes the data of package sidecar from real models and from errors that are fitted to
// theirs, trains a sidecar in a run directory, and measures it against what there is without one.
package revise

import (
	"context"
	"path/filepath"

	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/episode/rollout"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/job"
	"hone/internal/llm"
	"hone/internal/mcp"
	"hone/internal/recipe"
	"hone/internal/sidecar"
	"hone/internal/toolset"
)

// speaker is a model that answers at the points of rows.
type speaker struct {
	policy   rollout.Policy
	episodes *job.Episodes // nil of an endpoint
	say      func()        // what was paid for
}

// Close ends a model on this machine.
func (s *speaker) Close() {
	if s.episodes != nil {
		s.episodes.CloseModel()
	}
}

// oneTurn is the configuration of episodes of one turn.
func oneTurn(c config.Config) config.Config {
	c.Rollout.MaxTurns, c.Rollout.MaxToolCalls, c.Rollout.MaxResult, c.Rollout.CompleteTask = 1, 1, 1, false
	return c
}

// episodesOf are episodes of v's rows without a model.
func episodesOf(catalog *mcp.Catalog, v *sidecar.Environment) *job.Episodes {
	of := func(s scenario.Scenario) ([]chat.Tool, error) { return v.Tools.Of(v.Rows[s.ID].Point.Tools) }
	return &job.Episodes{Set: &toolset.Set{Catalog: catalog, Selection: toolset.Selection{Of: of}}}
}

// speakerOf opens a system for the rows of v.
func speakerOf(ctx context.Context, h *host.Host, c config.Config, s job.System, budget *llm.Budget, catalog *mcp.Catalog, v *sidecar.Environment, list []scenario.Scenario) (*speaker, error) {
	c = oneTurn(c)
	if s.IsLocal() {
		l := episodesOf(catalog, v)
		if err := l.OpenSampler(ctx, h, c, "", false, nil); err != nil {
			return nil, err
		}
		if err := l.OpenModel(h, &c, s.Adapter, list, false); err != nil {
			l.CloseModel()
			return nil, err
		}
		return &speaker{policy: l.Speaker, episodes: l, say: func() {}}, nil
	}
	r := s.Endpoint
	key, ok := h.LookupEnv(r.KeyEnv)
	if r.KeyEnv != "" && (!ok || key == "") {
		return nil, &fault.Error{Code: fault.CodeUsage, What: "there is no key for the endpoint", Where: r.URL, Why: "the variable " + r.KeyEnv + " is not set or empty",
			Next: "set it, or set key_env of the provider to another"}
	}
	store, err := h.Store()
	if err != nil {
		return nil, err
	}
	o := llm.Options{BaseURL: r.URL, API: r.API, Key: llm.Secret(key), Budget: budget, CacheDir: filepath.Join(store.Dir, "sidecar")}
	if r.Price != nil {
		o.Cost = r.Price.Of
	}
	client, err := llm.New(o)
	if err != nil {
		return nil, err
	}
	return &speaker{policy: llm.Policy{Client: client, Model: r.Model, Slots: r.Episodes}, say: func() {
		spent := client.Spent()
		h.Say("%s: %s sent and %s received were paid for", s.Name, fault.Count(spent.PromptTokens, "token"), fault.Count(spent.CompletionTokens, "token"))
	}}, nil
}

// answers has a policy answer each of a list once, and returns the episodes by their scenarios. Where none came to anything it says why.
func answers(ctx context.Context, h *host.Host, c config.Config, what string, v *sidecar.Environment, p rollout.Policy, list []scenario.Scenario, temperature float64) (map[string]*trajectory.Trajectory, error) {
	runner := rollout.New(rollout.Options{Environment: v, Policy: p, MaxTokens: c.Rollout.MaxTokens, Temperature: temperature, Seed: c.Seed, Retries: 1})
	requests := make(chan rollout.Request)
	go func() {
		defer close(requests)
		for i, s := range list {
			requests <- rollout.Request{Scenario: s, Place: i}
		}
	}()
	progress := h.Progress(p.NumSlots())
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
