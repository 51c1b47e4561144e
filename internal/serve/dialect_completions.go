package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
)

// completionsDialect is OpenAI's older /v1/completions: a text goes on, and no chat template stands around it.
type completionsDialect struct{}

type completionsRequest struct {
	knobs
	Model         string  `json:"model"`
	Prompt        prompts `json:"prompt"`
	MaxTokens     *int    `json:"max_tokens"` // absent: 16, as OpenAI has it
	N             *int    `json:"n"`
	Stop          texts   `json:"stop"`
	Echo          bool    `json:"echo"`
	Logprobs      *int    `json:"logprobs"` // how many of the likeliest tokens are told beside each
	Stream        bool    `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	ReturnTokenIDs bool `json:"return_token_ids"`
	IgnoreEOS      bool `json:"ignore_eos"` // vLLM's: the model's own stop ids are tokens as any other

	PresencePenalty   float64  `json:"presence_penalty"`
	FrequencyPenalty  float64  `json:"frequency_penalty"`
	RepetitionPenalty *float64 `json:"repetition_penalty"`
	BestOf            *int     `json:"best_of"`
	Suffix            string   `json:"suffix"`
}

// prompts are texts, or lists of ids, one or several.
type prompts struct {
	texts []string
	ids   [][]int32
}

// UnmarshalJSON implements json.Unmarshaler.
func (p *prompts) UnmarshalJSON(raw []byte) error {
	*p = prompts{}
	raw = bytes.TrimSpace(raw)
	switch {
	case len(raw) > 0 && raw[0] == '"':
		p.texts = make([]string, 1)
		return json.Unmarshal(raw, &p.texts[0])
	case json.Unmarshal(raw, &p.texts) == nil:
		return nil
	}
	p.texts = nil
	var one []int32
	if json.Unmarshal(raw, &one) == nil {
		p.ids = [][]int32{one}
		return nil
	}
	if json.Unmarshal(raw, &p.ids) != nil {
		return errors.New("must be a string, an array of strings, or one of token ids")
	}
	return nil
}

func (completionsDialect) name() string { return "cmpl" }

func (completionsDialect) failure(e *apiError) any {
	return e.under(map[string]string{"messages": "prompt", "top_logprobs": "logprobs"}).body()
}

func (completionsDialect) read(w http.ResponseWriter, r *http.Request) (*request, *apiError) {
	var c completionsRequest
	aside, refused := readBody(w, r, &c, idle()...)
	if refused != nil {
		return nil, refused
	}
	q := &request{model: c.Model, aside: aside, raw: c.Prompt.texts, prompts: c.Prompt.ids, n: 1, stream: c.Stream,
		usage: c.StreamOptions.IncludeUsage, ids: c.ReturnTokenIDs, echo: c.Echo, logprobs: c.Logprobs != nil,
		ignoreEOS: c.IgnoreEOS}
	refused = c.into(q)
	q.sampling.MaxTokens, q.sampling.Stop = 16, c.Stop
	if c.Logprobs != nil {
		q.sampling.TopLogprobs = *c.Logprobs
	}
	if c.N != nil {
		q.n = *c.N
	}
	if refused == nil {
		refused = q.limit("max_tokens", c.MaxTokens)
	}
	switch {
	case refused != nil:
		return nil, refused
	case len(q.raw)+len(q.prompts) == 0:
		return nil, invalid("prompt", "there is no prompt")
	case q.n < 1:
		return nil, invalid("n", "n must be positive")
	case c.PresencePenalty != 0:
		return nil, unsupportedError("presence_penalty", "only 0 is supported")
	case c.FrequencyPenalty != 0:
		return nil, unsupportedError("frequency_penalty", "only 0 is supported")
	case c.RepetitionPenalty != nil && *c.RepetitionPenalty != 1:
		return nil, unsupportedError("repetition_penalty", "only 1 is supported")
	case c.BestOf != nil && *c.BestOf != q.n:
		return nil, unsupportedError("best_of", "only as many as n are supported")
	case c.Suffix != "":
		return nil, unsupportedError("suffix", "only text at the end is written")
	case c.Echo && q.logprobs:
		return nil, unsupportedError("echo",
			"the logprobs of a prompt are not computed here: hone inspect logprobs does that")
	}
	return q, nil
}

type textCompletion struct {
	ID                string       `json:"id"`
	Object            string       `json:"object"`
	Created           int64        `json:"created"`
	Model             string       `json:"model"`
	SystemFingerprint string       `json:"system_fingerprint"`
	Choices           []textChoice `json:"choices"`
	Usage             *usage       `json:"usage,omitempty"`
}

type textChoice struct {
	Index          int           `json:"index"`
	Text           string        `json:"text"`
	Logprobs       *textLogprobs `json:"logprobs"`
	FinishReason   *string       `json:"finish_reason"`
	TokenIDs       []int32       `json:"token_ids,omitempty"`
	PromptTokenIDs []int32       `json:"prompt_token_ids,omitempty"`
}

// textLogprobs are of all sampled tokens, and natural-log as those of chat completions. Offsets are in characters.
type textLogprobs struct {
	TextOffset    []int                `json:"text_offset"`
	TokenLogprobs []float32            `json:"token_logprobs"`
	Tokens        []string             `json:"tokens"`
	TopLogprobs   []map[string]float32 `json:"top_logprobs"`
}

func (x *exchange) textHead() textCompletion {
	return textCompletion{ID: x.id, Object: "text_completion", Created: x.created.Unix(), Model: x.model.ID,
		SystemFingerprint: x.fingerprint(), Choices: []textChoice{}}
}

// textLogprobs are the noted ones of an answer; offset is moved on.
func (x *exchange) textLogprobs(c *logprobs, offset *int) *textLogprobs {
	out := &textLogprobs{TextOffset: []int{}, TokenLogprobs: []float32{}, Tokens: []string{}}
	for _, t := range c.Content {
		out.TextOffset, out.TokenLogprobs, out.Tokens =
			append(out.TextOffset, *offset), append(out.TokenLogprobs, t.Logprob), append(out.Tokens, t.Token)
		*offset += len([]rune(t.Token))
		if x.request.sampling.TopLogprobs == 0 {
			continue
		}
		top := map[string]float32{}
		for _, l := range t.TopLogprobs {
			top[l.Token] = l.Logprob
		}
		out.TopLogprobs = append(out.TopLogprobs, top)
	}
	return out
}

func (x *exchange) echo(a *answer) string {
	if !x.request.echo {
		return ""
	}
	return x.model.Decode(a.prompt)
}

func (completionsDialect) whole(x *exchange) any {
	out := x.textHead()
	out.Usage = x.usage()
	for _, a := range x.answers {
		c := textChoice{Index: a.index, Text: x.echo(a) + a.message.Content, FinishReason: a.finish()}
		if x.request.logprobs {
			c.Logprobs = x.textLogprobs(x.model.logprobs(&a.Completion), new(int))
		}
		if x.request.ids {
			c.TokenIDs, c.PromptTokenIDs = a.IDs, a.prompt
		}
		out.Choices = append(out.Choices, c)
	}
	return out
}

func (completionsDialect) teller(x *exchange, e *events) teller {
	return &completionsTeller{x, e, make([]int, len(x.answers))}
}

type completionsTeller struct {
	x       *exchange
	e       *events
	offsets []int // by answer: characters told of in logprobs
}

func (t *completionsTeller) send(a *answer, c textChoice) {
	c.Index = a.index
	if noted := a.takeCompletion(); noted != nil {
		if t.x.request.logprobs {
			c.Logprobs = t.x.textLogprobs(t.x.model.logprobs(noted), &t.offsets[a.index])
		}
		if t.x.request.ids {
			c.TokenIDs = noted.IDs
		}
	}
	out := t.x.textHead()
	out.Choices = append(out.Choices, c)
	t.e.data(out)
}

func (t *completionsTeller) begin() {
	for _, a := range t.x.answers {
		if c := (textChoice{Text: t.x.echo(a)}); c.Text != "" || t.x.request.ids {
			if t.x.request.ids {
				c.PromptTokenIDs = a.prompt
			}
			t.send(a, c)
		}
	}
}

func (t *completionsTeller) delta(a *answer, d told) { t.send(a, textChoice{Text: d.Content}) }
func (t *completionsTeller) finish(a *answer)        { t.send(a, textChoice{FinishReason: a.finish()}) }

func (t *completionsTeller) end() {
	if t.x.request.usage {
		counted := t.x.textHead()
		counted.Usage = t.x.usage()
		t.e.data(counted)
	}
	t.e.line("data: [DONE]")
}

func (t *completionsTeller) fail(e *apiError) { t.e.data(e.body()) }
