package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

const tree = `-- go.mod --
module m

go 1.26
-- m.go --
package m

func Double(n int) int { return 2 * n }

func Half(n int) int { return n / 2 }
-- m_test.go --
package m

import "testing"

func TestDouble(t *testing.T) {
	if Double(2) != 4 || Double(3) != 6 {
		t.Fatal()
	}
}
`

// A fault that a test fails for is noticed, one that none fails for is an error unless the list argues it, and a mutant
// that does not fit its file, or does not compile, is no mutant.
func TestRun(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("GOFLAGS", "")
	for _, part := range strings.Split(tree, "-- ")[1:] {
		name, text, _ := strings.Cut(part, " --\n")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const noticed = "# triple\nm.go: .\n- 2 * n\n+ 3 * n\n"
	const missed = "\n# third\nm.go: .\n- n / 2\n+ n / 3\n"
	for name, c := range map[string]struct {
		list, only string
		check      bool
		says, err  string
	}{
		"noticed":          {noticed, "", false, "1 of 1 mutants are noticed (100.0%)", ""},
		"missed":           {noticed + missed, "", false, "NOT NOTICED", "third is not noticed by go test [.]"},
		"argued":           {noticed + missed + "! nobody halves\n", "", false, "not noticed, argued", "less than 95%"},
		"argued in vain":   {noticed + "! nobody doubles\n", "", false, "against the list", "triple is noticed"},
		"chosen":           {noticed + missed, "triple", false, "1 of 1", ""},
		"only checked":     {noticed + missed, "", true, "2 mutants fit", ""},
		"does not fit":     {noticed + "\n# x\nm.go: .\n- 4 * n\n+ 5 * n\n", "", true, "", `"4 * n" occurs 0 times in m.go`},
		"fits twice":       {"# x\nm.go: .\n- (n int)\n+ (k int)\n", "", true, "", "occurs 2 times"},
		"does not compile": {"# x\nm.go: .\n- 2 * n\n+ 2 * k\n", "", false, "", "cannot be run"},
		"several lines": {"# x\nm.go: .\n- func Double(n int) int { return 2 * n }\n- \n- func Half\n" +
			"+ func Double(n int) int { return n }\n+\n+ func Half\n", "", false, "1 of 1", ""},
		"fails by itself":  {"# x\nm.go: . -run TestDouble -badflag\n- 2 * n\n+ n\n", "", false, "", "fails without a mutant"},
		"no change":        {"# x\nm.go: .\n- 2 * n\n+ 2 * n\n", "", false, "", "lacks a name of its own"},
		"one name for two": {noticed + "\n" + noticed, "", false, "", "lacks a name of its own"},
		"none":             {noticed, "quadruple", false, "", "no mutant matches"},
	} {
		var out bytes.Buffer
		err := run(&out, c.list, c.only, c.check, 0.95)
		if !strings.Contains(out.String(), c.says) || (err == nil) != (c.err == "") ||
			err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %v\n%s", name, err, &out)
		}
	}
}

// The list can be read, and is as long as it was.
func TestList(t *testing.T) {
	all, err := parse(list)
	if err != nil || len(all) < 69 {
		t.Errorf("%d mutants, %v", len(all), err)
	}
}
