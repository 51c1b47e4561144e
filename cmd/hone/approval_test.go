package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/creack/pty"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"hone/internal/chat"
	"hone/internal/console/sanitize"
	"hone/internal/episode/trajectory"
	"hone/internal/host"
)

// shop is an MCP server on HTTP with two tools, look (annotated as read-only) and buy; sold is what was bought.
func shop(t *testing.T) (url string, sold func() []string) {
	t.Helper()
	var mu sync.Mutex
	var bought []string
	type thing struct {
		Name string `json:"name"`
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "shop", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "look", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(context.Context, *mcp.CallToolRequest, thing) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "in stock"}}}, nil, nil
		})
	destroys := true
	mcp.AddTool(s, &mcp.Tool{Name: "buy", Annotations: &mcp.ToolAnnotations{DestructiveHint: &destroys}},
		func(_ context.Context, _ *mcp.CallToolRequest, in thing) (*mcp.CallToolResult, any, error) {
			mu.Lock()
			defer mu.Unlock()
			bought = append(bought, in.Name)
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "sold"}}}, nil, nil
		})
	server := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil))
	t.Cleanup(server.Close)
	return server.URL, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(bought)
	}
}

// buyer is an endpoint whose model makes these calls in one turn, and then says what it was answered.
func buyer(t *testing.T, calls ...chat.ToolCall) string {
	t.Helper()
	for i := range calls {
		calls[i].ID = fmt.Sprintf("call_%d", i)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct{ Messages []chat.Message }
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		reply, finish := chat.Message{Role: chat.Assistant, ToolCalls: calls}, "tool_calls"
		if last := q.Messages[len(q.Messages)-1]; last.Role == chat.ToolRole {
			reply, finish = chat.Message{Role: chat.Assistant, Content: last.Content}, "stop"
		}
		_ = json.NewEncoder(w).Encode(map[string]any{
			"choices": []any{map[string]any{"message": reply, "finish_reason": finish}},
			"usage":   map[string]int{"prompt_tokens": 1, "completion_tokens": 1},
		})
	}))
	t.Cleanup(s.Close)
	return s.URL + "/v1"
}

// kept reads the one trajectory of a run.
func kept(t *testing.T, path string) []trajectory.ToolResult {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var row trajectory.Trajectory
	if err := json.Unmarshal(bytes.TrimSpace(data), &row); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	return row.Calls()
}

const oneTask = `[{"id": "x", "task": "Buy a hat.", "checks": [{"type": "no_call", "name": "none"}]}]`

// collect asks on a terminal; answers, denials and rules are in the trajectory, and only what was allowed was sent.
func TestCollectAsksOnATerminal(t *testing.T) {
	url, sold := shop(t)
	endpoint := buyer(t, chat.ToolCall{Name: "buy", Arguments: `{"name": "hat"}`},
		chat.ToolCall{Name: "buy", Arguments: `{"name": "boat"}`}, chat.ToolCall{Name: "look",
			Arguments: `{"name": "sea"}`}, chat.ToolCall{Name: "look",
			Arguments: `{"name": "sky"}`})
	workFolder(t, map[string]string{"tasks.json": oneTask, "hone.yaml": "mcp: {approval: {deny: [\"nowhere/*\"]}}\n"})
	person, theirs, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { theirs.Close(); person.Close() })
	var stdout, stderr bytes.Buffer
	a := &app{Host: &host.Host{Stdin: theirs, Data: sanitize.New(&stdout), Talk: sanitize.New(&stderr),
		LookupEnv: os.LookupEnv, Environ: os.Environ()}}
	done := make(chan int, 1)
	go func() {
		done <- a.main(t.Context(), []string{"collect", "--mcp", url, "--endpoint", endpoint, "--model", "m",
			"--dataset", "tasks.json", "--output-dir", "out"})
	}()
	screen := ""
	for _, answer := range []string{"y\n", "n\n", "a\n"} {
		screen += shownBefore(t, person, "always this [s]erver: ")
		if _, err := io.WriteString(person, answer); err != nil {
			t.Fatal(err)
		}
	}
	if code := <-done; code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr.String())
	}
	for _, want := range []string{
		"server:    127.0.0.1", "tool:      buy", `"name": "boat"`, "look (annotated as read-only)",
	} {
		if !strings.Contains(screen, want) {
			t.Errorf("%q was not shown:\n%s", want, screen)
		}
	}
	if !strings.Contains(stderr.String(), `the rule "deny nowhere/*" matches no tool`) {
		t.Errorf("no warning of a rule that matches nothing: %s", stderr.String())
	}
	always := "allowed by the user, always for 127.0.0.1/look"
	for i, want := range []struct {
		approval string
		status   trajectory.CallStatus
		text     string
	}{
		{"allowed by the user", trajectory.CallOK, "sold"},
		{"denied by the user", trajectory.CallDenied, "The call was denied: denied by the user"},
		{always, trajectory.CallOK, "in stock"}, {always, trajectory.CallOK, "in stock"},
	} {
		if r := kept(t, "out/trajectories.jsonl")[i]; r.Approval != want.approval || r.Status != want.status ||
			r.Text != want.text {
			t.Errorf("call %d: %+v, want %+v", i, r, want)
		}
	}
	if got := sold(); !slices.Equal(got, []string{"hat"}) {
		t.Errorf("sold %q", got)
	}
}

// Ctrl-C at a question is a stop as any other: it says what is kept and how to go on, and denies nothing. Each question
// says where in the run it stands.
func TestCollectStoppedAtAQuestion(t *testing.T) {
	url, sold := shop(t)
	endpoint := buyer(t, chat.ToolCall{Name: "buy", Arguments: `{"name": "hat"}`},
		chat.ToolCall{Name: "buy", Arguments: `{"name": "boat"}`})
	workFolder(t, map[string]string{
		"tasks.jsonl": `{"id": "a", "task": "Buy a hat and a boat."}` + "\n" +
			`{"id": "b", "task": "Buy them again."}` + "\n",
	})
	args := []string{"collect", "--mcp", url, "--endpoint", endpoint, "--model", "m", "--dataset", "tasks.jsonl",
		"--split", "all", "--output-dir", "out"}
	c := exec.CommandContext(t.Context(), honeCommand(t), args...)
	person, err := pty.Start(c)
	if err != nil {
		t.Fatal(err)
	}
	defer person.Close()
	const question = "always this [s]erver: "
	for _, step := range []struct{ shows, types string }{
		{"episode:   1 of 2, call 1\r\n  task:      Buy a hat and a boat.\r\n", "y\n"},
		{"episode:   1 of 2, call 2\r\n  task:      Buy a hat and a boat.\r\n", "n\n"},
		{"episode:   2 of 2, call 1\r\n  task:      Buy them again.\r\n", "\x03"},
	} {
		if screen := shownBefore(t, person, question); !strings.Contains(screen, step.shows) {
			t.Errorf("%q is not on the screen: %s", step.shows, screen)
		}
		if _, err := io.WriteString(person, step.types); err != nil {
			t.Fatal(err)
		}
	}
	rest, _ := io.ReadAll(person) // ends with EIO, as a terminal does
	_ = c.Wait()
	said := string(rest)
	if code := c.ProcessState.ExitCode(); code != 7 || strings.Contains(said, "denied") ||
		strings.Contains(said, "canceled") {
		t.Errorf("exit code %d, %s", code, said)
	}
	for _, want := range []string{
		"stopped after 1 of 2 episodes; nothing finished is lost", "where: out", "the same command goes on",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("no %q in %s", want, said)
		}
	}
	if calls := kept(t, "out/trajectories.jsonl"); len(calls) != 2 || !slices.Equal(sold(), []string{"hat"}) {
		t.Errorf("kept %+v, sold %q", calls, sold())
	}
	if code, _, said := hone(t, "", append(args, "--yes")...); code != 0 {
		t.Fatalf("gone on: exit code %d, %s", code, said)
	}
	got := sold()
	slices.Sort(got[1:]) // calls of one turn are sent together
	if !slices.Equal(got, []string{"hat", "boat", "hat"}) {
		t.Errorf("the second episode: %q", got)
	}
}

func shownBefore(t *testing.T, screen io.Reader, text string) string {
	t.Helper()
	seen, b := "", make([]byte, 1)
	for !strings.HasSuffix(seen, text) {
		if _, err := screen.Read(b); err != nil {
			t.Fatalf("the screen ended without %q: %q: %v", text, seen, err)
		}
		seen += string(b)
	}
	return seen
}

// Nobody is at the terminal: rules and modes decide, and a refusal names the rule to add.
func TestCollectUnattended(t *testing.T) {
	for _, tc := range []struct {
		name, rules string
		args        []string
		sold        []string
		looked      trajectory.CallStatus
		says        string
	}{
		{"no rule", "", nil, nil, trajectory.CallDenied, `add "127.0.0.1/buy" to mcp.approval.allow in hone.yaml, or give --yes`},
		{"the rule added", "mcp: {approval: {allow: [127.0.0.1/buy]}}", nil, []string{"hat"}, trajectory.CallDenied, `add "127.0.0.1/look" to`},
		{"--yes", "", []string{"--yes"}, []string{"hat"}, trajectory.CallOK, ""},
		{"--yes does not outrank a rule", "mcp: {approval: {deny: [\"*/buy\"]}}", []string{"--yes"}, nil, trajectory.CallOK, ""},
		{"auto", "mcp: {approval: {mode: auto}}", nil, []string{"hat"}, trajectory.CallOK, ""},
		{"readonly", "mcp: {approval: {mode: readonly}}", nil, nil, trajectory.CallOK, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			url, sold := shop(t)
			endpoint := buyer(t, chat.ToolCall{Name: "buy", Arguments: `{"name": "hat"}`},
				chat.ToolCall{Name: "look", Arguments: `{"name": "sea"}`})
			workFolder(t, map[string]string{"tasks.json": oneTask, "hone.yaml": tc.rules})
			var stdout, stderr bytes.Buffer
			a := &app{Host: &host.Host{Stdin: strings.NewReader("y\ny\n"), Data: sanitize.New(&stdout),
				Talk: sanitize.New(&stderr), LookupEnv: os.LookupEnv, Environ: os.Environ()}}
			args := append([]string{"collect", "--mcp", url, "--endpoint", endpoint, "--model", "m", "--dataset",
				"tasks.json", "--output-dir", "out"}, tc.args...)
			if code := a.main(t.Context(), args); code != 0 {
				t.Fatalf("exit code %d: %s", code, stderr.String())
			}
			if got := sold(); !slices.Equal(got, tc.sold) {
				t.Errorf("sold %q, want %q", got, tc.sold)
			}
			calls := kept(t, "out/trajectories.jsonl")
			if calls[1].Status != tc.looked || calls[0].Approval == "" || calls[1].Approval == "" {
				t.Errorf("%+v", calls)
			}
			if !strings.Contains(stderr.String(), tc.says) ||
				tc.says == "" && strings.Contains(stderr.String(), "mcp.approval") {
				t.Errorf("said %s\nwant %q", stderr.String(), tc.says)
			}
		})
	}
}
