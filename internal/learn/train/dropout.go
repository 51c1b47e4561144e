package train

// masks are what the dropout of one step is drawn from. A token's key depends on the trainer's seed, the step and all
// tokens up to it, which is to say on its node in the tree of all rows, and its position there. So draws do not depend
// on how much of the rows is shared, nor on where in which micro-batch a row is computed; a resumed run repeats them.
// Rows that are alike to their ends are treated alike.
type masks struct {
	rate   float64
	prefix []int32 // keys of the prefix
	after  uint64  // what the keys of a row begin from
}

// masks of the next step; without dropout there are none.
func (t *Trainer) masks(rate float64, prefix []int32) masks {
	if rate == 0 {
		return masks{}
	}
	m := masks{rate: rate}
	m.prefix, m.after = keys(mix(mix(0, t.seed), uint64(t.steps)), prefix)
	return m
}

// row returns the keys of a row that follows the prefix.
func (m masks) row(ids []int32) []int32 {
	k, _ := keys(m.after, ids)
	return k
}

// keys returns one key a token, and the state that those of what follows begin from.
func keys(state uint64, ids []int32) ([]int32, uint64) {
	out := make([]int32, len(ids))
	for i, id := range ids {
		state = mix(state, uint64(uint32(id)))
		out[i] = int32(state >> 32)
	}
	return out, state
}

// mix is a step of splitmix64 from a state that has taken in x.
func mix(state, x uint64) uint64 {
	state = (state ^ x) + 0x9E3779B97F4A7C15
	state = (state ^ state>>30) * 0xBF58476D1CE4E5B9
	state = (state ^ state>>27) * 0x94D049BB133111EB
	return state ^ state>>31
}
