package sample

import (
	"context"
	"errors"
	"testing"

	"hone/internal/engine"
	"hone/internal/episode/policy"
	"hone/internal/testing/learntest"
)

// A completion that has ended is not waited for: no more steps are set off, and none of those that were is taken.
func TestStepsEndWithTheLastCompletion(t *testing.T) {
	d := engine.OpenDry(true, 1)
	defer d.Close()
	spec := learntest.Spec()
	s, err := New(d.Engine, spec, learntest.Weights(t, d.Engine, spec),
		Options{LoRA: learntest.LoRA(), Slots: 8, Context: 128})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	// a dry engine draws 0
	c := must(t, s, policy.Request{Prompt: []int32{1, 2},
		Sampling: policy.Sampling{MaxTokens: 40, StopIDs: []int32{0}}})
	if n := s.Stats().DecodeSteps; len(c.IDs) != 1 || n != 1 {
		t.Errorf("%d tokens in %d steps", len(c.IDs), n)
	}
	if c := must(t, s,
		policy.Request{Prompt: []int32{1, 2}, Sampling: policy.Sampling{MaxTokens: 40}}); len(c.IDs) != 40 {
		t.Errorf("%d tokens of 40", len(c.IDs))
	}
	if n := s.Stats().DecodeSteps; n != 41 {
		t.Errorf("%d steps for 41 tokens", n)
	}
}

// calling is a decoder that calls f with its third token.
type calling struct {
	n *int
	f func()
}

func (c calling) Next(int32) string {
	if *c.n++; *c.n == 3 {
		c.f()
	}
	return "a"
}

// Of the steps that a GPU was told of at once those that it was not given yet are left out when the sender goes.
func TestStepsEndWhenTheSenderGoes(t *testing.T) {
	d := engine.OpenDry(true, 1)
	defer d.Close()
	spec, n := learntest.Spec(), 0
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s, err := New(d.Engine, spec, learntest.Weights(t, d.Engine, spec),
		Options{LoRA: learntest.LoRA(), Slots: 2, NewDecoder: func() Decoder { return calling{&n, cancel} }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	_, err = s.Sample(ctx,
		policy.Request{Prompt: []int32{1, 2}, Sampling: policy.Sampling{MaxTokens: 40, Stop: []string{"b"}}})
	if steps := s.Stats().DecodeSteps; !errors.Is(err, context.Canceled) || steps != 3+stepsAhead {
		t.Errorf("%d steps, %v", steps, err)
	}
}

// Steps that were told of at once end early for those who wait for it, and for nobody else.
func TestAwaited(t *testing.T) {
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	wanted, unwanted := &job{ctx: context.Background()}, &job{ctx: gone}
	for _, c := range []struct {
		name   string
		slot   slot
		comes  bool
		closed bool
		n      int
		want   bool
	}{
		{"nobody", slot{job: wanted}, false, false, mostSteps, false},
		{"one that comes", slot{job: wanted}, true, false, mostSteps, true},
		{"one that comes while prompts wait anyway", slot{job: wanted}, true, false, maxWait, false},
		{"a request for the slot that ended", slot{queue: []*job{wanted}}, false, false, maxWait, true},
		{"a request for a slot that goes on", slot{job: wanted, queue: []*job{wanted}}, false, false, mostSteps, false},
		{"one that is wanted no more", slot{job: unwanted}, false, false, maxWait, true},
		{"the end", slot{job: wanted}, false, true, maxWait, true},
	} {
		s := &Sampler{devices: 1, slots: 2, state: []slot{c.slot, {}}, submit: make(chan *job, 1),
			quit: make(chan struct{})}
		s.state[1].job = wanted
		if c.comes {
			s.submit <- &job{ctx: context.Background(), request: policy.Request{Slot: 1}}
		}
		if c.closed {
			close(s.quit)
		}
		if got := s.takeRequests(c.n); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
		if queued := len(s.state[1].queue) == 1; queued != c.comes {
			t.Errorf("%s: the request is queued: %v", c.name, queued)
		}
	}
}
