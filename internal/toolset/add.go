package toolset

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
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
	"hone/internal/mcp/scan"
	"hone/internal/toolset/packages"
)

// Addition is a server to install and to write into a configuration.
type Addition struct {
	// npm:NAME, pypi:NAME, mcpb:FILE or oci:IMAGE, the URL of a server that runs, or a folder with a lock
	Package string
	// the server's name, the file that gets its entry, the folder to install into; empty takes the usual
	Name, File, Dir string
	Bin, Python     string
	Args            []string // of the server
	Hosts           []string // that it may reach
	Volumes         []string // of an image: HOST:CONTAINER, or HOST:CONTAINER:ro
	Constraints     []string
	Build           bool
	Force           bool           // in the place of the server that has the name
	Lock            *packages.Lock // in the place of Package: see lock
	kept            bool           // the entry that is there already starts what is installed

	// of the entry; secrets are kept in a file of their own, which only the user can read
	Env, Headers, Secrets map[string]string
	AllowFindings         scan.Allowed // the server, as NAME/*, whose package may have nearly the name of another
	SSE                   bool         // a URL that speaks HTTP+SSE
}

// entered is a server that was written into a configuration.
type entered struct {
	Name  string     `json:"name"`
	Entry mcp.Server `json:"entry"`
	*packages.Installed
}

// Rows are an addition as a table; file is what it was written into.
func (a entered) Rows(file string) [][]string {
	rows := [][]string{{"server", a.Name}, {"entry", file}}
	if a.Installed != nil {
		rows = append(rows, []string{"version", a.Version}, []string{"program", a.Command},
			[]string{"lock", fmt.Sprintf("%s (%s)", a.Lock, fault.Count(a.Packages, "package"))})
	}
	if a.Entry.EnvFile != "" {
		rows = append(rows, []string{"secrets", a.Entry.EnvFile})
	}
	return rows
}

// settle fills in what x leaves to the usual, and refuses what cannot be.
func (x *Addition) settle(c config.Config) error {
	if _, err := x.lock(c); err != nil {
		return err
	}
	if x.File == "" {
		x.File = c.MCP.Config
	}
	if kind, name, found := strings.Cut(x.Package, ":"); found && name == "" {
		return &fault.Error{Code: fault.CodeUsage, What: fmt.Sprintf("%q names no package", x.Package),
			Next: "write the name behind it, as in " + kind + ":NAME"}
	}
	if x.Name == "" {
		x.Name = serverName(x.Package)
	}
	if x.Dir == "" {
		x.Dir = filepath.Join(filepath.Dir(x.File), ".hone", "servers", x.Name)
	}
	if _, err := sandbox.ParseHosts(x.Hosts); err != nil {
		return err
	}
	if err := x.checkVolumes(); err != nil {
		return err
	}
	if x.Name == "" || filepath.Base(x.Name) != x.Name || strings.HasPrefix(x.Name, ".") {
		return &fault.Error{Code: fault.CodeUsage, What: fmt.Sprintf("%q cannot be a server's name", x.Name),
			Next: "give another --name"}
	}
	return nil
}

// addEntry installs a server and writes its entry. With --dry-run it says what it would do, and adds nothing.
func addEntry(ctx context.Context, h *host.Host, c config.Config, x Addition) (*entered, error) {
	if err := x.settle(c); err != nil {
		return nil, err
	}
	if has, err := mcp.HasServer(x.File, x.Name); err != nil {
		return nil, err
	} else if has && !x.Force && !x.kept {
		return nil, &fault.Error{
			Code:  fault.CodeUsage,
			What:  fmt.Sprintf("there is a server %q already", x.Name),
			Where: x.File,
			Next: "give it another --name, or --force to put it in that one's place; " +
				"hone servers rm takes that one out",
		}
	}
	if err := refusePackage(h, x.Name, x.Package, acceptedTools(c.MCP, x.AllowFindings)); err != nil {
		return nil, err
	}
	out := &entered{Name: x.Name}
	u, err := url.Parse(x.Package)
	isURL := err == nil && u.Host != ""
	if h.DryRun {
		if isURL {
			h.Say("would write %s into %s as %s", x.Package, x.File, x.Name)
		} else {
			h.Say("would install %s into %s and write it into %s as %s", x.Package, x.Dir, x.File, x.Name)
		}
		return nil, nil
	}
	keep, restore := func() {}, func() error { return nil }
	if !isURL {
		if keep, restore, err = aside(x.Dir, x.Force || x.Lock != nil && x.Lock.Dir == x.Dir); err == nil {
			out.Installed, err = Install(ctx, h, c.MCP.Sandbox, x)
		}
		if err != nil {
			return nil, errors.Join(err, restore())
		}
	}
	if x.kept {
		keep()
		return out, nil
	}
	if out.Entry, err = x.Write(out.Installed); err != nil {
		if out.Installed != nil {
			_ = os.RemoveAll(x.Dir) // nobody would know of it
		}
		return nil, errors.Join(err, restore())
	}
	keep()
	return out, nil
}

// Write writes the entry of a server into x.File, and its secrets beside it. in is what was installed for it, nil for a
// URL.
func (x Addition) Write(in *packages.Installed) (e mcp.Server, err error) {
	e = mcp.Server{URL: x.Package, Headers: x.Headers}
	if x.SSE {
		e.Type = "sse"
	}
	if in != nil {
		e = mcp.Server{Command: fromFile(x.File, in.Command), Args: append(in.Args, x.Args...),
			Env: mergeEnv(in.Env, x.Env), Hosts: x.Hosts}
		if in.Image != "" {
			run := packages.Container{Image: in.Image, Env: slices.Collect(maps.Keys(e.Env)), Volumes: x.Volumes,
				Network: len(x.Hosts) > 0}
			e.Command, e.Args = in.Command, append(run.Args(), x.Args...)
		}
	}
	if e.EnvFile, err = keepSecrets(x.File, x.Name, x.Secrets); err != nil {
		return e, err
	}
	if x.Force {
		return e, mcp.ReplaceServer(x.File, x.Name, e)
	}
	return e, mcp.AddServer(x.File, x.Name, e)
}

// mergeEnv are the variables of two, the second's where both have one; nil without any.
func mergeEnv(a, b map[string]string) map[string]string {
	out := maps.Clone(a)
	if out == nil {
		return b
	}
	maps.Copy(out, b)
	return out
}

// aside moves what is installed in a folder out of the way, where there is something and force allows it: keep forgets
// it, restore puts it back.
func aside(dir string, force bool) (keep func(), restore func() error, err error) {
	keep, restore = func() {}, func() error { return nil }
	old := dir + ".old"
	switch {
	case !force:
		return keep, restore, nil
	case isFolder(old): // of a try that was killed: what it left in the place is not whole
		err = os.RemoveAll(dir)
	default:
		if _, missing := os.Lstat(dir); missing != nil {
			return keep, restore, nil
		}
		err = os.Rename(dir, old)
	}
	if err != nil {
		return keep, restore, err
	}
	keep = func() { // under its own name it is always whole
		gone := dir + ".gone"
		_ = os.RemoveAll(gone)
		_ = os.Rename(old, gone)
		_ = os.RemoveAll(gone)
	}
	return keep, func() error { return os.Rename(old, dir) }, nil
}

// Take is what hone servers rm does: Remove, and what was removed is printed.
func Take(h *host.Host, file, name string) error {
	dir, err := Remove(h, file, name)
	if err != nil || h.DryRun {
		return err
	}
	rows := [][]string{{"server", name}, {"entry", file}}
	if dir != "" {
		rows = append(rows, []string{"removed", dir})
	}
	return h.Print(map[string]string{"name": name, "file": file, "removed": dir}, rows)
}

// Remove takes a server's entry out of a file, and removes what hone servers add installed for it in the usual folder.
// It returns that folder, "" where there is none.
func Remove(h *host.Host, file, name string) (dir string, err error) {
	if has, err := mcp.HasServer(file, name); err != nil {
		return "", err
	} else if has && filepath.Base(name) == name && !strings.HasPrefix(name, ".") {
		if dir = filepath.Join(filepath.Dir(file), ".hone", "servers", name); !isFolder(dir) {
			dir = ""
		}
	}
	if h.DryRun {
		h.Say("would take %s out of %s", name, file)
		return "", nil
	}
	if err := mcp.RemoveServer(file, name); err != nil {
		return "", err
	}
	if filepath.Base(name) == name {
		_ = os.Remove(filepath.Join(filepath.Dir(file), secretsFile(name))) // most have none
	}
	if dir == "" {
		return "", nil
	}
	return dir, os.RemoveAll(dir)
}

func isFolder(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}

// serverName is a package's name without kind, scope, version and ending, or a URL's host.
func serverName(what string) string {
	if u, err := url.Parse(what); err == nil && u.Host != "" {
		return u.Hostname()
	}
	kind, name, _ := strings.Cut(what, ":")
	name, _, _ = strings.Cut(name, "#")
	if kind == "oci" {
		name, _, _ = strings.Cut(name, "@")
		name, _, _ = strings.Cut(name[strings.LastIndex(name, "/")+1:], ":")
	}
	name = name[strings.LastIndex(name, "/")+1:]
	if before, _, ok := strings.Cut(name, "=="); ok {
		name = before
	}
	if at := strings.LastIndex(name, "@"); at > 0 {
		name = name[:at]
	}
	for _, end := range []string{".tgz", ".tar.gz", ".whl", ".mcpb"} {
		name = strings.TrimSuffix(name, end)
	}
	return name
}

// fromFile is a program as a file's entry names it: from its folder where it is in there, so that both can be moved.
func fromFile(file, program string) string {
	dir, err := filepath.Abs(filepath.Dir(file))
	if err != nil {
		return program
	}
	if relative, err := filepath.Rel(dir, program); err == nil && filepath.IsLocal(relative) {
		return "./" + relative
	}
	return program
}

// Install installs a package into x.Dir, in the sandbox of servers, with the network for as long as it takes.
func Install(ctx context.Context, h *host.Host, c config.Sandbox, x Addition) (*packages.Installed, error) {
	path, _ := h.LookupEnv("PATH")
	home, _ := h.LookupEnv("HOME")
	s, err := sandbox.New(ctx, sandbox.Options{Mode: sandbox.Mode(c.Mode), Helper: h.Helper, Path: path, Home: home})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	h.Say("sandbox of the installation: %s", s)
	in, err := packages.Add(ctx, packages.Request{Package: x.Package, Lock: x.Lock, Bin: x.Bin, Dir: x.Dir,
		Build: x.Build, Python: x.Python, PATH: path, EngineEnv: engineEnv(h), Constraints: x.Constraints},
		func(ctx context.Context, cmd *exec.Cmd, dir string, read []string, network packages.Network) ([]byte, error) {
			m := managerOf(h, filepath.Base(cmd.Path))
			g := sandbox.Grants{Network: network == packages.Registry,
				Write: append([]string{dir}, m.folders...), Read: read}
			cmd.Env = []string{"PATH=" + path, "HOME=" + home}
			for name, value := range m.env {
				if network == packages.Scripts && isProxy(name) { // hone's is in its place
					continue
				}
				cmd.Env, g.Env = append(cmd.Env, name+"="+value), append(g.Env, name)
				if info, err := os.Stat(value); filepath.IsAbs(value) && err == nil &&
					(info.Mode().IsRegular() || name == "PIP_FIND_LINKS") {
					g.Read = append(g.Read, value)
				}
			}
			if network == packages.Scripts {
				if err := holdScripts(h, s, m, &g); err != nil {
					return nil, err
				}
			}
			for _, folder := range m.folders {
				if err := os.MkdirAll(folder, 0o755); err != nil {
					return nil, err
				}
			}
			if cmd.Dir == "" {
				cmd.Dir = dir
			}
			if err := s.Wrap(cmd, g); err != nil {
				return nil, err
			}
			return cmd.CombinedOutput()
		})
	if err != nil {
		return nil, err
	}
	return &in, nil
}

// holdScripts gives install scripts the internet through hone's proxy, and nothing of this machine and its networks but
// the registry. Where nothing can hold them to that they have no network.
func holdScripts(h *host.Host, s *sandbox.Sandbox, m Launcher, g *sandbox.Grants) error {
	if s.Level() != sandbox.Bubblewrap {
		if s.Level() != sandbox.None {
			h.Say("install scripts have no network, for only bubblewrap holds them to public hosts (apt install " +
				"bubblewrap)")
		}
		return nil
	}
	rules, err := sandbox.PublicHosts(registriesOf(m.env))
	if err != nil {
		return err
	}
	g.Proxy = (&sandbox.Proxy{Rules: rules}).Serve
	return nil
}

// registriesOf are the hosts that a package manager's variables name, with their ports.
func registriesOf(env map[string]string) (hosts []string) {
	for _, name := range slices.Sorted(maps.Keys(env)) {
		for _, word := range strings.Fields(env[name]) {
			u, err := url.Parse(word)
			if err != nil || u.Host == "" || isProxy(name) {
				continue
			}
			hosts = append(hosts, u.Host)
			if u.Port() == "" { // also where it is private
				hosts[len(hosts)-1] = u.Hostname()
			}
		}
	}
	return hosts
}

func isProxy(variable string) bool { return strings.HasSuffix(strings.ToLower(variable), "proxy") }

// managerOf is what a package manager needs of the user's: where packages come from, certificates, its cache.
func managerOf(h *host.Host, program string) Launcher {
	if r, ok := LauncherOf(h, program); ok {
		return r
	}
	r := Launcher{env: map[string]string{}}
	pass(h, r.env, "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_CERT", "PIP_DEFAULT_TIMEOUT",
		"PIP_NO_INDEX", "SSL_CERT_FILE", "HTTPS_PROXY", "NO_PROXY")
	home, _ := h.LookupEnv("HOME")
	for _, file := range []string{".config/pip/pip.conf", ".pip/pip.conf"} {
		// a password would stand before it
		if text, err := os.ReadFile(filepath.Join(home, file)); err == nil && !strings.Contains(string(text), "@") {
			r.env["PIP_CONFIG_FILE"] = filepath.Join(home, file)
		}
	}
	return r
}
