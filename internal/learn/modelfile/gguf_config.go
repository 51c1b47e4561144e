package modelfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// ggufSettings reads a GGUF's keys below its architecture's name and remembers which were asked for: what nobody asked
// for may change the maths.
type ggufSettings struct {
	file    *ggufFile
	arch    string
	asked   map[string]bool
	missing []string
}

// number is a key's value. One that is no number, a list for each layer for example, is as good as missing.
func (s *ggufSettings) number(key string) (float64, bool) {
	s.asked[key] = true
	kv, ok := s.file.header.GetKeyValue(s.arch + "." + key)
	if !ok {
		return 0, false
	}
	switch v := kv.Value.Raw().(type) {
	case float32: // what it was before it was rounded to this: 1e-06, not 9.99999997e-07
		x, _ := strconv.ParseFloat(strconv.FormatFloat(float64(v), 'g', -1, 32), 64)
		return x, true
	case float64:
		return v, true
	case uint8, uint16, uint32, uint64, int8, int16, int32, int64:
		return float64(kv.Int64()), true
	}
	s.missing = append(s.missing, kv.Key+" as a number")
	return 0, false
}

func (s *ggufSettings) need(key string) float64 {
	x, ok := s.number(key)
	if !ok && !s.file.hasKey(s.arch+"."+key) {
		s.missing = append(s.missing, s.arch+"."+key)
	}
	return x
}

func (s *ggufSettings) or(key string, absent float64) float64 {
	if x, ok := s.number(key); ok {
		return x
	}
	return absent
}

func (s *ggufSettings) text(key string) string {
	s.asked[key] = true
	kv, _ := s.file.header.GetKeyValue(s.arch + "." + key)
	text, _ := kv.Value.Raw().(string)
	return text
}

// finish names keys that were missing, or that nobody asked for and that say something.
func (s *ggufSettings) finish() error {
	if len(s.missing) > 0 {
		return fmt.Errorf("the file does not say %s", strings.Join(s.missing, ", "))
	}
	var unknown []string
	for _, kv := range s.file.header.KeyValues {
		key, ours := strings.CutPrefix(kv.Key, s.arch+".")
		if !ours || s.asked[key] {
			continue
		}
		switch fmt.Sprint(kv.Value.Raw()) {
		case "0", "false", "[]", "":
		default:
			unknown = append(unknown, kv.Key)
		}
	}
	if len(unknown) > 0 {
		return fmt.Errorf("it sets what hone does not know, and would compute wrong: %s", strings.Join(unknown, ", "))
	}
	return nil
}

// ggufFamilies are what each architecture of GGUF adds to a config.json, whose model_type comes first. Mistral's models
// are of llama's.
func ggufFamilies() map[string]struct {
	kind, class string
	add         func(s *ggufSettings, c map[string]any)
} {
	none := func(*ggufSettings, map[string]any) {}
	type family = struct {
		kind, class string
		add         func(s *ggufSettings, c map[string]any)
	}
	return map[string]family{
		"llama":   {"llama", "LlamaForCausalLM", ggufLlama},
		"smollm3": {"smollm3", "SmolLM3ForCausalLM", none}, // each fourth layer is without positions, as by default
		"qwen2":   {"qwen2", "Qwen2ForCausalLM", none},
		"qwen3":   {"qwen3", "Qwen3ForCausalLM", ggufQwen3},
		"phi3":    {"phi3", "Phi3ForCausalLM", ggufPhi3},
		"gemma2":  {"gemma2", "Gemma2ForCausalLM", ggufGemma2},
		"gemma3":  {"gemma3_text", "Gemma3ForCausalLM", ggufGemma3},
	}
}

func (f *ggufFile) hasKey(key string) bool {
	_, ok := f.header.GetKeyValue(key)
	return ok
}

func (f *ggufFile) holds(theirs string) bool {
	_, ok := f.infos[theirs]
	return ok
}

// readConfig says in config.json's words what the file's keys say. numTokens is the length of the list of tokens.
func (f *ggufFile) readConfig(numTokens int) (map[string]any, error) {
	arch := f.header.Architecture()
	family, ok := ggufFamilies()[arch]
	if !ok {
		known := strings.Join(slices.Sorted(maps.Keys(ggufFamilies())), ", ")
		return nil, fmt.Errorf("its architecture is %q; supported are %s", arch, known)
	}
	s := &ggufSettings{file: f, arch: arch, asked: map[string]bool{}}
	heads := s.need("attention.head_count")
	c := map[string]any{
		"model_type": family.kind, "architectures": []string{family.class},
		"num_hidden_layers": int(s.need("block_count")), "hidden_size": int(s.need("embedding_length")),
		"intermediate_size": int(s.need("feed_forward_length")), "num_attention_heads": int(heads),
		"num_key_value_heads":     int(s.or("attention.head_count_kv", heads)),
		"max_position_embeddings": int(s.need("context_length")), "vocab_size": s.vocabSize(numTokens),
		"rms_norm_eps":        s.need("attention.layer_norm_rms_epsilon"),
		"rope_theta":          s.or("rope.freq_base", 1e4), // llama.cpp's default
		"tie_word_embeddings": !f.holds("output.weight") || f.sameRows("output.weight", "token_embd.weight"),
	}
	if err := s.headDim(c); err != nil {
		return nil, err
	}
	if err := s.scaling(c); err != nil {
		return nil, err
	}
	family.add(s, c)
	for _, key := range []string{"bos_token_id", "eos_token_id"} {
		if kv, ok := f.header.GetKeyValue("tokenizer.ggml." + key); ok {
			c[key] = kv.Int64()
		}
	}
	return c, s.finish()
}

// vocabSize is how many rows the embedding has, which may be more than the tokens.
func (s *ggufSettings) vocabSize(numTokens int) int {
	if n, ok := s.number("vocab_size"); ok {
		return int(n)
	}
	if t := s.file.infos["token_embd.weight"]; len(t.Shape) == 2 && t.Shape[1] < math.MaxInt32 {
		return max(int(t.Shape[1]), numTokens)
	}
	s.missing = append(s.missing, s.arch+".vocab_size")
	return 0
}

// headDim reads the width of a head, and how much of it is rotated, which is all but in Phi.
func (s *ggufSettings) headDim(c map[string]any) error {
	hidden, heads := c["hidden_size"].(int), c["num_attention_heads"].(int)
	width := int(s.or("attention.key_length", 0))
	if width == 0 && heads > 0 {
		if hidden%heads != 0 {
			return fmt.Errorf("%d heads do not divide a width of %d", heads, hidden)
		}
		width = hidden / heads
	}
	if values := int(s.or("attention.value_length", float64(width))); values != width {
		return fmt.Errorf("heads of %d have values of %d, which is not supported", width, values)
	}
	dims := int(s.or("rope.dimension_count", float64(width)))
	if width == 0 {
		return nil // the sizes are wrong, which is said of them
	}
	if c["head_dim"] = width; dims == width {
		return nil
	}
	part := float64(dims) / float64(width)
	if int(part*float64(width)) != dims { // which is how it is read
		part = math.Nextafter(part, 1)
	}
	c["partial_rotary_factor"] = part
	if s.arch != "phi3" {
		return fmt.Errorf("%d of %d elements of a head are rotated, which is not supported", dims, width)
	}
	return nil
}

// ropeTensors are factors of rotary positions that stand among the weights.
func ropeTensors() []string {
	return []string{"rope_freqs.weight", "rope_factors_long.weight", "rope_factors_short.weight"}
}

// scaling reads how rotary positions are stretched.
func (s *ggufSettings) scaling(c map[string]any) error {
	original := s.or("rope.scaling.original_context_length", 0)
	attention, hasAttention := s.number("rope.scaling.attn_factor")
	factor := s.or("rope.scaling.factor", s.or("rope.scale_linear", 0))
	kind := s.text("rope.scaling.type")
	s.asked["rope.scaling.finetuned"] = true // says that the weights know of it
	if s.file.holds("rope_factors_long.weight") {
		long, _, err := s.file.numbers("rope_factors_long.weight")
		short, _, shortErr := s.file.numbers("rope_factors_short.weight")
		if err := errors.Join(err, shortErr); err != nil {
			return fmt.Errorf("rope factors: %w", err)
		}
		scaling := map[string]any{"rope_type": "longrope", "long_factor": long, "short_factor": short}
		if hasAttention {
			scaling["attention_factor"] = attention
		}
		c["rope_scaling"], c["original_max_position_embeddings"] = scaling, int(original)
		return nil
	}
	if s.file.holds("rope_freqs.weight") {
		return s.llama3(c)
	}
	switch {
	case kind == "" && factor == 0 || kind == "none":
	case kind == "" || kind == "linear":
		c["rope_scaling"] = map[string]any{"rope_type": "linear", "factor": factor}
	case kind == "yarn":
		if hasAttention && attention != 1 {
			return fmt.Errorf("yarn rope scaling with an attn_factor of %v is not supported", attention)
		}
		scaling := map[string]any{"rope_type": "yarn", "factor": factor,
			"beta_fast": s.or("rope.scaling.yarn_beta_fast", 32), "beta_slow": s.or("rope.scaling.yarn_beta_slow", 1)}
		if original > 0 {
			scaling["original_max_position_embeddings"] = int(original)
		}
		c["rope_scaling"] = scaling
	default:
		return fmt.Errorf("rope scaling of type %q is not supported", kind)
	}
	if c["rope_scaling"] != nil && factor == 0 {
		s.missing = append(s.missing, s.arch+".rope.scaling.factor")
	}
	return nil
}

// llama3 finds the numbers that Llama 3's factors, one for each pair of elements, were made from: of all models there
// are, they stretch an original context of 8192 tokens, and differ in by how much.
func (s *ggufSettings) llama3(c map[string]any) error {
	factors, _, err := s.file.numbers("rope_freqs.weight")
	if err != nil {
		return fmt.Errorf("rope factors: %w", err)
	}
	plain := Rope{Theta: c["rope_theta"].(float64)}
	headDim, _ := c["head_dim"].(int)
	bad := fmt.Errorf("its rope factors %v are not those of Llama 3", factors)
	if len(factors) != headDim/2 || len(factors) == 0 || plain.Theta <= 1 {
		return bad
	}
	most := slices.Max(factors)
	if most == 1 && slices.Min(factors) == 1 {
		return nil
	}
	scaled := Rope{Theta: plain.Theta, Kind: "llama3", Factor: float64(most),
		LowFactor: 1, HighFactor: 4, OriginalContext: 8192}
	base := plain.Frequencies(headDim)
	for i, f := range scaled.Frequencies(headDim) {
		if want := base[i] / factors[i]; !(math.Abs(float64(f-want)) <= 1e-5*float64(want)) {
			return bad
		}
	}
	c["rope_scaling"] = map[string]any{
		"rope_type": "llama3", "factor": scaled.Factor, "low_freq_factor": scaled.LowFactor,
		"high_freq_factor": scaled.HighFactor, "original_max_position_embeddings": scaled.OriginalContext,
	}
	return nil
}

func ggufLlama(s *ggufSettings, c map[string]any) {
	c["attention_bias"], c["mlp_bias"] = s.file.holds("blk.0.attn_q.bias"), s.file.holds("blk.0.ffn_gate.bias")
}

func ggufQwen3(s *ggufSettings, c map[string]any) {
	c["attention_bias"] = s.file.holds("blk.0.attn_q.bias")
}

func ggufPhi3(s *ggufSettings, c map[string]any) {
	if window := s.or("attention.sliding_window", 0); window > 0 {
		c["sliding_window"] = int(window)
	}
}

// gemmaScale is what queries are divided by the root of: the width of a head, but for the largest model.
func gemmaScale(c map[string]any, largest int) {
	c["query_pre_attn_scalar"] = c["head_dim"]
	if heads := c["num_attention_heads"].(int); c["num_hidden_layers"] == largest && heads > 0 {
		c["query_pre_attn_scalar"] = c["hidden_size"].(int) / heads
	}
}

func ggufGemma2(s *ggufSettings, c map[string]any) {
	gemmaScale(c, 46)
	c["sliding_window"] = int(s.or("attention.sliding_window", 4096))
	c["attn_logit_softcapping"] = s.or("attn_logit_softcapping", 50)
	c["final_logit_softcapping"] = s.or("final_logit_softcapping", 30)
}

func ggufGemma3(s *ggufSettings, c map[string]any) {
	gemmaScale(c, 62)
	c["sliding_window"] = nil
	if window := s.or("attention.sliding_window", 0); window > 0 {
		c["sliding_window"] = int(window)
	}
	c["sliding_window_pattern"] = int(s.or("attention.sliding_window_pattern", 6))
	c["rope_local_base_freq"] = s.or("rope.freq_base_swa", 1e4)
	if limit := s.or("final_logit_softcapping", 0); limit > 0 {
		c["final_logit_softcapping"] = limit
	}
}

// parseConfig reads a configuration that was made here.
func parseConfig(config map[string]any) (Config, error) {
	text, err := json.Marshal(config)
	if err != nil { // an infinity
		return Config{}, err
	}
	return ParseConfig(text)
}
