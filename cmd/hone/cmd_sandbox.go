package main

import (
	"os"

	"github.com/spf13/cobra"

	"hone/internal/fault"
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
			if err := sandbox.Exec(args, a.Environ); err != nil {
				return &fault.Error{Code: fault.CodeError, What: "cannot start the server in its sandbox", Err: err}
			}
			return nil
		},
	}
}

// sandboxHelper is the command line of newSandboxExec in the program that is running, nil where its file is not known.
func sandboxHelper() []string {
	path, err := os.Executable()
	if err != nil {
		return nil
	}
	return []string{path, sandboxVerb}
}
