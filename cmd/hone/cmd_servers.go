package main

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hone/internal/toolset"
)

func newServers(a *app) *cobra.Command {
	c := &cobra.Command{Use: "servers", Short: "Find MCP servers, try them, install them, and take them out again"}
	var x toolset.Wanted
	add := &cobra.Command{
		Use:   "add PACKAGE|URL|ENTRY|FOLDER [-- ARGUMENTS]",
		Short: "Install a server's package once, locked, and write it into the MCP configuration",
		Long: `add installs npm:NAME or pypi:NAME, with a version if you want (npm:NAME@1.2.3, pypi:NAME==1.2.3), or a packed file in the place of
NAME. The network is used now, in the sandbox, and never by the server. Its folder holds a lock file with versions and hashes.
Of a FOLDER with such a lock it installs what the lock says, with its hashes, and leaves the server's entry as it is. What
follows -- are the server's arguments. A URL is written as it is. The name of an entry of a registry, as servers search shows
it, is installed from the package that it names; what it asks for is asked once, or taken from the variables of --env.`,
		Example: "  hone servers add npm:@modelcontextprotocol/server-filesystem -- '${HONE_EPISODE_DIR}'\n" +
			"  hone servers add pypi:mcp-server-time --name time\n" +
			"  BRAVE_API_KEY=... hone servers add io.github.brave/brave-search-mcp-server --env BRAVE_API_KEY --host " +
			"api.search.brave.com",
		Args: arguments(1, -1, "a package, a URL or a folder"),
		RunE: func(c *cobra.Command, args []string) error {
			if n := c.ArgsLenAtDash(); n >= 0 && n != 1 || n < 0 && len(args) != 1 {
				return arguments(1, 1, "one package, and arguments of the server behind --")(c, args)
			}
			x.Package, x.Args = args[0], args[1:]
			return runServersAdd(c.Context(), a, x)
		},
	}
	add.Flags().StringVar(&x.Name, "name", "", "the server's name (default the package's)")
	add.Flags().StringVar(&x.File, "mcp-config", "", "file to write into (default mcp.config of the configuration)")
	add.Flags().StringVar(&x.Dir, "dir", "", "folder to install into (default .hone/servers/NAME beside the file)")
	add.Flags().StringVar(&x.Bin, "bin", "", "which program of the package is the server")
	add.Flags().StringVar(&x.Python, "python", "python3", "interpreter of a PyPI package's environment")
	add.Flags().StringSliceVar(&x.Hosts, "host", nil,
		"a host that the server may reach, such as api.example.com; others and private addresses stay out")
	add.Flags().StringArrayVar(&x.Volumes, "volume", nil,
		"folder that an image gets, as HOST:CONTAINER or HOST:CONTAINER:ro; may be repeated")
	add.Flags().StringArrayVar(&x.Constraints, "constraint", nil,
		"bound of a version that a PyPI package needs, such as 'mcp<2'; may be repeated")
	add.Flags().StringVar(&x.Registry, "registry", "", registryUsage)
	add.Flags().StringArrayVar(&x.Set, "set", nil, "NAME=VALUE that the entry asks for, but no secret; may be repeated")
	add.Flags().StringArrayVar(&x.Env, "env", nil,
		"variable of the environment that the entry may have where it asks for it; may be repeated")
	add.Flags().BoolVar(&x.Build, "build", false, "run the packages' own install scripts, in the sandbox")
	add.Flags().BoolVar(&x.Force, "force", false, "put it in the place of the server that has the name")
	add.Flags().BoolVar(&x.Unasked, "no-start", false, "do not start the server once to ask it for its tools")
	allowFindingsFlag(add.Flags(), &x.AllowFindings)
	a.sandboxFlag(add.Flags())
	var file string
	rm := &cobra.Command{
		Use:     "rm NAME",
		Short:   "Take a server out of the MCP configuration, with what servers add installed for it",
		Example: "  hone servers rm time",
		Args:    arguments(1, 1, "a server's name"),
		RunE: func(_ *cobra.Command, args []string) error {
			c, err := a.config()
			if err != nil {
				return err
			}
			return toolset.Take(a.Host, cmp.Or(file, c.MCP.Config), args[0])
		},
	}
	rm.Flags().StringVar(&file, "mcp-config", "", "file to take it out of (default mcp.config of the configuration)")
	c.AddCommand(newServersSearch(a), newServersTry(a), add, newServersLs(a), rm)
	return group(c)
}

func runServersAdd(ctx context.Context, a *app, x toolset.Wanted) error {
	c, err := a.config()
	if err != nil {
		return err
	}
	x.File = cmp.Or(x.File, c.MCP.Config)
	out, err := toolset.Add(ctx, a.Host, c, x)
	if err != nil || out == nil {
		return err
	}
	if out.Next != "" {
		return a.Print(out, out.Rows(x.File))
	}
	return a.PrintThen(out, out.Rows(x.File), "next: hone doctor --mcp-config %s", x.File)
}

const registryUsage = "official, smithery, glama, URL, or a file or folder of entries; smithery=URL is another place " +
	"of the same API"

func newServersSearch(a *app) *cobra.Command {
	var x toolset.Lookup
	c := &cobra.Command{
		Use:   "search [WORDS]",
		Short: "Find servers in a registry",
		Long: "search lists the entries that have all WORDS in name, title or description, what each comes as, " +
			"and which values it asks\n" +
			"for (* where it must be given one). Nothing of what is found is run. --save keeps the entries for use " +
			"without the network.",
		Example: "  hone servers search sqlite\n  hone servers search --registry entries/ --json\n" +
			"  hone servers search --since 2026-11-01 --limit 0 --save servers.json",
		RunE: func(c *cobra.Command, args []string) error {
			x.Text = strings.Join(args, " ")
			found, err := toolset.Search(c.Context(), a.Host, x)
			if err != nil {
				return err
			}
			return a.Print(found, found.Rows())
		},
	}
	c.Flags().StringVar(&x.Registry, "registry", "", registryUsage)
	c.Flags().StringVar(&x.Since, "since", "", "only what was updated since this day or time")
	c.Flags().IntVar(&x.Limit, "limit", 50, "entries at most; 0 is all")
	c.Flags().StringVar(&x.Save, "save", "", "write the entries to this file")
	return c
}

func newServersTry(a *app) *cobra.Command {
	var x toolset.Trial
	words := ""
	c := &cobra.Command{
		Use:   "try [ENTRY|PACKAGE...]",
		Short: "Install, start and ask servers of a registry, and say which answer",
		Long: `try takes entries of a registry, or packages (npm:NAME, pypi:NAME). It installs each into hone's cache, starts it in the
sandbox without the network, and asks for its tools: protocol, tools, suspicious texts, times, or the reason why not.
No configuration is written. A server gets the variables of --env, no others. Where none answers, the exit code is 3.`,
		Example: "  hone servers try --registry entries/\n  hone servers try io.github.coo-quack/calc-mcp --json\n" +
			"  hone servers try pypi:mcp-server-time",
		RunE: func(c *cobra.Command, args []string) error {
			x.Names, x.Text = args, words
			config, err := a.config()
			if err != nil {
				return err
			}
			r, err := toolset.Try(c.Context(), a.Host, config, x)
			if err != nil || a.DryRun {
				return err
			}
			return errors.Join(a.Print(r, slices.Concat(r.Rows(), [][]string{{}}, r.YieldRows())), r.Err())
		},
	}
	c.Flags().StringVar(&x.Registry, "registry", "", registryUsage)
	c.Flags().StringVar(&words, "match", "", "where no entry is named: those with all of these words")
	c.Flags().StringVar(&x.Since, "since", "", "where no entry is named: those updated since this day or time")
	c.Flags().IntVar(&x.Limit, "limit", 20, "where no entry is named: how many at most; 0 is all")
	c.Flags().IntVar(&x.Workers, "workers", 2, "servers at once")
	c.Flags().DurationVar(&x.Timeout, "timeout", time.Minute,
		"how long a server may take to start, and to list its tools")
	c.Flags().StringArrayVar(&x.Env, "env", nil,
		"variable of the environment that each server may have which asks for it; may be repeated")
	c.Flags().StringArrayVar(&x.Constraints, "constraint", nil,
		"bound of a version that PyPI packages need, such as 'mcp<2'; may be repeated")
	a.sandboxFlag(c.Flags())
	return c
}

func newServersLs(a *app) *cobra.Command {
	file := ""
	c := &cobra.Command{
		Use:     "ls",
		Short:   "List the servers that are configured and those that were tried, and tools of theirs that do the same",
		Example: "  hone servers ls",
		Args:    arguments(0, 0, ""),
		RunE: func(*cobra.Command, []string) error {
			config, err := a.config()
			if err != nil {
				return err
			}
			k, err := toolset.Ls(a.Host, config, file)
			if err != nil {
				return err
			}
			if len(k.Configured)+len(k.Tried) == 0 {
				a.Say("no server is configured here and none was tried; next: hone servers add npm:NAME or " +
					"pypi:NAME, or hone servers search WORDS")
			}
			return a.Print(k, slices.Concat(k.Rows(), k.TwinRows()))
		},
	}
	c.Flags().StringVar(&file, "mcp-config", "",
		"file with the configured servers (default mcp.config of the configuration)")
	return c
}
