package revise

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"

	"hone/internal/chat"
	"hone/internal/proxy"
)

// Served is a sidecar's model behind a server of chat completions that gives log-probabilities, as hone serve does.
type Served struct {
	Client    *http.Client
	URL       string // of chat completions
	Model     string
	MaxTokens int // of a revision
}

// mostSaid is the most bytes of an answer, with log-probabilities.
const mostSaid = 4 << 20

// Revise implements sidecar.Reviser.
func (r Served) Revise(ctx context.Context, q Question) (said Said, err error) {
	body, err := json.Marshal(map[string]any{
		"model": r.Model, "messages": Prompt(q.Messages, q.Draft), "tools": q.Tools, "temperature": 0,
		"logprobs": true, "max_tokens": r.MaxTokens,
	})
	if err != nil {
		return said, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, r.URL, bytes.NewReader(body))
	if err != nil {
		return said, err
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := r.Client.Do(request)
	if err != nil {
		return said, err
	}
	defer func() { _ = answer.Body.Close() }() // it was read
	text, err := io.ReadAll(io.LimitReader(answer.Body, mostSaid))
	if err != nil {
		return said, err
	}
	if answer.StatusCode != http.StatusOK {
		return said, fmt.Errorf("it answered with status %d: %.200s", answer.StatusCode, text)
	}
	var told struct {
		Choices []struct {
			Message      chat.Message `json:"message"`
			FinishReason string       `json:"finish_reason"`
			Logprobs     struct {
				Content []struct {
					Logprob float64 `json:"logprob"`
				} `json:"content"`
			} `json:"logprobs"`
		} `json:"choices"`
		Usage proxy.Usage `json:"usage"`
	}
	if err := json.Unmarshal(text, &told); err != nil || len(told.Choices) == 0 ||
		len(told.Choices[0].Logprobs.Content) == 0 {
		return said, errors.New("its answer is no completion with log-probabilities")
	}
	c := told.Choices[0]
	sum := 0.0
	for _, t := range c.Logprobs.Content {
		sum += t.Logprob
	}
	return Said{Message: c.Message, Whole: c.FinishReason != "length", Probability: math.Exp(sum),
		PromptTokens: told.Usage.PromptTokens, CompletionTokens: told.Usage.CompletionTokens}, nil
}
