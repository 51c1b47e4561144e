package folders

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hone/internal/synth/programs"
)

var update = flag.Bool("update", false, "write testdata/sample.txt anew, which a reviewer then reads aloud")

// The sample is 40 training tasks over invented folders with their demonstrations, to be read by people. It changes
// with the generator: write it anew then, and read it.
func TestSample(t *testing.T) {
	r := rand.New(rand.NewPCG(40, 1))
	var kinds []string
	for _, kind := range []string{programs.Lookup, programs.Join, programs.Most, programs.Adjust, programs.Correct,
		programs.Count, programs.Both, programs.Total, programs.Best, programs.Top, programs.List, programs.Compare,
		programs.YesNo, programs.Missing, programs.Set, programs.SetAll, programs.Remove, programs.Insert, Organize,
		programs.ActIf, programs.Several, programs.Leave, programs.Unknown, programs.AskBack, programs.Cannot} {
		for range (Shares()[kind] + 2) / 4 {
			kinds = append(kinds, kind)
		}
	}
	r.Shuffle(len(kinds), func(i, j int) { kinds[i], kinds[j] = kinds[j], kinds[i] })
	var b strings.Builder
	for n := 0; n < 40; {
		p := Draw(r, Invent(r, r.IntN(programs.NumDomains())), everything(), kinds[n%len(kinds)])
		if p == nil {
			continue
		}
		n++
		fmt.Fprintf(&b, "%d. %s\n", n, strings.ReplaceAll(sampled(p, p.Word(r, "train")), "\n", "\n   "))
	}
	path := filepath.Join("testdata", "sample.txt")
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || string(want) != b.String() {
		t.Errorf("%s is of another generator (%v): go test ./internal/synth/folders -run TestSample -update, "+
			"and read it", path, err)
	}
}

// sampled is a task with its demonstration, as text.
func sampled(p *Plan, w programs.Worded) string {
	lines := []string{w.Task}
	for _, o := range p.Ops {
		if o.Why != "" {
			lines = append(lines, "  ("+strings.ReplaceAll(o.Why, "\n", "; ")+")")
		}
		line := "> " + o.Do + " " + o.Path + strings.Join(o.Paths, ", ")
		if o.To != "" {
			line += " to " + o.To
		}
		if o.Old != "" {
			line += fmt.Sprintf(" %q", o.Old)
		}
		if o.New != "" {
			line += fmt.Sprintf(" -> %q", o.New)
		}
		if o.Slip != "" {
			line += " [in vain, not learnt]"
		}
		lines = append(lines, line)
	}
	if working := p.Working(); working != "" {
		lines = append(lines, "  ("+strings.ReplaceAll(working, "\n", "; ")+")")
	}
	return strings.Join(append(lines, "= "+strings.ReplaceAll(w.Answer, "\n", " | ")), "\n")
}
