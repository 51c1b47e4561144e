package model_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"pgregory.net/rapid"

	"hone/internal/engine"
	"hone/internal/fault"
	"hone/internal/learn/model"
	"hone/internal/learn/modelfile"
	"hone/internal/learn/train"
	"hone/internal/testing/learntest"
)

// ranks lists an adapter's ranks and scales by the ends of the paths of layer 1.
func ranks(s model.Spec, l model.LoRA) map[string][2]float64 {
	pieces, _ := l.Pieces(s)
	out := map[string][2]float64{}
	for _, p := range pieces {
		if !p.B && p.Layer == 1 {
			out[p.Target.Name()] = [2]float64{float64(p.Rows), p.Scale}
		}
	}
	return out
}

func TestTargetsAndPatterns(t *testing.T) {
	s := learntest.Spec()
	fused := s
	fused.FusedLinears = true
	type want = map[string][2]float64
	for _, c := range []struct {
		name string
		spec model.Spec
		lora model.LoRA
		want want
	}{
		{"all", fused, model.LoRA{Rank: 2, Alpha: 4}, want{"qkv_proj": {2, 2}, "o_proj": {2, 2}, "gate_up_proj": {2, 2}, "down_proj": {2, 2}}},
		{"names", s, model.LoRA{Rank: 2, Alpha: 4, Targets: []string{"q_proj", "mlp.up_proj"}}, want{"q_proj": {2, 2}, "up_proj": {2, 2}}},
		{
			"of other layers", s, model.LoRA{Rank: 2, Alpha: 4,
				Targets: []string{"layers.0.self_attn.q_proj", "model.layers.1.self_attn.v_proj"}},
			want{"v_proj": {2, 2}},
		},
		{"the end of a name is no name", s, model.LoRA{Rank: 2, Alpha: 4, Targets: []string{"up_proj"}}, want{"up_proj": {2, 2}}},
		{"stabilised", s, model.LoRA{Rank: 4, Alpha: 4, RankStabilized: true, Targets: []string{"k_proj"}}, want{"k_proj": {4, 2}}},
		{"pattern", s, model.LoRA{Rank: 2, Alpha: 4, TargetPattern: `.*\.1\.(?!self).*_proj`},
			want{"gate_proj": {2, 2}, "up_proj": {2, 2}, "down_proj": {2, 2}}},
		{"pattern of the whole", s, model.LoRA{Rank: 2, Alpha: 4, TargetPattern: `model\.layers\.1\.mlp\.up|.*k_proj`}, want{"k_proj": {2, 2}}},
		{"ranks", s, model.LoRA{Rank: 2, Alpha: 4, Targets: []string{"q_proj", "k_proj", "v_proj"},
			RankPattern: []model.Pattern[int]{
				{Pattern: "q_proj", Value: 8},
				{Pattern: `.*\.q_proj`, Value: 1},
				{Pattern: `^model\.layers\.1\..*v_proj`, Value: 4},
			},
			AlphaPattern: []model.Pattern[float64]{{Pattern: "k_proj", Value: 6}, {Pattern: "q_proj", Value: 8}}},
			want{"q_proj": {8, 1}, "k_proj": {2, 3}, "v_proj": {4, 1}}},
	} {
		if err := c.lora.Check(c.spec); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if got := ranks(c.spec, c.lora); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

func TestUnknownTargetsAreErrors(t *testing.T) {
	for _, c := range []struct {
		lora model.LoRA
		why  string
	}{
		{model.LoRA{}, "rank is 0"},
		{model.LoRA{Rank: 2, Targets: []string{"q_proj", "c_attn"}}, `"c_attn"`},
		{model.LoRA{Rank: 2, Targets: []string{"q_prj"}}, `"q_prj" fits no linear map of a layer; did you mean "q_proj"?`},
		{model.LoRA{Rank: 2, Targets: []string{"layers.0.mlp.up_pro"}}, `did you mean "layers.0.mlp.up_proj"?`},
		{model.LoRA{Rank: 2, RankPattern: []model.Pattern[int]{{Pattern: "kproj", Value: 1}}}, `did you mean "k_proj"?`},
		{model.LoRA{Rank: 2, Targets: []string{"lm_head"}}, `"lm_head"`},
		{model.LoRA{Rank: 2, Targets: []string{"proj"}}, `"proj"`},
		{model.LoRA{Rank: 2, Targets: []string{"layers.7.self_attn.q_proj"}}, "layers.7"},
		{model.LoRA{Rank: 2, Targets: []string{}}, "no linear map"},
		{model.LoRA{Rank: 2, TargetPattern: "q_proj"}, `"q_proj"`},
		{model.LoRA{Rank: 2, TargetPattern: "("}, "pattern"},
		{model.LoRA{Rank: 2, TargetPattern: ".*", Targets: []string{"q_proj"}}, "both"},
		{model.LoRA{Rank: 2, RankPattern: []model.Pattern[int]{{Pattern: "w_proj", Value: 1}}}, `"w_proj"`},
		{model.LoRA{Rank: 2, RankPattern: []model.Pattern[int]{{Pattern: "q_proj", Value: 0}}}, "rank 0"},
		{model.LoRA{Rank: 2, AlphaPattern: []model.Pattern[float64]{{Pattern: "q_proj", Value: math.NaN()}}}, "NaN"},
		{model.LoRA{Rank: 2, AlphaPattern: []model.Pattern[float64]{{Pattern: "[", Value: 1}}}, "pattern"},
	} {
		err := c.lora.Check(learntest.Spec())
		var f *fault.Error
		if !errors.As(err, &f) || !strings.Contains(err.Error(), c.why) || !strings.Contains(f.Next, "gate_proj") {
			t.Errorf("%+v: got %v, want %q", c.lora, err, c.why)
		}
	}
}

// Pieces fill the flat vector without holes, whatever the ranks.
func TestPiecesFillTheVector(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		s := learntest.Spec()
		s.FusedLinears = rapid.Bool().Draw(r, "fused")
		l := model.LoRA{Rank: rapid.IntRange(1, 5).Draw(r, "rank"), Alpha: 1,
			RankPattern: []model.Pattern[int]{
				{Pattern: rapid.SampledFrom([]string{"down_proj", "o_proj", `layers\.1\..*`}).Draw(r, "pattern"),
					Value: rapid.IntRange(1, 9).Draw(r, "other")},
			}}
		pieces, size := l.Pieces(s)
		end := 0
		for i, p := range pieces {
			if p.Offset != end || p.B != (i%2 == 1) {
				r.Fatalf("piece %d: %+v begins at %d", i, p, end)
			}
			end += p.Rows * p.Cols
		}
		if end != size || len(pieces) != 2*s.NumLayers*len(s.Targets()) {
			r.Fatalf("%d pieces fill %d of %d", len(pieces), end, size)
		}
	})
}

// Adapters apart in a sampler's arrays give what the trainer's adapter gives, for maps one by one, joined, and fused in
// the files; the base model where none is written; and where several stand beside each other, each row its own. What is
// held has the checksum of what was written.
func TestAdaptersApartEqualTheTrainers(t *testing.T) {
	learntest.BothDevices(t, func(t *testing.T, e *engine.Engine) {
		all := e.PureGo() || learntest.Whole()
		for _, name := range []string{"qwen2", "phi3", "llama_tokens", "gemma2_tokens"} {
			if name == "phi3" && !all {
				continue
			}
			g := read(t, name)
			s, weights := g.load(t, e)
			l, flat := g.lora(t, s)
			base, want := logits(t, e, s, weights, g.Texts), g.trained(t, e, s, weights, l, flat)
			if d := distance(base, want); d < 0.1 {
				t.Errorf("%s: the adapter changes logits by %g only", name, d)
			}
			for _, joined := range []bool{false, true} {
				if joined && e.PureGo() || !joined && !all {
					continue // pure Go has no updates in place
				}
				for count := 1; count <= 2; count++ {
					if count == 1 && !all {
						continue
					}
					h := hold(t, e, s, weights, l, count, joined)
					of := func(which int32) []float32 { return h.logits(t, g.Texts, which) }
					if d := distance(of(0), base); d > tolerance {
						t.Errorf("%s, joined %v, of %d: without an adapter logits differ by %g", name, joined, count, d)
					}
					h.write(t, count-1, flat)
					if d := distance(of(int32(count-1)), want); d > tolerance {
						t.Errorf("%s, joined %v, of %d: logits differ by %g", name, joined, count, d)
					}
					if count == 2 {
						h.write(t, 0, half(flat))
						for which, want := range map[int32][]float32{
							-1: base,
							0:  g.trained(t, e, s, weights, l, half(flat)),
							1:  want,
						} {
							if d := distance(of(which), want); d > tolerance {
								t.Errorf("%s, joined %v: adapter %d of two gives logits that differ by %g",
									name, joined, which, d)
							}
						}
						if h.checksum(t, 0) != h.checksumOf(t, half(flat)) {
							t.Errorf("%s, joined %v: the first of two has another checksum", name, joined)
						}
					}
					sum := h.checksum(t, count-1)
					if want := h.checksumOf(t, flat); sum != want {
						t.Errorf("%s, joined %v, of %d: the checksum is %x, want %x", name, joined, count, sum, want)
					}
					if e.PureGo() && count == 1 {
						checkSensitive(t, h, flat, sum)
					}
				}
			}
		}
	})
}

func half(x []float32) []float32 {
	y := slices.Clone(x)
	for i := range y {
		y[i] /= 2
	}
	return y
}

// checkSensitive changes the last bit of a number, and exchanges two: other adapters have other checksums.
func checkSensitive(t *testing.T, h held, flat []float32, sum uint64) {
	t.Helper()
	for i := 0; i < len(flat); i += len(flat)/7 - 1 {
		bit, swapped := slices.Clone(flat), slices.Clone(flat)
		bit[i] = math.Float32frombits(math.Float32bits(bit[i]) ^ 1)
		swapped[i], swapped[(i+1)%len(flat)] = swapped[(i+1)%len(flat)], swapped[i]
		if h.checksumOf(t, bit) == sum || h.checksumOf(t, swapped) == sum {
			t.Errorf("number %d: another adapter has the same checksum", i)
		}
	}
}

// held are arrays of adapters beside weights on a device.
type held struct {
	e      *engine.Engine
	a      model.Adapters
	arrays []engine.Buffer // Adapters.Params' order
	known  map[string]*engine.Program
}

// compile compiles each program once.
func (h held) compile(
	t *testing.T, name string, params []engine.Param, build func(in []*Node) []*Node,
) *engine.Program {
	t.Helper()
	if h.known[name] == nil {
		p, err := h.e.Compile(name, params, build)
		must(t, err)
		h.known[name] = p
	}
	return h.known[name]
}

func hold(
	t *testing.T, e *engine.Engine, s model.Spec, weights []engine.Buffer, l model.LoRA, count int, joined bool,
) held {
	t.Helper()
	base := s
	s.Joined = joined
	h := held{e, model.NewAdapters(s, l, count), nil, map[string]*engine.Program{}}
	params := h.a.Params()
	p, err := e.Compile("hold", base.WeightParams(), func(in []*Node) []*Node {
		if joined {
			in = base.Join(in)
		}
		var out []*Node
		for i, p := range params {
			zeros := Zeros(in[0].Graph(), p.Shape)
			switch {
			case i >= len(in):
				out = append(out, zeros)
			case p.Shape.Equal(in[i].Shape()):
				out = append(out, Add(in[i], zeros))
			default:
				out = append(out, Concatenate([]*Node{in[i], Slice(zeros, AxisRange(in[i].Shape().Dimensions[0]))}, 0))
			}
		}
		return out
	})
	must(t, err)
	h.arrays, err = p.Run(weights...)
	must(t, err)
	return h
}

func (h held) write(t *testing.T, number int, flat []float32) {
	t.Helper()
	places, all := h.a.Arrays(), h.a.Params()
	var params []engine.Param
	var in []engine.Buffer
	for _, i := range places {
		params, in = append(params, all[i]), append(in, h.arrays[i])
	}
	b, err := h.e.Upload(flat, len(flat))
	must(t, err)
	params, in = append(params, engine.Param{Name: "adapter", Shape: engine.F32(len(flat))}), append(in, b)
	if h.a.Count > 1 {
		which, err := h.e.Upload([]int32{int32(number)}, 1)
		must(t, err)
		params, in = append(params, engine.Param{Name: "number", Shape: engine.I32(1)}), append(in, which)
	}
	p := h.compile(t, "write", params, func(in []*Node) []*Node {
		var number *Node
		if h.a.Count > 1 {
			number = in[len(places)+1]
		}
		return h.a.Write(in[:len(places)], number, in[len(places)])
	})
	out, err := p.Run(in...)
	must(t, err)
	for j, i := range places {
		h.arrays[i] = out[j]
	}
}

// logits are those of all tokens under one adapter of several, or under none.
func (h held) logits(t *testing.T, texts [][]int32, which int32) (out []float32) {
	t.Helper()
	n, c := len(texts), len(texts[len(texts)-1])
	params := append(h.a.Params(), engine.Param{Name: "which", Shape: engine.I32(n * c)},
		engine.Param{Name: "ids", Shape: engine.I32(n, c)})
	p := h.compile(t, "logits", params, func(in []*Node) []*Node {
		ids, adapterM := in[len(in)-1], in[len(in)-2]
		if h.a.Count == 1 {
			adapterM = nil
		}
		d := model.NewSampling(h.a, in[:len(in)-2], adapterM)
		return []*Node{d.Logits(Reshape(forward(d, ids), n*c, h.a.Spec.Hidden))}
	})
	each, ids := make([]int32, n*c), make([]int32, n*c)
	for i := range each {
		each[i] = which
	}
	b, err := h.e.Upload(each, n*c)
	must(t, err)
	for i, text := range texts {
		copy(ids[i*c:], text)
	}
	flat := run(t, h.e, p, append(slices.Clone(h.arrays), b), ids, n, c)
	for i, text := range texts {
		out = append(out, flat[i*c*h.a.Spec.VocabSize:][:len(text)*h.a.Spec.VocabSize]...)
	}
	return out
}

func (h held) checksum(t *testing.T, number int) uint64 {
	t.Helper()
	all := h.a.Params()
	var params []engine.Param
	var in []engine.Buffer
	for _, i := range h.a.Arrays() {
		params, in = append(params, all[i]), append(in, h.arrays[i])
	}
	p := h.compile(t, fmt.Sprint("checksum", number), params, func(in []*Node) []*Node {
		return []*Node{h.a.Checksum(in, number)}
	})
	out, err := p.Run(in...)
	must(t, err)
	sum, err := model.ReadChecksum(out[0])
	must(t, err)
	return sum
}

func (h held) checksumOf(t *testing.T, flat []float32) uint64 {
	t.Helper()
	p := h.compile(t, "checksum",
		[]engine.Param{{Name: "adapter", Shape: engine.F32(len(flat))}}, func(in []*Node) []*Node {
			return []*Node{h.a.ChecksumOf(in[0])}
		})
	b, err := h.e.Upload(flat, len(flat))
	must(t, err)
	out, err := p.Run(b)
	must(t, err)
	sum, err := model.ReadChecksum(out[0])
	must(t, err)
	return sum
}

// trained are the logits of all tokens under an adapter as the trainer applies it.
func (g golden) trained(
	t *testing.T, e *engine.Engine, s model.Spec, weights []engine.Buffer, l model.LoRA, adapter []float32,
) (out []float32) {
	t.Helper()
	n, c := len(g.Texts), len(g.Texts[len(g.Texts)-1])
	params := append(s.WeightParams(), engine.Param{Name: "adapter", Shape: engine.F32(len(adapter))},
		engine.Param{Name: "ids", Shape: engine.I32(n, c)})
	p, err := e.Compile("trained", params, func(in []*Node) []*Node {
		d := model.NewAdapterDecoder(s, in[:len(in)-2], l, in[len(in)-2])
		return []*Node{d.Logits(Reshape(forward(d, in[len(in)-1]), n*c, s.Hidden))}
	})
	must(t, err)
	b, err := e.Upload(adapter, len(adapter))
	must(t, err)
	ids := make([]int32, n*c)
	for i, text := range g.Texts {
		copy(ids[i*c:], text)
	}
	flat := run(t, e, p, append(slices.Clone(weights), b), ids, n, c)
	for i, text := range g.Texts {
		out = append(out, flat[i*c*s.VocabSize:][:len(text)*s.VocabSize]...)
	}
	return out
}

// A merged model that is written is what the adapter makes of the base.
func TestSavedMergedModel(t *testing.T) {
	e, err := engine.Open(engine.Options{})
	must(t, err)
	defer e.Close()
	for _, name := range []string{"qwen2", "phi3", "llama_tokens", "gemma2_tokens"} {
		g := read(t, name)
		if name == "gemma2_tokens" { // the file has the one matrix twice
			g.Weights["lm_head.weight"], g.tied = g.Weights["model.embed_tokens.weight"], true
		}
		s, weights := g.load(t, e)
		l, flat := g.lora(t, s)
		g.saveMerged(t, e, s, l, flat, g.trained(t, e, s, weights, l, flat))
	}
}

// saveMerged writes the merged model and compares the logits of the model read back.
func (g golden) saveMerged(t *testing.T, e *engine.Engine, s model.Spec, l model.LoRA, flat, want []float32) {
	t.Helper()
	m, dir := g.folder(t), t.TempDir()
	must(t, os.WriteFile(filepath.Join(m.Path, "tokenizer.json"), []byte("{}"), 0o644))
	whole := model.Merged{Model: m, LoRA: l, Adapter: flat}
	tokenizer, err := whole.Save(t.Context(), dir, e)
	if must(t, err); !tokenizer {
		t.Error("the tokenizer is not said to be there")
	}
	if text, err := os.ReadFile(filepath.Join(dir, "tokenizer.json")); err != nil || string(text) != "{}" {
		t.Errorf("tokenizer.json: %q, %v", text, err)
	}
	merged, err := modelfile.Open(dir)
	must(t, err)
	defer merged.Close()
	_, weights, err := model.Load(e, merged)
	must(t, err)
	for _, r := range l.Rows(s) {
		name := r.Weight
		if g.tied {
			name = "lm_head.weight"
		}
		rows, err := merged.Rows(name, []int{int(r.IDs[0])})
		if must(t, err); !slices.Equal(rows[0], flat[r.Offset:r.Offset+s.Hidden]) {
			t.Errorf("the row of %s for token %d is not the adapter's", name, r.IDs[0])
		}
	}
	if d := distance(logits(t, e, s, weights, g.Texts), want); d > tolerance {
		t.Errorf("the merged model read back differs by %g", d)
	}
	whole.Adapter = flat[1:]
	if _, err := whole.Save(t.Context(), dir, e); err == nil {
		t.Error("an adapter of another size is merged")
	}
}

// What the trainer saves is, name by name and key by key, what peft saved of the same adapter.
func TestSavedAdapterIsPEFTs(t *testing.T) {
	e, err := engine.Open(engine.Options{})
	must(t, err)
	defer e.Close()
	for _, name := range cases(t) {
		g := read(t, name)
		s, weights := g.load(t, e)
		l, flat := g.lora(t, s)
		state := train.NewState(s, l, 1)
		copy(state.Adapter, flat)
		tr, err := train.New(e, s, weights, state, train.Options{LoRA: l})
		must(t, err)
		dir := t.TempDir()
		must(t, tr.SaveAdapter(dir))
		tensors, err := modelfile.ReadMatrices(filepath.Join(dir, modelfile.WeightsFile))
		must(t, err)
		if len(tensors) != len(g.Adapter) {
			t.Errorf("%s: %d tensors, want %d", name, len(tensors), len(g.Adapter))
		}
		for key, dims := range g.Adapter {
			x := tensors[key]
			if !slices.Equal([]int{x.Rows, x.Cols}, dims) || !slices.Equal(x.Data, draw(key, dims, false)) {
				t.Errorf("%s: %s is another matrix", name, key)
			}
		}
		text, err := os.ReadFile(filepath.Join(dir, modelfile.ConfigFile))
		must(t, err)
		var ours, theirs map[string]any
		must(t, json.Unmarshal(text, &ours))
		must(t, json.Unmarshal(g.AdapterConfig, &theirs))
		for _, key := range []string{
			"peft_type", "r", "lora_alpha", "use_rslora", "target_modules", "rank_pattern", "alpha_pattern", "bias",
			"trainable_token_indices",
		} {
			if !reflect.DeepEqual(ours[key], theirs[key]) {
				t.Errorf("%s: %s is %v, peft's is %v", name, key, ours[key], theirs[key])
			}
		}
		if _, there := ours["trainable_token_indices"]; there != (len(l.Tokens) > 0) {
			t.Errorf("%s: rows of %v are told of: %v", name, l.Tokens, there)
		}
	}
}

// An adapter with rows of tokens that are not this model's, or not there, is refused.
func TestRowsThatDoNotFit(t *testing.T) {
	type any = map[string]interface{}
	for _, c := range []struct {
		golden, why string
		damage      func(g *golden, config any)
	}{
		{"gemma2_tokens", "embed_tokens and lm_head differ", func(g *golden, config any) {
			config["trainable_token_indices"] = any{"embed_tokens": []int{60, 9}, "lm_head": []int{9, 60}}
		}},
		{"gemma2_tokens", "embed_tokens and lm_head differ", func(g *golden, config any) {
			config["trainable_token_indices"] = any{"lm_head": []int{9, 60}}
		}},
		{"llama_tokens", "name wte", func(g *golden, config any) { config["trainable_token_indices"] = any{"wte": []int{1}} }},
		{
			"llama_tokens", "has no base_model.model.lm_head.token_adapter.trainable_tokens_delta", func(g *golden,
				config any) {
				delete(g.Adapter, "base_model.model.lm_head.token_adapter.trainable_tokens_delta")
			},
		},
		{"llama_tokens", "2 tensors for which the model's targets have no place", func(g *golden, config any) { delete(config, "trainable_token_indices") }},
		{"gemma2_tokens", "is 2x32, the model needs 1x32", func(g *golden, config any) { config["trainable_token_indices"] = []int{9} }},
		{"gemma2_tokens", "a row for token 96 of a vocabulary of 96", func(g *golden, config any) { config["trainable_token_indices"] = []int{9, 96} }},
		{"gemma2_tokens", "two rows for token 9", func(g *golden, config any) { config["trainable_token_indices"] = []int{9, 9} }},
	} {
		g := read(t, c.golden)
		var config any
		must(t, json.Unmarshal(g.AdapterConfig, &config))
		c.damage(&g, config)
		text, err := json.Marshal(config)
		must(t, err)
		m := g.folder(t)
		g.AdapterConfig = text
		_, _, err = model.LoadPEFT(g.adapterFolder(t), model.Spec{Config: m.Config})
		if err == nil || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s: got %v, want %q", c.golden, err, c.why)
		}
	}
	g := read(t, "gemma2_tokens") // PEFT takes the head's as the embedding's, where they are one
	g.AdapterConfig = []byte(strings.Replace(string(g.AdapterConfig), `[60,9]`,
		`{"model.embed_tokens": [60, 9], "lm_head": [60, 9]}`, 1))
	l, _, err := model.LoadPEFT(g.adapterFolder(t), model.Spec{Config: g.folder(t).Config})
	if err != nil || !slices.Equal(l.Tokens, []int32{60, 9}) || l.HeadTokens != nil {
		t.Errorf("rows of %v and %v, %v", l.Tokens, l.HeadTokens, err)
	}
}

// Files that are not what their configuration says are refused, by the tensor's name, before anything is computed.
func TestLoadRefusesAnotherModel(t *testing.T) {
	e, err := engine.Open(engine.Options{})
	must(t, err)
	defer e.Close()
	for _, c := range []struct {
		golden, why string
		damage      func(g *golden)
	}{
		{"qwen2", "model.layers.1.self_attn.k_proj.bias", func(g *golden) { delete(g.Weights, "model.layers.1.self_attn.k_proj.bias") }},
		{"smollm2", "model.layers.2.self_attn.q_proj.bias", func(g *golden) { g.Weights["model.layers.2.self_attn.q_proj.bias"] = []int{32} }},
		{"qwen3", "model.layers.0.self_attn.q_norm.weight", func(g *golden) { g.Weights["model.layers.0.self_attn.q_norm.weight"] = []int{8} }},
		{"phi3", "model.layers.0.self_attn.q_proj.weight", func(g *golden) { g.Weights["model.layers.0.self_attn.q_proj.weight"] = []int{32, 32} }},
		{"llama", "lm_head.weight", func(g *golden) { delete(g.Weights, "lm_head.weight") }},
		{"mistral", "embed_tokens", func(g *golden) { g.Weights["model.embed_tokens.weight"] = []int{95, 32} }},
		{"gemma2", "not finite", func(g *golden) { g.infinite = true }},
	} {
		g := read(t, c.golden)
		c.damage(&g)
		_, _, err := model.Load(e, g.folder(t))
		var f *fault.Error
		if !errors.As(err, &f) || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s: got %v, want a fault that says %q", c.golden, err, c.why)
		}
	}
}

// A text model inside a model of text and images is read by its own names.
func TestLoadInsideAnotherModel(t *testing.T) {
	e, err := engine.Open(engine.Options{})
	must(t, err)
	defer e.Close()
	g := read(t, "gemma3")
	g.Config = json.RawMessage(
		`{"model_type": "gemma3", "tie_word_embeddings": false, "vision_config": {}, "text_config": ` +
			string(g.Config) + `}`,
	)
	inside := map[string][]int{"vision_tower.weight": {2}}
	for name, dims := range g.Weights {
		inside["language_model."+name] = dims
	}
	g.Weights, g.outer = inside, "language_model."
	s, weights := g.load(t, e)
	if d := distance(logits(t, e, s, weights, g.Texts), g.array(t, "logits")); d > tolerance {
		t.Errorf("logits differ by %g", d)
	}
	if got := s.Path(1, model.Q); got != "model.language_model.layers.1.self_attn.q_proj" {
		t.Error(got)
	}
	all := model.LoRA{Rank: 1, Alpha: 1}
	if l := all.Explicit(s); l.Check(s) != nil || len(l.Targets) != 7*s.NumLayers ||
		l.Targets[0] != s.Path(0, model.Q) {
		t.Errorf("%+v", l)
	}
}
