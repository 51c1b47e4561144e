//go:build soak

package main

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// An agent framework and an evaluation framework from PyPI speak to a server in this process, and their tools are
// called.
func TestSoakAgentFrameworks(t *testing.T) {
	python, err := filepath.Abs("../../.venv-agents/bin/python")
	if err != nil {
		t.Fatal(err)
	}
	s := serving(t, map[string]string{"SERVE_KEY": "sk-serve"}, "serve", "--model", "base", "--listen", "127.0.0.1:0",
		"--key-env", "SERVE_KEY", "--context", "2048", "--slots", "2")
	for _, script := range []string{"testdata/agents_sdk.py", "testdata/inspect_eval.py"} {
		out, err := exec.CommandContext(t.Context(), python, script, s.URL, "sk-serve", s.Models[0]).CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", script, err, out)
		}
		t.Logf("%s", out)
	}
}
