package toolset

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

func TestBetter(t *testing.T) {
	seen := func(calls, failed, millis float64, drifts int) Seen {
		return Seen{Calls: calls, Failed: failed, Millis: millis, Drifts: drifts}
	}
	for _, tc := range []struct {
		name string
		a, b Seen
		want bool // a is better than b
		back bool
	}{
		{"neither seen", Seen{}, Seen{}, false, false},
		{"one fails 40%", seen(30, 0, 30, 0), seen(30, 12, 30, 0), true, false},
		{"too few to tell", seen(3, 0, 3, 0), seen(3, 1, 3, 0), false, false},
		{"one was never called", seen(100, 1, 100, 0), Seen{}, false, false},
		{"all fail, the other unseen", Seen{}, seen(10, 10, 10, 0), false, false},
		{"one changes", seen(20, 0, 20, 0), seen(20, 0, 20, 2), true, false},
		{"failing counts more than changing", seen(50, 0, 50, 3), seen(50, 25, 50, 0), true, false},
		{"one is slow", seen(20, 0, 100, 0), seen(20, 0, 400, 0), true, false},
		{"a little slower", seen(20, 0, 100, 0), seen(20, 0, 250, 0), false, false},
		{"slow, from few calls", seen(5, 0, 10, 0), seen(5, 0, 100, 0), false, false},
	} {
		if tc.a.Better(tc.b) != tc.want || tc.b.Better(tc.a) != tc.back {
			t.Errorf("%s: %v and back %v", tc.name, tc.a.Better(tc.b), tc.b.Better(tc.a))
		}
	}
}

func TestAdd(t *testing.T) {
	var f File
	f.Add("k", Seen{SHA256: "x", Calls: 300, Failed: 300, Millis: 300})
	f.Add("k", Seen{SHA256: "x", Calls: 300, Millis: 300})
	if got := f.Tools["k"]; got.Calls != most || got.Failed != 200 {
		t.Errorf("%+v", got)
	}
	for range 10 { // a server that was mended is soon seen to be
		f.Add("k", Seen{SHA256: "x", Calls: 100, Millis: 100})
	}
	if got := f.Tools["k"]; got.Success() < 0.9 {
		t.Errorf("%+v", got)
	}
	f.Add("k", Seen{SHA256: "y", Calls: 1})
	if got := f.Tools["k"]; got.Calls != 1 || got.Drifts != 1 || got.Failed != 0 {
		t.Errorf("after a change %+v", got)
	}
}

// What many processes see at once is all kept.
func TestUpdate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "servers.json")
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			if err := Update(path, func(f *File) {
				f.Add("same", Seen{SHA256: "x", Calls: 1})
				f.Add(fmt.Sprint(i), Seen{SHA256: "x", Calls: 1})
			}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	f, err := Load(path)
	if err != nil || len(f.Tools) != 21 || f.Tools["same"].Calls != 20 {
		t.Errorf("%v %+v", err, f)
	}
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Update(path, func(*File) {}); err == nil {
		t.Error("a broken file is written over")
	}
}

// The bounds are Wilson's (E. B. Wilson 1927, without a correction): the shares q at which (p-q)^2 = z^2 q(1-q)/n, for
// z = 1.645. Where no call failed, that is n/(n+z^2) and 1.
func TestInterval(t *testing.T) {
	for _, tc := range []struct{ calls, failed, low, high float64 }{
		{10, 0, 0.787028, 1},
		{10, 10, 0, 0.212972},
		{30, 12, 0.450568, 0.732884},
	} {
		if low, high := (Seen{Calls: tc.calls, Failed: tc.failed}).interval(); math.Abs(low-tc.low) > 1e-6 ||
			math.Abs(high-tc.high) > 1e-6 {
			t.Errorf("%v of %v failed: %.6f to %.6f, want %v to %v", tc.failed, tc.calls, low, high, tc.low, tc.high)
		}
	}
}
