package config

import (
	"maps"
	"slices"
	"strings"
)

// Provider is an endpoint that has several models, which are named PROVIDER/MODEL.
type Provider struct {
	URL      string           `yaml:"url" doc:"base URL, up to and including /v1"`
	KeyEnv   string           `yaml:"key_env" doc:"variable that holds the key; empty sends none"`
	API      string           `yaml:"api" doc:"openai for chat completions, anthropic for Anthropic's messages; empty is openai"`
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
		"anthropic":  {URL: "https://api.anthropic.com/v1", KeyEnv: "ANTHROPIC_API_KEY", API: "anthropic"},
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

// NamedModel is a model of an endpoint.
type NamedModel struct {
	URL    string // base URL
	Model  string
	KeyEnv string
	API    string // openai or anthropic
	AtOnce int    // episodes that ask it
	Price  *Price // nil where it is not known
}

// ModelOf is the model that a name means: PROVIDER/MODEL, or the base URL of an endpoint followed by /MODEL, as
// http://127.0.0.1:8000/v1/MODEL. ok is false where it is neither.
func (c *Config) ModelOf(name string) (e NamedModel, ok bool) {
	if strings.HasPrefix(name, "http://") || strings.HasPrefix(name, "https://") {
		at, model, found := strings.Cut(name, "/v1/")
		return NamedModel{URL: at + "/v1", Model: model, API: "openai", AtOnce: EpisodesAtOnce}, found && model != ""
	}
	provider, model, _ := strings.Cut(name, "/")
	p, known := c.AllProviders()[provider]
	if !known || model == "" {
		return NamedModel{}, false
	}
	e = NamedModel{URL: p.URL, Model: model, KeyEnv: p.KeyEnv, API: p.API, AtOnce: p.Episodes}
	if price, has := p.Prices[model]; has {
		e.Price = &price
	}
	return e, true
}

// checkProviders refuses names that are no part of PROVIDER/MODEL, and providers that are nowhere.
func checkProviders(all map[string]Provider) error {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if name == "" || strings.ContainsAny(name, "/,: .") {
			return &ValueError{"providers",
				"\"" + name + "\" is no name of a provider: it holds one of / , : . or a space, or nothing"}
		}
		if all[name].URL == "" {
			return &ValueError{"providers." + name, "it has no url"}
		}
		if api := all[name].API; api != "" && api != "openai" && api != "anthropic" {
			return &ValueError{"providers." + name + ".api", "\"" + api + "\" is neither openai nor anthropic"}
		}
	}
	return nil
}
