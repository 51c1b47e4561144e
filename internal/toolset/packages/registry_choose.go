package packages

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Choice is one way to run an entry's server: a package to install, or a URL.
type Choice struct {
	// as hone servers add takes it: npm:NAME@VERSION, pypi:NAME==VERSION, mcpb:URL#SHA256, oci:IMAGE; "" for a URL
	Package string
	Remote  Remote   // where Package is ""
	Base    string   // the registry that the entry names for its package; what npm and pip are set to decides
	Needs   []Need   // in the order of the entry
	Denied  []string // what an image asks of its engine, and is not given

	arguments []Argument
	variables []KeyValue
}

// Need is a value that somebody has to give, or may.
type Need struct {
	Name        string   `json:"name"`
	Description string   `json:"description,omitempty"`
	Required    bool     `json:"required,omitempty"`
	Secret      bool     `json:"secret,omitempty"`
	Default     string   `json:"default,omitempty"`
	Choices     []string `json:"choices,omitempty"`
	File        bool     `json:"file,omitempty"` // a path on this machine
}

// Launch is how the server is started or reached, with the values that were given. A secret stands in it as
// ${VARIABLE}.
type Launch struct {
	Args         []string
	Env, Headers map[string]string
	URL          string
	SSE          bool
	Secrets      map[string]string // by variable
}

// Choose picks the first way that can be gone here: a package that speaks stdio, else a URL, else an image. The error
// says why there is none.
func (e Entry) Choose() (Choice, error) {
	var why []string
	var images []Choice
	for _, p := range e.Packages {
		c, reason := p.choice()
		switch {
		case reason == "" && p.RegistryType == OCI: // which needs an engine
			images = append(images, c)
		case reason == "":
			return c, nil
		default:
			why = append(why, reason)
		}
	}
	for _, want := range []string{streamable, sse} {
		for _, r := range e.Remotes {
			if r.Type == want {
				return Choice{Remote: r, Needs: needsOfRemote(r)}, nil
			}
		}
	}
	if len(images) > 0 {
		return images[0], nil
	}
	switch {
	case e.Written != nil:
		why = append(why, "it is a command of an mcp.json file, which is added by copying it")
	case len(e.Packages)+len(e.Remotes) == 0 && e.Repository.URL != "":
		why = append(why, "the list names no package and no URL; look in "+e.Repository.URL+
			" for its package, and add that by npm:NAME or pypi:NAME")
	case len(e.Packages)+len(e.Remotes) == 0:
		why = append(why, "the list names no package and no URL")
	}
	return Choice{}, fmt.Errorf("%s", strings.Join(why, "; "))
}

// choice is how a package is installed, or why it is not.
func (p Package) choice() (c Choice, why string) {
	if t := p.Transport.Type; t != "" && t != stdio {
		return c, fmt.Sprintf("the %s package serves %s by itself: start it, and add its URL", p.RegistryType, t)
	}
	switch p.RegistryType {
	case NPM:
		c.Package = "npm:" + p.Identifier + tail("@", p.Version)
	case PyPI:
		c.Package = "pypi:" + p.Identifier + tail("==", p.Version)
	case MCPB:
		c.Package = "mcpb:" + p.Identifier + "#" + p.FileSHA256
	case OCI:
		c.Package = "oci:" + p.image()
		p.EnvironmentVariables = append(slices.Clone(p.EnvironmentVariables), p.engineVariables()...)
		c.Denied = p.otherArguments()
	case bundle:
		return c, "the list has no hash for its bundle: download " + p.Identifier +
			", and add the file with hone servers add mcpb:FILE"
	default:
		return c, fmt.Sprintf("packages of type %q are not installed: npm, pypi, mcpb and oci are", p.RegistryType)
	}
	if p.RuntimeHint == "bun" || p.RuntimeHint == "deno" {
		return c, "it needs " + p.RuntimeHint
	}
	c.Base, c.arguments, c.variables = p.RegistryBaseURL, p.PackageArguments, p.EnvironmentVariables
	for _, a := range p.PackageArguments {
		c.Needs = append(c.Needs, needsOf(a.label(), a.Input)...)
	}
	for _, v := range p.EnvironmentVariables {
		c.Needs = append(c.Needs, needsOf(v.Name, v.Input)...)
	}
	return c, ""
}

func tail(glue, version string) string {
	if version == "" {
		return ""
	}
	return glue + version
}

// label is what an argument's value is called.
func (a Argument) label() string {
	return cmp.Or(strings.TrimLeft(a.Name, "-"), a.ValueHint, "argument")
}

func needsOfRemote(r Remote) (needs []Need) {
	for _, name := range variablesIn(r.URL) {
		if v, known := r.Variables[name]; known {
			needs = append(needs, needsOf(name, v)...)
		}
	}
	for _, h := range r.Headers {
		needs = append(needs, needsOf(h.Name, h.Input)...)
	}
	return needs
}

// needsOf are the values that an input asks for: those of the variables in its fixed value, or its own. A variable of a
// value that must be secret is secret.
func needsOf(name string, in Input) (needs []Need) {
	if in.Value != "" {
		for _, v := range variablesIn(in.Value) {
			if inner, known := in.Variables[v]; known {
				inner.IsSecret = inner.IsSecret || in.IsSecret
				needs = append(needs, needsOf(v, inner)...)
			}
		}
		return needs
	}
	return []Need{
		{Name: name, Description: in.Description, Required: in.IsRequired && in.Default == "", Secret: in.IsSecret,
			Default: in.Default, Choices: in.Choices, File: in.Format == "filepath"},
	}
}

var braces = regexp.MustCompile(`\{([A-Za-z_-][A-Za-z0-9_.-]*)\}`)

func variablesIn(text string) (names []string) {
	for _, m := range braces.FindAllStringSubmatch(text, -1) {
		if !slices.Contains(names, m[1]) {
			names = append(names, m[1])
		}
	}
	return names
}

// Fill puts values by their need's name to where they go. A need without a value takes its default; what is still
// missing and not required is left out. The error names the first that is required, or a value that is none of its
// choices.
func (c Choice) Fill(values map[string]string) (Launch, error) {
	l := Launch{Env: map[string]string{}, Headers: map[string]string{}, Secrets: map[string]string{}}
	for _, n := range c.Needs {
		value, given := values[n.Name]
		if n.Required && (!given || value == "") {
			return l, fmt.Errorf("it needs a value for %s%s", n.Name, about(n))
		}
		if given && len(n.Choices) > 0 && !slices.Contains(n.Choices, value) {
			return l, fmt.Errorf("%s is none of %s", n.Name, strings.Join(n.Choices, ", "))
		}
	}
	for _, a := range c.arguments {
		text, ok := l.text(a.label(), a.Input, values)
		switch {
		case a.Name != "" && a.Format == "boolean":
			if text == "true" {
				l.Args = append(l.Args, a.Name)
			}
		case a.Name != "" && ok:
			l.Args = append(l.Args, a.Name, text)
		case a.Name == "" && ok:
			l.Args = append(l.Args, text)
		}
	}
	for _, v := range c.variables {
		if text, ok := l.text(v.Name, v.Input, values); ok {
			l.Env[v.Name] = text
		}
	}
	if c.Package != "" {
		return l, nil
	}
	l.SSE, l.URL = c.Remote.Type == sse, l.substitute(c.Remote.URL, c.Remote.Variables, false, values)
	if why := badURL(strings.NewReplacer("${", "", "}", "").Replace(l.URL)); why != "" {
		return l, fmt.Errorf("with these values %s", why)
	}
	for _, h := range c.Remote.Headers {
		if text, ok := l.text(h.Name, h.Input, values); ok {
			l.Headers[h.Name] = text
		}
	}
	return l, nil
}

func about(n Need) string {
	if n.Description == "" {
		return ""
	}
	return " (" + n.Description + ")"
}

// text is an input's value; ok is false where it has none.
func (l *Launch) text(name string, in Input, values map[string]string) (text string, ok bool) {
	if in.Value != "" {
		return l.substitute(in.Value, in.Variables, in.IsSecret, values), true
	}
	value := cmp.Or(values[name], in.Default)
	if value == "" {
		return "", false
	}
	return l.toWrite(name, value, in.IsSecret), true
}

// substitute is a text with its variables' values in the place of {name}; names that are no variables stay.
func (l *Launch) substitute(text string, variables map[string]Input, secret bool, values map[string]string) string {
	return braces.ReplaceAllStringFunc(text, func(m string) string {
		name := m[1 : len(m)-1]
		v, known := variables[name]
		if !known {
			return m
		}
		v.IsSecret = v.IsSecret || secret
		out, _ := l.text(name, v, values)
		return out
	})
}

// toWrite is a value as it is written down: a secret as a variable that the secrets' file sets.
func (l *Launch) toWrite(name, value string, secret bool) string {
	if !secret {
		return value
	}
	variable := Variable(name)
	l.Secrets[variable] = value
	return "${" + variable + "}"
}

// Variable is the environment variable that a need's value may be given in: of api-key, API_KEY.
func Variable(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' {
			return r - 'a' + 'A'
		}
		if r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, name)
}

// Command is the command of an entry of an mcp.json file, and the variables of the environment that it cannot do
// without. ok is false where there is none, or where it asks for something else of this machine.
func (e Entry) Command() (raw json.RawMessage, needs []string, ok bool) {
	var c commanded
	if e.Written == nil || json.Unmarshal(e.Written, &c) != nil {
		return nil, nil, false
	}
	for _, text := range c.texts() { // decoded: \u0024 is a dollar too
		text = strings.ReplaceAll(text, "${HONE_EPISODE_DIR}", "")
		for _, m := range asked.FindAllStringSubmatch(text, -1) {
			if m[2] == "" || slices.Contains(everyProcess, m[1]) { // which are set, so a default would not be taken
				needs = append(needs, m[1])
			}
		}
		if strings.Contains(asked.ReplaceAllString(text, ""), "${") {
			return nil, nil, false
		}
	}
	slices.Sort(needs)
	return e.Written, slices.Compact(needs), true
}

// asked is a variable of the environment as mcp.json files write it.
var asked = regexp.MustCompile(`\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(:-[^}]*)?\}`)

// everyProcess are the variables that every server is started with.
var everyProcess = []string{"PATH", "HOME", "LANG", "TMPDIR"}

// commanded is what is kept of an entry of an mcp.json file. hone's other keys give a server more of the machine:
// hosts, files of variables, folders, keys of OAuth. Whoever wrote the list does not decide on these.
type commanded struct {
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
}

// texts are all strings of it.
func (c commanded) texts() []string {
	out := append([]string{c.Command, c.URL}, c.Args...)
	for _, m := range []map[string]string{c.Env, c.Headers} {
		for name, value := range m {
			out = append(out, name, value)
		}
	}
	return out
}

// Needs are the values that an entry's server asks for, also where the list names no way to run it.
func (e Entry) Needs() (needs []Need) {
	if c, err := e.Choose(); err == nil {
		return c.Needs
	}
	for _, v := range e.Asks {
		needs = append(needs, needsOf(v.Name, v.Input)...)
	}
	return needs
}
