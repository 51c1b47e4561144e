package sample

import (
	"slices"
	"testing"

	"hone/internal/testing/learntest"
)

// Of few prompts each is fed apart, one after the other; of many, or where a row has all of them, none is; and what is
// fed lies in the cache.
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
	for _, c := range []struct{ cached, c, want int }{
		{0, 256, 0}, {127, 256, 0}, {128, 256, 128}, {500, 256, 384}, {639, 256, 384}, {639, 128, 512}, {300, 512, 128},
	} {
		x := waits(c.cached, 2)
		if got := s.begin(&x, c.c); got != c.want {
			t.Errorf("the chunk of %d behind %d tokens begins at %d, not %d", c.c, c.cached, got, c.want)
		}
	}
}

// A prompt that is fed apart takes turns with those who watch their tokens come: it waits for one draw of theirs, not
// for the steps that a prompt in rows does, and they wait for one chunk of it.
func TestFedApartTakesTurns(t *testing.T) {
	e := learntest.Devices(t, 1)
	if e.IsGPU() {
		t.Skip("its chunks are longer than these prompts")
	}
	s, err := New(e, learntest.Spec(), learntest.Weights(t, e, learntest.Spec()),
		Options{LoRA: learntest.LoRA(), Slots: 8, Context: 112, DecodeSteps: 8})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	asGPU(t, s)
	var jobs []*job
	did := make(chan string, 1)
	s.control <- func() { // in the sampler's goroutine: it does nothing else meanwhile
		come := func(slot, n int) {
			r := request(slot, n, false)
			r.MaxTokens = 14
			j := &job{ctx: t.Context(), request: r, done: make(chan struct{})}
			jobs = append(jobs, j)
			s.enqueue(j)
			s.next(slot)
		}
		for slot := range 3 { // 2 x 1 row with a prompt is less than these: in rows it would wait
			come(slot, 1)
		}
		come(5, 3*few*s.chunk) // the slot is too short for a chunk of all rows' tokens, so three of few
		order := ""
		for range 6 {
			fed, drawn := s.stats.PrefillSteps, s.stats.DecodeSteps
			if err := s.advance(); err != nil {
				t.Error(err)
			}
			switch f, d := s.stats.PrefillSteps-fed, s.stats.DecodeSteps-drawn; {
			case f == 1 && d == 0:
				order += "F"
			case f == 0 && d == 1:
				order += "d"
			case f == 0:
				order += "D"
			}
		}
		did <- order
	}
	if got := <-did; got != "FdFdFD" {
		t.Errorf("chunks and draws come as %s, not as FdFdFD", got)
	}
	for _, j := range jobs {
		if <-j.done; j.err != nil || len(j.completion.IDs) != 14 {
			t.Errorf("%d tokens, %v", len(j.completion.IDs), j.err)
		}
	}
	if !slices.Equal(jobs[3].completion.IDs, must(t, s, jobs[3].request).IDs) {
		t.Error("fed apart, another text is drawn")
	}
}
