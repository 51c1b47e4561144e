package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"hone/internal/console/sanitize"
	"hone/internal/env"
)

// serveEnv runs hone env serve until the test, or what stop returns, ends it. stop returns what it said.
func serveEnv(t *testing.T, args ...string) (url string, stop func() string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	read, write := io.Pipe()
	said, ended := &bytes.Buffer{}, make(chan int, 1)
	a := toyApp(said, nil)
	a.Data = sanitize.New(write)
	go func() {
		ended <- a.main(ctx, append([]string{"env", "serve", "--listen", "127.0.0.1:0", "--yes"}, args...))
		_ = write.Close()
	}()
	out := bufio.NewReader(read)
	line, err := out.ReadString('\n')
	go func() { _, _ = io.Copy(io.Discard, out) }() // what else it prints
	if err != nil {
		cancel()
		<-ended
		t.Fatalf("%v: %s", err, said)
	}
	stop = func() string {
		cancel()
		if code := <-ended; code != 0 {
			t.Errorf("exit code %d: %s", code, said)
		}
		return said.String()
	}
	return strings.TrimSpace(line), stop
}

// playFrames sends frames of OpenEnv over a socket of its own, and returns the last answer's reward.
func playFrames(t *testing.T, url string, frames ...string) *float64 {
	t.Helper()
	ws, r, err := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(url, "http")+"/ws", nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.Body != nil {
		_ = r.Body.Close()
	}
	defer func() { _ = ws.Close(websocket.StatusNormalClosure, "") }()
	var reply struct {
		Type string
		Data struct{ Reward *float64 }
	}
	for _, frame := range frames {
		if err := ws.Write(t.Context(), websocket.MessageText, []byte(frame)); err != nil {
			t.Fatal(err)
		}
		_, text, err := ws.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		reply.Data.Reward = nil
		if err := json.Unmarshal(text, &reply); err != nil || reply.Type != "observation" {
			t.Fatalf("%s: %s, %v", frame, text, err)
		}
	}
	return reply.Data.Reward
}

const resetHat = `{"type": "reset", "data": {"scenario": "hat"}}`

func actionFrame(action string) string { return `{"type": "step", "data": ` + action + `}` }

func callFrame(name, arguments string) string {
	return actionFrame(`{"type": "call_tool", "tool_name": "` + name + `", "arguments": ` + arguments + `}`)
}

// What a trainer is told of an episode is what hone runs rescore makes of its transcript, to the digit.
func TestEnvRewardsAreThoseOfRescore(t *testing.T) {
	server, sold := shop(t)
	workFolder(t, map[string]string{
		"hone.yaml": "rewards: {parse: 0, checks: 0.7, call: 0.1, arguments: 0.3, recovery: -0.1, extra: 0.3}\n",
		"s.jsonl":   `{"id": "hat", "task": "Buy a hat, look first.", "gold": [{"name": "look", "arguments": {"name": "hat"}}, {"name": "buy", "arguments": {"name": "hat"}}], "checks": [{"type": "call", "name": "buy", "arguments": {"name": "hat"}}, {"type": "answer", "contains": "sold"}]}` + "\n",
	})
	url, stop := serveEnv(t, "--mcp", server, "--dataset", "s.jsonl", "--output-dir", "out")
	look, hat, cap, bad := callFrame("look", `{"name": "hat"}`), callFrame("buy", `{"name": "hat"}`),
		callFrame("buy", `{"name": "cap"}`), callFrame("buy", `{"nam": 1}`)
	say := actionFrame(`{"type": "answer", "text": "It is sold."}`)
	var told []float64
	for _, frames := range [][]string{
		{resetHat, look, hat, say},
		{resetHat, hat, hat, cap, say},
		{resetHat, bad, look, cap, say},
		{resetHat, say},
		{resetHat, bad, bad, say},
	} {
		got := playFrames(t, url, frames...)
		if got == nil {
			t.Fatalf("%v has no reward", frames)
		}
		told = append(told, *got)
	}
	if said := stop(); !strings.Contains(said, "words beside calls are not seen") {
		t.Error(said)
	}
	if len(sold()) != 5 {
		t.Errorf("sold %v", sold())
	}
	if distinct := slices.Compact(slices.Sorted(slices.Values(told))); len(distinct) < 4 {
		t.Errorf("the rewards tell little: %v", told)
	}
	if code, _, said := hone(t, "", "runs", "rescore", "out"); code != 0 {
		t.Fatal(said)
	}
	text, err := os.ReadFile("out/rescored-1.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(text)) {
		var row struct {
			Row      string
			Was, Now struct{ Reward float64 }
		}
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("%s/hat/1/%d",
			env.Stage, n); row.Row != want || row.Now.Reward != told[n] || row.Was.Reward != told[n] {
			t.Errorf("%s: told %v, %+v", want, told[n], row)
		}
		n++
	}
	if n != len(told) {
		t.Errorf("%d of %d were scored again", n, len(told))
	}
}

// What cannot be served is refused before anything listens.
func TestEnvRefuses(t *testing.T) {
	server, _ := shop(t)
	const hat = `{"id": "hat", "task": "Buy a hat.", "checks": [{"type": "call", "name": "buy", "arguments": {"name": "hat"}}]}` + "\n"
	workFolder(t, map[string]string{
		"tokens.yaml": "rewards: {length: {weight: -1, budget: 10}}\n", "s.jsonl": hat,
		"asks.yaml": "mcp: {approval: {mode: ask}}\n",
		"turns.json": `{"mcpServers": {"shop": {"url": "` + server + `", "isolation": "reset",
			"reset": {"tool": "look", "arguments": {"name": "x"}}}}}`,
	})
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--config", "tokens.yaml", "--dataset", "s.jsonl"}, "rewards.length: a trainer's tokens never come here"},
		{[]string{"--dataset", "s.jsonl", "--listen", "0.0.0.0:0"}, "will not serve without a key"},
		{[]string{"--dataset", "s.jsonl", "--max-sessions", "0"}, "must be positive"},
		{[]string{"--dataset", "s.jsonl", "--config", "asks.yaml"}, "a person would have to be asked"},
		{[]string{"--dataset", "s.jsonl", "--mcp-config", "turns.json", "--yes"}, "or --max-sessions 1"},
	} {
		args := append([]string{"env", "serve", "--listen", "127.0.0.1:0"}, c.args...)
		if !slices.Contains(args, "--mcp-config") {
			args = append(args, "--mcp", server)
		}
		if code, _, said := hone(t, "", args...); code != 2 || !strings.Contains(said, c.want) {
			t.Errorf("%v: exit code %d, %s", c.args, code, said)
		}
	}
}

// The client's file is written as it is.
func TestEnvClient(t *testing.T) {
	if code, out, _ := hone(t, "", "env", "client"); code != 0 || out != env.Client ||
		!strings.Contains(out, "def environment(url: str") {
		t.Errorf("exit code %d, %q", code, out)
	}
}
