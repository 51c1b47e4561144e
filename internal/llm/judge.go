package llm

import (
	"context"

	"hone/internal/chat"
	"hone/internal/grade/judge"
)

// Judge is an endpoint that judges; it implements judge.Model.
type Judge struct {
	Client Chatter
	Model  string
	Called string                                           // its name in the record; the model's where it is empty
	Cost   func(promptTokens, completionTokens int) float64 // of a request, in US dollars; nil where it is not known
}

// Name implements judge.Model.
func (j Judge) Name() string {
	if j.Called != "" {
		return j.Called
	}
	return j.Model
}

// Ask implements judge.Model.
func (j Judge) Ask(ctx context.Context, q judge.Question) (judge.Reply, error) {
	resp, err := j.Client.Chat(ctx, Request{
		Model:       j.Model,
		Temperature: q.Temperature,
		MaxTokens:   q.MaxTokens,
		Seed:        q.Seed,
		Messages:    []chat.Message{{Role: chat.System, Content: q.System}, {Role: chat.User, Content: q.User}},
	})
	if err != nil {
		return judge.Reply{}, err
	}
	r := judge.Reply{Text: resp.Message.Content, PromptTokens: resp.Usage.PromptTokens,
		CompletionTokens: resp.Usage.CompletionTokens, Cached: resp.Cached}
	if j.Cost != nil {
		cost := j.Cost(r.PromptTokens, r.CompletionTokens)
		r.Cost = &cost
	}
	return r, nil
}
