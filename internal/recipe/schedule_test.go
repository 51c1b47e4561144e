package recipe

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"pgregory.net/rapid"
)

// The golden's warm-up is in steps, a Schedule's in shares.
func TestScheduleIsTransformers(t *testing.T) {
	text, err := os.ReadFile("../../testdata/reference/schedules.json")
	if err != nil {
		t.Fatal(err)
	}
	var rows []struct {
		Schedule      string
		Warmup, Total int
		Factors       []float64
	}
	if err := json.Unmarshal(text, &rows); err != nil || len(rows) < 40 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for _, r := range rows {
		s := Schedule{Decay: r.Schedule, Warmup: (float64(r.Warmup) + 1e-6) / float64(r.Total)}
		if r.Warmup == 0 {
			s.Warmup = 0
		}
		for step := range r.Total {
			want := r.Factors[step]
			if step+1 < r.Warmup {
				want = r.Factors[step+1]
			} else if step+1 == r.Warmup {
				want = 1
			}
			if got := s.Rate(3, step, r.Total); math.Abs(got-3*want) > 1e-11 {
				t.Errorf("%s, warm-up %d, step %d of %d: %v, want %v", r.Schedule, r.Warmup, step, r.Total, got, 3*want)
			}
		}
	}
}

// The default is the rate that runs had before there was a choice, to the bit.
func TestDefaultScheduleIsAsItWas(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		total := rapid.IntRange(1, 3000).Draw(r, "total")
		step, peak := rapid.IntRange(0, total-1).Draw(r, "step"), rapid.Float64Range(1e-7, 1).Draw(r, "peak")
		warmup := max(total/10, 1)
		want := peak * float64(total-step) / float64(max(total-warmup, 1))
		if step < warmup {
			want = peak * float64(step+1) / float64(warmup)
		}
		for _, s := range []Schedule{{Warmup: 0.1}, {Linear, 0.1}} {
			if got := s.Rate(peak, step, total); got != want {
				r.Fatalf("%+v: %v, want %v", s, got, want)
			}
		}
	})
}
