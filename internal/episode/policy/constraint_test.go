package policy

import (
	"testing"

	"pgregory.net/rapid"
)

// A set holds what a map holds after the same calls, whatever the size of the vocabulary.
func TestIDSet(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		size := rapid.IntRange(1, 200).Draw(rt, "size")
		s, want := NewIDSet(size), map[int32]bool{}
		for range rapid.IntRange(0, 20).Draw(rt, "calls") {
			id := rapid.Int32Range(-2, 205).Draw(rt, "id")
			switch rapid.IntRange(0, 9).Draw(rt, "call") {
			case 0:
				s.Fill()
				for id := range int32(size) {
					want[id] = true
				}
			case 1:
				s.Clear()
				clear(want)
			case 2, 3, 4:
				s.Remove(id)
				delete(want, id)
			default:
				s.Add(id)
				if id >= 0 && int(id) < size {
					want[id] = true
				}
			}
		}
		if s.Len() != len(want) || s.Size() != size {
			rt.Fatalf("%d ids of %d, want %d of %d", s.Len(), s.Size(), len(want), size)
		}
		for id := int32(-2); id < 205; id++ {
			if s.Has(id) != want[id] {
				rt.Fatalf("id %d: %v", id, s.Has(id))
			}
			if id >= 0 && int(id) < size && s.Bits(int(id)/16)>>(id%16)&1 == 1 != want[id] {
				rt.Fatalf("id %d is not in the bits", id)
			}
		}
	})
}

func TestTruncates(t *testing.T) {
	for _, tc := range []struct {
		s    Sampling
		want bool
	}{
		{Sampling{Temperature: 1}, false},
		{Sampling{Temperature: 1, TopP: 1}, false},
		{Sampling{Temperature: 0.7, TopP: 0.99}, true},
		{Sampling{Temperature: 1, TopK: 1}, true},
		{Sampling{Temperature: 1, MinP: 0.01}, true},
		{Sampling{TopK: 1, TopP: 0.5, MinP: 0.5}, false}, // greedy
	} {
		if got := tc.s.Truncates(); got != tc.want {
			t.Errorf("%+v: %v", tc.s, got)
		}
	}
}
