package console

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"hone/internal/chat"
	"hone/internal/fault"
)

// complete asks for an answer as a stream, and shows it: text on stdout, all else on stderr.
func (t *talk) complete(ctx context.Context, messages []chat.Message) (chat.Message, error) {
	body := map[string]any{"model": t.model, "messages": messages, "stream": true, "temperature": t.options.Temperature}
	if t.options.MaxTokens > 0 {
		body["max_tokens"] = t.options.MaxTokens
	}
	text, err := json.Marshal(body)
	if err != nil {
		return chat.Message{}, err
	}
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, t.url+"/chat/completions", bytes.NewReader(text))
	if err != nil {
		return chat.Message{}, &fault.Error{Code: fault.CodeUsage, What: "this is no URL",
			Where: "--endpoint " + t.url, Err: err}
	}
	q.Header.Set("Content-Type", "application/json")
	q.Header.Set("Hone-Session", t.session)
	if t.key != "" {
		q.Header.Set("Authorization", "Bearer "+t.key)
	}
	res, err := t.client.Do(q)
	if err != nil {
		return chat.Message{}, &fault.Error{Code: fault.CodeUnavailable, What: "the server cannot be reached",
			Where: t.url, Err: err, Next: "start it (hone serve), or name another with --endpoint"}
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		said, _ := io.ReadAll(io.LimitReader(res.Body, 1<<16))
		return chat.Message{}, t.statusError(res.Status, said)
	}
	return t.read(res.Body)
}

// statusError is an answer that is an error.
func (t *talk) statusError(status string, said []byte) error {
	var e struct{ Error struct{ Message string } }
	why := strings.TrimSpace(string(said))
	if json.Unmarshal(said, &e) == nil && e.Error.Message != "" {
		why = e.Error.Message
	}
	if t.options.Endpoint == "" { // of this process, at an address that nobody can reach
		next := "hone doctor"
		if strings.HasPrefix(status, "400") {
			next = "/new begins a new conversation; a larger model.context holds a longer one"
		}
		return &fault.Error{Code: fault.CodeUsage, What: "the model cannot answer", Why: why, Next: next}
	}
	next := "hone doctor --endpoint " + t.url + " --model " + t.model + " says what the server can do"
	switch {
	case strings.HasPrefix(status, "404"):
		next = "give --model one of those that curl " + t.url + "/models lists"
	case strings.HasPrefix(status, "401") || strings.HasPrefix(status, "403"):
		next = "name the variable that holds the server's key with --key-env"
	}
	return &fault.Error{Code: fault.CodeUnavailable, What: "the server answered " + status, Where: t.url,
		Why: why, Next: next}
}

// event is what of a stream is shown.
type event struct {
	Choices []struct {
		Delta struct {
			Content   string
			Reasoning string `json:"reasoning_content"`
		}
		FinishReason string `json:"finish_reason"`
	}
	Error json.RawMessage
}

func (t *talk) read(stream io.Reader) (chat.Message, error) {
	answer, lines, ended := chat.Message{Role: chat.Assistant}, bufio.NewReader(stream), false
	var p parts
	for {
		line, err := lines.ReadString('\n')
		line = strings.TrimRight(line, "\r\n")
		if name, step, ok := strings.Cut(strings.TrimPrefix(line, ": hone."), " "); ok &&
			strings.HasPrefix(line, ": hone.") {
			t.show(name, step, &p, &answer)
		}
		if data, ok := strings.CutPrefix(line, "data: "); ok && data != "[DONE]" {
			var e event
			if json.Unmarshal([]byte(data), &e) != nil || e.Error != nil {
				return answer, t.statusError("with an error", []byte(data))
			}
			for _, c := range e.Choices {
				answer.Content += c.Delta.Content
				answer.ReasoningContent += c.Delta.Reasoning
				fmt.Fprint(t.host.Talk, c.Delta.Reasoning)
				fmt.Fprint(t.host.Data, c.Delta.Content)
				if ended = ended || c.FinishReason != ""; c.FinishReason == "length" {
					defer t.host.Say("the answer ended at a limit")
				}
			}
		}
		if err != nil {
			fmt.Fprintln(t.host.Data)
			if errors.Is(err, io.EOF) && ended {
				t.parts = append(p.list, p.rest(&answer))
				return answer, nil
			}
			return answer, &fault.Error{Code: fault.CodeUnavailable, What: "the answer broke off",
				Where: t.url, Err: err}
		}
	}
}

// parts are the messages of an answer in which an agent made calls.
type parts struct {
	list          []chat.Message
	calls         []chat.ToolCall // that have no result yet
	told, thought int             // bytes of the answer that are in list
}

// rest is what an answer says behind the parts that there are.
func (p *parts) rest(answer *chat.Message) chat.Message {
	m := chat.Message{Role: chat.Assistant, Content: answer.Content[p.told:],
		ReasoningContent: answer.ReasoningContent[p.thought:], ToolCalls: p.calls}
	p.told, p.thought, p.calls = len(answer.Content), len(answer.ReasoningContent), nil
	return m
}

// show shows a call of an agent, or what became of it, and adds it to the answer's parts.
func (t *talk) show(kind, step string, p *parts, answer *chat.Message) {
	var s struct{ ID, Name, Arguments, Status, Result, Approval string }
	if json.Unmarshal([]byte(step), &s) != nil {
		return
	}
	switch kind {
	case "call":
		p.calls = append(p.calls, chat.ToolCall{ID: s.ID, Name: s.Name, Arguments: s.Arguments})
		ShowCall(t.host, s.Name, s.Arguments)
	case "result":
		if len(p.calls) > 0 {
			p.list = append(p.list, p.rest(answer))
		}
		p.list = append(p.list, chat.Message{Role: chat.ToolRole, ToolCallID: s.ID, Name: s.Name, Content: s.Result})
		ShowResult(t.host, s.Status, s.Result, s.Approval)
	}
}

// inProcess sends requests to a handler of this process; answers are streamed.
type inProcess struct{ http.Handler }

// RoundTrip implements http.RoundTripper.
func (p inProcess) RoundTrip(q *http.Request) (*http.Response, error) {
	from, to := io.Pipe()
	w := &writer{header: http.Header{}, to: to, begun: make(chan int, 1)}
	q = q.Clone(q.Context())
	q.Host = q.URL.Host
	go func() {
		p.ServeHTTP(w, q)
		w.WriteHeader(http.StatusOK)
		_ = to.Close()
	}()
	status := <-w.begun
	return &http.Response{StatusCode: status, Status: fmt.Sprintf("%d %s", status, http.StatusText(status)),
		Header: w.header, Body: from, Request: q, ProtoMajor: 1, ProtoMinor: 1}, nil
}

type writer struct {
	header http.Header
	to     *io.PipeWriter
	begun  chan int
	once   sync.Once
}

func (w *writer) Header() http.Header    { return w.header }
func (w *writer) WriteHeader(status int) { w.once.Do(func() { w.begun <- status }) }

// Flush implements http.Flusher. It returns once the reader has dealt with what it has, so that a call is shown before
// the question about it.
func (w *writer) Flush() { _, _ = w.to.Write(nil) } // a reader that is gone is told of by Write

func (w *writer) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.to.Write(b)
}
