package config

import (
	"maps"
	"slices"
	"strings"
)

// Provider is an OpenAI-compatible API that has several models, which are named PROVIDER/MODEL.
type Provider struct {
	URL      string           `yaml:"url" doc:"base URL, up to and including /v1"`
	KeyEnv   string           `yaml:"key_env" doc:"variable that holds the key; empty sends none"`
	Episodes int              `yaml:"episodes" min:"0" max:"1024" doc:"episodes that ask it at once; 0 takes 8"`
	Prices   map[string]Price `yaml:"prices" doc:"what its models cost, by name; of another the cost is not known"`
}

// Price is what a model costs, in US dollars for a million tokens.
type Price struct {
	Prompt     float64 `yaml:"prompt" min:"0" doc:"dollars for a million tokens of prompts"`
	Completion float64 `yaml:"completion" min:"0" doc:"dollars for a million tokens of completions"`
}

// Of is the cost of a request in US dollars.
func (p Price) Of(promptTokens, completionTokens int) float64 {
	return (p.Prompt*float64(promptTokens) + p.Completion*float64(completionTokens)) / 1e6
}

// EpisodesAtOnce is how many episodes ask an endpoint that says nothing else.
const EpisodesAtOnce = 8

// AllProviders are those of the configuration, and some that are known, by name.
func (c *Config) AllProviders() map[string]Provider {
	all := map[string]Provider{
		"openai":     {URL: "https://api.openai.com/v1", KeyEnv: "OPENAI_API_KEY"},
		"anthropic":  {URL: "https://api.anthropic.com/v1", KeyEnv: "ANTHROPIC_API_KEY"},
		"openrouter": {URL: "https://openrouter.ai/api/v1", KeyEnv: "OPENROUTER_API_KEY"},
	}
	maps.Copy(all, c.Providers)
	for name, p := range all {
		if p.Episodes == 0 {
			p.Episodes = EpisodesAtOnce
		}
		all[name] = p
	}
	return all
}

// checkProviders refuses names that are no part of PROVIDER/MODEL, and providers that are nowhere.
func checkProviders(all map[string]Provider) error {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if name == "" || strings.ContainsAny(name, "/,: .") {
			return &ValueError{"providers", "\"" + name + "\" is no name of a provider: it holds one of / , : . or a space, or nothing"}
		}
		if all[name].URL == "" {
			return &ValueError{"providers." + name, "it has no url"}
		}
	}
	return nil
}
