package main

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"hone/internal/engine"
	"hone/internal/episode/policy"
	"hone/internal/learn/sample"
	"hone/internal/learn/train"
)

// sampler starts one of so many slots on each device, with caches of that many columns behind a prefix that the prompts
// share.
func (b *bench) sampler(slots, context, prefix, atOnce int) (*sample.Samplers, error) {
	return sample.NewSamplers(b.engine, b.spec, b.weights,
		sample.Options{Slots: slots, Context: context, DecodeSteps: atOnce, Prefix: b.prefix(prefix)})
}

// adapterSampler is sampler with an adapter.
func (b *bench) adapterSampler(slots, context, prefix, atOnce int) (*sample.Samplers, error) {
	s, err := sample.NewSamplers(b.engine, b.spec, b.weights,
		sample.Options{LoRA: b.lora, Slots: slots, Context: context, DecodeSteps: atOnce, Prefix: b.prefix(prefix)})
	if err != nil {
		return nil, err
	}
	flat := b.trainedAdapter(0.005)
	adapter, err := b.engine.Upload(flat, len(flat))
	if err == nil {
		defer engine.Free(adapter)
		err = s.SetAdapter(adapter, 1)
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// trainedAdapter is an adapter as large as a training's: fresh A, and B of about a size.
func (b *bench) trainedAdapter(size float64) []float32 {
	flat := train.NewState(b.spec, b.lora, 1).Adapter
	pieces, _ := b.lora.Pieces(b.spec)
	for _, p := range pieces {
		for i := range p.Rows * p.Cols {
			if p.B {
				flat[p.Offset+i] = float32(math.Sin(float64(p.Offset+i)*12.9898) * size)
			}
		}
	}
	return flat
}

func (b *bench) prefix(n int) []int32 { return b.tokens(n, 5) }

// request asks a slot to continue the prefix and a text that depends on the salt.
func (b *bench) request(slot, prefix, text, salt, tokens int) policy.Request {
	return policy.Request{Slot: slot, Prompt: append(b.prefix(prefix), b.tokens(text, salt)...),
		Sampling: policy.Sampling{MaxTokens: tokens, Temperature: 1}, Key: policy.Key{Seed: 1, Stream: uint64(slot)}}
}

// answer is a request's completion and when it came, in seconds after all were asked for.
type answer struct {
	policy.Completion
	seconds float64
}

// ask sends all requests at once, or each after its delay, and waits for their answers.
func ask(s policy.Sampler, requests []policy.Request, delays []time.Duration) ([]answer, error) {
	answers, errs := make([]answer, len(requests)), make([]error, len(requests))
	var done sync.WaitGroup
	start := time.Now()
	for i, r := range requests {
		done.Go(func() {
			if delays != nil {
				time.Sleep(delays[i])
			}
			answers[i].Completion, errs[i] = s.Sample(background, r)
			answers[i].seconds = time.Since(start).Seconds()
		})
	}
	done.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return answers, nil
}

// decoding is a row of decode: slots on each device, tokens of the prefix, tokens that a slot's caches hold at half of
// the steps that are timed, how many tokens an execution draws, 0 for what the device's default is, and whether an
// adapter is applied.
type decoding struct {
	slots, prefix, context, atOnce int
	adapted                        bool
}

// decode is one token of each slot behind a shared prefix. It is what long completions take beyond short ones of the
// same prompts, which the caches then hold, by the steps they take beyond: what happens once is not in it, and how many
// executions the first requests to come have to themselves does not count.
func (b *bench) decode(d decoding) (row, error) {
	short, long := 32, 160
	if b.toy {
		short, long, d = 2, 10, decoding{d.slots / 16, d.prefix / 64, d.context / 64, d.atOnce, d.adapted}
	}
	start, half := time.Now(), (short+long)/2
	if d.context <= half {
		return row{}, fmt.Errorf("slots are to hold %d tokens or fewer at half of %d steps", d.context, long-short)
	}
	make := b.sampler
	if d.adapted {
		make = b.adapterSampler
	}
	s, err := make(d.slots, d.context+half, d.prefix, d.atOnce)
	if err != nil {
		return row{}, err
	}
	defer s.Close()
	slots := s.NumSlots()
	compile := time.Since(start).Seconds()
	completions := func(tokens int) (ms, steps float64, err error) {
		var requests []policy.Request
		for i := range slots {
			requests = append(requests, b.request(i, d.prefix, d.context-half, i, tokens))
		}
		before := s.Stats()
		_, err = ask(s, requests, nil)
		after := s.Stats()
		return (after.BusySeconds - before.BusySeconds) * 1e3, float64(after.DecodeSteps - before.DecodeSteps), err
	}
	var steps []float64
	var each []float64
	r, err := timeRuns(2, b.repeat, func() error {
		shortMs, shortSteps, err := completions(short)
		if err != nil {
			return err
		}
		longMs, longSteps, err := completions(long)
		steps, each = append(steps, longSteps-shortSteps), append(each, (longMs-shortMs)/(longSteps-shortSteps))
		return err
	})
	if err != nil {
		return r, err
	}
	each = each[2:]
	r.Ms, r.Least = median(each), slices.Min(each)
	r.Compile = compile
	r.Bytes = stepBytes(b.spec, d.slots, d.context, d.prefix)
	r.More = map[string]float64{"tokens_per_s": float64(slots) / r.Ms * 1e3,
		"aliased_GB": float64(s.NumAliased()) / 1e9, "steps": median(steps[2:])}
	if s.NumAliased() == 0 {
		return r, fmt.Errorf("the caches are copied")
	}
	return r, nil
}

// sample is a step's episodes of one turn: 64 completions of so many tokens behind 4306 that all prompts share, and 30
// of each. No two prompts are the same, of one run or of two.
func (b *bench) sample(tokens int, adapted bool) (row, error) {
	slots, prefix, text := 64, 4306, 30
	if b.toy {
		slots, prefix, text, tokens = 4, 70, 6, tokens/64
	}
	start, make := time.Now(), b.sampler
	if adapted {
		make = b.adapterSampler
	}
	s, err := make(slots, text+tokens+2, prefix, 0)
	if err != nil {
		return row{}, err
	}
	defer s.Close()
	compile, salt := time.Since(start).Seconds(), 0
	r, err := timeRuns(1, min(3, b.repeat), func() error {
		var requests []policy.Request
		for i := range s.NumSlots() {
			salt++
			requests = append(requests, b.request(i, prefix, text, salt, tokens))
		}
		_, err := ask(s, requests, nil)
		return err
	})
	r.Compile, r.More = compile, map[string]float64{"tokens_per_s": float64(s.NumSlots()*tokens) / r.Ms * 1e3}
	return r, err
}

// prefill is 64 prompts of 2048 tokens fed into the slots of a device, and one token drawn behind each. No two prompts,
// of one run or of two, begin alike.
func (b *bench) prefill(int) (row, error) {
	slots, text, context := 64, 2048, 2304
	if b.toy {
		slots, text, context = 4, 40, 64
	}
	start := time.Now()
	s, err := b.sampler(slots, context, 0, 0)
	if err != nil {
		return row{}, err
	}
	defer s.Close()
	compile := time.Since(start).Seconds()
	before, salt := s.Stats(), 0
	r, err := timeRuns(1, min(3, b.repeat), func() error {
		var requests []policy.Request
		for i := range s.NumSlots() {
			salt++
			requests = append(requests, b.request(i, 0, text, salt, 1))
		}
		before = s.Stats()
		_, err := ask(s, requests, nil)
		return err
	})
	if err != nil {
		return r, err
	}
	after, n := s.Stats(), float64(slots)
	if fed := after.Prefilled - before.Prefilled; fed != s.NumSlots()*(text-1) {
		return r, fmt.Errorf("%d tokens were fed in the last run, not %d", fed, s.NumSlots()*(text-1))
	}
	linear, attention := forwardFlop(b.spec, n*float64(text), n, n*pairs(0, text))
	r.Flop, r.Compile = linear+attention, compile
	r.More = map[string]float64{"tokens_per_s": float64(s.NumSlots()*text) / r.Ms * 1e3,
		"executions": float64(after.PrefillSteps - before.PrefillSteps)}
	return r, nil
}

// chunks is the longest time for which slots that decode wait while tools' results are fed: 64 slots with caches of
// 4096 hold 2048 tokens each, three in four of them decode, and in the others 300 tokens arrive, in one slot after
// another every 50 ms.
func (b *bench) chunks(int) (row, error) {
	const prefix = 2
	slots, context, text, result, tokens, every := 64, 4096, 2048, 300, 256, 50*time.Millisecond
	if b.toy {
		slots, context, text, result, tokens, every = 4, 64, 20, 6, 24, 3*time.Millisecond
	}
	start := time.Now()
	s, err := b.sampler(slots, context, prefix, 0)
	if err != nil {
		return row{}, err
	}
	defer s.Close()
	compile := time.Since(start).Seconds()
	n := s.NumSlots()
	decoders, salt := n-n/4, 0
	var stalls, rates, firsts []float64 // ms, tokens/s, ms until a result's first token
	r, err := timeRuns(1, min(2, b.repeat), func() error {
		var requests []policy.Request
		for i := range n {
			salt++
			requests = append(requests, b.request(i, prefix, text, salt, 1))
		}
		held, err := ask(s, requests, nil)
		if err != nil {
			return err
		}
		_ = s.Stats() // the longest stall is counted from here on
		delays := make([]time.Duration, n)
		for i := range requests {
			requests[i].Prompt = append(requests[i].Prompt, held[i].IDs...)
			requests[i].MaxTokens = tokens
			if i >= decoders {
				requests[i].Prompt, requests[i].MaxTokens = append(requests[i].Prompt, b.tokens(result, salt+i)...), 1
				delays[i] = time.Duration(i-decoders+1) * every
			}
		}
		answers, err := ask(s, requests, delays)
		if err != nil {
			return err
		}
		last := 0.0
		for i, a := range answers {
			if i < decoders {
				last = max(last, a.seconds)
			} else {
				firsts = append(firsts, (a.seconds-delays[i].Seconds())*1e3)
			}
		}
		stalls = append(stalls, s.Stats().LongestStall*1e3)
		rates = append(rates, float64(decoders*tokens)/last)
		return nil
	})
	if err != nil {
		return r, err
	}
	stalls = stalls[1:]
	r.Ms, r.Least, r.Compile = median(stalls), slices.Min(stalls), compile
	r.More = map[string]float64{"most_stall_ms": slices.Max(stalls), "decoded_per_s": median(rates[1:]),
		"result_ms": median(firsts[n/4:])}
	return r, nil
}
