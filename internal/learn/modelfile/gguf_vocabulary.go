package modelfile

import "fmt"

func (f *ggufFile) vocabulary() (Vocabulary, error) {
	var v Vocabulary
	text := func(key string) string {
		kv, _ := f.header.GetKeyValue(key)
		s, _ := kv.Value.Raw().(string)
		return s
	}
	id := func(key string) int32 {
		kv, ok := f.header.GetKeyValue(key)
		if !ok {
			return -1
		}
		return int32(kv.Int64())
	}
	flag := func(key string, usual bool) bool {
		if kv, ok := f.header.GetKeyValue(key); ok {
			return kv.Bool()
		}
		return usual
	}
	v.Model, v.PreTokenizer = text("tokenizer.ggml.model"), text("tokenizer.ggml.pre")
	v.ChatTemplate = text("tokenizer.chat_template")
	if kv, ok := f.header.GetKeyValue("tokenizer.chat_templates"); ok {
		v.Templates = map[string]string{}
		for _, name := range kv.Strings() {
			v.Templates[name] = text("tokenizer.chat_template." + name)
		}
	}
	v.BOS, v.EOS = id("tokenizer.ggml.bos_token_id"), id("tokenizer.ggml.eos_token_id")
	if kv, ok := f.header.GetKeyValue("tokenizer.ggml.tokens"); ok {
		v.Tokens = kv.Strings()
	}
	if kv, ok := f.header.GetKeyValue("tokenizer.ggml.merges"); ok {
		v.Merges = kv.Strings()
	}
	if kv, ok := f.header.GetKeyValue("tokenizer.ggml.token_type"); ok {
		for _, t := range kv.Int64s() {
			v.TokenTypes = append(v.TokenTypes, int32(t))
		}
	}
	if kv, ok := f.header.GetKeyValue("tokenizer.ggml.scores"); ok {
		for _, s := range kv.Float64s() {
			v.Scores = append(v.Scores, float32(s))
		}
	}
	v.AddBOS, v.AddEOS = flag("tokenizer.ggml.add_bos_token", v.addsBOS()), flag("tokenizer.ggml.add_eos_token", false)
	v.NoSpacePrefix = !flag("tokenizer.ggml.add_space_prefix", true)
	return v, v.complete()
}

// addsBOS is what llama.cpp takes for granted where a file does not say whether a text begins with BOS.
func (v Vocabulary) addsBOS() bool {
	switch v.PreTokenizer {
	case "llama3", "llama-v3", "llama-bpe", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2", "tekken":
		return v.Model == "gpt2"
	}
	return v.Model == "llama"
}

// complete names the first key that a vocabulary of its kind cannot do without.
func (v Vocabulary) complete() error {
	missing := ""
	switch {
	case v.Model == "":
		missing = "model"
	case len(v.Tokens) == 0:
		missing = "tokens"
	case v.Model == "gpt2" && len(v.Merges) == 0:
		missing = "merges"
	case v.Model == "gpt2" && v.PreTokenizer == "":
		missing = "pre, how it splits text"
	case v.Model == "llama" && len(v.Scores) == 0:
		missing = "scores"
	default:
		return nil
	}
	return fmt.Errorf("its vocabulary lacks tokenizer.ggml.%s", missing)
}
