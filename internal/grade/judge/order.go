package judge

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"

	"hone/internal/blob"
)

// orders returns in which order the members of a group are shown in each sample: each a permutation of 0..size-1.
//
// A judge may favour a place, as the first. So places are dealt out evenly. As many samples as there are members are
// the rotations of one random order: each member is in each place once, and what a place is worth adds to all alike.
// Fewer samples come in pairs, an order and its reverse, which cancels what grows or falls evenly along the places; the
// pairs are rotated against each other. What is left depends on the random order alone, which the seed draws for each
// question, so it favours no member over many groups.
func orders(samples, size int, seed uint64) [][]int {
	all := make([][]int, 0, samples)
	for cycle := uint64(0); len(all) < samples; cycle++ {
		base := rand.New(rand.NewPCG(seed, cycle)).Perm(size)
		left := samples - len(all)
		if left >= size {
			for k := range size {
				all = append(all, rotate(base, k))
			}
			continue
		}
		pairs := (left + 1) / 2
		for k := range left {
			order := rotate(base, k/2*size/pairs)
			if k%2 == 1 {
				slices.Reverse(order)
			}
			all = append(all, order)
		}
	}
	return all
}

// Places are the places that each of so many attempts has in the samples of one question about them, as a seed draws
// them.
func Places(samples, size int, seed uint64) [][]int {
	out := make([][]int, size)
	for _, order := range orders(samples, size, seed) {
		for place, i := range order {
			out[i] = append(out[i], place)
		}
	}
	return out
}

func rotate(base []int, by int) []int { return slices.Concat(base[by:], base[:by]) }

// seedOf draws a seed from a seed and what is asked about, so that nothing has to be remembered for the same question
// to be the same.
func seedOf(seed uint64, parts ...string) uint64 {
	var number [8]byte
	binary.BigEndian.PutUint64(number[:], seed)
	sum := blob.Parts(append([]string{string(number[:])}, parts...)...)
	return binary.BigEndian.Uint64(sum[:])
}
