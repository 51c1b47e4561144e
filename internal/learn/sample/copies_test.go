package sample

import (
	"math"
	"slices"
	"testing"

	"hone/internal/engine"
	"hone/internal/episode/policy"
	"hone/internal/testing/learntest"
)

func near(a, b float32) bool { return math.Abs(float64(a)-float64(b)) < 1e-5 }

// On a GPU a prompt that begins as other slots' texts do is copied from them, and the same is sampled: into many slots
// at one time, and into one whose own text another takes at that time. Nothing is taken of another owner or adapter,
// nor less than a chunk.
func TestBeginningsAreCopied(t *testing.T) {
	learntest.EachDevice(t, func(t *testing.T, e *engine.Engine) {
		if e.IsGPU() {
			t.Skip("its chunks are longer than these prompts")
		}
		spec, lora := learntest.Spec(), learntest.LoRA()
		var want []policy.Completion
		for _, gpu := range []bool{false, true} {
			s, err := New(e, spec, learntest.Weights(t, e, spec),
				Options{LoRA: lora, Adapters: 2, Slots: 8, Context: 128})
			if err != nil {
				t.Fatal(err)
			}
			if gpu {
				s.openCopies()
			}
			var got []policy.Completion
			copied := 0
			ask := func(copies int, slots []int, change func(*policy.Request)) {
				t.Helper()
				var all []policy.Request
				for _, slot := range slots {
					r := request(slot, 0, false)
					r.Prompt = append(prompt(false, 50, 1), int32(slot), 7, int32(len(got)%50))
					change(&r)
					all = append(all, r)
				}
				got = append(got, together(t, s, all)...)
				copied += copies
				if n := s.Stats().Copied; gpu && n != copied || !gpu && n != 0 {
					t.Errorf("on a GPU %v: %d tokens were copied, not %d", gpu, n, copied)
				}
			}
			same := func(*policy.Request) {}
			other := func(r *policy.Request) { r.Prompt[0]++ }
			ask(0, []int{7}, same)
			ask(0, []int{2}, other)
			ask(50*5, []int{1, 3, 4, 5, 6}, same)             // all from slot 7: the others do not hold it yet
			ask(50+50, []int{2, 1}, func(r *policy.Request) { // one takes what the other held, which takes another text
				if r.Slot == 1 {
					r.Prompt[0]++
				}
			})
			ask(52, []int{4}, func(r *policy.Request) { // that text whole: nothing is left to feed
				r.Prompt = append(prompt(false, 50, 1), 1, 7, 7)
				r.Prompt[0]++
			})
			ask(0, []int{0}, func(r *policy.Request) { r.Owner = 3 })
			ask(0, []int{0}, func(r *policy.Request) { r.Adapter = 1 })
			ask(0, []int{0}, func(r *policy.Request) { r.Prompt = r.Prompt[:16] }) // 15 of them would be
			s.Close()
			if gpu {
				for i := range want {
					if !slices.Equal(got[i].IDs, want[i].IDs) ||
						!slices.EqualFunc(got[i].SamplerLogprobs, want[i].SamplerLogprobs, near) {
						t.Errorf("request %d: %v, %v, computed %v, %v",
							i, got[i].IDs, got[i].SamplerLogprobs, want[i].IDs, want[i].SamplerLogprobs)
					}
				}
			}
			want = got
		}
	})
}

// What is copied into a slot stays in it: a beginning of which the slot holds some, and which goes on to the slot's
// last column, leaves its neighbour's text as it is. And a text behind the shared prefix is not that of a prompt
// without it, whose keys stand elsewhere.
func TestCopiesStayWhereTheyBelong(t *testing.T) {
	learntest.BothDevices(t, func(t *testing.T, e *engine.Engine) {
		if e.IsGPU() {
			t.Skip("its chunks are longer than these prompts")
		}
		spec, lora := learntest.Spec(), learntest.LoRA()
		run := func(copies bool) (got []policy.Completion, copied int) {
			s, err := New(e, spec, learntest.Weights(t, e, spec),
				Options{LoRA: lora, Slots: 8, Context: 128, Prefix: sharedIDs})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if copies {
				s.openCopies()
			}
			ask := func(slot int, prompt []int32) {
				r := request(slot, 0, false)
				r.Prompt, r.Sampling.MaxTokens = prompt, 4
				got = append(got, together(t, s, []policy.Request{r})...)
			}
			long, neighbour := prompt(false, 124, 1), prompt(false, 40, 2)
			ask(5, long)
			ask(3, neighbour)
			ask(2, append(slices.Clone(long[:10]), 7, 8, 9))
			ask(2, append(slices.Clone(long[:123]), 50))
			ask(3, append(slices.Clone(neighbour), 11, 12))
			shared := append(slices.Clone(sharedIDs), long[:60]...)
			ask(7, shared)
			ask(6, append(slices.Clone(shared), 13))
			ask(0, append(slices.Clone(sharedIDs[:2]), long[:60]...)) // no prefix: its own first tokens are others
			return got, s.Stats().Copied
		}
		want, none := run(false)
		got, copied := run(true)
		if none != 0 || copied < 123-10 {
			t.Fatalf("%d and %d tokens are copied", none, copied)
		}
		for i := range want {
			if !slices.Equal(got[i].IDs, want[i].IDs) ||
				!slices.EqualFunc(got[i].SamplerLogprobs, want[i].SamplerLogprobs, near) {
				t.Errorf("request %d: %v, %v, computed %v, %v",
					i, got[i].IDs, got[i].SamplerLogprobs, want[i].IDs, want[i].SamplerLogprobs)
			}
		}
	})
}
