package serve

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"hone/internal/chat"
	"hone/internal/fault"
)

// request is the part of OpenAI's request that is understood. Pointers tell "absent" from zero.
type request struct {
	Model               string         `json:"model"`
	Messages            []chat.Message `json:"messages"`
	Tools               []chat.Tool    `json:"tools"`
	Temperature         *float64       `json:"temperature"` // absent: 1, as OpenAI has it
	TopP                *float64       `json:"top_p"`
	TopK                *int           `json:"top_k"` // this and the next are vLLM's
	MinP                *float64       `json:"min_p"`
	MaxTokens           *int           `json:"max_tokens"`
	MaxCompletionTokens *int           `json:"max_completion_tokens"`
	Seed                *int64         `json:"seed"`
	Stop                texts          `json:"stop"`
	StopTokenIDs        []int32        `json:"stop_token_ids"` // beside the renderer's own
	Stream              bool           `json:"stream"`
	StreamOptions       struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	ToolChoice     json.RawMessage    `json:"tool_choice"` // "auto" or "none"
	Logprobs       bool               `json:"logprobs"`
	TopLogprobs    *int               `json:"top_logprobs"`
	LogitBias      map[string]float64 `json:"logit_bias"` // bans only
	ReturnTokenIDs bool               `json:"return_token_ids"`

	// Knobs that would change the answer and that this server does not have; accepted only at the value that changes nothing.
	N                 *int           `json:"n"`
	PresencePenalty   float64        `json:"presence_penalty"`
	FrequencyPenalty  float64        `json:"frequency_penalty"`
	ParallelToolCalls *bool          `json:"parallel_tool_calls"`
	TemplateKwargs    map[string]any `json:"chat_template_kwargs"`
	ResponseFormat    struct {
		Type string `json:"type"`
	} `json:"response_format"`
}

// developer is OpenAI's newer name of the role system; chat templates know the older one.
const developer = "developer"

func decode(w http.ResponseWriter, r *http.Request) (request, *apiError) {
	var q request
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var tooLong *http.MaxBytesError
	if errors.As(err, &tooLong) {
		return q, &apiError{http.StatusRequestEntityTooLarge, "invalid_request_error", "", "request_too_large", fmt.Sprintf("the body is longer than %d bytes", maxBody)}
	}
	if err == nil {
		err = json.Unmarshal(body, &q)
	}
	if err != nil {
		return q, invalid("", "the body is not a chat completion request: "+fault.JSON(err).Error())
	}
	if refused := knownOnly(body); refused != nil {
		return q, refused
	}
	for i := range q.Messages {
		if q.Messages[i].Role == developer {
			q.Messages[i].Role = chat.System
		}
	}
	return q, q.check()
}

// idle are parameters of OpenAI's that change no answer: they are accepted, and nothing is done about them.
func idle() []string {
	return []string{"user", "metadata", "store", "service_tier", "safety_identifier", "prompt_cache_key", "prompt_cache_retention", "prediction"}
}

// knownOnly refuses a parameter that is neither one of request's nor idle: it was sent to change the answer, and would not.
func knownOnly(body []byte) *apiError {
	var given map[string]json.RawMessage
	if err := json.Unmarshal(body, &given); err != nil {
		return invalid("", "the body is not a chat completion request: "+err.Error())
	}
	known := idle()
	for _, f := range reflect.VisibleFields(reflect.TypeFor[request]()) {
		known = append(known, f.Tag.Get("json"))
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		same := func(k string) bool { return strings.EqualFold(k, name) } // as json.Unmarshal compares them
		if string(given[name]) != "null" && !slices.ContainsFunc(known, same) {
			return &apiError{http.StatusBadRequest, "invalid_request_error", name, "unsupported_parameter", name + " is not supported"}
		}
	}
	return nil
}

func (q *request) check() *apiError {
	if len(q.Messages) == 0 {
		return invalid("messages", "messages is empty")
	}
	for i, m := range q.Messages {
		switch m.Role {
		case chat.System, chat.User, chat.Assistant, chat.ToolRole:
		default:
			return invalid("messages", fmt.Sprintf("messages[%d] has role %q; known are system, developer, user, assistant and tool", i, m.Role))
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
	if refused := q.checkSampling(); refused != nil {
		return refused
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
		{"presence_penalty", q.PresencePenalty != 0, "only 0 is supported"},
		{"frequency_penalty", q.FrequencyPenalty != 0, "only 0 is supported"},
		{"parallel_tool_calls", q.ParallelToolCalls != nil && !*q.ParallelToolCalls, "only true is supported: how many calls a turn makes is the model's choice"},
		{"chat_template_kwargs", len(q.TemplateKwargs) > 0, "the template has the values it was trained with: model.template_variables of hone.yaml"},
		{"response_format", q.ResponseFormat.Type != "" && q.ResponseFormat.Type != "text", "only text is supported"},
	} {
		if knob.wrong {
			return &apiError{http.StatusBadRequest, "invalid_request_error", knob.name, "unsupported_value", knob.name + ": " + knob.may}
		}
	}
	return nil
}

// shownTools are the tools the prompt lists: none where the client wants none called.
func (q *request) shownTools() []chat.Tool {
	if string(q.ToolChoice) == `"none"` {
		return nil
	}
	return q.Tools
}
