//go:build !race

// Left out of -race for the reason that resume_test.go gives.

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The openai and anthropic clients speak to hone serve and through hone proxy, over a toy; make soak has them at
// length, over SmolLM2-135M.
func TestClients(t *testing.T) {
	script, python := must(filepath.Abs("testdata/short_client.py")), must(filepath.Abs("../../.venv/bin/python"))
	if _, err := os.Stat(python); err != nil {
		t.Fatal("the clients are not installed: run make test")
	}
	workFolder(t, map[string]string{"hone.yaml": "engine: {backend: go}\n"})
	toyModel(t, "toy.gguf")
	keys := map[string]string{"SERVE_KEY": "sk-serve", "PROXY_KEY": "sk-proxy"}
	serves := serving(t, keys, "serve", "--model", "base", "--base-model", "toy.gguf", "--listen", "127.0.0.1:0",
		"--key-env", "SERVE_KEY", "--context", "2048", "--slots", "1")
	proxies := serving(t, keys, "proxy", "--upstream", serves.URL, "--upstream-key-env", "SERVE_KEY",
		"--listen", "127.0.0.1:0", "--key-env", "PROXY_KEY")
	out, err := exec.CommandContext(t.Context(), python, script, serves.URL, keys["SERVE_KEY"], proxies.URL,
		keys["PROXY_KEY"], serves.Models[0]).CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	said := serves.stop()
	for _, want := range []string{"Authorization: Bearer $SERVE_KEY", serves.URL + "/chat/completions"} {
		if !strings.Contains(said, want) {
			t.Errorf("stderr lacks %q: %s", want, said)
		}
	}
}
