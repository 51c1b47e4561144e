package learntest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
)

// WriteToyModel writes a GGUF file with a random decoder of two layers over bytes, prompted in ChatML: a whole run of
// it takes seconds, and it does nothing sensible. More tokens may be named, of which none was ever trained: all have
// the same row.
func WriteToyModel(t testing.TB, path string, untrained ...string) {
	t.Helper()
	const hidden, ffn, heads, kvHeads, layers = 24, 40, 6, 2, 2
	tokens, types := byteTokens()
	for _, special := range []string{"<|im_start|>", "<|im_end|>"} {
		tokens, types = append(tokens, special), append(types, 3)
	}
	tokens, types = append(tokens, "th"), append(types, 1)
	g := &gguf{trained: len(tokens)}
	for _, token := range untrained {
		tokens, types = append(tokens, token), append(types, 4)
	}
	g.meta("general.architecture", "llama")
	g.meta("general.name", "toy")
	for key, n := range map[string]uint32{"block_count": layers, "embedding_length": hidden, "feed_forward_length": ffn,
		"attention.head_count": heads, "attention.head_count_kv": kvHeads, "vocab_size": uint32(len(tokens)),
		"context_length": 8192} {
		g.meta("llama."+key, n)
	}
	g.meta("llama.rope.freq_base", float32(10000))
	g.meta("llama.attention.layer_norm_rms_epsilon", float32(1e-5))
	g.meta("tokenizer.ggml.model", "gpt2")
	g.meta("tokenizer.ggml.pre", "smollm")
	g.meta("tokenizer.ggml.tokens", tokens)
	g.meta("tokenizer.ggml.token_type", types)
	g.meta("tokenizer.ggml.merges", []string{"t h"})
	g.tensor("token_embd.weight", hidden, len(tokens))
	g.tensor("output_norm.weight", hidden)
	for layer := range layers {
		for name, shape := range map[string][]int{
			"attn_norm": {hidden}, "ffn_norm": {hidden}, "attn_q": {hidden, hidden},
			"attn_k": {hidden, hidden / heads * kvHeads}, "attn_v": {hidden, hidden / heads * kvHeads},
			"attn_output": {hidden, hidden}, "ffn_gate": {hidden, ffn}, "ffn_up": {hidden, ffn},
			"ffn_down": {ffn, hidden},
		} {
			g.tensor(fmt.Sprintf("blk.%d.%s.weight", layer, name), shape...)
		}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, g.bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// imEnd is the id of <|im_end|>.
const imEnd = 257

// byteTokens are the 256 bytes as byte-level BPE writes them: itself where it is printable, else a letter from U+0100
// on.
func byteTokens() (tokens []string, types []int32) {
	next := rune(256)
	for b := range rune(256) {
		r := b
		if !(b >= '!' && b <= '~' || b >= '¡' && b <= '¬' || b >= '®' && b <= 'ÿ') {
			r, next = next, next+1
		}
		tokens, types = append(tokens, string(r)), append(types, 1)
	}
	return tokens, types
}

// gguf collects the parts of a file of format version 3.
type gguf struct {
	trained              int // tokens with a row of their own
	numMeta, numTensors  uint64
	header, infos, words bytes.Buffer
}

func (g *gguf) text(b *bytes.Buffer, s string) {
	_ = binary.Write(b, binary.LittleEndian, uint64(len(s))) // a buffer takes everything
	b.WriteString(s)
}

func (g *gguf) meta(key string, value any) {
	put := func(values ...any) {
		for _, v := range values {
			_ = binary.Write(&g.header, binary.LittleEndian, v)
		}
	}
	g.numMeta++
	g.text(&g.header, key)
	switch v := value.(type) {
	case uint32:
		put(uint32(4), v)
	case float32:
		put(uint32(6), v)
	case string:
		put(uint32(8))
		g.text(&g.header, v)
	case []string:
		put(uint32(9), uint32(8), uint64(len(v)))
		for _, s := range v {
			g.text(&g.header, s)
		}
	case []int32:
		put(uint32(9), uint32(5), uint64(len(v)), v)
	default:
		panic("gguf: no code for this type")
	}
}

// tensor adds random numbers that depend on name alone; norms are near 1. The innermost dimension comes first.
func (g *gguf) tensor(name string, shape ...int) {
	g.numTensors++
	g.text(&g.infos, name)
	size := 1
	_ = binary.Write(&g.infos, binary.LittleEndian, uint32(len(shape)))
	for _, n := range shape {
		_ = binary.Write(&g.infos, binary.LittleEndian, uint64(n))
		size *= n
	}
	for g.words.Len()%32 != 0 {
		g.words.WriteByte(0)
	}
	_ = binary.Write(&g.infos, binary.LittleEndian, uint32(0)) // float32
	_ = binary.Write(&g.infos, binary.LittleEndian, uint64(g.words.Len()))
	seed := 0
	for _, c := range name {
		seed = seed*31 + int(c)
	}
	for i := range size {
		at := i
		if name == "token_embd.weight" {
			at = min(i/shape[0], g.trained)*shape[0] + i%shape[0]
		}
		x := 0.3 * math.Sin(float64(seed%7919+at)*12.9898)
		switch {
		case len(shape) == 1:
			x = 1 + x/3
		case name == "token_embd.weight" && i/shape[0] == imEnd:
			x *= 5 // so that some completions end by themselves, and others do not
		}
		_ = binary.Write(&g.words, binary.LittleEndian, float32(x))
	}
}

func (g *gguf) bytes() []byte {
	var b bytes.Buffer
	b.WriteString("GGUF")
	_ = binary.Write(&b, binary.LittleEndian, uint32(3))
	_ = binary.Write(&b, binary.LittleEndian, []uint64{g.numTensors, g.numMeta})
	b.Write(g.header.Bytes())
	b.Write(g.infos.Bytes())
	for b.Len()%32 != 0 {
		b.WriteByte(0)
	}
	b.Write(g.words.Bytes())
	return b.Bytes()
}
