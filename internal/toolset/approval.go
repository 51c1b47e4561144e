package toolset

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hone/internal/config"
	"hone/internal/episode/scenario"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/mcp"
	"hone/internal/mcp/sandbox"
	"hone/internal/mcp/scan"
	"hone/internal/toolset/access"
)

// Attended says whether a person sits beside a verb: hone collect asks one, and what runs by itself asks nobody.
type Attended bool

// Approvals returns the gate for calls on the catalog's tools: the configuration's rules, and a person on the terminal
// where the verb is attended, whom --yes answers for. It warns of rules that match no tool.
func (s *Set) Approvals(c config.Approval, by Attended) (*access.Gate, error) {
	gate, err := Gate(s.Housing.host, c, s.Catalog, by)
	if err != nil {
		return nil, err
	}
	return gate, s.stand(gate, c)
}

// PersonGate returns the gate of a person who is asked about each call, whatever rules would let through; those that
// deny hold all the same.
func (s *Set) PersonGate(c config.Approval, p access.Prompter) (*access.Gate, error) {
	c.Mode = string(access.Ask)
	gate, err := access.NewGate(access.GateOptions{Mode: access.Mode(c.Mode), Deny: c.Deny, Tools: toolsOf(s.Catalog),
		Prompter: p})
	if err != nil {
		return nil, err
	}
	return gate, s.stand(gate, c)
}

// stand has the gate stand before what the servers offer, from now on too.
func (s *Set) stand(gate *access.Gate, c config.Approval) error {
	for _, rule := range gate.UnusedRules() {
		s.Housing.host.Say("mcp.approval: the rule %q matches no tool", rule)
	}
	s.Pool.Admit = func(server string, t mcp.Tool) string { return s.admit(gate, c.Mode, server, t) }
	return s.resettable(gate)
}

// admit lets a tool that came up in an episode be offered where its calls would be sent unasked, by a rule or by a mode
// that the user chose, and where its texts are not suspicious. It says why not.
func (s *Set) admit(gate *access.Gate, mode, server string, t mcp.Tool) string {
	alone := &mcp.Catalog{Servers: []mcp.ServerTools{{Name: server, Tools: []mcp.Tool{t}}}}
	if refused := s.accepted.Blocking(alone.Suspicious()); len(refused) > 0 {
		return "its texts are suspicious: " + scan.Summary(refused)
	}
	tool := access.Tool{Server: server, Name: t.Name, ReadOnly: HintsOf(t.Annotations).ReadOnlyHint}
	return gate.Admit(t.Name, tool, mode != string(access.Auto))
}

// Gate puts the configuration's rules before a catalog's tools.
func Gate(h *host.Host, c config.Approval, catalog *mcp.Catalog, by Attended) (*access.Gate, error) {
	o := access.GateOptions{Mode: access.Mode(c.Mode), Deny: c.Deny, Ask: c.Ask, Allow: c.Allow,
		Tools: toolsOf(catalog)}
	if c.Mode == "default" {
		if o.Mode = access.Auto; by {
			o.Mode = access.Ask
		}
	}
	if by {
		o.Unasked = func(tool, why string) { h.Say("a call of %s was %s in hone.yaml, or give --yes", tool, why) }
	}
	if h.Yes {
		o.Prompter = access.YesToAll{}
	} else if f := h.TerminalIn(); f != nil && bool(by) {
		o.Prompter = access.NewTerminal(f, h.PromptWriter(f))
	}
	return access.NewGate(o)
}

// toolsOf are a catalog's tools as rules look at them, by the name the model uses.
func toolsOf(catalog *mcp.Catalog) map[string]access.Tool {
	out := map[string]access.Tool{}
	for _, s := range catalog.Servers {
		for _, t := range s.Tools {
			out[t.ModelName] = access.Tool{Server: s.Name, Name: t.Name,
				ReadOnly: HintsOf(t.Annotations).ReadOnlyHint}
		}
	}
	return out
}

// resettable refuses servers whose episodes are separated by a call that the rules deny.
func (s *Set) resettable(gate *access.Gate) error {
	for _, server := range s.Catalog.Servers {
		for _, t := range server.Tools {
			reset := s.Housing.Servers.Servers[server.Name].Reset
			if reset == nil || reset.Tool != t.Name {
				continue
			}
			if why := gate.Refusal(t.ModelName); why != "" {
				return &fault.Error{Code: fault.CodeUsage, What: "a server cannot be made as new between episodes",
					Where: "server " + server.Name + ", reset by " + t.Name, Why: "the call is " + why,
					Next: "allow it in mcp.approval of hone.yaml, or give the server another isolation"}
			}
		}
	}
	return nil
}

// decide puts the rules between the episodes and the servers. What a person would have to be asked is an error now,
// rather than a denial in the midst of a run that nobody watches.
func (s *Set) decide(c config.MCP) error {
	var err error
	if s.Gate, err = s.Approvals(c.Approval, false); err != nil {
		return err
	}
	if ask, allow := s.Gate.RulesToChange(); len(allow) > 0 {
		next := fmt.Sprintf("add %s to mcp.approval.allow in hone.yaml, or to deny, which the model is told of; "+
			"or give --yes", listRules(allow))
		if len(ask) > 0 {
			next = fmt.Sprintf("take %s out of mcp.approval.ask; %s", listRules(ask), next)
		}
		return &fault.Error{
			Code:  fault.CodeUsage,
			What:  "a person would have to be asked about tool calls, and nobody sits beside this command",
			Where: "mcp.approval",
			Why:   "the model can call " + listRules(allow),
			Next:  next,
		}
	}
	s.Tools = s.Gate.Wrap(s.Tools, nil)
	s.sayDestructive(c)
	return nil
}

// sayDestructive names the tools that say of themselves that they destroy, where no sandbox bounds what, and where the
// user has not said how calls are decided.
func (s *Set) sayDestructive(c config.MCP) {
	if c.Approval.Mode != "default" {
		return
	}
	for _, server := range s.Catalog.Servers {
		if s.Housing.Servers.Servers[server.Name].Command != "" && s.Housing.Sandbox.Level() != sandbox.None &&
			!slices.Contains(c.Sandbox.Exempt, server.Name) {
			continue
		}
		var rules []string
		for _, t := range server.Tools {
			if HintsOf(t.Annotations).DestructiveHint && s.Gate.Refusal(t.ModelName) == "" {
				rules = append(rules, server.Name+"/"+t.Name)
			}
		}
		if len(rules) > 0 {
			s.Housing.host.Say("no sandbox holds server %s, and these tools of it destroy, as it says itself: "+
				"the model will call them unless mcp.approval.deny names them: %s", server.Name, listRules(rules))
		}
	}
}

// listRules lists rules as they are written in the configuration, the first ten of many.
func listRules(rules []string) string {
	const most = 10
	var texts []string
	for _, r := range rules[:min(len(rules), most)] {
		texts = append(texts, strconv.Quote(r))
	}
	text := strings.Join(texts, ", ")
	if more := len(rules) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// CheckRules refuses scenarios that could not be set up or checked, and tells of those that ask for a call which is
// always denied.
func CheckRules(h *host.Host, gate *access.Gate, list []scenario.Scenario) error {
	told := map[string]bool{}
	for _, s := range list {
		for _, call := range s.Setup {
			if why := gate.Refusal(call.Name); why != "" {
				return &fault.Error{Code: fault.CodeUsage, What: "a scenario cannot be set up",
					Where: fmt.Sprintf("scenario %s, setup call %s", s.ID, call.Name), Why: why,
					Next: "allow the tool in mcp.approval of hone.yaml, or leave the scenario out"}
			}
		}
		for i, check := range s.Checks {
			if why := gate.Refusal(check.Name); check.Asks() && why != "" {
				return &fault.Error{Code: fault.CodeUsage, What: "a scenario cannot be checked",
					Where: fmt.Sprintf("scenario %s, checks[%d], call of %s", s.ID, i, check.Name), Why: why,
					Next: "allow the tool in mcp.approval of hone.yaml, or leave the check out"}
			}
			if why := gate.Refusal(check.Name); check.Type == scenario.CallCheck && why != "" && !told[check.Name] {
				told[check.Name] = true
				h.Say("scenario %s asks for a call of %s, which is always %s", s.ID, check.Name, why)
			}
		}
	}
	return nil
}

// AlsoDeny adds today's deny rules to those that a run was begun with: who stops a run to forbid something means it.
func AlsoDeny(c *config.Config, today config.Config) {
	for _, rule := range today.MCP.Approval.Deny {
		if !slices.Contains(c.MCP.Approval.Deny, rule) {
			c.MCP.Approval.Deny = append(c.MCP.Approval.Deny, rule)
		}
	}
}

// Hints are a tool's annotations (MCP specification, ToolAnnotations), as far as approval looks at them. What is not
// given counts as false here: of destructiveHint, whose default is true, only what a server says is worth telling.
type Hints struct {
	ReadOnlyHint    bool `json:"readOnlyHint"`
	DestructiveHint bool `json:"destructiveHint"`
}

// HintsOf reads a tool's annotations; what cannot be read says nothing.
func HintsOf(annotations json.RawMessage) Hints {
	var h Hints
	if json.Unmarshal(annotations, &h) != nil {
		return Hints{}
	}
	return h
}
