package train

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"hone/internal/engine"
	"hone/internal/learn/batch"
	"hone/internal/testing/learntest"
)

// What the simulation of a run takes from measurements on an H200 with a model of 4 billion numbers
// (docs/PERFORMANCE.md): seconds of a training program, training tokens a second, and seconds of a decoding step of 64
// slots.
const (
	compileSeconds = 25
	trainedASecond = 24_867
	decodeSeconds  = 0.012
)

// lengths draws the tokens of an episode in a step of a run, 1,000 to 16,000.
var lengths = map[string]func(r *rand.Rand, done float64) float64{
	"all alike":    func(r *rand.Rand, _ float64) float64 { return r.Float64() },
	"log-uniform":  func(r *rand.Rand, _ float64) float64 { return (math.Pow(16, r.Float64()) - 1) / 15 },
	"log-normal":   func(r *rand.Rand, _ float64) float64 { return (4 * math.Exp(0.7*r.NormFloat64())) / 15 },
	"two kinds":    func(r *rand.Rand, _ float64) float64 { return 0.05 + 0.75*float64(r.IntN(2)) + 0.1*r.NormFloat64() },
	"short mostly": func(r *rand.Rand, _ float64) float64 { return (2*math.Exp(0.8*r.NormFloat64()) - 1) / 15 },
	"growing":      func(r *rand.Rand, done float64) float64 { return done*0.8 + 0.2*r.Float64() },
}

// episodes are the groups of one step: 8 of 8 episodes behind 900 tokens that all share, and 40 that a group does. Of
// the rest from half to nine tenths are sampled, in turns. Some groups have no spread, most at the end of a run.
func episodes(r *rand.Rand, draw func(*rand.Rand, float64) float64, done float64) (rows []batch.Sequence, sampled int) {
	for group := range int32(8) {
		teaches := group == 0 || r.Float64() > done*0.8
		for range 8 {
			n := 1900 + int(15000*min(1, max(0, draw(r, done))))
			s := batch.Sequence{IDs: make([]int32, n), Trained: make([]bool, n), SamplerLogprobs: make([]float32, n),
				Advantages: batch.Even(n, 1)}
			share := 0.5 + 0.4*r.Float64()
			for i := 900; i < n; i++ {
				if s.IDs[i] = group + 1; i >= 940 {
					s.IDs[i], s.Trained[i] = int32(i%50), i%200 < int(200*share)
				}
			}
			if sampled = max(sampled, s.NumTrained()); teaches {
				rows = append(rows, s)
			}
		}
	}
	return rows, sampled
}

// A hundred steps of long episodes, through all of a training step but the device: compiling takes a twentieth of the
// run at most, and padding a tenth of what is computed.
func TestLongEpisodesNeedFewProgramsAndLittlePadding(t *testing.T) {
	for _, name := range slices.Sorted(func(yield func(string) bool) {
		for name := range lengths {
			if !yield(name) {
				return
			}
		}
	}) {
		// the two have most of compiling and of padding
		if name != "growing" && name != "log-uniform" && !learntest.Whole() {
			continue
		}
		tr, shut := dryTrainer(t, true, Options{MaxPrefix: 900})
		r := rand.New(rand.NewPCG(1, 2))
		seconds, tokens, padded, programs := 0.0, 0, 0, 0
		for step := range 100 {
			rows, sampled := episodes(r, lengths[name], float64(step)/100)
			stats, err := tr.Step(context.Background(), batch.New(rows), policyGradient(), batch.Update{Rate: 1})
			if err != nil {
				t.Fatal(err)
			}
			made, _ := tr.CompileStats()
			tokens, padded, programs = tokens+stats.NumTokens, padded+stats.NumPadded, programs+made
			seconds += float64(stats.NumTokens+stats.NumPadded)/trainedASecond + float64(sampled)*decodeSeconds
		}
		compiling, waste := float64(programs*compileSeconds), float64(padded)/float64(tokens+padded)
		share := compiling / (compiling + seconds)
		t.Logf("%-12s %2d programs, %.1f%% of the run compiling, %.1f%% of positions padding",
			name, len(tr.programs), 100*share, 100*waste)
		if share > 0.05 || waste > 0.10 || programs != len(tr.programs) {
			t.Errorf("%s: %d programs (%d counted), %.1f%% of the run compiling, %.1f%% of positions padding",
				name, len(tr.programs), programs, 100*share, 100*waste)
		}
		shut()
	}
}

// Rows are cut into calls whole, each once, in shapes that hold them, and alike however they were ordered.
func TestCallsHoldEachRowOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := &Trainer{
			engine:      &engine.Engine{},
			rowMultiple: rapid.SampledFrom([]int{1, 16, 64, 100, 256}).Draw(t, "multiple"),
			microBatch:  rapid.IntRange(1, 16).Draw(t, "rows"),
			microTokens: rapid.SampledFrom([]int{0, 512, 8192}).Draw(t, "tokens"),
			steps:       rapid.IntRange(0, 2).Draw(t, "steps"),
			lengthSteps: rapid.IntRange(0, 2).Draw(t, "steps of few lengths"),
		}
		few := rapid.Bool().Draw(t, "few lengths")
		if few {
			tr.lengths = Options{RowMultiple: tr.rowMultiple}.Ladder(rapid.IntRange(1, 600).Draw(t, "shortest"),
				rapid.IntRange(1, 5000).Draw(t, "longest"))
		}
		few = few && (tr.lengthSteps == 0 || tr.steps < tr.lengthSteps)
		var rows []batch.Sequence
		for range rapid.IntRange(1, 40).Draw(t, "n") {
			n := rapid.IntRange(2, 5000).Draw(t, "length")
			s := batch.Sequence{IDs: make([]int32, n), Trained: make([]bool, n)}
			for i := 1 + rapid.IntRange(0, n-2).Draw(t, "read"); i < n; i++ {
				s.Trained[i] = true
			}
			rows = append(rows, s)
		}
		calls, seen := tr.calls(rows, false), map[int]bool{}
		half := calls[0].m < calls[0].n*calls[0].c
		positions := 0
		for _, x := range calls {
			trained := 0
			for _, tree := range x.trees {
				row := tree.rows[0]
				if seen[row] || len(rows[row].IDs) > x.c {
					t.Fatalf("row %d of %d tokens is in %+v", row, len(rows[row].IDs), x)
				}
				seen[row], trained = true, trained+rows[row].NumTrained()
			}
			if positions += x.n * x.c; trained > x.m || len(x.trees) > x.n || x.n > tr.microBatch ||
				tr.microTokens > 0 && x.n > 1 && x.n*x.c > tr.microTokens || half != (x.m < x.n*x.c) && x.n*x.c > 1 {
				t.Fatalf("%+v holds %d trained tokens", x, trained)
			}
			if few && half {
				t.Fatalf("%+v holds half of its tokens only", x)
			}
			if few && x.c <= tr.lengths[len(tr.lengths)-1] && !slices.Contains(tr.lengths, x.c) {
				t.Fatalf("%+v is none of %v", x, tr.lengths)
			}
		}
		if len(seen) != len(rows) {
			t.Fatalf("%d of %d rows are in calls", len(seen), len(rows))
		}
		if alone := tr.microTokens == 0 && tr.microBatch == 1; alone && len(calls) != len(rows) {
			t.Fatalf("%d rows in %d calls of one", len(rows), len(calls))
		}
		slices.Reverse(rows)
		again := 0
		for _, x := range tr.calls(rows, false) {
			again += x.n * x.c
		}
		if again != positions {
			t.Fatalf("%d positions, and %d in another order", positions, again)
		}
	})
}

// Buckets are multiples, rise with the length, and pad by a quarter at most beyond four of them.
func TestBuckets(t *testing.T) {
	for _, multiple := range []int{1, 64, 100, 256} {
		distinct, last := map[int]bool{}, 0
		for n := 1; n <= 16384; n++ {
			c := bucket(n, multiple)
			if c < n || c%multiple != 0 || c < last ||
				n > 4*multiple && float64(c) > float64(n)*1.25+float64(multiple) {
				t.Fatalf("%d tokens are padded to %d, multiples of %d; one less to %d", n, c, multiple, last)
			}
			last, distinct[c] = c, true
		}
		if len(distinct) > 4*15 {
			t.Errorf("%d lengths", len(distinct))
		}
	}
	if got := fmt.Sprint(bucket(511, 64), bucket(513, 64), bucket(4096, 256), bucket(4097, 256),
		bucket(16384, 256)); got != "512 640 4096 5120 16384" {
		t.Error(got)
	}
}

// A ladder goes from the shortest to the longest length, about twofold each time, over lengths that rows have without
// it too: what a plan of the memory measured holds.
func TestLadder(t *testing.T) {
	for _, multiple := range []int{1, 64, 100, 256} {
		for _, shortest := range []int{1, 300, 512} {
			for longest := 1; longest <= 20000; longest += 37 {
				ladder := Options{RowMultiple: multiple}.Ladder(shortest, longest)
				low, high := bucket(shortest, multiple), bucket(max(shortest, longest), multiple)
				if ladder[0] < low || ladder[0] >= 2*low && len(ladder) > 1 || ladder[len(ladder)-1] != high {
					t.Fatalf("from %d to %d, multiples of %d: %v", shortest, longest, multiple, ladder)
				}
				for i, c := range ladder {
					if bucket(c, multiple) != c || i > 0 && (c <= ladder[i-1] || c > 2*ladder[i-1]) {
						t.Fatalf("from %d to %d, multiples of %d: %v", shortest, longest, multiple, ladder)
					}
				}
			}
		}
	}
	if got := fmt.Sprint(Options{RowMultiple: 256}.Ladder(512, 10977)); got != "[768 1536 3072 6144 12288]" {
		t.Error(got)
	}
}

// A GPU computes as many rows as have 4096 tokens, 1 to 16, unless it is told how many; a plan asks for the lengths of
// which most tokens are computed.
func TestRowsAtOnceByLength(t *testing.T) {
	auto, told, cpu :=
		Options{}.WithDefaults(true), Options{MicroBatch: 4}.WithDefaults(true), Options{}.WithDefaults(false)
	for _, c := range []struct {
		o             Options
		n, rows, most int // most tokens at one time in rows of up to n
	}{
		{auto, 200, 16, 3200}, {auto, 256, 16, 4096}, {auto, 300, 8, 4096}, {auto, 1500, 2, 4096},
		{auto, 2048, 2, 4096}, {auto, 2049, 1, 4096}, {auto, 16000, 1, 16000}, {told, 16000, 4, 64000},
		{cpu, 16000, 1, 16000},
	} {
		full := c.o.FullestRow(c.n)
		if rows := c.o.RowsAtOnce(c.n); rows != c.rows || full > c.n || full*c.o.RowsAtOnce(full) != c.most {
			t.Errorf("%d tokens: %d rows at once, want %d; %d tokens at most in rows of %d, want %d",
				c.n, rows, c.rows, full*c.o.RowsAtOnce(full), full, c.most)
		}
	}
}

// What a run of rows is told to compile is what its trainer cuts them to, packed or not, one row at a time.
func TestRowProgramsAreThoseOfTheTrainer(t *testing.T) {
	e, err := engine.Open(engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	rapid.Check(t, func(t *rapid.T) {
		o := Options{MicroBatch: rapid.IntRange(1, 3).Draw(t, "rows at once"), RowMultiple: 16,
			TreeTokens: rapid.SampledFrom([]int{0, 100}).Draw(t, "tree tokens")}
		x := &Trainer{engine: e, microBatch: o.MicroBatch, rowMultiple: o.RowMultiple, treeTokens: o.TreeTokens}
		var steps []batch.Batch
		shapes, positions := map[shape]bool{}, 0
		for range rapid.IntRange(1, 3).Draw(t, "steps") {
			var rows []batch.Sequence
			for range rapid.IntRange(1, 6).Draw(t, "rows") {
				n := rapid.IntRange(2, 90).Draw(t, "tokens")
				s := batch.Sequence{IDs: make([]int32, n), Trained: make([]bool, n)}
				for i := rapid.IntRange(1, n-1).Draw(t, "from"); i < n; i++ {
					s.IDs[i], s.Trained[i] = int32(i), true
				}
				rows = append(rows, s)
			}
			b := batch.New(rows)
			steps = append(steps, b)
			for _, c := range x.calls(b.Rows, true) {
				shapes[c.shape] = true
				positions += c.n * c.c
			}
		}
		if p, n := o.RowPrograms(steps, 1); p != len(shapes) || n != positions {
			t.Errorf("%d programs and %d positions, want %d and %d", p, n, len(shapes), positions)
		}
	})
}
