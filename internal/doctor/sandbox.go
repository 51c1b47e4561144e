package doctor

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"hone/internal/config"
	"hone/internal/mcp"
	"hone/internal/mcp/sandbox"
	"hone/internal/toolset"
)

// sights are what each server that was started had in its sandbox.
type sights struct {
	mu sync.Mutex
	of map[string]sandbox.Sight
}

// watch notes what is left to each server that starts from now on; of an episode's folder its place is not told.
func (x inspection) watch(c config.Sandbox) *sights {
	s := &sights{of: map[string]sandbox.Sight{}}
	wrap := x.Options.Wrap
	x.Options.Wrap = func(name, folder string, cmd *exec.Cmd) error {
		if sight, err := x.Sandbox.Sight(cmd,
			toolset.Grants(x.host, c, name, x.Servers.Servers[name], folder, cmd.Env)); err == nil {
			own := func(path string) bool {
				return folder != "" && (path == folder || strings.HasPrefix(path, folder+string(filepath.Separator)))
			}
			sight.Read, sight.Write = slices.DeleteFunc(sight.Read, own), slices.DeleteFunc(sight.Write, own)
			s.mu.Lock()
			s.of[name] = sight
			s.mu.Unlock()
		}
		return wrap(name, folder, cmd)
	}
	return s
}

// checkSight says what keeps a server in: level, network, folders.
func (x inspection) checkSight(c config.Sandbox, name string, server mcp.Server, seen *sights) Check {
	check := Check{Name: "MCP server " + name, Status: OK}
	sight, started := seen.of[name]
	_, isLauncher := toolset.LauncherOf(x.host, server.Command)
	switch {
	case server.Command == "":
		check.Detail = "sandbox: none is needed, it runs where its URL is"
	case slices.Contains(c.Exempt, name):
		check.Status, check.Detail = Warn, "sandbox: none; it has the network and every file of yours"
		check.Next = "take it out of mcp.sandbox.exempt; where something is missing then, mcp.sandbox grants network " +
			"and folders one by one"
	case !started:
		check.Status, check.Detail = Warn, "sandbox: what it would have is not known, for it was not started"
	case sight.Level == sandbox.None:
		check.Status, check.Detail = Warn, "sandbox: none; it has the network and every file of yours"
	default:
		network := "none"
		if len(server.Hosts) > 0 {
			network = strings.Join(server.Hosts, ", ") + " through hone's proxy"
		}
		if sight.Network {
			network = "everything, this machine's own services and private networks too"
		}
		check.Detail = fmt.Sprintf("sandbox: %s; network: %s; reads: %s; writes: %s", sight.Level, network,
			strings.Join(append([]string{"the system"}, sight.Read...), ", "),
			strings.Join(append([]string{"its episode's folder"}, sight.Write...), ", "))
		if sight.Network && isLauncher {
			check.Status, check.Next = Warn, "hone servers add installs a package once and runs it without network"
		}
	}
	return check
}

// checkWrites tries to write, as the server, to the data that its configuration names: where that is refused it would
// start, and then fail call by call.
func (x inspection) checkWrites(ctx context.Context, c config.Sandbox, name string) []Check {
	server := x.Servers.Servers[name]
	if server.Command == "" || slices.Contains(c.Exempt, name) {
		return nil
	}
	var tried []string
	named := dataPaths(server)
	for _, path := range slices.Sorted(maps.Keys(named)) {
		if !toolset.InFolders(path, c.ReadFor(name)) { // else it is meant to be read alone
			tried = append(tried, path)
		}
	}
	refused, err := x.Sandbox.Probe(ctx, toolset.Grants(x.host, c, name, server, "", nil), tried)
	if err != nil {
		return []Check{FromError("MCP server "+name, err)}
	}
	var checks []Check
	for _, r := range refused {
		folder, own := r.Path, mcp.EpisodeDir
		if file := named[r.Path]; file != "" {
			folder, own = filepath.Dir(file), mcp.EpisodeDir+"/"+filepath.Base(file)
		}
		checks = append(checks, Check{Name: "MCP server " + name, Status: Warn,
			Detail: fmt.Sprintf("it cannot write to %s, which its configuration names: %s", r.Path, r.Why),
			Next: fmt.Sprintf(`write "%s" in its place, and "template": "%s" where each episode is to begin with a copy (for what it writes where it starts: "cwd": "%s"); `+
				`or let all episodes write to one: put %s:%s into mcp.sandbox.write of hone.yaml, into mcp.sandbox.read if it only reads`, own, folder, mcp.EpisodeDir, name, r.Path)})
	}
	return checks
}

// dataPaths are the files and folders that a server's arguments and variables name, without programs and the system's,
// as they can be tried: of a file that is yet to be made its folder. The values are the files that are named, "" where
// a folder is.
func dataPaths(server mcp.Server) map[string]string {
	texts := slices.Clone(server.Args)
	for _, name := range slices.Sorted(maps.Keys(server.Env)) {
		texts = append(texts, server.Env[name])
	}
	paths := map[string]string{}
	for i, text := range texts {
		if flag, value, ok := strings.Cut(text, "="); ok && strings.HasPrefix(flag, "-") {
			text = value
		}
		if text == "" || strings.Contains(text, mcp.EpisodeDir) {
			continue
		}
		path := text
		if !filepath.IsAbs(path) {
			if info, err := os.Stat(filepath.Join(server.Cwd, path)); err != nil || !info.IsDir() ||
				i >= len(server.Args) {
				continue // a word
			}
			path, _ = filepath.Abs(filepath.Join(server.Cwd, path))
		}
		file := ""
		info, err := os.Stat(path)
		switch {
		case err == nil && !info.IsDir():
			file = path
		case err != nil && filepath.Ext(path) != "":
			file, path = path, filepath.Dir(path)
			info, err = os.Stat(path)
		}
		if err == nil && path != "/" && !sandbox.IsProgram(path, info) {
			paths[path] = file
		}
	}
	return paths
}
