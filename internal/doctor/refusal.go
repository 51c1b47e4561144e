package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/episode/trajectory"
	"hone/internal/mcp"
	"hone/internal/toolset"
	"hone/internal/toolset/access"
)

// checkRefusals asks tools for what is not there, and looks whether the server says no in a way that counts as an
// error. A server that answers {"status": "error"} as if nothing were wrong would have a model rewarded for calls that
// did nothing.
func (x inspection) checkRefusals(ctx context.Context, c config.Config, found mcp.ServerTools) []Check {
	const limit = 10 * time.Second
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	found.Tools = slices.Clone(found.Tools)
	for i := range found.Tools {
		found.Tools[i].ModelName = found.Tools[i].Name // of one server they are all different
	}
	one := &mcp.Catalog{Servers: []mcp.ServerTools{found}}
	calls := x.harmless(c.MCP.Sandbox, found)
	configured := x.Servers.Servers[found.Name].Refusal
	trusted := configured != nil && len(configured) == 0 // the user says that it has no other
	// a session would have to be made as new, at a price
	if len(calls) == 0 || trusted || x.Servers.Servers[found.Name].Reset != nil {
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
	var tools, patterns []string
	text := ""
	for _, one := range configured {
		patterns = append(patterns, string(one)) // what stands there stays
	}
	for _, call := range calls {
		if !gate.Decide(ctx, call, access.Place{}).Allowed { // nobody is asked
			continue
		}
		r := session.Probe(ctx, call)
		said, pattern := r.Text, mcp.RefusalPattern(r.Text)
		if pattern == "" {
			said, pattern = string(r.StructuredContent), mcp.RefusalPattern(string(r.StructuredContent))
		}
		if r.Status == trajectory.CallOK && pattern != "" {
			if tools = append(tools, call.Name); text == "" {
				text = said
			}
			if !slices.Contains(patterns, pattern) {
				patterns = append(patterns, pattern)
			}
		}
	}
	if tools == nil {
		return nil
	}
	return []Check{{Name: "MCP server " + found.Name, Status: Warn,
		Detail: fmt.Sprintf("%s without isError, so a call that did nothing counts as answered: %s",
			sayNo(tools), excerptOf(text)),
		Next: mcp.RefusalAdvice(found.Name, patterns)}}
}

// sayNo says which tools say no.
func sayNo(tools []string) string {
	const most = 5
	if len(tools) == 1 {
		return "the tool " + tools[0] + " says no"
	}
	more := ""
	if n := len(tools) - most; n > 0 {
		tools, more = tools[:most], fmt.Sprintf(" and %d more", n)
	}
	return "the tools " + strings.Join(tools, ", ") + more + " say no"
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
	return slices.DeleteFunc(x.Harmless(c, x.Servers.Servers[found.Name], found), func(call chat.ToolCall) bool {
		return !needs[call.Name]
	})
}

func excerptOf(text string) string {
	const most = 160
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "..."
	}
	return text
}
