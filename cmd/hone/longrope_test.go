//go:build !race

// Left out of -race: these tests compute in pure Go, as those in resume_test.go do.

package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hone/internal/fault"
	"hone/internal/learn/model"
	"hone/internal/learn/modelfile"
	"hone/internal/learn/plan"
)

const phi3 = `{"model_type": "phi3", "architectures": ["Phi3ForCausalLM"], "num_hidden_layers": 2, "hidden_size": 16, "intermediate_size": 24, "num_attention_heads": 2,
	"num_key_value_heads": 1, "vocab_size": 40, "max_position_embeddings": 256, "original_max_position_embeddings": 100, "rms_norm_eps": 1e-5, "rope_theta": 100.0,
	"tie_word_embeddings": false, "sliding_window": null,
	"rope_scaling": {"type": "longrope", "short_factor": [1.0, 1.1, 1.2, 1.3], "long_factor": [1.0, 2.0, 3.0, 4.0]}}`

// longropeModel writes a random model of Phi-3's kind, without tokenizer and chat template.
func longropeModel(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(phi3), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := modelfile.ParseConfig([]byte(phi3))
	if err != nil {
		t.Fatal(err)
	}
	var tensors []modelfile.NewTensor
	for k, w := range (model.Spec{Config: c}).Weights() {
		n := 1
		for _, d := range w.Dims {
			n *= d
		}
		flat := make([]float32, n)
		for i := range flat {
			flat[i] = float32(math.Sin(float64(k*7919+i) * 12.9898))
			if len(w.Dims) == 1 {
				flat[i] = 1
			}
		}
		tensors = append(tensors, modelfile.NewTensor{Name: w.Name(), DType: "F32", Dims: w.Dims,
			Read: func() ([]float32, error) { return flat, nil }})
	}
	if err := modelfile.WriteSafetensors(filepath.Join(dir, "model.safetensors"), tensors, nil); err != nil {
		t.Fatal(err)
	}
}

// A longrope model takes its factors by model.context, as vLLM does by max_model_len: the long ones where it is more
// than the length of its pre-training, with which sequences may be longer; else the short ones, with which they may
// not.
func TestLongropeFollowsTheContext(t *testing.T) {
	c := modelfile.Config{MaxContext: 131072, Rope: modelfile.Rope{Kind: "longrope", OriginalContext: 4096}}
	for context, long := range map[int]bool{0: false, 4096: false, 4097: true, 32768: true} {
		s := model.Spec{Config: c}.ForContext(context)
		want := 4096
		if long {
			want = 131072
		}
		if s.Rope.Long != long || s.MaxContext != want {
			t.Errorf("model.context %d: long %v, positions for %d", context, s.Rope.Long, s.MaxContext)
		}
		if err := plan.TooLong(s, 4097, "lower it"); (err == nil) != long || err != nil &&
			(fault.CodeOf(err) != fault.CodeUsage || !strings.Contains(err.Error(), "set model.context above 4096")) {
			t.Errorf("model.context %d: %v", context, err)
		}
	}

	// Ids are scored as they are: neither a tokenizer nor a chat template is needed.
	t.Chdir(t.TempDir())
	longropeModel(t, "phi")
	scored := func(context, n int) (int, string) {
		text := fmt.Sprintf("rollout: {max_tokens: 8}\nmodel: {context: %d}\nengine: {backend: go}\n", context)
		code, stdout, said := invoked(t, text, `{"ids": [1`+strings.Repeat(", 7, 9", (n-1)/2)+"]}\n", "inspect",
			"logprobs", "--model", "phi")
		if code == 0 {
			return code, stdout
		}
		return code, stdout + said
	}
	code, short := scored(100, 31)
	if code != 0 {
		t.Fatal(short)
	}
	if _, long := scored(200, 31); logprobsApart(t, short, long) < 1e-4 {
		t.Error("the factors change nothing")
	}
	if code, out := scored(200, 151); code != 0 {
		t.Errorf("beyond the pre-training: exit code %d, %s", code, out)
	}
	if code, out := scored(100, 151); code != 3 ||
		!strings.Contains(out, "the model has positions for 100; with model.context above 100 it has more") {
		t.Errorf("beyond the positions: exit code %d, %s", code, out)
	}
}
