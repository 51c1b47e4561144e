package toolset

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"hone/internal/blob"
	"hone/internal/config"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/mcp"
	"hone/internal/mcp/scan"
	"hone/internal/toolset/packages"
)

// Trial says which entries of a registry are tried.
type Trial struct {
	Lookup
	Names       []string      // entries by name; none: those that Lookup finds
	Env         []string      // variables of the environment that an entry may have which asks for them
	Constraints []string      // of PyPI packages
	Workers     int           // at once
	Timeout     time.Duration // of a start, and of a list of tools
}

// How far a server came.
const (
	Unsupported  = "unsupported"   // hone has no way to run it
	Lacking      = "lacks a value" // it asks for a key, or for what nobody gave
	NotInstalled = "not installed"
	NotStarted   = "not started" // its process ended, or did not shake hands
	NoAnswer     = "no answer"   // it started, and did not list its tools
	Answered     = "answered"
)

// Tried is what came of one entry.
type Tried struct {
	Name    string    `json:"name"`
	From    string    `json:"from"`
	Kind    string    `json:"kind"`              // npm, pypi, mcpb, oci, url or command
	Package string    `json:"package,omitempty"` // as it was installed
	At      time.Time `json:"at"`
	Outcome string    `json:"outcome"`
	Why     string    `json:"why,omitempty"`
	Next    string    `json:"next,omitempty"` // what to do about it

	InstallSeconds float64 `json:"install_seconds,omitempty"` // 0 where it was installed already
	ReadySeconds   float64 `json:"ready_seconds,omitempty"`   // from the start until the hands were shaken, median
	ListSeconds    float64 `json:"list_seconds,omitempty"`    // of a list of its tools, median

	Server   *mcp.ServerTools `json:"server,omitempty"` // what it offers, where it answered
	Findings []scan.Finding   `json:"findings,omitempty"`
	Linter   string           `json:"linter,omitempty"` // the program that looked for them

	file string // that keeps this
}

// Yield is what came of the entries of one list and kind.
type Yield struct {
	From      string `json:"from"`
	Kind      string `json:"kind"`
	Entries   int    `json:"entries"`
	Installed int    `json:"installed"` // of packages; URLs and commands need no installation
	Started   int    `json:"started"`
	Answered  int    `json:"answered"`
}

// Report is what came of a trial.
type Report struct {
	Tried  []Tried  `json:"tried"`
	Yields []Yield  `json:"yields"`
	Left   []string `json:"skipped,omitempty"` // entries that cannot be used
}

// Try installs entries of a registry into hone's cache, starts each in the sandbox, and asks for its tools. What is
// installed stays for the next time. A server that fails keeps no other from being tried.
func Try(ctx context.Context, h *host.Host, c config.Config, x Trial) (Report, error) {
	var r Report
	store, err := h.Store()
	if err != nil {
		return r, err
	}
	list, left, err := entries(ctx, h, x)
	if err != nil {
		return r, err
	}
	r.Left = left
	if h.DryRun {
		h.Say("would install, start and ask %s", fault.Count(len(list), "server"))
		return r, nil
	}
	cache := filepath.Join(store.Dir, "servers")
	if err := os.MkdirAll(filepath.Join(cache, "tried"), 0o755); err != nil {
		return r, &fault.Error{Code: fault.CodeExhausted, What: "cannot keep what is tried", Where: cache, Err: err,
			Next: "name another folder with --cache"}
	}
	r.Tried = make([]Tried, len(list))
	slots := make(chan struct{}, max(x.Workers, 1))
	var all sync.WaitGroup
	var mu sync.Mutex
	done := 0
	for i, e := range list {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			r.Tried[i] = one(ctx, h, c, x, e, cache)
			mu.Lock()
			defer mu.Unlock()
			done++
			h.Say("%d of %d: %s", done, len(list), r.Tried[i].text())
		})
	}
	all.Wait()
	if err := ctx.Err(); err != nil {
		return r, &fault.Error{Code: fault.CodeStopped, What: "stopped; what was installed is kept", Where: cache,
			Err: err, Next: "the same command goes on"}
	}
	r.Yields = yields(r.Tried)
	return r, nil
}

func entries(ctx context.Context, h *host.Host, x Trial) ([]packages.Entry, []string, error) {
	source, err := packages.ParseSource(x.Registry)
	if err != nil {
		return nil, nil, err
	}
	var list []packages.Entry
	if len(x.Names) == 0 {
		found, err := Search(ctx, h, x.Lookup)
		for _, e := range found.Servers {
			whole, err := client(h).Whole(ctx, source, e)
			if err != nil {
				found.Skipped = append(found.Skipped, e.Name+": "+fault.Whole(err))
				continue
			}
			list = append(list, whole)
		}
		return list, found.Skipped, err
	}
	for _, name := range x.Names {
		e, err := packages.OfPackage(name)
		if ofRegistry(name) {
			e, err = client(h).Get(ctx, source, name)
			err = orPackage(err, name)
		}
		if err != nil {
			return nil, nil, err
		}
		list = append(list, e)
	}
	return list, nil, nil
}

// one tries one entry, and keeps what came of it.
func one(ctx context.Context, h *host.Host, c config.Config, x Trial, e packages.Entry, cache string) Tried {
	t := Tried{Name: e.Name, From: e.From, Kind: strings.Join(e.Kinds(), ","),
		At: time.Now().UTC().Truncate(time.Second)}
	quiet := *h
	quiet.Quiet = true // a line for each server is enough
	err := t.try(ctx, &quiet, c, x, e, cache)
	if f, is := errors.AsType[*fault.Error](err); is {
		flat := *f
		t.Next, flat.Next = cmp.Or(t.Next, f.Next), ""
		err = &flat
	}
	if err != nil {
		t.Why = fault.Whole(err)
	}
	t.Next = cmp.Or(t.Next, t.usual())
	if ctx.Err() != nil { // what was cut off says nothing
		return t
	}
	t.file = filepath.Join(cache, "tried", blob.Parts(e.From, e.Name).String()[:24]+".json")
	if err := t.keep(); err != nil {
		h.Say("note: what came of %s is not kept: %v", e.Name, err)
	}
	return t
}

func (t Tried) keep() error {
	text, err := json.Marshal(t)
	if err != nil {
		return err
	}
	return blob.Write(t.file, text, 0o600)
}

// try takes an entry as far as it comes; t.Outcome says where that is.
func (t *Tried) try(ctx context.Context, h *host.Host, c config.Config, x Trial, e packages.Entry, cache string) error {
	dir, err := os.MkdirTemp("", "hone-try-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "mcp.json")
	const name = "server"
	lookup := h.LookupEnv
	if raw, needs, ok := e.Command(); ok && len(e.Packages)+len(e.Remotes) == 0 {
		lookup = only(h, x.Env)
		if lacks := slices.DeleteFunc(needs,
			func(v string) bool { _, set := lookup(v); return set && slices.Contains(x.Env, v) }); len(lacks) > 0 {
			t.Outcome = Lacking
			return t.missingKeys(lacks)
		}
		err = os.WriteFile(file, []byte(`{"mcpServers":{"`+name+`":`+string(raw)+`}}`), 0o600)
	} else {
		err = t.prepare(ctx, h, c, x, e, cache,
			Addition{Name: name, File: file, Python: "python3", Constraints: x.Constraints})
	}
	if err != nil {
		return err
	}
	t.Outcome = NotStarted
	servers, err := mcp.LoadConfig(file, lookup)
	if f, is := errors.AsType[*fault.Error](err); is {
		f.Where = e.Name // the file is gone soon
	}
	if err != nil {
		return err
	}
	housing, err := House(ctx, h, c, servers, "")
	if err != nil {
		return err
	}
	defer housing.Close()
	o := housing.Options
	o.ConnectTimeout, o.ProbeTimeout = x.Timeout, min(x.Timeout, 10*time.Second)
	found := mcp.Inspect(ctx, housing.Servers, o)[0]
	if f, failed := errors.AsType[*mcp.Failure](found.Err); failed {
		f.Server = e.Name
		if f.Phase == mcp.PhaseList {
			t.Outcome = NoAnswer
		}
		if of, bound := Older(servers.Servers[name], f.Said); bound != "" &&
			!slices.Contains(x.Constraints, bound) {
			t.Next = "the server may be written for an older version of the Python package " + of +
				": hone servers try " + e.Name + " --constraint '" + bound + "'"
		}
	}
	if found.Err != nil {
		t.Next = cmp.Or(t.Next, housing.NextForServer(servers.Servers[name], found.Err))
		return found.Err
	}
	found.Tools.Name = e.Name
	t.Outcome, t.Server = Answered, &found.Tools
	t.ReadySeconds, t.ListSeconds = found.Stats.OpenP50.Seconds(), found.Stats.CallP50.Seconds()
	t.lint()
	return nil
}

// lint looks at the texts of a server's tools.
func (t *Tried) lint() {
	t.Findings, t.Linter = append((&mcp.Catalog{Servers: []mcp.ServerTools{*t.Server}}).Suspicious(),
		scan.Package(t.Name, t.Package)...), linter()
}

// linter names the program that is running: another build may find other things.
func linter() string {
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%d bytes of %s", info.Size(), info.ModTime().UTC().Format(time.RFC3339Nano))
}

// prepare installs an entry's package, where it has one, and writes how it is started.
func (t *Tried) prepare(
	ctx context.Context, h *host.Host, c config.Config, x Trial, e packages.Entry, cache string, a Addition,
) error {
	t.Outcome = Unsupported
	choice, err := e.Choose()
	if err != nil {
		return err
	}
	t.Kind = "url"
	if choice.Package != "" {
		t.Kind, _, _ = strings.Cut(choice.Package, ":")
	}
	t.Outcome, t.Package = Lacking, choice.Package
	values := map[string]string{}
	if err := ask(ctx, withoutPerson(h), choice, values, x.Env); err != nil {
		return err
	}
	var lacks []string
	for _, n := range choice.Needs {
		if _, given := values[n.Name]; !given && n.Required && !n.Secret && n.File {
			values[n.Name] = ownPath(n)
			if t.Kind == packages.OCI { // of the container
				values[n.Name] = strings.Replace(ownPath(n), mcp.EpisodeDir, "/tmp", 1)
			}
		} else if !given && n.Required {
			lacks = append(lacks, packages.Variable(n.Name))
		}
	}
	if len(lacks) > 0 {
		return t.missingKeys(lacks)
	}
	launch, err := choice.Fill(values)
	if err != nil {
		return err
	}
	in := a
	settle(&in, e, choice, launch)
	in.Name = a.Name
	var installed *packages.Installed
	if choice.Package != "" {
		t.Outcome = NotInstalled
		if installed, err = t.install(ctx, h, c, in, cache); err != nil {
			return err
		}
	}
	_, err = in.Write(installed)
	return err
}

// withoutPerson is a host on which nobody types: a trial of many servers asks nobody for keys.
func withoutPerson(h *host.Host) *host.Host {
	out := *h
	out.Stdin = strings.NewReader("")
	return &out
}

// ownPath is a path in the episode's own folder for what must be given a path: the folder itself, or a file in it.
func ownPath(n packages.Need) string {
	text := strings.ToLower(n.Name + " " + n.Description)
	if strings.Contains(text, "file") || strings.Contains(text, "database") || strings.Contains(text, "db") {
		return mcp.EpisodeDir + "/data.db"
	}
	return mcp.EpisodeDir
}

// install installs a package into the cache, where it is not there yet.
func (t *Tried) install(
	ctx context.Context, h *host.Host, c config.Config, a Addition, cache string,
) (*packages.Installed, error) {
	a.Dir = filepath.Join(cache, "installed",
		blob.Parts(append([]string{a.Package}, a.Constraints...)...).String()[:24])
	if err := os.MkdirAll(filepath.Dir(a.Dir), 0o755); err != nil {
		return nil, err
	}
	unlock, err := lockFile(ctx, a.Dir+".lock") // of another entry, or another command, with the same package
	if err != nil {
		return nil, err
	}
	defer unlock()
	note := filepath.Join(a.Dir, "hone.json") // written last: without it the folder is not whole
	if text, err := os.ReadFile(note); err == nil && fresh(a.Package, note, time.Now()) {
		var in packages.Installed
		if err := json.Unmarshal(text, &in); err == nil {
			return &in, nil
		}
	}
	if err := os.RemoveAll(a.Dir); err != nil {
		return nil, err
	}
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, installTime)
	defer cancel()
	in, err := Install(ctx, h, c.MCP.Sandbox, a)
	if err != nil {
		return nil, err
	}
	t.InstallSeconds = time.Since(began).Seconds()
	text, err := json.Marshal(in)
	if err == nil {
		err = blob.Write(note, text, 0o600)
	}
	return in, err
}

// missingKeys is the error of a server that asks for values which it was not given.
func (t *Tried) missingKeys(lacks []string) error {
	t.Next = "set the variables that you want it to have, and name each: --env " + strings.Join(lacks, " --env ")
	return fmt.Errorf("keyed: needs %s", strings.Join(lacks, ", "))
}

// only are the variables of the environment that the user named, and those that every process has.
func only(h *host.Host, names []string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		if !slices.Contains(names, name) && !slices.Contains([]string{"PATH", "HOME", "LANG", "TMPDIR"}, name) {
			return "", false
		}
		return h.LookupEnv(name)
	}
}

// usual is what to do next where nothing better is known.
func (t Tried) usual() string {
	switch t.Outcome {
	case Answered:
		if t.Kind == commandKind {
			return "it is added by copying its entry into your MCP configuration"
		}
		return "hone servers add " + t.Name
	case Unsupported:
		return "see its manual, and write it into the MCP configuration by hand"
	}
	return ""
}

// commandKind is the kind of an entry of an mcp.json file.
const commandKind = "command"

// text is a trial as it is told when it is over: all of why it failed, and what to do.
func (t Tried) text() string {
	text := t.Name + ": " + t.Outcome
	if t.Outcome == Answered {
		return fmt.Sprintf("%s: %s, protocol %s", text, fault.Count(len(t.Server.Tools), "tool"), t.Server.Era)
	}
	text += ": " + fault.Indent(t.Why, "  ")
	if t.Next != "" {
		text += "\n  next:  " + t.Next
	}
	return text
}

// namesError is a line by which a program says what ended it; Node.js puts a list and its version behind that.
var namesError = regexp.MustCompile(`^\s*(?:\w+: )?\w*(?:Error|Exception)\b`)

// briefly is the begin and the end of a reason's last line, in the width of a table's cell: a program's own words come
// last, and say most. The last line that names an error comes before the last of all.
func briefly(why string) string {
	const half = 60
	why = strings.TrimSpace(why)
	last := ""
	for line := range strings.Lines(why) {
		if namesError.MatchString(line) || !namesError.MatchString(last) {
			last = line
		}
	}
	runes := []rune(host.OneLine(strings.TrimSpace(last)))
	if len(runes) > 2*half {
		return string(runes[:half]) + "..." + string(runes[len(runes)-half:])
	}
	return string(runes)
}

// Err is an error where servers were tried and none answered.
func (r Report) Err() error {
	if len(r.Tried) == 0 || slices.ContainsFunc(r.Tried, func(t Tried) bool { return t.Outcome == Answered }) {
		return nil
	}
	return &fault.Error{Code: fault.CodeFailures, What: "no server answered",
		Why: fault.Count(len(r.Tried), "server") + " tried", Next: cmp.Or(r.Tried[0].Next, "look at the reasons above")}
}

// yields counts by list and kind, in the order in which they come first.
func yields(list []Tried) (out []Yield) {
	at := map[[2]string]int{}
	for _, t := range list {
		key := [2]string{t.From, t.Kind}
		i, known := at[key]
		if !known {
			i = len(out)
			at[key], out = i, append(out, Yield{From: t.From, Kind: t.Kind})
		}
		y := &out[i]
		y.Entries++
		switch t.Outcome {
		case Answered:
			y.Answered++
			fallthrough
		case NoAnswer:
			y.Started++
			fallthrough
		case NotStarted:
			if t.Package != "" {
				y.Installed++
			}
		}
	}
	return out
}

// Rows are the servers as a table.
func (r Report) Rows() [][]string {
	rows := [][]string{{"SERVER", "KIND", "OUTCOME", "ERA", "TOOLS", "FINDINGS", "READY S", "LIST S", "WHY"}}
	for _, t := range r.Tried {
		row := []string{t.Name, t.Kind, t.Outcome, "", "", "", "", "", briefly(t.Why)}
		if t.Server != nil {
			row[3], row[4], row[5] =
				t.Server.Era, fmt.Sprint(len(t.Server.Tools)), fmt.Sprint(len(scan.Blocking(t.Findings)))
			row[6], row[7] = fmt.Sprintf("%.2f", t.ReadySeconds), fmt.Sprintf("%.4f", t.ListSeconds)
		}
		rows = append(rows, row)
	}
	return rows
}

// YieldRows are the yields as a table, each with its share of the entries.
func (r Report) YieldRows() [][]string {
	rows := [][]string{{"LIST", "KIND", "ENTRIES", "INSTALL", "START", "ANSWER"}}
	for _, y := range r.Yields {
		share := func(n int) string { return fmt.Sprintf("%d (%.0f%%)", n, 100*float64(n)/float64(y.Entries)) }
		installed := share(y.Installed)
		if y.Kind == commandKind || y.Kind == "url" {
			installed = "-"
		}
		rows = append(rows,
			[]string{y.From, y.Kind, fmt.Sprint(y.Entries), installed, share(y.Started), share(y.Answered)})
	}
	return rows
}
