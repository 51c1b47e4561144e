package tokenizer

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// TestAddedTokenFlags has the answers of tokenizers 0.23.3. Flags: l and r strip, w single word, n normalized, s
// special.
func TestAddedTokenFlags(t *testing.T) {
	type token struct{ content, flags string }
	for _, c := range []struct {
		tokens     []token // ids from 4 on; 0 is a, 1 b, 2 ab, 3 anything else
		normalizer string
		want       map[string][]int32
	}{
		{[]token{{"[L]", "l"}, {"[R]", "r"}, {"[B]", "lrs"}}, `null`, map[string][]int32{
			"a [L] b":            {0, 4, 3, 1},
			"a [R] b":            {0, 3, 5, 1},
			"a [B] b":            {0, 6, 1},
			"a\n\t[L][R]\u3000b": {0, 4, 5, 1},
			"[L] [R] [B]":        {4, 3, 5, 6},
		}},
		{[]token{{"wo", "w"}, {"[W]", "ws"}}, `null`, map[string][]int32{
			"wo":       {4},
			"a wo b":   {0, 3, 4, 3, 1},
			"awo":      {0, 3, 3},
			"woa":      {3, 3, 0},
			"wo_":      {3, 3, 3},
			"a.wo,b":   {0, 3, 4, 3, 1},
			"[W]a":     {3, 3, 3, 0},
			"a[W]":     {0, 3, 3, 3},
			"wo\u0301": {3, 3, 3},
			"wo wo":    {4, 3, 4},
		}},
		{[]token{{"AB", "n"}, {"[S]", "ns"}, {"Ab", ""}}, `{"type": "Lowercase"}`, map[string][]int32{
			"AB":      {4},
			"ab":      {4},
			"Ab":      {6},
			"aAB":     {0, 4},
			"[s]":     {5},
			"[S]":     {5},
			"ab[S]aB": {4, 5, 4},
		}},
		{[]token{{"<a>", "s"}, {"<a><a>", ""}, {"<a", ""}}, `null`, map[string][]int32{
			"<a><a><a>": {5, 4},
			"<a":        {6},
			"<<a>>":     {3, 4, 3},
		}},
	} {
		rows := []map[string]any{}
		for i, a := range c.tokens {
			has := func(flag string) bool { return strings.Contains(a.flags, flag) }
			rows = append(rows, map[string]any{
				"id": 4 + i, "content": a.content, "lstrip": has("l"), "rstrip": has("r"), "single_word": has("w"),
				"normalized": has("n"), "special": has("s"),
			})
		}
		added, err := json.Marshal(rows)
		if err != nil {
			t.Fatal(err)
		}
		tok, err := Parse("flags", small(map[string]string{
			"added_tokens":  string(added),
			"normalizer":    c.normalizer,
			"pre_tokenizer": "null",
		}))
		if err != nil {
			t.Fatal(err)
		}
		for text, want := range c.want {
			if got := tok.Encode(text); !slices.Equal(got, want) {
				t.Errorf("%v: %q: got %v, want %v", c.tokens, text, got, want)
			}
			for _, id := range tok.EncodeOrdinary(text) {
				if tok.IsAdded(id) {
					t.Errorf("%v: ordinary %q yields %d", c.tokens, text, id)
				}
			}
		}
	}
}

// A result that holds a token's text over and over is one ordinary part for each: looking through all of them for each
// would not end.
func TestManyOrdinaryParts(t *testing.T) {
	const n = 1 << 19
	added := newAddedTokens([]AddedToken{{ID: 7, Content: "<a>", Special: true}},
		func(a AddedToken) string { return a.Content }, newSet(nil))
	m := mask{at: 5}
	for i := range n {
		m.spans = append(m.spans, [2]int{5 + 6*i + 1, 5 + 6*i + 2}) // every other one, inside
	}
	count := 0
	added.cut(strings.Repeat("<a>", 2*n), m.allows, func(f found) {
		if f.id == 7 {
			count++
			if f.start%6 != 3 {
				t.Fatalf("the one at %d is ordinary", f.start)
			}
		}
	})
	if count != n {
		t.Errorf("%d are found", count)
	}
}
