package main

import (
	"bytes"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hone/internal/basemodel"
	"hone/internal/config"
	"hone/internal/console/sanitize"
	"hone/internal/host"
	"hone/internal/learn/model"
	"hone/internal/learn/modelfile"
	"hone/internal/testing/learntest"
	"hone/internal/text/render"
)

// toyModel writes the toy's file: a random decoder of two layers over bytes, prompted in ChatML.
func toyModel(t *testing.T, path string) {
	t.Helper()
	learntest.WriteToyModel(t, path)
}

// toyConfig is in pure Go, which has nothing to compile: the plug-in takes minutes for what is seconds here.
const toyConfig = `rollout: {max_turns: 2, max_tokens: 8}
grpo: {steps: 4, scenarios_per_step: 2, group_size: 2, minibatches: 1, checkpoint_every: 3}
lora: {rank: 2}
sft: {batch_size: 2, epochs: 2, checkpoint_every: 3}
engine: {slots: 4, backend: go}
eval: {every: 3}
`

// fewTools keeps prompts short: pure Go takes half a minute for the gradient of all that a large server offers.
const fewTools = "mcp: {max_tools: 1, distractors: -1}\n"

func toyApp(stderr interface{ Write([]byte) (int, error) }, env map[string]string) *app {
	a := &app{Host: &host.Host{Stdin: strings.NewReader(""), Data: sanitize.New(&bytes.Buffer{}),
		Talk: sanitize.New(stderr), LookupEnv: os.LookupEnv, Environ: os.Environ()}}
	a.withEnv(env)
	return a
}

// shapeOfToy is that of the toy in toy.gguf.
func shapeOfToy(t *testing.T) model.Spec {
	t.Helper()
	m, err := basemodel.FindShape(toyApp(io.Discard, nil).Host, config.Config{}, "toy.gguf")
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	return m.Shape()
}

// toyAdapter writes an adapter for the toy that changes much, with ranks of its own for some maps.
func toyAdapter(t *testing.T, base, dir string) (model.Spec, model.LoRA, []float32) {
	t.Helper()
	file, err := modelfile.Open(base)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	s := model.Spec{Config: file.Config}
	l := model.LoRA{Rank: 2, Alpha: 3, Targets: []string{"q_proj", "down_proj"},
		RankPattern: []model.Pattern[int]{{Pattern: "down_proj", Value: 3}}}
	pieces, size := l.Pieces(s)
	flat := make([]float32, size)
	for i := range flat {
		flat[i] = float32(math.Sin(float64(i)*12.9898)) / 2
	}
	var tensors []modelfile.Matrix
	for _, p := range pieces {
		tensors = append(tensors, modelfile.Matrix{
			Name: modelfile.AdapterKey(s.Path(p.Layer, p.Target), p.B),
			Rows: p.Rows,
			Cols: p.Cols,
			Data: flat[p.Offset : p.Offset+p.Rows*p.Cols],
		})
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	c := modelfile.AdapterConfig{BaseModel: base, Rank: 2, Alpha: 3, TargetModules: l.Targets,
		RankPattern: modelfile.Patterns[int]{{Key: "down_proj", Value: 3}}}
	if err := modelfile.SaveAdapter(dir, c, tensors); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, render.TemplateFile), []byte("{{ 'trained under this' }}"),
		0o644); err != nil {
		t.Fatal(err)
	}
	return s, l, flat
}

func hone(t *testing.T, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, said bytes.Buffer
	a := toyApp(&said, nil)
	a.Stdin, a.Data = strings.NewReader(stdin), sanitize.New(&out)
	code = a.main(t.Context(), args)
	return code, out.String(), said.String()
}
