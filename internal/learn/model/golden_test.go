package model_test

import (
	"cmp"
	"compress/gzip"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hone/internal/engine"
	"hone/internal/learn/model"
	"hone/internal/learn/modelfile"
)

// golden is what make_families.py writes: what transformers and peft compute with a tiny model, in float32.
type golden struct {
	Config        json.RawMessage   `json:"config"`
	Weights       map[string][]int  `json:"weights"`
	AdapterConfig json.RawMessage   `json:"adapter_config"`
	Adapter       map[string][]int  `json:"adapter"`
	Texts         [][]int32         `json:"texts"`
	Prefix        int               `json:"prefix"`
	Untrained     int               `json:"untrained"`
	Rate          float64           `json:"rate"`
	Generated     []int32           `json:"generated"`
	Arrays        map[string]string `json:"arrays"`

	outer    string // stands before the tensors' names, and is not part of them for draw
	infinite bool   // one weight is
	tied     bool   // lm_head.weight is the embedding
	dtype    string // of the weights in the file; F32 where it is empty
}

const goldenDir = "../../../testdata/reference/families"

// cases are the names of all goldens.
func cases(t *testing.T) (names []string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(goldenDir, "*.json.gz"))
	if err != nil || len(paths) < 10 {
		t.Fatalf("%d goldens, %v", len(paths), err)
	}
	for _, p := range paths {
		names = append(names, strings.TrimSuffix(filepath.Base(p), ".json.gz"))
	}
	return names
}

func read(t *testing.T, name string) (g golden) {
	t.Helper()
	f, err := os.Open(filepath.Join(goldenDir, name+".json.gz"))
	must(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	must(t, err)
	must(t, json.NewDecoder(z).Decode(&g))
	return g
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (g golden) array(t *testing.T, name string) []float32 {
	t.Helper()
	raw, err := base64.StdEncoding.DecodeString(g.Arrays[name])
	must(t, err)
	out := make([]float32, len(raw)/4)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	if len(out) == 0 {
		t.Fatalf("no array %s", name)
	}
	return out
}

// draw is make_families.py's formula: numbers that depend on the tensor's name and each one's index alone.
func draw(name string, dims []int, offsetNorms bool) []float32 {
	size := 1
	for _, d := range dims {
		size *= d
	}
	seed := crc32.ChecksumIEEE([]byte(name))
	out := make([]float32, size)
	for i := range out {
		x := uint32(i)*0x9E3779B1 + seed
		x = (x ^ x>>15) * 0x85EBCA6B
		x = (x ^ x>>13) * 0xC2B2AE35
		x ^= x >> 16
		unit := float64(x)/(1<<31) - 1
		switch {
		case strings.Contains(name, "lora_B"), strings.HasSuffix(name, "bias"):
			unit = 0.3 * unit
		case strings.Contains(name, "embed"):
			unit = 0.1 * unit
		case strings.Contains(name, "norm") && offsetNorms:
			unit = 0.5 * unit
		case strings.Contains(name, "norm"):
			unit = 1 + 0.5*unit
		default:
			unit *= math.Sqrt(3 / float64(dims[len(dims)-1]))
		}
		out[i] = float32(unit)
	}
	return out
}

// folder writes the model as transformers would, and opens it.
func (g golden) folder(t *testing.T) *modelfile.Model {
	t.Helper()
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "config.json"), g.Config, 0o644))
	var tensors []modelfile.NewTensor
	for name, dims := range g.Weights {
		flat := draw(strings.TrimPrefix(name, g.outer), dims, strings.Contains(string(g.Config), `"gemma`))
		if g.tied && name == "lm_head.weight" {
			flat = draw("model.embed_tokens.weight", dims, true)
		}
		if g.infinite {
			flat[len(flat)-1] = float32(math.Inf(1))
		}
		tensors = append(tensors, modelfile.NewTensor{Name: name, DType: cmp.Or(g.dtype, "F32"), Dims: dims,
			Read: func() ([]float32, error) { return flat, nil }})
	}
	must(t, modelfile.WriteSafetensors(filepath.Join(dir, "model.safetensors"), tensors, nil))
	m, err := modelfile.Open(dir)
	must(t, err)
	t.Cleanup(func() { m.Close() })
	return m
}

// load opens the model on a device, for the length of the golden's texts.
func (g golden) load(t *testing.T, e *engine.Engine) (model.Spec, []engine.Buffer) {
	t.Helper()
	spec, weights, err := model.Load(e, g.folder(t))
	must(t, err)
	return spec.ForContext(len(g.Texts[1]) + len(g.Generated)), weights
}

// lora writes the adapter as peft would, and loads it.
func (g golden) lora(t *testing.T, s model.Spec) (model.LoRA, []float32) {
	t.Helper()
	lora, flat, err := model.LoadPEFT(g.adapterFolder(t), s)
	must(t, err)
	return lora, flat
}

func (g golden) adapterFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, modelfile.ConfigFile), g.AdapterConfig, 0o644))
	var tensors []modelfile.Matrix
	for name, dims := range g.Adapter {
		tensors = append(tensors,
			modelfile.Matrix{Name: name, Rows: dims[0], Cols: dims[1], Data: draw(name, dims, false)})
	}
	must(t, modelfile.WriteMatrices(filepath.Join(dir, modelfile.WeightsFile), tensors, nil))
	return dir
}

// byName concatenates an adapter's flat vector in the order of its tensors' names, as the golden has it.
func byName(s model.Spec, l model.LoRA, flat []float32) (out []float32) {
	named := map[string][]float32{}
	pieces, _ := l.Pieces(s)
	for _, p := range pieces {
		named[modelfile.AdapterKey(s.Path(p.Layer, p.Target), p.B)] = flat[p.Offset:][:p.Rows*p.Cols]
	}
	for _, r := range l.Rows(s) {
		named[modelfile.RowsKey(strings.TrimSuffix(r.Weight, ".weight"))] = flat[r.Offset:][:len(r.IDs)*s.Hidden]
	}
	for _, name := range slices.Sorted(maps.Keys(named)) {
		out = append(out, named[name]...)
	}
	return out
}

// distance is the largest difference; infinite where the lengths differ.
func distance(a, b []float32) float64 {
	if len(a) != len(b) {
		return math.Inf(1)
	}
	most := 0.0
	for i := range a {
		d := math.Abs(float64(a[i]) - float64(b[i]))
		if d != d {
			return math.Inf(1)
		}
		most = max(most, d)
	}
	return most
}
