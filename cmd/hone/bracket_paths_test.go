package main

import (
	"os"
	"path/filepath"
	"testing"
)

// The name of a folder may have brackets, as in the names of projects and of archives that were unpacked: it is a name, and no pattern.
func TestFoldersWithBrackets(t *testing.T) {
	suite, err := filepath.Abs("../../internal/data/tasks/testdata/mcpbench")
	if err != nil {
		t.Fatal(err)
	}
	workFolder(t, map[string]string{"hone.yaml": toyConfig, "say.jsonl": oneRow})
	toyModel(t, "base [v2/toy.gguf")
	if err := os.CopyFS("suite [1", os.DirFS(suite)); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"sft", "--dry-run", "--data", "say.jsonl", "--base-model", "base [v2", "--output-dir", "out [a"},
		{"scenarios", "import", "--from", "mcpbench", "suite [1", "--unchecked", "--out", "tasks.json"},
	} {
		if code, _, said := hone(t, "", args...); code != 0 {
			t.Errorf("%q: exit code %d, %s", args, code, said)
		}
	}
}
