package proxy

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strings"

	"hone/internal/chat"
)

// maxCalls is the most calls of one message.
const maxCalls = 256

// gathering adds up the chunks of a stream.
type gathering struct {
	finished  bool
	text      strings.Builder // a sum of strings would take the square of their length
	reasoning strings.Builder
	places    []int              // index of each call of the message
	arguments []*strings.Builder // of each call
}

type chunk struct {
	Choices []struct {
		Index int `json:"index"`
		Delta struct {
			Content   *string     `json:"content"`
			Reasoning string      `json:"reasoning_content"`
			ToolCalls []deltaCall `json:"tool_calls"`
		} `json:"delta"`
		Text         string  `json:"text"` // of completions
		FinishReason *string `json:"finish_reason"`
	} `json:"choices"`
	Usage *Usage `json:"usage"`
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

// add adds an event to an answer. Its error says that the stream is no such stream, or what the upstream said.
func (g *gathering) add(e event, a *Answer) error {
	if e.data == nil {
		return nil
	}
	if e.isDone() {
		g.finished = true
		return nil
	}
	if !json.Valid(e.data) {
		return badUpstream("upstream_invalid", "an event of the upstream's stream is no JSON")
	}
	if told, err := Get(e.data, "error"); err == nil && len(told) > 0 && string(told) != "null" {
		return &upstreamError{http.StatusBadGateway, e.data}
	}
	var c chunk
	if err := json.Unmarshal(e.data, &c); err != nil {
		a.Opaque = err // of a form that is not known here
		return nil
	}
	if a.base == nil {
		a.base = e.data
	}
	if c.Usage != nil {
		a.Usage = c.Usage
	}
	for _, choice := range c.Choices {
		if choice.FinishReason != nil {
			g.finished = true
		}
		if choice.Index != 0 {
			continue
		}
		a.Message.Role = chat.Assistant
		if choice.Delta.Content != nil {
			g.text.WriteString(*choice.Delta.Content)
		}
		g.reasoning.WriteString(choice.Delta.Reasoning)
		a.Message.Content, a.Message.ReasoningContent = g.text.String(), g.reasoning.String() // no copy
		if choice.FinishReason != nil {
			a.FinishReason = *choice.FinishReason
		}
		for _, d := range choice.Delta.ToolCalls {
			if err := g.call(d, a); err != nil {
				return err
			}
		}
	}
	return nil
}

func (g *gathering) call(d deltaCall, a *Answer) error {
	at := len(g.places) - 1
	for at >= 0 && g.places[at] != d.Index {
		at--
	}
	// Some servers tell of each call at place 0: Gemini's does. Another id alone is no other call: some servers make
	// one up for each event.
	if at >= 0 && d.Function.Name != "" && d.ID != "" && a.Message.ToolCalls[at].ID != "" &&
		a.Message.ToolCalls[at].ID != d.ID {
		at = -1
	}
	if at < 0 {
		if at = len(g.places); at == maxCalls {
			return badUpstream("upstream_too_long", "the upstream makes more calls at once than can be")
		}
		g.places, g.arguments = append(g.places, d.Index), append(g.arguments, &strings.Builder{})
		a.Message.ToolCalls = append(a.Message.ToolCalls, chat.ToolCall{})
	}
	call := &a.Message.ToolCalls[at]
	call.ID, call.Name = cmp.Or(call.ID, d.ID), cmp.Or(call.Name, d.Function.Name)
	g.arguments[at].WriteString(d.Function.Arguments)
	call.Arguments = g.arguments[at].String()
	return nil
}
