//go:build !race

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hone/internal/job"
)

// A GRPO step and an evaluation against a streamable-HTTP server that wants a token, by the commands of other trainers.
func TestTrainAndEvalOverHTTP(t *testing.T) {
	server := everything(t, "t")
	a, stdout, stderr := installed(t, "")
	a.withEnv(map[string]string{"MCP_URL": server.url, "MCP_BEARER_TOKEN": "t"})
	base := folderOfModel(t, a)
	workFolder(t, map[string]string{"hone.yaml": tiny, "data/scenarios.json": sums,
		"data/bare.json": `[{"task": "Add 2 and 3."}]`})

	if code := a.main(t.Context(), []string{"train", "--dataset", "data/bare.json", "--base-model", base, "--output-dir", "OUT", "--num-gpus", "0"}); code != 2 {
		t.Errorf("without checks and judge: exit code %d", code)
	}
	for _, remedy := range []string{`give each scenario "checks"`, "--judge-model"} {
		if !strings.Contains(stderr.String(), remedy) {
			t.Errorf("stderr lacks %q: %s", remedy, stderr)
		}
	}
	if server.let.Load() != 0 {
		t.Error("a server was asked for scenarios that cannot be scored")
	}

	if code := a.main(t.Context(), []string{"train", "--dataset", "data/scenarios.json", "--base-model", base, "--output-dir", "OUT", "--num-gpus", "0"}); code != 0 {
		t.Fatalf("train: exit code %d, %s", code, stderr)
	}
	for _, file := range []string{"adapter_config.json", "adapter_model.safetensors", "chat_template.jinja"} {
		if _, err := os.Stat(filepath.Join("OUT/final", file)); err != nil {
			t.Error(err)
		}
	}
	lines, err := os.ReadFile("OUT/trajectories.jsonl")
	if err != nil || bytes.Count(lines, []byte("\n")) != 5 || bytes.Contains(lines, []byte(`"environment_error"`)) {
		t.Errorf("%v; want 4 whole episodes of the step, and one of validation: %s", err, lines)
	}
	if metrics, err := os.ReadFile("OUT/metrics.jsonl"); err != nil || !bytes.HasPrefix(metrics, []byte(`{"stage":"grpo","step":0,`)) {
		t.Errorf("%v; metrics %s", err, metrics)
	}

	if code := a.main(t.Context(), []string{"eval", "--model", "OUT/final", "--dataset", "data/scenarios.json", "--split", "validation", "--json"}); code != 0 {
		t.Fatalf("eval: exit code %d, %s", code, stderr)
	}
	var results struct {
		Systems map[string]struct {
			N           int `json:"n"`
			NumExcluded int `json:"num_excluded"`
		}
	}
	if err := json.Unmarshal(stdout.Bytes(), &results); err != nil || results.Systems["model"].N != 1 || results.Systems["model"].NumExcluded != 0 {
		t.Errorf("%v: %s", err, stdout)
	}
	if server.let.Load() == 0 || server.refused.Load() != 0 {
		t.Errorf("%d requests let through, %d refused", server.let.Load(), server.refused.Load())
	}
	for _, file := range []string{"OUT/version.json", "OUT/config.resolved.yaml", "OUT/trajectories.jsonl"} {
		if text, _ := os.ReadFile(file); bytes.Contains(text, []byte("Bearer")) || bytes.Contains(text, []byte("BEARER")) {
			t.Errorf("%s holds the token's header", file)
		}
	}
}

// A server that hone has no line of code for goes through discover, validate, collect, sft and eval.
func TestFilesystemServer(t *testing.T) {
	a, stdout, stderr := installed(t, "")
	base, endpoint := folderOfModel(t, a), clerk(t)
	row := strings.NewReplacer("\n  ", " ") // one scenario a line
	workFolder(t, map[string]string{"hone.yaml": tiny, "mcp.json": files(t), "template/notes.txt": "the code is 4711",
		"notes.jsonl": row.Replace(notes)})
	verb := func(want int, args ...string) {
		t.Helper()
		stdout.Reset()
		if code := a.main(t.Context(), append(args, "--mcp-config", "mcp.json")); code != want {
			t.Fatalf("%s: exit code %d, %s", args, code, stderr)
		}
	}
	verb(0, "discover", "--json")
	var catalog struct{ Servers []struct{ Tools []any } }
	if err := json.Unmarshal(stdout.Bytes(), &catalog); err != nil || len(catalog.Servers) != 1 || len(catalog.Servers[0].Tools) != 14 {
		t.Errorf("%v: %s", err, stdout)
	}
	verb(0, "scenarios", "validate", "notes.jsonl")
	verb(0, "collect", "--endpoint", endpoint, "--model", "clerk", "--dataset", "notes.jsonl", "--output-dir", "traces", "--yes", "--json")
	if strings.TrimSpace(stdout.String()) != "{\n  \"ok\": 2\n}" {
		t.Errorf("outcomes %s", stdout)
	}
	// What the first episode wrote, the second did not read: it answered the template's text, and passed its check.
	d, err := job.ReadConversations("traces/trajectories.jsonl", "")
	if err != nil {
		t.Fatal(err)
	}
	if rows, err := d.Demonstrations(a.Host); err != nil || len(rows) != 2 || len(rows[0].Tools) != 14 {
		t.Errorf("%d demonstrations, %v, %s", len(rows), err, stderr)
	}
	verb(0, "collect", "--endpoint", "http://127.0.0.1:1/v1", "--model", "clerk", "--dataset", "notes.jsonl", "--output-dir", "traces", "--yes") // nothing is left to ask
	verb(0, "eval", "--base-model", base, "--dataset", "notes.jsonl", "--split", "train", "--json")
	var results struct {
		Systems map[string]struct {
			N           int `json:"n"`
			NumExcluded int `json:"num_excluded"`
		}
	}
	if err := json.Unmarshal(stdout.Bytes(), &results); err != nil || results.Systems["base"].N != 2 || results.Systems["base"].NumExcluded != 0 {
		t.Errorf("%v: %s", err, stdout)
	}
}
