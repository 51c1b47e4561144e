package tokenizer

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"path/filepath"
	"strings"
	"testing"
)

// TestEqualsSentencePiece has vocabularies as a GGUF holds them, and SentencePiece's own answers.
func TestEqualsSentencePiece(t *testing.T) {
	g := readGolden(t)
	var models map[string]struct {
		Options Options
		Hashes  string
	}
	readReference(t, "sentencepiece.json.gz", &models)
	if len(models) < 3 {
		t.Fatalf("%d vocabularies", len(models))
	}
	for name, m := range models {
		t.Run(name, func(t *testing.T) {
			tok, err := New(m.Options)
			if err != nil {
				t.Fatal(err)
			}
			encode, special := tok.EncodeOrdinary, []string(nil)
			if strings.HasSuffix(name, "defined") {
				encode, special = tok.Encode, []string{"<unk>", "<s>", "</s>"}
			}
			for block := range len(m.Hashes) / 8 {
				h := sha256.New()
				first := block * g.Block
				for i := first; i < first+g.Block; i++ {
					text := g.Fragments.text(i)
					for _, marker := range special {
						text = strings.ReplaceAll(text, marker, "")
					}
					ids := encode(text)
					_ = binary.Write(h, binary.LittleEndian, int32(4*len(ids))) // a hash takes everything
					_ = binary.Write(h, binary.LittleEndian, ids)
					d := newDraw(i)
					var drawn []int32
					for range d.pick(12) {
						// Of bytes that are not UTF-8 Hugging Face's decoders make something else than SentencePiece.
						if id := 1 + int32(d.pick(tok.NumTokens()-1)); m.Options.Types[id] != TypeByte {
							drawn = append(drawn, id)
						}
					}
					for _, text := range []string{tok.DecodeOrdinary(ids), tok.DecodeOrdinary(drawn)} {
						_ = binary.Write(h, binary.LittleEndian, int32(len(text)))
						h.Write([]byte(text))
					}
				}
				if hex.EncodeToString(h.Sum(nil))[:8] != m.Hashes[8*block:8*block+8] {
					t.Errorf("texts %d to %d differ; for the reference's answers: "+
						"python testdata/reference/make_sentencepiece.py --show %s %d %d", first, first+g.Block-1,
						filepath.Base(t.Name()), first, first+g.Block-1)
				}
			}
			if len(m.Hashes) < 8*200 {
				t.Error("the golden file holds too few blocks")
			}
		})
	}
}
