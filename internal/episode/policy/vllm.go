package policy

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// vllm is OpenAI's /v1/completions with the parameters that vLLM adds (docs/serving/openai_compatible_server.md there).
type vllm struct{}

func (vllm) path() string           { return "/completions" }
func (vllm) models() string         { return "/models" }
func (vllm) loading() (_, _ string) { return "/load_lora_adapter", "/unload_lora_adapter" }
func (vllm) advice() string {
	return "vLLM returns both from version 0.10.2 on, and so does hone serve; for SGLang set sampler.api: sglang. " +
		"A server of text alone cannot be trained with"
}

// vllmRequest says all knobs: what is left out the model's generation_config.json would set.
type vllmRequest struct {
	Model             string   `json:"model"`
	Prompt            []int32  `json:"prompt"`
	MaxTokens         int      `json:"max_tokens"`
	Temperature       float64  `json:"temperature"`
	TopK              int      `json:"top_k"`
	TopP              float64  `json:"top_p"`
	MinP              float64  `json:"min_p"`
	RepetitionPenalty float64  `json:"repetition_penalty"`
	Seed              int64    `json:"seed"`
	StopTokenIDs      []int32  `json:"stop_token_ids"`
	Stop              []string `json:"stop,omitempty"`
	IgnoreEOS         bool     `json:"ignore_eos"` // what stops is said by stop_token_ids alone
	Logprobs          int      `json:"logprobs"`   // beside the sampled token's
	ReturnTokenIDs    bool     `json:"return_token_ids"`
	PromptLogprobs    *int     `json:"prompt_logprobs,omitempty"`
}

func (vllm) body(r Request, model, _ string, maxTokens int) any {
	q := vllmRequest{Model: model, Prompt: r.Prompt, MaxTokens: maxTokens, Temperature: r.Temperature, TopK: -1,
		TopP: 1, MinP: r.MinP, RepetitionPenalty: 1, Seed: seedOf(r.Key), StopTokenIDs: append([]int32{}, r.StopIDs...),
		Stop: r.Stop, IgnoreEOS: true, Logprobs: r.TopLogprobs, ReturnTokenIDs: true}
	if r.TopK > 0 {
		q.TopK = r.TopK
	}
	if r.TopP > 0 {
		q.TopP = r.TopP
	}
	return q
}

// seedOf is one number for a key, not negative: splitmix64's finaliser of both halves.
func seedOf(k Key) int64 {
	x := k.Seed*0xD1342543DE82EF95 + k.Stream + 0x9E3779B97F4A7C15
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return int64((x ^ x>>31) >> 1)
}

func (vllm) read(answer []byte, r Request, model string) (Completion, error) {
	var told struct {
		Model   string `json:"model"`
		Choices []struct {
			Text           string          `json:"text"`
			FinishReason   string          `json:"finish_reason"`
			StopReason     json.RawMessage `json:"stop_reason"`
			TokenIDs       []int32         `json:"token_ids"`
			PromptTokenIDs []int32         `json:"prompt_token_ids"`
			Logprobs       *struct {
				TokenLogprobs []*float32           `json:"token_logprobs"`
				TopLogprobs   []map[string]float32 `json:"top_logprobs"`
			} `json:"logprobs"`
		} `json:"choices"`
	}
	var c Completion
	if err := json.Unmarshal(answer, &told); err != nil {
		return c, fmt.Errorf("the answer is no completion: %w", err)
	}
	if len(told.Choices) != 1 {
		return c, fmt.Errorf("the answer has %d completions", len(told.Choices))
	}
	x := told.Choices[0]
	var lacks []string
	if x.TokenIDs == nil {
		lacks = append(lacks, "token ids")
	}
	if x.Logprobs == nil || len(x.Logprobs.TokenLogprobs) == 0 {
		lacks = append(lacks, "logprobs")
	}
	switch {
	case len(lacks) > 0:
		return c, refusedError{lackError{lacks}}
	case told.Model != model:
		return c, refusedError{fmt.Errorf("the completion is of %q, and %q was asked for", told.Model, model)}
	case x.PromptTokenIDs != nil && !slices.Equal(x.PromptTokenIDs, r.Prompt):
		return c, refusedError{fmt.Errorf("the prompt has %d ids there, and %d were sent: it is not the same prompt",
			len(x.PromptTokenIDs), len(r.Prompt))}
	}
	var err error
	if c.FinishReason, err = finish(x.FinishReason); err != nil {
		return c, err
	}
	c.IDs = x.TokenIDs
	if c.FinishReason == FinishStop && json.Unmarshal(x.StopReason, &c.StopText) == nil && c.StopText != "" {
		c.Text = x.Text
	}
	for i, p := range x.Logprobs.TokenLogprobs {
		if p == nil {
			return c, fmt.Errorf("token %d has no logprob", i)
		}
		c.SamplerLogprobs = append(c.SamplerLogprobs, *p)
	}
	if r.TopLogprobs > 0 {
		c.TopLogprobs = likeliest(x.Logprobs.TopLogprobs, r.TopLogprobs)
	}
	return c, nil
}

// likeliest are the logprobs of the n likeliest tokens of each position. Their ids are not told: -1.
func likeliest(each []map[string]float32, n int) (out [][]TokenLogprob) {
	for _, m := range each {
		values := slices.Sorted(maps.Values(m))
		slices.Reverse(values)
		var top []TokenLogprob
		for _, p := range values[:min(n, len(values))] {
			top = append(top, TokenLogprob{ID: -1, Logprob: p})
		}
		out = append(out, top)
	}
	return out
}

// finish is the reason of a server. One that gave up, such as "abort", has not finished.
func finish(reason string) (FinishReason, error) {
	switch reason {
	case "stop":
		return FinishStop, nil
	case "length":
		return FinishLength, nil
	}
	return "", fmt.Errorf("the completion ended with %q", reason)
}
