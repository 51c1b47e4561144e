package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"hone/internal/chat"
	"hone/internal/episode/policy"
	"hone/internal/serve"
)

// serving is hone serve before the sampler: so many streams at once, each of a prompt of its own, and the same requests
// of the sampler alone in the same run. Ms is a token of all streams together.
func (b *bench) serving(streams int) (row, error) {
	x, stop, err := b.serve()
	if err != nil {
		return row{}, err
	}
	defer stop()
	streams = b.atOnce(streams)
	salt := 100
	var bare, served, bareFirst, servedFirst []float64
	r, err := timeRuns(1, b.repeat, func() error {
		salt += 2 * streams
		first, whole, err := b.bareStreams(x.sampler, streams, x.prompt, x.tokens, salt)
		if err != nil {
			return err
		}
		bare, bareFirst = append(bare, whole), append(bareFirst, first...)
		first, whole, err = b.streams(x.url, streams, x.prompt, x.tokens, salt+streams)
		served, servedFirst = append(served, whole), append(servedFirst, first...)
		return err
	})
	if err != nil {
		return r, err
	}
	all := float64(streams * x.tokens)
	bareFirst, servedFirst = bareFirst[streams:], servedFirst[streams:] // the first run warms up
	r.Ms, r.Least, r.Compile = median(served[1:])*1e3/all, slices.Min(served[1:])*1e3/all, x.compile
	r.More = map[string]float64{
		"tokens_per_s": all / median(served[1:]), "bare_tokens_per_s": all / median(bare[1:]),
		"overhead": median(served[1:])/median(bare[1:]) - 1, "ttft_p50_ms": quantile(servedFirst, 0.5) * 1e3,
		"ttft_p95_ms":      quantile(servedFirst, 0.95) * 1e3,
		"bare_ttft_p95_ms": quantile(bareFirst, 0.95) * 1e3,
	}
	return r, nil
}

func quantile(values []float64, q float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}

// bareStreams asks the sampler itself: seconds to each first token, and to the end of all.
func (b *bench) bareStreams(s policy.Sampler, n, prompt, tokens, salt int) (first []float64, whole float64, err error) {
	first = make([]float64, n)
	start := time.Now()
	var requests []policy.Request
	for i := range n {
		r := b.request(i, 0, prompt, salt+i, tokens)
		r.Each = func(policy.Token) {
			if first[i] == 0 {
				first[i] = time.Since(start).Seconds()
			}
		}
		requests = append(requests, r)
	}
	_, err = ask(s, requests, nil)
	return first, time.Since(start).Seconds(), err
}

// streams asks the server: the same over HTTP.
func (b *bench) streams(url string, n, prompt, tokens, salt int) (first []float64, whole float64, err error) {
	prompts := make([][]int32, n)
	for i := range prompts {
		prompts[i] = b.tokens(prompt, salt+i)
	}
	return streamsOf(url, prompts, tokens)
}

// streamsOf asks for all prompts at once.
func streamsOf(url string, prompts [][]int32, tokens int) (first []float64, whole float64, err error) {
	first = make([]float64, len(prompts))
	errs := make([]error, len(prompts))
	var done sync.WaitGroup
	start := time.Now()
	for i, prompt := range prompts {
		done.Go(func() { first[i], errs[i] = stream(url, prompt, tokens, start) })
	}
	done.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, 0, err
		}
	}
	return first, time.Since(start).Seconds(), nil
}

func stream(url string, prompt []int32, tokens int, start time.Time) (first float64, err error) {
	body, err := json.Marshal(map[string]any{"prompt": prompt, "max_tokens": tokens, "stream": true, "seed": 1})
	if err != nil {
		return 0, err
	}
	res, err := http.Post(url, "application/json", bytes.NewReader(body)) //nolint:noctx // a run of the bench has no end of its own
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	ended := false
	for lines.Scan() {
		line := lines.Text()
		if first == 0 && strings.HasPrefix(line, "data: ") {
			first = time.Since(start).Seconds()
		}
		ended = ended || line == "data: [DONE]"
	}
	if !ended {
		return 0, fmt.Errorf("a stream ended with %s, and no end of its own: %w", res.Status, lines.Err())
	}
	return first, nil
}

// listen serves a sampler of ids that stand for no text.
func (b *bench) listen(s policy.Sampler) (url string, stop func(), err error) {
	server, err := serve.New(serve.Options{
		MaxQueue: 1024,
		Models: []serve.Model{{ID: "m", Sampler: s, Renderer: idsOnly{}, MaxContext: 1 << 20,
			NewDecoder: func() serve.Decoder { return letters{} }, Read: func([]int32, []chat.Tool) serve.Reader {
				return nil
			},
			Encode: func(string) []int32 { return nil }, Decode: func(ids []int32) string {
				return strings.Repeat("x", len(ids))
			}}},
	})
	if err != nil {
		return "", nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	ctx, cancel := context.WithCancel(background)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx, l) }()
	return "http://" + l.Addr().String() + "/v1/completions", func() { cancel(); <-ended }, nil
}

// idsOnly is a renderer where there is no text.
type idsOnly struct{}

func (idsOnly) Prompt([]chat.Message, []chat.Tool) ([]int32, error) { return nil, nil }
func (idsOnly) Next([]chat.Message, int, []int32, []chat.Tool) ([]int32, string, error) {
	return nil, "", nil
}
func (idsOnly) Completion(chat.Message) ([]int32, error)          { return nil, nil }
func (idsOnly) Parse([]int32, []chat.Tool) (chat.Message, string) { return chat.Message{}, "" }
func (idsOnly) StopIDs() []int32                                  { return nil }

// letters is the decoder: a letter for each id.
type letters struct{}

func (letters) Next(int32) string { return "x" }
func (letters) Close() string     { return "" }
