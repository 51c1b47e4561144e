package hone_test

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// unsteady returns the lines of a Makefile that run tests otherwise than steadily: under test and race, properties draw
// the same cases each time; under soak fresh ones, and no result is taken from the cache, which does not know of the
// seed.
func unsteady(makefile string) (out []string, steady int) {
	target := ""
	for line := range strings.Lines(makefile) {
		if name, _, ok := strings.Cut(line, ":"); ok && !strings.HasPrefix(line, "\t") {
			target = name
		}
		command, ok := strings.CutPrefix(line, "\t")
		if !ok || !strings.Contains(command, "go test") {
			continue
		}
		want := `(^|&& )RAPID_SEED=1 go test `
		if target == "soak" {
			want = `^RAPID_SEED=0 go test -count=1 `
		}
		if !regexp.MustCompile(want).MatchString(command) {
			out = append(out, target+": "+strings.TrimSpace(command))
			continue
		}
		steady++
	}
	return out, steady
}

func TestMakeTestIsSteady(t *testing.T) {
	text, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	lines, n := unsteady(string(text))
	for _, line := range lines {
		t.Errorf("%s\nsay RAPID_SEED=1 where the verdict is to be the same each time, "+
			"RAPID_SEED=0 and -count=1 in soak", line)
	}
	if n < 5 {
		t.Errorf("%d commands that run tests were found", n)
	}
	planted, _ := unsteady("test: x\n\tgo test ./...\nsoak:\n\tRAPID_SEED=0 go test ./...\n" +
		"\tRAPID_SEED=1 go test -count=1 ./...\n\tRAPID_SEED=0 go test -count=1 ./...\n")
	if len(planted) != 3 {
		t.Errorf("of planted lines these are found: %q", planted)
	}
}

// The seed that the Makefile sets is what properties draw from. This test runs itself again, for rapid reads the
// variable once when a process starts.
func TestSeedIsObeyed(t *testing.T) {
	if os.Getenv("HONE_TEST_DRAW") != "" {
		rapid.Check(t, func(t *rapid.T) { println(rapid.Uint64().Draw(t, "n")) })
		return
	}
	draws := func(seed string) []string {
		c := exec.Command(os.Args[0], "-test.run=^TestSeedIsObeyed$")
		c.Env = append(os.Environ(), "HONE_TEST_DRAW=1", "RAPID_SEED="+seed)
		out, err := c.CombinedOutput()
		if err != nil || len(out) < 500 {
			t.Fatalf("%v\n%s", err, out)
		}
		return regexp.MustCompile(`(?m)^[0-9]+$`).FindAllString(string(out), -1)
	}
	first, again, fresh := draws("1"), draws("1"), draws("0")
	if !slices.Equal(first, again) || slices.Equal(first, fresh) {
		t.Errorf("seed 1 draws\n%v\nthen\n%v\nand seed 0\n%v", first, again, fresh)
	}
}
