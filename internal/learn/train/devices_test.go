package train

import (
	"context"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"hone/internal/engine"
	"hone/internal/learn/batch"
	"hone/internal/learn/model"
	"hone/internal/testing/learntest"
)

// uneven are five rows: neither two nor four devices share them alike.
func uneven() []batch.Sequence {
	five := append(rows(), rows()[:2]...)
	for i := range five {
		five[i].IDs[len(five[i].IDs)-1] = int32(i)
		for j := range five[i].Advantages {
			five[i].Advantages[j] += float32(i) / 10
		}
	}
	return five
}

// smooth is an update in which a rounding of the gradient stays small: Adam's epsilon is far above it.
func smooth() batch.Update {
	return batch.Update{Rate: 1e-2, MaxGradNorm: 0.5, Adam: batch.Adam{Epsilon: 1e-3}}
}

// run is what two steps and a scoring of one trainer came to.
type run struct {
	first, second batch.StepStats
	gradient      []float32 // a tenth of the first step's
	state         State
	scores        [][]float32
}

// twoSteps takes two steps of an objective: of one, since each is a program of its own, which takes seconds to compile.
func twoSteps(t *testing.T, tr *Trainer, b batch.Batch, o batch.Objective) run {
	t.Helper()
	var r run
	var err error
	if r.first, err = tr.Step(context.Background(), b, o, smooth()); err != nil {
		t.Fatal(err)
	}
	r.gradient = stateOf(t, tr).M
	if r.second, err = tr.Step(context.Background(), b, o, smooth()); err != nil {
		t.Fatal(err)
	}
	if r.scores, err = tr.Score(context.Background(), b, 1); err != nil {
		t.Fatal(err)
	}
	r.state = stateOf(t, tr)
	return r
}

// near reports whether the statistics of two steps differ by rounding alone.
func near(a, b batch.StepStats) bool {
	for _, x := range [][2]float64{
		{a.Loss, b.Loss}, {a.GradNorm, b.GradNorm}, {a.Mismatch, b.Mismatch}, {a.MeanRatio, b.MeanRatio},
		{a.MaxDelta, b.MaxDelta},
	} {
		if math.Abs(x[0]-x[1]) > 1e-5*math.Max(1, math.Abs(x[0])) {
			return false
		}
	}
	return a.NumTokens == b.NumTokens && a.NumTrained == b.NumTrained
}

// However many devices there are, a step is the same, but for the order of sums: gradients within 1e-6, adapters within
// 1e-5, statistics and scores within 1e-5. That holds for rows that the devices cannot share alike, for fewer rows than
// devices, and with dropout (here on two, as each program takes seconds to compile).
func TestSeveralDevicesTakeTheStepsOfOne(t *testing.T) {
	spec := learntest.Spec()
	spec.NumLayers = 1
	batches := map[string]batch.Batch{
		"five rows": batch.New(uneven()), "one row": {Prefix: rows()[0].IDs[:9], Rows: batch.New(rows()).Rows[:1]},
		"two rows": batch.New(rows()[:2]),
	}
	whole := learntest.Whole()
	if !whole {
		delete(batches, "two rows") // one row has a prefix too
	}
	want := map[string]run{}
	var dropped []float32
	for _, n := range []int{1, 2, 4} {
		if n > 2 && !whole {
			continue
		}
		e := learntest.Devices(t, n)
		weights, programs := learntest.Weights(t, e, spec), map[string]program{}
		start := func(dropout float64) *Trainer {
			lora := learntest.LoRA()
			state := NewState(spec, lora, 5)
			for i := range state.Adapter {
				state.Adapter[i] += float32(math.Cos(float64(i)) * 0.05)
			}
			tr, err := New(e, spec, weights, state,
				Options{LoRA: lora, RowMultiple: 16, MicroBatch: 1, Dropout: dropout, Seed: 7})
			if err != nil {
				t.Fatal(err)
			}
			tr.programs, tr.together = programs, n > 1 // which one row and two are, and five are not
			return tr
		}
		for name, b := range batches {
			tr := start(0)
			got := twoSteps(t, tr, b, policyGradient())
			if n == 1 {
				want[name] = got
				continue
			}
			one := want[name]
			if delta := maxDelta(one.gradient, got.gradient); delta > 1e-6 ||
				maxDelta(one.gradient, make([]float32, tr.size)) < 1e-3 {
				t.Errorf("%s on %d devices: the gradient differs by %g", name, n, delta)
			}
			if delta := maxDelta(one.state.Adapter, got.state.Adapter); delta > 1e-5 {
				t.Errorf("%s on %d devices: the adapter differs by %g", name, n, delta)
			}
			if !near(one.first, got.first) || !near(one.second, got.second) {
				t.Errorf("%s on %d devices: %+v and %+v, on one %+v and %+v",
					name, n, got.first, got.second, one.first, one.second)
			}
			for i := range one.scores {
				if len(got.scores[i]) != len(one.scores[i]) || maxDelta(one.scores[i], got.scores[i]) > 1e-5 {
					t.Errorf("%s on %d devices, row %d: scores %v, on one %v", name, n, i, got.scores[i], one.scores[i])
				}
			}
			checkAlike(t, tr, n)
		}
		if n > 1 {
			if !slices.ContainsFunc(slices.Collect(maps.Keys(programs)),
				func(key string) bool { return strings.HasPrefix(key, "tree_") }) {
				t.Errorf("on %d devices no prefix was computed with its rows", n)
			}
			testSeveralDevicesResume(t, func() *Trainer { return start(0) }, batches["five rows"], policyGradient())
			checkInPlace(t, start(0), batches["five rows"], policyGradient())
		}
		if n < 4 && whole { // else on two devices with sharded weights
			tr := start(0.3)
			if _, err := tr.Step(context.Background(), batches["five rows"], batch.Objective{}, smooth()); err != nil {
				t.Fatal(err)
			}
			m := stateOf(t, tr).M
			if n == 1 {
				dropped = m
			} else if whole := undropped(t, spec, batches["five rows"]); maxDelta(dropped, m) > 1e-6 ||
				maxDelta(dropped, whole) < 1e-4 {
				t.Errorf("with dropout the gradient differs by %g, and is %g from that without",
					maxDelta(dropped, m), maxDelta(dropped, whole))
			}
		}
	}
}

// undropped is a tenth of the gradient of a supervised step without dropout, in pure Go, where there is little to
// compile.
func undropped(t *testing.T, spec model.Spec, b batch.Batch) []float32 {
	t.Helper()
	e, err := engine.Open(engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	state := NewState(spec, learntest.LoRA(), 5)
	for i := range state.Adapter {
		state.Adapter[i] += float32(math.Cos(float64(i)) * 0.05)
	}
	tr, err := New(e, spec, learntest.Weights(t, e, spec), state, Options{LoRA: learntest.LoRA(), RowMultiple: 16})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tr.Step(context.Background(), b, batch.Objective{}, smooth()); err != nil {
		t.Fatal(err)
	}
	return stateOf(t, tr).M
}

// checkAlike compares what the devices have of adapter and moments: the same bits.
func checkAlike(t *testing.T, tr *Trainer, n int) {
	t.Helper()
	for i, x := range append([]engine.Buffer{tr.adapter}, tr.moments...) {
		first, err := engine.Floats(engine.Part(x, 0))
		if err != nil {
			t.Fatal(err)
		}
		for d := 1; d < n; d++ {
			other, err := engine.Floats(engine.Part(x, d))
			if err != nil || maxDelta(first, other) != 0 {
				t.Errorf("array %d of the state: device %d of %d is away by %g; %v",
					i, d, n, maxDelta(first, other), err)
			}
		}
	}
}

// A run that is resumed on as many devices goes on to the same bits.
func testSeveralDevicesResume(t *testing.T, start func() *Trainer, b batch.Batch, o batch.Objective) {
	t.Helper()
	tr, dir := start(), t.TempDir()
	if _, err := tr.Step(context.Background(), b, o, smooth()); err != nil {
		t.Fatal(err)
	}
	if err := tr.Save(dir); err != nil {
		t.Fatal(err)
	}
	again := start()
	if err := again.Load(dir); err != nil {
		t.Fatal(err)
	}
	want, got := twoSteps(t, tr, b, o), twoSteps(t, again, b, o)
	if !equal(want.state, got.state) || want.second != got.second {
		t.Errorf("the resumed steps differ by %g", maxDelta(want.state.Adapter, got.state.Adapter))
	}
}

// checkInPlace looks whether the devices update gradient, adapter and moments in place, and release what a step took.
func checkInPlace(t *testing.T, tr *Trainer, b batch.Batch, o batch.Objective) {
	t.Helper()
	for key, p := range tr.programs {
		if donates := strings.HasPrefix(key, "rows_") || strings.HasPrefix(key, "apply_") ||
			strings.HasPrefix(key, "prefix_backward_"); donates && p.(*engine.Program).NumAliased() == 0 {
			t.Errorf("%s copies what it is given to write over", key)
		}
	}
	left := alive(device{Engine: tr.engine})
	if _, err := tr.Step(context.Background(), b, o, smooth()); err != nil || left() != 0 {
		t.Errorf("a step left %d buffers; %v", left(), err)
	}
}

// Of several devices each runs the program that one would, and the optimiser's alone adds up over them, once.
func TestProgramsOfSeveralDevices(t *testing.T) {
	const replicas = " attributes {mhlo.num_replicas = 2 : i32, mhlo.num_partitions = 1 : i32}"
	one, two := programTextsOn(t, 1, false, Options{}, batch.Update{Rate: 1}), programTextsOn(t, 2, false, Options{},
		batch.Update{Rate: 1})
	for name, text := range two {
		reduced := strings.Count(text, "stablehlo.all_reduce")
		if name == "apply" && reduced != 1 ||
			name != "apply" && (reduced != 0 || strings.Replace(text, replicas, "", 1) != one[name]) {
			t.Errorf("%s is another program, with %d all-reduces", name, reduced)
		}
		if !strings.Contains(text, replicas) || strings.Contains(one[name], "replica") {
			t.Errorf("%s is not of two replicas, or that of one device is", name)
		}
	}
	if len(two) != len(one) || len(two) < 4 {
		t.Errorf("%d programs, of one device %d", len(two), len(one))
	}
}

// Several devices compute fewer rows at once, down to what keeps all of them busy; one computes the micro-batch.
func TestRowsAtOnce(t *testing.T) {
	for _, c := range []struct{ devices, micro, rows, want int }{
		{1, 16, 3, 16}, {1, 2, 100, 2}, {2, 16, 100, 16}, {2, 16, 16, 8}, {2, 16, 5, 4}, {2, 16, 4, 2}, {2, 16, 3, 2},
		{2, 16, 2, 1}, {4, 16, 1, 1}, {4, 3, 9, 3}, {4, 1, 100, 1},
	} {
		tr := &Trainer{engine: engine.OpenDry(true, c.devices).Engine, microBatch: c.micro}
		if got := tr.shapes().rowsAtOnce(c.rows, tr.engine.NumDevices()); got != c.want {
			t.Errorf("%d rows on %d devices, at most %d at once: %d, want %d", c.rows, c.devices, c.micro, got, c.want)
		}
	}
}
