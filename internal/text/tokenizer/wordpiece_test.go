package tokenizer

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// TestWordDecoders has the answers of tokenizers 0.23.3.
func TestWordDecoders(t *testing.T) {
	words := []string{"do", "not", "##n", "n't", "'s", "do not", ".", "'", "'m", "?", "!", ",", "'ve", "'re", "##"}
	for _, c := range []struct {
		decoder string
		tokens  []string
		want    string
	}{
		{`{"type":"WordPiece"}`, words, "do notnn't's don't. ''m?!,'ve're"},
		{`{"type":"WordPiece","prefix":"##","cleanup":false}`, words, "do notn n't 's do not . ' 'm ? ! , 've 're"},
		{`{"type":"BPEDecoder"}`, []string{"a</w>", "b", "c</w>", "d</w>"}, "a bc d"},
		{`{"type":"BPEDecoder","suffix":""}`, []string{"ab", "c"}, " a b c"},
	} {
		vocab, ids := map[string]int32{}, []int32{}
		for i, token := range c.tokens {
			vocab[token] = int32(i)
			ids = append(ids, int32(i))
		}
		text, err := json.Marshal(vocab)
		if err != nil {
			t.Fatal(err)
		}
		tok, err := Parse("words", small(map[string]string{"decoder": c.decoder, "added_tokens": "[]",
			"model": `{"type":"WordLevel","unk_token":"` + c.tokens[0] + `","vocab":` + string(text) + `}`}))
		if err != nil {
			t.Fatal(err)
		}
		if got := tok.Decode(ids); got != c.want {
			t.Errorf("%s: got %q, want %q", c.decoder, got, c.want)
		}
	}
}

// TestWordsThatAreSpecial: a piece that is a special token is unknown in ordinary text, and so is what it would begin.
func TestWordsThatAreSpecial(t *testing.T) {
	for _, kind := range []string{"WordPiece", "WordLevel"} {
		tok, err := Parse(kind, small(map[string]string{"model": `{"type":"` + kind + `","unk_token":"<unk>","max_input_chars_per_word":4,` +
			`"vocab":{"a":0,"##b":1,"ab":2,"<unk>":3,"<s>":4,"##é":5}}`}))
		if err != nil {
			t.Fatal(err)
		}
		for text, want := range map[string]map[string][]int32{
			"ab <s> a":  {"WordPiece": {2, 3, 0}, "WordLevel": {2, 3, 0}},
			"abb <s>b":  {"WordPiece": {2, 1, 3}, "WordLevel": {3, 3}},
			"aééé":      {"WordPiece": {0, 5, 5, 5}, "WordLevel": {3}}, // four characters, seven bytes
			"aéééé abc": {"WordPiece": {3, 3}, "WordLevel": {3, 3}},
			"##b":       {"WordPiece": {1}, "WordLevel": {1}},
		} {
			if got := tok.EncodeOrdinary(text); !slices.Equal(got, want[kind]) {
				t.Errorf("%s: %q: got %v, want %v", kind, text, got, want[kind])
			}
		}
		if got := tok.Encode("ab<s>a"); !slices.Equal(got, []int32{2, 4, 0}) {
			t.Errorf("%s: with the special token: %v", kind, got)
		}
		long := strings.Repeat("é", 1<<16)
		if got := tok.EncodeOrdinary(long); !slices.Equal(got, []int32{3}) {
			t.Errorf("%s: a long word has %d ids", kind, len(got))
		}
	}
}
