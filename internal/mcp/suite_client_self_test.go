package mcp

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// callsReached is a server that remembers what arrived.
type callsReached struct {
	mu    sync.Mutex
	calls []string
}

func (r *callsReached) serve(t *testing.T) string {
	t.Helper()
	s := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
	for _, name := range []string{"add_numbers", "json_schema_2020_12_tool", "json_schema_echo", "ask"} {
		s.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object","$defs":{"z":{}, "a":{}}}`)},
			func(_ context.Context, c *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				r.mu.Lock()
				defer r.mu.Unlock()
				r.calls = append(r.calls, c.Params.Name+string(c.Params.Arguments))
				return &mcp.CallToolResult{}, nil
			})
	}
	server := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil))
	t.Cleanup(server.Close)
	return server.URL
}

func TestScenarioIsPlayed(t *testing.T) {
	tests := []struct{ scenario, setting, want string }{
		{"initialize", "", ""},
		{"a scenario of tomorrow", "", ""},
		{"tools_call", "", `add_numbers{"a":5,"b":3}`},
		{"json-schema-2020-12-preservation", "", `json_schema_echo{"schema":{"type":"object","$defs":{"z":{},"a":{}}}}`},
		{"http-custom-headers", `{"toolCalls":[{"name":"ask","arguments":{"q":1}},{"name":"add_numbers"}]}`, `ask{"q":1} add_numbers{}`},
	}
	for _, test := range tests {
		var r callsReached
		if err := playScenario(context.Background(), r.serve(t), test.scenario, []byte(test.setting)); err != nil {
			t.Errorf("%s: %v", test.scenario, err)
		}
		if got := strings.Join(r.calls, " "); got != test.want {
			t.Errorf("%s: called %s, want %s", test.scenario, got, test.want)
		}
	}
}

func TestScenarioFails(t *testing.T) {
	var r callsReached
	url := r.serve(t)
	for scenario, setting := range map[string]string{"sse-retry": "", "tools_call": "{"} {
		if err := playScenario(context.Background(), url, scenario, []byte(setting)); err == nil {
			t.Errorf("%s succeeds against a server that lacks its tool", scenario)
		}
	}
	if err := playScenario(context.Background(), "http://127.0.0.1:1/mcp", "initialize", nil); err == nil {
		t.Error("nobody listens")
	}
}
