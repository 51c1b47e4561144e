package tokenizer

import (
	"bytes"
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
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

var cache = flag.String("tokenizers", "", "folder of real vocabularies: make_tokenizers.py fetches them and gives it")

// hashes are of one tokenizer's answers, eight digits for each block of texts.
type hashes string

type familyGolden struct {
	Fragments      fragments
	Block          int
	Families, Real map[string]hashes

	Normalizers map[string]json.RawMessage
	Characters  map[string]hashes // of what each normalizer does to every character
	Clusters    map[string]hashes // of what a table of rewrites does to four characters, by the first
}

func readGolden(tb testing.TB) familyGolden {
	tb.Helper()
	var g familyGolden
	readReference(tb, "golden.json.gz", &g)
	return g
}

// readFamilies reads the small tokenizers. Tables of rewrites are kept apart: "@nmt_nfkc" names one.
func readFamilies(tb testing.TB) map[string]json.RawMessage {
	tb.Helper()
	var families map[string]json.RawMessage
	readReference(tb, "families.json.gz", &families)
	for name, text := range families {
		families[name] = resolve(tb, text)
	}
	return families
}

// resolve writes the tables that a text names.
func resolve(tb testing.TB, text []byte) []byte {
	tb.Helper()
	if !bytes.Contains(text, []byte(`"@`)) {
		return text
	}
	var tables map[string]string
	readReference(tb, "charsmaps.json.gz", &tables)
	for name, table := range tables {
		text = bytes.ReplaceAll(text, []byte(`"@`+name+`"`), []byte(`"`+table+`"`))
	}
	return text
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

// stride is from one block of texts to the next that is compared. A prime takes texts of all kinds, of which every
// 400th is a long one.
func stride() int {
	if soak || *cache != "" {
		return 1
	}
	return 7
}

func (g *familyGolden) compare(t *testing.T, tok *Tokenizer, want hashes) {
	t.Helper()
	wrong := 0
	for block := 0; block < len(want)/8; block += stride() {
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
				"python testdata/reference/make_tokenizers.py --show %s %d %d", first, first+g.Block-1,
				filepath.Base(t.Name()), first, first+g.Block-1)
		}
	}
	if wrong > 0 {
		t.Errorf("%d of %d blocks differ", wrong, len(want)/8)
	}
}

func TestFamiliesEqualHuggingFace(t *testing.T) {
	g := readGolden(t)
	families := readFamilies(t)
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

// TestNormalizersOfEveryCharacter asks about each character alone, behind a letter, before a mark and before letters.
func TestNormalizersOfEveryCharacter(t *testing.T) {
	const block = 4096
	g := readGolden(t)
	if len(g.Characters) < 4 {
		t.Fatalf("%d normalizers", len(g.Characters))
	}
	for _, name := range slices.Sorted(maps.Keys(g.Characters)) {
		b := &builder{file: name}
		normalize := b.normalizer(part{raw: jsontext.Value(resolve(t, g.Normalizers[name]))})
		if b.err != nil {
			t.Fatal(b.err)
		}
		for first := rune(0); first <= unicode.MaxRune; first += block {
			if !soak && first >= 0x30000 && first/block%16 != 0 { // nearly all of them are unassigned or private
				continue
			}
			var all []string
			for r := first; r < first+block; r++ {
				if c := string(r); utf8.ValidRune(r) {
					all = append(all, normalize(c), normalize("a"+c), normalize(c+"\u0301"), normalize(c+"k\u0323"))
				}
			}
			sum := sha256.Sum256([]byte(strings.Join(all, "\n")))
			at := int(first) / block * 8
			if got := hex.EncodeToString(sum[:4]); got != string(g.Characters[name][at:at+8]) {
				t.Errorf("%s: characters from %U on differ", name, first)
			}
		}
	}
}

// TestClusters has every four of some characters rewritten by a table that shows where grapheme clusters end.
func TestClusters(t *testing.T) {
	g := readGolden(t)
	b := &builder{file: "clusters"}
	normalize := b.normalizer(part{raw: resolve(t,
		[]byte(`{"type":"Precompiled","precompiled_charsmap":"@clusters"}`))})
	if b.err != nil || len(g.Clusters) < 16 {
		t.Fatal(len(g.Clusters), b.err)
	}
	chars := []string{"a", "k", "\u0301", "\u200d", "\ufe0f", "©", "👍", "ᄀ", "ᅡ", "ᆨ", "가", "각", "\u0600", "\r",
		"\n", "\u200e"}
	for _, first := range chars {
		var all []string
		for _, second := range chars {
			for _, third := range chars {
				for _, fourth := range chars {
					all = append(all, normalize(first+second+third+fourth))
				}
			}
		}
		sum := sha256.Sum256([]byte(strings.Join(all, "\x00")))
		if got := hex.EncodeToString(sum[:4]); got != string(g.Clusters[first]) {
			t.Errorf("what begins with %q differs", first)
		}
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

// TestRealGGUFEqualsTokenizerJSON has the same model's vocabulary in both forms.
func TestRealGGUFEqualsTokenizerJSON(t *testing.T) {
	if *cache == "" {
		t.Skip("no -tokenizers folder: make parity has one")
	}
	g := readGolden(t)
	for theirs, ours := range map[string]string{"llama-spm": "llama-spm", "llama-bpe": "llama3", "qwen2": "qwen3"} {
		t.Run(theirs, func(t *testing.T) {
			v := readGGUF(t, filepath.Join(*cache, theirs+".gguf.json"))
			a, err := New(v.Options)
			if err != nil {
				t.Fatal(err)
			}
			b, err := Load(filepath.Join(*cache, ours+".json"))
			if err != nil {
				t.Fatal(err)
			}
			for i := range 4000 {
				text := g.Fragments.text(i)
				if got, want := a.EncodeOrdinary(text), b.EncodeOrdinary(text); !slices.Equal(got, want) {
					t.Errorf("text %d, %.100q:\n got  %v\n want %v", i, text, head(got), head(want))
				}
			}
		})
	}
}

type ggufVocabulary struct {
	Options Options
	Texts   []string
	IDs     [][]int32
}

func readGGUF(tb testing.TB, path string) ggufVocabulary {
	tb.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	var v ggufVocabulary
	if err := json.Unmarshal(data, &v); err != nil {
		tb.Fatal(err)
	}
	return v
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
			v := readGGUF(t, file)
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
