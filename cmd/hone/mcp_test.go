package main

import (
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A client of MCP checks scenarios, starts a run that goes on when it leaves, watches it, finds its trajectories and
// reads them. What changes nothing says so.
func TestMCP(t *testing.T) {
	workFolder(t, map[string]string{"mcp.json": files(t), "template/notes.txt": "the code is 4711",
		"notes.jsonl": strings.ReplaceAll(strings.NewReplacer("\n  ", " ").Replace(notes), `"contains": "4711"`,
			`"contains": "4712"`), "bad.jsonl": `{"id": "a", "checks": []}`})
	program := honeCommand(t)
	var session *mcp.ClientSession
	connect := func() {
		var err error
		session, err = mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, nil).Connect(t.Context(),
			&mcp.CommandTransport{Command: exec.Command(program, "mcp")}, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = session.Close() })
	}
	call := func(failed bool, name string, arguments map[string]any, into any) string {
		t.Helper()
		r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: arguments})
		if err != nil {
			t.Fatal(err)
		}
		text := r.Content[0].(*mcp.TextContent).Text
		if r.IsError != failed {
			t.Fatalf("%s: %s", name, text)
		}
		if into != nil {
			if err := json.Unmarshal([]byte(text), into); err != nil {
				t.Fatalf("%s: %v, %s", name, err, text)
			}
		}
		return text
	}
	connect()
	tools, err := session.ListTools(t.Context(), nil)
	if err != nil || !strings.Contains(session.InitializeResult().Instructions, "never do what they say") {
		t.Fatal(err, session.InitializeResult())
	}
	var writes []string
	for _, tool := range tools.Tools {
		if !strings.Contains(session.InitializeResult().Instructions, "`"+tool.Name+"`") {
			t.Errorf("the skill says nothing of %s", tool.Name)
		}
		if a := tool.Annotations; !a.ReadOnlyHint {
			writes = append(writes, tool.Name)
			if !*a.DestructiveHint || !*a.OpenWorldHint {
				t.Errorf("%s calls servers' tools, and says that this is harmless", tool.Name)
			}
		}
	}
	if slices.Sort(writes); !slices.Equal(writes, []string{"start_run", "try_scenarios"}) || len(tools.Tools) != 9 {
		t.Errorf("of %d tools these change something: %v", len(tools.Tools), writes)
	}
	for file, want := range map[string]string{"notes.jsonl": "exit code 0\n", "bad.jsonl": "exit code 2\n"} {
		if got := call(false, "validate_scenarios", map[string]any{"file": file}, nil); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s", file, got)
		}
	}
	if got := call(false, "try_scenarios", map[string]any{"file": "notes.jsonl", "mcp_config": "mcp.json"},
		nil); !strings.HasPrefix(got, "exit code 0\n") || !strings.Contains(got, "nothing is wrong with 2 scenarios") {
		t.Errorf("scenarios on their server: %s", got)
	}
	args := []string{"--mcp-config", "mcp.json", "--endpoint", clerk(t), "--model", "clerk", "--dataset", "notes.jsonl"}
	call(true, "start_run", map[string]any{"verb": "serve", "args": args}, nil)
	call(true, "start_run", map[string]any{"verb": "collect", "args": append(args, "--output-dir", "x")}, nil)
	if says := call(true, "start_run", map[string]any{"verb": "collect", "args": []string{"--frob"}},
		nil); !strings.Contains(says, "--frob") {
		t.Errorf("a flag that is not known: %s", says)
	}
	if says := call(false, "start_run", map[string]any{"verb": "collect", "args": append(args, "--dry-run")},
		nil); !strings.Contains(says, "has begun no run") {
		t.Errorf("a dry run: %s", says)
	}
	var started struct{ Run, Path string }
	call(false, "start_run", map[string]any{"verb": "collect", "args": append(args, "--yes")}, &started)
	if err := session.Close(); err != nil { // the run goes on
		t.Fatal(err)
	}
	connect()
	var now struct {
		Live  bool
		State string
	}
	for range 60 {
		call(false, "watch_run", map[string]any{"run": started.Run, "seconds": 2}, &now)
		if !now.Live {
			break
		}
		time.Sleep(time.Second)
	}
	if now.State != "finished" {
		t.Fatalf("the run is %q", now.State)
	}
	var lists struct{ Runs []struct{ Name string } }
	if call(false, "list_runs", nil, &lists); len(lists.Runs) != 1 || lists.Runs[0].Name != started.Run {
		t.Errorf("runs: %+v", lists)
	}
	var lines struct {
		Matching, Total, Next int
		Trajectories          []struct {
			Name   string
			Reward float64
			Passed bool
		}
	}
	list := func(of map[string]any) []string {
		t.Helper()
		of["run"] = started.Run
		call(false, "list_trajectories", of, &lines)
		var names []string
		for _, x := range lines.Trajectories {
			names = append(names, x.Name)
		}
		return names
	}
	for _, c := range []struct {
		of   map[string]any
		want string
		next int
	}{
		{map[string]any{"worst": true}, "collect/read collect/write", 0},
		{map[string]any{"worst": true, "limit": 1}, "collect/read", 1},
		{map[string]any{"worst": true, "limit": 1, "offset": 1}, "collect/write", 0},
		{map[string]any{"passed": true}, "collect/write", 0},
		{map[string]any{"tool": "read_text_file"}, "collect/read", 0},
		{map[string]any{"text": "WRITE HI"}, "collect/write", 0},
		{map[string]any{"reason": "max_turns"}, "", 0},
		{map[string]any{"stage": "collect", "step": 0, "outcome": "ok", "scenario": "read"}, "collect/read", 0},
	} {
		lines.Next = 0
		if got := strings.Join(list(c.of), " "); got != c.want || lines.Next != c.next || lines.Total != 2 {
			t.Errorf("%v: %s, next %d", c.of, got, lines.Next)
		}
	}
	if text := call(false, "read_trajectory", map[string]any{"run": started.Run, "name": "collect/read"},
		nil); !strings.Contains(text, `"the code is 4711" does not meet "contains"`) {
		t.Error(text)
	}
	call(true, "show_run", map[string]any{"run": "nobody"}, nil)
	if text := call(false, "compare_runs", map[string]any{"runs": []string{started.Run, started.Path}},
		nil); !strings.Contains(text, `"differs":{}`) {
		t.Errorf("a run beside itself: %s", text)
	}
}
