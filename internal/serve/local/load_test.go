package local

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hone/internal/chat"
	"hone/internal/engine"
	"hone/internal/episode/policy"
	"hone/internal/learn/sample"
	"hone/internal/learn/train"
	"hone/internal/serve"
	"hone/internal/testing/learntest"
)

// shelf loads adapters of random matrices into a sampler: the folder is the seed.
type shelf struct {
	t       *testing.T
	engine  *engine.Engine
	sampler *sample.Sampler
	mu      sync.Mutex
	taken   [4]bool
	set     atomic.Int64    // the policy version of the last
	took    []time.Duration // by a swap's writing, in which no token is drawn
}

func (s *shelf) Load(_ context.Context, name, dir string) (serve.Model, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	place := slices.Index(s.taken[:], false)
	if place < 0 {
		return serve.Model{}, fmt.Errorf("no place for %s", name)
	}
	spec, lora := learntest.Spec(), learntest.LoRA()
	flat := train.NewState(spec, lora, 2).Adapter
	for i := range flat {
		flat[i] += float32(math.Cos(float64(i*(len(dir)+1))) * 0.3)
	}
	b, err := s.engine.Upload(flat, len(flat))
	if err != nil {
		return serve.Model{}, err
	}
	defer engine.Free(b)
	began := time.Now()
	if err := s.sampler.SetAdapterOf(place, b, int(s.set.Add(1))); err != nil {
		return serve.Model{}, err
	}
	s.took = append(s.took, time.Since(began))
	s.taken[place] = true
	m := s.model(name)
	m.Adapter, m.Root = place, dir
	return m, nil
}

func (s *shelf) Unload(m serve.Model) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken[m.Adapter] = false
}

func (s *shelf) model(name string) serve.Model {
	return serve.Model{ID: name, Sampler: s.sampler, Renderer: noText{}, Adapter: policy.NoAdapter,
		NewDecoder: func() serve.Decoder { return letters{} },
		Read:       func([]int32, []chat.Tool) serve.Reader { return nil }, Encode: func(string) []int32 { return nil },
		Decode: func([]int32) string { return "" }}
}

// noText is a renderer of a model that is asked for ids, and letters its decoder.
type noText struct{}

func (noText) Prompt([]chat.Message, []chat.Tool) ([]int32, error) { return nil, nil }
func (noText) Next([]chat.Message, int, []int32, []chat.Tool) ([]int32, string, error) {
	return nil, "", nil
}
func (noText) Completion(chat.Message) ([]int32, error)          { return nil, nil }
func (noText) Parse([]int32, []chat.Tool) (chat.Message, string) { return chat.Message{}, "" }
func (noText) StopIDs() []int32                                  { return nil }

type letters struct{}

func (letters) Next(int32) string { return "x" }
func (letters) Close() string     { return "" }

// client asks the server of a load test.
type client struct {
	url  string
	http *http.Client
}

// stream reads the ids of a completion; with leaves it hangs up behind the first.
func (c client) stream(
	ctx context.Context, model string, prompt []int32, seed int, leaves bool,
) (ids []int32, ended bool, status int, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	body, _ := json.Marshal(map[string]any{"model": model, "prompt": prompt, "max_tokens": 12, "seed": seed,
		"temperature": 1, "stream": true, "return_token_ids": true})
	q, err := http.NewRequestWithContext(ctx, "POST", c.url+"/v1/completions", bytes.NewReader(body))
	if err != nil {
		return nil, false, 0, err
	}
	res, err := c.http.Do(q)
	if err != nil {
		return nil, false, 0, err
	}
	defer res.Body.Close()
	if res.StatusCode != 200 {
		_, _ = io.Copy(io.Discard, res.Body)
		return nil, false, res.StatusCode, nil
	}
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if data == "[DONE]" {
			return ids, true, 200, nil
		}
		var e struct {
			Choices []struct {
				TokenIDs []int32 `json:"token_ids"`
			}
		}
		if ok && json.Unmarshal([]byte(data), &e) == nil && len(e.Choices) > 0 {
			ids = append(ids, e.Choices[0].TokenIDs...)
		}
		if leaves && len(ids) > 0 {
			return ids, false, 200, nil
		}
	}
	return ids, false, 200, lines.Err()
}

// load sends streams for some time, each with a prompt of its own, of models that come and go, and of clients that hang
// up; then it stops the server in the midst of them. What a stream brings is what the same request brings alone:
// nobody's else, and of one adapter.
func load(t *testing.T, e *engine.Engine, streams int, duration time.Duration) {
	sampler, err := sample.New(e, learntest.Spec(), learntest.Weights(t, e, learntest.Spec()),
		sample.Options{LoRA: learntest.LoRA(), Adapters: 4, Slots: 8, Context: 48})
	if err != nil {
		t.Fatal(err)
	}
	defer sampler.Close()
	for place := range 4 { // what is compiled for a place is no part of a swap
		if err := sampler.SetAdapterOf(place, nil, 0); err != nil {
			t.Fatal(err)
		}
	}
	books := &shelf{t: t, engine: e, sampler: sampler}
	s, err := serve.New(serve.Options{Models: []serve.Model{books.model("base")}, Adapters: books, MaxQueue: streams})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l) }()
	c := client{"http://" + l.Addr().String(), &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: streams}}}
	defer c.http.CloseIdleConnections()
	swap := func(name, dir string) {
		body := fmt.Sprintf(`{"lora_name": %q, "lora_path": %q, "load_inplace": true}`, name, dir)
		res, err := c.http.Post(c.url+"/v1/load_lora_adapter", "application/json", strings.NewReader(body))
		if err != nil {
			t.Error(err)
			return
		}
		defer res.Body.Close()
		if said, _ := io.ReadAll(res.Body); res.StatusCode != 200 && res.StatusCode != 429 &&
			!strings.Contains(string(said), "server_error") {
			t.Errorf("a swap: %d %s", res.StatusCode, said)
		}
	}
	prompt := func(i int) []int32 { // of an own length, and with its own number in it
		out := []int32{int32(i % 60), int32(i / 60)}
		for j := range i % 17 {
			out = append(out, int32((i+j*7)%60))
		}
		return out
	}
	const prompts = 24
	want := map[string][]int32{} // by what is asked, alone
	for _, dir := range []string{"x", "yy"} {
		swap("swapped", dir)
		for i := range prompts {
			for _, model := range []string{"base", "swapped"} {
				ids, ended, _, err := c.stream(t.Context(), model, prompt(i), i, false)
				if err != nil || !ended || len(ids) != 12 {
					t.Fatalf("alone: %v, %v", ids, err)
				}
				if model == "swapped" {
					model = dir
				}
				want[fmt.Sprint(model, i)] = ids
			}
		}
	}
	var whole, left, turned, cut, kinds atomic.Int64
	var stopping atomic.Bool
	var all sync.WaitGroup
	until := time.Now().Add(duration)
	work := func(seed int) {
		r := rand.New(rand.NewPCG(uint64(seed), 1))
		for !stopping.Load() {
			i, model, leaves := r.IntN(prompts), []string{"base", "swapped"}[r.IntN(2)], r.IntN(5) == 0
			ids, done, status, err := c.stream(t.Context(), model, prompt(i), i, leaves)
			switch {
			case err != nil || status == 503: // the end
				if !stopping.Load() {
					t.Errorf("status %d, %v before the end", status, err)
				}
				turned.Add(1)
				return
			case leaves:
				left.Add(1)
				continue
			case !done:
				cut.Add(1)
				continue
			}
			whole.Add(1)
			if model == "base" && !slices.Equal(ids, want[fmt.Sprint("base", i)]) || model == "swapped" &&
				!slices.Equal(ids, want[fmt.Sprint("x", i)]) && !slices.Equal(ids, want[fmt.Sprint("yy", i)]) {
				t.Errorf("%s of prompt %d: %v, which is not what it is alone", model, i, ids)
			}
			if model == "swapped" && slices.Equal(ids, want[fmt.Sprint("yy", i)]) {
				kinds.Add(1)
			}
		}
	}
	for i := range streams {
		all.Go(func() { work(i) })
	}
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	var before uint64
	seen := func() bool { return whole.Load() >= int64(streams) && left.Load() > 0 && kinds.Load() > 0 }
	// a busy machine takes longer to send what is counted below
	for n := 0; time.Now().Before(until) || !seen() && !t.Failed(); n++ {
		swap("swapped", []string{"x", "yy"}[n%2])
		if n == 5 {
			before = heap()
		}
		time.Sleep(50 * time.Millisecond)
	}
	after := heap()
	stopping.Store(true)
	stop() // as SIGTERM does
	all.Wait()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if whole.Load() < int64(streams) || left.Load() == 0 || cut.Load() > 0 || kinds.Load() == 0 ||
		before > 0 && after > before+32<<20 {
		t.Errorf("%d whole streams (%d of the second adapter), %d clients left, %d streams were cut, "+
			"the heap went from %d to %d", whole.Load(), kinds.Load(), left.Load(), cut.Load(), before, after)
	}
	took := slices.Sorted(slices.Values(books.took))
	t.Logf("%d streams were whole, %d clients left, %d were turned away in the end, %d swaps, in the middle %s, "+
		"at most %s; heap %d to %d MB", whole.Load(), left.Load(), turned.Load(),
		books.set.Load(), took[len(took)/2], took[len(took)-1], before>>20, after>>20)
}

// 64 streams for two seconds, or until enough was seen; make soak takes ten minutes.
func TestLoad(t *testing.T) {
	e, err := engine.Open(engine.Options{Plugin: learntest.Plugin(), DType: engine.DTypeF32})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	load(t, e, 64, 2*time.Second)
}
