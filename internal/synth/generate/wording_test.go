package generate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hone/internal/episode/scenario"
)

// TestWordings looks at each pattern: that its placeholders are what it is filled with, each as often as it has to be,
// and that a family has what each kind of task needs. No pattern is of two splits.
func TestWordings(t *testing.T) {
	placeholder := regexp.MustCompile(`\{\w+\}`)
	names, patterns := map[string]bool{}, map[string]string{}
	for _, split := range splits() {
		data, _ := wordingFiles.ReadFile("wordings/" + split + ".json")
		strict := json.NewDecoder(bytes.NewReader(data))
		strict.DisallowUnknownFields()
		if err := strict.Decode(new([]family)); err != nil {
			t.Fatalf("%s: %v", split, err)
		}
		for _, f := range families(split) {
			if names[f.Name] || f.Name == "" || !slices.Contains([]request{inDescription, inName, inOtherWords},
				f.Request) || (f.Request == inOtherWords) != (split != scenario.Train) {
				t.Errorf("%s: name %q, request %q", split, f.Name, f.Request)
			}
			names[f.Name] = true
			if len(f.One) != len(f.Bare) {
				t.Errorf("%s: %d patterns with slots, %d without", f.Name, len(f.One), len(f.Bare))
			}
			for kind, list := range map[string][]string{
				"do slots": f.One, "do": f.Bare, "name value": {f.Slot, f.Nested}, "a b field param": f.Fed,
				"a b param": f.FedWhole, "a b hole": f.FedWithin, "a b": slices.Concat(f.Both, f.Recover),
				"field": f.Field, "": f.Whole,
			} {
				if len(list) == 0 {
					t.Errorf("%s has no pattern of %q", f.Name, kind)
				}
				for _, p := range list {
					got := placeholder.FindAllString(strings.ToLower(p), -1)
					slices.Sort(got)
					if want := strings.Fields(kind); !slices.Equal(got, braced(want)) {
						t.Errorf("%s: %q has %v, and is filled with %v", f.Name, p, got, want)
					}
					if where, ok := patterns[p]; ok && where != split {
						t.Errorf("%q is of %s and %s", p, where, split)
					}
					if patterns[p] = split; kind != "name value" && !strings.ContainsAny(p[len(p)-1:], ".?") {
						t.Errorf("%s: %q is no sentence", f.Name, p)
					}
				}
			}
		}
	}
	if n := len(families(scenario.Train)); n < 10 {
		t.Errorf("%d families of training tasks: a model learns the wordings themselves where they are few "+
			"(docs/LEARNING.md)", n)
	}
}

func braced(names []string) (out []string) {
	for _, n := range names {
		out = append(out, fmt.Sprintf("{%s}", n))
	}
	slices.Sort(out)
	return out
}
