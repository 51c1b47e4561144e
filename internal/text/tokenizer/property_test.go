package tokenizer

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// byteLevelFamilies take bytes for bytes: nothing is dropped or added.
func byteLevelFamilies() []string {
	return strings.Fields(`gpt2 llama3 qwen3 qwen3.5 smollm2 phi4 o200k tekken kimi deepseek3 deepseek-coder falcon command-r aya exaone superbpe
		neox added-flags jais2 minicpm5 bailing seed-coder youtu bloom viking spark laguna`)
}

// drawText draws text out of what is awkward: marks, spaces, the tokenizer's own tokens, any characters.
func drawText(t *rapid.T, tok *Tokenizer, label string) string {
	part := rapid.OneOf(
		rapid.SampledFrom([]string{" ", "  ", "\n", "\r\n", "\t", "'s", "'LL", "e\u0301", "\u0301", "q\u0307\u0323",
			"é", "123456", "½", "世界", "👩\u200d👩", "▁", "Ġ", "<0x0A>", "\u00a0", "/"}),
		rapid.String(),
		rapid.Custom(func(t *rapid.T) string {
			token, _ := tok.Token(rapid.Int32Range(0, int32(tok.NumTokens()-1)).Draw(t, "id"))
			return token
		}),
	)
	return strings.Join(rapid.SliceOfN(part, 0, 12).Draw(t, label), "")
}

// TestDecodeInvertsEncode: what a byte-level model decodes is the text as it was normalised, special tokens or not.
func TestDecodeInvertsEncode(t *testing.T) {
	families := readFamilies(t)
	for _, name := range byteLevelFamilies() {
		tok := parse(t, families, name)
		rapid.Check(t, func(t *rapid.T) {
			text := drawText(t, tok, "text")
			want := text
			if tok.normalize != nil {
				want = tok.normalize(text)
			}
			if got := tok.Decode(tok.EncodeOrdinary(text)); got != want {
				t.Fatalf("%s: %q became %q", name, want, got)
			}
			if tok.normalized == nil && tok.normalize == nil {
				if got := tok.Decode(tok.Encode(text)); got != text {
					t.Fatalf("%s: with its special tokens %q became %q", name, text, got)
				}
			}
		})
	}
}

// TestMessagesNeverYieldSpecials: whatever a message holds, its ids are neither special nor added; and between a
// renderer's own markers it changes nothing about them.
func TestMessagesNeverYieldSpecials(t *testing.T) {
	families := readFamilies(t)
	for name := range families {
		tok := parse(t, families, name)
		unknown, _ := tok.ID("<unk>") // stands for characters that the vocabulary lacks
		open, okOpen := tok.ID("<|im_start|>")
		end, okEnd := tok.ID("<|im_end|>")
		if !okOpen || !okEnd {
			t.Fatalf("%s has no markers", name)
		}
		check := func(t rapid.TB, text string) {
			for _, id := range tok.EncodeOrdinary(text) {
				token, _ := tok.Token(id)
				blank := strings.TrimSpace(strings.ReplaceAll(token, meta, " ")) == ""
				if id != unknown && (tok.IsSpecial(id) || tok.IsAdded(id) && !blank) {
					t.Fatalf("%s: %q yields %d, %q", name, text, id, token)
				}
			}
			n := map[int32]int{}
			for _, id := range tok.EncodeParts(Part{Text: "<|im_start|>"}, Part{Text: text, Ordinary: true},
				Part{Text: "<|im_end|>"}) {
				n[id]++
			}
			if n[open] != 1 || n[end] != 1 {
				t.Fatalf("%s: %q between the markers yields %d and %d of them", name, text, n[open], n[end])
			}
		}
		for id, added := range tok.added {
			if added {
				check(t, tok.tokens[id])
				check(t, "a "+tok.tokens[id]+".")
			}
		}
		rapid.Check(t, func(t *rapid.T) { check(t, drawText(t, tok, "message")) })
	}
}

// TestStreamIsNeverTakenBack: what a Decoder has returned is the front of what the whole decodes to.
func TestStreamIsNeverTakenBack(t *testing.T) {
	families := readFamilies(t)
	for _, name := range []string{"llama3", "llama2", "mistral", "t5", "unigram-bytes", "bpe-unknowns", "gemma"} {
		tok := parse(t, families, name)
		rapid.Check(t, func(t *rapid.T) {
			ids := rapid.SliceOfN(rapid.Int32Range(0, int32(tok.NumTokens()-1)), 0, 20).Draw(t, "ids")
			d, streamed := tok.NewDecoder(), ""
			for i, id := range ids {
				streamed += d.Next(id)
				if !strings.HasPrefix(tok.Decode(ids), streamed) {
					t.Fatalf("%s: after %d of %v: %q is no front of %q", name, i+1, ids, streamed, tok.Decode(ids))
				}
			}
			if streamed += d.Close(); streamed != tok.Decode(ids) {
				t.Fatalf("%s: %q, whole %q", name, streamed, tok.Decode(ids))
			}
		})
	}
}
