package modelfile

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"hone/internal/text/tokenizer"
)

// The type of the weights is named wherever config.json names one, and numbers stay as they are written.
func TestCopyRestNamesTheType(t *testing.T) {
	for _, c := range []struct{ config, want string }{
		{`{"torch_dtype": "float32", "rms_norm_eps": 1e-05, "rope_theta": 10000.0}`,
			`{"torch_dtype": "bfloat16", "rms_norm_eps": 1e-05, "rope_theta": 10000.0}`},
		{`{"dtype": "float16", "text_config": {"dtype": "float16", "x": 1}, "vision_config": {"y": "dtype"}}`,
			`{"dtype": "bfloat16", "text_config": {"dtype": "bfloat16", "x": 1}, "vision_config": {"y": "dtype"}}`},
		{`{"text_config": {"dtype": "float16"}}`, `{"text_config": {"dtype": "bfloat16"}}`},
		{`{"vocab_size": 3}`, `{"vocab_size": 3, "torch_dtype": "bfloat16"}`},
	} {
		from, to := t.TempDir(), t.TempDir()
		put(t, from, configFile, c.config)
		put(t, from, "tokenizer.json", "<|im_end|>")
		put(t, from, "old.safetensors", "")
		m := &Model{Path: from, source: &folder{}}
		if tokenizer, err := m.CopyRest(to, "BF16"); err != nil || !tokenizer {
			t.Fatalf("%v, tokenizer %v", err, tokenizer)
		}
		got, err := os.ReadFile(filepath.Join(to, configFile))
		if err != nil {
			t.Fatal(err)
		}
		if !sameJSON(t, string(got), c.want) {
			t.Errorf("%s became %s", c.config, got)
		}
		if files, _ := os.ReadDir(to); len(files) != 2 {
			t.Errorf("copied: %v", files)
		}
		if _, err := m.CopyRest(to, ""); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(to, configFile)); err != nil || string(got) != c.config {
			t.Errorf("the type was not to be changed: %s, %v", got, err)
		}
	}
}

// sameJSON compares values by their text, so that 1e-05 is not 0.00001.
func sameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	compact := func(s string) string {
		var x map[string]json.RawMessage
		if err := json.Unmarshal([]byte(s), &x); err != nil {
			t.Fatal(err)
		}
		out, err := json.Marshal(x) // keys in order, white space gone
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	return compact(a) == compact(b)
}

// A vocabulary whose way of cutting text is not known in tokenizer.json's words is not written in others.
func TestTokenizerIsWrittenOrNot(t *testing.T) {
	v := Vocabulary{Model: "gpt2", PreTokenizer: "smollm", Tokens: []string{"a", "b", "ab", "<|im_end|>"},
		TokenTypes: []int32{1, 1, 1, 3}, Merges: []string{"a b"}, BOS: -1, EOS: 3}
	dir := t.TempDir()
	if written, err := v.writeTokenizer(dir, 64); err != nil || !written {
		t.Fatalf("%v, %v", written, err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "tokenizer_config.json"))
	var c map[string]any
	if err != nil || json.Unmarshal(text, &c) != nil || c["eos_token"] != "<|im_end|>" || c["bos_token"] != nil ||
		c["model_max_length"] != 64.0 {
		t.Errorf("%s, %v", text, err)
	}
	var file struct {
		PreTokenizer struct {
			Pretokenizers []struct {
				Type   string
				Digits bool `json:"individual_digits"`
			}
		} `json:"pre_tokenizer"`
		Model struct{ Merges [][]string }
	}
	if text, err = os.ReadFile(filepath.Join(dir, "tokenizer.json")); err == nil {
		err = json.Unmarshal(text, &file)
	}
	if parts := file.PreTokenizer.Pretokenizers; err != nil || len(parts) != 2 || !parts[0].Digits ||
		parts[1].Type != "ByteLevel" || len(file.Model.Merges) != 1 {
		t.Errorf("smollm cuts digits apart, then as GPT-2: %+v, %v", file, err)
	}
	for _, other := range []Vocabulary{{Model: "llama"}, {Model: "gpt2", PreTokenizer: "of-next-year"}} {
		dir := t.TempDir()
		if written, err := other.writeTokenizer(dir, 64); err != nil || written {
			t.Errorf("%+v: %v, %v", other, written, err)
		}
		if files, _ := os.ReadDir(dir); len(files) > 0 {
			t.Errorf("%+v: %v", other, files)
		}
	}
}

// What is written as tokenizer.json cuts and normalises text as the GGUF file's vocabulary does.
func TestWrittenTokenizerIsTheFiles(t *testing.T) {
	v := Vocabulary{Model: "gpt2", Merges: []string{"Ġ Ġ", "1 2", "Ġ a", "a b", "' s", "Ã ©"}, EOS: 1, BOS: -1}
	v.Tokens, v.TokenTypes =
		[]string{"<|im_start|>", "<|im_end|>", "ĠĠ", "12", "Ġa", "ab", "'s", "Ã©", "Ċ", "Ġ", "Ã", "©", "Ì", "ģ"},
		[]int32{3, 3}
	for c := '!'; c <= '~'; c++ {
		v.Tokens = append(v.Tokens, string(c))
	}
	for len(v.TokenTypes) < len(v.Tokens) {
		v.TokenTypes = append(v.TokenTypes, 1)
	}
	for pre, wholeNumbers := range map[string]bool{"gpt-2": true, "smollm": false, "qwen2": false} {
		v.PreTokenizer = pre
		dir := t.TempDir()
		if written, err := v.writeTokenizer(dir, 64); err != nil || !written {
			t.Fatalf("%s: %v, %v", pre, written, err)
		}
		got, err := tokenizer.Load(filepath.Join(dir, "tokenizer.json"))
		if err != nil {
			t.Fatal(err)
		}
		want, err := tokenizer.New(tokenizer.Options{Tokens: v.Tokens, Merges: v.Merges, Types: v.TokenTypes,
			PreTokenizer: pre})
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{
			"12 ab", "it's  a\n\n b", "<|im_start|>a b<|im_end|>\n", "\u00e9", "e\u0301", "a.b!\n",
		} {
			if a, b := got.Encode(text), want.Encode(text); !slices.Equal(a, b) {
				t.Errorf("%s: %q is %v, in the file %v", pre, text, a, b)
			}
		}
		if whole := slices.Equal(got.Encode("12"), []int32{3}); whole != wholeNumbers {
			t.Errorf("%s: 12 is %v", pre, got.Encode("12"))
		}
		if composed := slices.Equal(got.Encode("e\u0301"), []int32{7}); composed != (pre == "qwen2") {
			t.Errorf("%s: an e with an accent of its own is %v", pre, got.Encode("e\u0301"))
		}
	}
}
