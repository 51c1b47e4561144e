package modelfile

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
)

// splitter is the part of tokenizer.json that says how text is cut before merging, and what is done to it before that.
type splitter struct {
	cut        []any
	normalizer any
}

// qwen2Split is the expression of the vendor's tokenizer.json.
const qwen2Split = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|` +
	` ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`

// splitterOf is that of a name of GGUF's; ok is false where it has not been put into tokenizer.json's words.
func splitterOf(pre string) (s splitter, ok bool) {
	plain := splitter{cut: []any{byteLevel(true)}}
	s, ok = map[string]splitter{
		"": plain, "default": plain, "gpt-2": plain,
		"smollm": {cut: []any{map[string]any{"type": "Digits", "individual_digits": true}, byteLevel(true)}},
		"qwen2":  {cut: []any{split(qwen2Split), byteLevel(false)}, normalizer: map[string]any{"type": "NFC"}},
	}[pre]
	return s, ok
}

func split(expression string) map[string]any {
	return map[string]any{"type": "Split", "pattern": map[string]string{"Regex": expression}, "behavior": "Isolated",
		"invert": false}
}

func byteLevel(split bool) map[string]any {
	return map[string]any{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": split}
}

// Token types of GGUF.
const (
	unknownToken = 2
	controlToken = 3
	userToken    = 4
)

// addedToken is one that is found in a text before it is cut.
type addedToken struct {
	ID         int    `json:"id"`
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"`
	LStrip     bool   `json:"lstrip"`
	RStrip     bool   `json:"rstrip"`
	Normalized bool   `json:"normalized"`
	Special    bool   `json:"special"`
}

// writeTokenizer writes a GGUF file's vocabulary as transformers keeps it: tokenizer.json, tokenizer_config.json and
// chat_template.jinja. It reports whether it could: not every way of cutting text has been put into tokenizer.json's
// words.
func (v Vocabulary) writeTokenizer(dir string, maxContext int) (bool, error) {
	s, ok := splitterOf(v.PreTokenizer)
	if !ok || v.Model != "gpt2" {
		return false, nil
	}
	ids, merges := map[string]int{}, make([][]string, len(v.Merges))
	for id, token := range v.Tokens {
		ids[token] = id
	}
	for i, m := range v.Merges {
		merges[i] = strings.SplitN(m, " ", 2)
	}
	added := []addedToken{}
	for id, kind := range v.TokenTypes {
		if special := kind == controlToken || kind == unknownToken; special || kind == userToken {
			added = append(added, addedToken{ID: id, Content: v.Tokens[id], Special: special})
		}
	}
	tokenizer := map[string]any{
		"version": "1.0", "truncation": nil, "padding": nil, "added_tokens": added, "normalizer": s.normalizer,
		"post_processor": nil,
		"pre_tokenizer":  map[string]any{"type": "Sequence", "pretokenizers": s.cut}, "decoder": byteLevel(true),
		"model": map[string]any{
			"type": "BPE", "dropout": nil, "unk_token": nil, "continuing_subword_prefix": nil,
			"end_of_word_suffix": nil, "fuse_unk": false, "byte_fallback": false, "vocab": ids, "merges": merges,
		},
	}
	config := map[string]any{
		"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": maxContext,
		"clean_up_tokenization_spaces": false,
		"add_bos_token":                false,
	}
	for key, id := range map[string]int32{"bos_token": v.BOS, "eos_token": v.EOS} {
		if id >= 0 && int(id) < len(v.Tokens) {
			config[key] = v.Tokens[id]
		}
	}
	if err := writeJSON(filepath.Join(dir, "tokenizer.json"), tokenizer); err != nil {
		return false, err
	}
	if err := writeJSON(filepath.Join(dir, "tokenizer_config.json"), config); err != nil {
		return false, err
	}
	return true, v.writeTemplates(dir)
}

// TemplateFolder is where transformers keeps the chat templates of a folder beside chat_template.jinja, NAME.jinja
// each.
const TemplateFolder = "additional_chat_templates"

func (v Vocabulary) writeTemplates(dir string) error {
	if len(v.Templates) > 0 {
		if err := os.MkdirAll(filepath.Join(dir, TemplateFolder), 0o755); err != nil {
			return err
		}
	}
	for name, text := range v.Templates {
		path := filepath.Join(dir, TemplateFolder, filepath.Base(name)+".jinja")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	if v.ChatTemplate == "" {
		return nil
	}
	return os.WriteFile(filepath.Join(dir, "chat_template.jinja"), []byte(v.ChatTemplate), 0o644)
}

// writeJSON writes a value, its texts as they are: <|im_end|> keeps its brackets.
func writeJSON(path string, v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return err
	}
	return os.WriteFile(path, b.Bytes(), 0o644)
}
