package tokenizer

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"hone/internal/fault"
)

// FuzzNew builds tokenizers out of vocabularies of a stranger: tokens and merges are lines, scores and types bytes.
func FuzzNew(f *testing.F) {
	for _, model := range []string{"gpt2", "llama", "gemma4"} {
		f.Add(model, "<unk>\n<s>\n<0x61>\n▁\na\nb\nab\n▁ab\nĠa", "a b\nĠ a", []byte{0, 0, 0, 9, 8, 7, 6, 5, 4},
			[]byte{2, 3, 6, 1, 1, 1, 1, 1, 1}, "ab<s> b\u00e9", true)
	}
	f.Fuzz(func(t *testing.T, model, tokens, merges string, scores, types []byte, text string, prefix bool) {
		o := Options{Model: model, PreTokenizer: "llama-bpe", NoSpacePrefix: !prefix, AddBOS: true,
			BOS: int32(len(scores)) - 2}
		o.Tokens = strings.Split(tokens, "\n")
		if merges != "" {
			o.Merges = strings.Split(merges, "\n")
		}
		for _, s := range scores {
			o.Scores = append(o.Scores, -float32(s))
		}
		for _, kind := range types {
			o.Types = append(o.Types, int32(kind))
		}
		if len(types) == 0 {
			o.Types = nil
		}
		tok, err := New(o)
		if err != nil {
			var e *fault.Error
			if !errors.As(err, &e) {
				t.Fatalf("not a fault: %v", err)
			}
			return
		}
		checkIDs(t, tok, text)
	})
}

// checkIDs encodes and decodes a text: ids are of the vocabulary, ordinary text yields nothing special but the unknown.
func checkIDs(t *testing.T, tok *Tokenizer, text string) {
	for _, id := range tok.EncodeOrdinary(text) {
		if !tok.valid(id) {
			t.Fatalf("id %d of %q is not in the vocabulary", id, text)
		}
		if token, _ := tok.Token(id); tok.IsSpecial(id) && strings.Contains(text, token) && utf8.ValidString(text) &&
			!tok.isUnknown(id) {
			t.Fatalf("%q yields the special %q", text, token)
		}
	}
	for _, id := range tok.Wrap(tok.Encode(text)) {
		if !tok.valid(id) {
			t.Fatalf("id %d of %q is not in the vocabulary", id, text)
		}
	}
	tok.Decode(tok.Encode(text))
}

// isUnknown reports whether id is what a model yields for text it does not know.
func (t *Tokenizer) isUnknown(id int32) bool {
	switch m := t.model.(type) {
	case *bpe:
		return id == m.unknown
	case *unigram:
		return id == m.unknown
	}
	return false
}

// FuzzCharsmap reads tables of rewrites of a stranger.
func FuzzCharsmap(f *testing.F) {
	var tables map[string]string
	readReference(f, "charsmaps.json.gz", &tables)
	own, err := base64.StdEncoding.DecodeString(tables["own"])
	if err != nil {
		f.Fatal(err)
	}
	f.Add(own, "ab e\u0301\r\n각\u0301 \u0600a 世界 k\u0323 \u200b")
	f.Add([]byte{4, 0, 0, 0, 0, 4, 0, 0, 'a', 0}, "a")
	f.Add([]byte{4, 0, 0, 0, 0, 1, 0, 0x80}, "a")
	f.Fuzz(func(t *testing.T, data []byte, text string) {
		c, err := newCharsmap(data)
		if err != nil {
			return
		}
		if got := c.normalize(text); utf8.ValidString(text) && !utf8.ValidString(got) {
			t.Fatalf("%q became %q", text, got)
		}
	})
}
