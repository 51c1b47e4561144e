package plan

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"hone/internal/learn/train"
)

// Every program that a run compiles names its inputs and results, and marks its layers in the order they are computed
// in.
func TestText(t *testing.T) {
	s := wide()
	o := settings()
	o.GPU = true
	for _, recompute := range []train.Recompute{train.RecomputeNone, train.RecomputeLayer} {
		o.Train.Recompute = recompute
		p, err := Make(s, o)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range p.Programs {
			text := x.Text()
			if results := returned(t, x.HLO); len(x.results) != results {
				t.Errorf("%s: %d results have the names %q", x.Name, results, x.results)
			}
			for i, name := range x.results {
				if !strings.Contains(text, "// result "+strconv.Itoa(i)+": "+name+"\n") {
					t.Errorf("%s: the result %s is not named", x.Name, name)
				}
			}
			got := marks(text)
			switch x.Name {
			case "decode", "prefill":
				if want := []int{0, 1, 2, 3}; !slices.Equal(got, want) {
					t.Errorf("%s: layers %v, want %v", x.Name, got, want)
				}
			case "rows", "tree":
				if want := []int{0, 1, 2, 3, 2, 1, 0}; len(got) < 7 || !slices.Equal(got[:7], want) {
					t.Errorf("%s: layers %v, want %v first", x.Name, got, want)
				}
			}
		}
	}
}

// returned is how many results a program's main function has.
func returned(t *testing.T, hlo string) int {
	t.Helper()
	x, err := parse(hlo)
	if err != nil {
		t.Fatal(err)
	}
	return len(x.outs)
}

// marks are the layers marked in a text, each once where it stands twice in a row.
func marks(text string) []int {
	var out []int
	for _, m := range regexp.MustCompile(`(?m)^// layer ([0-9]+)$`).FindAllStringSubmatch(text, -1) {
		n, _ := strconv.Atoi(m[1])
		if len(out) == 0 || out[len(out)-1] != n {
			out = append(out, n)
		}
	}
	return out
}
