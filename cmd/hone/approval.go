package main

import (
	"context"
	"encoding/json"
	"io"
	"os"

	"github.com/mattn/go-isatty"

	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/mcp"
	"hone/internal/mcp/approval"
)

// approvals returns the gate for calls on a catalog's tools: the configuration's rules, and a person on the terminal,
// whom --yes answers for. It warns of rules that match no tool.
func (a *app) approvals(c config.Approval, catalog *mcp.Catalog) (*approval.Gate, error) {
	o := approval.Options{Mode: approval.Mode(c.Mode), Deny: c.Deny, Ask: c.Ask, Allow: c.Allow, Tools: map[string]approval.Tool{}}
	for _, s := range catalog.Servers {
		for _, t := range s.Tools {
			o.Tools[t.ModelName] = approval.Tool{Server: s.Name, Name: t.Name, ReadOnly: readOnlyHint(t.Annotations)}
		}
	}
	if a.yes {
		o.Prompter = approval.YesToAll{}
	} else if f, ok := a.stdin.(*os.File); ok && isatty.IsTerminal(f.Fd()) {
		o.Prompter = approval.NewTerminal(f, a.terminalOf(f))
	}
	gate, err := approval.New(o)
	if err != nil {
		return nil, err
	}
	for _, rule := range gate.Unused() {
		a.say("mcp.approval: the rule %q matches no tool", rule)
	}
	return gate, nil
}

// terminalOf is where questions are seen: stderr, or the terminal that is typed on where stderr goes elsewhere.
func (a *app) terminalOf(typed *os.File) io.Writer {
	if f, ok := a.stderr.(*os.File); ok && isatty.IsTerminal(f.Fd()) {
		return f
	}
	return typed
}

// approve is a gate as llm.Collect asks it. The first time that nobody can be asked about a tool, it tells the user
// how to answer in advance.
func (a *app) approve(ctx context.Context, gate *approval.Gate) func(chat.ToolCall) (bool, string) {
	told := map[string]bool{}
	return func(call chat.ToolCall) (bool, string) {
		d := gate.Decide(ctx, call)
		if d.By == approval.ByNobody && !told[call.Name] {
			told[call.Name] = true
			a.say("a call of %s was %s in hone.yaml, or give --yes", call.Name, d.Why)
		}
		return d.Allowed, d.Why
	}
}

// readOnlyHint reads a tool's annotation, which is false where it is not given (MCP specification, ToolAnnotations).
func readOnlyHint(annotations json.RawMessage) bool {
	var a struct {
		ReadOnlyHint bool `json:"readOnlyHint"`
	}
	return json.Unmarshal(annotations, &a) == nil && a.ReadOnlyHint
}
