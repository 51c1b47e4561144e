package scan

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"flag"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
)

var refit = flag.Bool("fit", false, "learn weights.bin.gz from testdata/labelled/development.jsonl anew")

// TestFit writes weights.bin.gz with -fit. First, unless -short is given, it learns from all sets but one and measures
// on that one, for each: sets were written one after the other, each before the detector was measured on it.
func TestFit(t *testing.T) {
	if !*refit {
		t.Skip("learns anew with -fit only")
	}
	var examples []example
	for _, l := range readLabelled(t, "development") {
		e := example{labelled: l}
		for _, u := range append(l.tool().units(), l.tool().inARow()...) {
			e.units = append(e.units, u.features())
		}
		examples = append(examples, e)
	}
	examples = append(examples, long(examples)...)
	slices.SortStableFunc(examples, func(a, b example) int { return a.Set - b.Set })
	for set := 1; !testing.Short() && set <= examples[len(examples)-1].Set; set++ {
		w, bias := fit(slices.DeleteFunc(slices.Clone(examples), func(e example) bool { return e.Set == set }))
		for _, threshold := range []float32{0, 0.5, 1, 1.25, 1.5, 1.75, 2, 2.5} {
			var found, of [2]float32
			for _, e := range examples {
				if e.Set != set {
					continue
				}
				of[e.y()]++
				if _, score := e.best(w, bias); score >= threshold {
					found[e.y()]++
				}
			}
			t.Logf("set %d, score %.2f: recall %.1f%%, %.1f%% of the harmless found",
				set, threshold, 100*found[1]/of[1], 100*found[0]/of[0])
		}
	}
	w, bias := fit(examples)
	if err := os.WriteFile("weights.bin.gz", packed(w, bias), 0o644); err != nil {
		t.Fatal(err)
	}
}

// long makes tools of long descriptions: some honest ones in a row, and the same with an attack between them. All but a
// few of those that were written are short.
func long(examples []example) []example {
	bySet := map[int][2][]string{}
	for _, e := range examples {
		texts := bySet[e.Set]
		texts[e.y()] = append(texts[e.y()], e.Tool.Description)
		bySet[e.Set] = texts
	}
	r := rand.New(rand.NewPCG(3, 4))
	var out []example
	for set := 1; set <= len(bySet); set++ {
		texts := bySet[set]
		for i := range len(texts[0]) {
			var parts []string
			for range 3 + r.IntN(4) {
				parts = append(parts, texts[0][r.IntN(len(texts[0]))])
			}
			l := labelled{Set: set, Label: "harmless", Kind: "long"}
			if i%3 == 0 {
				l.Label = "attack"
				parts = slices.Insert(parts, 1+r.IntN(len(parts)), texts[1][r.IntN(len(texts[1]))])
			}
			l.Tool.Description = strings.Join(parts, " ")
			e := example{labelled: l}
			for _, u := range l.tool().units() {
				e.units = append(e.units, u.features())
			}
			out = append(out, e)
		}
	}
	return out
}

// packed is the file that learnt reads.
func packed(w []float32, bias float32) []byte {
	scale := float32(0)
	for _, x := range w {
		scale = max(scale, x/math.MaxInt8, -x/math.MaxInt8)
	}
	data := binary.LittleEndian.AppendUint32(nil, math.Float32bits(bias))
	data = binary.LittleEndian.AppendUint32(data, math.Float32bits(scale))
	for _, x := range w {
		data = append(data, byte(int8(math.Round(float64(x/scale)))))
	}
	var file bytes.Buffer
	z, _ := gzip.NewWriterLevel(&file, gzip.BestCompression)
	z.Write(data)
	z.Close()
	return file.Bytes()
}

// example is a labelled tool as the features of its units.
type example struct {
	labelled
	units [][]feature
}

// y is 1 for an attack, else 0.
func (e example) y() int {
	if e.attack() {
		return 1
	}
	return 0
}

// best is the unit with the highest score.
func (e example) best(w []float32, bias float32) (at int, score float32) {
	score = float32(math.Inf(-1))
	for i, u := range e.units {
		sum := bias
		for _, f := range u {
			sum += w[f.bucket] * f.value
		}
		if sum > score {
			at, score = i, sum
		}
	}
	return at, score
}

// fit learns weights by logistic regression. A tool that attacks does so in one of its units, and which one is not
// labelled. First all its units stand for it, then the one with the highest score (multiple-instance learning: Andrews,
// Tsochantaridis and Hofmann 2002, MI-SVM).
func fit(examples []example) (w []float32, bias float32) {
	idf := rarity(examples)
	for round := range 3 {
		var rows []row
		for _, e := range examples {
			if e.attack() && round > 0 {
				at, _ := e.best(w, bias)
				rows = append(rows, row{e.units[at], 1})
				continue
			}
			for _, u := range e.units {
				rows = append(rows, row{u, float32(e.y())})
			}
		}
		w, bias = logistic(rows, idf)
	}
	return w, bias
}

// rarity is the inverse document frequency of each bucket, 0 for what one unit alone has.
func rarity(examples []example) []float32 {
	count, units := make([]float64, buckets), 0.0
	for _, e := range examples {
		for _, u := range e.units {
			units++
			for _, f := range u {
				count[f.bucket]++
			}
		}
	}
	out := make([]float32, buckets)
	for i, n := range count {
		if n >= 2 {
			out[i] = float32(math.Log((1+units)/(1+n)) + 1)
		}
	}
	return out
}

// row is a unit and what it is.
type row struct {
	features []feature
	y        float32
}

// logistic is AdaGrad (Duchi, Hazan and Singer 2011) on the log loss with an L2 penalty, over features scaled by idf.
func logistic(rows []row, idf []float32) (w []float32, bias float32) {
	const epochs, rate, strength = 40, 0.3, 40
	penalty := strength / float32(len(rows))
	w, squares := make([]float32, buckets), make([]float32, buckets)
	step := func(x, gradient, sum *float32) {
		*sum += *gradient * *gradient
		*x -= rate * *gradient / (1e-6 + float32(math.Sqrt(float64(*sum))))
	}
	var biasSquares float32
	order := rand.New(rand.NewPCG(1, 2))
	for range epochs {
		for _, i := range order.Perm(len(rows)) {
			score := bias
			for _, f := range rows[i].features {
				score += w[f.bucket] * f.value * idf[f.bucket]
			}
			off := float32(1/(1+math.Exp(-float64(score)))) - rows[i].y
			for _, f := range rows[i].features {
				if x := f.value * idf[f.bucket]; x > 0 {
					gradient := off*x + penalty*w[f.bucket]
					step(&w[f.bucket], &gradient, &squares[f.bucket])
				}
			}
			step(&bias, &off, &biasSquares)
		}
	}
	for i := range w {
		w[i] *= idf[i]
	}
	return w, bias
}
