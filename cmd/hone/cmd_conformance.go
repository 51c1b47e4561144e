package main

import (
	"github.com/spf13/cobra"

	"hone/internal/fault"
	"hone/internal/mcp/conformance"
)

// newConformance is what the official MCP conformance suite runs as the client under test.
func newConformance(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "conformance-client URL",
		Short: "Play the client in a scenario of the official MCP conformance suite",
		Long: "The suite starts a server and runs this command with its URL last, the scenario's name in MCP_CONFORMANCE_SCENARIO and\n" +
			"its settings in MCP_CONFORMANCE_CONTEXT.",
		Example: `  npx @modelcontextprotocol/conformance client --command "hone conformance-client" --scenario tools_call`,
		Hidden:  true,
		Args:    arguments(1, 1, "the server's URL"),
		RunE: func(c *cobra.Command, args []string) error {
			scenario, _ := a.LookupEnv("MCP_CONFORMANCE_SCENARIO")
			setting, _ := a.LookupEnv("MCP_CONFORMANCE_CONTEXT")
			if err := conformance.Run(c.Context(), args[0], scenario, []byte(setting)); err != nil {
				return &fault.Error{Code: fault.CodeError, What: "the scenario could not be played", Where: scenario, Err: err}
			}
			return nil
		},
	}
}
