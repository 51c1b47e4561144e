package revise

import (
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"hone/internal/sidecar"
)

// The confidence is the one that mends most among those that damage few, and what it is said to do is what it does.
func TestConfidence(t *testing.T) {
	right := func(n int, with bool, p float64) (all []weighed) {
		for range n {
			all = append(all, weighed{before: true, without: true, with: with, gated: true, probability: p})
		}
		return all
	}
	wrong := func(n int, with bool, p float64) (all []weighed) {
		for range n {
			all = append(all, weighed{with: with, gated: true, probability: p})
		}
		return all
	}
	all := append(right(1000, true, 0.9), right(10, false, 0.6)...)
	all = append(append(all, right(1, false, 0.95)...), append(wrong(50, true, 0.5), wrong(40, true, 0.8)...)...)
	all = append(all, weighed{with: true}) // no gate: it counts at any confidence
	if c := choose(all); c.Confidence != 0.8 || c.Mended != 41 || c.Harmed != 1 || c.Right != 1011 || c.Wrong != 91 {
		t.Errorf("%+v", c)
	}
	if c := choose(right(10, false, 1)); c.Confidence != 1 || c.Harmed != 0 { // it is not asked then
		t.Errorf("%+v", c)
	}
	rapid.Check(t, func(t *rapid.T) {
		var all []weighed
		for range rapid.IntRange(1, 40).Draw(t, "rows") {
			before := rapid.Bool().Draw(t, "before")
			all = append(all, weighed{before: before, without: before || rapid.Bool().Draw(t, "fixed"), with: rapid.Bool().Draw(t, "with"),
				gated: true, probability: rapid.Float64Range(0, 0.999).Draw(t, "p")})
		}
		if c := choose(all); c != at(all, c.Confidence) || float64(c.Harmed) > mostHarm*float64(c.Right) {
			t.Fatalf("%+v, but it is %+v", c, at(all, c.Confidence))
		}
	})
}

func TestRuleFile(t *testing.T) {
	dir := t.TempDir()
	if r, err := sidecar.ReadRule(dir); err != nil || r.Confidence != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	if err := writeRule(dir, Confidence{Confidence: 0.75}); err != nil {
		t.Fatal(err)
	}
	if r, err := sidecar.ReadRule(dir); err != nil || r.Confidence != 0.75 || !r.Plain {
		t.Errorf("%+v, %v", r, err)
	}
	if err := os.WriteFile(filepath.Join(dir, sidecar.RuleFile), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := sidecar.ReadRule(dir); err == nil {
		t.Error("a broken file is read")
	}
}
