package main

import (
	"os"
	"path/filepath"
	"testing"

	"hone/internal/mcp"
	"hone/internal/mcp/scan"
)

// No run waits for a person because of servers that many use: a detector that stops at honest texts would be switched
// off.
func TestHonestServersBlockNothing(t *testing.T) {
	calc, err := filepath.Abs("../../demo/node_modules/@coo-quack/calc-mcp/dist/index.js")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(calc); err != nil {
		t.Fatalf("%v: run make test", err)
	}
	env := map[string]string{"PATH": os.Getenv("PATH")}
	c, err := mcp.Discover(t.Context(), mcp.Config{Servers: map[string]mcp.Server{
		"calc": {Command: "node", Env: env, Args: []string{calc}}, "files": {Command: "node", Env: env,
			Args: []string{npmServer(t, "server-filesystem"), t.TempDir()}},
		"everything": {Command: "node", Env: env, Args: []string{npmServer(t, "server-everything")}},
		"memory":     {Command: "node", Env: env, Args: []string{npmServer(t, "server-memory")}}}})
	if err != nil {
		t.Fatal(err)
	}
	tools := c.LintTools()
	if len(tools) < 50 {
		t.Fatalf("%d tools", len(tools))
	}
	for _, f := range scan.Blocking(scan.Check(tools)) {
		t.Error(f)
	}
}
