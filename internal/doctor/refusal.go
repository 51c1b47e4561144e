package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/episode/trajectory"
	"hone/internal/mcp"
	"hone/internal/toolset"
	"hone/internal/toolset/approval"
)

// checkRefusals asks tools for what is not there, and looks whether the server says no in a way that counts as an error. A
// server that answers {"status": "error"} as if nothing were wrong would have a model rewarded for calls that did nothing.
func (x inspection) checkRefusals(ctx context.Context, c config.Config, found mcp.ServerTools) []Check {
	const most, limit = 8, 10 * time.Second
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	found.Tools = slices.Clone(found.Tools)
	for i := range found.Tools {
		found.Tools[i].ModelName = found.Tools[i].Name // of one server they are all different
	}
	one := &mcp.Catalog{Servers: []mcp.ServerTools{found}}
	calls := x.harmless(c.MCP.Sandbox, found)
	if len(calls) == 0 || x.Servers.Servers[found.Name].Reset != nil { // a session would have to be made as new, at a price
		return nil
	}
	servers, err := x.Servers.Only(found.Name)
	if err != nil {
		return nil // what is wrong with it is said elsewhere, as are the next ones
	}
	gate, err := toolset.Gate(x.host, c.MCP.Approval, one, false)
	if err != nil {
		return nil
	}
	o := x.Options
	o.Warm = -1
	pool, err := mcp.NewPool(ctx, servers, one, o)
	if err != nil {
		return nil
	}
	defer pool.Close()
	session, err := pool.Open(ctx, "doctor-refusal")
	if err != nil {
		return nil
	}
	defer func() { _ = session.Close() }()
	var checks []Check
	for _, call := range calls[:min(len(calls), most)] {
		if !gate.Decide(ctx, call, approval.Place{}).Allowed { // nobody is asked
			continue
		}
		r := session.Probe(ctx, call)
		if pattern := mcp.LooksRefused(r.Text); r.Status == trajectory.CallOK && pattern != "" {
			checks = append(checks, Check{Name: "MCP server " + found.Name, Status: Warn,
				Detail: fmt.Sprintf("the tool %s says no without isError, so a call that did nothing counts as answered: %s", call.Name, excerptOf(r.Text)),
				Next:   fmt.Sprintf(`add "refusal": [%s] to the server in the configuration, or mend it in the server`, pattern)})
			break // one is enough: a server says no in one way mostly
		}
	}
	return checks
}

// harmless are calls that name nothing that is there, of tools that need to be told what they work on.
func (x inspection) harmless(c config.Sandbox, found mcp.ServerTools) []chat.ToolCall {
	needs := map[string]bool{}
	for _, t := range found.Tools {
		var schema struct {
			Required []string `json:"required"`
		}
		needs[t.Name] = json.Unmarshal(t.InputSchema, &schema) == nil && len(schema.Required) > 0
	}
	return slices.DeleteFunc(x.Harmless(c, x.Servers.Servers[found.Name], found), func(call chat.ToolCall) bool { return !needs[call.Name] })
}

func excerptOf(text string) string {
	const most = 160
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "..."
	}
	return text
}
