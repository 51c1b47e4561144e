package main

import (
	"strings"
	"testing"
)

// What a preview shows is what sft would learn of the trace as it was edited; and what is exported is learnt from, as
// it is.
func TestCuratedTracesAreLearnt(t *testing.T) {
	workFolder(t, map[string]string{"traces.jsonl": `{"id":"a","messages":[{"role":"user","content":"first"},{"role":"assistant","content":"one"},{"role":"user","content":"second"},{"role":"assistant","content":"two"}]}
{"id":"b","messages":[{"role":"user","content":"third"},{"role":"assistant","content":"three"}]}
`})
	toyModel(t, "toy.gguf")
	run := func(args ...string) (string, string) {
		t.Helper()
		code, out, said := hone(t, "", args...)
		if code != 0 {
			t.Fatalf("%v: %d, %s", args, code, said)
		}
		return out, said
	}
	run("curate", "do", "traces.jsonl", "edit_text", "--trace", "a", "--message", "1", "--text", "1st")
	run("curate", "do", "traces.jsonl", "delete_turn", "--trace", "a", "--turn", "2")
	run("curate", "do", "traces.jsonl", "reject", "--trace", "b")
	shown, _ := run("curate", "show", "traces.jsonl", "a", "--preview", "--model", "toy.gguf")
	if !strings.Contains(shown, "«1st<|im_end|>»") || !strings.Contains(shown, "first") ||
		strings.Contains(shown, "second") {
		t.Errorf("%s", shown)
	}
	if code, _, said := hone(t, "", "curate", "do", "traces.jsonl", "redact", "--trace", "a"); code != 2 ||
		!strings.Contains(said, "hone curate redact finds them by itself") {
		t.Errorf("%d, %s", code, said)
	}
	run("curate", "export", "traces.jsonl", "--out", "curated.jsonl")
	if text := contents(t, "curated.jsonl"); !strings.Contains(text, "1st") || strings.Contains(text, "third") ||
		strings.Contains(text, "two") {
		t.Errorf("%s", text)
	}
	_, said := run("sft", "--dry-run", "--data", "curated.jsonl", "--base-model", "toy.gguf", "--output-dir", "out")
	if !strings.Contains(said, "over 1 row of") {
		t.Errorf("%s", said)
	}
	out, _ := run("data", "unroll", "traces.jsonl", "--model", "toy.gguf", "--plain")
	for _, line := range []string{"whole\t3\t3\t0\t0\t0", "turns\t3\t3\t0\t0\t0", "prefixes\t3\t2\t0\t1\t0"} {
		if !strings.Contains(out, line) {
			t.Errorf("no %q in %s", line, out)
		}
	}
}
