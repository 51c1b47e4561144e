package main

import "testing"

// The name of a folder may have brackets, as in the names of projects and of archives that were unpacked: it is a name,
// and no pattern.
func TestFoldersWithBrackets(t *testing.T) {
	workFolder(t, map[string]string{"hone.yaml": toyConfig, "say.jsonl": oneRow})
	toyModel(t, "base [v2/toy.gguf")
	code, _, said := hone(t, "", "sft", "--dry-run", "--data", "say.jsonl", "--base-model", "base [v2",
		"--output-dir", "out [a")
	if code != 0 {
		t.Errorf("exit code %d, %s", code, said)
	}
}
