package llm

import (
	"context"

	"hone/internal/chat"
	"hone/internal/episode/environment"
)

// User is an endpoint that plays the users of scenarios; it implements user.Model.
type User struct {
	Client      Chatter
	Model       string
	Temperature float64
	MaxTokens   int // of one message
}

// Name implements user.Model.
func (u User) Name() string { return u.Model }

// Write implements user.Model.
func (u User) Write(ctx context.Context, messages []chat.Message, seed uint64) (environment.Written, error) {
	resp, err := u.Client.Chat(ctx,
		Request{Model: u.Model, Messages: messages, Temperature: u.Temperature, MaxTokens: u.MaxTokens, Seed: seed})
	if err != nil {
		return environment.Written{}, err
	}
	return environment.Written{Text: resp.Message.Content, PromptTokens: resp.Usage.PromptTokens,
		CompletionTokens: resp.Usage.CompletionTokens}, nil
}
