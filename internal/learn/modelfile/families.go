package modelfile

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// The defaults of absent keys are those of transformers' configuration classes: a published config.json leaves out
// what equals them.

// families interpret config.json by its model_type.
func families() map[string]func(s *settings) Config {
	return map[string]func(*settings) Config{
		"llama": llama, "smollm3": smollm3, "qwen2": qwen2, "qwen3": qwen3, "mistral": mistral, "phi3": phi3,
		"gemma2": gemma2, "gemma3_text": gemma3Text, "gemma3": gemma3,
	}
}

// ParseConfig reads a config.json as transformers does. It refuses, by name, model types and keys that are not known:
// a key that is not understood may change the maths.
func ParseConfig(text []byte) (Config, error) {
	s, err := parseSettings(text)
	if err != nil {
		return Config{}, err
	}
	kind := value(s, "model_type", "")
	family, ok := families()[kind]
	if !ok {
		known := strings.Join(slices.Sorted(maps.Keys(families())), ", ")
		return Config{}, fmt.Errorf("its model_type is %q; supported are %s", kind, known)
	}
	c := family(s)
	c.Architecture = kind
	if err := s.finish(); err != nil {
		return c, err
	}
	if c.Rope.Dims != 0 && kind != "phi3" {
		return c, fmt.Errorf("partial_rotary_factor is not supported for the model_type %s", kind)
	}
	return c, c.validate()
}

// common reads what all families have.
func common(s *settings, eps float64, tied bool) Config {
	c := Config{
		NumLayers: need[int](s, "num_hidden_layers"), Hidden: need[int](s, "hidden_size"),
		Intermediate: need[int](s, "intermediate_size"), NumHeads: need[int](s, "num_attention_heads"),
		VocabSize: need[int](s, "vocab_size"), MaxContext: need[int](s, "max_position_embeddings"),
		NormEps: value(s, "rms_norm_eps", eps), TiedHead: value(s, "tie_word_embeddings", tied),
	}
	c.NumKVHeads = value(s, "num_key_value_heads", c.NumHeads)
	if c.NumHeads > 0 {
		c.HeadDim = value(s, "head_dim", c.Hidden/c.NumHeads)
	}
	only(s, "is_encoder_decoder", false)
	only(s, "chunk_size_feed_forward", 0)
	only(s, "rope_interleaved", false)
	return c
}

func silu(s *settings) { only(s, "hidden_act", "silu", "swish") }

func llama(s *settings) Config {
	c := common(s, 1e-6, false)
	silu(s)
	c.QKVBias = value(s, "attention_bias", false)
	c.OBias = c.QKVBias
	c.MLPBias = value(s, "mlp_bias", false)
	only(s, "sliding_window", 0)
	c.Rope = rope(s, c, 1e4)
	return c
}

// smollm3 leaves rotary positions out of every fourth layer (arXiv 2501.18795).
func smollm3(s *settings) Config {
	c := common(s, 1e-6, true)
	silu(s)
	c.QKVBias = value(s, "attention_bias", false)
	c.OBias = c.QKVBias
	c.MLPBias = value(s, "mlp_bias", false)
	useRope := value[[]int](s, "no_rope_layers", nil) // 1 where a layer has rotary positions, in spite of its name
	interval := value(s, "no_rope_layer_interval", 4)
	s.asked["max_window_layers"] = true
	c.Layers = make([]Layer, min(max(c.NumLayers, 0), maxLayers))
	for i := range c.Layers {
		switch {
		case useRope == nil:
			c.Layers[i].NoRope = interval > 0 && (i+1)%interval == 0
		case i < len(useRope):
			c.Layers[i].NoRope = useRope[i] == 0
		default:
			s.errs = append(s.errs,
				fmt.Errorf("no_rope_layers has %d entries for %d layers", len(useRope), c.NumLayers))
			return c
		}
	}
	window := value(s, "sliding_window", 0)
	if !value(s, "use_sliding_window", false) {
		window = 0
	}
	layerTypes(s, &c, window, func(i int) bool { return c.Layers[i].NoRope })
	c.Rope = rope(s, c, 2e6)
	return c
}

// qwen2 is also Qwen2.5.
func qwen2(s *settings) Config {
	c := qwen(s)
	c.QKVBias = true
	c.Rope = rope(s, c, 1e4)
	return c
}

// qwen reads what Qwen2 and 3 have in common.
func qwen(s *settings) Config {
	c := common(s, 1e-6, false)
	silu(s)
	window := nullable(s, "sliding_window", 4096)
	if !value(s, "use_sliding_window", false) {
		window = 0
	}
	first := value(s, "max_window_layers", 28)
	layerTypes(s, &c, window, func(i int) bool { return i >= first })
	return c
}

func qwen3(s *settings) Config {
	c := qwen(s)
	c.HeadDim = value(s, "head_dim", 128)
	c.Rope = rope(s, c, 1e4)
	c.QKNorm = true
	c.QKVBias = value(s, "attention_bias", false)
	c.OBias = c.QKVBias
	return c
}

func mistral(s *settings) Config {
	c := common(s, 1e-6, false)
	c.NumKVHeads = value(s, "num_key_value_heads", 8)
	silu(s)
	slidesEverywhere(&c, nullable(s, "sliding_window", 4096))
	c.Rope = rope(s, c, 1e4)
	return c
}

// phi3 is Phi-3, Phi-3.5 and Phi-4.
func phi3(s *settings) Config {
	c := common(s, 1e-5, false)
	silu(s)
	c.FusedLinears = true
	for _, key := range []string{"attention_bias", "mlp_bias", "lm_head_bias"} {
		only(s, key, false)
	}
	only(s, "full_attn_mod", 1)
	only(s, "interpolate_factor", 1)
	slidesEverywhere(&c, value(s, "sliding_window", 0))
	c.Rope = rope(s, c, 1e4)
	if part := value(s, "partial_rotary_factor", 1.0); part != 1 && c.Rope.Dims == 0 {
		c.Rope.Dims = int(float64(c.HeadDim) * part)
	}
	return c
}

// gemma reads what Gemma 2 and 3 have in common.
func gemma(s *settings) Config {
	c := common(s, 1e-6, true)
	c.NumKVHeads = value(s, "num_key_value_heads", 4)
	c.HeadDim = value(s, "head_dim", 256)
	// hidden_activation rules; hidden_act is an older file's key, which transformers ignores.
	only(s, "hidden_activation", "gelu_pytorch_tanh")
	only(s, "hidden_act", "gelu_pytorch_tanh", "gelu")
	only(s, "use_bidirectional_attention", false)
	c.GELU, c.NormOffset, c.PostNorms = true, true, true
	c.QKVBias = value(s, "attention_bias", false)
	c.OBias = c.QKVBias
	c.EmbeddingScale = math.Sqrt(float64(c.Hidden))
	if scale := value(s, "query_pre_attn_scalar", 256.0); scale > 0 {
		c.QueryScale = 1 / math.Sqrt(scale)
	}
	return c
}

func gemma2(s *settings) Config {
	c := gemma(s)
	c.Rope = rope(s, c, 1e4)
	c.ScoreCap = nullable(s, "attn_logit_softcapping", 50.0)
	c.LogitCap = nullable(s, "final_logit_softcapping", 30.0)
	window := nullable(s, "sliding_window", 4096)
	only(s, "sliding_window_size", window)
	layerTypes(s, &c, window, func(i int) bool { return i%2 == 0 })
	return c
}

func gemma3Text(s *settings) Config {
	for key, absent := range map[string]string{
		"num_attention_heads":     "8",
		"vocab_size":              "262208",
		"max_position_embeddings": "131072",
	} {
		if _, ok := s.values[key]; !ok {
			s.values[key] = []byte(absent)
		}
	}
	c := gemma(s)
	c.Rope, c.LocalRope = gemma3Ropes(s, c)
	c.QKNorm = true
	only(s, "attn_logit_softcapping", 0.0) // transformers reads it and computes without
	c.LogitCap = value(s, "final_logit_softcapping", 0.0)
	pattern := value(s, "sliding_window_pattern", value(s, "_sliding_window_pattern", 6))
	if pattern < 1 {
		s.errs = append(s.errs, fmt.Errorf("sliding_window_pattern is %d", pattern))
		return c
	}
	layerTypes(s, &c, nullable(s, "sliding_window", 4096), func(i int) bool { return (i+1)%pattern != 0 })
	for i := range c.Layers { // transformers goes by the layer's type, which without a window says nothing else
		c.Layers[i].LocalRope = c.Layers[i].Window != 0
	}
	return c
}

// gemma3 is the text model inside Gemma 3's model of text and images.
func gemma3(s *settings) Config {
	text := s.object("text_config")
	if text == nil {
		s.errs = append(s.errs, fmt.Errorf("it has no text_config"))
		return Config{}
	}
	for _, key := range strings.Fields("vision_config mm_tokens_per_image boi_token_index eoi_token_index " +
		"image_token_index boi_token_id eoi_token_id image_token_id") {
		s.asked[key] = true
	}
	only(text, "model_type", "gemma3_text")
	c := gemma3Text(text)
	c.TiedHead = value(s, "tie_word_embeddings", c.TiedHead)
	c.Prefix = "language_model."
	if err := text.finish(); err != nil {
		s.errs = append(s.errs, fmt.Errorf("text_config: %w", err))
	}
	return c
}

// layerTypes sets the layers' windows: from layer_types where the file lists them, else by the family's rule.
func layerTypes(s *settings, c *Config, window int, slides func(i int) bool) {
	types := value[[]string](s, "layer_types", nil)
	if c.Layers == nil {
		c.Layers = make([]Layer, min(max(c.NumLayers, 0), maxLayers))
	}
	if types != nil && len(types) != len(c.Layers) {
		s.errs = append(s.errs, fmt.Errorf("layer_types has %d entries for %d layers", len(types), c.NumLayers))
		return
	}
	for i := range c.Layers {
		sliding := slides(i)
		if types != nil {
			switch types[i] {
			case "full_attention", "sliding_attention":
				sliding = types[i] == "sliding_attention"
			default:
				s.errs = append(s.errs, fmt.Errorf("layer_types has %q, which is not supported", types[i]))
			}
		}
		if sliding {
			c.Layers[i].Window = window
		}
	}
}

// slidesEverywhere sets one window on all layers; 0 sets none.
func slidesEverywhere(c *Config, window int) {
	if window == 0 {
		return
	}
	c.Layers = make([]Layer, min(max(c.NumLayers, 0), maxLayers))
	for i := range c.Layers {
		c.Layers[i].Window = window
	}
}
