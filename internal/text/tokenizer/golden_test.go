package tokenizer

import (
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"unicode/utf8"
)

const referenceDir = "../../../testdata/reference/tokenizer"

func readReference(tb testing.TB, name string, v any) {
	tb.Helper()
	f, err := os.Open(filepath.Join(referenceDir, name))
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		tb.Fatal(err)
	}
	if err := json.NewDecoder(z).Decode(v); err != nil {
		tb.Fatal(err)
	}
}

// smollm2 is the real vocabulary, under the pre-tokenizer its file names or another.
func smollm2(tb testing.TB, preTokenizer string) *Tokenizer {
	tb.Helper()
	var v struct {
		Pre            string
		Tokens, Merges []string
		Types          []int32
	}
	readReference(tb, "smollm2_vocabulary.json.gz", &v)
	if preTokenizer == "" {
		preTokenizer = v.Pre
	}
	t, err := New(Options{Tokens: v.Tokens, Merges: v.Merges, Types: v.Types, PreTokenizer: preTokenizer})
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

type golden struct {
	Encode []struct {
		Text     string
		IDs      []int32
		Ordinary []int32 // where it differs from IDs
		GPT2     []int32 // where it differs from Ordinary
		Decoded  *string // where it differs from Text
	}
	Decode []struct {
		IDs            []int32
		Text, Ordinary string
	}
}

func TestEqualsHuggingFace(t *testing.T) {
	smollm, gpt2 := smollm2(t, ""), smollm2(t, "gpt-2")
	var g golden
	readReference(t, "smollm2_golden.json.gz", &g)
	if len(g.Encode) < 2000 || len(g.Decode) < 300 {
		t.Fatalf("the golden file holds only %d texts and %d decodes", len(g.Encode), len(g.Decode))
	}
	check := func(what, text string, got, want []int32) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("%s of %.80q:\n got  %v\n want %v", what, text, head(got), head(want))
		}
	}
	for range 2 { // the second time from the cache
		for _, row := range g.Encode {
			check("Encode", row.Text, smollm.Encode(row.Text), row.IDs)
			ordinary := row.IDs
			if row.Ordinary != nil {
				ordinary = row.Ordinary
			}
			check("EncodeOrdinary", row.Text, smollm.EncodeOrdinary(row.Text), ordinary)
			if row.GPT2 != nil {
				ordinary = row.GPT2
			}
			check("gpt-2", row.Text, gpt2.EncodeOrdinary(row.Text), ordinary)
			text := row.Text
			if row.Decoded != nil {
				text = *row.Decoded
			}
			if got := smollm.Decode(row.IDs); got != text {
				t.Errorf("Decode: got %.80q, want %.80q", got, text)
			}
		}
	}
	for _, row := range g.Decode {
		if got := smollm.Decode(row.IDs); got != row.Text {
			t.Errorf("Decode(%v):\n got  %q\n want %q", row.IDs, got, row.Text)
		}
		if got := smollm.DecodeOrdinary(row.IDs); got != row.Ordinary {
			t.Errorf("DecodeOrdinary(%v):\n got  %q\n want %q", row.IDs, got, row.Ordinary)
		}
	}
}

func head(ids []int32) []int32 { return ids[:min(len(ids), 60)] }

func BenchmarkEncodeOrdinary(b *testing.B) {
	tok := smollm2(b, "")
	var g golden
	readReference(b, "smollm2_golden.json.gz", &g)
	n := 0
	for _, row := range g.Encode {
		n += len(row.Text)
	}
	b.SetBytes(int64(n))
	for b.Loop() {
		for _, row := range g.Encode {
			tok.EncodeOrdinary(row.Text)
		}
	}
}

func FuzzDecodeInvertsEncode(f *testing.F) {
	tok := byteTokenizer(f)
	for _, s := range []string{"", "it's 12  x", "<|end|>", "\xff\xe2\x82", "e\u0301 👍🏽"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, ids := range [][]int32{tok.Encode(s), tok.EncodeOrdinary(s)} {
			text := ""
			for _, id := range ids {
				text += tok.texts[id]
			}
			if text != s {
				t.Fatalf("the tokens of %q add up to %q", s, text)
			}
			if utf8.ValidString(s) && tok.Decode(ids) != s {
				t.Fatalf("%q decodes to %q", s, tok.Decode(ids))
			}
		}
	})
}
