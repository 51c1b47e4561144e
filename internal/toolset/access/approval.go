// Package access is what an episode may use of its servers: which tools of a large catalog it is shown, and which calls
// are sent. Calls are decided by rules, by a mode, or by asking a person. Each decision is a value whose text is kept
// in the trajectory, and the model is told of a denial in place of a result.
package access

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"hone/internal/chat"
	"hone/internal/fault"
)

// Mode decides the calls that no rule matches.
type Mode string

const (
	Ask      Mode = "ask"      // a person is asked
	Auto     Mode = "auto"     // they are sent
	ReadOnly Mode = "readonly" // they are sent where the tool is annotated as read-only, else denied
)

// Tool is what a rule looks at. ReadOnly is the server's own readOnlyHint (MCP specification, tool annotations): true
// only where the server states it, and worth as much as the server is trusted.
type Tool struct {
	Server   string
	Name     string // the server's own name of the tool, not the model's
	ReadOnly bool
}

// ID is the tool as a rule names it: "server/tool".
func (t Tool) ID() string { return t.Server + "/" + t.Name }

// GateOptions say how calls are decided. Deny outranks Ask, Ask outranks Allow, and all of them outrank Mode.
type GateOptions struct {
	Mode             Mode // empty: Ask
	Deny, Ask, Allow []string

	Tools    map[string]Tool // by the name the model uses
	Prompter Prompter        // nil: nobody can be asked, so what would be asked is denied
	// Unasked is told, once a tool, of calls that were denied because nobody could be asked; nil: nobody is.
	Unasked func(tool, why string)
}

// Source says who decided.
type Source string

const (
	ByRule   Source = "rule"
	ByMode   Source = "mode"
	ByPerson Source = "person"
	ByNobody Source = "nobody" // a person was to be asked and could not
)

// Decision is the answer for one call.
type Decision struct {
	Allowed bool
	By      Source
	Why     string // what is kept in the trajectory and, of a denial, shown to the model
}

// Gate decides calls. It may be used from many goroutines: questions are asked one at a time.
type Gate struct {
	mode             Mode
	deny, ask, allow []rule
	prompter         Prompter

	unasked func(tool, why string)
	told    sync.Map // by the name the model uses

	known sync.RWMutex
	tools map[string]Tool // by the name the model uses

	asking sync.Mutex
	always map[Tool]string // of a tool, or of a server where Name is empty: what the person said
}

// NewGate returns a gate. A rule or mode that cannot be read is a *fault.Error.
func NewGate(o GateOptions) (*Gate, error) {
	g := &Gate{mode: o.Mode, tools: o.Tools, prompter: o.Prompter, unasked: o.Unasked, always: map[Tool]string{}}
	switch g.mode {
	case "":
		g.mode = Ask
	case Ask, Auto, ReadOnly:
	default:
		return nil, &fault.Error{Code: fault.CodeUsage, What: "the approval mode is not known",
			Where: "mcp.approval.mode", Why: fmt.Sprintf("%q is none of ask, auto, readonly",
				o.Mode), Next: "write one of them into hone.yaml"}
	}
	for _, l := range []struct {
		key      string
		patterns []string
		rules    *[]rule
	}{{"deny", o.Deny, &g.deny}, {"ask", o.Ask, &g.ask}, {"allow", o.Allow, &g.allow}} {
		for _, p := range l.patterns {
			r, err := parseRule(p)
			if err != nil {
				return nil, &fault.Error{Code: fault.CodeUsage, What: "an approval rule cannot be read",
					Where: "mcp.approval." + l.key, Err: err,
					Next: `write "server" or "server/tool"; * stands for any characters`}
			}
			*l.rules = append(*l.rules, r)
		}
	}
	return g, nil
}

// Decide answers for one call, and asks the person where it has to. A name that is no tool of the catalog is allowed,
// for the servers' pool answers it as an unknown tool and sends nothing; nobody should be asked about it. at is what
// the person is told beside the call.
func (g *Gate) Decide(ctx context.Context, call chat.ToolCall, at Place) Decision {
	tool, known := g.tool(call.Name)
	if !known {
		return Decision{Allowed: true, By: ByRule, Why: "not sent: no tool has this name"}
	}
	d, ask := g.verdict(tool)
	if ask {
		d = g.askFor(ctx, Question{Tool: tool, Arguments: call.Arguments, Place: at}, d.Why)
	}
	if d.By == ByNobody && ctx.Err() == nil && g.unasked != nil { // who stops the run at a question has denied nothing
		if _, told := g.told.LoadOrStore(call.Name, true); !told {
			g.unasked(call.Name, d.Why)
		}
	}
	return d
}

func (g *Gate) tool(name string) (Tool, bool) {
	g.known.RLock()
	defer g.known.RUnlock()
	tool, known := g.tools[name]
	return tool, known
}

// Admit takes in a tool that came up after people looked at the list. It says why not, "" where it did: a rule must
// allow its calls, or reviewed be false, which says that the mode auto was chosen for tools that nobody has looked at.
func (g *Gate) Admit(name string, tool Tool, reviewed bool) string {
	d, ask := g.verdict(tool)
	if ask || !d.Allowed {
		return d.Why
	}
	if reviewed && d.By != ByRule {
		return fmt.Sprintf("nobody has looked at it; to offer it, write mode: auto into mcp.approval, "+
			"or add %q to its allow", tool.ID())
	}
	g.known.Lock()
	defer g.known.Unlock()
	if other, taken := g.tools[name]; taken && other != tool {
		return "another tool has its name"
	}
	if g.tools == nil {
		g.tools = map[string]Tool{}
	}
	g.tools[name] = tool
	return ""
}

// verdict is what the rules and the mode make of a tool's calls. Where they leave them to a person, ask is true and Why
// says how to change that.
func (g *Gate) verdict(tool Tool) (d Decision, ask bool) {
	if r, ok := first(g.deny, tool); ok {
		return Decision{By: ByRule, Why: fmt.Sprintf("denied by the rule %q", r)}, false
	}
	if r, ok := first(g.ask, tool); ok {
		return Decision{Why: fmt.Sprintf("to send it unasked, take %q out of mcp.approval.ask and add %q to "+
			"mcp.approval.allow", r, tool.ID())}, true
	}
	if r, ok := first(g.allow, tool); ok {
		return Decision{Allowed: true, By: ByRule, Why: fmt.Sprintf("allowed by the rule %q", r)}, false
	}
	advice := fmt.Sprintf("no rule allows it; to send it, add %q to mcp.approval.allow", tool.ID())
	switch {
	case g.mode == Auto:
		return Decision{Allowed: true, By: ByMode, Why: "allowed by the mode auto"}, false
	case g.mode == ReadOnly && tool.ReadOnly:
		return Decision{Allowed: true, By: ByMode, Why: "allowed by the mode readonly"}, false
	case g.mode == ReadOnly:
		return Decision{By: ByMode,
			Why: "denied by the mode readonly, since the tool is not annotated as read-only; " + advice}, false
	}
	return Decision{Why: advice}, true
}

// askFor asks the person unless they have said always. advice is for the case that nobody can be asked.
func (g *Gate) askFor(ctx context.Context, q Question, advice string) Decision {
	if g.prompter == nil {
		return Decision{By: ByNobody, Why: "denied because nobody can be asked and " + advice}
	}
	g.asking.Lock()
	defer g.asking.Unlock()
	if ctx.Err() != nil { // while another question was asked
		return Decision{By: ByNobody, Why: "denied because the question was not answered: " + ctx.Err().Error()}
	}
	tool, server := q.Tool, Tool{Server: q.Tool.Server}
	for _, key := range []Tool{tool, server} {
		if why, ok := g.always[key]; ok {
			return Decision{Allowed: true, By: ByPerson, Why: why}
		}
	}
	answer, err := g.prompter.Ask(ctx, q)
	switch {
	case err != nil && ctx.Err() != nil:
		return Decision{By: ByNobody, Why: "denied because the question was not answered: " + ctx.Err().Error()}
	case err != nil:
		return Decision{By: ByNobody,
			Why: "denied because the question was not answered (" + err.Error() + ") and " + advice}
	}
	d := Decision{Allowed: true, By: ByPerson}
	switch answer {
	case Yes:
		d.Why = "allowed by the user"
	case YesUnasked:
		d.Why = "allowed by the user, who lets such calls be made unasked"
	case AlwaysTool:
		d.Why = "allowed by the user, always for " + tool.ID()
		g.always[tool] = d.Why
	case AlwaysServer:
		d.Why = "allowed by the user, always for " + tool.Server
		g.always[server] = d.Why
	default:
		d.Allowed, d.Why = false, "denied by the user"
	}
	return d
}

// UnusedRules returns the rules that match no tool, as "deny github/delet_repo": a misspelt deny rule denies nothing.
func (g *Gate) UnusedRules() []string {
	var out []string
	for _, l := range []struct {
		key   string
		rules []rule
	}{{"deny", g.deny}, {"ask", g.ask}, {"allow", g.allow}} {
		for _, r := range l.rules {
			if !r.matchesAny(g.tools) {
				out = append(out, l.key+" "+string(r))
			}
		}
	}
	return out
}

// Refusal is why no call of the tool that the model knows by name is ever sent; "" where one may be, or where there is
// no such tool.
func (g *Gate) Refusal(name string) string {
	tool, known := g.tool(name)
	if !known {
		return ""
	}
	if d, ask := g.verdict(tool); !ask && !d.Allowed {
		return d.Why
	}
	return ""
}

// RulesToChange are the rules that have to change so that nobody need be asked: those to take out of ask, and those to
// add to allow, where a server's name stands for all of its tools. Both are empty where there is somebody to ask.
func (g *Gate) RulesToChange() (ask, allow []string) {
	if g.prompter != nil {
		return nil, nil
	}
	tools, open := map[string]int{}, map[string][]string{} // by server
	for _, t := range g.tools {
		tools[t.Server]++
		if _, asked := g.verdict(t); !asked {
			continue
		}
		open[t.Server] = append(open[t.Server], t.ID())
		for _, r := range g.ask {
			if r.matches(t) && !slices.Contains(ask, string(r)) {
				ask = append(ask, string(r))
			}
		}
	}
	for server, ids := range open {
		if len(ids) == tools[server] {
			ids = []string{server}
		}
		allow = append(allow, ids...)
	}
	slices.Sort(ask)
	slices.Sort(allow)
	return ask, allow
}
