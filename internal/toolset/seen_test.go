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
	"hone/internal/episode/scenario"
	"hone/internal/host"
	"hone/internal/mcp"
	"hone/internal/mcp/reliability"
	"hone/internal/screen"
)

// weather is a server that answers with an error as often as its first argument says, in an order that its seed draws; with
// a second one it has many other tools.
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

// Of two servers' tools that do the same, of which one fails 40% of calls, the other is shown in nearly all selections, once
// both have been called. A run that goes on shows what it showed before.
func TestReliableTwinIsShown(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "weather.py")
	if err := os.WriteFile(script, []byte(weather), 0o600); err != nil {
		t.Fatal(err)
	}
	h := &host.Host{Talk: screen.New(io.Discard), Data: screen.New(io.Discard), LookupEnv: func(name string) (string, bool) {
		if name == "XDG_STATE_HOME" {
			return filepath.Join(dir, "state"), true
		}
		return os.LookupEnv(name)
	}}
	c := config.Default()
	c.MCP.MaxTools, c.MCP.Sandbox.Mode = 10, "off"
	server := func(share float64, many, seed int, says string) mcp.Server {
		return mcp.Server{Command: "python3", Args: []string{script, fmt.Sprint(share), fmt.Sprint(many), fmt.Sprint(seed), says}, Isolation: mcp.Shared}
	}
	const trials = 3
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
					session.Call(t.Context(), []chat.ToolCall{{ID: fmt.Sprint(i), Name: name[of], Arguments: `{"city":"Rome"}`}})
				}
			}
			for i := range 40 {
				list, err := s.Selection.ForScenario(scenario.Scenario{ID: fmt.Sprint(i), Task: fmt.Sprintf("Tell me the forecast for city %d.", i)})
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
		if reliable, other := shown(run, 30); reliable != 0 || other != 40 { // before anything was seen, the first of the two
			t.Errorf("unseen, the first twin is shown in %d of 40 and the second in %d", other, reliable)
		}
		reliable, other := shown("", 0)
		right, all = right+reliable, all+40
		if other > 40-reliable {
			t.Errorf("both twins are shown: %d and %d of 40", reliable, other)
		}
		if reliable, other := shown(run, 0); reliable != 0 || other != 40 {
			t.Errorf("a run that goes on shows other tools: the first twin in %d of 40, the second in %d", other, reliable)
		}
	}
	if share := float64(right) / float64(all); share < 0.9 {
		t.Errorf("the reliable twin is shown in %.0f%% of %d selections", 100*share, all)
	}
	text, err := os.ReadFile(filepath.Join(dir, "state", "hone", "servers.json"))
	var f reliability.File
	if err != nil || json.Unmarshal(text, &f) != nil || len(f.Tools) != 2*trials {
		t.Errorf("%v, %d tools were seen", err, len(f.Tools))
	}
}
