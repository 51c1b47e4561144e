package main

import (
	"slices"
	"sync"
	"time"

	"hone/internal/learn/sample"
)

// served is a sampler behind hone serve, and how long its streams are.
type served struct {
	sampler        *sample.Samplers
	url            string
	prompt, tokens int
	own            int // of a prompt's tokens those that no other has, where prompts share their beginning
	compile        float64
}

// serve opens one of 64 slots.
func (b *bench) serve() (*served, func(), error) {
	x := &served{prompt: 512, tokens: 128, own: 32}
	slots := 64
	if b.toy {
		x.prompt, x.tokens, x.own, slots = 24, 8, 4, 4
	}
	start := time.Now()
	s, err := b.sampler(slots, x.prompt+x.tokens, 0, 0)
	if err != nil {
		return nil, nil, err
	}
	url, stop, err := b.listen(s)
	if err != nil {
		s.Close()
		return nil, nil, err
	}
	x.sampler, x.url, x.compile = s, url, time.Since(start).Seconds()
	return x, func() { stop(); s.Close() }, nil
}

// atOnce is how many streams a row of so many has: a toy has four slots.
func (b *bench) atOnce(streams int) int {
	if b.toy {
		streams = min(streams, 4)
	}
	return max(1, streams)
}

// shared is so many streams at once whose prompts share all but their last tokens, as those of agents with the same
// tools do. Cold are the streams that come after one request of that beginning, which one slot holds then, and what is
// reported first those after them, whose slots all hold it. Ms is a token of all streams together.
func (b *bench) shared(streams int) (row, error) {
	x, stop, err := b.serve()
	if err != nil {
		return row{}, err
	}
	defer stop()
	streams = b.atOnce(streams)
	var whole, coldFirst, first []float64
	var coldFed, fed int
	salt := 100
	r, err := timeRuns(1, b.repeat, func() error {
		salt += 2*streams + 2
		beginning := b.tokens(x.prompt-x.own, salt)
		ask := func(n, salt int) ([]float64, float64, int, error) {
			before := x.sampler.Stats().Prefilled
			prompts := make([][]int32, n)
			for i := range prompts {
				prompts[i] = slices.Concat(beginning, b.tokens(x.own, salt+i))
			}
			first, whole, err := streamsOf(x.url, prompts, x.tokens)
			return first, whole, x.sampler.Stats().Prefilled - before, err
		}
		if _, _, _, err := ask(1, salt+1); err != nil {
			return err
		}
		cold, _, n, err := ask(streams, salt+2)
		if err != nil {
			return err
		}
		coldFirst, coldFed = append(coldFirst, cold...), n
		again, seconds, n, err := ask(streams, salt+2+streams)
		first, whole, fed = append(first, again...), append(whole, seconds), n
		return err
	})
	if err != nil {
		return r, err
	}
	all := float64(streams * x.tokens)
	first, coldFirst = first[streams:], coldFirst[streams:] // the first run warms up
	r.Ms, r.Least, r.Compile = median(whole[1:])*1e3/all, slices.Min(whole[1:])*1e3/all, x.compile
	r.More = map[string]float64{
		"tokens_per_s": all / median(whole[1:]), "ttft_p50_ms": quantile(first, 0.5) * 1e3,
		"ttft_p95_ms": quantile(first, 0.95) * 1e3, "cold_ttft_p50_ms": quantile(coldFirst, 0.5) * 1e3,
		"cold_ttft_p95_ms": quantile(coldFirst, 0.95) * 1e3, "fed_each": float64(fed) / float64(streams),
		"cold_fed_each": float64(coldFed) / float64(streams),
	}
	return r, nil
}

// spread is so many clients, of which each sends its next request when its stream ends. They begin evenly over the time
// that one stream takes alone, with prompts of their own. What is reported is of the rounds after the first. Ms is a
// token of all streams together.
func (b *bench) spread(streams int) (row, error) {
	x, stop, err := b.serve()
	if err != nil {
		return row{}, err
	}
	defer stop()
	streams = b.atOnce(streams)
	rounds, salt := 5, 100
	one := 0.0
	for range 2 { // the first warms up
		salt++
		if _, one, err = b.streams(x.url, 1, x.prompt, x.tokens, salt); err != nil {
			return row{}, err
		}
	}
	var first []float64
	var whole float64
	r, err := timeRuns(0, 1, func() (err error) {
		salt++
		first, whole, err = b.clients(x, streams, rounds, salt, one)
		return err
	})
	if err != nil {
		return r, err
	}
	all := float64(streams * rounds * x.tokens)
	r.Ms, r.Least, r.Compile = whole*1e3/all, whole*1e3/all, x.compile
	r.More = map[string]float64{
		"tokens_per_s": all / whole, "ttft_p50_ms": quantile(first, 0.5) * 1e3,
		"ttft_p95_ms":   quantile(first, 0.95) * 1e3,
		"one_stream_ms": one * 1e3,
	}
	return r, nil
}

// clients are those of spread: seconds to each first token after the first round, and to the end of all.
func (b *bench) clients(x *served, streams, rounds, salt int, one float64) (first []float64, whole float64, err error) {
	times, errs := make([][]float64, streams), make([]error, streams)
	var done sync.WaitGroup
	start := time.Now()
	for i := range streams {
		done.Go(func() {
			time.Sleep(time.Duration(float64(i) / float64(streams) * one * float64(time.Second)))
			for round := range rounds {
				seconds, err := stream(x.url, b.tokens(x.prompt, salt+round*streams+i), x.tokens, time.Now())
				if err != nil {
					errs[i] = err
					return
				}
				times[i] = append(times[i], seconds)
			}
		})
	}
	done.Wait()
	whole = time.Since(start).Seconds()
	for i := range streams {
		if errs[i] != nil {
			return nil, 0, errs[i]
		}
		first = append(first, times[i][1:]...)
	}
	return first, whole, nil
}
