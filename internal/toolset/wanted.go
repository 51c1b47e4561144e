package toolset

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"hone/internal/config"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/mcp"
	"hone/internal/toolset/packages"
)

// Wanted is a server to add: a package or URL as toolset.Addition has it, or an entry of a registry.
type Wanted struct {
	Addition
	Registry string   // whose entry Package names
	Set      []string // NAME=VALUE: what the entry asks for
	Env      []string // variables of the environment that it may have
	Unasked  bool     // the server is not started to ask it for its tools
}

// Added is a server that was added, and what it answered where it was asked for its tools.
type Added struct {
	entered
	Answer string `json:"answer,omitempty"` // how many tools it has, or why it does not answer
	Writes string `json:"writes,omitempty"` // why it cannot keep its data
	Next   string `json:"next,omitempty"`   // what to do where it does not, or cannot
}

// Rows are an addition as a table; file is what it was written into.
func (a Added) Rows(file string) [][]string {
	rows := a.entered.Rows(file)
	if why, not := strings.CutPrefix(a.Answer, notAnswering); not {
		rows = append(rows, []string{"answers", notAnswering + briefly(why)})
	} else if a.Answer != "" {
		rows = append(rows, []string{"answers", a.Answer})
	}
	if a.Writes != "" {
		rows = append(rows, []string{"writes", briefly(a.Writes)})
	}
	return rows
}

// notAnswering begins the reason why a server does not answer.
const notAnswering = "no: "

// patience is how long a server that was added may take to start, and to list its tools.
const patience = time.Minute

// add adds a package or URL. A server that was installed is asked once for its tools, in the sandbox, unless x says not
// to; one that does not answer stays added. asked is x as it was given, before an entry of a registry was looked up.
func add(ctx context.Context, h *host.Host, c config.Config, x, asked Wanted) (*Added, error) {
	in, err := addEntry(ctx, h, c, x.Addition)
	if err != nil || in == nil {
		return nil, err
	}
	out := &Added{entered: *in}
	if in.Installed == nil || x.Unasked {
		return out, nil
	}
	again := func(more ...string) string {
		return WithArguments(asked.again(c, in.Name, more...), asked.Args)
	}
	file := cmp.Or(x.File, c.MCP.Config)
	found, place, next, err := tools(ctx, h, c, file, in.Name, again)
	if place != nil && (err == nil || place.Helps()) {
		next = place.Next(file, func(args ...string) string {
			return WithArguments(asked.again(c, in.Name), asked.Args, args...)
		})
	}
	if err == nil {
		out.Answer = fmt.Sprintf("%s, protocol %s", fault.Count(len(found.Tools), "tool"), found.Era)
		if place != nil {
			out.Writes, out.Next = notAnswering+place.Said, next
			h.Say("warning: %s is installed, and wants to keep its data where it may not write: %s",
				in.Name, place.Said)
			h.Say("  next:  %s", next)
		}
		return out, nil
	}
	if ctx.Err() != nil {
		return out, nil // it is added all the same
	}
	if len(in.Unbuilt) > 0 {
		next = "install scripts did not run, of " + strings.Join(in.Unbuilt, ", ") + "; they may be what it lacks: " +
			again("--build") + "; if it is not that, " + next
	}
	out.Answer, out.Next = notAnswering+fault.Whole(err), next
	h.Say("warning: %s is installed, and does not answer: %s", in.Name, fault.Indent(fault.Whole(err), "  "))
	h.Say("  next:  %s", next)
	return out, nil
}

// tools asks a server of a file once for its tools, and whether it can keep its data. again is the line that adds it
// once more with further flags.
func tools(
	ctx context.Context, h *host.Host, c config.Config, file, name string, again func(more ...string) string,
) (found mcp.ServerTools, place *Place, next string, err error) {
	servers, err := mcp.ReadConfig(file, h.LookupEnv)
	if err == nil {
		servers, err = servers.Only(name)
	}
	if f, is := errors.AsType[*fault.Error](err); is {
		flat := *f
		flat.Next = ""
		return found, nil, f.Next, &flat
	}
	housing, err := House(ctx, h, c, servers, "")
	if err != nil {
		return found, nil, "hone doctor --mcp-config " + file, err
	}
	defer housing.Close()
	o := housing.Options
	o.ConnectTimeout, o.ProbeTimeout = min(o.ConnectTimeout, patience), min(o.ProbeTimeout, patience)
	r := mcp.Inspect(ctx, housing.Servers, o)[0]
	if r.Err == nil {
		KeepListing(h, housing.Servers, r.Tools)
	} else {
		next = housing.NextAfterAdd(servers.Servers[name], r.Err, again)
	}
	return r.Tools, housing.FindPlace(ctx, c, r.Tools, r.Err), next, r.Err
}

// Add installs a server and writes its entry into a configuration. Of an entry of a registry it asks for the values
// that are missing: first the environment's variable of that name, where Env or a person allows it, then a person who
// types.
func Add(ctx context.Context, h *host.Host, c config.Config, x Wanted) (*Added, error) {
	if _, locked, err := packages.LockOf(x.Package); err != nil {
		return nil, err
	} else if locked || !ofRegistry(x.Package) {
		if len(x.Set)+len(x.Env) > 0 || x.Registry != "" {
			return nil, &fault.Error{
				Code:  fault.CodeUsage,
				What:  "--set, --env and --registry are for entries of a registry",
				Where: x.Package,
				Next:  "name the entry, such as io.github.user/server",
			}
		}
		return add(ctx, h, c, x, x)
	}
	asked := x
	source, err := packages.ParseSource(x.Registry)
	if err != nil {
		return nil, err
	}
	e, err := client(h).Get(ctx, source, x.Package)
	if err != nil {
		return nil, orPackage(err, x.Package)
	}
	// anyone may call a server so
	if whole, _, _ := strings.Cut(x.Package[min(1, len(x.Package)):],
		"@"); e.Name != x.Package[:min(1, len(x.Package))]+whole {
		return nil, &fault.Error{Code: fault.CodeUsage, What: "that is a part of a server's name", Where: x.Package,
			Why: "the list has " + e.Name, Next: "if that is the one you mean: hone servers add " + e.Name}
	}
	if e.Status == "deleted" {
		return nil, &fault.Error{Code: fault.CodeUsage, What: "the registry says that the server was deleted",
			Where: e.Name, Next: "use another one: hone servers search"}
	}
	if e.Status == "deprecated" {
		h.Say("warning: the registry says that %s is deprecated", e.Name)
	}
	choice, err := e.Choose()
	if err != nil {
		return nil, &fault.Error{Code: fault.CodeUsage, What: "hone cannot install that server", Where: e.Name,
			Err: err, Next: "see its manual, and write it into the MCP configuration by hand"}
	}
	values, err := valuesOf(x.Set, choice.Needs)
	if err == nil && !h.DryRun {
		err = ask(ctx, h, choice, values, x.Env)
	}
	if err != nil {
		return nil, err
	}
	launch, err := choice.Fill(values)
	if err != nil && !h.DryRun {
		return nil, &fault.Error{Code: fault.CodeUsage, What: "the server lacks a value", Where: e.Name, Err: err,
			Next: "give it with --set NAME=VALUE; a secret in the environment variable NAME, with --env NAME"}
	}
	settle(&x.Addition, e, choice, launch)
	h.Say("%s %s is %s", e.Name, e.Version, x.Package)
	for _, denied := range choice.Denied {
		h.Say("the entry asks the engine for %s, which the image does not get; --volume HOST:CONTAINER gives "+
			"it a folder", host.OneLine(denied))
	}
	if choice.Base != "" && !strings.HasPrefix(x.Package, "oci:") {
		h.Say("the entry says that the package is in %s; it is taken from where the package manager is set to",
			choice.Base)
	}
	return add(ctx, h, c, x, asked)
}

// settle makes an addition of how an entry's server is started.
func settle(a *Addition, e packages.Entry, choice packages.Choice, l packages.Launch) {
	if a.Name == "" {
		a.Name = e.Name[strings.LastIndex(e.Name, "/")+1:]
	}
	a.Package = choice.Package
	if a.Package == "" {
		a.Package, a.SSE, a.Headers = l.URL, l.SSE, l.Headers
	}
	a.Args, a.Env, a.Secrets = append(l.Args, a.Args...), l.Env, l.Secrets
}

// orPackage adds to an error of a registry that a name without a namespace may have been meant as a package's.
func orPackage(err error, name string) error {
	f, is := errors.AsType[*fault.Error](err)
	if !is || strings.Contains(name, "/") && !strings.HasPrefix(name, "@") {
		return err
	}
	out := *f
	out.Next += fmt.Sprintf("; a package is written npm:%[1]s or pypi:%[1]s", name)
	return &out
}

// ofRegistry reports whether a name is an entry's, rather than a package's or a URL.
func ofRegistry(name string) bool {
	kind, _, found := strings.Cut(name, ":")
	if found && (kind == "npm" || kind == "pypi" || kind == "mcpb" || kind == "oci") {
		return false
	}
	u, err := url.Parse(name)
	return !found && (err != nil || u.Host == "")
}

// valuesOf reads NAME=VALUE, and refuses a name that the entry does not ask for. A secret on the command line would
// stay in the shell's history.
func valuesOf(set []string, needs []packages.Need) (map[string]string, error) {
	values := map[string]string{}
	for _, text := range set {
		name, value, found := strings.Cut(text, "=")
		var known []string
		secret := false
		for _, n := range needs {
			known = append(known, n.Name)
			secret = secret || n.Name == name && n.Secret
			found = found && name != ""
		}
		bad := func(what, next string) error {
			return &fault.Error{Code: fault.CodeUsage, What: what, Where: "--set " + name, Next: next}
		}
		switch {
		case !found:
			return nil, bad("--set takes NAME=VALUE", "write --set NAME=VALUE")
		case secret:
			return nil, bad(name+" is a secret, which the shell's history would keep", "set the environment variable "+
				packages.Variable(name)+" and give --env "+packages.Variable(name)+", or be asked for it on a terminal")
		case !slices.Contains(known, name):
			return nil, bad(fmt.Sprintf("the server asks for no value %q", name),
				"it asks for: "+strings.Join(known, ", "))
		}
		values[name] = value
	}
	return values, nil
}

// ask adds the values that are missing: the environment's, then a person's where one types. Of what need not be given
// only the environment is asked. The entry chose the names of the variables: env, or a person, says which of them it
// may have.
func ask(ctx context.Context, h *host.Host, choice packages.Choice, values map[string]string, env []string) error {
	stopped := func(err error) error {
		return errors.Join(&fault.Error{Code: fault.CodeStopped, What: "nothing was added",
			Next: "the same command asks again"}, err)
	}
	found := map[string]string{}
	for _, n := range choice.Needs {
		if _, set := values[n.Name]; set {
			continue
		}
		variable := packages.Variable(n.Name)
		if value, set := h.LookupEnv(variable); set && value != "" && (n.Secret || n.Required) {
			allowed, err := mayHave(ctx, h, variable, receiver(choice), env)
			if err != nil {
				return stopped(err)
			}
			if allowed {
				found[n.Name] = value
				continue
			}
		}
		if !n.Required || h.TerminalIn() == nil {
			continue
		}
		value, err := h.Ask(ctx, question(n), n.Secret)
		if err != nil {
			return stopped(err)
		}
		found[n.Name] = value
	}
	maps.Copy(values, found)
	return nil
}

// mayHave reports whether a variable of the environment may be given to a receiver.
func mayHave(ctx context.Context, h *host.Host, variable, to string, env []string) (bool, error) {
	if slices.Contains(env, variable) {
		h.Say("the environment's %s goes to %s", variable, to)
		return true, nil
	}
	if h.TerminalIn() == nil {
		h.Say("the environment's %s is not given to %s: --env %s allows it", variable, to, variable)
		return false, nil
	}
	answer, err := h.Ask(ctx, fmt.Sprintf("give the environment's %s to %s? [y/N] ", variable, to), false)
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes", err
}

// receiver is the program or the URL that an entry's values go to.
func receiver(choice packages.Choice) string {
	if choice.Package != "" {
		return "the program of " + host.OneLine(choice.Package)
	}
	return host.OneLine(choice.Remote.URL)
}

func question(n packages.Need) string {
	text := n.Name
	if n.Description != "" {
		text += " (" + host.OneLine(n.Description) + ")"
	}
	if len(n.Choices) > 0 {
		text += ", one of " + strings.Join(n.Choices, ", ")
	}
	return text + ": "
}
