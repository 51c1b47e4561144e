package modelfile

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

const tinyConfig = `{"model_type": "llama", "hidden_size": 8, "intermediate_size": 4, "num_hidden_layers": 1, "num_attention_heads": 2,
	"vocab_size": 3, "max_position_embeddings": 16, "tie_word_embeddings": true}`

// tinyTensors are two tensors of 24 and 8 values.
func tinyTensors(dtype string) []NewTensor {
	return []NewTensor{
		{Name: "model.embed_tokens.weight", DType: dtype, Dims: []int{3, 8}, Read: func() ([]float32, error) { return count(24), nil }},
		{Name: "model.norm.weight", DType: dtype, Dims: []int{8}, Read: func() ([]float32, error) { return count(8), nil }},
	}
}

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestOpenFolder(t *testing.T) {
	for _, dtype := range []string{"F32", "BF16", "F16"} {
		for _, maxShard := range []int64{1 << 30, 1} {
			dir := t.TempDir()
			put(t, dir, configFile, tinyConfig)
			if err := WriteShards(dir, tinyTensors(dtype), maxShard); err != nil {
				t.Fatal(err)
			}
			m, err := Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			flat, dims, err := m.Tensor("model.embed_tokens.weight")
			if err != nil || !slices.Equal(dims, []int{3, 8}) || !slices.Equal(flat, count(24)) {
				t.Errorf("%s: %v %v, %v", dtype, dims, flat, err)
			}
			if got := m.Names(); !slices.Equal(got, []string{"model.embed_tokens.weight", "model.norm.weight"}) ||
				m.DType(got[0]) != dtype {
				t.Errorf("%v", got)
			}
			_, _, err = m.Tensor("lm_head.weight")
			wantFault(t, err, dir+": lm_head.weight", "do not hold")
			shards, _ := filepath.Glob(filepath.Join(dir, "*.safetensors"))
			if want := map[bool]int{true: 2, false: 1}[maxShard == 1]; len(shards) != want {
				t.Errorf("%d shards, want %d", len(shards), want)
			}
			if err := m.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// Of an embedding that is said to be the head too, and a head beside it, the head counts unless it is a copy.
func TestHeadBesideATiedEmbedding(t *testing.T) {
	tensor := func(name, dtype string, dims []int, values []float32) NewTensor {
		return NewTensor{Name: name, DType: dtype, Dims: dims, Read: func() ([]float32, error) { return values, nil }}
	}
	fine := make([]float32, 24) // needs more bits than bfloat16 has
	for i := range fine {
		fine[i] = 1 + float32(i)/1000
	}
	last := slices.Clone(fine)
	last[23] = 2
	gemma := `{"model_type": "gemma3", "text_config": {"model_type": "gemma3_text", "hidden_size": 8, "intermediate_size": 4, "num_hidden_layers": 1,
		"num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 4, "vocab_size": 3, "max_position_embeddings": 16}}`
	untied := strings.Replace(tinyConfig, "true", "false", 1)
	for name, c := range map[string]struct {
		config, prefix, head string // head: its whole name
		dtypes               [2]string
		dims                 []int
		values               []float32
		tied                 bool
		why                  string
	}{
		"none":                 {tinyConfig, "", "", [2]string{"F32", "F32"}, nil, nil, true, ""},
		"a copy":               {tinyConfig, "", "lm_head.weight", [2]string{"F32", "F32"}, []int{3, 8}, fine, true, ""},
		"a copy in bfloat16":   {tinyConfig, "", "lm_head.weight", [2]string{"BF16", "BF16"}, []int{3, 8}, fine, true, ""},
		"a rounded copy":       {tinyConfig, "", "lm_head.weight", [2]string{"F32", "BF16"}, []int{3, 8}, fine, true, ""},
		"a copy that is finer": {tinyConfig, "", "lm_head.weight", [2]string{"BF16", "F32"}, []int{3, 8}, fine, true, ""},
		"another":              {tinyConfig, "", "lm_head.weight", [2]string{"F32", "F32"}, []int{3, 8}, count(24), false, ""},
		"another at its end":   {tinyConfig, "", "lm_head.weight", [2]string{"BF16", "BF16"}, []int{3, 8}, last, false, ""},
		"another, rounded":     {tinyConfig, "", "lm_head.weight", [2]string{"F32", "F16"}, []int{3, 8}, last, false, ""},
		"of another shape":     {tinyConfig, "", "lm_head.weight", [2]string{"F32", "F32"}, []int{4, 6}, fine, false, ""},
		"said to be untied":    {untied, "", "lm_head.weight", [2]string{"F32", "F32"}, []int{3, 8}, fine, false, ""},
		"prefixed, a copy":     {gemma, "language_model.", "language_model.lm_head.weight", [2]string{"F32", "F32"}, []int{3, 8}, fine, true, ""},
		"prefixed, another":    {gemma, "language_model.", "language_model.lm_head.weight", [2]string{"F32", "F32"}, []int{3, 8}, last, false, ""},
		"outside the prefix":   {gemma, "language_model.", "lm_head.weight", [2]string{"F32", "F32"}, []int{3, 8}, last, true, "tie_word_embeddings"},
		"a copy outside":       {gemma, "language_model.", "lm_head.weight", [2]string{"F32", "F32"}, []int{3, 8}, fine, true, ""},
	} {
		for _, maxShard := range []int64{1 << 30, 1} {
			dir, to := t.TempDir(), t.TempDir()
			put(t, dir, configFile, c.config)
			tensors := []NewTensor{tensor(c.prefix+"model.embed_tokens.weight", c.dtypes[0], []int{3, 8}, fine)}
			if c.head != "" {
				tensors = append(tensors, tensor(c.head, c.dtypes[1], c.dims, c.values))
			}
			if err := WriteShards(dir, tensors, maxShard); err != nil {
				t.Fatal(err)
			}
			m, err := Open(dir)
			if c.why != "" {
				wantFault(t, err, filepath.Join(dir, configFile), c.why)
				continue
			}
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if m.Config.TiedHead != c.tied {
				t.Errorf("%s: tied %v, want %v", name, m.Config.TiedHead, c.tied)
			}
			if _, err := m.CopyRest(to, ""); err != nil {
				t.Error(err)
			}
			text, err := os.ReadFile(filepath.Join(to, configFile))
			if config, also := ParseConfig(text); err != nil || also != nil || config.TiedHead != c.tied {
				t.Errorf("%s: the copied configuration says tied %v, want %v: %v, %v",
					name, config.TiedHead, c.tied, err, also)
			}
			if err := m.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestOpenFolderRefuses(t *testing.T) {
	first, second := "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"
	for name, c := range map[string]struct {
		damage    func(dir string)
		file, why string
	}{
		"no weights": {func(dir string) { os.Remove(filepath.Join(dir, indexFile)) }, weightsFile, "no such file"},
		"no shard":   {func(dir string) { os.Remove(filepath.Join(dir, second)) }, second, "no such file"},
		"index":      {func(dir string) { put(t, dir, indexFile, `{"weight_map": 7}`) }, indexFile, "index"},
		"no list":    {func(dir string) { put(t, dir, indexFile, `{}`) }, indexFile, "no shards"},
		"elsewhere":  {func(dir string) { put(t, dir, indexFile, `{"weight_map": {"a": "../x.safetensors"}}`) }, indexFile, "../x"},
		"moved": {func(dir string) {
			put(t, dir, indexFile,
				`{"weight_map": {"model.embed_tokens.weight": "`+second+`", "model.norm.weight": "`+second+`"}}`)
		}, second, "model.embed_tokens.weight"},
		"twice": {func(dir string) {
			data, _ := os.ReadFile(filepath.Join(dir, first))
			put(t, dir, second, string(data))
			put(t, dir, indexFile, `{"weight_map": {"model.embed_tokens.weight": "`+first+`", "other": "`+second+`"}}`)
		}, second, "other"},
		"half a shard": {func(dir string) { os.Truncate(filepath.Join(dir, first), 130) }, first, ""},
		"empty shard":  {func(dir string) { os.Truncate(filepath.Join(dir, first), 0) }, first, "too short"},
		"config":       {func(dir string) { put(t, dir, configFile, `{"model_type": "mamba"}`) }, configFile, "mamba"},
	} {
		dir := t.TempDir()
		put(t, dir, configFile, tinyConfig)
		if err := WriteShards(dir, tinyTensors("F32"), 1); err != nil {
			t.Fatal(err)
		}
		c.damage(dir)
		_, err := Open(dir)
		if err == nil {
			t.Errorf("%s is accepted", name)
			continue
		}
		wantFault(t, err, filepath.Join(dir, c.file), c.why)
	}
}

// Every prefix of a good file is refused, and the error of a bad header names the tensor.
func TestSafetensorsRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), weightsFile)
	if err := WriteSafetensors(path, tinyTensors("BF16"), nil); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	refused := func(data []byte) error {
		put(t, filepath.Dir(path), weightsFile, string(data))
		f, err := OpenSafetensors(path)
		if err == nil {
			f.Close()
		}
		return err
	}
	for n := range whole {
		if refused(whole[:n]) == nil {
			t.Errorf("%d of %d bytes are accepted", n, len(whole))
		}
	}
	if refused(append(slices.Clone(whole), 0)) == nil {
		t.Error("a byte too many is accepted")
	}
	for _, header := range []string{
		`{"w":{"dtype":"I8","shape":[8],"data_offsets":[0,8]}}`,
		`{"w":{"dtype":"F32","shape":[],"data_offsets":[0,8]}}`,
		`{"w":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}}`,
		`{"w":{"dtype":"F32","shape":[0,2],"data_offsets":[0,0]}}`,
		`{"w":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,8]}}`,
		`{"w":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}}`,
		`{"w":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}`,
		`{"v":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"w":{"dtype":"F16","shape":[2],"data_offsets":[4,8]}}`,
	} {
		data := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
		data = append(append(data, header...), make([]byte, 8)...)
		if err := refused(data); err == nil || !strings.Contains(err.Error(), "tensor w") {
			t.Errorf("%s: %v", header, err)
		}
	}
}

func TestWriteSafetensorsLeavesNothingBehind(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	for _, bad := range []NewTensor{
		{Name: "w", DType: "I8", Dims: []int{8}},
		{Name: "w", DType: "F32", Dims: []int{9}, Read: func() ([]float32, error) { return count(8), nil }},
		{Name: "w", DType: "F32", Dims: []int{8}, Read: func() ([]float32, error) { return nil, os.ErrInvalid }},
	} {
		if err := WriteSafetensors(path, []NewTensor{bad}, nil); err == nil ||
			!strings.Contains(err.Error(), "tensor w") {
			t.Errorf("got %v", err)
		}
	}
	if left, _ := os.ReadDir(filepath.Dir(path)); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// Every half and every bfloat16 survives; every float32 goes to a nearest one, and to the even of two.
func TestNarrowTypes(t *testing.T) {
	for bits := range 1 << 16 {
		h := uint16(bits)
		if x := fromHalf(h); x == x && toHalf(x) != h {
			t.Fatalf("half %04x became %v became %04x", h, x, toHalf(x))
		}
		if x := math.Float32frombits(uint32(h) << 16); x == x && toBrain(math.Float32bits(x)) != h {
			t.Fatalf("bfloat16 %04x became %04x", h, toBrain(math.Float32bits(x)))
		}
	}
	for bits, want := range map[uint32]uint16{
		0x3f808000: 0x3f80, 0x3f818000: 0x3f82, 0x3f808001: 0x3f81, 0xbf817fff: 0xbf81, 0x7f7fffff: 0x7f80,
	} {
		if got := toBrain(bits); got != want {
			t.Errorf("%08x became %04x, want %04x", bits, got, want)
		}
	}
	nan := float32(math.NaN())
	if x := fromHalf(toHalf(nan)); x == x {
		t.Error("NaN became a number as a half")
	}
	if x := math.Float32frombits(uint32(toBrain(0x7f800001)) << 16); x == x {
		t.Error("NaN became a number as a bfloat16")
	}
	rapid.Check(t, func(r *rapid.T) {
		x := rapid.Float32Range(-65519, 65519).Draw(r, "x") // what rounds to a finite half
		h := toHalf(x)
		for _, other := range []uint16{h - 1, h + 1} {
			y := float64(fromHalf(other))
			near, far := math.Abs(float64(x)-float64(fromHalf(h))), math.Abs(float64(x)-y)
			if math.IsNaN(y) || math.Signbit(y) != math.Signbit(float64(x)) {
				continue
			}
			if far < near || far == near && h&1 == 1 {
				r.Fatalf("%v became %v, and %v is nearer or even", x, fromHalf(h), y)
			}
		}
	})
}

// Bytes of the file a second, from the page cache.
func BenchmarkTensor(b *testing.B) {
	const size = 16 << 20
	for _, dtype := range []string{"F32", "BF16", "F16"} {
		path := filepath.Join(b.TempDir(), weightsFile)
		t := NewTensor{Name: "w", DType: dtype, Dims: []int{size}, Read: func() ([]float32, error) {
			return make([]float32, size), nil
		}}
		if err := WriteSafetensors(path, []NewTensor{t}, nil); err != nil {
			b.Fatal(err)
		}
		f, err := OpenSafetensors(path)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(dtype, func(b *testing.B) {
			b.SetBytes(t.size())
			for b.Loop() {
				flat, _, err := f.Tensor("w")
				if err != nil {
					b.Fatal(err)
				}
				sum := float32(0)
				for i := 0; i < size; i += 1024 { // one of each page, so that a mapped tensor is read too
					sum += flat[i]
				}
				if sum != 0 {
					b.Fatal(sum)
				}
			}
		})
		f.Close()
	}
}
