package metrics

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	// taken are names that a script takes from a row of metrics.jsonl, as in m["reward"], best.get("success", 0).
	taken = regexp.MustCompile(`(?:\.get\(|\[)["']([a-z_][a-z_/]*)["']`)
	// quoted are names with a slash in program text and on pages.
	quoted = regexp.MustCompile("[`\"']([a-z_]+(?:/[A-Za-z_]+)+)[`\"']")
	// asked are those that a command is asked for.
	asked = regexp.MustCompile(`--metric[ =]["']?([a-z_][a-zA-Z_/]*)`)
)

// ofRows are what a row of metrics.jsonl has beside its metrics, and what scripts that read it take from messages.
var ofRows = []string{"stage", "step", "metrics", "at", "tools", "tool_calls", "role", "content"}

// What scripts and pages read of a run's metrics has a name that there is: a metric whose name was changed would read
// as missing there, or as 0.
func TestWhatScriptsReadIsMeasured(t *testing.T) {
	prefixes := []string{}
	for _, n := range Names() {
		if p, _, ok := strings.Cut(n.Name, "/"); ok && !slices.Contains(prefixes, p) {
			prefixes = append(prefixes, p)
		}
	}
	read := 0
	for file, text := range scripts(t) {
		names := map[string]bool{}
		for _, m := range quoted.FindAllStringSubmatch(text, -1) {
			// a method of MCP
			if p, _, _ := strings.Cut(m[1], "/"); slices.Contains(prefixes, p) && !strings.HasPrefix(m[1], "tools/") {
				names[m[1]] = true
			}
		}
		for _, m := range asked.FindAllStringSubmatch(text, -1) {
			names[m[1]] = true
		}
		for _, name := range rowNames(file, text) {
			names[name] = true
		}
		for name := range names {
			if read++; Means(name) == "" &&
				!slices.ContainsFunc(Names(), func(n Named) bool { return n.Name == name }) {
				t.Errorf("%s reads %q, which is none of metrics.Names", file, name)
			}
		}
	}
	if read < 20 {
		t.Errorf("only %d names are read", read)
	}
}

// rowNames are the names that a Python script which reads metrics.jsonl takes from variables that are rows of it.
func rowNames(file, text string) (names []string) {
	if !strings.Contains(text, "metrics.jsonl") || strings.HasSuffix(file, ".md") {
		return nil
	}
	for line := range strings.Lines(text) {
		for _, m := range taken.FindAllStringSubmatchIndex(line, -1) {
			before, name := line[:m[0]], line[m[2]:m[3]]
			owner := before[strings.LastIndexFunc(before,
				func(r rune) bool { return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz_[]-0123456789", r) })+1:]
			if slices.Contains([]string{"m", "best", "steps[0]", "steps[-1]"}, owner) &&
				!slices.Contains(ofRows, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// scripts are those of gpu and scripts, and the pages, by their files.
func scripts(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for _, root := range []string{"experiments/gpu", "scripts", "docs"} {
		err := filepath.WalkDir(filepath.Join("../../..", root), func(file string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && (d.Name() == "node_modules" || d.Name() == "log"): // the log keeps the names of its day
				return filepath.SkipDir
			case d.IsDir() || !slices.Contains([]string{".py", ".sh", ".md"}, filepath.Ext(file)):
				return nil
			}
			text, err := os.ReadFile(file)
			texts[file] = string(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return texts
}
