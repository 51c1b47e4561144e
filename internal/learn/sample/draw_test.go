package sample

import (
	"math"
	"math/rand/v2"
	"regexp"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"hone/internal/engine"
	"hone/internal/testing/learntest"
)

// drawn draws once from each row of logits [n, v].
func drawn(t *testing.T, e *engine.Engine, logits, temperature, uniform []float32) (ids []int32, logprobs []float32) {
	t.Helper()
	n := len(uniform)
	v := len(logits) / n
	params := []engine.Param{
		{Name: "l", Shape: engine.F32(n, v)},
		{Name: "t", Shape: engine.F32(n)},
		{Name: "u", Shape: engine.F32(n)},
	}
	p, err := e.Compile("draw", params, func(in []*graph.Node) []*graph.Node {
		ids, logprobs := draw(in[0], in[1], in[2])
		return []*graph.Node{ids, logprobs}
	})
	if err != nil {
		t.Fatal(err)
	}
	var in []engine.Buffer
	for i, flat := range [][]float32{logits, temperature, uniform} {
		b, err := e.Upload(flat, params[i].Shape.Dimensions...)
		if err != nil {
			t.Fatal(err)
		}
		in = append(in, b)
	}
	out, err := p.Run(in...)
	if err != nil {
		t.Fatal(err)
	}
	if ids, err = engine.Ints(out[0]); err != nil {
		t.Fatal(err)
	}
	if logprobs, err = engine.Floats(out[1]); err != nil {
		t.Fatal(err)
	}
	engine.Free(append(in, out...)...)
	return ids, logprobs
}

// Uniform numbers on a fine grid must hit each token in proportion to its probability, at each row's temperature.
func TestDrawInvertsTheDistribution(t *testing.T) {
	learntest.EachDevice(t, func(t *testing.T, e *engine.Engine) {
		const n, v = 2000, 60
		logits, temperature, uniform := make([]float32, n*v), make([]float32, n), make([]float32, n)
		want := make([]float64, v)
		total := 0.0
		for i := range v {
			l := math.Sin(float64(i)*3) * 2
			want[i] = math.Exp(l / 0.7)
			total += want[i]
			for r := range n {
				logits[r*v+i] = float32(l)
			}
		}
		for r := range n {
			temperature[r], uniform[r] = 0.7, (float32(r)+0.5)/n
		}
		ids, logprobs := drawn(t, e, logits, temperature, uniform)
		count := make([]float64, v)
		for r, id := range ids {
			count[id]++
			if d := math.Abs(float64(logprobs[r]) - math.Log(want[id]/total)); d > 1e-4 {
				t.Fatalf("token %d: logprob off by %g", id, d)
			}
		}
		for i := range v {
			if math.Abs(count[i]-n*want[i]/total) > 1.5 {
				t.Errorf("token %d drawn %v times of %d, expected %.1f", i, count[i], n, n*want[i]/total)
			}
		}
	})
}

// Blocks begin and end with a token that is never due: all of them together have less than 1e-14 of the mass. Uniform
// numbers within rounding of the blocks' ends, and the largest there are, must not draw one.
func TestDrawAtTheEndsOfBlocks(t *testing.T) {
	learntest.EachDevice(t, func(t *testing.T, e *engine.Engine) {
		const n, v, size, step = 4000, 1024, 32, 1.0 / (1 << 24)
		r := rand.New(rand.NewPCG(1, 2))
		logits, temperature, uniform := make([]float32, n*v), make([]float32, n), make([]float32, n)
		for row := range n {
			var upTo []float64
			total := 0.0
			for i := range v {
				l := r.NormFloat64() * 2
				if i%size == 0 || i%size == size-1 {
					l = -40
				}
				logits[row*v+i] = float32(l)
				total += math.Exp(l)
				if i%size == size-1 {
					upTo = append(upTo, total)
				}
			}
			end := math.Round(upTo[r.IntN(len(upTo))]/total/step) + float64(r.IntN(9)-4)
			temperature[row], uniform[row] = 1, float32(min(max(end, 0), 1/step-1)*step)
		}
		ids, logprobs := drawn(t, e, logits, temperature, uniform)
		failed := 0
		for row, id := range ids {
			if id%size == 0 || id%size == size-1 {
				if failed++; failed <= 3 {
					t.Errorf("%.8f drew token %d of probability %.2g",
						uniform[row], id, math.Exp(float64(logprobs[row])))
				}
			}
		}
		if failed > 0 {
			t.Errorf("%d of %d draws", failed, n)
		}
	})
}

// Many rows of a large vocabulary have more logits than an index of 32 bits counts, so none runs through all of them.
func TestDrawIndexesWithin32Bits(t *testing.T) {
	d := engine.OpenDry(true, 1)
	defer d.Close()
	p, err := d.Compile("draw", []engine.Param{
		{Name: "logits", Shape: engine.F32(16384, 262144)}, {Name: "temperature", Shape: engine.F32(16384)},
		{Name: "uniform", Shape: engine.F32(16384)},
	}, func(in []*graph.Node) []*graph.Node {
		ids, logprobs := draw(in[0], in[1], in[2])
		return []*graph.Node{ids, logprobs}
	})
	if err != nil {
		t.Fatal(err)
	}
	if long := regexp.MustCompile(`tensor<(?:[0-9]+x)*[0-9]{10,}x[^>]*>`).FindString(p.HLO()); long != "" {
		t.Errorf("an axis of %s", long)
	}
}
