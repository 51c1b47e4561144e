package serve

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

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
		c.Logprobs = r.logprobs()
	}
	if q.ReturnTokenIDs {
		out.PromptTokenIDs, c.TokenIDs = r.prompt, r.IDs
	}
	out.Choices = append(out.Choices, c)
	return out
}

// logprobs are those of all tokens that were sampled, also of what a stop text cut off.
func (r *result) logprobs() *logprobs {
	out := &logprobs{Content: []tokenLogprob{}}
	for i, id := range r.IDs {
		t := tokenLogprob{r.model.likely(id, r.SamplerLogprobs[i]), []likelyToken{}}
		if i < len(r.TopLogprobs) {
			for _, top := range r.TopLogprobs[i] {
				t.TopLogprobs = append(t.TopLogprobs, r.model.likely(top.ID, top.Logprob))
			}
		}
		out.Content = append(out.Content, t)
	}
	return out
}

func (m *served) likely(id int32, logprob float32) likelyToken {
	t := likelyToken{Token: fmt.Sprintf("token_id:%d", id), Logprob: logprob}
	if m.Decode != nil {
		t.Token = m.Decode([]int32{id})
		for _, b := range []byte(t.Token) {
			t.Bytes = append(t.Bytes, int(b))
		}
	}
	return t
}

// writeStream sends a finished completion as server-sent events. Logprobs and token ids go with the last chunk, since
// chunks of text are not tokens where calls were cut out of it.
func writeStream(w http.ResponseWriter, r *result, q *request) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusOK)
	flush := http.NewResponseController(w)
	send := func(c completion) bool {
		b, err := json.Marshal(c)
		if err == nil {
			_, err = fmt.Fprintf(w, "data: %s\n\n", b)
		}
		if err == nil {
			err = flush.Flush()
		}
		return err == nil
	}
	for i, c := range r.chunks() {
		out := r.head("chat.completion.chunk")
		out.Choices = append(out.Choices, c)
		if i == 0 && q.ReturnTokenIDs {
			out.PromptTokenIDs = r.prompt
		}
		if !send(out) {
			return
		}
	}
	last := choice{Delta: &delta{}, FinishReason: r.finish()}
	if q.Logprobs {
		last.Logprobs = r.logprobs()
	}
	if q.ReturnTokenIDs {
		last.TokenIDs = r.IDs
	}
	end := r.head("chat.completion.chunk")
	end.Choices = append(end.Choices, last)
	if !send(end) {
		return
	}
	if q.StreamOptions.IncludeUsage {
		counted := r.head("chat.completion.chunk")
		counted.Usage = r.usage()
		if !send(counted) {
			return
		}
	}
	_, _ = fmt.Fprint(w, "data: [DONE]\n\n") // the server flushes at the end
}

// chunks are the role, the reasoning, the content, then each call: its name, then its arguments.
func (r *result) chunks() []choice {
	out := []choice{{Delta: &delta{Role: chat.Assistant}}}
	for _, piece := range pieces(r.message.ReasoningContent, r.IDs, r.model.Decode) {
		out = append(out, choice{Delta: &delta{Reasoning: piece}})
	}
	for _, piece := range pieces(r.message.Content, r.IDs, r.model.Decode) {
		out = append(out, choice{Delta: &delta{Content: &piece}})
	}
	for i, call := range r.message.ToolCalls {
		open := deltaCall{Index: i, ID: call.ID, Type: "function"}
		open.Function.Name = call.Name
		out = append(out, choice{Delta: &delta{ToolCalls: []deltaCall{open}}})
		for _, piece := range pieces(call.Arguments, nil, nil) {
			more := deltaCall{Index: i}
			more.Function.Arguments = piece
			out = append(out, choice{Delta: &delta{ToolCalls: []deltaCall{more}}})
		}
	}
	return out
}

// pieces cuts text where its tokens end, as far as the ids' own text runs along with it (several ids go together
// where they share a character); the rest is cut after spaces. Joined, the pieces are the text.
func pieces(text string, ids []int32, decode func([]int32) string) []string {
	var out []string
	for start, end := 0, 1; decode != nil && end <= len(ids) && end-start <= 8; end++ {
		piece := decode(ids[start:end])
		if piece != "" && strings.HasPrefix(text, piece) {
			out = append(out, piece)
			text, start = text[len(piece):], end
		}
	}
	for _, piece := range strings.SplitAfter(text, " ") {
		if piece != "" {
			out = append(out, piece)
		}
	}
	return out
}
