package toolset

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/console/sanitize"
	"hone/internal/episode/scenario"
	"hone/internal/host"
	"hone/internal/mcp"
)

// weather is a server that answers with an error as often as its first argument says, in an order that its seed draws;
// with a second one it has many other tools.
const weather = `import json, random, sys
share, many, seed = float(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
draw = random.Random(seed)
tool = {"name": "get_forecast", "description": sys.argv[4], "inputSchema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}
others = [{"name": "thing_%d" % i, "description": "Handles thing %d of the store." % i, "inputSchema": {"type": "object", "properties": {"p%d" % i: {"type": "string"}}}} for i in range(many)]
for line in sys.stdin:
    q = json.loads(line)
    if "id" not in q: continue
    r = {"error": {"code": -32601, "message": "no such method"}}
    if q["method"] == "initialize": r = {"result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "w", "version": "1"}}}
    if q["method"] == "tools/list": r = {"result": {"tools": others if many else [tool]}}
    if q["method"] == "tools/call":
        bad = draw.random() < share
        r = {"result": {"content": [{"type": "text", "text": "the service is down" if bad else "sunny"}], "isError": bad}}
    print(json.dumps({"jsonrpc": "2.0", "id": q["id"], **r}), flush=True)
`

// Of two servers' tools that do the same, of which one fails 40% of calls, the other is shown in nearly all selections,
// once both have been called. A run that goes on shows what it showed before. make soak has three pairs of servers.
func TestReliableTwinIsShown(t *testing.T) { twins(t, 1) }

func twins(t *testing.T, trials int) {
	dir := t.TempDir()
	script := filepath.Join(dir, "weather.py")
	if err := os.WriteFile(script, []byte(weather), 0o600); err != nil {
		t.Fatal(err)
	}
	h := &host.Host{
		Talk: sanitize.New(io.Discard),
		Data: sanitize.New(io.Discard),
		LookupEnv: func(name string) (string, bool) {
			if name == "XDG_STATE_HOME" {
				return filepath.Join(dir, "state"), true
			}
			return os.LookupEnv(name)
		},
	}
	c := config.Default()
	c.MCP.MaxTools, c.MCP.Sandbox.Mode = 10, "off"
	server := func(share float64, many, seed int, says string) mcp.Server {
		return mcp.Server{Command: "python3",
			Args: []string{script, fmt.Sprint(share), fmt.Sprint(many), fmt.Sprint(seed), says}, Isolation: mcp.Shared}
	}
	right, all := 0, 0
	for seed := range trials {
		// Each pair has names of its own, so that it has not been seen. The one that fails comes first in the catalog.
		flaky, solid := fmt.Sprintf("a%d", seed), fmt.Sprintf("b%d", seed)
		servers := mcp.Config{Base: map[string]string{"PATH": os.Getenv("PATH")}, Servers: map[string]mcp.Server{
			flaky:    server(0.4, 0, seed, "Returns the weather forecast of a city for the coming days."),
			solid:    server(0, 0, seed, "Returns the weather forecast of one city for the coming days."),
			"others": server(0, 40, 0, ""),
		}}
		run := filepath.Join(dir, fmt.Sprint("run", seed))
		if err := os.Mkdir(run, 0o700); err != nil {
			t.Fatal(err)
		}
		shown := func(runDir string, calls int) (reliable, other int) {
			s, err := Connect(t.Context(), h, c, servers, runDir)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			s.Select(c)
			// the run begins: nothing is in its folder, which it would refuse, and it keeps what it is shown by
			if calls > 0 {
				if left, err := os.ReadDir(runDir); err != nil || len(left) > 0 {
					t.Errorf("in the folder of a run that has not begun: %v, %v", left, err)
				}
				text, err := s.StatsText()
				if err == nil {
					err = os.WriteFile(filepath.Join(runDir, SeenOfRun), text, 0o600)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			name := map[string]string{}
			for _, from := range s.Catalog.Servers {
				name[from.Name] = from.Tools[0].ModelName
			}
			session, err := s.Pool.Open(t.Context(), "e")
			if err != nil {
				t.Fatal(err)
			}
			defer session.Close()
			for i := range calls {
				for _, of := range []string{flaky, solid} {
					session.Call(t.Context(),
						[]chat.ToolCall{{ID: fmt.Sprint(i), Name: name[of], Arguments: `{"city":"Rome"}`}})
				}
			}
			for i := range 40 {
				list, err := s.Selection.ForScenario(scenario.Scenario{ID: fmt.Sprint(i),
					Task: fmt.Sprintf("Tell me the forecast for city %d.", i)})
				if err != nil {
					t.Fatal(err)
				}
				has := func(x string) bool {
					return slices.ContainsFunc(list, func(tool chat.Tool) bool { return tool.Name == name[x] })
				}
				if has(solid) {
					reliable++
				}
				if has(flaky) {
					other++
				}
			}
			return reliable, other
		}
		// before anything was seen, the first of the two
		if reliable, other := shown(run, 30); reliable != 0 || other != 40 {
			t.Errorf("unseen, the first twin is shown in %d of 40 and the second in %d", other, reliable)
		}
		reliable, other := shown("", 0)
		right, all = right+reliable, all+40
		if other > 40-reliable {
			t.Errorf("both twins are shown: %d and %d of 40", reliable, other)
		}
		if reliable, other := shown(run, 0); reliable != 0 || other != 40 {
			t.Errorf("a run that goes on shows other tools: the first twin in %d of 40, the second in %d",
				other, reliable)
		}
	}
	if share := float64(right) / float64(all); share < 0.9 {
		t.Errorf("the reliable twin is shown in %.0f%% of %d selections", 100*share, all)
	}
	text, err := os.ReadFile(filepath.Join(dir, "state", "hone", "servers.json"))
	var f File
	if err != nil || json.Unmarshal(text, &f) != nil || len(f.Tools) != 2*trials {
		t.Errorf("%v, %d tools were seen", err, len(f.Tools))
	}
}

// What was seen of a tool says nothing of what its server has made of it since: the calls of another hash do not count,
// and the change does.
func TestTwinsOfAnotherHash(t *testing.T) {
	state := t.TempDir()
	h := &host.Host{Talk: sanitize.New(io.Discard), LookupEnv: func(name string) (string, bool) {
		return state, name == "XDG_STATE_HOME"
	}}
	tool := func(server, hash string) mcp.ServerTools {
		return mcp.ServerTools{Name: server, Tools: []mcp.Tool{
			{Name: "get_forecast", ModelName: server + "__get_forecast", SHA256: hash,
				Description: "Returns the weather forecast of a city.",
				InputSchema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}}}`)},
		}}
	}
	a, b := mcp.Server{Command: "a"}, mcp.Server{Command: "b"}
	path, err := ReliabilityPath(h)
	if err != nil {
		t.Fatal(err)
	}
	if err := Update(path, func(f *File) {
		f.Add(ReliabilityKey(a, "get_forecast"), Seen{SHA256: "then", Calls: 100, Failed: 90})
		f.Add(ReliabilityKey(b, "get_forecast"), Seen{SHA256: "now", Calls: 100, Failed: 40, Drifts: 2})
	}); err != nil {
		t.Fatal(err)
	}
	for hash, want := range map[string]string{
		"then": "a__get_forecast", // it fails more often
		"now":  "b__get_forecast", // as it is now it was never seen to fail, and it changed once
	} {
		s := &Set{Housing: &Housing{host: h, Servers: mcp.Config{Servers: map[string]mcp.Server{"a": a, "b": b}}},
			Catalog: &mcp.Catalog{Servers: []mcp.ServerTools{tool("a", hash), tool("b", "now")}}}
		if hidden := s.twins(); len(hidden) != 1 || hidden[want] == "" {
			t.Errorf("with the hash %q hidden is %v, want %s", hash, hidden, want)
		}
	}
}

// Two entries that reach one server share what was seen of it, whatever they are called; two servers of one program do
// not.
func TestSeenKey(t *testing.T) {
	one := mcp.Server{Command: "python3", Args: []string{"-m", "one"}}
	if ReliabilityKey(one, "t") != ReliabilityKey(mcp.Server{Command: "python3", Args: []string{"-m", "one"},
		Env: map[string]string{"A": "b"}}, "t") {
		t.Error("one server has two keys")
	}
	if ReliabilityKey(one, "t") == ReliabilityKey(mcp.Server{Command: "python3", Args: []string{"-m", "two"}}, "t") ||
		ReliabilityKey(one, "t") == ReliabilityKey(one, "u") {
		t.Error("two have one key")
	}
}
