package serve

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"hone/internal/chat"
	"hone/internal/policy"
)

// request is the part of OpenAI's request that is understood. Pointers tell "absent" from zero.
type request struct {
	Model               string         `json:"model"`
	Messages            []chat.Message `json:"messages"`
	Tools               []chat.Tool    `json:"tools"`
	Temperature         *float64       `json:"temperature"` // absent: 1, as OpenAI has it
	MaxTokens           *int           `json:"max_tokens"`
	MaxCompletionTokens *int           `json:"max_completion_tokens"`
	Seed                *int64         `json:"seed"`
	StopTokenIDs        []int32        `json:"stop_token_ids"` // beside the renderer's own
	Stream              bool           `json:"stream"`
	StreamOptions       struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	ToolChoice     json.RawMessage `json:"tool_choice"` // "auto" or "none"
	Logprobs       bool            `json:"logprobs"`
	ReturnTokenIDs bool            `json:"return_token_ids"`

	// Knobs that would change the answer and that this server does not have; accepted only at the value that changes nothing.
	N                *int            `json:"n"`
	TopP             *float64        `json:"top_p"`
	TopK             *int            `json:"top_k"`
	MinP             *float64        `json:"min_p"`
	TopLogprobs      *int            `json:"top_logprobs"`
	PresencePenalty  float64         `json:"presence_penalty"`
	FrequencyPenalty float64         `json:"frequency_penalty"`
	LogitBias        map[string]any  `json:"logit_bias"`
	Stop             json.RawMessage `json:"stop"`
	TemplateKwargs   map[string]any  `json:"chat_template_kwargs"`
	ResponseFormat   struct {
		Type string `json:"type"`
	} `json:"response_format"`
}

func decode(w http.ResponseWriter, r *http.Request) (request, *apiError) {
	var q request
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(&q)
	var tooLong *http.MaxBytesError
	if errors.As(err, &tooLong) {
		return q, &apiError{http.StatusRequestEntityTooLarge, "invalid_request_error", "", "request_too_large", fmt.Sprintf("the body is longer than %d bytes", maxBody)}
	}
	if err != nil {
		return q, invalid("", "the body is not a chat completion request: "+err.Error())
	}
	return q, q.check()
}

func (q *request) check() *apiError {
	if len(q.Messages) == 0 {
		return invalid("messages", "messages is empty")
	}
	for i, m := range q.Messages {
		switch m.Role {
		case chat.System, chat.User, chat.Assistant, chat.ToolRole:
		default:
			return invalid("messages", fmt.Sprintf("messages[%d] has role %q; known are system, user, assistant and tool", i, m.Role))
		}
	}
	if t := q.Temperature; t != nil && !(*t >= 0 && *t <= 2) {
		return invalid("temperature", "temperature must lie in [0, 2]")
	}
	for name, n := range map[string]*int{"max_tokens": q.MaxTokens, "max_completion_tokens": q.MaxCompletionTokens} {
		if n != nil && *n < 1 {
			return invalid(name, name+" must be positive")
		}
	}
	switch string(q.ToolChoice) {
	case "", "null", `"auto"`, `"none"`:
	default:
		return invalid("tool_choice", `tool_choice may be "auto" or "none": a call cannot be forced here`)
	}
	return q.unsupported()
}

func (q *request) unsupported() *apiError {
	for _, knob := range []struct {
		name  string
		wrong bool
		may   string
	}{
		{"n", q.N != nil && *q.N != 1, "only 1 is supported: send the request several times, with several seeds"},
		{"top_p", q.TopP != nil && *q.TopP != 1, "only 1 is supported"},
		{"top_k", q.TopK != nil && *q.TopK > 0, "only 0 or -1 (off) is supported"},
		{"min_p", q.MinP != nil && *q.MinP != 0, "only 0 is supported"},
		{"top_logprobs", q.TopLogprobs != nil && *q.TopLogprobs != 0, "only 0 is supported: the logprob of the sampled token is given"},
		{"presence_penalty", q.PresencePenalty != 0, "only 0 is supported"},
		{"frequency_penalty", q.FrequencyPenalty != 0, "only 0 is supported"},
		{"logit_bias", len(q.LogitBias) > 0, "not supported"},
		{"stop", !emptyStop(q.Stop), "stop texts are not supported: use stop_token_ids"},
		{"chat_template_kwargs", len(q.TemplateKwargs) > 0, "the template has the values it was trained with: model.template_variables of hone.yaml"},
		{"response_format", q.ResponseFormat.Type != "" && q.ResponseFormat.Type != "text", "only text is supported"},
	} {
		if knob.wrong {
			return &apiError{http.StatusBadRequest, "invalid_request_error", knob.name, "unsupported_value", knob.name + ": " + knob.may}
		}
	}
	return nil
}

func emptyStop(raw json.RawMessage) bool {
	switch string(raw) {
	case "", "null", "[]", `""`:
		return true
	}
	return false
}

// sampling is what the sampler is asked for.
func (q *request) sampling(defaultMaxTokens int, stopIDs []int32) policy.Sampling {
	s := policy.Sampling{Temperature: 1, MaxTokens: defaultMaxTokens, StopIDs: append(stopIDs[:len(stopIDs):len(stopIDs)], q.StopTokenIDs...)}
	if q.Temperature != nil {
		s.Temperature = *q.Temperature
	}
	if q.MaxTokens != nil {
		s.MaxTokens = *q.MaxTokens
	}
	if q.MaxCompletionTokens != nil { // the newer name wins
		s.MaxTokens = *q.MaxCompletionTokens
	}
	return s
}

// shownTools are the tools the prompt lists: none where the client wants none called.
func (q *request) shownTools() []chat.Tool {
	if string(q.ToolChoice) == `"none"` {
		return nil
	}
	return q.Tools
}
