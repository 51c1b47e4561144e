package model_test

import (
	"slices"
	"strings"
	"testing"

	"hone/internal/learn/model"
	"hone/internal/testing/learntest"
)

// An adapter in a larger place changes what it did: of each target, scale B A is the same matrix.
func TestAdapterWithinALargerPlace(t *testing.T) {
	s := learntest.Spec()
	own := model.LoRA{Rank: 2, Alpha: 6, Targets: []string{"q_proj", "down_proj"}}
	place := model.LoRA{Rank: 5, Alpha: 5}
	pieces, size := own.Pieces(s)
	flat := make([]float32, size)
	for i := range flat {
		flat[i] = float32(i%7) - 3
	}
	out, err := own.Within(s, flat, place)
	if err != nil {
		t.Fatal(err)
	}
	at := map[[2]int]model.Piece{}
	larger, total := place.Pieces(s)
	for i := 0; i < len(larger); i += 2 {
		at[[2]int{larger[i].Layer, int(larger[i].Target)}] = larger[i]
	}
	if len(out) != total {
		t.Fatalf("%d numbers, want %d", len(out), total)
	}
	entry := func(x []float32, a model.Piece, row, col int) float64 {
		in := a.Cols
		b := x[a.Offset+a.Rows*in:]
		sum := 0.0
		for k := range a.Rows {
			sum += float64(b[row*a.Rows+k]) * float64(x[a.Offset+k*in+col])
		}
		return a.Scale * sum
	}
	for i := 0; i < len(pieces); i += 2 {
		a := pieces[i]
		for _, place := range [][2]int{{0, 0}, {1, 3}, {2, 1}} {
			if got, want := entry(out, at[[2]int{a.Layer, int(a.Target)}], place[0], place[1]), entry(flat, a, place[0],
				place[1]); got != want {
				t.Errorf("layer %d, target %v, %v: %v, want %v", a.Layer, a.Target, place, got, want)
			}
		}
	}
	own.Tokens, place.Tokens = []int32{7, 3}, []int32{3, 5, 7}
	rows := own.Rows(s)[0]
	flat = append(flat, slices.Repeat([]float32{7}, s.Hidden)...)
	flat = append(flat, slices.Repeat([]float32{3}, s.Hidden)...)
	if out, err = own.Within(s, flat, place); err != nil || rows.Offset != size {
		t.Fatal(rows.Offset, err)
	}
	for i, want := range []float32{3, 0, 7} { // a row of zeros is the base's own
		if row := out[total+i*s.Hidden:][:s.Hidden]; row[0] != want || row[s.Hidden-1] != want {
			t.Errorf("row %d is %v, want %v", i, row, want)
		}
	}
	if place.Tokens = []int32{3, 5}; place.Equal(own) {
		t.Error("adapters with rows of other tokens are equal")
	}
	if _, err := own.Within(s, flat, place); err == nil || !strings.Contains(err.Error(), "token 7") {
		t.Errorf("a row is put where there is no room: %v", err)
	}
	own.Tokens, flat = nil, flat[:size]
	out, err = own.Within(s, flat, model.LoRA{Rank: 5, Alpha: 5})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (model.LoRA{Rank: 5, Alpha: 5}).Within(s, out, own); err == nil {
		t.Error("a larger adapter is put into a smaller place")
	}
}
