package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"

	"hone/internal/chat"
	"hone/internal/policy"
)

// feed hands tokens from the sampler, which must not wait, to a client, which may be slow. A completion's tokens are bounded, so
// the feed is.
type feed struct {
	mu     sync.Mutex
	tokens []policy.Token
	more   chan struct{} // one place: there is something new
	done   chan struct{} // closed once no token follows
}

func newFeed() *feed { return &feed{more: make(chan struct{}, 1), done: make(chan struct{})} }

func (f *feed) add(t policy.Token) {
	f.mu.Lock()
	f.tokens = append(f.tokens, t)
	f.mu.Unlock()
	select {
	case f.more <- struct{}{}:
	default:
	}
}

// take waits for tokens and returns those that have come; none once all were taken.
func (f *feed) take() []policy.Token {
	for {
		ended := false
		select {
		case <-f.more:
		case <-f.done:
			ended = true
		}
		f.mu.Lock()
		tokens := f.tokens
		f.tokens = nil
		f.mu.Unlock()
		if ended || tokens != nil { // a signal may come for what an earlier one brought
			return tokens
		}
	}
}

// stream samples a completion and sends it as server-sent events while it grows. An error is returned where nothing was sent
// yet; else it is told in the stream, which then has no [DONE].
func (s *Server) stream(ctx context.Context, w http.ResponseWriter, r *result, q *request) error {
	ctx, cancel := context.WithCancel(ctx)
	tokens := newFeed()
	var c policy.Completion
	var err error
	go func() {
		defer close(tokens.done)
		c, err = s.sample(ctx, r, q, tokens.add)
	}()
	defer func() {
		cancel() // where the client is gone
		<-tokens.done
	}()
	out := events{w: w, result: r, request: q}
	text := r.reading(q)
	for batch := tokens.take(); batch != nil; batch = tokens.take() {
		if !out.begin(batch[0].PolicyVersion) {
			return nil
		}
		for _, t := range batch {
			if out.note(t); !out.send(text.next(t.ID)) {
				return nil
			}
		}
	}
	<-tokens.done
	switch {
	case err != nil && !out.begun:
		return err
	case err != nil:
		if ctx.Err() == nil {
			out.fail(s.refusal(r, err))
		}
		return nil
	}
	deltas := text.close(&c)
	r.Completion, r.message = c, text.message
	_ = out.begin(r.PolicyVersion) && out.send(deltas) && out.end()
	return nil
}

// events writes a completion as server-sent events. Each of its functions is false where the client is gone.
type events struct {
	w       http.ResponseWriter
	result  *result
	request *request
	begun   bool
	noted   policy.Completion // tokens that no chunk has told of
}

// begin sends the headers and the role, once.
func (e *events) begin(policyVersion int) bool {
	if e.begun {
		return true
	}
	e.begun, e.result.PolicyVersion = true, policyVersion
	e.w.Header().Set("Content-Type", "text/event-stream")
	e.w.Header().Set("Cache-Control", "no-store")
	e.w.WriteHeader(http.StatusOK)
	first := e.chunk(choice{Delta: &delta{Role: chat.Assistant}})
	if e.request.ReturnTokenIDs {
		first.PromptTokenIDs = e.result.prompt
	}
	return e.write(first)
}

// note remembers a token for the next chunk: logprobs and ids go with what they settled, which may be several tokens' text.
func (e *events) note(t policy.Token) {
	if !e.request.Logprobs && !e.request.ReturnTokenIDs {
		return
	}
	e.noted.IDs, e.noted.SamplerLogprobs = append(e.noted.IDs, t.ID), append(e.noted.SamplerLogprobs, t.Logprob)
	if e.request.Logprobs && e.request.TopLogprobs != nil && *e.request.TopLogprobs > 0 {
		e.noted.TopLogprobs = append(e.noted.TopLogprobs, t.Top)
	}
}

// told gives a choice what was noted.
func (e *events) told(c choice) choice {
	if len(e.noted.IDs) == 0 {
		return c
	}
	if e.request.Logprobs {
		c.Logprobs = e.result.model.logprobs(&e.noted)
	}
	if e.request.ReturnTokenIDs {
		c.TokenIDs = e.noted.IDs
	}
	e.noted = policy.Completion{}
	return c
}

func (e *events) send(deltas []chat.Delta) bool {
	for _, d := range deltas {
		if !e.write(e.chunk(e.told(choice{Delta: e.delta(d)}))) {
			return false
		}
	}
	return true
}

func (e *events) delta(d chat.Delta) *delta {
	switch {
	case d.Call != nil:
		call := deltaCall{Index: e.result.numCalls, ID: d.Call.ID, Type: "function"}
		call.Function.Name, call.Function.Arguments = d.Call.Name, d.Call.Arguments
		e.result.numCalls++
		return &delta{ToolCalls: []deltaCall{call}}
	case d.Reasoning != "":
		return &delta{Reasoning: d.Reasoning}
	}
	return &delta{Content: &d.Content}
}

// end sends why the completion ended, the usage where it is asked for, and the last line.
func (e *events) end() bool {
	last := e.chunk(e.told(choice{Delta: &delta{}, FinishReason: e.result.finish()}))
	if !e.write(last) {
		return false
	}
	if e.request.StreamOptions.IncludeUsage {
		counted := e.result.head("chat.completion.chunk")
		counted.Usage = e.result.usage()
		if !e.write(counted) {
			return false
		}
	}
	_, err := fmt.Fprint(e.w, "data: [DONE]\n\n") // the server flushes at the end
	return err == nil
}

// fail tells of an error in the stream, as OpenAI's clients expect it.
func (e *events) fail(refused *apiError) { e.write(refused.body()) }

func (e *events) chunk(c choice) completion {
	out := e.result.head("chat.completion.chunk")
	out.Choices = append(out.Choices, c)
	return out
}

func (e *events) write(event any) bool {
	b, err := json.Marshal(event)
	if err == nil {
		_, err = fmt.Fprintf(e.w, "data: %s\n\n", b)
	}
	if err == nil {
		err = http.NewResponseController(e.w).Flush()
	}
	return err == nil
}
