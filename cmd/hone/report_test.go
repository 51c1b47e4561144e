package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"hone/internal/config"
	"hone/internal/fault"
	"hone/internal/job"
	"hone/internal/synth"
)

// startUp is the log of a program that a server starts and that fails.
var startUp = "the browser did not start" + strings.Repeat("\n\t[pid=7] <launched> some switch of it", 80) +
	"\nits sandbox is not allowed"

// What a server answers at length is a short reason of findings and errors, and whole in JSON and with --verbose.
func TestLongReason(t *testing.T) {
	s := mcp.NewServer(&mcp.Implementation{Name: "browser", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "buy"},
		func(context.Context, *mcp.CallToolRequest, map[string]any) (*mcp.CallToolResult, any, error) {
			return nil, nil, errors.New(startUp)
		})
	server := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil))
	t.Cleanup(server.Close)
	workFolder(t, map[string]string{"tasks.json": `[{"id": "hat", "task": "Buy a hat.", "gold": [{"name": "buy", "arguments": {}}], "checks": [{"type": "call", "name": "buy", "arguments": {}}]}]`})
	validate := []string{"scenarios", "validate", "tasks.json", "--mcp", server.URL}
	code, stdout, stderr := hone(t, "", validate...)
	if code != 2 || strings.Count(stderr, "some switch") > 20 || !strings.Contains(stderr,
		"its sandbox is not allowed\n") || !strings.Contains(stderr, "whole: the same command with --verbose") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
	if strings.Count(stdout, "\n") != 1 || !strings.Contains(stdout, "lines left out") ||
		!strings.Contains(stdout, "its sandbox is not allowed") {
		t.Errorf("the table: %s", stdout)
	}
	if _, _, stderr := hone(t, "", append(validate, "--verbose")...); !strings.Contains(stderr,
		fault.Indent(startUp, "    ")) || strings.Contains(stderr, "whole:") {
		t.Errorf("with --verbose: %s", stderr)
	}
	var found []synth.Finding
	if _, stdout, _ := hone(t, "", append(validate, "--json")...); json.Unmarshal([]byte(stdout), &found) != nil ||
		len(found) != 1 || !strings.Contains(found[0].Why, startUp) {
		t.Errorf("JSON: %s", stdout)
	}
}

// The log of a run has the whole error, and a reason that was shortened names the log.
func TestErrorInTheLog(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, x := range []struct{ name, why, shown string }{
		{"short", "it is full", ""},
		{"long", startUp, "\n  whole: " + filepath.Join("long", "logs", "attempt_1") + "\n"},
	} {
		var said bytes.Buffer
		a := toyApp(&said, nil)
		c := config.Default()
		dir, err := a.jobs(config.Config{}).Create(x.name, c, job.Begun{Verb: "demo"})
		if err != nil {
			t.Fatal(err)
		}
		if err := dir.Close(); err != nil {
			t.Fatal(err)
		}
		a.Report(t.Context(), &fault.Error{What: "lost", Why: x.why, Next: "look"})
		log, err := os.ReadFile(filepath.Join(x.name, "logs", "attempt_1"))
		if err != nil || !strings.Contains(string(log), "lost\n  why:   "+fault.Indent(x.why, "    ")) {
			t.Errorf("%s: the log: %v, %s", x.name, err, log)
		}
		if !strings.HasSuffix(said.String(), "next:  look\n"+strings.TrimPrefix(x.shown, "\n")) {
			t.Errorf("%s: said %q", x.name, said.String())
		}
	}
}
