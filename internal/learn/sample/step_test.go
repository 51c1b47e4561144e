package sample

import (
	"testing"
	"time"

	"hone/internal/learn/engine"
	"hone/internal/learn/learntest"
	"hone/internal/policy"
)

// An execution is of as many steps as take the time that others may wait, but of no more than the program has.
func TestPace(t *testing.T) {
	for _, c := range []struct {
		steps, ran int
		took       time.Duration
		want       int
	}{
		{32, 0, 0, 8},                      // nothing is known yet
		{4, 0, 0, 4},                       //
		{32, 8, 80 * time.Millisecond, 15}, // 10 ms each
		{32, 1, 10 * time.Millisecond, 15}, // as long, but all stopped at once
		{32, 8, 8 * time.Millisecond, 32},  //
		{32, 8, time.Nanosecond, 32},       //
		{32, 32, 32 * time.Second, 8},      //
		{1, 1, time.Microsecond, 1},        // several devices
	} {
		s := &Sampler{paced: true, steps: c.steps, ran: c.ran, took: c.took}
		if got := s.pace(); got != c.want {
			t.Errorf("after %d steps in %v: %d of %d, want %d", c.ran, c.took, got, c.steps, c.want)
		}
	}
}

// Steps that the device left out, since all slots had stopped, do not count as fast ones.
func TestPaceCountsTheStepsThatRan(t *testing.T) {
	d := engine.OpenDry(true, 1)
	defer d.Close()
	spec := learntest.Spec()
	s, err := New(d.Engine, spec, learntest.Weights(t, d.Engine, spec), Options{LoRA: learntest.LoRA(), Slots: 8, Context: 128})
	if err != nil {
		t.Fatal(err)
	}
	c := must(t, s, policy.Request{Prompt: []int32{1, 2}, Sampling: policy.Sampling{MaxTokens: 40, StopIDs: []int32{0}}}) // a dry engine draws 0
	s.Close()
	if len(c.IDs) != 1 || s.ran != 1 || s.took <= 0 {
		t.Errorf("%d tokens in %d steps, %v", len(c.IDs), s.ran, s.took)
	}
}
