package toolset

import (
	"context"
	"errors"
	"strings"
	"testing"

	"hone/internal/chat"
	"hone/internal/episode/environment"
	"hone/internal/episode/trajectory"
)

// echo is tools that answer with their arguments.
type echo struct{ environment.Session }

func (e echo) Open(context.Context, string, ...environment.Template) (environment.Session, error) {
	return e, nil
}
func (echo) Call(_ context.Context, calls []chat.ToolCall) (out []trajectory.ToolResult) {
	for _, c := range calls {
		out = append(out, trajectory.ToolResult{Call: c, Status: trajectory.CallOK, Text: c.Arguments, Seconds: 2})
	}
	return out
}
func (e echo) Probe(ctx context.Context, c chat.ToolCall) trajectory.ToolResult {
	return e.Call(ctx, []chat.ToolCall{c})[0]
}

func TestLongResultsAreSummarised(t *testing.T) {
	tools := SummaryTools{
		Tools: echo{},
		Summaries: Summaries{
			Max: 100,
			Summarise: func(_ context.Context, c chat.ToolCall, text string, max int) (string, error) {
				if c.Name == "bad" {
					return "", errors.New("no model")
				}
				return strings.Repeat("s", max), nil
			},
		},
	}
	s, err := tools.Open(t.Context(), "e")
	if err != nil {
		t.Fatal(err)
	}
	whole := strings.Repeat("w", 101)
	got := s.Call(t.Context(), []chat.ToolCall{
		{Name: "good", Arguments: whole},
		{Name: "good", Arguments: whole[:100]},
		{Name: "bad", Arguments: whole},
	})
	if r := got[0]; len(r.Text) != 100 || !strings.HasPrefix(r.Text, "[summary of 101 bytes]\ns") ||
		!strings.Contains(string(r.Content), whole) || r.Status != trajectory.CallOK || r.Seconds != 2 {
		t.Errorf("long: %+v", r)
	}
	if r := got[1]; r.Text != whole[:100] || r.Content != nil {
		t.Errorf("not too long: %+v", r)
	}
	if r := got[2]; environment.CallOutcome(r) != trajectory.InfrastructureError ||
		!strings.Contains(r.Error, "no model") || r.Call.Name != "bad" {
		t.Errorf("no summary: %+v", r)
	}
	if r := s.Probe(t.Context(), chat.ToolCall{Arguments: whole}); r.Text != whole {
		t.Error("what checks look at is summarised")
	}
}
