package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// mutant is a fault: a text in one file in the place of another.
type mutant struct {
	name     string
	file     string
	test     []string // arguments of go test
	old, new string
	argued   string // why no test need notice it; usually empty
}

// parse reads a list. Each mutant begins with a line of its name, and ends with an empty line:
//
//	# the advantage is not divided by the deviation
//	internal/recipe/grpo.go: ./internal/recipe -run TestGRPO
//	- batch.GroupNormalize
//	+ batch.Centred
//	! why it need not be noticed
//
// What stands behind "- " on one or more lines occurs once in the file; "+ " may be left out, which deletes it. Lines
// that begin with "//" are for readers.
func parse(list string) ([]mutant, error) {
	var all []mutant
	names := map[string]bool{}
	for i, block := range strings.Split(list, "\n\n") {
		var m mutant
		for line := range strings.Lines(block) {
			line = strings.TrimSuffix(line, "\n")
			text := ""
			if len(line) > 2 {
				text = line[2:]
			}
			switch {
			case line == "" || strings.HasPrefix(line, "//"):
			case strings.HasPrefix(line, "# "):
				m.name = text
			case strings.HasPrefix(line, "- ") || line == "-":
				m.old += "\n" + text
			case strings.HasPrefix(line, "+ ") || line == "+":
				m.new += "\n" + text
			case strings.HasPrefix(line, "! "):
				m.argued = strings.TrimSpace(m.argued + " " + text)
			default:
				file, test, ok := strings.Cut(line, ": ")
				if !ok {
					return nil, fmt.Errorf("block %d of the list: cannot read %q", i+1, line)
				}
				m.file, m.test = file, strings.Fields(test)
			}
		}
		if m.name == "" && m.file == "" && m.old == "" {
			continue // a remark
		}
		m.old, m.new = strings.TrimPrefix(m.old, "\n"), strings.TrimPrefix(m.new, "\n")
		if m.name == "" || m.file == "" || len(m.test) == 0 || m.old == "" || m.old == m.new || names[m.name] {
			return nil, fmt.Errorf("block %d of the list (%q) lacks a name of its own, a file with its tests, "+
				"or a change", i+1, m.name)
		}
		names[m.name] = true
		all = append(all, m)
	}
	return all, nil
}

// apply returns the file with the fault in it.
func (m mutant) apply() (string, error) {
	text, err := os.ReadFile(m.file)
	if err != nil {
		return "", fmt.Errorf("%s: %w", m.name, err)
	}
	if n := strings.Count(string(text), m.old); n != 1 {
		return "", fmt.Errorf("%s: %q occurs %d times in %s, not once: write the mutant anew", m.name, m.old, n, m.file)
	}
	return strings.Replace(string(text), m.old, m.new, 1), nil
}

// sound is an error where the tests fail without a fault.
func (m mutant) sound() error {
	if out, err := goTest(m.test); err != nil {
		return fmt.Errorf("go test %v fails without a mutant: %w\n%s", m.test, err, out)
	}
	return nil
}

// isNoticed plants the fault and reports whether a test fails. A fault that does not compile is an error.
func (m mutant) isNoticed() (bool, error) {
	text, err := m.apply()
	if err != nil {
		return false, err
	}
	dir, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return false, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // a temporary folder
	file, err := filepath.Abs(m.file)
	if err != nil {
		return false, err
	}
	changed := filepath.Join(dir, filepath.Base(m.file))
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{file: changed}})
	if err == nil {
		err = os.WriteFile(changed, []byte(text), 0o600)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600)
	}
	if err != nil {
		return false, err
	}
	out, err := goTest(append([]string{"-overlay", filepath.Join(dir, "overlay.json")}, m.test...))
	if err == nil {
		return false, nil
	}
	var failed *exec.ExitError
	if !errors.As(err, &failed) || strings.Contains(string(out), "[build failed]") ||
		strings.Contains(string(out), "[setup failed]") || !strings.Contains(string(out), "FAIL") {
		return false, fmt.Errorf("the tests cannot be run: %w\n%s", err, out)
	}
	return true, nil
}

// goTest runs go test; -vet=off, since a fault may look odd.
func goTest(args []string) ([]byte, error) {
	c := exec.Command("go", append([]string{"test", "-vet=off", "-failfast", "-timeout", "20m"}, args...)...)
	c.Env = append(c.Environ(), "RAPID_NOFAILFILE=1") // a property that fails is to leave nothing in the tree
	return c.CombinedOutput()
}
