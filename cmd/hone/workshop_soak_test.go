//go:build soak && !race

// Left out of -race, as resume_test.go says.

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"hone/internal/eval/stats"
	"hone/internal/testing/fakes"
)

// The workshop whole, with real weights: 100 curated traces gain at least 15 points on tasks that nobody learnt from.
func TestSoakWorkshop(t *testing.T) {
	s := fakes.NewHub(t.TempDir())
	defer s.Close()
	folder := t.TempDir()
	// The teacher has learnt its calculator long before 360 tasks, and one pass says whether the pupil gains.
	env := []string{"NUM_SHOWN=200", "NUM_TASKS=300", "NUM_TRACED=150", "EPOCHS=2", "SIZES=10 100"}
	t.Log(workshop(t, s, folder, env))
	text, err := os.ReadFile(filepath.Join(folder, "measured", "results.json"))
	if err != nil {
		t.Fatal(err)
	}
	var r stats.Results
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	for _, d := range r.Deltas {
		if d.Old == "base" && d.New == "model" {
			if d.Episode.Mean < 0.15 || d.Episode.Low <= 0 {
				t.Errorf("100 traces gain %+v", d.Episode)
			}
			return
		}
	}
	t.Error("base and pupil are not compared")
}

// workshop runs parts of docs/workshop/workshop.sh in a folder against a Hub of its own, and returns what it printed.
func workshop(t *testing.T, s *fakes.Hub, folder string, env []string, parts ...string) string {
	t.Helper()
	script, err := filepath.Abs("../../docs/workshop/workshop.sh")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(script), "node_modules", "@playwright", "mcp")); err != nil {
		t.Skip("no @playwright/mcp is installed: make docs/workshop/node_modules/.package-lock.json")
	}
	if _, err := exec.LookPath("chromium"); err != nil {
		t.Skip("no Chromium on PATH")
	}
	c := exec.CommandContext(t.Context(), script, append([]string{folder}, parts...)...)
	c.Env = append(os.Environ(),
		append(env, "HF_ENDPOINT="+s.URL, "HF_TOKEN=secret", "HF_HOME="+filepath.Join(folder, "hf"), "HONE=hone")...)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", parts, err, out)
	}
	return string(out)
}

// The workshop in the small: a real browser by its real server, a script in the model's place, gold calls in the
// teacher's, and a toy to train. What comes of each part is what the next one takes, up to a model that is served by
// its name on the Hub.
func TestSoakWorkshopOfAToy(t *testing.T) {
	s := fakes.NewHub(t.TempDir())
	defer s.Close()
	folder := t.TempDir()
	toy := filepath.Join(t.TempDir(), "toy.gguf")
	toyModel(t, toy)
	env := []string{"MODEL=" + toy, "BACKEND=go", "MAX_TOOLS=1", "CONTEXT=4096", "EPOCHS=1", "NUM_SHOP=2",
		"NUM_SHOWN=6", "NUM_TASKS=30", "SLOTS=2", "SIZES=1 3"}
	said := workshop(t, s, folder, env, "browser", "shown")
	if !strings.Contains(said, "2 of 2 episodes passed all checks") ||
		!strings.Contains(said, "6 of 6 episodes passed all checks") {
		t.Fatal(said)
	}
	if traces, err := os.ReadFile(filepath.Join(folder, "shop", "trajectories.jsonl")); err != nil ||
		!strings.Contains(string(traces), " bytes omitted ...") {
		t.Errorf("no accessibility tree was cut: %v", err)
	}
	// The toy teaches nothing: what the gold calls showed stands in the place of its traces.
	if err := os.Rename(filepath.Join(folder, "shown"), filepath.Join(folder, "calc")); err != nil {
		t.Fatal(err)
	}
	if err := exec.Command("sh",
		"-c", `(python3 ../../docs/workshop/calc.py 18 19; python3 ../../docs/workshop/calc.py 24 26) >"$0"/calc.jsonl`,
		folder).Run(); err != nil {
		t.Fatal(err)
	}
	said = workshop(t, s, folder, env, "curate", "dataset", "train", "merge", "measure", "push", "serve")
	for _, part := range []string{
		`\| traces \| whole episode \|`, `\n\| 3 \| `, `turns +14 +14 +0 +0 +0`, `turns +12 +12 +0 +0 +0`,
		`collect +1/1`,
	} {
		if !regexp.MustCompile(part).MatchString(said) {
			t.Errorf("it lacks %q", part)
		}
	}
	rows, _ := s.Files("dataset", "ada/workshop-traces", "main")
	adapter, _ := s.Files("model", "ada/workshop-adapter", "main")
	merged, _ := s.Files("model", "ada/workshop", "main")
	if rows["data/train-00000-of-00001.parquet"] == "" || adapter["adapter_model.safetensors"] == "" ||
		merged["model.safetensors"] == "" {
		t.Errorf("pushed: %d, %d and %d files", len(rows), len(adapter), len(merged))
	}
	for _, card := range []string{adapter["README.md"], merged["README.md"]} {
		if !strings.Contains(card, "## Results") || !strings.Contains(card, "on 3 conversations") {
			t.Errorf("a card lacks what is known:\n%s", card)
		}
	}
	if t.Failed() {
		t.Log(said)
	}
}
