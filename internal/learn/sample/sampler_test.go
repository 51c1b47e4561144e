package sample

import (
	"context"
	"errors"
	"math"
	"reflect"
	"slices"
	"sync"
	"testing"

	"hone/internal/engine"
	"hone/internal/episode/policy"
	"hone/internal/learn/batch"
	"hone/internal/learn/train"
	"hone/internal/testing/learntest"
)

var sharedIDs = []int32{3, 14, 15, 9, 26, 5}

// sampler starts one that runs so many decode steps at once.
func sampler(t *testing.T, e *engine.Engine, weights []engine.Buffer, steps int) *Sampler {
	t.Helper()
	return samplerAfter(t, e, weights, steps, sharedIDs)
}

func samplerAfter(t *testing.T, e *engine.Engine, weights []engine.Buffer, steps int, prefix []int32) *Sampler {
	t.Helper()
	s, err := New(e, learntest.Spec(),
		weights, Options{LoRA: learntest.LoRA(), Slots: 16, Context: 96, Prefix: prefix, DecodeSteps: steps,
			NewDecoder: func() Decoder { return letters{} }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func start(t *testing.T, e *engine.Engine) (*Sampler, *train.Trainer) {
	t.Helper()
	spec, lora := learntest.Spec(), learntest.LoRA()
	weights := learntest.Weights(t, e, spec)
	s := sampler(t, e, weights, 5)
	state := train.NewState(spec, lora, 2)
	for i := range state.Adapter {
		state.Adapter[i] += float32(math.Cos(float64(i)) * 0.1)
	}
	tr, err := train.New(e, spec, weights, state, train.Options{LoRA: lora, MicroBatch: 4})
	if err != nil {
		t.Fatal(err)
	}
	return s, tr
}

// TestSampler runs all tests of a device on one sampler, since its programs take seconds to compile on a plug-in. The
// last closes it.
func TestSampler(t *testing.T) {
	learntest.BothDevices(t, func(t *testing.T, e *engine.Engine) {
		s, tr := start(t, e)
		for _, c := range []struct {
			name string
			test func(*testing.T, *engine.Engine, *Sampler, *train.Trainer)
		}{
			{"RequestAlone", testSamplesDependOnTheRequestAlone},
			{"StaggeredTurns", testStaggeredTurns},
			{"EqualsTrainer", testSamplerEqualsTrainer},
			{"Programs", testPrograms},
			{"Steps", testSteps},
			{"Truncation", testTruncation},
			{"LikelyTokens", testLikelyTokens},
			{"Constraints", testConstraints},
			{"StopTexts", testStopTexts},
			{"TokensAsTheyCome", testTokensAsTheyCome},
			{"RefusedRequests", testRefusedRequests},
			{"MixedCrowd", testMixedCrowd},
			{"KeptCache", testKeptCache},
			{"Stalls", testStalls},
			{"EndsAndRefusals", testEndsAndRefusals},
		} {
			t.Run(c.name, func(t *testing.T) { c.test(t, e, s, tr) })
		}
	})
}

// A slot stalls between two executions that it decodes in, and neither before its first token nor after its last.
func testStalls(t *testing.T, e *engine.Engine, s *Sampler, tr *train.Trainer) {
	r := request(1, 40, true)
	r.MaxTokens = 1
	_ = s.Stats()
	must(t, s, r)
	must(t, s, r)
	before := s.Stats()
	if before.LongestStall != 0 {
		t.Errorf("completions of one token stalled for %g s", before.LongestStall)
	}
	must(t, s, request(1, 40, true))
	after := s.Stats()
	if after.LongestStall <= 0 || after.LongestStall > after.BusySeconds-before.BusySeconds {
		t.Errorf("12 tokens stalled for %g s of %g", after.LongestStall, after.BusySeconds-before.BusySeconds)
	}
	if again := s.Stats().LongestStall; again != 0 {
		t.Errorf("without requests, decoding stalled for %g s", again)
	}
}

func prompt(shared bool, n, salt int) []int32 {
	var p []int32
	if shared {
		p = append(p, sharedIDs...)
	}
	for i := range n {
		p = append(p, int32((i*17+salt*5+1)%60))
	}
	return p
}

func request(slot, n int, shared bool) policy.Request {
	return policy.Request{Prompt: prompt(shared, n, slot), Slot: slot, Key: policy.Key{Seed: 7, Stream: uint64(slot)},
		Sampling: policy.Sampling{Temperature: 1, MaxTokens: 12}}
}

func must(t *testing.T, s *Sampler, r policy.Request) policy.Completion {
	t.Helper()
	c, err := s.Sample(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Without a prefix each slot holds its text whole, and the same is sampled.
func TestNoPrefix(t *testing.T) {
	e, err := engine.Open(engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	weights := learntest.Weights(t, e, learntest.Spec())
	none, some := samplerAfter(t, e, weights, 1, nil), sampler(t, e, weights, 1)
	for i, n := range []int{1, 33} {
		a, b := must(t, none, request(i, n, true)), must(t, some, request(i, n, true))
		if !slices.Equal(a.IDs, b.IDs) {
			t.Errorf("%v without a prefix, %v with it", a.IDs, b.IDs)
		}
		for j := range a.IDs {
			if d := math.Abs(float64(a.SamplerLogprobs[j] - b.SamplerLogprobs[j])); d > 1e-4 {
				t.Errorf("token %d: logprobs differ by %g", j, d)
			}
		}
	}
}

// After an adapter that could not be set nothing is sampled, rather than the base model under an adapter's version.
func TestFailedAdapter(t *testing.T) {
	e, err := engine.Open(engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	s := sampler(t, e, learntest.Weights(t, e, learntest.Spec()), 1)
	must(t, s, request(1, 5, true))
	wrong, err := e.Upload([]float32{1}, 1)
	if err != nil {
		t.Fatal(err)
	}
	failed := s.SetAdapter(wrong, 8)
	if failed == nil {
		t.Fatal("an adapter of one number was set")
	}
	if c, err := s.Sample(context.Background(), request(1, 5, true)); !errors.Is(err, failed) {
		t.Errorf("sampled %+v, %v", c, err)
	}
}

// A GPU feeds long prompts many chunks at a time, between draws: the same is sampled.
func TestLongPrompts(t *testing.T) {
	e := learntest.Devices(t, 1)
	if e.IsGPU() {
		t.Skip("its chunks are longer than these prompts")
	}
	weights := learntest.Weights(t, e, learntest.Spec())
	var want []policy.Completion
	var short policy.Completion
	for _, gpu := range []bool{false, true} {
		s, err := New(e, learntest.Spec(), weights,
			Options{LoRA: learntest.LoRA(), Slots: 8, Context: 300, Prefix: sharedIDs})
		if err != nil {
			t.Fatal(err)
		}
		if gpu {
			asGPU(t, s)
			testShortBesideLong(t, s)
		}
		// Together, for how many executions there are depends on who has come by then.
		if gpu { // one waits alone: two chunks at a time, and nothing of a cache's end is lost
			_ = s.Stats()
			before := s.Stats()
			alone := must(t, s, request(5, 33, true))
			if n := s.Stats().PrefillSteps - before.PrefillSteps; n != 1 {
				t.Errorf("%d executions for a prompt of 32 tokens", n)
			}
			if !slices.Equal(alone.IDs, short.IDs) {
				t.Errorf("%v, in small chunks %v", alone.IDs, short.IDs)
			}
		} else {
			short = must(t, s, request(5, 33, true))
		}
		got := together(t, s, []policy.Request{request(1, 200, true), request(2, 3, true), request(3, 280, false)})
		if chunks := s.Stats().PrefillSteps; gpu && chunks > 12 || !gpu && chunks < 18 {
			t.Errorf("%d executions for prompts of 199 and 279 tokens", chunks)
		}
		var many []policy.Request
		for i := range 8 {
			many = append(many, request(i, 250+i, false))
		}
		got = append(got, together(t, s, many)...)
		s.Close()
		if !gpu && (s.prefillOne.coming != nil || s.prefillBulk.coming != nil) {
			t.Error("programs for long prompts are compiled, and there is no GPU")
		}
		for i := range want {
			if !slices.Equal(got[i].IDs, want[i].IDs) {
				t.Errorf("request %d: %v, in small chunks %v", i, got[i].IDs, want[i].IDs)
			}
		}
		want = got
	}
}

// asGPU has a sampler feed prompts as on a GPU, with all programs of larger chunks: how many chunks there are depends
// on what is there.
func asGPU(t *testing.T, s *Sampler) {
	t.Helper()
	if err := s.between(func() error {
		s.gpu = true
		for w, shape := range map[*wide][2]int{
			&s.prefillFew:  {1, few},
			&s.prefillOne:  {1, s.rows},
			&s.prefillBulk: {s.rows, bulk},
		} {
			if c := shape[1] * s.chunk; c <= s.context && s.larger(w, shape[0], c, 0) == nil {
				return errors.New("a program is not compiled")
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// A long prompt fills a chunk alone, but not while a short one would wait for its end; and prompts that come after
// draws do not wait for another.
func testShortBesideLong(t *testing.T, s *Sampler) {
	t.Helper()
	must(t, s, request(4, 40, true)) // it is fed, and all after that is drawn
	s.control <- func() {
		if s.justFed {
			t.Error("a prompt would wait for a draw, though there were draws since the last chunk")
		}
		long, short := slot{job: &job{}, pending: make([]int32, 200)}, slot{job: &job{}, pending: make([]int32, 20)}
		s.state[2] = long
		if i := s.long(1); i != 2 {
			t.Errorf("slot %d, of which 2 alone has a prompt, and a long one", i)
		}
		s.state[3] = short
		if i := s.long(2); i != -1 {
			t.Errorf("slot %d is fed alone, and a short prompt waits", i)
		}
		s.state[2], s.state[3] = slot{}, slot{}
	}
	_ = s.Stats() // what is sent to the sampler later is done later
}

// What was sampled must score the same under the trainer, with the adapter swapped in, with the prefix shared or not,
// whatever the prompt's length is to the chunks.
func testSamplerEqualsTrainer(t *testing.T, e *engine.Engine, s *Sampler, tr *train.Trainer) {
	plain := must(t, s, request(1, 40, true))
	if err := s.SetAdapter(tr.Adapter(), 4); err != nil {
		t.Fatal(err)
	}
	var rows []batch.Sequence
	for i, n := range []int{1, 31, 33, 64} {
		r := request(i, n, i != 2)
		c := must(t, s, r)
		if c.PolicyVersion != 4 || c.FinishReason != policy.FinishLength || len(c.IDs) != 12 {
			t.Fatalf("completion %+v", c)
		}
		row := batch.Sequence{IDs: slices.Concat(r.Prompt, c.IDs), Trained: make([]bool, len(r.Prompt)),
			SamplerLogprobs: append(make([]float32, len(r.Prompt)), c.SamplerLogprobs...)}
		for range c.IDs {
			row.Trained = append(row.Trained, true)
		}
		rows = append(rows, row)
	}
	for _, row := range rows {
		b := batch.Batch{Prefix: row.IDs[:1], Rows: []batch.Sequence{{IDs: row.IDs[1:], Trained: row.Trained[1:]}}}
		scores, err := tr.Score(context.Background(), b, 1)
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range scores[0][len(scores[0])-12:] {
			if want := row.SamplerLogprobs[len(row.IDs)-12+i]; math.Abs(float64(x-want)) > 1e-4 {
				t.Errorf("prompt of %d: trainer %g, sampler %g", len(row.IDs)-12, x, want)
			}
		}
	}
	if again := must(t, s, request(1, 40, true)); slices.Equal(again.SamplerLogprobs, plain.SamplerLogprobs) {
		t.Error("the adapter changed nothing")
	}
}

// All is the same to the bit whether the host sees each token before the next is drawn or not: truncated or not, ended
// by a stop id that the device knows or does not, by a stop text, by a full cache, with another request waiting for the
// slot.
func testSteps(t *testing.T, e *engine.Engine, s *Sampler, tr *train.Trainer) {
	one := sampler(t, e, s.base, 1)
	if err := one.SetAdapter(tr.Adapter(), 1); err != nil {
		t.Fatal(err)
	}
	if err := s.SetAdapter(tr.Adapter(), 1); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.SetAdapter(nil, 0); err != nil {
			t.Error(err)
		}
	}()
	var requests []policy.Request
	for i := range 40 {
		r := request(i%16, 1+i*5%40, i%3 != 0)
		r.Key.Stream = uint64(i)
		switch i % 5 {
		case 0:
			r.Prompt = prompt(true, 90, i) // fills the cache, beside the first column of the next slot
		case 1:
			r.StopIDs = []int32{60, 61, 62, 63, int32(i), int32(i + 10), int32(i + 20)}
		case 2:
			r.StopIDs, r.TopP = []int32{int32(i), int32(i + 20)}, 0.8
		case 3:
			r.Stop, r.Temperature = []string{"ll", "b"}, float64(i%2)
		}
		if i == 39 {
			r.TopLogprobs = 2
		}
		requests = append(requests, r)
	}
	before := s.ahead
	s.control <- func() { s.ahead = stepsAhead } // as on a GPU, which is set off before what it drew is seen
	defer func() { s.control <- func() { s.ahead = before } }()
	// in order: a slot keeps of its last text what the next begins with
	want, got := together(t, one, requests), together(t, s, requests)
	reasons := map[policy.FinishReason]int{}
	for i := range got {
		reasons[got[i].FinishReason]++
		if !reflect.DeepEqual(got[i], want[i]) {
			t.Errorf("request %d: %+v in several steps at once, %+v in single ones", i, got[i], want[i])
		}
	}
	if len(reasons) < 2 {
		t.Errorf("all ended by %v", reasons)
	}
	requests = nil // every second slot's cache is full while the next slot, which nobody waits for, goes on
	for i := range 16 {
		r := request(i, 20, true)
		r.MaxTokens = 40
		if i%2 == 0 {
			r.Prompt = prompt(true, 93-i%4, i)
		}
		requests = append(requests, r)
	}
	want, got = together(t, one, requests), together(t, s, requests)
	for i := range got {
		if !reflect.DeepEqual(got[i], want[i]) {
			t.Errorf("beside full caches, request %d: %+v in several steps at once, %+v in single ones",
				i, got[i], want[i])
		}
	}
	if got[0].FinishReason != policy.FinishLength || len(got[0].IDs) >= 20 || len(got[1].IDs) != 40 {
		t.Errorf("no cache was full while the next slot went on: %+v", got[:2])
	}
}

// together has the sampler find all requests at once.
func together(t *testing.T, s *Sampler, requests []policy.Request) (all []policy.Completion) {
	t.Helper()
	jobs := make([]*job, len(requests))
	for i, r := range requests {
		var err error
		if jobs[i], err = s.job(context.Background(), r); err != nil {
			t.Fatal(err)
		}
	}
	s.control <- func() {
		for _, j := range jobs {
			s.enqueue(j)
		}
	}
	_ = s.Stats() // what is sent to the sampler later is done later
	for _, j := range jobs {
		<-j.done
		if j.err != nil {
			t.Fatal(j.err)
		}
		all = append(all, j.completion)
	}
	return all
}

// A request gives the same bits alone, in a crowd, and after its slot's cache held an earlier turn of it.
func testSamplesDependOnTheRequestAlone(t *testing.T, e *engine.Engine, s *Sampler, tr *train.Trainer) {
	alone := must(t, s, request(5, 20, true))
	crowd := make([]policy.Completion, 16)
	var wg sync.WaitGroup
	for i := range crowd {
		wg.Add(1)
		go func() {
			defer wg.Done()
			crowd[i], _ = s.Sample(context.Background(), request(i, 20+i%5*(i%2), i%3 != 0)) // checked below
		}()
	}
	wg.Wait()
	if crowd[5].IDs == nil || !slices.Equal(crowd[5].IDs, must(t, s, request(5, 20, true)).IDs) {
		t.Error("a crowd changed what was sampled")
	}
	if !slices.Equal(alone.SamplerLogprobs, must(t, s, request(5, 20, true)).SamplerLogprobs) {
		t.Error("the same request gave other logprobs")
	}
	second := request(5, 20, true)
	second.Prompt = append(slices.Concat(second.Prompt, alone.IDs), 8, 9, 10)
	continued := must(t, s, second)
	must(t, s, request(5, 3, false)) // forget the first turn
	fresh := must(t, s, second)
	for i := range fresh.IDs {
		if fresh.IDs[i] != continued.IDs[i] ||
			math.Abs(float64(fresh.SamplerLogprobs[i]-continued.SamplerLogprobs[i])) > 1e-5 {
			t.Fatalf("token %d: %d after a kept cache, %d after a fresh one", i, continued.IDs[i], fresh.IDs[i])
		}
	}
}

// Episodes of several turns arrive as their tools answer, so prompts wait for each other while other slots decode: each
// must get, to the bit, what it gets alone.
func testStaggeredTurns(t *testing.T, e *engine.Engine, s *Sampler, tr *train.Trainer) {
	episode := func(slot int) (ids []int32, logprobs []float32) {
		r := request(slot, 5+slot%4, slot%5 != 0)
		for turn := range 3 {
			r.MaxTokens, r.Key.Seed = 3+(slot*7+turn*3)%9, uint64(turn)
			c := must(t, s, r)
			ids, logprobs = append(ids, c.IDs...), append(logprobs, c.SamplerLogprobs...)
			r.Prompt = append(slices.Concat(r.Prompt, c.IDs), prompt(false, 1+(slot+turn)%6, slot)...)
		}
		return ids, logprobs
	}
	type result struct {
		ids      []int32
		logprobs []float32
	}
	crowd := make([]result, s.NumSlots())
	before := s.Stats().PrefillSteps
	var wg sync.WaitGroup
	for i := range crowd {
		wg.Go(func() { crowd[i].ids, crowd[i].logprobs = episode(i) })
	}
	wg.Wait()
	if n := s.Stats().PrefillSteps - before; !e.PureGo() && n >= 3*s.NumSlots() {
		t.Errorf("%d prefills for %d prompts: none was shared", n, 3*s.NumSlots())
	}
	for i, got := range crowd {
		if ids, logprobs := episode(i); !slices.Equal(got.ids, ids) || !slices.Equal(got.logprobs, logprobs) {
			t.Errorf("slot %d: %v in a crowd, %v alone", i, got.ids, ids)
		}
	}
}

func testEndsAndRefusals(t *testing.T, e *engine.Engine, s *Sampler, tr *train.Trainer) {
	r := request(0, 10, true)
	r.Temperature = 0
	greedy := must(t, s, r)
	r.Slot, r.Key.Seed = 3, 99
	if !slices.Equal(greedy.IDs, must(t, s, r).IDs) {
		t.Error("greedy sampling depends on the seed")
	}
	r.StopIDs = []int32{greedy.IDs[4]}
	stopped := must(t, s, r)
	if n := slices.Index(greedy.IDs, greedy.IDs[4]); stopped.FinishReason != policy.FinishStop ||
		len(stopped.IDs) != n+1 {
		t.Errorf("stopped after %d tokens because of %s", len(stopped.IDs), stopped.FinishReason)
	}
	long := request(2, s.context-6, true)
	if c := must(t, s, long); c.FinishReason != policy.FinishLength || len(c.IDs) != 6+1 {
		t.Errorf("%d tokens in the 6 free places of the cache", len(c.IDs))
	}
	_, err := s.Sample(context.Background(), request(2, s.context, true))
	var overflow *policy.ContextError
	if !errors.As(err, &overflow) {
		t.Errorf("a prompt without room gave %v", err)
	}
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := s.Sample(cancelled, request(2, 5, true)); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled request gave %v", err)
	}
	if !e.PureGo() && s.NumAliased() == 0 {
		t.Error("the caches are copied, not updated in place")
	}
	s.Close()
	if _, err := s.Sample(context.Background(), request(2, 5, true)); err == nil {
		t.Error("a closed sampler sampled")
	}
}
