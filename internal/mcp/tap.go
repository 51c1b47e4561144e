package mcp

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// tap keeps the raw result of the last tools/list. The SDK decodes schemas into maps and so loses the order of their
// properties, which the model would otherwise see as every other host shows it.
type tap struct {
	mu      sync.Mutex
	pending map[jsonrpc.ID]bool
	result  json.RawMessage
	body    *tappedBody // HTTP: the response that holds the result
}

// take returns the result and forgets it; nil where none was seen.
func (t *tap) take() json.RawMessage {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.body != nil {
		t.result = t.body.result()
	}
	result := t.result
	t.result, t.body = nil, nil
	return result
}

func (t *tap) sent(m jsonrpc.Message) {
	r, ok := m.(*jsonrpc.Request)
	if !ok || r.Method != "tools/list" {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.pending == nil {
		t.pending = map[jsonrpc.ID]bool{}
	}
	t.pending[r.ID] = true
}

func (t *tap) received(m jsonrpc.Message) {
	r, ok := m.(*jsonrpc.Response)
	if !ok {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.pending[r.ID] {
		delete(t.pending, r.ID)
		t.result = r.Result
	}
}

// tapped returns resp with its body copied as it is read, if req asks for tools/list.
func (t *tap) tapped(req *http.Request, resp *http.Response) *http.Response {
	if req.GetBody == nil {
		return resp
	}
	body, err := req.GetBody()
	if err != nil {
		return resp
	}
	defer body.Close()
	data, err := io.ReadAll(body)
	if err != nil || !bytes.Contains(data, []byte(`"tools/list"`)) {
		return resp
	}
	m, err := jsonrpc.DecodeMessage(data)
	r, ok := m.(*jsonrpc.Request)
	if err != nil || !ok || r.Method != "tools/list" {
		return resp
	}
	b := &tappedBody{ReadCloser: resp.Body, id: r.ID,
		events: strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream")}
	resp.Body = b
	t.mu.Lock()
	defer t.mu.Unlock()
	t.body = b
	return resp
}

// tappedBody remembers what was read through it, up to maxFrame.
type tappedBody struct {
	io.ReadCloser
	id     jsonrpc.ID
	events bool // server-sent events, else one JSON message

	mu   sync.Mutex
	read bytes.Buffer
}

func (b *tappedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.read.Len() < maxFrame {
		b.read.Write(p[:n])
	}
	return n, err
}

// result finds the answer to the request in what was read. The SDK has read it whole before it returns it.
func (b *tappedBody) result() json.RawMessage {
	b.mu.Lock()
	defer b.mu.Unlock()
	messages := []string{b.read.String()}
	if b.events {
		messages = eventData(b.read.String())
	}
	for _, text := range messages {
		m, err := jsonrpc.DecodeMessage([]byte(text))
		if r, ok := m.(*jsonrpc.Response); err == nil && ok && r.ID == b.id {
			return r.Result
		}
	}
	return nil
}

// eventData returns the data of each server-sent event, several data lines joined as the standard says.
func eventData(stream string) []string {
	stream = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(stream)
	var all []string
	for event := range strings.SplitSeq(stream, "\n\n") {
		var data []string
		for line := range strings.SplitSeq(event, "\n") {
			if value, ok := strings.CutPrefix(line, "data:"); ok {
				data = append(data, strings.TrimPrefix(value, " "))
			}
		}
		if len(data) > 0 {
			all = append(all, strings.Join(data, "\n"))
		}
	}
	return all
}
