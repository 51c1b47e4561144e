package basemodel

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"hone/internal/config"
	"hone/internal/console/sanitize"
	"hone/internal/host"
	"hone/internal/learn/modelfile"
	"hone/internal/text/render"
)

// tinyFamilies are config.json of a tiny model of each family.
func tinyFamilies(t *testing.T) map[string]map[string]any {
	t.Helper()
	paths, err := filepath.Glob("../../testdata/reference/families/*.json.gz")
	if err != nil || len(paths) < 10 {
		t.Fatalf("%d families, %v", len(paths), err)
	}
	configs := map[string]map[string]any{}
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		z, err := gzip.NewReader(f)
		var golden struct{ Config map[string]any }
		if err == nil {
			err = json.NewDecoder(z).Decode(&golden)
		}
		if err != nil || f.Close() != nil {
			t.Fatal(path, err)
		}
		configs[strings.TrimSuffix(filepath.Base(path), ".json.gz")] = golden.Config
	}
	return configs
}

// row is the start that all tokens have in common and, as far as they are trained, what is their own.
func row(id, width int, trained float64) []float32 {
	out := make([]float32, width)
	for i := range out {
		own := math.Sin(float64(id*width+i) * 12.9898)
		out[i] = float32(math.Cos(float64(i)) + trained*own)
	}
	return out
}

// Tokens of prompts and calls whose rows were planted as those of ids that nothing was trained on are found in each
// family, in the embedding and in a head of its own. Rows that were trained a little are not, and no other token
// counts.
func TestUntrainedTokensAreFound(t *testing.T) {
	v := letters(withTools)
	for _, token := range []string{"<tool_call>", "</tool_call>", "<|box_start|>", "<|other|>"} {
		v.Tokens, v.TokenTypes = append(v.Tokens, token), append(v.TokenTypes, 4)
	}
	id := func(token string) int { return slices.Index(v.Tokens, token) }
	size := len(v.Tokens) + 2 // rows behind the last token
	calls := Untrained{Tokens: []string{"<tool_call>", "</tool_call>"}, Calls: true}
	type rows map[string]float64
	for name, c := range tinyFamilies(t) {
		for what, tc := range map[string]struct {
			planted rows // how far a token's row was trained; those that are not here are
			inHead  bool
			want    Untrained
		}{
			"none":               {},
			"calls":              {planted: rows{"<tool_call>": 0.001, "</tool_call>": 0}, want: calls},
			"a turn":             {planted: rows{"<|im_start|>": 0}, want: Untrained{Tokens: []string{"<|im_start|>"}}},
			"trained a little":   {planted: rows{"<|im_start|>": 0.3, "<tool_call>": 0.3}},
			"one nobody writes":  {planted: rows{"<|other|>": 0}},
			"calls, in the head": {planted: rows{"<tool_call>": 0, "</tool_call>": 0}, inHead: true, want: calls},
			"zero":               {planted: rows{"<|im_end|>": math.NaN()}, want: Untrained{Tokens: []string{"<|im_end|>"}}},
		} {
			file := tinyFile(t, c, size, v, func(i int, head bool) []float32 {
				const width = 32
				trained := 1.0
				if i >= len(v.Tokens) || i == id("<|box_start|>") {
					trained = 0
				} else if far, ok := tc.planted[v.Tokens[i]]; ok && head == tc.inHead {
					trained = far
				}
				if trained != trained {
					return make([]float32, width)
				}
				return row(i, width, trained)
			})
			want := tc.want
			if tc.inHead && file.Config.TiedHead { // there is none
				want = Untrained{}
			}
			text, err := ReadText(config.Model{}, file)
			if err != nil {
				t.Fatal(err)
			}
			r, err := text.Renderer("")
			if err != nil {
				t.Fatal(err)
			}
			got, err := FindUntrainedTokens(file, text.Tokenizer, r)
			if len(want.Tokens) > 0 && what != "zero" {
				want.Like = []string{"<|box_start|>", "id 102", "id 103"}
			}
			want.Calls = want.Calls || len(want.Tokens) == 0
			for _, token := range want.Tokens {
				want.IDs = append(want.IDs, int32(id(token)))
			}
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%s, %s: %+v, want %+v; %v", name, what, got, want, err)
			}
			found, none := got.Describe(), len(want.Tokens) == 0
			if (found == "") != none || !strings.Contains(found, strings.Join(want.Tokens, ", ")) {
				t.Errorf("%s, %s: %q", name, what, found)
			}
			off := config.LoRA{TrainableTokens: config.TrainableTokens{config.NoTokens}}
			if helps := strings.Contains(got.Help(off), "model.tool_format"); !none && helps != got.Calls {
				t.Errorf("%s, %s: %q", name, what, got.Help(off))
			}
			checkSaid(t, name+", "+what, file, text, r, found)
			got.named = true
			if strings.Contains(got.Help(off), "model.tool_format") {
				t.Errorf("%s, %s, under a template that was named: %q", name, what, got.Help(off))
			}
			if err := file.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// checkSaid checks what is said when a model is opened, and which rows its adapter is given.
func checkSaid(t *testing.T, what string, file *modelfile.Model, text *Text, r render.Renderer, found string) {
	t.Helper()
	var told bytes.Buffer
	m := &Model{File: file, Text: text, Renderer: r, host: &host.Host{Talk: sanitize.New(&told)}}
	auto, off := config.Default().LoRA, config.Default().LoRA
	off.TrainableTokens = config.TrainableTokens{config.NoTokens}
	for _, c := range []struct {
		lora   config.LoRA
		trains bool
		want   string
	}{
		{auto, true, ": these rows are trained with the adapter (lora.trainable_tokens)"},
		{auto, false, "; hone sft and hone train train these rows with a new adapter"},
		{off, true, "; set lora.trainable_tokens: auto"},
	} {
		told.Reset()
		m.WarnUntrainedTokens(c.lora, "", c.trains)
		if says := told.String(); (says == "") != (found == "") || found != "" && !strings.Contains(says, found+":") ||
			found != "" && !strings.Contains(says, c.want) {
			t.Errorf("%s, when it is opened: %q, want %q", what, says, c.want)
		}
		lora, err := m.LoRA(c.lora)
		var ids []int32
		if c.lora.TrainableTokens.Is(config.AutoTokens) {
			ids = m.untrainedTokens().IDs
		}
		head := ids
		if file.Config.TiedHead {
			head = nil
		}
		if err != nil || !slices.Equal(lora.Tokens, ids) || !slices.Equal(lora.HeadTokens, head) {
			t.Errorf("%s: rows of %v and, of the head, %v; want %v and %v; %v",
				what, lora.Tokens, lora.HeadTokens, ids, head, err)
		}
	}
}

// Tokens that are named have rows, those that the tokenizer has; others are refused.
func TestNamedTokens(t *testing.T) {
	v := letters(withTools)
	for _, tied := range []bool{true, false} {
		file := tinyFile(t, tinyConfig(t, tied), len(v.Tokens), v, func(id int, head bool) []float32 {
			return row(id, 32, 1)
		})
		text, err := ReadText(config.Model{}, file)
		if err != nil {
			t.Fatal(err)
		}
		m, c := &Model{File: file, Text: text}, config.Default().LoRA
		c.TrainableTokens = config.TrainableTokens{"<|im_end|>", "<|im_start|>"}
		end, _ := text.Tokenizer.ID("<|im_end|>")
		start, _ := text.Tokenizer.ID("<|im_start|>")
		lora, err := m.LoRA(c)
		if err != nil || !slices.Equal(lora.Tokens, []int32{end, start}) || (len(lora.HeadTokens) == 0) != tied {
			t.Errorf("tied %v: %v, %v; %v", tied, lora.Tokens, lora.HeadTokens, err)
		}
		flat := make([]float32, 100000)
		spec := m.Shape()
		if err := lora.StartRows(spec, file, flat); err != nil {
			t.Fatal(err)
		}
		for _, r := range lora.Rows(spec) {
			if got := flat[r.Offset:][:32]; !slices.Equal(got, row(int(end), 32, 1)) {
				t.Errorf("tied %v: the row of %s begins as %v", tied, r.Weight, got)
			}
		}
		c.TrainableTokens = config.TrainableTokens{"<|no_such|>"}
		if _, err := m.LoRA(c); err == nil || !strings.Contains(err.Error(), `no token "<|no_such|>"`) {
			t.Errorf("a token that is none: %v", err)
		}
	}
}

// tinyConfig is config.json of a tiny model whose head is its embedding, or is not.
func tinyConfig(t *testing.T, tied bool) map[string]any {
	t.Helper()
	if tied {
		return tinyFamilies(t)["smollm2"]
	}
	return tinyFamilies(t)["llama"]
}

// tinyFile is a model's folder with an embedding and, where it has one, a head.
func tinyFile(t *testing.T, c map[string]any, size int, v modelfile.Vocabulary,
	row func(id int, head bool) []float32) *modelfile.Model {
	t.Helper()
	dir := t.TempDir()
	c["vocab_size"] = size
	text, err := json.Marshal(c)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "config.json"), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	matrix := func(name string, head bool) modelfile.NewTensor {
		read := func() (flat []float32, err error) {
			for id := range size {
				flat = append(flat, row(id, head)...)
			}
			return flat, nil
		}
		return modelfile.NewTensor{Name: name, DType: "F32", Dims: []int{size, 32}, Read: read}
	}
	tensors := []modelfile.NewTensor{matrix("model.embed_tokens.weight", false), matrix("lm_head.weight", true)}
	if err := modelfile.WriteSafetensors(filepath.Join(dir, "model.safetensors"), tensors, nil); err != nil {
		t.Fatal(err)
	}
	m, err := modelfile.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	m.Vocabulary = v
	return m
}
