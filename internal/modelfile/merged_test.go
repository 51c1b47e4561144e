package modelfile

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// The type of the weights is named wherever config.json names one, and numbers stay as they are written.
func TestCopyRestNamesTheType(t *testing.T) {
	for _, c := range []struct{ config, want string }{
		{`{"torch_dtype": "float32", "rms_norm_eps": 1e-05, "rope_theta": 10000.0}`, `{"torch_dtype": "bfloat16", "rms_norm_eps": 1e-05, "rope_theta": 10000.0}`},
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
	v := Vocabulary{Model: "gpt2", PreTokenizer: "smollm", Tokens: []string{"a", "b", "ab", "<|im_end|>"}, TokenTypes: []int32{1, 1, 1, 3}, Merges: []string{"a b"}, BOS: -1, EOS: 3}
	dir := t.TempDir()
	if written, err := v.writeTokenizer(dir, 64); err != nil || !written {
		t.Fatalf("%v, %v", written, err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "tokenizer_config.json"))
	var c map[string]any
	if err != nil || json.Unmarshal(text, &c) != nil || c["eos_token"] != "<|im_end|>" || c["bos_token"] != nil || c["model_max_length"] != 64.0 {
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
	if parts := file.PreTokenizer.Pretokenizers; err != nil || len(parts) != 2 || !parts[0].Digits || parts[1].Type != "ByteLevel" || len(file.Model.Merges) != 1 {
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
