package train

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/go-xla/pjrt"

	"hone/internal/engine"
	"hone/internal/fault"
	"hone/internal/learn/batch"
)

// full is a program of a device that has no more memory for it.
type full struct{ err error }

func (f full) Run(...engine.Buffer) ([]engine.Buffer, error) { return nil, f.err }

// later is a program that a device has memory for once.
type later struct {
	program
	runs *int
}

func (l later) Run(in ...engine.Buffer) ([]engine.Buffer, error) {
	if *l.runs++; *l.runs > 1 {
		return full{&fault.Error{Code: fault.CodeExhausted, What: "the device is out of memory"}}.Run()
	}
	return l.program.Run(in...)
}

// A device that runs out of memory halves the micro-batch once, which is said, and the step is the same; a second time
// the step is an error, and the state is what it was.
func testOutOfMemory(t *testing.T, d device) {
	b := batch.New(rows())
	want, wantStats := afterOneStep(t, d.start(t, 2), b, false)
	afterOneStep(t, d.start(t, 4), b, false) // its programs
	for name, err := range map[string]error{
		"a fault": &fault.Error{Code: fault.CodeExhausted, What: "the device is out of memory"},
		"a GPU's message": errors.New("running the program rows: PJRT error (code=8): " +
			"Out of memory while trying to allocate 70.66GiB with allocator GPU_0_bfc on device 0."),
		"a compiler's message": fmt.Errorf("compiling rows: %w", errors.New("RESOURCE_EXHAUSTED: Out of memory while trying to allocate 1 bytes")),
	} {
		var notices []string
		tr := d.startWith(t, Options{MicroBatch: 4, Notice: func(text string) { notices = append(notices, text) }})
		tr.programs = maps.Clone(d.programs)
		failing := func(prefix string) {
			for key := range d.programs {
				if strings.HasPrefix(key, prefix) {
					tr.programs[key] = full{err}
				}
			}
		}
		failing("rows_4_")
		got, stats := afterOneStep(t, tr, b, false)
		if d := maxDelta(want, got); d != 0 || stats != wantStats {
			t.Errorf("%s: the halved step differs by %g: %+v, want %+v", name, d, stats, wantStats)
		}
		if len(notices) != 1 || !strings.Contains(notices[0], "2 at a time") ||
			!strings.Contains(notices[0], "step 1") {
			t.Errorf("%s: said %q", name, notices)
		}
		failing("rows_2_")
		before, alive := stateOf(t, tr), alive(d)
		_, stepErr := tr.Step(context.Background(), b, batch.Objective{}, batch.Update{Rate: 1e-2})
		var f *fault.Error
		if !errors.As(stepErr, &f) || f.Code != fault.CodeExhausted ||
			!strings.Contains(f.Next, "engine.micro_batch below 2") {
			t.Errorf("%s: the second time: %v", name, stepErr)
		}
		if left := alive(); left != 0 || len(notices) != 1 || !equal(before, stateOf(t, tr)) {
			t.Errorf("%s: the refused step left %d buffers, %d notices, or another state", name, left, len(notices))
		}
	}
	if d.PureGo() { // where a program costs nothing to compile; a micro-batch has been taken when the second fails
		want, wantStats := afterOneStep(t, d.start(t, 1), b, false)
		tr := d.start(t, 2)
		tr.programs = maps.Clone(d.programs)
		for key, p := range d.programs {
			if strings.HasPrefix(key, "rows_2_") {
				tr.programs[key] = later{p, new(int)}
			}
		}
		got, stats := afterOneStep(t, tr, b, false)
		if d := maxDelta(want, got); d != 0 || stats != wantStats {
			t.Errorf("halved midway, the step differs by %g: %+v, want %+v", d, stats, wantStats)
		}
	}
	testATreeThatDoesNotFit(t, d)
	testScoresThatDoNotFit(t, d)
	if d.PureGo() {
		testPackedRowsThatDoNotFit(t, d)
	}
	one := d.start(t, 1)
	one.programs = map[string]program{}
	for key, p := range d.programs {
		one.programs[key] = p
		if strings.HasPrefix(key, "prefix_9") {
			one.programs[key] = full{&fault.Error{Code: fault.CodeExhausted, What: "full"}}
		}
	}
	_, err := one.Step(context.Background(), b, batch.Objective{}, batch.Update{Rate: 1e-2})
	if fault.CodeOf(err) != fault.CodeExhausted || strings.Contains(err.Error(), "micro_batch") {
		t.Errorf("one row at a time cannot be halved: %v", err)
	}
	other := d.start(t, 4)
	other.programs = maps.Clone(d.programs)
	for key := range d.programs {
		if strings.HasPrefix(key, "rows_") {
			other.programs[key] = full{errors.New("the device is on fire")}
		}
	}
	if _, err := other.Step(context.Background(), b, batch.Objective{}, batch.Update{Rate: 1e-2}); err == nil ||
		other.microBatch != 4 {
		t.Errorf("another error halves the micro-batch: %v", err)
	}
}

// A row that does not fit with its prefix is computed apart from it from then on, which is said; the step is the same.
func testATreeThatDoesNotFit(t *testing.T, d device) {
	t.Helper()
	b := batch.New(rows())
	b.Rows = b.Rows[:1]
	want, wantStats := afterOneStep(t, d.start(t, 1), b, false)
	var notices []string
	tr := d.startWith(t, Options{MicroBatch: 1, Notice: func(text string) { notices = append(notices, text) }})
	tr.together, tr.programs = true, maps.Clone(d.programs)
	for key := range d.programs {
		if rest, is := strings.CutPrefix(key, "rows_1_"); is {
			tr.programs["tree_1_"+rest] = full{&fault.Error{Code: fault.CodeExhausted, What: "full"}}
		}
	}
	if got, stats := afterOneStep(t, tr, b, false); maxDelta(want, got) != 0 || stats != wantStats {
		t.Errorf("apart, the step differs by %g: %+v, want %+v", maxDelta(want, got), stats, wantStats)
	}
	if len(notices) != 1 || !strings.Contains(notices[0], "apart from its rows") || tr.together {
		t.Errorf("said %q", notices)
	}
}

// Rows that do not fit while they are scored are scored fewer at a time, with the same numbers; a second time it is an
// error that says what helps, and another error is not tried again.
func testScoresThatDoNotFit(t *testing.T, d device) {
	t.Helper()
	b := batch.New(rows())
	var notices []string
	tr := d.startWith(t, Options{MicroBatch: 4, Notice: func(text string) { notices = append(notices, text) }})
	want, err := d.start(t, 2).Score(t.Context(), b, 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tr.Score(t.Context(), b, 1); err != nil { // its program
		t.Fatal(err)
	}
	tr.programs = maps.Clone(d.programs)
	failing := func(rows string, err error) {
		n := 0
		for key := range d.programs {
			if strings.HasPrefix(key, "score_"+rows+"_") {
				tr.programs[key], n = full{err}, n+1
			}
		}
		if n == 0 {
			t.Fatalf("no program scores %s rows", rows)
		}
	}
	failing("4", errors.New("the device is on fire"))
	if _, err := tr.Score(t.Context(), b, 1); err == nil || tr.microBatch != 4 {
		t.Errorf("another error halves the rows: %v", err)
	}
	exhausted := &fault.Error{Code: fault.CodeExhausted, What: "full"}
	failing("4", exhausted)
	left := alive(d)
	got, err := tr.Score(t.Context(), b, 1)
	if err != nil || !slices.EqualFunc(got, want, slices.Equal) || len(notices) != 1 ||
		!strings.Contains(notices[0], "2 at a time") {
		t.Errorf("%v, said %q; scored %v, want %v", err, notices, got, want)
	}
	failing("2", exhausted)
	_, err = tr.Score(t.Context(), b, 1)
	if f, ok := errors.AsType[*fault.Error](err); !ok || f.Code != fault.CodeExhausted ||
		!strings.Contains(f.Next, "engine.micro_batch below 2") {
		t.Errorf("the second time: %v", err)
	}
	if n := left(); n != 0 {
		t.Errorf("%d buffers are left", n)
	}
}

// alive counts the buffers made since it was called; only a plug-in counts. Fewer than there were is none: those of
// trainers that tests before have left may be collected meanwhile.
func alive(d device) func() int64 {
	if d.PureGo() {
		return func() int64 { return 0 }
	}
	before := pjrt.BuffersAlive()
	return func() int64 { return max(0, pjrt.BuffersAlive()-before) }
}

// Packed rows that do not fit are apart from then on, as many at a time as before; where that is too much still, fewer
// are. Both are said, and the step is the same.
func testPackedRowsThatDoNotFit(t *testing.T, d device) {
	t.Helper()
	b := batch.New(forest())
	want, wantStats := afterOneStep(t, d.start(t, 1), b, false)
	afterOneStep(t, d.startWith(t, Options{MicroBatch: 2, TreeTokens: 64}), b, false) // its programs
	afterOneStep(t, d.start(t, 2), b, false)
	for _, fits := range []bool{true, false} {
		var notices []string
		tr := d.startWith(t,
			Options{MicroBatch: 2, TreeTokens: 64, Notice: func(text string) { notices = append(notices, text) }})
		tr.programs = maps.Clone(d.programs)
		packed := 0
		for key := range d.programs {
			is := strings.Contains(key, "_packed")
			if is {
				packed++
			}
			if is || !fits && strings.HasPrefix(key, "rows_2_") {
				tr.programs[key] = full{&fault.Error{Code: fault.CodeExhausted, What: "full"}}
			}
		}
		got, stats := afterOneStep(t, tr, b, false)
		if delta := maxDelta(want, got); packed == 0 || delta > 2e-6 || stats.NumTokens != wantStats.NumTokens {
			t.Errorf("of %d packed programs, the step differs by %g: %+v, want %+v", packed, delta, stats, wantStats)
		}
		said := strings.Join(notices, "; ")
		if !strings.Contains(said, "not packed") || strings.Contains(said, "1 at a time") == fits || len(notices) > 2 {
			t.Errorf("where rows apart fit (%v) it said %q", fits, notices)
		}
	}
}
