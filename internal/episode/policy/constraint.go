package policy

import (
	"fmt"
	"math/bits"
)

// Constraint narrows what may be sampled: a list of banned tokens, a grammar. One value belongs to one request, so it
// may keep state between its calls.
type Constraint interface {
	// Narrow is called once before each token, in order, with the completion so far, and takes from allowed, which has
	// the whole vocabulary, what must not come next. All slots wait for it.
	Narrow(completion []int32, allowed *IDSet)
}

// Banned is the constraint that certain ids are never sampled.
type Banned []int32

// Narrow implements Constraint.
func (b Banned) Narrow(_ []int32, allowed *IDSet) {
	for _, id := range b {
		allowed.Remove(id)
	}
}

// ConstraintError says that a constraint left no token to sample.
type ConstraintError struct{ NumSampled int }

func (e *ConstraintError) Error() string {
	return fmt.Sprintf("after %d tokens the constraint allows no other", e.NumSampled)
}

// IDSet is a set of the ids of a vocabulary, 0 to Size-1.
type IDSet struct {
	size  int
	words []uint64 // bit i of word j is id 64*j+i
}

// NewIDSet returns the empty set of ids of a vocabulary.
func NewIDSet(size int) *IDSet { return &IDSet{size, make([]uint64, (size+63)/64)} }

// Size is the vocabulary's.
func (s *IDSet) Size() int { return s.size }

// Fill adds all ids.
func (s *IDSet) Fill() {
	for i := range s.words {
		s.words[i] = ^uint64(0)
	}
	if rest := s.size % 64; rest > 0 {
		s.words[len(s.words)-1] = 1<<rest - 1
	}
}

// Clear removes all ids.
func (s *IDSet) Clear() { clear(s.words) }

// Add adds an id. An id outside the vocabulary is not added.
func (s *IDSet) Add(id int32) {
	if s.inside(id) {
		s.words[id/64] |= 1 << (id % 64)
	}
}

// Remove removes an id.
func (s *IDSet) Remove(id int32) {
	if s.inside(id) {
		s.words[id/64] &^= 1 << (id % 64)
	}
}

// Has reports whether the set has an id.
func (s *IDSet) Has(id int32) bool { return s.inside(id) && s.words[id/64]>>(id%64)&1 == 1 }

// Len counts the ids.
func (s *IDSet) Len() int {
	n := 0
	for _, w := range s.words {
		n += bits.OnesCount64(w)
	}
	return n
}

// Bits returns the ids from 16*i to 16*i+15 as the bits of a number.
func (s *IDSet) Bits(i int) uint16 { return uint16(s.words[i/4] >> (i % 4 * 16)) }

func (s *IDSet) inside(id int32) bool { return id >= 0 && int(id) < s.size }

// Keep removes all ids that another set of the same vocabulary does not have.
func (s *IDSet) Keep(other *IDSet) {
	for i := range s.words {
		w := uint64(0)
		if i < len(other.words) {
			w = other.words[i]
		}
		s.words[i] &= w
	}
}

// Join adds all ids that another set of the same vocabulary has.
func (s *IDSet) Join(other *IDSet) {
	for i := range min(len(s.words), len(other.words)) {
		s.words[i] |= other.words[i]
	}
}
