package llm

import (
	"encoding/json"
	"sync"
)

// Kinds of API that an endpoint may have.
const (
	OpenAI    = "openai"    // chat completions
	Anthropic = "anthropic" // messages
)

// dialect is what an endpoint turned out not to take of a request: models that think want the limit of tokens under
// another name, and choose their temperature themselves.
type dialect struct {
	mu            sync.Mutex
	renamesLimit  bool // max_completion_tokens in place of max_tokens
	noTemperature bool
	noSeed        bool
}

// learn looks whether a refusal names a parameter that can be left out or renamed; then the request is worth another
// attempt.
func (d *dialect) learn(e *StatusError) bool {
	if e.Status != 400 || e.Code != "unsupported_parameter" && e.Code != "unsupported_value" {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	known := map[string]*bool{"max_tokens": &d.renamesLimit, "temperature": &d.noTemperature,
		"seed": &d.noSeed}[e.Param]
	if known == nil || *known {
		return false
	}
	*known = true
	return true
}

// encode is the body of a request as the endpoint takes it.
func (c *Client) encode(r Request) ([]byte, error) {
	c.dialect.mu.Lock()
	renames, cool, noSeed := c.dialect.renamesLimit, c.dialect.noTemperature, c.dialect.noSeed
	c.dialect.mu.Unlock()
	if c.o.API == Anthropic {
		return anthropicBody(r, !cool)
	}
	if !renames && !cool && !noSeed {
		return json.Marshal(r)
	}
	own := struct {
		Request
		Temperature         *float64 `json:"temperature,omitempty"`
		MaxTokens           *int     `json:"max_tokens,omitempty"`
		MaxCompletionTokens *int     `json:"max_completion_tokens,omitempty"`
		Seed                *uint64  `json:"seed,omitempty"`
	}{Request: r}
	if !cool {
		own.Temperature = &r.Temperature
	}
	if r.MaxTokens > 0 && renames {
		own.MaxCompletionTokens = &r.MaxTokens
	} else if r.MaxTokens > 0 {
		own.MaxTokens = &r.MaxTokens
	}
	if r.Seed > 0 && !noSeed {
		own.Seed = &r.Seed
	}
	return json.Marshal(own)
}
