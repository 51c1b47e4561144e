package demo

import (
	"fmt"
	"slices"
	"testing"

	"hone/internal/data/kinds"
	"hone/internal/episode/scenario"
)

// A kind whose values are used up ends what is drawn instead of drawing for ever, and has given every one of them.
func TestDrawnToTheEnd(t *testing.T) {
	set, err := kinds.Parse("few", []byte(`kinds: [{name: few, values: {a: "{integer 0 39}"}, calls: [{tool: count, arguments: {text: "{a}"}}], wordings: ["{a}"]}]`))
	if err != nil {
		t.Fatal(err)
	}
	want := 0
	for i := range 40 {
		first, err := set.Kinds[0].Call(0, kinds.Values{"a": fmt.Sprint(i)}, "")
		if err != nil {
			t.Fatal(err)
		}
		if splitOf(first) == scenario.Train {
			want++
		}
	}
	if got := len(generate(set.Kinds, 1, scenario.Train, 1000)); got != want || want < 10 {
		t.Errorf("%d drafts, want the %d there are", got, want)
	}
}

// Every kind has four wordings for all splits and four that training never sees, none of them in both, and each names
// all the values it needs.
func TestWordings(t *testing.T) {
	names := map[string]bool{}
	for _, k := range all() {
		if names[k.Name] {
			t.Errorf("two kinds are called %s", k.Name)
		}
		names[k.Name] = true
		wordings := slices.Concat(k.Wordings, k.HeldOut)
		if len(k.Wordings) < 4 || len(k.HeldOut) < 4 {
			t.Errorf("%s: %d and %d wordings", k.Name, len(k.Wordings), len(k.HeldOut))
		}
		for i, wording := range wordings {
			if slices.Contains(wordings[:i], wording) {
				t.Errorf("%s: %q stands twice", k.Name, wording)
			}
			for _, value := range []string{"a", "b", "c"} {
				if filled := (kinds.Values{value: "X"}).Fill(wording); (filled != wording) !=
					((kinds.Values{value: "X"}).Fill(k.Wordings[0]) != k.Wordings[0]) {
					t.Errorf("%s: %q differs from the others in {%s}", k.Name, wording, value)
				}
			}
		}
	}
}
