package render

import (
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"hone/internal/text/tokenizer"
)

const referenceDir = "../../../testdata/reference"

type vocabularyText struct {
	Pre            string
	Tokens, Merges []string
	Types          []int32
}

var vocabularyFile = sync.OnceValues(func() (v vocabularyText, err error) {
	f, err := os.Open(filepath.Join(referenceDir, "tokenizer", "smollm2_vocabulary.json.gz"))
	if err != nil {
		return v, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return v, err
	}
	return v, json.NewDecoder(z).Decode(&v)
})

// vocabulary reads SmolLM2's vocabulary once for all tests.
var vocabulary = sync.OnceValues(func() (*tokenizer.Tokenizer, error) {
	v, err := vocabularyFile()
	if err != nil {
		return nil, err
	}
	return tokenizer.New(tokenizer.Options{Tokens: v.Tokens, Merges: v.Merges, Types: v.Types, PreTokenizer: v.Pre})
})

func newChatML(tb testing.TB, o Options) *Vendor {
	tb.Helper()
	tok, err := vocabulary()
	if err != nil {
		tb.Fatal(err)
	}
	c, err := NewChatML(tok, o)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// extended is SmolLM2's vocabulary with more special tokens.
func extended(tb testing.TB, specials ...string) *tokenizer.Tokenizer {
	tb.Helper()
	v, err := vocabularyFile()
	if err != nil {
		tb.Fatal(err)
	}
	have := map[string]bool{}
	for _, token := range v.Tokens {
		have[token] = true
	}
	for _, s := range specials {
		if !have[s] {
			have[s] = true
			v.Tokens, v.Types = append(v.Tokens[:len(v.Tokens):len(v.Tokens)], s),
				append(v.Types[:len(v.Types):len(v.Types)], tokenizer.TypeControl)
		}
	}
	tok, err := tokenizer.New(tokenizer.Options{Tokens: v.Tokens, Merges: v.Merges, Types: v.Types,
		PreTokenizer: v.Pre})
	if err != nil {
		tb.Fatal(err)
	}
	return tok
}
