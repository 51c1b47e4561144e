package serve

import (
	"fmt"

	"hone/internal/chat"
	"hone/internal/policy"
)

type completion struct {
	ID                string   `json:"id"`
	Object            string   `json:"object"`
	Created           int64    `json:"created"`
	Model             string   `json:"model"`
	SystemFingerprint string   `json:"system_fingerprint"` // "policy-N", N the policy version
	Choices           []choice `json:"choices"`
	Usage             *usage   `json:"usage,omitempty"`
	PromptTokenIDs    []int32  `json:"prompt_token_ids,omitempty"` // with return_token_ids, as vLLM names it
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

type usage struct {
	PromptTokens     int `json:"prompt_tokens"`
	CompletionTokens int `json:"completion_tokens"`
	TotalTokens      int `json:"total_tokens"`
}

func (r *result) head(object string) completion {
	return completion{ID: r.id, Object: object, Created: r.created, Model: r.model.ID,
		SystemFingerprint: fmt.Sprintf("policy-%d", r.PolicyVersion), Choices: []choice{}}
}

func (r *result) usage() *usage {
	return &usage{len(r.prompt), len(r.IDs), len(r.prompt) + len(r.IDs)}
}

func (r *result) finish() *string {
	reason := "length"
	if r.FinishReason == policy.FinishStop {
		reason = "stop"
		if len(r.message.ToolCalls) > 0 {
			reason = "tool_calls"
		}
	}
	return &reason
}

func (r *result) whole(q *request) completion {
	out := r.head("chat.completion")
	out.Usage = r.usage()
	c := choice{Message: &r.message, FinishReason: r.finish()}
	if q.Logprobs {
		c.Logprobs = r.model.logprobs(&r.Completion)
	}
	if q.ReturnTokenIDs {
		out.PromptTokenIDs, c.TokenIDs = r.prompt, r.IDs
	}
	out.Choices = append(out.Choices, c)
	return out
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
