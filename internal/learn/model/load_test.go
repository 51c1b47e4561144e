package model_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"

	"hone/internal/engine"
	"hone/internal/learn/model"
	"hone/internal/learn/modelfile"
	"hone/internal/testing/learntest"
)

// In a run in bfloat16, weights stored as bfloat16 come to the device as they are, and others as they round.
func TestLoadBF16(t *testing.T) {
	learntest.BothDevices(t, func(t *testing.T, other *engine.Engine) {
		if other.PureGo() {
			t.Skip("it has no bfloat16")
		}
		o := learntest.Options(t)
		o.DType = engine.DTypeBF16
		e, err := engine.Open(o)
		must(t, err)
		defer e.Close()
		g := read(t, "qwen3")
		load := func(dtype string) [][]float32 {
			g.dtype = dtype
			m := g.folder(t)
			s, weights, err := model.Load(e, m)
			must(t, err)
			defer engine.Free(weights...)
			if _, _, ok := m.BF16(s.Weights()[0].Name()); ok != (dtype == "BF16") {
				t.Errorf("%s: as bfloat16 %v", dtype, ok)
			}
			return numbers(t, e, s, weights)
		}
		stored, rounded := load("BF16"), load("F32")
		for i, w := range (model.Spec{Config: g.folder(t).Config}).Weights() {
			// vectors are float32 on the device: those are rounded in one file only
			if !slices.Equal(stored[i], rounded[i]) && len(w.Dims) > 1 {
				t.Errorf("weight %d differs", i)
			}
		}
		g.infinite = true
		if _, _, err := model.Load(e, g.folder(t)); err == nil || !strings.Contains(err.Error(), "not finite") {
			t.Errorf("infinite weights: %v", err)
		}
	})
}

// numbers reads weights of any type back.
func numbers(t *testing.T, e *engine.Engine, s model.Spec, weights []engine.Buffer) (all [][]float32) {
	t.Helper()
	wide, err := e.Compile("wide", s.WeightParams(), func(in []*graph.Node) []*graph.Node {
		for i := range in {
			in[i] = graph.ConvertDType(in[i], dtypes.Float32)
		}
		return in
	})
	must(t, err)
	out, err := wide.Run(weights...)
	must(t, err)
	for _, b := range out {
		flat, err := engine.Floats(b)
		must(t, err)
		all = append(all, flat)
	}
	engine.Free(out...)
	return all
}

// BenchmarkLoad reads 0.7 GB of weights from the page cache to the device.
func BenchmarkLoad(b *testing.B) {
	for _, c := range []struct{ file, device string }{{"BF16", "bf16"}, {"F32", "f32"}, {"BF16", "f32"}} {
		b.Run(c.file+"_to_"+c.device, func(b *testing.B) {
			o := learntest.Options(b)
			if o.Plugin == "" {
				b.Skip("no plug-in")
			}
			o.DType = engine.DType(c.device)
			e, err := engine.Open(o)
			if err != nil {
				b.Fatal(err)
			}
			defer e.Close()
			dir := b.TempDir()
			config := `{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 2048, "intermediate_size": 8192,
				"num_hidden_layers": 4, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 64, "vocab_size": 49152,
				"max_position_embeddings": 4096, "rms_norm_eps": 1e-6, "rope_theta": 10000, "tie_word_embeddings": true, "hidden_act": "silu"}`
			if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(config), 0o644); err != nil {
				b.Fatal(err)
			}
			parsed, err := modelfile.ParseConfig([]byte(config))
			if err != nil {
				b.Fatal(err)
			}
			var tensors []modelfile.NewTensor
			for _, w := range (model.Spec{Config: parsed}).Tensors() {
				size := 1
				for _, d := range w.Dims {
					size *= d
				}
				tensors = append(tensors, modelfile.NewTensor{Name: w.Name, DType: c.file, Dims: w.Dims,
					Read: func() ([]float32, error) { return make([]float32, size), nil }})
			}
			file := filepath.Join(dir, "model.safetensors")
			if err := modelfile.WriteSafetensors(file, tensors, nil); err != nil {
				b.Fatal(err)
			}
			info, err := os.Stat(file)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(info.Size())
			for b.Loop() {
				m, err := modelfile.Open(dir)
				if err != nil {
					b.Fatal(err)
				}
				_, weights, err := model.Load(e, m)
				if err != nil {
					b.Fatal(fmt.Errorf("%s: %w", c.file, err))
				}
				engine.Free(weights...)
				m.Close()
			}
		})
	}
}
