package proxy

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"hone/internal/chat"
	"hone/internal/chat/schema"
)

// Agent is the initial-call agent: on a user's turn a small model proposes the first call, which a large one, the
// upstream, would else have had to find. The client makes the call as if the upstream had asked for it, and the
// upstream goes on from the result. So the upstream is asked once less, and reads the prompt once less.
//
// A proposal is made where the small model is sure. How sure it is comes from the log-probabilities of its own tokens,
// by a fit on held-out scenarios (Calibration). Where it is not sure, or calls no tool, the request goes through
// untouched. The source of the idea is MCP-Flow (arXiv 2510.24284), section 4.4.
//
// An Agent may be used from many goroutines.
type Agent struct {
	Client      *http.Client // reaches the small model's server
	URL         string       // of its chat completions
	Model       string       // its name there
	MaxTokens   int          // of a proposal; 0: 256
	Calibration Calibration
}

// Proposal is what the small model says of a user's turn. Calls is nil where the upstream is to be asked, and Why says
// why.
type Proposal struct {
	Calls      []chat.ToolCall
	Unsure     []chat.ToolCall // calls that are not sure enough
	Why        Reason
	Detail     string  // of Why, for a log
	Confidence float64 // that the calls are right, in [0, 1]; 0 where there are none
	Used       Usage
}

// Reason is why there is no proposal. They are few, for counters.
type Reason string

// Reasons.
const (
	NoCall  Reason = "no_call" // the small model calls nothing
	Unsure  Reason = "unsure"  // its confidence is below the threshold
	Invalid Reason = "invalid" // its call is of no tool there is, or does not fit the tool's schema
	Failed  Reason = "failed"  // it could not be asked
	Late    Reason = "late"    // it did not answer in time
)

// Propose asks for the calls that answer the last message.
func (a *Agent) Propose(ctx context.Context, messages []chat.Message, tools []chat.Tool, oneCall bool) Proposal {
	var p Proposal
	said, logprobs, err := a.ask(ctx, messages, tools, &p.Used)
	switch {
	case err != nil:
		p.Why, p.Detail = Failed, err.Error()
		return p
	case len(said.ToolCalls) == 0:
		p.Why = NoCall
		return p
	case oneCall && len(said.ToolCalls) > 1:
		p.Why, p.Detail = Invalid, "several calls, where the client wants one at a time"
		return p
	}
	if p.Detail = misfit(said.ToolCalls, tools); p.Detail != "" {
		p.Why = Invalid
		return p
	}
	p.Confidence = a.Calibration.Confidence(EvidenceOf(logprobs))
	if !a.Calibration.Enough(p.Confidence) {
		p.Why, p.Detail, p.Unsure = Unsure, fmt.Sprintf("confidence %.3f", p.Confidence), said.ToolCalls
		return p
	}
	p.Calls = said.ToolCalls
	return p
}

// misfit says why calls cannot be sent; "" where they can.
func misfit(calls []chat.ToolCall, tools []chat.Tool) string {
	known := map[string]chat.Tool{}
	for _, t := range tools {
		known[t.Name] = t
	}
	for _, c := range calls {
		t, ok := known[c.Name]
		if !ok {
			return fmt.Sprintf("there is no tool %q", c.Name)
		}
		if verdict, reasons := schema.Compile(t.InputSchema).Validate(c.Arguments); verdict == schema.Invalid {
			return fmt.Sprintf("the arguments of %s do not fit its schema: %v", c.Name, reasons)
		}
	}
	return ""
}

// maxSaid is the most bytes of the small model's answer, with log-probabilities.
const maxSaid = 4 << 20

func (a *Agent) ask(
	ctx context.Context, messages []chat.Message, tools []chat.Tool, used *Usage,
) (m chat.Message, logprobs []float32, err error) {
	most := a.MaxTokens
	if most == 0 {
		most = 256
	}
	body, err := json.Marshal(map[string]any{"model": a.Model, "messages": messages, "tools": tools, "temperature": 0,
		"logprobs": true, "max_tokens": most})
	if err != nil {
		return m, nil, err
	}
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, a.URL, bytes.NewReader(body))
	if err != nil {
		return m, nil, err
	}
	q.Header.Set("Content-Type", "application/json")
	r, err := a.Client.Do(q)
	if err != nil {
		return m, nil, err
	}
	defer func() { _ = r.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(r.Body, maxSaid))
	if err != nil {
		return m, nil, err
	}
	if r.StatusCode != http.StatusOK {
		return m, nil, fmt.Errorf("the small model answered with status %d: %.300s", r.StatusCode, text)
	}
	return read(text, used)
}

func read(text []byte, used *Usage) (m chat.Message, logprobs []float32, err error) {
	var said struct {
		Choices []struct {
			Message      chat.Message `json:"message"`
			FinishReason string       `json:"finish_reason"`
			Logprobs     struct {
				Content []struct {
					Logprob float32 `json:"logprob"`
				} `json:"content"`
			} `json:"logprobs"`
		} `json:"choices"`
		Usage Usage `json:"usage"`
	}
	if err := json.Unmarshal(text, &said); err != nil || len(said.Choices) == 0 {
		return m, nil, fmt.Errorf("the small model's answer is no completion: %.300s", text)
	}
	*used = said.Usage
	c := said.Choices[0]
	for _, t := range c.Logprobs.Content {
		logprobs = append(logprobs, t.Logprob)
	}
	switch {
	case len(c.Message.ToolCalls) > 0 && len(logprobs) == 0:
		return m, nil, fmt.Errorf("the small model's server gives no log-probabilities")
	case c.FinishReason == "length":
		return chat.Message{}, nil, fmt.Errorf("the small model did not end in time: it wrote %d tokens", len(logprobs))
	}
	return c.Message, logprobs, nil
}
