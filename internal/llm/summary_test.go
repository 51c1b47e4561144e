package llm

import (
	"context"
	"errors"
	"strings"
	"testing"

	"hone/internal/chat"
)

type chatter func(r Request) (Response, error)

func (c chatter) Chat(_ context.Context, r Request) (Response, error) { return c(r) }

func head(text string, max int) string { return text[:min(len(text), max)] }

func TestSummarise(t *testing.T) {
	long := strings.Repeat("row 17 is red. ", 40000)
	var asked []Request
	limit := 1 << 20
	answer := "  17: red \n"
	s := Summariser{Model: "m", Cut: head, Client: chatter(func(r Request) (Response, error) {
		asked = append(asked, r)
		if len(r.Messages[1].Content) > limit {
			return Response{}, &StatusError{Status: 400, Code: "context_length_exceeded"}
		}
		return Response{Message: chat.Message{Content: answer}}, nil
	})}
	call := chat.ToolCall{Name: "rows", Arguments: `{"of": "t"}`}
	got, err := s.Summarise(t.Context(), call, long, 600)
	if err != nil || got != "17: red" {
		t.Fatalf("%q, %v", got, err)
	}
	r := asked[0]
	if r.Model != "m" || r.Temperature != 0 || r.MaxTokens != 201 ||
		!strings.Contains(r.Messages[1].Content, `rows {"of": "t"}`) || len(r.Messages[1].Content) > maxSummarised+200 {
		t.Errorf("asked %.300v", r)
	}
	asked, limit, answer = nil, 40000, strings.Repeat("x", 900)
	if got, err = s.Summarise(t.Context(), call, long, 600); err != nil || len(got) != 600 || len(asked) != 4 {
		t.Errorf("%d bytes after %d requests, %v; want 600 after 4, each half as long", len(got), len(asked), err)
	}
	answer = " "
	if _, err = s.Summarise(t.Context(), call, "short", 600); err == nil {
		t.Error("an empty summary counts")
	}
	gone := errors.New("gone")
	s.Client = chatter(func(Request) (Response, error) { return Response{}, gone })
	if _, err = s.Summarise(t.Context(), call, "short", 600); !errors.Is(err, gone) {
		t.Errorf("err = %v", err)
	}
}
