package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"hone/internal/chat"
	"hone/internal/console/sanitize"
	"hone/internal/host"
)

// npmServer is the script of a server that make installs from testdata/servers/package-lock.json.
func npmServer(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("testdata/servers/node_modules/@modelcontextprotocol",
		name, "dist/index.js"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%s is not installed: run make test", name)
	}
	return path
}

// remote is a server behind a proxy that lets through who has the token.
type remote struct {
	url          string
	let, refused atomic.Int64 // requests with and without the token
	lost         atomic.Bool  // while true, connections are cut
}

// calculator is a server in this process, whose two tools are told of in few words: a prompt is bytes to the toy model,
// and a gradient in pure Go takes four times as long where server-everything's stand in it.
func calculator(t *testing.T, token string) *remote {
	t.Helper()
	s := mcp.NewServer(&mcp.Implementation{Name: "calculator", Version: "1"}, nil)
	tool := func(name, properties string, does func(arguments json.RawMessage) (string, error)) {
		schema := json.RawMessage(`{"type": "object", "properties": {` + properties + `}}`)
		s.AddTool(&mcp.Tool{Name: name, InputSchema: schema, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
			func(_ context.Context, q *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				said, err := does(q.Params.Arguments)
				if err != nil {
					said = err.Error()
				}
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: said}},
					IsError: err != nil}, nil
			})
	}
	tool("get-sum", `"a": {"type": "number"}, "b": {"type": "number"}`,
		func(arguments json.RawMessage) (string, error) {
			var x struct{ A, B float64 }
			err := json.Unmarshal(arguments, &x)
			return fmt.Sprintf("The sum of %v and %v is %v.", x.A, x.B, x.A+x.B), err
		})
	tool("echo", `"message": {"type": "string"}`, func(arguments json.RawMessage) (string, error) {
		var x struct{ Message string }
		err := json.Unmarshal(arguments, &x)
		return "Echo: " + x.Message, err
	})
	return guarded(t, token, mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil))
}

// everything starts server-everything on streamable HTTP.
func everything(t *testing.T, token string) *remote {
	t.Helper()
	script := npmServer(t, "server-everything")
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	_ = free.Close() // only its number is wanted
	_, port, _ := net.SplitHostPort(address)
	node := exec.CommandContext(t.Context(), "node", script, "streamableHttp")
	node.Env = append(os.Environ(), "PORT="+port)
	var said bytes.Buffer
	node.Stdout, node.Stderr = &said, &said
	if err := node.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = node.Wait(); close(ended) }() // killed by the context
	t.Cleanup(func() { <-ended })
	for {
		c, err := net.Dial("tcp", address)
		if err == nil {
			_ = c.Close() // it listens
			break
		}
		select {
		case <-ended:
			t.Fatalf("server-everything ended: %s", said.String())
		case <-time.After(20 * time.Millisecond):
		}
	}
	return guarded(t, token, httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: address}))
}

// guarded lets through to a server who has the token.
func guarded(t *testing.T, token string, server http.Handler) *remote {
	remote := &remote{}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if remote.lost.Load() {
			panic(http.ErrAbortHandler) // cuts the connection
		}
		if r.Header.Get("Authorization") != "Bearer "+token {
			remote.refused.Add(1)
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		remote.let.Add(1)
		server.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	remote.url = front.URL + "/mcp"
	return remote
}

// tiny makes everything that takes time small.
const tiny = `rollout: {system: "Call a tool to get the result, then reply with the result only.", max_turns: 2, max_tokens: 24}
grpo: {steps: 1, scenarios_per_step: 2, group_size: 2}
lora: {rank: 2}
sft: {batch_size: 2, checkpoint_every: 1}
engine: {slots: 4}
`

// workFolder makes files in an empty folder and works there.
func workFolder(t *testing.T, files map[string]string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	t.Setenv("XDG_STATE_HOME", filepath.Join(dir, ".state"))
}

// withEnv sets variables for one app, before those of the test's own environment.
func (a *app) withEnv(env map[string]string) {
	outer := a.LookupEnv
	a.LookupEnv = func(name string) (string, bool) {
		if value, ok := env[name]; ok {
			return value, true
		}
		return outer(name)
	}
}

const sums = `[
 {"id": "two", "task": "Add 2 and 3.", "split": "train", "setup": [{"name": "echo", "arguments": {"message": "ready"}}],
  "checks": [{"type": "call", "name": "get-sum", "arguments": {"a": 2, "b": 3}}, {"type": "answer", "number": 5}]},
 {"id": "four", "task": "Add 4 and 5.", "split": "train", "checks": [{"type": "call", "name": "get-sum", "arguments": {"a": 4, "b": 5}}]},
 {"id": "held", "task": "Add 20 and 22.", "split": "validation", "setup": [{"name": "echo", "arguments": {"message": "ready"}}],
  "checks": [{"type": "answer", "number": 42}]}
]`

func TestWrongTokenAndURL(t *testing.T) {
	server := calculator(t, "t")
	workFolder(t, map[string]string{"scenarios.json": sums})
	for url, want := range map[string]string{server.url: "Unauthorized", "http://127.0.0.1:1/mcp": "refused"} {
		var stderr bytes.Buffer
		a := &app{Host: &host.Host{Data: sanitize.New(&bytes.Buffer{}), Talk: sanitize.New(&stderr),
			LookupEnv: os.LookupEnv}}
		a.withEnv(map[string]string{"MCP_URL": url, "MCP_BEARER_TOKEN": "guess"})
		if code := a.main(t.Context(), []string{"train", "--dataset", "scenarios.json", "--output-dir",
			"OUT"}); code != 5 || !strings.Contains(stderr.String(), want) {
			t.Errorf("%s: exit code %d, %s", url, code, &stderr)
		}
		if strings.Contains(stderr.String(), "guess") {
			t.Errorf("the token is shown: %s", &stderr)
		}
		if _, err := os.Stat("OUT"); err == nil {
			t.Error("a run directory was left behind, in the way of the next try")
		}
	}
	if server.refused.Load() == 0 {
		t.Error("nothing was refused")
	}
}

// files is the configuration of server-filesystem, each episode in a process and a copy of the folder template of its
// own.
func files(t *testing.T) string {
	t.Helper()
	text, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"files": map[string]any{"command": "node",
		"args": []string{npmServer(t, "server-filesystem"), "${HONE_EPISODE_DIR}"}, "cwd": "${HONE_EPISODE_DIR}",
		"isolation": "process", "template": "template"}}})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

const notes = `{"id": "write", "task": "Write hi into notes.txt.", "split": "train",
  "gold": [{"name": "write_file", "arguments": {"path": "notes.txt", "content": "hi"}}],
  "checks": [{"type": "call", "name": "write_file", "arguments": {"content": "hi", "path": "notes.txt"}}]}
{"id": "read", "task": "What does notes.txt say?", "split": "train",
  "gold": [{"name": "read_text_file", "arguments": {"path": "notes.txt"}}], "checks": [{"type": "answer", "contains": "4711"}]}
`

// clerk is an endpoint whose model does the two tasks of notes: it calls a tool, then says what the tool answered.
func clerk(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			Messages []chat.Message
			Tools    []chat.Tool
		}
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil || len(q.Tools) != 14 {
			http.Error(w, "14 tools are expected", http.StatusBadRequest)
			return
		}
		last := q.Messages[len(q.Messages)-1]
		reply, finish := chat.Message{Role: chat.Assistant, Content: last.Content}, "stop"
		if last.Role == chat.User {
			call := chat.ToolCall{ID: "call_0", Name: "read_text_file", Arguments: `{"path": "notes.txt"}`}
			if strings.HasPrefix(last.Content, "Write") {
				call.Name, call.Arguments = "write_file", `{"path": "notes.txt", "content": "hi"}`
			}
			reply, finish = chat.Message{Role: chat.Assistant, ToolCalls: []chat.ToolCall{call}}, "tool_calls"
		}
		_ = json.NewEncoder(w).Encode(map[string]any{
			"choices": []any{map[string]any{"message": reply, "finish_reason": finish}},
			"usage":   map[string]int{"prompt_tokens": 1, "completion_tokens": 1},
		})
	}))
	t.Cleanup(s.Close)
	return s.URL + "/v1"
}

// once does something as soon as line has been written.
type once struct {
	bytes.Buffer
	line string
	do   func()
}

func (o *once) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(o.line)) {
		o.do()
	}
	return o.Buffer.Write(p)
}
