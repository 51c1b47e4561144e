package metrics

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/METRICS.md and testdata/tfevents/golden.tfevents anew; "+
	"make parity then looks whether TensorBoard reads it")

const opening = `# Metrics

What ` + "`metrics.jsonl`" + `, TensorBoard's files and tracking servers have of a run. This page is made from the code
(` + "`go test ./internal/run/metrics -run TestDocs -update`" + `). Where TRL 1.16 has a metric, its name is taken.
"same" says that TRL measures the same; other words say what TRL measures under that name.

| metric | stages | means | TRL 1.16 |
|---|---|---|---|
`

// The page on metrics is what the code says.
func TestDocs(t *testing.T) {
	text := opening
	for _, n := range Names() {
		trl := n.TRL
		if trl == same {
			trl = "same"
		}
		text += fmt.Sprintf("| `%s` | %s | %s | %s |\n", n.Name, n.Stages, n.Means, trl)
	}
	const page = "../../../docs/METRICS.md"
	if *update {
		if err := os.WriteFile(page, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if was, err := os.ReadFile(page); err != nil || string(was) != text {
		t.Errorf("docs/METRICS.md is not what the code says; -update writes it anew; %v", err)
	}
}

// A name is said to be TRL's where TRL's source has it, and only there: testdata/make_trl_names.py reads the source.
// Evaluations have "eval_" before it, which TRL adds when it logs.
func TestNamesOfTRL(t *testing.T) {
	f, err := os.Open("testdata/trl_names.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }() // read only
	theirs := map[string]bool{}
	for in := bufio.NewScanner(f); in.Scan(); {
		theirs[in.Text()] = true
	}
	if len(theirs) < 40 {
		t.Errorf("%d names were found in TRL", len(theirs))
	}
	for _, n := range Names() {
		name := strings.ReplaceAll(n.Name, "TERM", "{reward_func_name}")
		if has := theirs[name] || theirs[strings.TrimPrefix(name, "eval_")]; has != (n.TRL != "") {
			t.Errorf("%s: TRL has it: %v, the table says %q", n.Name, has, n.TRL)
		}
		if Means(strings.NewReplacer("TERM", "x", "NAME", "ok", "PART", "train").Replace(n.Name)) == "" {
			t.Errorf("%s is not known", n.Name)
		}
	}
	for _, name := range []string{"rewards/mean", "lossy", "time/", "outcome/"} {
		if Means(name) != "" {
			t.Errorf("%q is known", name)
		}
	}
}
