package tokenizer

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"flag"
	"hash"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

var cache = flag.String("tokenizers", "", "folder of real vocabularies: make_tokenizers.py fetches them and gives it")

// hashes are of one tokenizer's answers, eight digits for each block of texts.
type hashes string

type familyGolden struct {
	Fragments      fragments
	Block          int
	Families, Real map[string]hashes
}

func readGolden(tb testing.TB) familyGolden {
	tb.Helper()
	var g familyGolden
	readReference(tb, "golden.json.gz", &g)
	return g
}

// answers hashes what a tokenizer does to one text, as Reference in make_tokenizers.py.
func answers(h hash.Hash, tok *Tokenizer, text string, i int) {
	ids := tok.Encode(text)
	d := newDraw(i)
	drawn := make([]int32, d.pick(12))
	for j := range drawn {
		drawn[j] = int32(d.pick(tok.NumTokens()))
	}
	for _, ids := range [][]int32{ids, tok.Wrap(ids), tok.EncodeOrdinary(text)} {
		_ = binary.Write(h, binary.LittleEndian, int32(4*len(ids))) // a hash takes everything
		_ = binary.Write(h, binary.LittleEndian, ids)
	}
	for _, text := range []string{tok.Decode(ids), tok.DecodeOrdinary(ids), tok.Decode(drawn)} {
		_ = binary.Write(h, binary.LittleEndian, int32(len(text)))
		h.Write([]byte(text))
	}
}

func (g *familyGolden) compare(t *testing.T, tok *Tokenizer, want hashes) {
	t.Helper()
	wrong := 0
	for block := range len(want) / 8 {
		h := sha256.New()
		first := block * g.Block
		for i := first; i < first+g.Block; i++ {
			answers(h, tok, g.Fragments.text(i), i)
		}
		if hex.EncodeToString(h.Sum(nil))[:8] == string(want[8*block:8*block+8]) {
			continue
		}
		if wrong++; wrong <= 3 {
			t.Errorf("texts %d to %d differ; for the reference's answers: "+
				"python testdata/reference/make_tokenizers.py --show %s %d %d", first, first+g.Block-1, filepath.Base(t.Name()), first, first+g.Block-1)
		}
	}
	if wrong > 0 {
		t.Errorf("%d of %d blocks differ", wrong, len(want)/8)
	}
}

func TestFamiliesEqualHuggingFace(t *testing.T) {
	g := readGolden(t)
	var families map[string]json.RawMessage
	readReference(t, "families.json.gz", &families)
	if len(g.Families) < 30 || len(g.Families) != len(families) {
		t.Fatalf("%d golden families for %d tokenizers", len(g.Families), len(families))
	}
	for _, name := range slices.Sorted(maps.Keys(families)) {
		t.Run(name, func(t *testing.T) {
			tok, err := Parse(name, families[name])
			if err != nil {
				t.Fatal(err)
			}
			if len(g.Families[name]) < 8*100 {
				t.Fatal("the golden file holds too few blocks")
			}
			g.compare(t, tok, g.Families[name])
		})
	}
}

// TestRealTokenizers takes the vocabularies that are fetched rather than committed; `make parity` runs it.
func TestRealTokenizers(t *testing.T) {
	if *cache == "" {
		t.Skip("no -tokenizers folder: make parity has one")
	}
	g := readGolden(t)
	for _, name := range slices.Sorted(maps.Keys(g.Real)) {
		t.Run(name, func(t *testing.T) {
			tok, err := Load(filepath.Join(*cache, name+".json"))
			if err != nil {
				t.Fatal(err)
			}
			g.compare(t, tok, g.Real[name])
		})
	}
}

// TestRealGGUF compares with llama.cpp's own texts and ids.
func TestRealGGUF(t *testing.T) {
	if *cache == "" {
		t.Skip("no -tokenizers folder: make parity has one")
	}
	files, err := filepath.Glob(filepath.Join(*cache, "*.gguf.json"))
	if err != nil || len(files) < 10 {
		t.Fatalf("%d vocabularies, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var v struct {
				Options Options
				Texts   []string
				IDs     [][]int32
			}
			if err := json.Unmarshal(data, &v); err != nil {
				t.Fatal(err)
			}
			tok, err := New(v.Options)
			if err != nil {
				t.Fatal(err)
			}
			for i, text := range v.Texts {
				if tok.normalize != nil && v.Options.Model == "gpt2" && tok.normalize(text) != text {
					continue // llama.cpp leaves out the vendor's NFC
				}
				if got := tok.EncodeOrdinary(text); !slices.Equal(got, v.IDs[i]) {
					t.Errorf("%q:\n got  %v\n want %v", text, head(got), head(v.IDs[i]))
				}
			}
		})
	}
}
