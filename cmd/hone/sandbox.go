package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hone/internal/config"
	"hone/internal/fault"
	"hone/internal/mcp"
	"hone/internal/mcp/sandbox"
)

const sandboxVerb = "sandbox-exec"

// newSandboxExec is what a server's process begins as: it restricts itself and becomes the server.
func newSandboxExec(a *app) *cobra.Command {
	return &cobra.Command{
		Use:                sandboxVerb + " SPEC -- PROGRAM [ARGUMENTS]",
		Short:              "Restrict this process as SPEC says and become the program (hone itself starts servers so)",
		Example:            `  hone sandbox-exec '{"limits":{"open_files":64,"file_bytes":1048576,"data_bytes":1073741824,"processes":64}}' -- /bin/true`,
		Hidden:             true,
		DisableFlagParsing: true, // the program's flags are not ours
		RunE: func(_ *cobra.Command, args []string) error {
			if err := sandbox.Exec(args, a.environ); err != nil {
				return &fault.Error{Code: fault.CodeError, What: "cannot start the server in its sandbox", Err: err}
			}
			return nil
		},
	}
}

// sandboxHelper is the command line of newSandboxExec in the program that is running.
func sandboxHelper() ([]string, error) {
	path, err := os.Executable()
	return []string{path, sandboxVerb}, err
}

// sandboxed finds out the level, says it, and returns what mcp.Options.Wrap is to be. The caller closes the sandbox once
// the servers have ended.
func (a *app) sandboxed(ctx context.Context, c config.Sandbox, servers mcp.Config, helper []string) (*sandbox.Sandbox, func(string, *exec.Cmd) error, error) {
	path, _ := a.lookupEnv("PATH")
	home, _ := a.lookupEnv("HOME")
	s, err := sandbox.New(ctx, sandbox.Options{Mode: sandbox.Mode(c.Mode), Helper: helper, Path: path, Home: home})
	if err != nil {
		return nil, nil, err
	}
	a.say("sandbox of the servers: %s", s)
	wrap := func(name string, cmd *exec.Cmd) error {
		g := sandbox.Grants{Network: c.NetworkFor(name), Write: append(c.WriteFor(name), episodeFolders(cmd)...), Read: c.ReadFor(name)}
		for variable := range servers.Servers[name].Env {
			g.Env = append(g.Env, variable)
		}
		for _, entry := range cmd.Env {
			if variable, _, _ := strings.Cut(entry, "="); strings.HasPrefix(variable, "HONE_") { // by which mcp finds strays
				g.Env = append(g.Env, variable)
			}
		}
		return s.Wrap(cmd, g)
	}
	return s, wrap, nil
}

// episodeFolders finds the folder that mcp made for an episode where it stands in the command, for mcp.Options.Wrap is
// not told of it.
func episodeFolders(cmd *exec.Cmd) []string {
	const mark = "/hone-episode-"
	var out []string
	for _, text := range slices.Concat([]string{cmd.Dir}, cmd.Args, cmd.Env) {
		at := strings.Index(text, mark)
		start := strings.Index(text, "/")
		if at < 0 {
			continue
		}
		end := len(text)
		if n := strings.Index(text[at+1:], "/"); n >= 0 {
			end = at + 1 + n
		}
		folder := filepath.Clean(text[start:end])
		if info, err := os.Stat(folder); err == nil && info.IsDir() && !slices.Contains(out, folder) {
			out = append(out, folder)
		}
	}
	return out
}
