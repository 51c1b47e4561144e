package toolset

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"hone/internal/config"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/mcp"
	"hone/internal/mcp/sandbox"
	"hone/internal/toolset/packages"
)

// OpenSandbox finds out the level, says it, and returns what mcp.Options.Wrap is to be. The caller closes the sandbox
// once the servers have ended.
func OpenSandbox(
	ctx context.Context, h *host.Host, c config.Sandbox, servers mcp.Config,
) (*sandbox.Sandbox, func(server, folder string, cmd *exec.Cmd) error, error) {
	path, _ := h.LookupEnv("PATH")
	home, _ := h.LookupEnv("HOME")
	s, err := sandbox.New(ctx, sandbox.Options{Mode: sandbox.Mode(c.Mode), Helper: h.Helper, Path: path, Home: home})
	if err != nil {
		return nil, nil, err
	}
	held, err := proxies(h, c, servers, s)
	if err != nil {
		return nil, nil, errors.Join(err, s.Close())
	}
	if slices.ContainsFunc(sortedNames(servers),
		func(name string) bool { return servers.Servers[name].Command != "" }) {
		h.Say("sandbox of the servers: %s", s)
		if s.Level() != sandbox.None {
			warnUngrantedFolders(h, c, servers)
			for _, name := range c.Exempt {
				h.Say("server %s runs without it (mcp.sandbox.exempt)", name)
			}
		}
		for _, name := range sortedNames(servers) {
			if _, _, ok := packages.ReadContainer(servers.Servers[name].Args); ok &&
				slices.Contains(packages.Engines(), servers.Servers[name].Command) {
				sayContainer(h, c, name, servers.Servers[name])
			}
		}
	}
	wrap := func(name, folder string, cmd *exec.Cmd) error {
		if slices.Contains(c.Exempt, name) {
			return sandbox.CloseInheritedFiles()
		}
		if inContainer(c, name, servers.Servers[name], folder, cmd.Args[1:]) {
			intoContainer(h, c, name, cmd)
			return sandbox.CloseInheritedFiles()
		}
		g := Grants(h, c, name, servers.Servers[name], folder, cmd.Env)
		if p := held[name]; p != nil && s.Level() == sandbox.Bubblewrap {
			g.Proxy = p.Serve
		}
		return s.Wrap(cmd, g)
	}
	return s, wrap, nil
}

// proxies are the ways out of servers with hosts, by server. A level that cannot hold a server to one is an error,
// unless nothing is to be held.
func proxies(
	h *host.Host, c config.Sandbox, servers mcp.Config, s *sandbox.Sandbox,
) (map[string]*sandbox.Proxy, error) {
	held := map[string]*sandbox.Proxy{}
	for _, name := range sortedNames(servers) {
		hosts := servers.Servers[name].Hosts
		if len(hosts) == 0 || slices.Contains(c.Exempt, name) || c.NetworkFor(name) {
			continue
		}
		// contained or not, its engine makes the connections
		if slices.Contains(packages.Engines(), servers.Servers[name].Command) {
			continue
		}
		rules, err := sandbox.ParseHosts(hosts)
		if err != nil {
			return nil, err
		}
		switch s.Level() {
		case sandbox.Landlock:
			return nil, &fault.Error{Code: fault.CodeUsage,
				What: "a server is to reach some hosts, and nothing here can hold it to them", Where: "server " + name,
				Why: "the sandbox is " + s.String(), Next: "install bubblewrap (apt install bubblewrap), " +
					"or grant it the whole network: mcp.sandbox.network in hone.yaml"}
		case sandbox.None:
			h.Say("server %s: no sandbox holds it to its hosts, it has the whole network", name)
		}
		held[name] = &sandbox.Proxy{Rules: rules}
	}
	return held, nil
}

// Grants are what a server may have: what the configuration says, its episode's folder, the file it is reset by, the
// variables it is given, and what the program that downloads it needs.
func Grants(
	h *host.Host, c config.Sandbox, name string, server mcp.Server, folder string, env []string,
) sandbox.Grants {
	r, _ := LauncherOf(h, server.Command)
	g := sandbox.Grants{Network: c.NetworkFor(name), Write: append(c.WriteFor(name), r.folders...),
		Read: c.ReadFor(name)}
	for _, value := range r.env { // certificates
		if info, err := os.Stat(value); filepath.IsAbs(value) && err == nil && info.Mode().IsRegular() {
			g.Read = append(g.Read, value)
		}
	}
	if folder != "" {
		g.Write = append(g.Write, folder)
	}
	if server.Reset != nil {
		if _, err := os.Stat(server.Reset.To); err == nil {
			g.Write = append(g.Write, server.Reset.To)
		}
	}
	for variable := range server.Env {
		g.Env = append(g.Env, variable)
	}
	for _, entry := range env {
		// by which mcp finds strays
		if variable, _, _ := strings.Cut(entry, "="); strings.HasPrefix(variable, "HONE_") {
			g.Env = append(g.Env, variable)
		}
	}
	return g
}

// warnUngrantedFolders tells of folders that a server's command line names and the server cannot write to: it would
// start, and then fail call by call, which a model would learn.
func warnUngrantedFolders(h *host.Host, c config.Sandbox, servers mcp.Config) {
	for _, name := range sortedNames(servers) {
		server := servers.Servers[name]
		if slices.Contains(c.Exempt, name) {
			continue
		}
		for _, arg := range server.Args {
			path := arg
			if !filepath.IsAbs(path) {
				path = filepath.Join(server.Cwd, path)
			}
			info, err := os.Stat(path)
			if err != nil || !info.IsDir() || InFolders(path, append(c.WriteFor(name), c.ReadFor(name)...)) {
				continue
			}
			if absolute, err := filepath.Abs(path); err == nil {
				path = absolute
			}
			h.Say("server %s: its sandbox keeps %s from it; to let it write there, put %s:%s into mcp.sandbox.write, "+
				"to let it read, into mcp.sandbox.read", name, arg, name, path)
		}
	}
}

// InFolders reports whether path is one of the granted folders or in one.
func InFolders(path string, granted []string) bool {
	path, err := filepath.Abs(path)
	return err == nil && slices.ContainsFunc(granted, func(g string) bool {
		g, err := filepath.Abs(g)
		return err == nil && (path == g || strings.HasPrefix(path, g+string(filepath.Separator)))
	})
}
