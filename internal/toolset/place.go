package toolset

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"
	"time"

	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/fault"
	"hone/internal/mcp"
	"hone/internal/mcp/sandbox"
	"hone/internal/toolset/access"
)

// Place is that a server wants to keep its data where it may not write, often in the folder that it is installed in,
// and what has it write below its episode's folder instead.
type Place struct {
	Said string // which tool answers what; or what it says at its start
	Found
	Tried []string // what did not help
}

// Found is a change of a server's entry; zero where none helped.
type Found struct {
	Args []string // behind those that it has
	Env  string   // NAME=value
	Cwd  string
}

// placeTime is how long a place is looked for, mostPlaces at how many.
const (
	placeTime  = 40 * time.Second
	mostPlaces = 12
)

// FindPlace calls tools of a server with names of nothing, and where one may not write looks for the option or the
// variable that names the place: those that the program's own text has are tried one by one. failed is why the server
// does not answer, if so. It returns nil where nothing is wrong, or nothing can be tried.
func (o *Housing) FindPlace(ctx context.Context, c config.Config, found mcp.ServerTools, failed error) *Place {
	server := o.Servers.Servers[found.Name]
	if server.Command == "" || server.Reset != nil || slices.Contains(c.MCP.Sandbox.Exempt, found.Name) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, placeTime)
	defer cancel()
	said := ""
	if failed != nil {
		said = fault.Whole(failed)
	} else {
		said, _ = o.writeRefusal(ctx, c, server, found)
	}
	name, is := ReadOnlyPlace(said)
	if !is {
		return nil
	}
	p := &Place{Said: fault.Short(said)}
	defer func() { o.Servers.Servers[found.Name] = server }()
	for _, try := range places(programText(server), said, name) {
		if len(p.Tried) == mostPlaces || ctx.Err() != nil {
			break
		}
		changed, tools := try.of(server), found
		o.Servers.Servers[found.Name] = changed // by which the sandbox grants variables
		if failed != nil {
			r := mcp.Inspect(ctx, o.only(found.Name, changed), o.Options)[0]
			if r.Err != nil {
				p.Tried = append(p.Tried, try.String())
				continue
			}
			tools = r.Tools
		}
		// In the sandbox a folder may be the server's own that nobody keeps, so what counts is what lands in the
		// episode's.
		if still, kept := o.writeRefusal(ctx, c, changed, tools); still == "" && keeps(kept, name) && ctx.Err() == nil {
			p.Found = try
			return p
		}
		p.Tried = append(p.Tried, try.String())
	}
	return p
}

// of is a server with the change.
func (f Found) of(s mcp.Server) mcp.Server {
	s.Args = slices.Concat(s.Args, f.Args)
	if name, value, is := strings.Cut(f.Env, "="); is {
		s.Env = maps.Clone(s.Env)
		if s.Env == nil {
			s.Env = map[string]string{}
		}
		s.Env[name] = value
	}
	if f.Cwd != "" {
		s.Cwd = f.Cwd
	}
	return s
}

// Helps reports whether a change was found that helps.
func (f Found) Helps() bool { return len(f.Args) > 0 || f.Env != "" || f.Cwd != "" }

// String is the change in a word: the option, the variable, or the key.
func (f Found) String() string {
	switch {
	case len(f.Args) > 0:
		return f.Args[0]
	case f.Env != "":
		name, _, _ := strings.Cut(f.Env, "=")
		return name
	}
	return "cwd"
}

// Next is what to do. again is the line that adds the server once more, with further arguments; nil where it was
// written by hand.
func (p Place) Next(file string, again func(args ...string) string) string {
	quoted := func(key, value string) string {
		return fmt.Sprintf(`write "%s": %s into its entry in %s`, key, value, file)
	}
	name, value, _ := strings.Cut(p.Env, "=")
	switch {
	case len(p.Args) > 0 && again != nil:
		return again(p.Args...)
	case len(p.Args) > 0:
		text, _ := json.Marshal(p.Args) // of texts
		return fmt.Sprintf(`add %s to "args" of its entry in %s`, strings.Trim(string(text), "[]"), file)
	case p.Env != "":
		return quoted("env", fmt.Sprintf(`{"%s": "%s"}`, name, value))
	case p.Cwd != "":
		return quoted("cwd", `"`+p.Cwd+`"`)
	}
	next := "look in its manual for the option or the variable that names where it keeps its data, " +
		"and name a file or folder below " + mcp.EpisodeDir + " by it, in " + file
	if len(p.Tried) > 0 {
		next += "; these did not help: " + strings.Join(p.Tried, ", ")
	}
	return next
}

// only is a configuration of one server.
func (o *Housing) only(name string, s mcp.Server) mcp.Config {
	return mcp.Config{Servers: map[string]mcp.Server{name: s}, Base: o.Servers.Base}
}

// Harmless are calls that name nothing that is there: of all tools where a sandbox holds the server without network and
// without a folder to write to but the episode's own, else of those that only read.
func (o *Housing) Harmless(c config.Sandbox, server mcp.Server, found mcp.ServerTools) (calls []chat.ToolCall) {
	_, downloaded := LauncherOf(o.host, server.Command)
	open := downloaded || len(server.Hosts) > 0 || c.NetworkFor(found.Name) || len(c.WriteFor(found.Name)) > 0 ||
		slices.Contains(c.Exempt, found.Name)
	held := server.Command != "" && server.Isolation == mcp.PerProcess && o.Sandbox.Level() != sandbox.None && !open
	for _, t := range found.Tools {
		if !held && !HintsOf(t.Annotations).ReadOnlyHint {
			continue
		}
		if arguments, ok := mcp.Unlikely(t.InputSchema); ok {
			calls = append(calls, chat.ToolCall{ID: "hone", Name: t.Name, Arguments: arguments})
		}
	}
	return calls
}

// writeRefusal is what the first tool says that may not write; "" where each call was answered otherwise. kept are the
// names of the files and folders that the episode's folder has at the end beside those of its template.
func (o *Housing) writeRefusal(
	ctx context.Context, c config.Config, server mcp.Server, found mcp.ServerTools,
) (said string, kept []string) {
	found.Tools = slices.Clone(found.Tools)
	for i := range found.Tools {
		found.Tools[i].ModelName = found.Tools[i].Name // of one server they are all different
	}
	one := &mcp.Catalog{Servers: []mcp.ServerTools{found}}
	calls := o.Harmless(c.MCP.Sandbox, server, found)
	gate, err := Gate(o.host, c.MCP.Approval, one, false)
	if err != nil || len(calls) == 0 {
		return "", nil
	}
	options := o.Options
	options.Warm = -1
	if options.Folder, err = os.MkdirTemp(o.Servers.Base["TMPDIR"], "hone-place-*"); err != nil {
		return "", nil
	}
	defer func() { _ = os.RemoveAll(options.Folder) }()
	pool, err := mcp.NewPool(ctx, o.only(found.Name, server), one, options)
	if err != nil {
		return fault.Whole(err), nil
	}
	defer pool.Close()
	session, err := pool.Open(ctx, "hone-place")
	if err != nil {
		return fault.Whole(err), nil
	}
	defer func() { _ = session.Close() }()
	for _, call := range calls {
		if !gate.Decide(ctx, call, access.Place{}).Allowed { // nobody is asked
			continue
		}
		r := session.Probe(ctx, call)
		if said := cmp.Or(strings.TrimSpace(r.Text), r.Error); readOnly.MatchString(said) {
			return call.Name + " answers: " + said, nil
		}
	}
	return "", newIn(options.Folder, server.Template)
}

// newIn are the names of what episodes have in their folders, below a folder of episodes, and a template has not.
func newIn(folder, template string) (names []string) {
	works, _ := fs.Glob(os.DirFS(folder), "*/*/work")
	for _, work := range works {
		work = filepath.Join(folder, work)
		_ = filepath.WalkDir(work, func(path string, d fs.DirEntry, err error) error {
			if err != nil || path == work {
				return nil // what is gone again was not kept
			}
			if template != "" {
				relative, _ := filepath.Rel(work, path)
				if _, err := os.Lstat(filepath.Join(template, relative)); err == nil {
					return nil
				}
			}
			names = append(names, d.Name())
			return nil
		})
	}
	return names
}

// keeps reports whether one of the names is that of the data, but for what a program puts behind it while it writes.
func keeps(names []string, name string) bool {
	stem, _, _ := strings.Cut(strings.TrimLeft(name, "."), ".")
	return slices.ContainsFunc(names, func(one string) bool {
		return name == unknownPlace || strings.HasPrefix(strings.TrimLeft(one, "."), stem)
	})
}

// readOnly is how programs say that nothing may be written somewhere: Node, Python and C, SQLite.
var readOnly = regexp.MustCompile(
	`(?i)\bEROFS\b|read-only file ?system|readonly database|read-only database|unable to open database file`,
)

// quotedPath is a path in quotes, as errors of Node and Python have it; its last part is named.
var quotedPath = regexp.MustCompile(`['"]([^'"\n]*[/\\])?([^'"/\\\n]+\.[^'"/\\\n.]+|[^'"/\\\n]+)['"]`)

// unknownPlace is what a place is called whose name a server does not say.
const unknownPlace = "data"

// ReadOnlyPlace is the name of what a server wanted to write where nothing may be written, by what it answers.
func ReadOnlyPlace(why string) (name string, is bool) {
	at := readOnly.FindStringIndex(why)
	if at == nil {
		return "", false
	}
	if found := quotedPath.FindStringSubmatch(why[at[0]:]); found != nil {
		return found[2], true
	}
	if found := quotedPath.FindStringSubmatch(why); found != nil && found[1] != "" {
		return found[2], true
	}
	return unknownPlace, true
}

// What names an option or a variable that says where data are kept.
var (
	optionName = regexp.MustCompile(
		`--([a-z][a-z0-9]*(?:[-_][a-z0-9]+)*)|['"\x60]([a-z][a-z0-9]*(?:-[a-z0-9]+)+)['"\x60]`,
	)
	variableName = regexp.MustCompile(`(?:env\.|env\[\s*['"]|environ\[\s*['"]|environ\.get\(\s*['"]|getenv\(\s*['"]|getenv\s+|['"])([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*)\b`)
	placeWords   = []string{"path", "file", "filename", "dir", "directory", "folder", "db", "database", "data", "store",
		"storage", "root", "memory", "location", "workspace", "home", "cache", "output"}
	folderWords = []string{"dir", "directory", "folder", "root", "workspace", "home"}
)

// places are the changes that may have a server write below its episode's folder, the likeliest first: options and
// variables of its text, of which words are those of a place, and the folder that it starts in.
func places(text, said, name string) []Found {
	type candidate struct {
		change Found
		score  int
	}
	var all []candidate
	seen := map[string]bool{}
	add := func(word string, of func(value string) Found) {
		parts := strings.FieldsFunc(strings.ToLower(word), func(r rune) bool { return r == '-' || r == '_' })
		score := 0
		for _, part := range parts {
			if slices.Contains(placeWords, part) {
				score += 2
			}
		}
		if score == 0 || seen[word] {
			return
		}
		seen[word] = true
		for _, part := range parts {
			if len(part) > 2 && strings.Contains(strings.ToLower(name), part) {
				score += 3
			}
		}
		value := mcp.EpisodeDir + "/" + name
		if slices.ContainsFunc(parts, func(part string) bool { return slices.Contains(folderWords, part) }) {
			value = mcp.EpisodeDir
		}
		all = append(all, candidate{of(value), score})
	}
	for _, m := range optionName.FindAllStringSubmatch(text, -1) {
		option := "--" + m[1] + m[2]
		add(option, func(value string) Found { return Found{Args: []string{option, value}} })
	}
	for _, m := range variableName.FindAllStringSubmatch(text, -1) {
		if variable := m[1]; !slices.Contains([]string{"PATH", "HOME", "NODE_PATH", "PYTHONPATH", "PYTHONHOME",
			"VIRTUAL_ENV"}, variable) {
			add(variable, func(value string) Found { return Found{Env: variable + "=" + value} })
		}
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].score > all[j].score })
	var out []Found
	for _, c := range all {
		out = append(out, c.change)
	}
	start := Found{Cwd: mcp.EpisodeDir}
	if m := quotedPath.FindStringSubmatch(said); m != nil && filepath.IsAbs(m[1]) && len(out) > 0 {
		return slices.Insert(out, min(len(out), mostPlaces-1), start)
	}
	return slices.Insert(out, 0, start)
}
