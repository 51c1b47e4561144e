package model_test

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"pgregory.net/rapid"

	"hone/internal/fault"
	"hone/internal/learn/adapter"
	"hone/internal/learn/engine"
	"hone/internal/learn/learntest"
	"hone/internal/learn/model"
	"hone/internal/learn/train"
	"hone/internal/modelfile"
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
		{"of other layers", s, model.LoRA{Rank: 2, Alpha: 4, Targets: []string{"layers.0.self_attn.q_proj", "model.layers.1.self_attn.v_proj"}},
			want{"v_proj": {2, 2}}},
		{"the end of a name is no name", s, model.LoRA{Rank: 2, Alpha: 4, Targets: []string{"up_proj"}}, want{"up_proj": {2, 2}}},
		{"stabilised", s, model.LoRA{Rank: 4, Alpha: 4, RankStabilized: true, Targets: []string{"k_proj"}}, want{"k_proj": {4, 2}}},
		{"pattern", s, model.LoRA{Rank: 2, Alpha: 4, TargetPattern: `.*\.1\.(?!self).*_proj`}, want{"gate_proj": {2, 2}, "up_proj": {2, 2}, "down_proj": {2, 2}}},
		{"pattern of the whole", s, model.LoRA{Rank: 2, Alpha: 4, TargetPattern: `model\.layers\.1\.mlp\.up|.*k_proj`}, want{"k_proj": {2, 2}}},
		{"ranks", s, model.LoRA{Rank: 2, Alpha: 4, Targets: []string{"q_proj", "k_proj", "v_proj"},
			RankPattern:  []model.Pattern[int]{{Pattern: "q_proj", Value: 8}, {Pattern: `.*\.q_proj`, Value: 1}, {Pattern: `^model\.layers\.1\..*v_proj`, Value: 4}},
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
			RankPattern: []model.Pattern[int]{{Pattern: rapid.SampledFrom([]string{"down_proj", "o_proj", `layers\.1\..*`}).Draw(r, "pattern"),
				Value: rapid.IntRange(1, 9).Draw(r, "other")}}}
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

// Merged weights give what the adapter gives beside them, and unmerged ones are the base's.
func TestMergeAndUnmerge(t *testing.T) {
	for _, name := range []string{"qwen2", "phi3"} {
		e, err := engine.Open(engine.Options{})
		must(t, err)
		defer e.Close()
		g := read(t, name)
		s, weights := g.load(t, e)
		l, flat := g.lora(t, s)
		b, err := e.Upload(flat, len(flat))
		must(t, err)
		change := func(how func(model.Spec, model.LoRA, []*Node, *Node) []*Node, weights []engine.Buffer) []engine.Buffer {
			p, err := e.Compile("merge", append(s.WeightParams(), engine.Param{Name: "adapter", Shape: engine.F32(len(flat))}), func(in []*Node) []*Node {
				return s.Made(how(s, l, in[:len(in)-1], in[len(in)-1]))
			})
			must(t, err)
			maps, err := p.Run(append(slices.Clone(weights), b)...)
			must(t, err)
			return s.WithMade(s, weights, maps)
		}
		merged := change(model.Merge, weights)
		again := change(model.Unmerge, merged)
		base, with := logits(t, e, s, weights, g.Texts), logits(t, e, s, merged, g.Texts)
		if d := distance(base, with); d < 0.1 {
			t.Errorf("%s: the adapter changes logits by %g only", name, d)
		}
		if d := distance(base, logits(t, e, s, again, g.Texts)); d > tolerance {
			t.Errorf("%s: after unmerging logits differ by %g", name, d)
		}
		joined := s
		joined.Joined = true
		p, err := e.Compile("join", append(s.WeightParams(), engine.Param{Name: "adapter", Shape: engine.F32(len(flat))}), func(in []*Node) []*Node {
			return joined.Made(s.Join(model.Merge(s, l, in[:len(in)-1], in[len(in)-1])))
		})
		must(t, err)
		made, err := p.Run(append(slices.Clone(weights), b)...)
		must(t, err)
		if d := distance(with, logits(t, e, joined, joined.WithMade(s, weights, made), g.Texts)); d > tolerance {
			t.Errorf("%s: joined, the merged weights differ by %g", name, d)
		}
		for i := range weights {
			x, err := engine.Floats(weights[i])
			must(t, err)
			y, err := engine.Floats(again[i])
			must(t, err)
			if d := distance(x, y); d > 3e-7 { // one rounding at the size of the merged weights
				t.Errorf("%s: %s differs by %g after unmerging", name, s.Weights()[i].Name(), d)
			}
		}
		g.saveMerged(t, e, s, l, flat, with)
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
		tensors, err := adapter.ReadSafetensors(filepath.Join(dir, adapter.WeightsFile))
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
		text, err := os.ReadFile(filepath.Join(dir, adapter.ConfigFile))
		must(t, err)
		var ours, theirs map[string]any
		must(t, json.Unmarshal(text, &ours))
		must(t, json.Unmarshal(g.AdapterConfig, &theirs))
		for _, key := range []string{"peft_type", "r", "lora_alpha", "use_rslora", "target_modules", "rank_pattern", "alpha_pattern", "bias"} {
			if !reflect.DeepEqual(ours[key], theirs[key]) {
				t.Errorf("%s: %s is %v, peft's is %v", name, key, ours[key], theirs[key])
			}
		}
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
	g.Config = json.RawMessage(`{"model_type": "gemma3", "tie_word_embeddings": false, "vision_config": {}, "text_config": ` + string(g.Config) + `}`)
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
	if l := all.Explicit(s); l.Check(s) != nil || len(l.Targets) != 7*s.NumLayers || l.Targets[0] != s.Path(0, model.Q) {
		t.Errorf("%+v", l)
	}
}
