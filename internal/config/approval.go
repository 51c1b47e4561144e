package config

import (
	"fmt"
	"path"
	"strings"
)

// Approval says which tool calls are sent, in every verb that makes some. deny outranks ask, ask outranks allow, and
// all three outrank mode. A rule is "server" or "server/tool", where * stands for any characters.
type Approval struct {
	Mode  string   `yaml:"mode" enum:"ask,auto,readonly,default" doc:"calls that no rule matches: ask a person, send them (auto), or send those of tools annotated as read-only (readonly); default is ask in hone collect, and auto in verbs beside which nobody sits"`
	Deny  []string `yaml:"deny" doc:"rules for calls that are never sent: server or server/tool, * stands for any characters"`
	Ask   []string `yaml:"ask" doc:"rules for calls that a person is asked about"`
	Allow []string `yaml:"allow" doc:"rules for calls that are sent unasked"`
}

// numDigits are those of a digest in mcp.allow_findings (lint.Tool.Digest).
const numDigits = 32

// checkAllow refuses names that no tool can have, so that a slip is not taken for a tool of a server that is not open.
func (m MCP) checkAllow() error {
	for _, p := range m.AllowFindings {
		if at := strings.LastIndex(p, "@"); at > 0 && len(p)-at-1 != numDigits &&
			strings.Trim(p[at+1:], "0123456789abcdef") == "" {
			return &ValueError{
				"mcp.allow_findings",
				fmt.Sprintf("%q has %d digits behind the @, and a digest has %d: hone discover names it",
					p, len(p)-at-1, numDigits),
			}
		}
		// as lint.Allowed takes them, so that each half is a pattern of its own
		server, tool, has := strings.Cut(p, "/")
		if !has {
			server, tool = "*", p
		}
		_, err := path.Match(server, "")
		_, err2 := path.Match(tool, "")
		if err != nil || err2 != nil || server == "" || tool == "" || strings.TrimSpace(p) != p ||
			strings.HasPrefix(tool, "/") || strings.HasSuffix(tool, "/") {
			return &ValueError{"mcp.allow_findings", fmt.Sprintf("%q is neither tool nor server/tool", p)}
		}
	}
	return nil
}

// check refuses rules that could match nothing, for a deny rule that does is worse than none.
func (a Approval) check() error {
	for _, l := range []struct {
		key   string
		rules []string
	}{{"deny", a.Deny}, {"ask", a.Ask}, {"allow", a.Allow}} {
		for _, r := range l.rules {
			if r == "" || strings.TrimSpace(r) != r || strings.HasPrefix(r, "/") || strings.HasSuffix(r, "/") {
				return &ValueError{"mcp.approval." + l.key, fmt.Sprintf("%q is neither server nor server/tool", r)}
			}
		}
	}
	return nil
}
