package toolset

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"hone/internal/config"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/mcp"
	"hone/internal/mcp/scan"
)

// Findings looks for texts in a catalog that could steer a model by the back door.
func Findings(catalog *mcp.Catalog) []scan.Finding {
	found := catalog.Suspicious()
	if found == nil {
		found = []scan.Finding{} // [] in JSON
	}
	return found
}

// sayNew shows findings of tools that nobody has accepted. What a person has read is counted: each command would else
// say it again.
func sayNew(h *host.Host, found []scan.Finding, accepted scan.Allowed) {
	left := accepted.Unread(found)
	if h.Verbose {
		left = found
	}
	SayFindings(h, left)
	if n := len(found) - len(left); n > 0 {
		h.Say("%s of tools that you accepted: hone discover or --verbose shows them", fault.Count(n, "suspicious text"))
	}
}

// SayFindings shows each finding on a line of talk.
func SayFindings(h *host.Host, found []scan.Finding) {
	if len(found) > 0 {
		h.Say("suspicious texts, which a model would learn to obey: %s; %s",
			scan.Summary(found), stopping(len(scan.Blocking(found))))
	}
	for _, f := range found {
		h.Say("  %s/%s%s: %s (%s, %s)\n  %s", f.Server, f.Tool, f.Pointer, f.Message, f.Code, f.Severity, f.Excerpt)
	}
}

// stopping says what so many findings that block do.
func stopping(n int) string {
	if n == 0 {
		return "all are of severity low, which stops nothing"
	}
	return fmt.Sprintf("%d of severity high or medium, which stop a run; low stops nothing", n)
}

// AllowFlag is what a next step needs where findings were accepted for this one: " --allow-findings ...", "" where none
// were.
func AllowFlag(accepted scan.Allowed) string {
	if len(accepted) == 0 {
		return ""
	}
	return " --allow-findings " + ShellWord(strings.Join(accepted, ","))
}

// acceptedTools are the tools that the configuration or a flag accepts.
func acceptedTools(c config.MCP, flag scan.Allowed) scan.Allowed {
	return slices.Concat(flag, c.AllowFindings)
}

// accepting is the flag that accepts the tools of all of some findings.
func accepting(found []scan.Finding) string {
	var tools []string
	for _, f := range found {
		if name := f.Server + "/" + f.Tool; !slices.Contains(tools, name) {
			tools = append(tools, name)
		}
	}
	return "--allow-findings " + ShellWord(strings.Join(tools, ","))
}

// acceptKeys is what the configuration accepts the texts of all of some findings by, as they are now.
func acceptKeys(found []scan.Finding) string {
	var names []string
	for _, f := range found {
		if name := fmt.Sprintf("%q", f.Server+"/"+f.Tool+"@"+f.Digest); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return "for all commands, and these texts alone, by mcp: {allow_findings: [" + strings.Join(names, ", ") +
		"]} in hone.yaml; for one command"
}

// changes say which of some findings are of tools that were accepted with another text; "" where none is.
func changes(found []scan.Finding, allowed scan.Allowed) string {
	var told []string
	for _, f := range found {
		if p := allowed.OutdatedPattern(f); p != "" {
			if text := fmt.Sprintf("; %s/%s has another text than the one that %s accepts: it is %s now",
				f.Server, f.Tool, p, f.Digest); !slices.Contains(told, text) {
				told = append(told, text)
			}
		}
	}
	return strings.Join(told, "")
}

// sayRefusals tells, where nothing is refused yet, which findings will end the verbs that put these texts before a
// model.
func sayRefusals(h *host.Host, found []scan.Finding, allowed scan.Allowed) {
	if refused := allowed.Blocking(found); len(refused) > 0 {
		h.Say("synth, collect, sft, train and eval refuse these tools until you have read their texts and accept "+
			"them; %s: %s", acceptKeys(refused), accepting(refused))
	}
}

// refusePackage ends an installation whose package has nearly the name of one that many use, unless a person has
// accepted the server.
func refusePackage(h *host.Host, server, pkg string, allowed scan.Allowed) error {
	found := scan.Package(server, pkg)
	for _, f := range found {
		h.Say("  %s: %s (%s, %s)", f.Excerpt, f.Message, f.Code, f.Severity)
	}
	if refused := allowed.Blocking(found); len(refused) > 0 {
		return &fault.Error{Code: fault.CodeUsage, What: "that may not be the package you mean", Where: pkg,
			Why: refused[0].Message, Next: "correct the name; if it is the one you mean: --allow-findings '" + server +
				"/*', or the same name in mcp.allow_findings"}
	}
	return nil
}

// packageOf is the package that a launcher downloads and starts, as npm:NAME or pypi:NAME; "" where the command is no
// launcher.
func packageOf(s mcp.Server) string {
	args, ok := fetching(s.Command, s.Args)
	if !ok {
		return ""
	}
	for i, arg := range args {
		if name, is := strings.CutPrefix(arg, "--package="); is {
			return "npm:" + name
		}
		if arg == "--from" && i+1 < len(args) {
			return "pypi:" + args[i+1]
		}
	}
	return ""
}

// PackageFindings are those on the packages that launchers start as servers of a configuration, by server.
func PackageFindings(servers mcp.Config) (found []scan.Finding) {
	for _, name := range slices.Sorted(maps.Keys(servers.Servers)) {
		found = append(found, scan.Package(name, packageOf(servers.Servers[name]))...)
	}
	return found
}

// DataServer is what the server of tools is called that rows of data list alone, as rows do not say whose they are.
const DataServer = "data"

// RefuseFindings is the one rule of all verbs that put the texts of tools before a model: what blocks, of a tool that
// nobody has accepted by name, by the flag or by mcp.allow_findings, ends the verb before it begins. It shows the
// findings that are not accepted either way.
func RefuseFindings(h *host.Host, c config.MCP, tools []scan.Tool, flag scan.Allowed) error {
	found, err := findingsFor(h, c, tools, flag)
	if err != nil {
		return err
	}
	refused := acceptedTools(c, flag).Blocking(found)
	if len(refused) == 0 {
		sayAcceptances(h, flag.Blocking(found), c.AllowFindings)
		return nil
	}
	f, leave := refused[0], "leave the server out"
	if slices.ContainsFunc(refused, func(f scan.Finding) bool { return f.Server == DataServer }) {
		leave = "leave out the rows that list them (tools that rows list alone are of the server " + DataServer +
			", in mcp.allow_findings too)"
	}
	return &fault.Error{Code: fault.CodeUsage, What: "the tools hold texts that could steer the model by the back door",
		Where: fmt.Sprintf("%s/%s%s", f.Server, f.Tool, f.Pointer),
		Why:   scan.Summary(refused) + "; " + stopping(len(refused)) + changes(refused, acceptedTools(c, flag)),
		Next: "read them above; " + leave + ", or accept them, " + acceptKeys(refused) + " with " + accepting(refused) +
			" (" + howToAccept + ")"}
}

// sayAcceptances says which findings pass by the configuration alone, with --quiet too, and where it accepts whatever
// such a tool says: who wrote it may have read another text.
func sayAcceptances(h *host.Host, found []scan.Finding, key scan.Allowed) {
	var tools, loose, several []string
	of := map[string][]scan.Finding{}
	for _, f := range found {
		name := f.Server + "/" + f.Tool
		if of[name] == nil {
			tools = append(tools, name)
		}
		of[name] = append(of[name], f)
		if key.AnyText(f) != "" && !slices.Contains(loose, name+"@"+f.Digest) {
			loose = append(loose, name+"@"+f.Digest)
		}
	}
	for i, name := range tools {
		tools[i] = name + " (" + scan.Summary(of[name]) + ")"
	}
	for _, p := range key {
		if servers := scan.Servers(p, found); len(servers) > 1 {
			several = append(several,
				fmt.Sprintf("; %s is a tool of several servers: %s", p, strings.Join(servers, ", ")))
		}
	}
	if len(loose) > 0 {
		several = append(several,
			"; any text of a tool is accepted without a digest, these alone by "+strings.Join(loose, ", "))
	}
	if len(tools) > 0 {
		h.Insist("accepted by mcp.allow_findings: %s%s", strings.Join(tools, ", "), strings.Join(several, ""))
	}
}

// TellFindings is for a verb that calls tools and puts none of their texts before a model: it refuses nothing, and
// names what others will.
func TellFindings(h *host.Host, c config.MCP, tools []scan.Tool, flag scan.Allowed) error {
	found, err := findingsFor(h, c, tools, flag)
	if err == nil {
		sayRefusals(h, found, acceptedTools(c, flag))
	}
	return err
}

const howToAccept = "--allow-findings SERVER/TOOL accepts those of one tool, SERVER/* of a server's; it may be given " +
	"more than once; mcp.allow_findings takes the same names, and @DIGEST behind one accepts that text alone"

// findingsFor shows the findings on tools that are not accepted. A name of the flag that is no tool's is a slip; the
// configuration may name tools of servers that are not open now.
func findingsFor(h *host.Host, c config.MCP, tools []scan.Tool, flag scan.Allowed) ([]scan.Finding, error) {
	found := append(scan.Check(tools), scan.Chains(tools)...)
	scan.Sort(found)
	sayNew(h, found, acceptedTools(c, flag))
	if p := flag.Strange(tools); p != "" {
		return nil, &fault.Error{Code: fault.CodeUsage, What: fmt.Sprintf("no tool is called %q", p),
			Where: "--allow-findings", Next: howToAccept}
	}
	return found, nil
}
