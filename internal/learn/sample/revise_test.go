package sample

import (
	"context"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"hone/internal/engine"
	"hone/internal/episode/policy"
	"hone/internal/fault"
	"hone/internal/learn/train"
)

// letters decodes id i of the tiny vocabulary as one to three letters.
type letters struct{}

func (letters) Next(id int32) string { return strings.Repeat(string(rune('a'+id%26)), 1+int(id)%3) }

func textOf(ids []int32) string {
	var b strings.Builder
	for _, id := range ids {
		b.WriteString(letters{}.Next(id))
	}
	return b.String()
}

// testPrograms: requests that ask for neither constraint, truncation nor likely tokens compile nothing.
func testPrograms(t *testing.T, e *engine.Engine, s *Sampler, tr *train.Trainer) {
	r := request(1, 7, true)
	r.Stop, r.StopIDs = []string{"zzz"}, []int32{1}
	must(t, s, r)
	if s.chooser != nil || s.ranker != nil {
		t.Fatal("plain requests compiled the programs of others")
	}
	before := numPrograms(e)
	r.TopP = 0.5
	must(t, s, r)
	if s.chooser == nil || s.ranker != nil || numPrograms(e) != before+1 {
		t.Error("truncation takes another program than its own")
	}
	r.TopLogprobs = 3
	must(t, s, r)
	must(t, s, r)
	if numPrograms(e) != before+2 {
		t.Errorf("%d programs were compiled, want 2", numPrograms(e)-before)
	}
}

func testTruncation(t *testing.T, e *engine.Engine, s *Sampler, tr *train.Trainer) {
	r := request(4, 9, true)
	r.Temperature = 0
	greedy := must(t, s, r)
	for name, change := range map[string]func(*policy.Request){
		"top-k 1": func(r *policy.Request) { r.TopK = 1 }, "top-p 0.001": func(r *policy.Request) { r.TopP = 0.001 },
		"min-p 1": func(r *policy.Request) { r.MinP = 1 }} {
		one := request(4, 9, true)
		change(&one)
		c := must(t, s, one)
		if !slices.Equal(c.IDs, greedy.IDs) || slices.Max(c.SamplerLogprobs) != 0 ||
			slices.Min(c.SamplerLogprobs) != 0 {
			t.Errorf("%s: %v with logprobs %v; greedy %v", name, c.IDs, c.SamplerLogprobs, greedy.IDs)
		}
		one.Temperature = 0
		if c := must(t, s, one); !reflect.DeepEqual(c, greedy) {
			t.Errorf("%s changes a greedy completion", name)
		}
	}
	r = request(4, 9, true)
	plain := must(t, s, r)
	r.TopK, r.TopP, r.MinP = 60, 1, 0
	if all := must(t, s, r); !slices.Equal(all.IDs, plain.IDs) {
		t.Errorf("a truncation that leaves everything draws %v, without it %v", all.IDs, plain.IDs)
	}
}

func testLikelyTokens(t *testing.T, e *engine.Engine, s *Sampler, tr *train.Trainer) {
	r := request(6, 9, true)
	plain := must(t, s, r)
	r.TopLogprobs = 20
	listed := must(t, s, r)
	if !slices.Equal(listed.IDs, plain.IDs) || !slices.Equal(listed.SamplerLogprobs, plain.SamplerLogprobs) {
		t.Error("listing likely tokens changes what is drawn")
	}
	r.TopK = 5
	few := must(t, s, r)
	for name, c := range map[string]policy.Completion{"all": listed, "five": few} {
		if len(c.TopLogprobs) != len(c.IDs) {
			t.Fatalf("%s: %d lists for %d tokens", name, len(c.TopLogprobs), len(c.IDs))
		}
		for i, list := range c.TopLogprobs {
			sum := 0.0
			for j, top := range list {
				sum += math.Exp(float64(top.Logprob))
				if top.ID == c.IDs[i] && math.Abs(float64(top.Logprob-c.SamplerLogprobs[i])) > 1e-6 {
					t.Errorf("%s: token %d has logprob %g, and %g in the list",
						name, i, c.SamplerLogprobs[i], top.Logprob)
				}
				if j > 0 && top.Logprob > list[j-1].Logprob {
					t.Errorf("%s: list %d is not sorted: %v", name, i, list)
				}
			}
			if name == "five" && (len(list) != 5 || math.Abs(sum-1) > 1e-5) || len(list) > 20 || sum > 1+1e-5 {
				t.Errorf("%s: %d tokens of probability %g are listed", name, len(list), sum)
			}
		}
	}
}

// pathway is the constraint that only one text may be written, as a grammar without a choice would have it.
type pathway []int32

func (p pathway) Narrow(completion []int32, allowed *policy.IDSet) {
	allowed.Clear()
	if n := len(completion); n < len(p) {
		allowed.Add(p[n])
	}
}

func testConstraints(t *testing.T, e *engine.Engine, s *Sampler, tr *train.Trainer) {
	r := request(2, 5, true)
	free := must(t, s, r)
	r.Constraint = policy.Banned(free.IDs)
	if c := must(t, s, r); slices.ContainsFunc(c.IDs, func(id int32) bool { return slices.Contains(free.IDs, id) }) {
		t.Errorf("%v were banned, and sampled %v", free.IDs, c.IDs)
	}
	r.Temperature = 0
	r.Constraint = nil
	best := must(t, s, r).IDs[0]
	r.Constraint = policy.Banned{best}
	if c := must(t, s, r); slices.Contains(c.IDs, best) {
		t.Errorf("greedy sampling takes a banned token: %v", c.IDs)
	}
	want := pathway{59, 0, 33, 16, 15}
	for _, temperature := range []float64{0, 1} {
		r.Temperature, r.Constraint, r.MaxTokens = temperature, want, len(want)
		if c := must(t, s, r); !slices.Equal(c.IDs, want) || slices.Min(c.SamplerLogprobs) != 0 {
			t.Errorf("%v was sampled with %v, only %v was allowed", c.IDs, c.SamplerLogprobs, want)
		}
	}
	r.MaxTokens++
	_, err := s.Sample(context.Background(), r)
	var none *policy.ConstraintError
	if !errors.As(err, &none) || none.NumSampled != len(want) {
		t.Errorf("a constraint that allows nothing gave %v", err)
	}
	r.Constraint, r.Temperature, r.MaxTokens = nil, 1, 12
	if c := must(t, s, r); !slices.Equal(c.IDs, free.IDs) || !slices.Equal(c.SamplerLogprobs, free.SamplerLogprobs) {
		t.Error("a slot remembers the constraint of an earlier request")
	}
}

func testStopTexts(t *testing.T, e *engine.Engine, s *Sampler, tr *train.Trainer) {
	r := request(3, 11, true)
	whole := must(t, s, r)
	text := textOf(whole.IDs)
	n := len(textOf(whole.IDs[:3]))
	// the end of one token and the beginning of the next, or earlier
	r.Stop = []string{"never written", text[n-1 : n+1]}
	c := must(t, s, r)
	at := strings.Index(text, r.Stop[1])
	if c.FinishReason != policy.FinishStop || c.StopText != r.Stop[1] || c.Text != text[:at] {
		t.Errorf("ended by %s with %q before %q; all is %q", c.FinishReason, c.Text, c.StopText, text)
	}
	if k := len(c.IDs); !slices.Equal(c.IDs, whole.IDs[:k]) || len(textOf(c.IDs)) < at+2 ||
		len(textOf(c.IDs[:k-1])) >= at+2 {
		t.Errorf("%v are kept of %v to write %q", c.IDs, whole.IDs, text[:at+2])
	}
	r.Stop = r.Stop[:1]
	if c := must(t, s, r); !reflect.DeepEqual(c, whole) {
		t.Error("a stop text that is never written changes the completion")
	}
}

func testRefusedRequests(t *testing.T, e *engine.Engine, s *Sampler, tr *train.Trainer) {
	for why, change := range map[string]func(*policy.Request){
		"the prompt is empty":     func(r *policy.Request) { r.Prompt = nil },
		"0 tokens are asked for":  func(r *policy.Request) { r.MaxTokens = 0 },
		"-1 tokens are asked for": func(r *policy.Request) { r.MaxTokens = -1 },
		"temperature is NaN":      func(r *policy.Request) { r.Temperature = math.NaN() },
		"temperature is -1":       func(r *policy.Request) { r.Temperature = -1 },
		"temperature is +Inf":     func(r *policy.Request) { r.Temperature = math.Inf(1) },
		"top-k is -1":             func(r *policy.Request) { r.TopK = -1 },
		"top-p is 1.5":            func(r *policy.Request) { r.TopP = 1.5 },
		"min-p is NaN":            func(r *policy.Request) { r.MinP = math.NaN() },
		"the 21 likeliest":        func(r *policy.Request) { r.TopLogprobs = 21 },
		"a stop text is empty":    func(r *policy.Request) { r.Stop = []string{"a", ""} },
	} {
		r := request(1, 5, true)
		change(&r)
		_, err := s.Sample(context.Background(), r)
		if fault.CodeOf(err) != fault.CodeUsage || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v", why, err)
		}
	}
}

// anyRequest draws a request with any of the settings there are.
func anyRequest(rt *rapid.T, slot int) policy.Request {
	r := request(slot, rapid.IntRange(1, 20).Draw(rt, "prompt"), rapid.Bool().Draw(rt, "shared"))
	r.Key = policy.Key{Seed: rapid.Uint64().Draw(rt, "seed"), Stream: rapid.Uint64().Draw(rt, "stream")}
	r.MaxTokens = rapid.IntRange(1, 4).Draw(rt, "tokens")
	r.Temperature = rapid.SampledFrom([]float64{0, 0.5, 1, 1.7}).Draw(rt, "temperature")
	r.TopK = rapid.SampledFrom([]int{0, 0, 3, 20}).Draw(rt, "top_k")
	r.TopP = rapid.SampledFrom([]float64{0, 0, 0.5, 0.95}).Draw(rt, "top_p")
	r.MinP = rapid.SampledFrom([]float64{0, 0, 0.05}).Draw(rt, "min_p")
	r.TopLogprobs = rapid.SampledFrom([]int{0, 0, 4}).Draw(rt, "top_logprobs")
	r.Stop = rapid.SampledFrom([][]string{nil, {"a", "ll"}, {"cc"}}).Draw(rt, "stop")
	if banned := rapid.SliceOfN(rapid.Int32Range(0, 59), 0, 30).Draw(rt, "banned"); len(banned) > 10 {
		r.Constraint = policy.Banned(banned)
	}
	return r
}

// Requests of all kinds give, to the bit, what they give alone, whatever is beside them.
func testMixedCrowd(t *testing.T, e *engine.Engine, s *Sampler, tr *train.Trainer) {
	rapid.Check(t, func(rt *rapid.T) {
		crowd := make([]policy.Request, 4)
		got := make([]policy.Completion, len(crowd))
		var wg sync.WaitGroup
		for i := range crowd {
			crowd[i] = anyRequest(rt, 3*i)
		}
		for i, r := range crowd {
			wg.Go(func() { got[i], _ = s.Sample(context.Background(), r) }) // compared below
		}
		wg.Wait()
		for i := range 2 {
			if alone := must(t, s, crowd[i]); !reflect.DeepEqual(alone, got[i]) {
				rt.Fatalf("%+v: %+v in a crowd, %+v alone", crowd[i], got[i], alone)
			}
		}
	})
}

// A turn gives the same tokens whether its slot still holds the turn before or another conversation. What was fed as a
// prompt and what was sampled are computed in other shapes, and once in thousands of draws that rounding decides.
func testKeptCache(t *testing.T, e *engine.Engine, s *Sampler, tr *train.Trainer) {
	forget := func() { // what slot 7 holds
		other := request(7, 3, false)
		other.Prompt = prompt(false, 3, 50)
		must(t, s, other)
	}
	must(t, s, request(7, 20, true))
	behind := must(t, s, request(7, 20, false)) // the same text, not behind the prefix
	forget()
	if fresh := must(t, s, request(7, 20, false)); !slices.Equal(behind.IDs, fresh.IDs) ||
		!slices.Equal(behind.SamplerLogprobs, fresh.SamplerLogprobs) {
		t.Error("a text without the prefix was continued from the cache of one behind it")
	}
	decided := 0
	rapid.Check(t, func(rt *rapid.T) {
		first := anyRequest(rt, 7)
		second := anyRequest(rt, 7)
		second.Prompt = append(slices.Concat(first.Prompt, must(t, s, first).IDs), 8, 9, 10)
		kept := must(t, s, second)
		forget()
		fresh := must(t, s, second)
		if !slices.Equal(fresh.IDs, kept.IDs) || fresh.StopText != kept.StopText {
			decided++
		}
	})
	if decided > 3 {
		t.Errorf("%d turns differ after a kept cache", decided)
	}
}

// numPrograms counts an engine's programs, of which tests keep those that XLA compiled.
func numPrograms(e *engine.Engine) int { return e.NumCompiled + e.NumLoaded }
