package hone_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// exampleFiles are the blocks of Go of a page: each is a file of the repository, whose path stands in its first line.
func exampleFiles(page string) (files map[string]string, err error) {
	files = map[string]string{}
	var block []string
	in := false
	for i, line := range strings.Split(page, "\n") {
		switch text := strings.TrimSpace(line); {
		case !in && text == "```go":
			in, block = true, nil
		case in && text == "```":
			in = false
			name, ok := strings.CutPrefix(block[0], "// ")
			if !ok || !strings.HasSuffix(name, ".go") {
				return nil, fmt.Errorf("line %d: the block before it does not begin with the file that it is", i+1)
			}
			files[name] = strings.Join(block, "\n") + "\n"
		case in:
			block = append(block, strings.TrimPrefix(line, "   ")) // it may stand in a list
		}
	}
	return files, nil
}

// vetted is what go vet says of files in their packages, in which they are not.
func vetted(t *testing.T, files map[string]string) (said string, err error) {
	t.Helper()
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	var packages []string
	for name, text := range files {
		at := filepath.Join(root, name)
		if _, err := os.Stat(at); err == nil {
			return "", fmt.Errorf("%s is in the tree: an example is a file that is not", name)
		}
		copied := filepath.Join(dir, strings.ReplaceAll(name, "/", "_"))
		if err := os.WriteFile(copied, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		overlay.Replace[at] = copied
		packages = append(packages, "./"+filepath.Dir(name))
	}
	text, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	plan := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(plan, text, 0o600); err != nil {
		t.Fatal(err)
	}
	slices.Sort(packages)
	c := exec.CommandContext(t.Context(), "go",
		append([]string{"vet", "-overlay", plan}, slices.Compact(packages)...)...)
	c.Env = append(os.Environ(), "GOEXPERIMENT=simd")
	out, err := c.CombinedOutput()
	return string(out), err
}

// The examples of docs/EXTENDING.md compile in their packages, and are sound to vet.
func TestExtendingCompiles(t *testing.T) {
	page, err := os.ReadFile("docs/EXTENDING.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := exampleFiles(string(page))
	if err != nil || len(files) < 6 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	if said, err := vetted(t, files); err != nil {
		t.Errorf("%v\n%s", err, said)
	}
	const wrong = "   ```go\n   // internal/fault/wrong.go\n   package fault\n\n   var planted int = \"y\"\n   ```\n"
	planted, err := exampleFiles(wrong)
	if err != nil {
		t.Fatal(err)
	}
	if said, err := vetted(t, planted); err == nil || !strings.Contains(said, "wrong.go:4") {
		t.Errorf("a planted fault is not found: %v\n%s", err, said)
	}
	if _, err := exampleFiles("```go\nfunc f() {}\n```\n"); err == nil {
		t.Error("a block that names no file is taken")
	}
}

// missing are the lines that blocks of differences say were added to files and that are not there. How they are spaced,
// and what a comment behind one says, does not count.
func missing(page string, read func(name string) ([]byte, error)) (lines []string, looked int) {
	plain := func(text string) string {
		code, _, _ := strings.Cut(text, " // ")
		return strings.Join(strings.Fields(code), " ")
	}
	in, name := false, ""
	var has []string
	for line := range strings.Lines(page) {
		line = strings.TrimSuffix(line, "\n")
		added, isAdded := strings.CutPrefix(line, "+")
		switch of, isFile := strings.CutPrefix(line, "--- "); {
		case line == "```diff":
			in = true
		case line == "```":
			in = false
		case in && isFile:
			name, has = of, nil
			text, _ := read(name)
			for l := range strings.Lines(string(text)) {
				has = append(has, plain(l))
			}
		case in && isAdded:
			if looked++; !slices.Contains(has, plain(added)) {
				lines = append(lines, name+": "+added)
			}
		}
	}
	return lines, looked
}

// The differences of docs/EXTENDING.md show how something came in that is in the tree: each line is still there.
func TestExtendingShowsTheTree(t *testing.T) {
	page, err := os.ReadFile("docs/EXTENDING.md")
	if err != nil {
		t.Fatal(err)
	}
	lines, looked := missing(string(page), os.ReadFile)
	if len(lines) > 0 || looked < 10 {
		t.Errorf("of %d lines these are not in the tree:\n%s", looked, strings.Join(lines, "\n"))
	}
	read := func(string) ([]byte, error) { return []byte("\tf(  a)\n"), nil }
	planted := "```diff\n--- x.go\n+ f( a) // why\n+ f(b)\n```\n"
	if lines, looked := missing(planted, read); looked != 2 || len(lines) != 1 || lines[0] != "x.go:  f(b)" {
		t.Errorf("a planted line is not found: %d, %q", looked, lines)
	}
}
