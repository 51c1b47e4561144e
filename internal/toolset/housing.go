// Package toolset makes MCP servers the tools of episodes: which servers, the sandbox they run in, the rules that calls
// must pass, and which tools an episode is shown. It keeps how tools answered, so that of two that do the same the
// better one is shown, and has a model summarise results that are too long. It finds servers in registries, adds them
// with what they ask for, tries them in the sandbox, and keeps what was seen of them.
package toolset

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"hone/internal/config"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/mcp"
	"hone/internal/mcp/sandbox"
)

// downloadTime bounds the start of a server that npx or the like may have to download first.
const downloadTime = 3 * time.Minute

// Housing is what servers run in: the sandbox, the folder of the episodes' folders, and the limits of calls.
type Housing struct {
	Servers mcp.Config
	Options mcp.Options
	Sandbox *sandbox.Sandbox
	host    *host.Host
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

// bound is the bytes that a server may take of memory, and its folder on the disk.
func bound(c config.Sandbox) int64 {
	const gib, least = 1 << 30, 2
	if c.MaxGiB > 0 {
		return int64(c.MaxGiB) * gib
	}
	available, _ := host.AvailableMemory() // where it is not known, the least
	return max(available/4, least*gib)
}

// House prepares servers for the run in the directory runDir, "" where there is none.
func House(ctx context.Context, h *host.Host, c config.Config, servers mcp.Config, runDir string) (*Housing, error) {
	servers, err := withLaunchers(h, servers)
	if err != nil {
		return nil, &fault.Error{Code: fault.CodeExhausted, What: "cannot make a folder for downloads", Err: err,
			Next: "name a folder that can be written with --cache"}
	}
	o := &Housing{host: h, Servers: servers, Options: mcp.Options{Timeout: c.MCP.Timeout,
		MaxResult: c.Rollout.MaxResult, ResourceTools: c.MCP.Resources == "tools", MaxBytes: bound(c.MCP.Sandbox)}}
	o.Options.Stderr = o.said.put
	if c.Rollout.LongResults == "summary" {
		o.Options.MaxResult = wholeResult
	}
	if err := o.usePods(h); err != nil {
		return nil, err
	}
	if o.Sandbox, o.Options.Wrap, err = OpenSandbox(ctx, h, c.MCP.Sandbox, servers); err != nil {
		return nil, err
	}
	if err := o.download(ctx, c.MCP.Sandbox); err != nil {
		o.Close()
		return nil, err
	}
	for _, server := range servers.Servers {
		// ended in the midst of a download it may leave a cache that never works again
		if _, ok := LauncherOf(h, server.Command); ok {
			o.Options.ProbeTimeout, o.Options.ConnectTimeout = downloadTime, downloadTime
		}
	}
	o.Options.Changed = func(server string, changes []mcp.Change) {
		for _, change := range changes {
			h.Say("server %s changed its tools: %s", server, change)
		}
		if slices.ContainsFunc(changes, func(c mcp.Change) bool { return c.Kind == mcp.ToolAdded }) {
			h.Say("server %s: a tool that comes up in an episode is offered where mcp.approval allows it or its mode "+
				"is auto; else have the server list all of them from the start", server)
		}
	}
	if runDir != "" {
		if o.Options.Folder, err = episodeFolders(h, runDir); err != nil {
			o.Close()
			return nil, err
		}
	}
	return o, nil
}

// Close ends the sandbox, and removes the folders of the episodes.
func (o *Housing) Close() {
	_ = o.Sandbox.Close() // its folders are under a temporary one
	if o.Options.Folder != "" {
		_ = os.RemoveAll(o.Options.Folder) // the next run of this directory removes what is left
	}
}

// episodeFolders makes the folder of a run's episodes. Its path is a function of the run directory's, for servers show
// their path to the model, and a run that goes on is to go on as it would have. It is in the temporary folder, which
// others may write to, so it must be ours alone.
func episodeFolders(h *host.Host, runDir string) (string, error) {
	absolute, err := filepath.Abs(runDir)
	if err != nil {
		return "", err
	}
	parent, ok := h.LookupEnv("TMPDIR")
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
		return "", &fault.Error{Code: fault.CodeExhausted, What: "cannot make the folder of the episodes",
			Where: path, Err: err, Next: "remove it, or set TMPDIR to a folder of yours"}
	}
	return path, nil
}

// Discover is mcp.Discover, whose error also says what the sandbox may have to do with it.
func (o *Housing) Discover(ctx context.Context) (*mcp.Catalog, error) {
	catalog, err := mcp.Discover(ctx, o.Servers, o.Options)
	if err != nil {
		return nil, o.explain(err)
	}
	KeepListing(o.host, o.Servers, catalog.Servers...)
	return catalog, nil
}

// DiscoverEach is mcp.DiscoverEach, whose errors also say what the sandbox may have to do with it.
func (o *Housing) DiscoverEach(ctx context.Context) (*mcp.Catalog, map[string]error) {
	catalog, failed := mcp.DiscoverEach(ctx, o.Servers, o.Options)
	for name, err := range failed {
		failed[name] = o.explain(err)
	}
	KeepListing(o.host, o.Servers, catalog.Servers...)
	return catalog, failed
}

// explain is the error of a server that is not discovered, with what to do about its command.
func (o *Housing) explain(err error) error {
	if f, ok := errors.AsType[*fault.Error](err); ok && o.Servers.Servers[f.Where].Command != "" {
		f.Next = o.NextForServer(o.Servers.Servers[f.Where], err)
	}
	return err
}

// IsMissingProgram says that a server's program is missing, which has nothing to do with the sandbox.
func IsMissingProgram(err error) bool {
	f, ok := errors.AsType[*mcp.Failure](err)
	return ok && f.Phase == mcp.PhaseStart
}

// NotFoundAdvice is what to do where a server's program is not on PATH: often a version manager has it, which only
// shells know.
func NotFoundAdvice(h *host.Host, server mcp.Server) string {
	home, _ := h.LookupEnv("HOME")
	here, _ := os.Getwd() // without it: the root
	if path := sandbox.Elsewhere(home, here, server.Command); path != "" {
		return fmt.Sprintf(`write "command": %q, for it is there`, path)
	}
	return "install the program, or correct the server's command: " + CommandLine(server)
}

// SandboxLimits is what a sandbox may keep from a server that starts without one, with the keys that grant it.
func SandboxLimits(h *host.Host, server mcp.Server) string {
	path := server.Command
	if searched, ok := h.LookupEnv("PATH"); ok && !strings.Contains(path, "/") {
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
