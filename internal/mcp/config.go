// Package mcp talks to MCP servers: which ones (Config), what they offer (Catalog), and calls on them from many
// isolated episodes (Pool). The protocol itself is the official SDK's.
package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"sort"
	"strings"
	"time"
	"unicode"

	"hone/internal/fault"
	"hone/internal/mcp/sandbox"
)

// Isolation says what two episodes may share of one server.
type Isolation string

const (
	Shared     Isolation = "shared"  // one session for all episodes: only for servers without state
	PerSession Isolation = "session" // one session per episode: a process of its own on stdio
	PerProcess Isolation = "process" // and a folder and a HOME of its own, removed afterwards
	PerReset   Isolation = "reset"   // one episode at a time has the session, which Reset makes as new for the next
)

// EpisodeDir stands in args, env and cwd for the episode's own folder: a fresh copy of Template, empty without one.
const EpisodeDir = "${HONE_EPISODE_DIR}"

// Reset makes a used session as new, by a call (Tool, Arguments) or by copying the file or folder From over To.
type Reset struct {
	Tool      string          `json:"tool,omitempty"` // the server's own name for it
	Arguments json.RawMessage `json:"arguments,omitempty"`
	From      string          `json:"from,omitempty"`
	To        string          `json:"to,omitempty"` // may hold EpisodeDir
}

// Server says how to reach one server: by Command (stdio) or by URL (streamable HTTP, or HTTP+SSE), never both.
type Server struct {
	Type string `json:"type,omitempty"` // stdio, http or sse; needed for none: HTTP+SSE is also found out

	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"` // all the process sees beside PATH, HOME, LANG and TMPDIR
	// lines of NAME=value that are added to Env, which counts where both have one, and that ${NAME} in this server may
	// name
	EnvFile string `json:"envFile,omitempty"`
	// where it starts, a folder it may read; may hold EpisodeDir. Default: where hone does
	Cwd string `json:"cwd,omitempty"`

	Hosts []string `json:"hosts,omitempty"` // of a command: the hosts it may reach, through hone's proxy

	// URL is where it answers; of a server with a Pod its port and path count, and the host is each pod's.
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"` // sent to the URL's own host only
	OAuth   *OAuth            `json:"oauth,omitempty"`
	Pod     *sandbox.Pod      `json:"kubernetes,omitempty"` // what runs each session of it, in hone's own cluster

	Isolation Isolation `json:"isolation,omitempty"` // default: process on stdio, session on HTTP
	Template  string    `json:"template,omitempty"`  // a folder; needs process or reset isolation
	Reset     *Reset    `json:"reset,omitempty"`     // needs reset isolation
	Timeout   Duration  `json:"timeout,omitempty"`   // of one call; 0: Options.Timeout
	Refusal   Refusal   `json:"refusal,omitempty"`   // results that are errors, though they do not say so by isError
	Disabled  bool      `json:"disabled,omitempty"`

	// Tools and ExcludeTools are names of its tools, in which * stands for any text: those alone are used, but for
	// those that are excluded.
	Tools        []string `json:"tools,omitempty"` // none: all
	ExcludeTools []string `json:"excludeTools,omitempty"`

	secrets []string // values of variables that expand put somewhere
}

// Config is the servers of a run.
type Config struct {
	Servers map[string]Server
	Wrong   map[string]error // entries of the file that cannot be used, each a *fault.Error
	Aside   []string         // what of the file is left aside, a line each
	// Base is the environment that every process starts from: PATH, HOME, LANG and TMPDIR, where they are set.
	Base map[string]string
}

// Duration is written as "30s", or as a number of seconds.
type Duration time.Duration

const timeoutForm = `write "timeout": "30s", or a number of seconds`

// UnmarshalJSON reads "1m30s" or 90.
func (d *Duration) UnmarshalJSON(data []byte) error {
	var seconds float64
	if json.Unmarshal(data, &seconds) == nil {
		*d = Duration(seconds * float64(time.Second))
		return nil
	}
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return mistake{fmt.Sprintf("timeout %s is neither a duration nor seconds", data), timeoutForm}
	}
	parsed, err := time.ParseDuration(text)
	if err != nil {
		return mistake{fmt.Sprintf("timeout %q is no duration", text), timeoutForm}
	}
	*d = Duration(parsed)
	return nil
}

// MarshalJSON writes "1m30s".
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(d).String()) }

// LoadConfig is ReadConfig that takes no file with an entry that is wrong.
func LoadConfig(path string, lookupEnv func(string) (string, bool)) (Config, error) {
	c, err := ReadConfig(path, lookupEnv)
	if err == nil && len(c.Wrong) > 0 {
		err = c.Wrong[keysInOrder(c.Wrong)[0]]
	}
	return c, err
}

// ReadConfig reads a file with `mcpServers` (Claude, Cursor), `servers` (VS Code), or another host's form (entriesIn),
// which may hold comments and commas at the end of lists. Keys of other hosts are read where their meaning is clear,
// and else named in Config.Aside. ${VAR}, ${env:VAR}, ${VAR:-default} and the editors' own variables (editorVariables)
// are expanded in every string of a server; a variable that is not set is an error that names it. Relative templates,
// cwds, and commands with a slash are taken from the file's folder. An entry that is wrong is in Config.Wrong. Errors
// are *fault.Error.
func ReadConfig(path string, lookupEnv func(string) (string, bool)) (Config, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return Config{}, &fault.Error{Code: fault.CodeUsage, What: "cannot read the MCP configuration",
			Where: path, Err: err,
			Next: "hone servers add npm:NAME or pypi:NAME; a server that runs is named with --mcp URL, " +
				"another file with --mcp-config"}
	}
	const form = `write {"mcpServers": {"NAME": {"command": "...", "args": []}}}`
	if data = inUTF8(data); len(trim(data)) == 0 {
		return Config{}, &fault.Error{Code: fault.CodeUsage, What: "the MCP configuration is empty",
			Where: path, Next: form}
	}
	plain := plainJSON(data)
	entries, err := entriesIn(plain)
	if err == nil {
		err = twice(plain)
	}
	if _, ok := errors.AsType[mistake](err); ok {
		return Config{}, wrongly("the MCP configuration is ambiguous", path, err, "correct it there")
	}
	if err != nil {
		if _, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return Config{}, &fault.Error{Code: fault.CodeUsage,
				What: "the MCP configuration names no servers as hone reads them", Where: path,
				Err: fault.JSON(err), Next: form}
		}
		next := "check commas and quotes"
		if c := trim(data)[0]; c != '{' && c != '[' { // TOML, or YAML
			next = form
		}
		return Config{}, &fault.Error{Code: fault.CodeUsage, What: "the MCP configuration is not JSON",
			Where: path + lineOf(data, err), Err: err, Next: next}
	}
	c := Config{Servers: map[string]Server{}, Wrong: map[string]error{}, Base: baseEnv(lookupEnv)}
	all := fault.Asides{}
	for _, name := range keysInOrder(entries) {
		s, aside, err := parseServer(entries[name], filepath.Dir(path), lookupEnv)
		for _, what := range aside {
			all.Add(what, name+" of "+path)
		}
		if err != nil {
			c.Wrong[name] = wrongly("an MCP server is configured wrongly", path+", server "+name, err,
				"correct it there; hone doctor --mcp-config "+path+" then tries it")
		} else if !s.Disabled {
			c.Servers[name] = s
		}
	}
	c.Aside = all.Lines(mostAside, "server", "which the file holds")
	if len(c.Servers)+len(c.Wrong) == 0 {
		return Config{}, &fault.Error{Code: fault.CodeUsage, What: "the MCP configuration names no server", Where: path,
			Why: otherKeys(plain), Next: `add {"mcpServers": {"NAME": {"command": "...", "args": []}}}`}
	}
	return c, nil
}

// mostAside bounds the things of a file that are named as left aside.
const mostAside = 50

// parseServer reads one entry, unexpanded first: a server that is switched off may lack its variables. aside is what is
// not taken of it.
func parseServer(
	raw json.RawMessage, dir string, lookupEnv func(string) (string, bool),
) (s Server, aside []string, err error) {
	e := readEntry(raw)
	if e.members != nil {
		if raw, err = json.Marshal(e.members); err != nil {
			return s, nil, err
		}
	}
	var others sameAs
	if err = json.Unmarshal(raw, &s); err == nil {
		err = json.Unmarshal(raw, &others)
		s.also(others)
	}
	if e.wrong != nil && !s.Disabled {
		return s, nil, e.wrong
	}
	if err != nil || s.Disabled {
		return s, nil, err
	}
	if err := checkKeys(raw); err != nil {
		return s, nil, err
	}
	e.noteUnusedKeys(keysOf(reflect.TypeFor[Server]()))
	s, err = s.settle(dir, lookupEnv)
	if s.Template != "" && !bytes.Contains(raw, []byte(EpisodeDir)) {
		e.aside = append(e.aside, `the template: no args, env or cwd names `+EpisodeDir+`, so the server never `+
			`sees its copy; add "cwd": "`+EpisodeDir+`", or name that folder in args or env`)
	}
	return s, e.aside, err
}

// settle expands variables and paths, and checks the server.
func (s Server) settle(dir string, lookupEnv func(string) (string, bool)) (Server, error) {
	variables := editorVariables(lookupEnv, dir)
	file, err := s.readEnvFile(dir, variables)
	if err == nil {
		err = s.expand(variables, file)
	}
	if err != nil {
		return s, err
	}
	if s.Command != "" { // behind a URL there is no environment to add them to
		s.addEnvFile(file)
	}
	if s.Template != "" && !filepath.IsAbs(s.Template) {
		s.Template = filepath.Join(dir, s.Template)
	}
	s.resolve(workspaceOf(dir))
	if s.OAuth != nil {
		for _, file := range []*string{&s.OAuth.PrivateKeyFile, &s.OAuth.AssertionFile, &s.OAuth.IDTokenFile} {
			if *file != "" && !filepath.IsAbs(*file) {
				*file = filepath.Join(dir, *file)
			}
		}
	}
	if s.Reset != nil && s.Reset.From != "" && !filepath.IsAbs(s.Reset.From) {
		s.Reset.From = filepath.Join(dir, s.Reset.From)
	}
	s = s.withDefaults()
	return s, s.check()
}

// resolve makes command and cwd absolute, before the process starts in cwd: a command is found from where the
// configuration is, or, where there is none, from cwd.
func (s *Server) resolve(dir string) {
	if s.Cwd != "" && !filepath.IsAbs(s.Cwd) && !strings.HasPrefix(s.Cwd, EpisodeDir) {
		s.Cwd = filepath.Join(dir, s.Cwd)
	}
	if !strings.ContainsRune(s.Command, filepath.Separator) || filepath.IsAbs(s.Command) ||
		strings.HasPrefix(s.Command, EpisodeDir) {
		return
	}
	if path := filepath.Join(dir, s.Command); exists(path) || s.Cwd == "" {
		s.Command = path
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// FromFlag makes a configuration of one server from --mcp: a URL, or a command line in which quotes group words. The
// server is named after the host or the program. No error shows the flag, for a secret may stand in it. A bearer token,
// where given, is sent to the URL's host.
func FromFlag(flag, bearer string, lookupEnv func(string) (string, bool)) (Config, error) {
	flag = strings.TrimSpace(flag)
	s, name := Server{}, ""
	if u, err := url.Parse(flag); err == nil && (u.Scheme == "http" || u.Scheme == "https") {
		s.URL, name = flag, u.Hostname()
		if bearer != "" {
			s.Headers = map[string]string{"Authorization": "Bearer " + bearer}
		}
	} else if scheme := schemeOf(flag); scheme != "" {
		return Config{}, &fault.Error{Code: fault.CodeUsage, What: "--mcp is a URL that no server can be reached by",
			Where: "--mcp",
			Why:   fmt.Sprintf("its scheme %q is none of http, https", scheme), Next: "write --mcp https://host/mcp"}
	} else {
		words, err := splitWords(flag)
		if err != nil || len(words) == 0 {
			return Config{}, &fault.Error{Code: fault.CodeUsage, What: "--mcp is neither a URL nor a command",
				Where: "--mcp", Err: err, Next: `write --mcp https://host/mcp or --mcp "command args"`}
		}
		s.Command, s.Args = words[0], words[1:]
		name = strings.TrimSuffix(filepath.Base(words[0]), filepath.Ext(words[0]))
	}
	s = s.withDefaults()
	if err := s.check(); err != nil {
		return Config{}, wrongly("--mcp cannot be used", "--mcp", err,
			`write --mcp https://host/mcp or --mcp "command args"`)
	}
	return Config{Servers: map[string]Server{name: s}, Base: baseEnv(lookupEnv)}, nil
}

// schemeOf is what stands before :// at the beginning of text, "" where nothing does: a command begins otherwise.
func schemeOf(text string) string {
	scheme, _, found := strings.Cut(text, "://")
	if !found || strings.ContainsFunc(scheme, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("+-.", r)
	}) {
		return ""
	}
	return scheme
}

// Only returns the configuration with just the named servers; an unknown name is a *fault.Error.
func (c Config) Only(names ...string) (Config, error) {
	out := Config{Servers: map[string]Server{}, Base: c.Base, Aside: c.Aside}
	for _, name := range names {
		if err := c.Wrong[name]; err != nil {
			return Config{}, err
		}
		s, ok := c.Servers[name]
		if !ok {
			return Config{}, unknown("server", name, keysInOrder(c.Servers))
		}
		out.Servers[name] = s
	}
	return out, nil
}

func unknown(kind, name string, known []string) error {
	return &fault.Error{Code: fault.CodeUsage, What: fmt.Sprintf("there is no %s %q", kind, name),
		Next: "use one of: " + strings.Join(known, ", ")}
}

func (s Server) withDefaults() Server {
	switch {
	case s.Isolation != "":
	case s.Reset != nil:
		s.Isolation = PerReset
	case s.Command != "":
		s.Isolation = PerProcess
	default:
		s.Isolation = PerSession
	}
	return s
}

func (s Server) transport() string {
	switch {
	case s.URL == "":
		return viaStdio
	case s.Type == viaSSE:
		return viaSSE
	}
	return viaHTTP
}

func baseEnv(lookupEnv func(string) (string, bool)) map[string]string {
	base := map[string]string{}
	for _, key := range []string{"PATH", "HOME", "LANG", "TMPDIR"} {
		if value, ok := lookupEnv(key); ok {
			base[key] = value
		}
	}
	return base
}

func keysInOrder[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}

func lineOf(data []byte, err error) string {
	if syntax, ok := err.(*json.SyntaxError); ok && int(syntax.Offset) <= len(data) {
		return fmt.Sprintf(":%d", 1+bytes.Count(data[:syntax.Offset], []byte("\n")))
	}
	return ""
}
