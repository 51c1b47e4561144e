package policy

import (
	"encoding/json"
	"fmt"
	"slices"
)

// sglang is SGLang's native /generate (docs/basic_usage/native_api there).
type sglang struct{}

func (sglang) path() string           { return "/generate" }
func (sglang) models() string         { return "/v1/models" }
func (sglang) loading() (_, _ string) { return "/load_lora_adapter", "/unload_lora_adapter" }
func (sglang) advice() string {
	return "SGLang's /generate returns both where return_logprob is true; for vLLM and hone serve set sampler.api: vllm"
}

type sglangRequest struct {
	InputIDs       []int32        `json:"input_ids"`
	SamplingParams sglangSampling `json:"sampling_params"`
	ReturnLogprob  bool           `json:"return_logprob"`
	TopLogprobs    int            `json:"top_logprobs_num,omitempty"`
	LogprobStart   *int           `json:"logprob_start_len,omitempty"` // nil: behind the prompt
	LoRAPath       string         `json:"lora_path,omitempty"`         // the adapter's name
}

// sglangSampling says all knobs, as vllmRequest does. The seed counts in SGLang's deterministic mode alone
// (--enable-deterministic-inference). There requests without one all draw by 42
// (SamplingBatchInfo.from_schedule_batch), so that the episodes of a group would be one. Versions keep it in 32 bits.
// And no ignore_eos: with it SGLang looks at stop_token_ids no more (Req.check_finished in managers/schedule_batch.py);
// vLLM does.
type sglangSampling struct {
	MaxNewTokens      int      `json:"max_new_tokens"`
	Temperature       float64  `json:"temperature"`
	TopK              int      `json:"top_k"`
	TopP              float64  `json:"top_p"`
	MinP              float64  `json:"min_p"`
	RepetitionPenalty float64  `json:"repetition_penalty"`
	StopTokenIDs      []int32  `json:"stop_token_ids"`
	Stop              []string `json:"stop,omitempty"`
	SamplingSeed      int32    `json:"sampling_seed"`
}

func (sglang) body(r Request, model, base string, maxTokens int) any {
	q := sglangRequest{InputIDs: r.Prompt, ReturnLogprob: true,
		TopLogprobs: r.TopLogprobs, SamplingParams: sglangSampling{MaxNewTokens: maxTokens,
			Temperature: r.Temperature, TopK: -1, TopP: 1, MinP: r.MinP, RepetitionPenalty: 1,
			StopTokenIDs: append([]int32{}, r.StopIDs...), Stop: r.Stop, SamplingSeed: int32(seedOf(r.Key) >> 32)}}
	if r.TopK > 0 {
		q.SamplingParams.TopK = r.TopK
	}
	if r.TopP > 0 {
		q.SamplingParams.TopP = r.TopP
	}
	if model != base {
		q.LoRAPath = model
	}
	return q
}

// sglangToken is [logprob, id, text].
type sglangToken struct {
	logprob *float32
	id      int32
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *sglangToken) UnmarshalJSON(raw []byte) error {
	return json.Unmarshal(raw, &[]any{&t.logprob, &t.id})
}

func (sglang) read(answer []byte, r Request, _ string) (Completion, error) {
	var told struct {
		Text      string  `json:"text"`
		OutputIDs []int32 `json:"output_ids"`
		Meta      struct {
			PromptTokens int `json:"prompt_tokens"`
			FinishReason struct {
				Type    string          `json:"type"`
				Matched json.RawMessage `json:"matched"` // an id or a text
			} `json:"finish_reason"`
			Tokens []sglangToken   `json:"output_token_logprobs"`
			Top    [][]sglangToken `json:"output_top_logprobs"`
		} `json:"meta_info"`
	}
	var c Completion
	if err := json.Unmarshal(answer, &told); err != nil {
		return c, fmt.Errorf("the answer is no completion: %w", err)
	}
	if len(told.Meta.Tokens) == 0 {
		return c, refusedError{lackError{[]string{"token ids", "logprobs"}}}
	}
	if n := told.Meta.PromptTokens; n > 0 && n != len(r.Prompt) {
		return c, refusedError{fmt.Errorf("the prompt has %d ids there, and %d were sent: it is not the same prompt",
			n, len(r.Prompt))}
	}
	var err error
	if c.FinishReason, err = finish(told.Meta.FinishReason.Type); err != nil {
		return c, err
	}
	for i, t := range told.Meta.Tokens {
		if t.logprob == nil {
			return c, fmt.Errorf("token %d has no logprob", i)
		}
		c.IDs, c.SamplerLogprobs = append(c.IDs, t.id), append(c.SamplerLogprobs, *t.logprob)
	}
	if told.OutputIDs != nil && !slices.Equal(told.OutputIDs, c.IDs) {
		return c, refusedError{fmt.Errorf("its %d ids are not those of its %d logprobs",
			len(told.OutputIDs), len(c.IDs))}
	}
	if c.FinishReason == FinishStop && json.Unmarshal(told.Meta.FinishReason.Matched, &c.StopText) == nil &&
		c.StopText != "" {
		c.Text = told.Text
	}
	for _, position := range told.Meta.Top {
		var top []TokenLogprob
		for _, t := range position {
			if t.logprob != nil {
				top = append(top, TokenLogprob{ID: t.id, Logprob: *t.logprob})
			}
		}
		c.TopLogprobs = append(c.TopLogprobs, top)
	}
	return c, nil
}
