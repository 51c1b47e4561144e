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

// vocabulary reads SmolLM2's vocabulary once for all tests.
var vocabulary = sync.OnceValues(func() (*tokenizer.Tokenizer, error) {
	f, err := os.Open(filepath.Join(referenceDir, "tokenizer", "smollm2_vocabulary.json.gz"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	var v struct {
		Pre            string
		Tokens, Merges []string
		Types          []int32
	}
	if err := json.NewDecoder(z).Decode(&v); err != nil {
		return nil, err
	}
	return tokenizer.New(tokenizer.Options{Tokens: v.Tokens, Merges: v.Merges, Types: v.Types, PreTokenizer: v.Pre})
})

func newChatML(tb testing.TB, o Options) *ChatML {
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
