package toolset

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"hone/internal/chat"
	"hone/internal/episode/environment"
	"hone/internal/episode/trajectory"
)

// Summaries says what a model is shown of a result.
type Summaries struct {
	Max int // bytes that are shown
	// Summarise says in at most max bytes what a call returned.
	Summarise func(ctx context.Context, call chat.ToolCall, text string, max int) (string, error)
}

// Shorten returns a result's text where it is not too long, else a summary, marked as one.
func (s Summaries) Shorten(ctx context.Context, call chat.ToolCall, text string) (string, error) {
	if len(text) <= s.Max {
		return text, nil
	}
	mark := fmt.Sprintf("[summary of %d bytes]\n", len(text))
	summary, err := s.Summarise(ctx, call, text, s.Max-len(mark))
	if err != nil {
		return "", fmt.Errorf("the result of %s is too long to be shown, and could not be summarised: %w",
			call.Name, err)
	}
	return mark + summary, nil
}

// SummaryTools summarises what is longer than a model is to be shown. The inner tools must return results whole.
type SummaryTools struct {
	environment.Tools
	Summaries
}

// Open implements environment.Tools.
func (t SummaryTools) Open(
	ctx context.Context, episode string, templates ...environment.Template,
) (environment.Session, error) {
	s, err := t.Tools.Open(ctx, episode, templates...)
	if err != nil {
		return nil, err
	}
	return session{s, t}, nil
}

type session struct {
	environment.Session
	tools SummaryTools
}

// Call implements environment.Session: long results of one turn are summarised at the same time.
func (s session) Call(ctx context.Context, calls []chat.ToolCall) []trajectory.ToolResult {
	results := s.Session.Call(ctx, calls)
	var all sync.WaitGroup
	for i := range results {
		if len(results[i].Text) > s.tools.Max {
			all.Go(func() { results[i] = s.tools.shorten(ctx, results[i]) })
		}
	}
	all.Wait()
	return results
}

// shorten puts a summary in the place of a result's text, which the record keeps. Where none is to be had, the call
// counts as lost, by our doing: an episode that was shown something else than its siblings is not to be compared with
// them.
func (t SummaryTools) shorten(ctx context.Context, r trajectory.ToolResult) trajectory.ToolResult {
	text, err := t.Shorten(ctx, r.Call, r.Text)
	if err != nil {
		return trajectory.ToolResult{Call: r.Call, Status: trajectory.CallTransportError,
			Outcome: trajectory.InfrastructureError, Text: "Error: " + err.Error(), Error: err.Error(),
			Seconds: r.Seconds}
	}
	if len(r.Content) == 0 {
		r.Content, _ = json.Marshal([]map[string]string{{"type": "text", "text": r.Text}}) // of texts
	}
	r.Text = text
	return r
}
