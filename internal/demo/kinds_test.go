package demo

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"hone/internal/chat"
	"hone/internal/episode/scenario"
)

// A kind whose values are used up ends what is drawn instead of drawing for ever, and has given every one of them.
func TestDrawnToTheEnd(t *testing.T) {
	few := kind{name: "few", draw: func(r *rand.Rand) values { return values{"a": fmt.Sprint(r.IntN(40))} },
		steps: one(plain, func(v values, _ string) chat.ToolCall { return call("count", text("text", v["a"])) }), seen: []string{"{a}"}}
	want := 0
	for i := range 40 {
		if splitOf(few.steps[0].call(values{"a": fmt.Sprint(i)}, "")) == scenario.Train {
			want++
		}
	}
	if got := len(generate([]kind{few}, 1, scenario.Train, 1000)); got != want || want < 10 {
		t.Errorf("%d drafts, want the %d there are", got, want)
	}
}

// Every kind has four wordings for all splits and four that training never sees, none of them in both, and each names
// all the values it needs.
func TestWordings(t *testing.T) {
	names := map[string]bool{}
	for _, k := range kinds() {
		if names[k.name] {
			t.Errorf("two kinds are called %s", k.name)
		}
		names[k.name] = true
		all := slices.Concat(k.seen, k.unseen)
		if len(k.seen) < 4 || len(k.unseen) < 4 {
			t.Errorf("%s: %d and %d wordings", k.name, len(k.seen), len(k.unseen))
		}
		for i, wording := range all {
			if slices.Contains(all[:i], wording) {
				t.Errorf("%s: %q stands twice", k.name, wording)
			}
			for _, value := range []string{"a", "b", "c"} {
				if filled := (values{value: "X"}).fill(wording); (filled != wording) != ((values{value: "X"}).fill(k.seen[0]) != k.seen[0]) {
					t.Errorf("%s: %q differs from the others in {%s}", k.name, wording, value)
				}
			}
		}
	}
}
