//go:build soak && !race

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"hone/internal/eval"
	"hone/internal/hub/hubtest"
)

// The workshop whole, with real weights: 100 curated traces gain at least 15 points on tasks that nobody learnt from.
func TestSoakWorkshop(t *testing.T) {
	s := hubtest.New(t.TempDir())
	defer s.Close()
	folder := t.TempDir()
	t.Log(workshop(t, s, folder, nil))
	text, err := os.ReadFile(filepath.Join(folder, "measured", "results.json"))
	if err != nil {
		t.Fatal(err)
	}
	var r eval.Results
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	for _, d := range r.Deltas {
		if d.Old == "base" && d.New == "model" {
			if d.Episode.Mean < 0.15 || d.Episode.Low <= 0 {
				t.Errorf("100 traces gain %+v", d.Episode)
			}
			return
		}
	}
	t.Error("base and pupil are not compared")
}
