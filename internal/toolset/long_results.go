package toolset

import (
	"context"
	"path/filepath"

	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/host"
	"hone/internal/llm"
	"hone/internal/mcp"
)

// wholeResult is how many bytes of a result are read where another than the server's client shortens it.
const wholeResult = 256 << 10

// Shortener says what is shown of long results, in episodes and of those that clients send to hone serve: one rule, so
// that a model meets in use what it met in training.
func Shortener(
	h *host.Host, r config.Rollout,
) (func(ctx context.Context, call chat.ToolCall, text string) (string, error), error) {
	if r.LongResults != "summary" {
		return func(_ context.Context, _ chat.ToolCall, text string) (string, error) {
			return mcp.Truncate(text, r.MaxResult), nil
		}, nil
	}
	s, err := summaries(h, r)
	return s.Shorten, err
}

// summaries asks the model of rollout.summary. Its answers are kept in hone's cache folder, so that a result has the
// same summary in training, in evaluations and in use.
func summaries(h *host.Host, r config.Rollout) (Summaries, error) {
	store, err := h.Store()
	if err != nil {
		return Summaries{}, err
	}
	key, err := h.KeyIn(r.Summary.KeyEnv, "the model that summarises", "rollout.summary",
		"set rollout.summary.key_env to another")
	if err != nil {
		return Summaries{}, err
	}
	client, err := llm.New(llm.Options{BaseURL: r.Summary.URL, Key: llm.Secret(key),
		CacheDir: filepath.Join(store.Dir, "summaries")})
	return Summaries{Max: r.MaxResult,
		Summarise: llm.Summariser{Client: client, Model: r.Summary.Model, Cut: mcp.Truncate}.Summarise}, err
}
