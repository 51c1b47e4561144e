//go:build !race

package main

import (
	"os"
	"strings"
	"testing"

	"hone/internal/testing/fakes"
)

// What an endpoint counted for traces, and what that cost, stands on the card of the data set that is made of them and
// on that of the model that learnt from them: once for each trace, also where it is curated, and cut into rows.
func TestTheCostOfTracesIsOnCards(t *testing.T) {
	url, _ := shop(t)
	endpoint, _, _ := teacher(t)
	workFolder(t, map[string]string{
		"tasks.jsonl": `{"id": "a", "task": "Is a hat there?"}` + "\n" + `{"id": "b", "task": "Any hat?"}` + "\n",
		"hone.yaml": "providers: {claude: {url: \"" + endpoint + "\", key_env: CLAUDE_KEY, api: anthropic, prices: " +
			"{m: {prompt: 3, completion: 15}}}, free: {url: \"" + endpoint + `", key_env: CLAUDE_KEY}}
engine: {backend: go}
sft: {batch_size: 2, epochs: 1, unroll: turns}
lora: {rank: 2}
`,
	})
	toyModel(t, "toy.gguf")
	t.Setenv("CLAUDE_KEY", "secret-key")
	s := fakes.NewHub(t.TempDir())
	defer s.Close()
	must := func(args ...string) {
		t.Helper()
		if code, out, said := withHub(t, s, "here", map[string]string{"CLAUDE_KEY": "secret-key"}, args...); code != 0 {
			t.Fatalf("%v: exit code %d\n%s%s", args, code, out, said)
		}
	}
	collect := func(model, dir string) {
		t.Helper()
		if code, _, said := hone(t, "", "collect", "--yes", "--mcp", url, "--dataset", "tasks.jsonl", "--split", "all",
			"--model", model, "--output-dir", dir); code != 0 {
			t.Fatalf("exit code %d: %s", code, said)
		}
	}
	collect("claude/m", "paid")
	collect("free/m", "free")
	const cost = "4000 tokens read and 400 written by a model for 2 traces, 0.0180 dollars" // of two turns each
	must("curate", "do", "paid/trajectories.jsonl", "edit_text", "--trace", "a", "--message", "1", "--text",
		"Is there a hat?")
	must("curate", "export", "paid/trajectories.jsonl", "--out", "curated.jsonl")
	must("data", "convert", "curated.jsonl", "--to", "hf", "--unroll", "prefixes", "--out", "dataset")
	must("data", "convert", "curated.jsonl", "free/trajectories.jsonl", "--to", "hf-jsonl", "--out", "both")
	must("data", "convert", "free/trajectories.jsonl", "--to", "hf-jsonl", "--out", "unpriced")
	for dir, want := range map[string]string{
		"dataset": "- cost: " + cost + "\n", "both": "8000 tokens read and 800 written by a model for 4 traces, " +
			"0.0180 dollars for the 2 of which the price is known\n",
		"unpriced": "for 2 traces, at a price that is not known\n",
	} {
		if page := readText(t, dir+"/README.md"); !strings.Contains(page, want) {
			t.Errorf("the card of %s lacks %q:\n%s", dir, want, page)
		}
	}
	must("sft", "--data", "curated.jsonl", "--catalog", "paid/catalog.json", "--allow-findings", "*", "--base-model",
		"toy.gguf", "--output-dir", "out")
	if err := os.RemoveAll("paid"); err != nil { // the run has what it says
		t.Fatal(err)
	}
	must("push", "out/final", "--to", "ada/adapter")
	files, _ := s.Files("model", "ada/adapter", "main")
	if page := files["README.md"]; strings.Count(page, "- traces of hone sft: "+cost+"\n") != 1 {
		t.Errorf("the model's card lacks the cost of its traces:\n%s", page)
	}
}
