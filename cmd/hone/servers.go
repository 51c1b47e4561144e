package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"hone/internal/config"
	"hone/internal/episode/reward"
	"hone/internal/episode/summary"
	"hone/internal/fault"
	"hone/internal/mcp"
	"hone/internal/mcp/sandbox"
)

// serverFlags say which servers a verb works on.
type serverFlags struct{ server, file string }

func (f *serverFlags) register(a *app, flags *pflag.FlagSet) {
	flags.StringVar(&f.server, "mcp", "", "one MCP server: a URL, or a command with its arguments (default $MCP_URL)")
	flags.StringVar(&f.file, "mcp-config", "", "file with the MCP servers, in the mcpServers or the servers form")
	a.sandboxFlag(flags)
}

func (a *app) sandboxFlag(flags *pflag.FlagSet) {
	flags.StringVar(&a.sandbox, "sandbox", "", "auto, require or off, instead of the configuration's mcp.sandbox.mode")
}

// servers reads the configuration of the servers: --mcp, else --mcp-config, else $MCP_URL, else the configuration's file.
func (a *app) servers(c config.Config, f serverFlags) (mcp.Config, error) {
	token, _ := a.LookupEnv("MCP_BEARER_TOKEN")
	if f.server == "" && f.file == "" {
		f.server, _ = a.LookupEnv("MCP_URL")
		if u, err := url.Parse(f.server); f.server != "" && (err != nil || u.Host == "") { // else it would be run as a command
			return mcp.Config{}, &fault.Error{Code: fault.CodeUsage, What: "MCP_URL is not a URL", Where: "MCP_URL",
				Why: "its value is not shown, for it may hold a secret", Next: "write it with http:// or https://"}
		}
	}
	if f.server != "" {
		return mcp.FromFlag(f.server, token, a.LookupEnv)
	}
	if f.file == "" {
		f.file = c.MCP.Config
	}
	servers, err := mcp.LoadConfig(f.file, a.LookupEnv)
	if err != nil || len(c.MCP.Only) == 0 {
		return servers, err
	}
	return servers.Only(c.MCP.Only...)
}

// downloadTime bounds the start of a server that npx or the like may have to download first.
const downloadTime = 3 * time.Minute

// housing is what servers run in: the sandbox, the folder of the episodes' folders, and the limits of calls.
type housing struct {
	servers mcp.Config
	options mcp.Options
	sandbox *sandbox.Sandbox
	said    saidBy
}

// saidBy is what servers wrote to stderr, by episode and server, until the episode's record takes it.
type saidBy struct {
	mu   sync.Mutex
	said map[string]map[string]string
}

// put replaces what an earlier attempt at the episode left.
func (s *saidBy) put(episode, server, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if text == "" {
		delete(s.said[episode], server)
		return
	}
	if s.said == nil {
		s.said = map[string]map[string]string{}
	}
	if s.said[episode] == nil {
		s.said[episode] = map[string]string{}
	}
	s.said[episode][server] = text
}

func (s *saidBy) take(episode string) map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	said := s.said[episode]
	delete(s.said, episode)
	return said
}

// openHost prepares servers for the run in the directory runDir, "" where there is none.
func (a *app) openHost(ctx context.Context, c config.Config, servers mcp.Config, runDir string) (*housing, error) {
	servers, err := a.withRunners(servers)
	if err != nil {
		return nil, &fault.Error{Code: fault.CodeExhausted, What: "cannot make a folder for downloads", Err: err,
			Next: "name a folder that can be written with --cache"}
	}
	h := &housing{servers: servers, options: mcp.Options{Timeout: c.MCP.Timeout, MaxResult: c.Rollout.MaxResult, ResourceTools: c.MCP.Resources == "tools"}}
	h.options.Stderr = h.said.put
	if c.Rollout.LongResults == "summary" {
		h.options.MaxResult = wholeResult
	}
	if h.sandbox, h.options.Wrap, err = a.sandboxed(ctx, c.MCP.Sandbox, servers); err != nil {
		return nil, err
	}
	for _, server := range servers.Servers {
		if _, ok := a.runnerOf(server.Command); ok { // ended in the midst of a download it may leave a cache that never works again
			h.options.ProbeTimeout, h.options.ConnectTimeout = downloadTime, downloadTime
		}
	}
	h.options.Changed = func(server string, changes []mcp.Change) {
		for _, change := range changes {
			a.Say("server %s changed its tools: %s", server, change)
		}
	}
	if runDir != "" {
		if h.options.Folder, err = a.episodeFolders(runDir); err != nil {
			h.close()
			return nil, err
		}
	}
	return h, nil
}

func (h *housing) close() {
	_ = h.sandbox.Close() // its folders are under a temporary one
	if h.options.Folder != "" {
		_ = os.RemoveAll(h.options.Folder) // the next run of this directory removes what is left
	}
}

// episodeFolders makes the folder of a run's episodes. Its path is a function of the run directory's, for servers show
// their path to the model, and a run that goes on is to go on as it would have. It is in the temporary folder, which
// others may write to, so it must be ours alone.
func (a *app) episodeFolders(runDir string) (string, error) {
	absolute, err := filepath.Abs(runDir)
	if err != nil {
		return "", err
	}
	parent, ok := a.LookupEnv("TMPDIR")
	if !ok || parent == "" {
		parent = "/tmp"
	}
	hash := sha256.Sum256([]byte(absolute))
	path := filepath.Join(parent, "hone-"+hex.EncodeToString(hash[:6]))
	err = os.Mkdir(path, 0o700)
	if errors.Is(err, fs.ErrExist) {
		var info fs.FileInfo
		if info, err = os.Lstat(path); err == nil {
			stat, ok := info.Sys().(*syscall.Stat_t)
			if !info.IsDir() || info.Mode().Perm()&0o077 != 0 || ok && int(stat.Uid) != os.Geteuid() {
				err = errors.New("it exists, and is not a folder of this user alone")
			}
		}
	}
	if err != nil {
		return "", &fault.Error{Code: fault.CodeExhausted, What: "cannot make the folder of the episodes", Where: path, Err: err,
			Next: "remove it, or set TMPDIR to a folder of yours"}
	}
	return path, nil
}

// openServers connects to the servers, freezes their tools, and puts the rules of mcp.approval before them; only names the
// tools to keep, none keeps all.
func (a *app) openServers(ctx context.Context, c config.Config, servers mcp.Config, only ...string) (*lab, error) {
	return a.openServersOf(ctx, c, servers, "", only...)
}

// openServersOf is openServers for the run in a directory.
func (a *app) openServersOf(ctx context.Context, c config.Config, servers mcp.Config, runDir string, only ...string) (*lab, error) {
	l, err := a.connect(ctx, c, servers, runDir, only...)
	if err != nil {
		return nil, err
	}
	if err := l.decide(a, c.MCP); err != nil {
		l.close()
		return nil, err
	}
	l.show(a, c)
	return l, nil
}

// connect is openServersOf without rules: who calls it asks a gate about each call.
func (a *app) connect(ctx context.Context, c config.Config, servers mcp.Config, runDir string, only ...string) (*lab, error) {
	h, err := a.openHost(ctx, c, servers, runDir)
	if err != nil {
		return nil, err
	}
	a.Opens(h.options)
	l := &lab{host: h, opens: a.Opens}
	if l.catalog, err = h.discover(ctx, a); err == nil && len(only) > 0 {
		l.catalog, err = l.catalog.Only(only...)
	}
	if err == nil {
		l.pool, err = mcp.NewPool(ctx, h.servers, l.catalog, h.options)
	}
	if err != nil {
		h.close()
		return nil, err
	}
	l.scorer, l.tools = reward.Scorer{Weights: weightsOf(c.Rewards), Defaults: l.catalog.Defaults()}, l.pool
	a.Opens(l.scorer)
	if c.Rollout.LongResults == "summary" {
		shortener, err := a.summaries(c.Rollout)
		if err != nil {
			l.close()
			return nil, err
		}
		l.tools = summary.Tools{Tools: l.pool, Shortener: shortener}
	}
	return l, nil
}

// show chooses which tools episodes are shown.
func (l *lab) show(a *app, c config.Config) {
	l.shown = showTools(c, l.tools, l.catalog.Tools())
	if l.shown.why != "" {
		a.Say("%s", l.shown.why)
	}
}

// discover is mcp.Discover, whose error also says what the sandbox may have to do with it.
func (h *housing) discover(ctx context.Context, a *app) (*mcp.Catalog, error) {
	catalog, err := mcp.Discover(ctx, h.servers, h.options)
	if f, ok := errors.AsType[*fault.Error](err); ok && h.servers.Servers[f.Where].Command != "" && notStarted(err) {
		f.Next = a.notFound(h.servers.Servers[f.Where])
	} else if ok && h.servers.Servers[f.Where].Command != "" && h.sandbox.Level() != sandbox.None {
		f.Next = "run its command by hand; if that works, " + a.keptFrom(h.servers.Servers[f.Where])
	}
	return catalog, err
}

// notStarted says that a server's program is missing, which has nothing to do with the sandbox.
func notStarted(err error) bool {
	f, ok := errors.AsType[*mcp.Failure](err)
	return ok && f.Phase == mcp.PhaseStart
}

// notFound is what to do where a server's program is not on PATH: often a version manager has it, which only shells know.
func (a *app) notFound(server mcp.Server) string {
	home, _ := a.LookupEnv("HOME")
	here, _ := os.Getwd() // without it: the root
	if path := sandbox.Elsewhere(home, here, server.Command); path != "" {
		return fmt.Sprintf(`write "command": %q, for it is there`, path)
	}
	return "install the program, or correct the server's command: " + commandLine(server)
}

// keptFrom is what a sandbox may keep from a server that starts without one, with the keys that grant it.
func (a *app) keptFrom(server mcp.Server) string {
	path := server.Command
	if searched, ok := a.LookupEnv("PATH"); ok && !strings.Contains(path, "/") {
		for _, dir := range filepath.SplitList(searched) {
			if _, err := os.Stat(filepath.Join(dir, path)); err == nil {
				path = filepath.Join(dir, path)
				break
			}
		}
	}
	if ask := sandbox.Shim(path); ask != "" {
		return fmt.Sprintf(`write the program itself as its "command": %s prints it; %s is a stand-in that looks for its settings in your home, which the sandbox hides`, ask, path)
	}
	return "the sandbox keeps something from it: " +
		`"cwd" is where it starts and may read; mcp.sandbox.read, write and network of hone.yaml grant more; --sandbox off tells whether that is it`
}
