package sample

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"sort"
	"testing"

	"github.com/gomlx/gomlx/core/graph"
	"pgregory.net/rapid"

	"hone/internal/engine"
	"hone/internal/episode/policy"
	"hone/internal/learn/model"
	"hone/internal/learn/modelfile"
	"hone/internal/testing/learntest"
)

// settings are what one row is truncated by.
type settings struct {
	Temperature float64 `json:"temperature"`
	TopK        int     `json:"top_k"`
	TopP        float64 `json:"top_p"`
	MinP        float64 `json:"min_p"`
	Banned      []int32 `json:"banned"`
}

// bench runs the programs of truncation without a model: [rows, vocabulary] at a time.
type bench struct {
	*Sampler
	t      *testing.T
	choice *engine.Program
}

func newBench(t *testing.T, e *engine.Engine, rows, vocabulary int) *bench {
	t.Helper()
	s := &Sampler{engine: e, devices: 1, slots: rows, context: 2, steps: 1,
		spec: model.Spec{Config: modelfile.Config{VocabSize: vocabulary}}, masks: newMasks(rows, vocabulary)}
	t.Cleanup(s.masks.free)
	s.state = make([]slot, rows)
	params := []engine.Param{
		{Name: "logits", Shape: engine.F32(rows, vocabulary)}, {Name: "uniform", Shape: engine.F32(rows)},
		{Name: "ints", Shape: engine.I32(numInts, rows)}, {Name: "floats", Shape: engine.F32(rowUniform+1, rows)},
		{Name: "allowed", Shape: engine.I32(rows, numWords(vocabulary))},
	}
	choice, err := e.Compile("choice", params, func(in []*graph.Node) []*graph.Node {
		ids, logprobs, left := decoding{Sampler: s, ints: in[2], floats: in[3], allowed: in[4]}.draw(in[0], in[1])
		return []*graph.Node{ids, logprobs, left}
	})
	if err != nil {
		t.Fatal(err)
	}
	if s.ranker, err = s.rankProgram(); err != nil { // as ready does for a request that asks for the likeliest tokens
		t.Fatal(err)
	}
	return &bench{s, t, choice}
}

// choose truncates rows of logits and draws from each with a uniform number. Row i is slot i.
func (b *bench) choose(logits [][]float32, by []settings, uniforms []float32) (d draws, left [][]float32) {
	b.t.Helper()
	n, v := b.slots, b.spec.VocabSize
	ints, floats := make([]int32, numInts*n), make([]float32, (rowUniform+1)*n)
	for i, s := range by {
		r := policy.Request{
			Sampling: policy.Sampling{Temperature: s.Temperature, TopK: s.TopK, TopP: s.TopP, MinP: s.MinP,
				MaxTokens: 1, TopLogprobs: 20},
			Constraint: policy.Banned(s.Banned),
		}
		b.state[i] = slot{pending: []int32{0}, job: &job{request: r}}
		b.tell(i, 1, ints, floats)
		if !b.masks.ask(i, r.Constraint, nil) {
			b.t.Fatal("nothing is left")
		}
	}
	allowed, err := b.masks.upload(b.Sampler)
	if err != nil {
		b.t.Fatal(err)
	}
	var in []engine.Buffer
	for _, x := range []input{
		{slices.Concat(logits...), []int{n, v}},
		{uniforms, []int{n}},
		{ints, []int{numInts, n}},
		{floats, []int{rowUniform + 1, n}},
	} {
		buffer, err := b.engine.Upload(x.flat, x.dims...)
		if err != nil {
			b.t.Fatal(err)
		}
		in = append(in, buffer)
	}
	out, err := b.choice.Run(append(in, allowed)...)
	if err != nil {
		b.t.Fatal(err)
	}
	if d.ids, d.logprobs, err = b.download(out[0], out[1]); err != nil {
		b.t.Fatal(err)
	}
	if err := b.list(out[2], floats[rowTemperature*n:][:n], &d); err != nil {
		b.t.Fatal(err)
	}
	flat, err := engine.Floats(out[2])
	if err != nil {
		b.t.Fatal(err)
	}
	engine.Free(append(in, out...)...)
	for i := range n {
		left = append(left, flat[i*v:][:v])
	}
	return d, left
}

// reference is truncation by sorting, in float64: the ids left, the likeliest first, with their natural-log
// probabilities, and how near a sum of probabilities comes to TopP.
func reference(logits []float32, s settings) (ids []int32, logprobs []float64, near float64) {
	for id := range logits {
		if !slices.Contains(s.Banned, int32(id)) {
			ids = append(ids, int32(id))
		}
	}
	sort.SliceStable(ids, func(i, j int) bool { return logits[ids[i]] > logits[ids[j]] })
	at := func(i int) float64 { return float64(logits[ids[i]]) / s.Temperature }
	mass := func(i int) float64 { return math.Exp(at(i) - at(0)) }
	near = 1
	keep := func(n int) { // and what is as likely as the last
		for n < len(ids) && logits[ids[n]] == logits[ids[n-1]] {
			n++
		}
		ids = ids[:n]
	}
	if s.TopK > 0 && s.TopK < len(ids) {
		keep(s.TopK)
	}
	total := func() (sum float64) {
		for i := range ids {
			sum += mass(i)
		}
		return sum
	}
	if s.TopP > 0 && s.TopP < 1 {
		all, sum := total(), 0.0
		for i := range ids {
			sum += mass(i)
			near = min(near, math.Abs(sum/all-s.TopP))
			if sum >= s.TopP*all {
				keep(i + 1)
				break
			}
		}
	}
	for i := range ids {
		if mass(i) < s.MinP {
			keep(i)
			break
		}
	}
	all := total()
	for i := range ids {
		logprobs = append(logprobs, math.Log(mass(i)/all))
	}
	return ids, logprobs, near
}

// leftOf are the ids that are not -Inf.
func leftOf(row []float32) (ids []int32) {
	for id, x := range row {
		if !math.IsInf(float64(x), -1) {
			ids = append(ids, int32(id))
		}
	}
	return ids
}

// differing are the ids of one list only.
func differing(a, b []int32) (ids []int32) {
	for _, id := range slices.Concat(a, b) {
		if slices.Contains(a, id) != slices.Contains(b, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

func sorted(ids []int32) []int32 { return slices.Sorted(slices.Values(ids)) }

// What is left, and how likely it is then, must be what transformers leaves (make_warpers.py), by the plain reference
// too.
func TestTruncationEqualsTransformers(t *testing.T) {
	file, err := os.ReadFile("../../../testdata/reference/warpers.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		settings
		Logits   []int     `json:"logits"` // times 64
		Left     []int32   `json:"left"`
		Logprobs []float64 `json:"logprobs"`
	}
	if err := json.Unmarshal(file, &cases); err != nil || len(cases) < 25 {
		t.Fatalf("%d cases, %v", len(cases), err)
	}
	var logits [][]float32
	var by []settings
	for _, c := range cases {
		row := make([]float32, len(c.Logits))
		for i, x := range c.Logits {
			row[i] = float32(x) / 64
		}
		logits, by = append(logits, row), append(by, c.settings)
	}
	learntest.EachDevice(t, func(t *testing.T, e *engine.Engine) {
		b := newBench(t, e, len(cases), len(cases[0].Logits))
		seen := make([]map[int32]bool, len(cases))
		for i := range seen {
			seen[i] = map[int32]bool{}
		}
		r := rand.New(rand.NewPCG(1, 2))
		for range 20 {
			uniforms := make([]float32, len(cases))
			for i := range uniforms {
				uniforms[i] = r.Float32()
			}
			d, left := b.choose(logits, by, uniforms)
			for i, c := range cases {
				if got := leftOf(left[i]); !slices.Equal(got, c.Left) {
					t.Fatalf("case %d, %+v: %v is left, transformers leaves %v", i, c.settings, got, c.Left)
				}
				if got, _, _ := reference(logits[i], c.settings); !slices.Equal(sorted(got), c.Left) {
					t.Fatalf("case %d, %+v: the reference leaves %v, transformers %v", i, c.settings, got, c.Left)
				}
				at := slices.Index(c.Left, d.ids[i])
				if at < 0 {
					t.Fatalf("case %d, %+v: token %d was drawn, which is not left", i, c.settings, d.ids[i])
				}
				if math.Abs(float64(d.logprobs[i])-c.Logprobs[at]) > 3e-5 {
					t.Errorf("case %d, token %d: logprob %g, transformers %g",
						i, d.ids[i], d.logprobs[i], c.Logprobs[at])
				}
				seen[i][d.ids[i]] = true
				if n := min(20, len(c.Left)); len(d.top[i]) != n {
					t.Errorf("case %d: %d likely tokens are listed of %d", i, len(d.top[i]), n)
				}
				for j, top := range d.top[i] {
					at := slices.Index(c.Left, top.ID)
					if at < 0 || math.Abs(float64(top.Logprob)-c.Logprobs[at]) > 3e-5 ||
						j > 0 && top.Logprob > d.top[i][j-1].Logprob {
						t.Errorf("case %d: likely token %d is %+v", i, j, top)
					}
				}
			}
		}
		for i, c := range cases {
			likely := 0
			for _, x := range c.Logprobs {
				if x > math.Log(0.2) {
					likely++
				}
			}
			if len(seen[i]) < likely {
				t.Errorf("case %d: only %v were drawn", i, seen[i])
			}
		}
	})
}

// truncated is a row of logits and what truncates it.
type truncated struct {
	seed  uint64
	scale float64
	ties  bool // many logits are equal
	by    settings
}

func (d truncated) logits(v int) []float32 {
	r := rand.New(rand.NewPCG(d.seed, 3))
	row := make([]float32, v)
	for i := range row {
		x := r.NormFloat64() * d.scale
		if d.ties {
			x = math.Round(x)
		}
		row[i] = float32(x)
	}
	return row
}

// strayed are the ids that the sampler left and sorting does not, or the other way, beyond what truncate and float32
// may do: tokens less than 1e-7 below the last one count as equally likely, and masses are rounded before they are
// compared with MinP, or vanish.
func strayed(left []int32, logits []float32, s settings) []int32 {
	want, _, near := reference(logits, s)
	if near < 1e-5 {
		return nil
	}
	at := func(id int32) float64 { return float64(logits[id]-logits[want[0]]) / s.Temperature }
	last := at(want[len(want)-1])
	return slices.DeleteFunc(differing(left, want), func(id int32) bool {
		extra := !slices.Contains(want, id)
		return at(id) < -87 || extra && last-at(id) < 1e-7 || math.Abs(math.Exp(at(id))-s.MinP) < 2e-7
	})
}

// Logits and settings give what sorting gives, at a vocabulary that does not fill its last word: any, and those that
// once did not.
func TestTruncationEqualsSorting(t *testing.T) {
	const rows, v = 8, 777
	kept := []struct {
		truncated
		left int
	}{
		// The last of 524 and the next differ by 1.8e-8 after division by the temperature.
		{truncated{seed: 0x9a1, scale: 0.01, by: settings{Temperature: 3, TopP: 0.67529296875, Banned: []int32{0}}},
			525},
	}
	learntest.EachDevice(t, func(t *testing.T, e *engine.Engine) {
		one := newBench(t, e, 1, v)
		for _, c := range kept {
			logits := c.logits(v)
			_, left := one.choose([][]float32{logits}, []settings{c.by}, make([]float32, 1))
			if got := leftOf(left[0]); len(got) != c.left || len(strayed(got, logits, c.by)) > 0 {
				t.Fatalf("%+v: %d are left, want %d; beyond what may differ: %v",
					c.truncated, len(got), c.left, strayed(got, logits, c.by))
			}
		}
		b := newBench(t, e, rows, v)
		rapid.Check(t, func(rt *rapid.T) {
			var logits [][]float32
			var by []settings
			for range rows {
				d := truncated{seed: rapid.Uint64().Draw(rt, "seed"),
					scale: rapid.Float64Range(0.01, 30).Draw(rt, "scale"), ties: rapid.Bool().Draw(rt, "ties")}
				d.by.Temperature = rapid.Float64Range(0.1, 3).Draw(rt, "temperature")
				if rapid.Bool().Draw(rt, "k") {
					d.by.TopK = rapid.IntRange(1, v+1).Draw(rt, "top_k")
				}
				if rapid.Bool().Draw(rt, "p") {
					d.by.TopP = rapid.Float64Range(0.001, 1).Draw(rt, "top_p")
				}
				if rapid.Bool().Draw(rt, "m") {
					d.by.MinP = rapid.Float64Range(0, 1).Draw(rt, "min_p")
				}
				d.by.Banned = rapid.SliceOfN(rapid.Int32Range(0, v-1), 0, 20).Draw(rt, "banned")
				logits, by = append(logits, d.logits(v)), append(by, d.by)
			}
			_, left := b.choose(logits, by, make([]float32, rows))
			for i, s := range by {
				if ids := strayed(leftOf(left[i]), logits[i], s); len(ids) > 0 {
					rt.Fatalf("row %d, %+v: %d are left; sorting differs at %v", i, s, len(leftOf(left[i])), ids)
				}
			}
		})
	})
}
