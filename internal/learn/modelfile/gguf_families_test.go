package modelfile

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// ggufFamily is a tiny model of a family twice: as transformers keeps it, and what llama.cpp's converter makes of it.
type ggufFamily struct {
	config  string // config.json, without the sizes that all share
	arch    string
	keys    []pair // likewise, without the architecture's name before them
	parts   string // of a layer: GGUF's name, Hugging Face's, and rows x columns
	whole   string
	factors map[string][]float32 // tensors of rope factors
}

const (
	norms = "attn_norm.weight=input_layernorm.weight:16 ffn_norm.weight=post_attention_layernorm.weight:16 "
	heads = `attn_q.weight=self_attn.q_proj.weight:16x16 attn_k.weight=self_attn.k_proj.weight:8x16
		attn_v.weight=self_attn.v_proj.weight:8x16 attn_output.weight=self_attn.o_proj.weight:16x16 `
	mlp = `ffn_gate.weight=mlp.gate_proj.weight:24x16 ffn_up.weight=mlp.up_proj.weight:24x16
		ffn_down.weight=mlp.down_proj.weight:16x24 `
	qkv = "attn_q.bias=self_attn.q_proj.bias:16 attn_k.bias=self_attn.k_proj.bias:8 " +
		"attn_v.bias=self_attn.v_proj.bias:8 "
	more = `attn_output.bias=self_attn.o_proj.bias:16 ffn_gate.bias=mlp.gate_proj.bias:24
		ffn_up.bias=mlp.up_proj.bias:24 ffn_down.bias=mlp.down_proj.bias:16 `
	wide = `attn_q.weight=self_attn.q_proj.weight:24x16 attn_k.weight=self_attn.k_proj.weight:12x16
		attn_v.weight=self_attn.v_proj.weight:12x16 attn_output.weight=self_attn.o_proj.weight:16x24 `
	each  = "attn_q_norm.weight=self_attn.q_norm.weight:12 attn_k_norm.weight=self_attn.k_norm.weight:12 "
	posts = `attn_norm.weight=input_layernorm.weight:16 ffn_norm.weight=pre_feedforward_layernorm.weight:16
		post_attention_norm.weight=post_attention_layernorm.weight:16
		post_ffw_norm.weight=post_feedforward_layernorm.weight:16 `
	fused = `attn_qkv.weight=self_attn.qkv_proj.weight:32x16 attn_output.weight=self_attn.o_proj.weight:16x16
		ffn_up.weight=mlp.gate_up_proj.weight:48x16 ffn_down.weight=mlp.down_proj.weight:16x24 `
	tied = "token_embd.weight=model.embed_tokens.weight:3x16 output_norm.weight=model.norm.weight:16 "
	own  = tied + "output.weight=lm_head.weight:3x16 "
)

// wideHeads are heads wider than their share of the width.
func wideHeads(more ...pair) []pair {
	return append(more, pair{"attention.key_length", 12}, pair{"attention.value_length", 12})
}

func ggufCases() map[string]ggufFamily {
	return map[string]ggufFamily{
		"llama": {
			config: `"model_type": "llama", "tie_word_embeddings": false, "attention_bias": true, "mlp_bias": true`,
			arch:   "llama", parts: norms + heads + mlp + qkv + more, whole: own},
		"llama 3": {config: `"model_type": "llama", "head_dim": 12, "tie_word_embeddings": true, "rope_theta": 500000.0,
			"rope_scaling": {"rope_type": "llama3", "factor": 32.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
			"original_max_position_embeddings": 8192}`,
			arch: "llama", keys: wideHeads(pair{"rope.freq_base", 5e5}, pair{"rope.dimension_count", 12}),
			parts: norms + wide + mlp, whole: tied,
			factors: map[string][]float32{"rope_freqs.weight": llama3Factors()}},
		"smollm3": {config: `"model_type": "smollm3", "rope_theta": 1e6`, arch: "smollm3",
			keys: []pair{{"rope.freq_base", 1e6}}, parts: norms + heads + mlp, whole: tied},
		"qwen2": {config: `"model_type": "qwen2", "tie_word_embeddings": false, "rope_theta": 1e6,
			"rope_scaling": {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32}`,
			arch: "qwen2", keys: []pair{
				{"rope.freq_base", 1e6}, {"rope.scaling.type", "yarn"}, {"rope.scaling.factor", 4.0},
				{"rope.scaling.original_context_length", 32},
			},
			parts: norms + heads + mlp + qkv, whole: own},
		"qwen3": {config: `"model_type": "qwen3", "tie_word_embeddings": true, "head_dim": 12`, arch: "qwen3",
			keys: wideHeads(), parts: norms + wide + mlp + each, whole: tied},
		"phi3": {config: `"model_type": "phi3", "sliding_window": 9, "partial_rotary_factor": 0.5,
			"original_max_position_embeddings": 32, "rope_scaling": {"type": "longrope", "short_factor": [1.5],
			"long_factor": [4.25], "attention_factor": 1.25}`,
			arch: "phi3", keys: []pair{{"attention.sliding_window", 9}, {"rope.dimension_count", 2},
				{"rope.scaling.original_context_length", 32}, {"rope.scaling.attn_factor", 1.25}},
			parts: norms + fused, whole: own,
			factors: map[string][]float32{"rope_factors_short.weight": {1.5}, "rope_factors_long.weight": {4.25}}},
		"gemma2": {config: `"model_type": "gemma2", "head_dim": 12, "query_pre_attn_scalar": 12, "sliding_window": 6,
			"attn_logit_softcapping": 20.0, "final_logit_softcapping": 10.0`,
			arch: "gemma2", keys: wideHeads(pair{"attention.sliding_window", 6}, pair{"attn_logit_softcapping", 20.0},
				pair{"final_logit_softcapping", 10.0}),
			parts: posts + wide + mlp, whole: tied},
		"gemma3": {config: `"model_type": "gemma3_text", "head_dim": 12, "query_pre_attn_scalar": 12, "sliding_window": 6,
			"rope_theta": 1e6, "rope_local_base_freq": 1e4,
			"rope_scaling": {"rope_type": "linear", "factor": 8.0}`,
			arch: "gemma3", keys: wideHeads(pair{"attention.sliding_window", 6}, pair{"rope.freq_base", 1e6},
				pair{"rope.scaling.type", "linear"}, pair{"rope.scaling.factor", 8.0}),
			parts: posts + wide + mlp + each, whole: tied},
	}
}

// llama3Factors are those of heads of 12: of the six pairs the first three turn often in 8192 tokens, the fourth 1.8
// times.
func llama3Factors() []float32 {
	turns := 8192 / (2 * math.Pi * math.Sqrt(5e5))
	smooth := (turns - 1) / 3
	return []float32{1, 1, 1, float32(1 / ((1-smooth)/32 + smooth)), 32, 32}
}

// ggufLayers is enough for Gemma 3 to have a layer without a window, and SmolLM3 two without positions.
const ggufLayers = 8

// A model's GGUF file is read as its folder: the same configuration, the same tensors, and it is written as such a
// folder.
func TestGGUFIsItsFolder(t *testing.T) {
	for name, c := range ggufCases() {
		t.Run(name, func(t *testing.T) {
			config := fmt.Sprintf(`{"num_hidden_layers": %d, "hidden_size": 16, "intermediate_size": 24, "num_attention_heads": %d,
				"num_key_value_heads": %d, "vocab_size": 3, "max_position_embeddings": 128, "rms_norm_eps": 1e-06, "hidden_act": "silu",
				%s}`, ggufLayers, c.numHeads(), c.numHeads()/2, c.config)
			if strings.HasPrefix(c.arch, "gemma") {
				config = strings.Replace(config, `"hidden_act": "silu"`, `"hidden_activation": "gelu_pytorch_tanh"`, 1)
			}
			dir := t.TempDir()
			put(t, dir, configFile, config)
			tensors, gguf := c.tensors()
			if err := WriteSafetensors(filepath.Join(dir, weightsFile), tensors, nil); err != nil {
				t.Fatal(err)
			}
			want, err := Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer want.Close()
			path := write(t, ggufOf(c.kvs(), gguf...))
			got, err := Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer got.Close()
			sameModel(t, got, want)
			again := t.TempDir()
			if _, err := got.CopyRest(again, ""); err != nil {
				t.Fatal(err)
			}
			if err := WriteSafetensors(filepath.Join(again, weightsFile), tensors, nil); err != nil {
				t.Fatal(err)
			}
			written, err := Open(again)
			if err != nil {
				t.Fatal(err)
			}
			defer written.Close()
			sameModel(t, written, want)
		})
	}
}

func sameModel(t *testing.T, got, want *Model) {
	t.Helper()
	a, b := got.Config, want.Config
	a.Name, b.Name = "", ""
	if !reflect.DeepEqual(a, b) {
		t.Errorf("configuration:\n%+v\nwant\n%+v", a, b)
	}
	if names := slices.Sorted(slices.Values(want.Names())); !slices.Equal(got.Names(), names) {
		t.Fatalf("tensors: %v\nwant %v", got.Names(), names)
	}
	for _, name := range want.Names() {
		x, dims, err := got.Tensor(name)
		y, wantDims, wantErr := want.Tensor(name)
		if err != nil || wantErr != nil || !slices.Equal(dims, wantDims) || !slices.Equal(x, y) {
			t.Errorf("%s: %v %v, want %v %v; %v", name, dims, x, wantDims, y, err)
		}
	}
}

// numHeads is 4; in the families with wide heads 2.
func (c ggufFamily) numHeads() int {
	if c.headDim() == 12 {
		return 2
	}
	return 4
}

func (c ggufFamily) headDim() int {
	if strings.Contains(c.parts, wide) {
		return 12
	}
	return 4
}

func (c ggufFamily) kvs() []pair {
	kvs := []pair{{"general.architecture", c.arch}, {"tokenizer.ggml.model", "gpt2"}, {"tokenizer.ggml.pre", "smollm"},
		{"tokenizer.ggml.tokens", []string{"a", "b", "ab"}}, {"tokenizer.ggml.merges", []string{"a b"}}}
	sizes := []pair{{"block_count", ggufLayers}, {"embedding_length", 16}, {"feed_forward_length", 24},
		{"attention.head_count", c.numHeads()}, {"attention.head_count_kv", c.numHeads() / 2}, {"context_length", 128},
		{"attention.layer_norm_rms_epsilon", 1e-6}}
	for _, p := range append(sizes, c.keys...) {
		kvs = append(kvs, pair{c.arch + "." + p.key, p.value})
	}
	return kvs
}

// tensors are the model's, in both forms.
func (c ggufFamily) tensors() (ours []NewTensor, theirs []stored) {
	add := func(list, theirPrefix, ourPrefix string) {
		for _, item := range strings.Fields(list) {
			their, rest, _ := strings.Cut(item, "=")
			our, size, _ := strings.Cut(rest, ":")
			rows, cols := 0, 1
			dims := []int{0}
			if n, _ := fmt.Sscanf(size, "%dx%d", &rows, &cols); n == 2 {
				dims = []int{rows, cols}
			} else {
				dims[0] = rows
			}
			x := make([]float32, rows*cols)
			for i := range x { // so that adding one and taking it away again loses nothing
				x[i] = float32(crc32.ChecksumIEEE(fmt.Append(nil, ourPrefix, our, i))%255)/128 - 1
			}
			read := func() ([]float32, error) { return x, nil }
			ours = append(ours, NewTensor{Name: ourPrefix + our, DType: "F32", Dims: dims, Read: read})
			shape := []uint64{uint64(cols), uint64(rows)}
			if len(dims) == 1 {
				shape = []uint64{uint64(rows)}
			}
			theirs = append(theirs, stored{theirPrefix + their, shape, 0, floatBytes(c.converted(our, x, rows, cols))})
		}
	}
	add(c.whole, "", "")
	for layer := range ggufLayers {
		add(c.parts, fmt.Sprintf("blk.%d.", layer), fmt.Sprintf("model.layers.%d.", layer))
	}
	for name, x := range c.factors {
		theirs = append(theirs, stored{name, []uint64{uint64(len(x))}, 0, floatBytes(x)})
	}
	return ours, theirs
}

// converted is what llama.cpp's converter does to a tensor.
func (c ggufFamily) converted(name string, x []float32, rows, cols int) []float32 {
	rotated := strings.Contains(name, "q_proj") || strings.Contains(name, "k_proj")
	if rotated && (c.arch == "llama" || c.arch == "smollm3") {
		return permute(x, rows/c.headDim(), c.headDim(), cols)
	}
	if x = slices.Clone(x); strings.HasPrefix(c.arch, "gemma") && strings.HasSuffix(name, "norm.weight") {
		for i := range x {
			x[i]++
		}
	}
	return x
}

// A file that holds a tied head too, as a copy that was rounded another way, is tied, and the head's rows are taken.
func TestTiedHeadBesideItsEmbedding(t *testing.T) {
	c := ggufCases()["qwen3"]
	_, tensors := c.tensors()
	head := tensors[0]
	x := floats(head.data, "F32")
	rounded := slices.Clone(x)
	for i := range rounded {
		rounded[i] += 0.05 * float32(i%3-1)
	}
	other := slices.Clone(x)
	slices.Reverse(other)
	for _, test := range []struct {
		head []float32
		tied bool
	}{{rounded, true}, {other, false}} {
		both := append(slices.Clone(tensors), stored{"output.weight", head.shape, 0, floatBytes(test.head)})
		m, err := Open(write(t, ggufOf(c.kvs(), both...)))
		if err != nil {
			t.Fatal(err)
		}
		want := x
		if test.tied {
			want = test.head
		}
		got, _, err := m.Tensor("model.embed_tokens.weight")
		named := slices.Contains(m.Names(), "lm_head.weight")
		if err != nil || m.Config.TiedHead != test.tied || !slices.Equal(got, want) || named == test.tied {
			t.Errorf("tied %v: %v, %v, %v", test.tied, m.Config.TiedHead, got, err)
		}
		m.Close()
	}
}

// Rope factors that no Llama 3 has are refused.
func TestOtherRopeFactorsAreRefused(t *testing.T) {
	c := ggufCases()["llama 3"]
	factors := llama3Factors()
	factors[3] += 0.01
	c.factors = map[string][]float32{"rope_freqs.weight": factors}
	_, tensors := c.tensors()
	path := write(t, ggufOf(c.kvs(), tensors...))
	_, err := Open(path)
	wantFault(t, err, path, "Llama 3")
}

// The configuration that a GGUF file is written with is one, whatever else stands in the file.
func TestConfigOfGGUFIsJSON(t *testing.T) {
	c := ggufCases()["gemma3"]
	_, tensors := c.tensors()
	m, err := Open(write(t, ggufOf(append(c.kvs(), pair{"tokenizer.ggml.eos_token_id", 1}), tensors...)))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	dir := t.TempDir()
	if _, err := m.CopyRest(dir, "BF16"); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, configFile))
	var got map[string]any
	if err != nil || json.Unmarshal(text, &got) != nil {
		t.Fatalf("%s, %v", text, err)
	}
	if got["torch_dtype"] != "bfloat16" || got["eos_token_id"] != 1.0 || got["rms_norm_eps"] != 1e-6 ||
		!reflect.DeepEqual(got["architectures"], []any{"Gemma3ForCausalLM"}) {
		t.Errorf("%s", text)
	}
}
