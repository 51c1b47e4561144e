package main

import (
	"fmt"
	"os/exec"
	"path/filepath"

	"github.com/spf13/cobra"

	"hone/internal/config"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/mcp"
	"hone/internal/view"
)

func newMCP(a *app) *cobra.Command {
	skill := false
	c := &cobra.Command{
		Use:   "mcp",
		Short: "Serve hone itself to a coding agent over MCP: look into runs, check scenarios, start runs",
		Long: `mcp speaks MCP on stdin and stdout, for the configuration of an agent: {"mcpServers": {"hone": {"command": "hone", "args":
["mcp"]}}}. Its tools say which of them only read, so that the agent's program can ask before the others. --skill prints how an
agent works with hone, as a SKILL.md; the server tells the same to each client.`,
		Example: "  hone mcp\n  mkdir -p .claude/skills/hone && hone mcp --skill > .claude/skills/hone/SKILL.md",
		Args:    arguments(0, 0, ""),
		RunE: func(c *cobra.Command, _ []string) error {
			if skill {
				_, err := fmt.Fprint(a.Data, view.Skill)
				return err
			}
			program, err := exec.LookPath(a.Program)
			if err == nil {
				program, err = filepath.Abs(program)
			}
			if err != nil {
				return &fault.Error{Code: fault.CodeError, What: "cannot tell which program hone is", Err: err,
					Next: "start it by its path"}
			}
			desk := &view.Desk{Env: a.jobs(config.Config{}), Program: program,
				RunsDir: func() (string, error) { return a.runsDir("") },
				RunPath: func(name string) (string, error) { return a.runPath("", name) }}
			return mcp.ServeOwn(c.Context(), a.Stdin, a.Data, host.ReadBuild().Version, view.Instructions(),
				desk.Tools())
		},
	}
	c.Flags().BoolVar(&skill, "skill", false, "print the skill and serve nothing")
	return c
}
