package modelfile

import (
	"compress/gzip"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// published are config.json files in the form in which models are published, with their facts; keys of no consequence
// are left out but for some.
var published = map[string]struct {
	text string
	want Config
}{
	"Qwen2.5-0.5B-Instruct": {`{"architectures": ["Qwen2ForCausalLM"], "attention_dropout": 0.0, "bos_token_id": 151643, "eos_token_id": 151645,
		"hidden_act": "silu", "hidden_size": 896, "initializer_range": 0.02, "intermediate_size": 4864, "max_position_embeddings": 32768,
		"max_window_layers": 21, "model_type": "qwen2", "num_attention_heads": 14, "num_hidden_layers": 2, "num_key_value_heads": 2,
		"rms_norm_eps": 1e-06, "rope_theta": 1000000.0, "sliding_window": 32768, "tie_word_embeddings": true, "torch_dtype": "bfloat16",
		"transformers_version": "4.43.1", "use_cache": true, "use_sliding_window": false, "vocab_size": 151936}`,
		Config{Architecture: "qwen2", NumLayers: 2, Hidden: 896, Intermediate: 4864, NumHeads: 14, NumKVHeads: 2,
			HeadDim: 64, VocabSize: 151936, MaxContext: 32768, NormEps: 1e-6, Rope: Rope{Theta: 1e6}, TiedHead: true,
			QKVBias: true, Layers: make([]Layer, 2)}},
	"Qwen3-4B": {`{"architectures": ["Qwen3ForCausalLM"], "attention_bias": false, "head_dim": 128, "hidden_act": "silu", "hidden_size": 2560,
		"intermediate_size": 9728, "max_position_embeddings": 40960, "max_window_layers": 36, "model_type": "qwen3", "num_attention_heads": 32,
		"num_hidden_layers": 1, "num_key_value_heads": 8, "rms_norm_eps": 1e-06, "rope_scaling": null, "rope_theta": 1000000,
		"sliding_window": null, "tie_word_embeddings": true, "use_sliding_window": false, "vocab_size": 151936}`,
		Config{Architecture: "qwen3", NumLayers: 1, Hidden: 2560, Intermediate: 9728, NumHeads: 32, NumKVHeads: 8,
			HeadDim: 128, VocabSize: 151936, MaxContext: 40960, NormEps: 1e-6, Rope: Rope{Theta: 1e6}, TiedHead: true,
			QKNorm: true, Layers: make([]Layer, 1)}},
	"Llama-3.2-1B": {`{"architectures": ["LlamaForCausalLM"], "attention_bias": false, "eos_token_id": [128001, 128008, 128009], "head_dim": 64,
		"hidden_act": "silu", "hidden_size": 2048, "intermediate_size": 8192, "max_position_embeddings": 131072, "mlp_bias": false,
		"model_type": "llama", "num_attention_heads": 32, "num_hidden_layers": 16, "num_key_value_heads": 8, "pretraining_tp": 1,
		"rms_norm_eps": 1e-05, "rope_scaling": {"factor": 32.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0,
		"original_max_position_embeddings": 8192, "rope_type": "llama3"}, "rope_theta": 500000.0, "tie_word_embeddings": true, "vocab_size": 128256}`,
		Config{
			Architecture: "llama",
			NumLayers:    16,
			Hidden:       2048,
			Intermediate: 8192,
			NumHeads:     32,
			NumKVHeads:   8,
			HeadDim:      64,
			VocabSize:    128256,
			MaxContext:   131072,
			NormEps:      1e-5,
			TiedHead:     true,
			Rope: Rope{Theta: 5e5, Kind: "llama3", Factor: 32, LowFactor: 1, HighFactor: 4,
				OriginalContext: 8192},
		}},
	"SmolLM2-135M": {`{"hidden_act": "silu", "hidden_size": 576, "intermediate_size": 1536, "is_llama_config": true, "max_position_embeddings": 8192,
		"model_type": "llama", "num_attention_heads": 9, "num_hidden_layers": 30, "num_key_value_heads": 3, "pretraining_tp": 1, "rms_norm_eps": 1e-05,
		"rope_interleaved": false, "rope_scaling": null, "rope_theta": 100000, "tie_word_embeddings": true, "vocab_size": 49152,
		"transformers.js_config": {"kv_cache_dtype": {"q4f16": "float16"}}}`,
		Config{Architecture: "llama", NumLayers: 30, Hidden: 576, Intermediate: 1536, NumHeads: 9, NumKVHeads: 3,
			HeadDim: 64, VocabSize: 49152, MaxContext: 8192, NormEps: 1e-5, Rope: Rope{Theta: 1e5}, TiedHead: true}},
	"SmolLM3-3B": {`{"attention_bias": false, "hidden_act": "silu", "hidden_size": 2048, "intermediate_size": 11008,
		"layer_types": ["full_attention", "full_attention", "full_attention", "full_attention"], "max_position_embeddings": 65536,
		"max_window_layers": 28, "mlp_bias": false, "model_type": "smollm3", "no_rope_layer_interval": 4, "no_rope_layers": [1, 1, 1, 0],
		"num_attention_heads": 16, "num_hidden_layers": 4, "num_key_value_heads": 4, "pretraining_tp": 2, "rms_norm_eps": 1e-06,
		"rope_scaling": null, "rope_theta": 5000000.0, "sliding_window": null, "use_sliding_window": false, "vocab_size": 128256}`,
		Config{Architecture: "smollm3", NumLayers: 4, Hidden: 2048, Intermediate: 11008, NumHeads: 16, NumKVHeads: 4,
			HeadDim: 128, VocabSize: 128256, MaxContext: 65536, NormEps: 1e-6, Rope: Rope{Theta: 5e6},
			TiedHead: true, Layers: []Layer{
				{},
				{},
				{},
				{NoRope: true},
			}}},
	"Mistral-7B-v0.1": {`{"hidden_act": "silu", "hidden_size": 4096, "intermediate_size": 14336, "max_position_embeddings": 32768,
		"model_type": "mistral", "num_attention_heads": 32, "num_hidden_layers": 2, "num_key_value_heads": 8, "rms_norm_eps": 1e-05,
		"rope_theta": 10000.0, "sliding_window": 4096, "tie_word_embeddings": false, "vocab_size": 32000}`,
		Config{Architecture: "mistral", NumLayers: 2, Hidden: 4096, Intermediate: 14336, NumHeads: 32, NumKVHeads: 8,
			HeadDim: 128, VocabSize: 32000, MaxContext: 32768, NormEps: 1e-5, Rope: Rope{Theta: 1e4}, Layers: []Layer{
				{Window: 4096},
				{Window: 4096},
			}}},
	"Mistral-7B-v0.3": {`{"hidden_act": "silu", "hidden_size": 4096, "intermediate_size": 14336, "max_position_embeddings": 32768,
		"model_type": "mistral", "num_attention_heads": 32, "num_hidden_layers": 2, "num_key_value_heads": 8, "rms_norm_eps": 1e-05,
		"rope_theta": 1000000.0, "sliding_window": null, "tie_word_embeddings": false, "vocab_size": 32768}`,
		Config{Architecture: "mistral", NumLayers: 2, Hidden: 4096, Intermediate: 14336, NumHeads: 32, NumKVHeads: 8,
			HeadDim: 128, VocabSize: 32768, MaxContext: 32768, NormEps: 1e-5, Rope: Rope{Theta: 1e6}}},
	"a Phi-4-mini of heads of 8": {`{"attention_bias": false, "auto_map": {"AutoConfig": "configuration_phi3.Phi3Config"}, "embd_pdrop": 0.0,
		"full_attn_mod": 1, "hidden_act": "silu", "hidden_size": 16, "intermediate_size": 8192, "interpolate_factor": 1, "lm_head_bias": false,
		"max_position_embeddings": 131072, "mlp_bias": false, "model_type": "phi3", "num_attention_heads": 2, "num_hidden_layers": 1,
		"num_key_value_heads": 1, "original_max_position_embeddings": 4096, "partial_rotary_factor": 0.75, "resid_pdrop": 0.0, "rms_norm_eps": 1e-05,
		"rope_scaling": {"long_factor": [1, 1.5, 2], "short_factor": [1.0, 1.0, 1.0], "type": "longrope"}, "rope_theta": 10000.0,
		"sliding_window": 262144, "tie_word_embeddings": true, "vocab_size": 200064}`,
		Config{
			Architecture: "phi3", NumLayers: 1, Hidden: 16, Intermediate: 8192, NumHeads: 2, NumKVHeads: 1, HeadDim: 8,
			VocabSize: 200064, MaxContext: 131072, NormEps: 1e-5, TiedHead: true, FusedLinears: true, Layers: []Layer{
				{Window: 262144},
			},
			Rope: Rope{Theta: 1e4, Dims: 6, Kind: "longrope", OriginalContext: 4096, ShortFactor: []float64{1, 1, 1},
				LongFactor: []float64{1, 1.5, 2}, Magnitude: math.Sqrt(1 + math.Log(32)/math.Log(4096))},
		}},
	"gemma-2-2b": {`{"attention_bias": false, "attn_logit_softcapping": 50.0, "cache_implementation": "hybrid", "final_logit_softcapping": 30.0,
		"head_dim": 256, "hidden_act": "gelu_pytorch_tanh", "hidden_activation": "gelu_pytorch_tanh", "hidden_size": 2304,
		"intermediate_size": 9216, "max_position_embeddings": 8192, "model_type": "gemma2", "num_attention_heads": 8, "num_hidden_layers": 3,
		"num_key_value_heads": 4, "query_pre_attn_scalar": 256, "rms_norm_eps": 1e-06, "rope_theta": 10000.0, "sliding_window": 4096, "vocab_size": 256000}`,
		Config{
			Architecture: "gemma2", NumLayers: 3, Hidden: 2304, Intermediate: 9216, NumHeads: 8, NumKVHeads: 4,
			HeadDim: 256, VocabSize: 256000, MaxContext: 8192, NormEps: 1e-6, Rope: Rope{Theta: 1e4}, TiedHead: true,
			NormOffset: true, PostNorms: true, GELU: true, EmbeddingScale: 48, QueryScale: 1.0 / 16, ScoreCap: 50,
			LogitCap: 30, Layers: []Layer{
				{Window: 4096},
				{},
				{Window: 4096},
			},
		}},
	"gemma-3-1b": {`{"attention_bias": false, "attn_logit_softcapping": null, "cache_implementation": "hybrid", "final_logit_softcapping": null,
		"head_dim": 256, "hidden_activation": "gelu_pytorch_tanh", "hidden_size": 1152, "intermediate_size": 6912, "max_position_embeddings": 32768,
		"model_type": "gemma3_text", "num_attention_heads": 4, "num_hidden_layers": 2, "num_key_value_heads": 1, "query_pre_attn_scalar": 256,
		"rms_norm_eps": 1e-06, "rope_local_base_freq": 10000, "rope_scaling": null, "rope_theta": 1000000, "sliding_window": 512,
		"sliding_window_pattern": 2, "vocab_size": 262144}`,
		Config{
			Architecture: "gemma3_text", NumLayers: 2, Hidden: 1152, Intermediate: 6912, NumHeads: 4, NumKVHeads: 1,
			HeadDim: 256, VocabSize: 262144, MaxContext: 32768, NormEps: 1e-6, Rope: Rope{Theta: 1e6},
			LocalRope: Rope{Theta: 1e4}, TiedHead: true, NormOffset: true, PostNorms: true, GELU: true, QKNorm: true,
			EmbeddingScale: math.Sqrt(1152), QueryScale: 1.0 / 16, Layers: []Layer{
				{Window: 512, LocalRope: true},
				{},
			},
		}},
	"the text of gemma-3-4b": {`{"architectures": ["Gemma3ForConditionalGeneration"], "boi_token_index": 255999, "eoi_token_index": 256000,
		"image_token_index": 262144, "mm_tokens_per_image": 256, "model_type": "gemma3", "text_config": {"hidden_size": 2560,
		"intermediate_size": 10240, "model_type": "gemma3_text", "num_hidden_layers": 1, "rope_scaling": {"factor": 8.0, "rope_type": "linear"},
		"sliding_window": 1024}, "vision_config": {"hidden_size": 1152}}`,
		Config{
			Architecture: "gemma3", NumLayers: 1, Hidden: 2560, Intermediate: 10240, NumHeads: 8, NumKVHeads: 4,
			HeadDim: 256, VocabSize: 262208, MaxContext: 131072, NormEps: 1e-6, Rope: Rope{Theta: 1e6,
				Kind: "linear", Factor: 8},
			LocalRope: Rope{Theta: 1e4}, TiedHead: true, NormOffset: true, PostNorms: true, GELU: true, QKNorm: true,
			EmbeddingScale: math.Sqrt(2560), QueryScale: 1.0 / 16, Layers: []Layer{{Window: 1024, LocalRope: true}},
			Prefix: "language_model.",
		}},
}

func TestParseConfigOfPublishedModels(t *testing.T) {
	for name, c := range published {
		got, err := ParseConfig([]byte(c.text))
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s:\n got %+v, %v\nwant %+v", name, got, err, c.want)
		}
	}
}

// The files that transformers 5 writes today, with their new keys, are read too, and each family has one: without it
// nothing says that what was read is acted on.
func TestParseConfigOfTransformers(t *testing.T) {
	paths, _ := filepath.Glob("../../../testdata/reference/families/*.json.gz")
	if len(paths) < 10 {
		t.Fatalf("%d goldens", len(paths))
	}
	without := families()
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		z, err := gzip.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		var g struct {
			Config json.RawMessage `json:"config"`
		}
		if err := json.NewDecoder(z).Decode(&g); err != nil {
			t.Fatal(err)
		}
		f.Close()
		c, err := ParseConfig(g.Config)
		if err != nil || c.MaxContext != 128 || c.Rope.Theta != 100 && c.Rope.Theta != 1000 {
			t.Errorf("%s: %+v, %v", path, c, err)
		}
		delete(without, c.Architecture)
	}
	delete(without, "gemma3") // what it says of texts is gemma3_text
	for name := range without {
		t.Errorf("%s has no golden: add a tiny model to make_families.py", name)
	}
}

// change replaces a key's value in a published file; an empty value takes it out.
func change(t *testing.T, text, key, value string) []byte {
	t.Helper()
	var m map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatal(err)
	}
	if m[key] = json.RawMessage(value); value == "" {
		delete(m, key)
	}
	out, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestParseConfigRefusesByName(t *testing.T) {
	for _, c := range []struct{ model, key, value, why string }{
		{"Qwen3-4B", "model_type", `"qwen3_moe"`, `"qwen3_moe"`},
		{"Qwen3-4B", "model_type", ``, `model_type is ""`},
		{"Qwen3-4B", "hidden_size", ``, "hidden_size"},
		{"Qwen3-4B", "hidden_size", `"wide"`, "hidden_size"},
		{"Qwen3-4B", "num_hidden_layers", `-1`, "not positive"},
		{"Qwen3-4B", "num_hidden_layers", `0`, "not positive"},
		{"Qwen3-4B", "num_key_value_heads", `5`, "divide"},
		{"Qwen3-4B", "head_dim", `7`, "halves"},
		{"Qwen3-4B", "rms_norm_eps", `0`, "epsilon"},
		{"Qwen3-4B", "rope_theta", `0`, "theta"},
		{"Qwen3-4B", "hidden_act", `"gelu"`, "hidden_act"},
		{"Qwen3-4B", "rope_scaling", `{"rope_type": "dynamic", "factor": 2}`, "dynamic"},
		{"Qwen3-4B", "rope_scaling", `{"rope_type": "yarn"}`, "factor"},
		{"Qwen3-4B", "rope_scaling", `{"rope_type": "linear", "factor": 2, "warp": 3}`, "warp"},
		{"Qwen3-4B", "rope_scaling", `{"rope_type": "llama3", "factor": 2, "low_freq_factor": 4, "high_freq_factor": 1}`, "high_freq_factor"},
		{"Qwen3-4B", "rope_parameters", `{"rope_type": "default", "rope_theta": 10.0, "partial_rotary_factor": 0.5}`, "partial_rotary_factor"},
		{"Qwen3-4B", "layer_types", `["linear_attention"]`, "linear_attention"},
		{"Qwen3-4B", "layer_types", `[]`, "layer_types"},
		{"Qwen3-4B", "quantization_config", `{"quant_method": "awq"}`, "quantization_config"},
		{"Qwen3-4B", "residual_multiplier", `0.22`, "residual_multiplier"},
		{"Qwen2.5-0.5B-Instruct", "dual_chunk_attention_config", `{"chunk_size": 262144}`, "dual_chunk_attention_config"},
		{"SmolLM2-135M", "rope_interleaved", `true`, "rope_interleaved"},
		{"SmolLM3-3B", "no_rope_layers", `[1]`, "no_rope_layers"},
		{"Mistral-7B-v0.1", "sliding_window", `-2`, "window"},
		{"a Phi-4-mini of heads of 8", "partial_rotary_factor", `1.0`, "4 short"},
		{"a Phi-4-mini of heads of 8", "full_attn_mod", `2`, "full_attn_mod"},
		{"a Phi-4-mini of heads of 8", "lm_head_bias", `true`, "lm_head_bias"},
		{"gemma-2-2b", "hidden_activation", `"gelu"`, "hidden_activation"},
		{"gemma-3-1b", "attn_logit_softcapping", `50`, "attn_logit_softcapping"},
		{"gemma-3-1b", "use_bidirectional_attention", `true`, "use_bidirectional_attention"},
		{"gemma-3-1b", "sliding_window_pattern", `0`, "sliding_window_pattern"},
		{"the text of gemma-3-4b", "text_config", ``, "text_config"},
	} {
		_, err := ParseConfig(change(t, published[c.model].text, c.key, c.value))
		if err == nil || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s with %s %s: got %v, want %q", c.model, c.key, c.value, err, c.why)
		}
	}
	for _, text := range []string{"", "null", "[]", `{"model_type"`} {
		if _, err := ParseConfig([]byte(text)); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}

// What switches nothing on is no reason to refuse a model.
func TestParseConfigLetsPassWhatIsOff(t *testing.T) {
	for key, value := range map[string]string{
		"use_new_attention": "false",
		"extra_head":        "null",
		"unsloth_fixed":     "true",
		"_name_or_path":     `"x"`,
	} {
		if _, err := ParseConfig(change(t, published["Qwen3-4B"].text, key, value)); err != nil {
			t.Errorf("%s %s: %v", key, value, err)
		}
	}
}

func FuzzParseConfig(f *testing.F) {
	for _, c := range published {
		f.Add([]byte(c.text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > 4096 {
			return
		}
		c, err := ParseConfig(text)
		if err == nil && c.validate() != nil {
			t.Errorf("accepted %+v", c)
		}
	})
}
