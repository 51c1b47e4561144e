package sample

import "testing"

// Of few prompts each is fed apart, one after the other; of many, or where a row has all of them, none is; and what is fed lies in the cache.
func TestApart(t *testing.T) {
	waits := func(cached, pending int) slot {
		return slot{job: &job{}, cached: make([]int32, cached), pending: make([]int32, pending)}
	}
	decodes := waits(100, 1)
	for _, c := range []struct {
		name  string
		last  int
		state map[int]slot
		want  int
	}{
		{"nobody waits", 0, map[int]slot{3: decodes}, -1},
		{"one waits", 0, map[int]slot{3: waits(0, 512), 4: decodes}, 3},
		{"one short one waits", 3, map[int]slot{3: waits(300, 30)}, 3},
		{"two short ones wait, after the first", 3, map[int]slot{3: waits(300, 30), 9: waits(0, 20)}, 9},
		{"two short ones wait, after the second", 9, map[int]slot{3: waits(300, 30), 9: waits(0, 20)}, 3},
		{"three short ones wait, each in a row", 0, map[int]slot{3: waits(300, 30), 9: waits(0, 20), 10: waits(0, 20)}, -1},
		{"three short ones wait, all in one row", 0, map[int]slot{3: waits(300, 30), 11: waits(0, 20), 19: waits(0, 20)}, 3},
		{"five prompts wait", 6, map[int]slot{0: waits(0, 512), 1: waits(0, 512), 2: waits(0, 512), 3: waits(0, 512), 4: waits(0, 512)}, 0},
		{"six prompts wait", 6, map[int]slot{0: waits(0, 512), 1: waits(0, 512), 2: waits(0, 512), 3: waits(0, 512), 4: waits(0, 512), 5: waits(0, 512)}, -1},
		{"three short ones wait, of which one would need two chunks of a row", 0, map[int]slot{0: waits(100, 30), 1: waits(0, 20), 10: waits(0, 20)}, 1},
	} {
		s := &Sampler{devices: 1, slots: 64, rows: 8, chunk: 128, context: 640, single: c.last, state: make([]slot, 64)}
		for i, x := range c.state {
			s.state[i] = x
		}
		if got := s.apart(8); got != c.want {
			t.Errorf("%s: slot %d, not %d", c.name, got, c.want)
		}
		if got := s.apart(9); got != -1 {
			t.Errorf("%s: slot %d while more decode than there are rows", c.name, got)
		}
		s.context = 128
		if got := s.apart(0); got != -1 {
			t.Errorf("%s: slot %d of a cache that holds no such chunk", c.name, got)
		}
	}
	s := &Sampler{chunk: 128, context: 640}
	for _, c := range []struct{ cached, c, want int }{{0, 256, 0}, {127, 256, 0}, {128, 256, 128}, {500, 256, 384}, {639, 256, 384}, {639, 128, 512}, {300, 512, 128}} {
		x := waits(c.cached, 2)
		if got := s.begin(&x, c.c); got != c.want {
			t.Errorf("the chunk of %d behind %d tokens begins at %d, not %d", c.c, c.cached, got, c.want)
		}
	}
}
