package tokenizer

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hone/internal/fault"
)

// byteTokenizer has all 256 bytes (ids 0 to 255), a few merges, and the specials <|end|> and <|end|><|end|>.
func byteTokenizer(tb testing.TB) *Tokenizer {
	tb.Helper()
	o := Options{PreTokenizer: "smollm"}
	for _, char := range newAlphabet().chars {
		o.Tokens, o.Types = append(o.Tokens, char), append(o.Types, TypeNormal)
	}
	for _, m := range []string{"a b", "b c", "ab c", "Ġ a", "ab ab", "a a", "aa aa"} {
		o.Merges = append(o.Merges, m)
		o.Tokens, o.Types = append(o.Tokens, strings.ReplaceAll(m, " ", "")), append(o.Types, TypeNormal)
	}
	o.Tokens, o.Types = append(o.Tokens, "<|end|>", "<|end|><|end|>"), append(o.Types, TypeControl, TypeUserDefined)
	t, err := New(o)
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

func TestSplit(t *testing.T) {
	for _, c := range []struct {
		text   string
		digits bool
		want   []string
	}{
		{"it's I'LL we'll", false, []string{"it", "'s", " I", "'", "LL", " we", "'ll"}},
		{"''s 's", false, []string{"''", "s", " '", "s"}},
		{"a  b\n\n c \n", false, []string{"a", " ", " b", "\n\n", " c", " \n"}},
		{"x\n\ty", false, []string{"x", "\n", "\t", "y"}},
		{"a 12  3", false, []string{"a", " 12", " ", " 3"}},
		{"a 12  3", true, []string{"a", " ", "1", "2", "  ", "3"}},
		{"½Ⅷ", true, []string{"½", "Ⅷ"}},
		{"a\xffb\xe2\x82", false, []string{"a", "\xff", "b", "\xe2\x82"}},
		{"", true, nil},
	} {
		expressions := []string{gpt2}
		if c.digits {
			expressions = []string{digit, gpt2}
		}
		got := pieces(c.text, expressions...)
		if !slices.Equal(got, c.want) {
			t.Errorf("split(%q, %v) = %q, want %q", c.text, c.digits, got, c.want)
		}
	}
}

func TestMergesEqualTheNaiveWay(t *testing.T) {
	tok := byteTokenizer(t)
	rapid.Check(t, func(t *rapid.T) {
		piece := rapid.StringMatching(`[abc ]{1,40}`).Draw(t, "piece")
		got := tok.model.(*bpe).appendMerged(nil, piece, false)
		if want := naiveMerges(tok, piece); !slices.Equal(got, want) {
			t.Fatalf("%q: got %v, want %v", piece, got, want)
		}
	})
}

// naiveMerges applies the first of the lowest-ranked merges until none applies.
func naiveMerges(tok *Tokenizer, piece string) []int32 {
	var ids []int32
	b := tok.model.(*bpe)
	for i := range len(piece) {
		ids = append(ids, b.bytes[piece[i]])
	}
	for {
		best, at := merge{rank: 1 << 30}, -1
		for i := range len(ids) - 1 {
			if m, ok := b.merges[pairKey(ids[i], ids[i+1])]; ok && m.rank < best.rank {
				best, at = m, i
			}
		}
		if at < 0 {
			return ids
		}
		ids = slices.Replace(ids, at, at+2, best.id)
	}
}

func TestSpecials(t *testing.T) {
	tok := byteTokenizer(t)
	end, _ := tok.ID("<|end|>")
	two, _ := tok.ID("<|end|><|end|>")
	if got := tok.Encode("<|end|><|end|><|end|>"); !slices.Equal(got, []int32{two, end}) {
		t.Errorf("the longest special does not win: %v", got)
	}
	if tok.DecodeOrdinary([]int32{end, 'a', two}) != "a<|end|><|end|>" || tok.Decode([]int32{end, 'a'}) != "<|end|>a" {
		t.Error("only DecodeOrdinary leaves specials out")
	}
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOf(rapid.SampledFrom([]string{"<|end|>", "<|", "end", "|>", " ", "a"})).Draw(t, "parts")
		for _, id := range tok.EncodeOrdinary(strings.Join(parts, "")) {
			if tok.IsSpecial(id) || tok.IsAdded(id) {
				t.Fatalf("EncodeOrdinary made the special id %d of %q", id, parts)
			}
		}
	})
}

func TestDecoderEqualsDecode(t *testing.T) {
	tok := byteTokenizer(t)
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOf(rapid.Int32Range(-1, int32(tok.NumTokens()))).Draw(t, "ids")
		d, streamed, raw := tok.NewDecoder(), "", ""
		for _, id := range ids {
			piece := d.Next(id)
			streamed += piece
			if token, ok := tok.Token(id); ok && token != "" {
				raw += tok.texts[id]
			}
		}
		streamed += d.Close()
		if streamed != tok.Decode(ids) {
			t.Fatalf("streamed %q, whole %q", streamed, tok.Decode(ids))
		}
		// Go replaces byte by byte, we by broken character: equal once runs of U+FFFD count as one.
		if squeeze(streamed) != squeeze(strings.ToValidUTF8(raw, "\uFFFD")) {
			t.Fatalf("decoded %q from %q", streamed, raw)
		}
	})
}

func squeeze(s string) string {
	for strings.Contains(s, "\uFFFD\uFFFD") {
		s = strings.ReplaceAll(s, "\uFFFD\uFFFD", "\uFFFD")
	}
	return s
}

func TestDecoderHoldsBack(t *testing.T) {
	tok := byteTokenizer(t)
	d := tok.NewDecoder()
	for i, want := range []string{"", "", "€", "a", "", "\uFFFDb"} {
		if got := d.Next([]int32{0xE2, 0x82, 0xAC, 'a', 0xE2, 'b'}[i]); got != want {
			t.Errorf("id %d: got %q, want %q", i, got, want)
		}
	}
}

func TestIDsBelongToTheCaller(t *testing.T) {
	tok := byteTokenizer(t)
	want := tok.EncodeOrdinary("abcab")
	for range 2 {
		got := tok.EncodeOrdinary("abcab")
		if !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
		got[0] = -7
	}
	got := tok.EncodeOrdinary("bcbc")
	got[0] = -7
	if again := tok.EncodeOrdinary("bcbc"); again[0] == -7 {
		t.Error("the cache was changed through a result")
	}
}

func TestNewRefuses(t *testing.T) {
	for name, o := range map[string]Options{
		"unsupported pre-tokenizer":   {PreTokenizer: "llama-brand-new"},
		"a merge of unknown tokens":   {Tokens: []string{"a", "b"}, Merges: []string{"a b"}},
		"a merge of one token":        {Tokens: []string{"a", "aa"}, Merges: []string{"aa"}},
		"types of another vocabulary": {Tokens: []string{"a"}, Types: []int32{1, 1}},
		"a token twice":               {Tokens: []string{"a", "a"}},
	} {
		_, err := New(o)
		var f *fault.Error
		if !errors.As(err, &f) || f.Code != fault.CodeUsage || f.Next == "" {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// pieces cuts a text by expressions, one after the other.
func pieces(text string, expressions ...string) []string {
	var out []string
	var cut func(stage int, text string)
	cut = func(stage int, text string) {
		if stage == len(expressions) {
			out = append(out, text)
			return
		}
		mustSplit(expressions[stage]).split(text, false, func(piece string, _ bool) { cut(stage+1, piece) })
	}
	if text != "" {
		cut(0, text)
	}
	return out
}
