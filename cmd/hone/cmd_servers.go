package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"hone/internal/fault"
	"hone/internal/mcp"
	"hone/internal/mcp/install"
	"hone/internal/mcp/proxy"
	"hone/internal/mcp/sandbox"
)

func newServers(a *app) *cobra.Command {
	c := &cobra.Command{Use: "servers", Short: "Install MCP servers"}
	var f addFlags
	add := &cobra.Command{
		Use:   "add PACKAGE|URL [-- ARGUMENTS]",
		Short: "Install a server's package once, locked, and write it into the MCP configuration",
		Long: "add installs npm:NAME or pypi:NAME, with a version if you want (npm:NAME@1.2.3, pypi:NAME==1.2.3), or a packed file in the place of\n" +
			"NAME. The network is used now, in the sandbox, and never by the server. Its folder holds a lock file with versions and hashes.\n" +
			"What follows -- are the server's arguments. A URL is written as it is.",
		Example: "  hone servers add npm:@modelcontextprotocol/server-filesystem -- '${HONE_EPISODE_DIR}'\n  hone servers add pypi:mcp-server-time --name time",
		Args:    arguments(1, -1, "a package or a URL"),
		RunE: func(c *cobra.Command, args []string) error {
			if n := c.ArgsLenAtDash(); n >= 0 && n != 1 || n < 0 && len(args) != 1 {
				return arguments(1, 1, "one package, and arguments of the server behind --")(c, args)
			}
			return runServersAdd(c.Context(), a, f, args[0], args[1:])
		},
	}
	add.Flags().StringVar(&f.name, "name", "", "the server's name (default the package's)")
	add.Flags().StringVar(&f.file, "mcp-config", "", "file to write into (default mcp.config of the configuration)")
	add.Flags().StringVar(&f.dir, "dir", "", "folder to install into (default .hone/servers/NAME beside the file)")
	add.Flags().StringVar(&f.bin, "bin", "", "which program of the package is the server")
	add.Flags().StringVar(&f.python, "python", "python3", "interpreter of a PyPI package's environment")
	add.Flags().StringSliceVar(&f.hosts, "host", nil, "a host that the server may reach, such as api.example.com; others and private addresses stay out")
	add.Flags().StringArrayVar(&f.constraints, "constraint", nil, "bound of a version that a PyPI package needs, such as 'mcp<2'; may be repeated")
	add.Flags().BoolVar(&f.build, "build", false, "run the packages' own install scripts, in the sandbox")
	add.Flags().StringVar(&a.sandbox, "sandbox", "", "auto, require or off, instead of the configuration's mcp.sandbox.mode")
	c.AddCommand(add)
	return group(c)
}

type addFlags struct {
	name, file, dir, bin, python string
	hosts, constraints           []string
	build                        bool
}

// added is what servers add prints as JSON.
type added struct {
	Name  string     `json:"name"`
	Entry mcp.Server `json:"entry"`
	*install.Installed
}

func runServersAdd(ctx context.Context, a *app, f addFlags, what string, args []string) error {
	c, err := a.config()
	if err != nil {
		return err
	}
	if f.file == "" {
		f.file = c.MCP.Config
	}
	if f.name == "" {
		f.name = serverName(what)
	}
	if _, err := proxy.Parse(f.hosts); err != nil {
		return err
	}
	if f.name == "" || filepath.Base(f.name) != f.name || strings.HasPrefix(f.name, ".") {
		return &fault.Error{Code: fault.CodeUsage, What: fmt.Sprintf("%q cannot be a server's name", f.name), Next: "give another --name"}
	}
	if has, err := mcp.HasServer(f.file, f.name); err != nil {
		return err
	} else if has {
		return &fault.Error{Code: fault.CodeUsage, What: fmt.Sprintf("there is a server %q already", f.name), Where: f.file, Next: "give it another --name, or take the entry out"}
	}
	out := added{Name: f.name, Entry: mcp.Server{URL: what}}
	if u, err := url.Parse(what); err != nil || u.Host == "" {
		if f.dir == "" {
			f.dir = filepath.Join(filepath.Dir(f.file), ".hone", "servers", f.name)
		}
		if a.DryRun {
			a.Say("would install %s into %s and write it into %s as %s", what, f.dir, f.file, f.name)
			return nil
		}
		if out.Installed, err = a.install(ctx, f, what); err != nil {
			return err
		}
		out.Entry = mcp.Server{Command: fromFile(f.file, out.Command), Args: args, Hosts: f.hosts}
	} else if a.DryRun {
		a.Say("would write %s into %s as %s", what, f.file, f.name)
		return nil
	}
	if err := mcp.AddServer(f.file, f.name, out.Entry); err != nil {
		if out.Installed != nil {
			_ = os.RemoveAll(f.dir) // nobody would know of it
		}
		return err
	}
	rows := [][]string{{"server", out.Name}, {"entry", f.file}}
	if out.Installed != nil {
		rows = append(rows, []string{"version", out.Version}, []string{"program", out.Command}, []string{"lock", fmt.Sprintf("%s (%s)", out.Lock, fault.Count(out.Packages, "package"))})
	}
	a.Say("next: hone doctor --mcp-config %s", f.file)
	return a.Print(out, rows)
}

// serverName is a package's name without kind, scope, version and ending, or a URL's host.
func serverName(what string) string {
	if u, err := url.Parse(what); err == nil && u.Host != "" {
		return u.Hostname()
	}
	_, name, _ := strings.Cut(what, ":")
	name = name[strings.LastIndex(name, "/")+1:]
	if before, _, ok := strings.Cut(name, "=="); ok {
		name = before
	}
	if at := strings.LastIndex(name, "@"); at > 0 {
		name = name[:at]
	}
	for _, end := range []string{".tgz", ".tar.gz", ".whl"} {
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

// install runs the package manager in the sandbox of servers, with the network for as long as it takes.
func (a *app) install(ctx context.Context, f addFlags, what string) (*install.Installed, error) {
	c, err := a.config()
	if err != nil {
		return nil, err
	}
	path, _ := a.LookupEnv("PATH")
	home, _ := a.LookupEnv("HOME")
	s, err := sandbox.New(ctx, sandbox.Options{Mode: sandbox.Mode(c.MCP.Sandbox.Mode), Helper: a.Helper, Path: path, Home: home})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	a.Say("sandbox of the installation: %s", s)
	in, err := install.Add(ctx, install.Request{Package: what, Bin: f.bin, Dir: f.dir, Build: f.build, Python: f.python, PATH: path, Constraints: f.constraints},
		func(ctx context.Context, cmd *exec.Cmd, dir string, read []string, network bool) ([]byte, error) {
			m := a.managerOf(filepath.Base(cmd.Path))
			g := sandbox.Grants{Network: network, Write: append([]string{dir}, m.folders...), Read: read}
			cmd.Env = []string{"PATH=" + path, "HOME=" + home}
			for name, value := range m.env {
				cmd.Env, g.Env = append(cmd.Env, name+"="+value), append(g.Env, name)
				if info, err := os.Stat(value); filepath.IsAbs(value) && err == nil && (info.Mode().IsRegular() || name == "PIP_FIND_LINKS") {
					g.Read = append(g.Read, value)
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

// managerOf is what a package manager needs of the user's: where packages come from, certificates, its cache.
func (a *app) managerOf(program string) runner {
	if r, ok := a.runnerOf(program); ok {
		return r
	}
	r := runner{env: map[string]string{}}
	a.pass(r.env, "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_CERT", "PIP_DEFAULT_TIMEOUT", "PIP_NO_INDEX", "SSL_CERT_FILE", "HTTPS_PROXY", "NO_PROXY")
	home, _ := a.LookupEnv("HOME")
	for _, file := range []string{".config/pip/pip.conf", ".pip/pip.conf"} {
		if text, err := os.ReadFile(filepath.Join(home, file)); err == nil && !strings.Contains(string(text), "@") { // a password would stand before it
			r.env["PIP_CONFIG_FILE"] = filepath.Join(home, file)
		}
	}
	return r
}
