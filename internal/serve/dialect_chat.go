package serve

import (
	"encoding/json"
	"fmt"
	"net/http"

	"hone/internal/chat"
	"hone/internal/episode/policy"
)

// chatDialect is OpenAI's /v1/chat/completions.
type chatDialect struct{}

// chatRequest is the part of OpenAI's request that is understood.
type chatRequest struct {
	knobs
	Model               string      `json:"model"`
	Messages            messageList `json:"messages"`
	Tools               tools       `json:"tools"`
	MaxTokens           *int        `json:"max_tokens"`
	MaxCompletionTokens *int        `json:"max_completion_tokens"`
	N                   *int        `json:"n"`
	Stop                texts       `json:"stop"`
	Stream              bool        `json:"stream"`
	StreamOptions       struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	ToolChoice        json.RawMessage `json:"tool_choice"`
	ParallelToolCalls *bool           `json:"parallel_tool_calls"`
	ResponseFormat    responseFormat  `json:"response_format"`
	Logprobs          bool            `json:"logprobs"`
	TopLogprobs       int             `json:"top_logprobs"`
	ReturnTokenIDs    bool            `json:"return_token_ids"`

	// Knobs that would change the answer and that this server does not have; accepted only at the value that changes
	// nothing.
	PresencePenalty  float64        `json:"presence_penalty"`
	FrequencyPenalty float64        `json:"frequency_penalty"`
	TemplateKwargs   map[string]any `json:"chat_template_kwargs"`
}

// responseFormat is OpenAI's form of an answer; responses have the schema beside its type, chat completions in
// "json_schema".
type responseFormat struct {
	Type       string `json:"type"`
	JSONSchema *struct {
		Schema json.RawMessage `json:"schema"`
		Strict bool            `json:"strict"`
	} `json:"json_schema"`
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"schema"`
	Strict bool            `json:"strict"`
}

func (f responseFormat) into(q *request, param string) *apiError {
	switch f.Type {
	case "", "text":
		return nil
	case "json_object":
		q.answer = &answerForm{param: param}
		return nil
	case "json_schema":
		schema, strict := f.Schema, f.Strict
		if f.JSONSchema != nil {
			schema, strict = f.JSONSchema.Schema, f.JSONSchema.Strict
		}
		if len(schema) == 0 {
			return invalid(param, param+" has no schema")
		}
		q.answer = &answerForm{schema, strict, param}
		return nil
	}
	return unsupportedError(param, fmt.Sprintf("its type is %q; known are text, json_object and json_schema", f.Type))
}

func (chatDialect) name() string            { return "chatcmpl" }
func (chatDialect) failure(e *apiError) any { return e.body() }

// idle are parameters of OpenAI's that change no answer: they are left aside. How long a model thinks is
// its own doing.
func idle() []string {
	return []string{"user", "metadata", "store", "service_tier", "safety_identifier", "prompt_cache_key",
		"prompt_cache_retention", "prediction", "reasoning_effort", "verbosity", "client_metadata"}
}

func (chatDialect) read(w http.ResponseWriter, r *http.Request) (*request, *apiError) {
	var c chatRequest
	aside, refused := readBody(w, r, &c, idle()...)
	if refused != nil {
		return nil, refused
	}
	q := &request{model: c.Model, aside: aside, messages: c.Messages, n: 1, stream: c.Stream,
		usage: c.StreamOptions.IncludeUsage, logprobs: c.Logprobs, ids: c.ReturnTokenIDs,
		oneCall: c.ParallelToolCalls != nil && !*c.ParallelToolCalls}
	q.setTools(c.Tools)
	refused = c.into(q)
	q.sampling.Stop, q.sampling.TopLogprobs = c.Stop, c.TopLogprobs
	if c.N != nil {
		q.n = *c.N
	}
	if q.n < 1 && refused == nil {
		refused = invalid("n", "n must be positive")
	}
	for _, limit := range []struct {
		name string
		n    *int
	}{{"max_tokens", c.MaxTokens}, {"max_completion_tokens", c.MaxCompletionTokens}} { // the newer name wins
		if refused == nil {
			refused = q.limit(limit.name, limit.n)
		}
	}
	if refused == nil {
		refused = q.readChoice(c.ToolChoice)
	}
	if refused == nil {
		refused = c.ResponseFormat.into(q, "response_format")
	}
	switch {
	case refused != nil:
		return nil, refused
	case c.PresencePenalty != 0:
		return nil, unsupportedError("presence_penalty", "only 0 is supported")
	case c.FrequencyPenalty != 0:
		return nil, unsupportedError("frequency_penalty", "only 0 is supported")
	case len(c.TemplateKwargs) > 0:
		return nil, unsupportedError("chat_template_kwargs",
			"the template has the values it was trained with: model.template_variables of hone.yaml")
	}
	return q, nil
}

type completion struct {
	ID                string   `json:"id"`
	Object            string   `json:"object"`
	Created           int64    `json:"created"`
	Model             string   `json:"model"`
	SystemFingerprint string   `json:"system_fingerprint"` // "policy-N", N the policy version
	Choices           []choice `json:"choices"`
	Usage             *usage   `json:"usage,omitempty"`
	PromptTokenIDs    []int32  `json:"prompt_token_ids,omitempty"` // with return_token_ids, as vLLM names it
	Hone              *Steps   `json:"hone,omitempty"`             // of a task
}

type choice struct {
	Index        int           `json:"index"`
	Message      *chat.Message `json:"message,omitempty"`
	Delta        *delta        `json:"delta,omitempty"`
	Logprobs     *logprobs     `json:"logprobs"`
	FinishReason *string       `json:"finish_reason"`
	TokenIDs     []int32       `json:"token_ids,omitempty"`
}

type delta struct {
	Role      string      `json:"role,omitempty"`
	Reasoning string      `json:"reasoning_content,omitempty"`
	Content   *string     `json:"content,omitempty"`
	ToolCalls []deltaCall `json:"tool_calls,omitempty"`
}

type deltaCall struct {
	Index    int    `json:"index"`
	ID       string `json:"id,omitempty"`
	Type     string `json:"type,omitempty"`
	Function struct {
		Name      string `json:"name,omitempty"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

type usage struct {
	PromptTokens     int `json:"prompt_tokens"`
	CompletionTokens int `json:"completion_tokens"`
	TotalTokens      int `json:"total_tokens"`
}

func (x *exchange) usage() *usage {
	prompt, completion := x.counts()
	return &usage{prompt, completion, prompt + completion}
}

func (x *exchange) fingerprint() string { return fmt.Sprintf("policy-%d", x.version) }

func (x *exchange) head(object string) completion {
	return completion{ID: x.id, Object: object, Created: x.created.Unix(), Model: x.model.ID,
		SystemFingerprint: x.fingerprint(), Choices: []choice{}}
}

func (chatDialect) whole(x *exchange) any {
	out := x.head("chat.completion")
	out.Usage, out.Hone = x.usage(), x.request.agent
	for _, a := range x.answers {
		c := choice{Index: a.index, Message: &a.message, FinishReason: a.finish()}
		if x.request.logprobs {
			c.Logprobs = x.model.logprobs(&a.Completion)
		}
		if x.request.ids {
			out.PromptTokenIDs, c.TokenIDs = a.prompt, a.IDs
		}
		out.Choices = append(out.Choices, c)
	}
	return out
}

func (chatDialect) teller(x *exchange, e *events) teller {
	return &chatTeller{x, e, make([]int, len(x.answers))}
}

type chatTeller struct {
	x        *exchange
	e        *events
	numCalls []int // told of, by answer
}

func (t *chatTeller) chunk(c choice) completion {
	out := t.x.head("chat.completion.chunk")
	out.Choices = append(out.Choices, c)
	return out
}

func (t *chatTeller) begin() {
	for _, a := range t.x.answers {
		first := t.chunk(choice{Index: a.index, Delta: &delta{Role: chat.Assistant}})
		if t.x.request.ids {
			first.PromptTokenIDs = a.prompt
		}
		t.e.data(first)
	}
}

// addTokens gives a choice the tokens that no chunk has told of.
func (t *chatTeller) addTokens(a *answer, c choice) choice {
	c.Index = a.index
	noted := a.takeCompletion()
	if noted == nil {
		return c
	}
	if t.x.request.logprobs {
		c.Logprobs = t.x.model.logprobs(noted)
	}
	if t.x.request.ids {
		c.TokenIDs = noted.IDs
	}
	return c
}

func (t *chatTeller) delta(a *answer, d told) {
	var out delta
	switch {
	case d.Call != nil:
		call := deltaCall{Index: t.numCalls[a.index], ID: d.Call.ID, Type: "function"}
		call.Function.Name, call.Function.Arguments = d.Call.Name, d.Call.Arguments
		t.numCalls[a.index]++
		out.ToolCalls = []deltaCall{call}
	case d.Arguments != "":
		call := deltaCall{Index: t.numCalls[a.index] - 1}
		call.Function.Arguments = d.Arguments
		out.ToolCalls = []deltaCall{call}
	case d.Reasoning != "":
		out.Reasoning = d.Reasoning
	default:
		out.Content = &d.Content
	}
	t.e.data(t.chunk(t.addTokens(a, choice{Delta: &out})))
}

func (t *chatTeller) finish(a *answer) {
	t.e.data(t.chunk(t.addTokens(a, choice{Delta: &delta{}, FinishReason: a.finish()})))
}

func (t *chatTeller) end() {
	if t.x.request.usage {
		counted := t.x.head("chat.completion.chunk")
		counted.Usage = t.x.usage()
		t.e.data(counted)
	}
	t.e.line("data: [DONE]")
}

// fail tells of an error in the stream, as OpenAI's clients expect it.
func (t *chatTeller) fail(e *apiError) { t.e.data(e.body()) }

type logprobs struct {
	Content []tokenLogprob `json:"content"`
}

// tokenLogprob is natural-log, under the distribution the token was drawn from: at the request's temperature, over what
// top_k, top_p, min_p and logit_bias leave. So are the likeliest tokens beside it, and others are not listed.
type tokenLogprob struct {
	likelyToken
	TopLogprobs []likelyToken `json:"top_logprobs"`
}

type likelyToken struct {
	Token   string  `json:"token"`
	Logprob float32 `json:"logprob"`
	Bytes   []int   `json:"bytes"` // null where there is no text
}

// logprobs are those of all tokens that were sampled, also of what a stop text cut off.
func (m *served) logprobs(c *policy.Completion) *logprobs {
	out := &logprobs{Content: []tokenLogprob{}}
	for i, id := range c.IDs {
		t := tokenLogprob{m.likely(id, c.SamplerLogprobs[i]), []likelyToken{}}
		if i < len(c.TopLogprobs) {
			for _, top := range c.TopLogprobs[i] {
				t.TopLogprobs = append(t.TopLogprobs, m.likely(top.ID, top.Logprob))
			}
		}
		out.Content = append(out.Content, t)
	}
	return out
}

func (m *served) likely(id int32, logprob float32) likelyToken {
	t := likelyToken{Token: m.Decode([]int32{id}), Logprob: logprob}
	for _, b := range []byte(t.Token) {
		t.Bytes = append(t.Bytes, int(b))
	}
	return t
}
