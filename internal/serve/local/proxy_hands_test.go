package local

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/console/sanitize"
	"hone/internal/host"
	"hone/internal/proxy"
)

// files is the configuration of server-filesystem from npm over a folder, and the folder.
func files(t *testing.T) (configuration, folder string) {
	t.Helper()
	script, err := filepath.Abs(
		"../../../cmd/hone/testdata/servers/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js",
	)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(script); err != nil {
		t.Fatalf("%v\nmake test installs it", err)
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Fatal(err)
	}
	if folder, err = filepath.EvalSymlinks(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(map[string]any{
		"mcpServers": map[string]any{"files": map[string]any{"command": node, "args": []string{script, folder},
			"isolation": "shared"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	configuration = filepath.Join(t.TempDir(), "mcp.json")
	if err := os.WriteFile(configuration, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return configuration, folder
}

// script is a small model and an upstream that say what the test has them say.
type script struct {
	mu       sync.Mutex
	small    chat.ToolCall
	sure     bool
	upstream []string // answers, in their order
	got      []string // requests to the upstream
}

func (s *script) answerSmall(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	logprob := -0.01
	if !s.sure {
		logprob = -3
	}
	_ = json.NewEncoder(w).Encode(map[string]any{
		"usage": proxy.Usage{PromptTokens: 40, CompletionTokens: 9}, "choices": []any{
			map[string]any{"finish_reason": "tool_calls",
				"message":  chat.Message{Role: chat.Assistant, ToolCalls: []chat.ToolCall{s.small}},
				"logprobs": map[string]any{"content": []any{map[string]float64{"logprob": logprob}}}},
		},
	})
}

func (s *script) answerUpstream(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got = append(s.got, string(body))
	_, _ = io.WriteString(w, s.upstream[min(len(s.got), len(s.upstream))-1])
}

// says makes the two say something else, and forgets what the upstream was asked.
func (s *script) says(c chat.ToolCall, sure bool, upstream ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.small, s.sure, s.upstream, s.got = c, sure, upstream, nil
}

func (s *script) asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.got
}

func answer(m chat.Message) string {
	text, _ := json.Marshal(map[string]any{
		"id":      "u",
		"choices": []any{map[string]any{"index": 0, "message": m, "finish_reason": "stop"}},
		"usage":   proxy.Usage{PromptTokens: 50, CompletionTokens: 5},
	})
	return string(text)
}

// Calls are made on a real server, under the rules of mcp.approval and the server's own word of what only reads.
func TestCallsAreMadeOnServers(t *testing.T) {
	configuration, folder := files(t)
	note, written := filepath.Join(folder, "note.txt"), filepath.Join(folder, "new.txt")
	if err := os.WriteFile(note, []byte("the note says 49f6"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := &host.Host{Stdin: strings.NewReader(""), Data: sanitize.New(io.Discard), Talk: sanitize.New(io.Discard),
		LookupEnv: os.LookupEnv, Environ: os.Environ()}
	c, err := config.Read("")
	if err != nil {
		t.Fatal(err)
	}
	c.MCP.Sandbox.Mode = "off" // the folder is the test's
	c.MCP.Approval.Allow = []string{"files/read_text_file", "files/write_file"}
	o := ProxyOptions{Mode: InitialCall, Speculate: true}
	o.Agency.Servers.File = configuration
	hands, leave, err := o.openHands(t.Context(), h, c)
	if err != nil {
		t.Fatal(err)
	}
	defer leave()
	if !hands.ReadOnly["read_text_file"] || hands.ReadOnly["write_file"] {
		t.Fatalf("read-only tools: %v", hands.ReadOnly)
	}

	s := &script{}
	small, up := httptest.NewServer(http.HandlerFunc(s.answerSmall)),
		httptest.NewServer(http.HandlerFunc(s.answerUpstream))
	defer small.Close()
	defer up.Close()
	transport := &http.Transport{DisableKeepAlives: true}
	agent := &proxy.Agent{Client: &http.Client{Transport: transport}, URL: small.URL,
		Calibration: proxy.Calibration{Bias: 3, Min: 1, Threshold: 0.9}}
	p, err := proxy.New(proxy.Options{Upstream: proxy.Upstream{URL: up.URL, Transport: transport},
		Mode: &proxy.InitialCall{Agent: agent, Deadline: time.Minute, Hands: hands}})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(p.Handler())
	defer server.Close()

	var tools []map[string]any
	for _, name := range []string{"read_text_file", "write_file", "move_file"} {
		tools = append(tools, map[string]any{"type": "function",
			"function": map[string]any{"name": name, "parameters": map[string]any{"type": "object"}}})
	}
	turn := 0
	ask := func() (decision, text string) {
		t.Helper()
		turn++
		body, _ := json.Marshal(map[string]any{"model": "big", "tools": tools, "messages": []chat.Message{
			{Role: chat.User, Content: fmt.Sprint("What does it say? ", turn)},
		}})
		r, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Post(server.URL+
			"/v1/chat/completions", "application/json", strings.NewReader(string(body)))
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		all, _ := io.ReadAll(r.Body)
		return strings.Join(r.Header.Values(proxy.DecisionHeader), " "), string(all)
	}
	call := func(name string, arguments map[string]string) chat.ToolCall {
		text, _ := json.Marshal(arguments)
		return chat.ToolCall{ID: "x", Name: name, Arguments: string(text)}
	}
	read, write, move := call("read_text_file", map[string]string{"path": note}), call("write_file",
		map[string]string{"path": written, "content": "by the proxy"}),
		call("move_file", map[string]string{"source": note, "destination": written})
	done, calls := answer(chat.Message{Role: chat.Assistant, Content: "done"}), func(c chat.ToolCall) string {
		return answer(chat.Message{Role: chat.Assistant, ToolCalls: []chat.ToolCall{c}})
	}

	s.says(read, true, done)
	if decision, text := ask(); !strings.Contains(decision, "executed; read_text_file") || len(s.asked()) != 1 ||
		!strings.Contains(s.asked()[0], "49f6") || !strings.Contains(text, `"hone":{"steps"`) {
		t.Errorf("a sure read: %s: the upstream got %q, the client %s", decision, s.asked(), text)
	}
	s.says(call("read_text_file", map[string]string{"path": "/etc/passwd"}), true, done)
	if decision, text := ask(); !strings.Contains(decision, "call-failed") || len(s.asked()) != 1 ||
		strings.Contains(s.asked()[0], "denied") || strings.Contains(text, "hone") {
		t.Errorf("a read that the server refuses: %s: the upstream got %q, the client %s", decision, s.asked(), text)
	}
	s.says(move, true, done)
	if decision, _ := ask(); !strings.Contains(decision, "proposed; move_file") || len(s.asked()) != 0 {
		t.Errorf("a call that no rule allows: %s, the upstream got %q", decision, s.asked())
	}
	if _, err := os.Stat(note); err != nil {
		t.Errorf("the call that no rule allows was made: %v", err)
	}
	s.says(read, false, calls(read), done)
	if decision, text := ask(); !strings.Contains(decision, "the upstream calls read_text_file too") ||
		len(s.asked()) != 2 || !strings.Contains(s.asked()[1], "49f6") || !strings.Contains(text, "done") {
		t.Errorf("an unsure read that the upstream makes too: %s: the upstream got %q, the client %s",
			decision, s.asked(), text)
	}
	s.says(write, false, calls(write), done)
	if decision, text := ask(); !strings.Contains(decision, "asked-upstream; unsure") || len(s.asked()) != 1 ||
		!strings.Contains(text, `"write_file"`) {
		t.Errorf("an unsure write: %s: the upstream got %q, the client %s", decision, s.asked(), text)
	}
	if _, err := os.Stat(written); err == nil {
		t.Error("an unsure write was made")
	}
	s.says(write, true, done)
	if decision, _ := ask(); !strings.Contains(decision, "executed; write_file") {
		t.Errorf("a sure write: %s", decision)
	}
	if text, err := os.ReadFile(written); err != nil || string(text) != "by the proxy" {
		t.Errorf("a sure write left %q, %v", text, err)
	}
}

// Servers are only for the mode that has a use for them.
func TestRefusesHandsWithoutUse(t *testing.T) {
	for _, tc := range []struct {
		o    ProxyOptions
		want string
	}{
		{ProxyOptions{Mode: Sidecar, Agency: agency("x")}, "only the mode initial-call"},
		{ProxyOptions{Agency: agency("x")}, "only the mode initial-call"},
		{ProxyOptions{Mode: InitialCall, Model: "m", Slots: 1, Speculate: true}, "there are no servers"},
		{ProxyOptions{Mode: InitialCall, Model: "m", Slots: 1, Speculate: true, Agency: agency("x")}, ""},
	} {
		if err := tc.o.check(); tc.want == "" && err != nil ||
			tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%+v: %v, want %q", tc.o, err, tc.want)
		}
	}
}

func agency(file string) (a Agency) {
	a.Servers.File = file
	return a
}
