package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"hone/internal/chat"
	"hone/internal/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// endpoint answers from a script: the i-th request gets answers[i], the last one again and again.
type endpoint struct {
	mu      sync.Mutex
	answers []answer
	times   []time.Time
	bodies  []string
	keys    []string
}

type answer struct {
	status int
	header map[string]string
	body   string
	err    error
}

func (e *endpoint) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	a := e.answers[min(len(e.times), len(e.answers)-1)]
	e.times = append(e.times, time.Now())
	e.bodies = append(e.bodies, string(body))
	e.keys = append(e.keys, r.Header.Get("Authorization"))
	if a.err != nil {
		return nil, a.err
	}
	h := http.Header{}
	for k, v := range a.header {
		h.Set(k, v)
	}
	return &http.Response{StatusCode: a.status, Header: h, Body: io.NopCloser(strings.NewReader(a.body)),
		Request: r}, nil
}

func said(text string) answer {
	return answer{status: 200, body: fmt.Sprintf(
		`{"choices":[{"message":{"role":"assistant","content":%q},"finish_reason":"stop"}],"usage":{"prompt_tokens":7,"completion_tokens":3}}`, text)}
}

func client(t *testing.T, e *endpoint, change func(*Options)) *Client {
	t.Helper()
	o := Options{BaseURL: "http://endpoint.test/v1/", Transport: e, Key: "sk-very-secret", Rand: func() float64 {
		return 0.5
	}}
	if change != nil {
		change(&o)
	}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

var hello = Request{Model: "m", MaxTokens: 10, Messages: []chat.Message{{Role: chat.User, Content: "hello"}},
	Tools: []chat.Tool{{Name: "hash", InputSchema: json.RawMessage(`{"type":"object"}`)}}}

func TestChat(t *testing.T) {
	e := &endpoint{answers: []answer{{status: 200, body: `{"choices":[{"message":{"role":"assistant","content":null,
		"tool_calls":[{"id":"c1","type":"function","function":{"name":"hash","arguments":"{\"b\": 1, \"a\": 2}"}}]},
		"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":7,"completion_tokens":3}}`}}}
	c := client(t, e, nil)
	r, err := c.Chat(t.Context(), hello)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Message.ToolCalls) != 1 ||
		r.Message.ToolCalls[0] != (chat.ToolCall{ID: "c1", Name: "hash", Arguments: `{"b": 1, "a": 2}`}) {
		t.Errorf("message = %+v", r.Message)
	}
	if r.FinishReason != "tool_calls" || r.Usage.Total() != 10 || c.Usage() != r.Usage {
		t.Errorf("finish %q, usage %+v, spent %+v", r.FinishReason, r.Usage, c.Usage())
	}
	want := `{"model":"m","messages":[{"role":"user","content":"hello"}],"tools":[{"type":"function","function":{"name":"hash","parameters":{"type":"object"}}}],"temperature":0,"max_tokens":10}`
	if e.bodies[0] != want || e.keys[0] != "Bearer sk-very-secret" {
		t.Errorf("sent %s with %s", e.bodies[0], e.keys[0])
	}
}

func TestRetries(t *testing.T) {
	busy := func(header ...string) answer {
		a := answer{status: 429, header: map[string]string{}, body: "busy"}
		for i := 0; i < len(header); i += 2 {
			a.header[header[i]] = header[i+1]
		}
		return a
	}
	for name, tc := range map[string]struct {
		answers  []answer
		retries  int
		code     fault.Code
		requests int
		waited   time.Duration // with every random draw 0.5 and a first bound of 500 ms
	}{
		"408, 409, 429, 500, 503 then an answer": {
			answers:  []answer{{status: 408}, {status: 409}, {status: 429}, {status: 500}, {status: 503}, said("hi")},
			requests: 6, waited: (250 + 500 + 1000 + 2000 + 4000) * time.Millisecond},
		"a lost connection":      {answers: []answer{{err: errors.New("reset by peer")}, said("hi")}, requests: 2, waited: 250 * time.Millisecond},
		"a truncated answer":     {answers: []answer{{status: 200, body: `{"choices":[{"mess`}, said("hi")}, requests: 2, waited: 250 * time.Millisecond},
		"no choices":             {answers: []answer{{status: 200, body: `{"choices":[]}`}, said("hi")}, requests: 2, waited: 250 * time.Millisecond},
		"gives up":               {answers: []answer{{status: 502}}, retries: 2, code: fault.CodeUnavailable, requests: 3, waited: 750 * time.Millisecond},
		"never retries":          {answers: []answer{{status: 502}}, retries: -1, code: fault.CodeUnavailable, requests: 1},
		"refused request":        {answers: []answer{{status: 400}}, code: fault.CodeError, requests: 1},
		"refused key":            {answers: []answer{{status: 401}}, code: fault.CodeUsage, requests: 1},
		"no such model":          {answers: []answer{{status: 404}}, code: fault.CodeUsage, requests: 1},
		"redirect":               {answers: []answer{{status: 307, header: map[string]string{"Location": "http://elsewhere.test/"}}}, code: fault.CodeError, requests: 1},
		"Retry-After in seconds": {answers: []answer{busy("Retry-After", "20"), said("hi")}, requests: 2, waited: 20250 * time.Millisecond},
		"Retry-After-Ms":         {answers: []answer{busy("Retry-After-Ms", "1500", "Retry-After", "20"), said("hi")}, requests: 2, waited: 1750 * time.Millisecond},
		"Retry-After as a date": {
			answers:  []answer{busy("Retry-After", "Sat, 01 Jan 2000 00:00:30 GMT"), said("hi")},
			requests: 2,
			waited:   30250 * time.Millisecond,
		},
		"Retry-After beyond bounds": {answers: []answer{busy("Retry-After", "1e300"), said("hi")}, requests: 2, waited: time.Minute},
		"Retry-After of nonsense":   {answers: []answer{busy("Retry-After", "NaN"), said("hi")}, requests: 2, waited: 250 * time.Millisecond},
		"told not to":               {answers: []answer{busy("X-Should-Retry", "false")}, code: fault.CodeUnavailable, requests: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // its clock starts at 2000-01-01 00:00:00 UTC
				e := &endpoint{answers: tc.answers}
				start := time.Now()
				_, err := client(t, e, func(o *Options) { o.MaxRetries = tc.retries }).Chat(t.Context(), hello)
				if fault.CodeOf(err) != tc.code {
					t.Errorf("code %d, want %d: %v", fault.CodeOf(err), tc.code, err)
				}
				if f, ok := errors.AsType[*fault.Error](err); err != nil && (!ok || f.Next == "") {
					t.Errorf("no next step: %v", err)
				}
				if len(e.times) != tc.requests || time.Since(start) != tc.waited {
					t.Errorf("%d requests in %v, want %d in %v",
						len(e.times), time.Since(start), tc.requests, tc.waited)
				}
			})
		})
	}
}

func TestCancelDuringBackOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		e := &endpoint{answers: []answer{{status: 503, header: map[string]string{"Retry-After": "30"}}}}
		time.AfterFunc(3*time.Second, cancel)
		start := time.Now()
		_, err := client(t, e, nil).Chat(ctx, hello)
		if !errors.Is(err, context.Canceled) || time.Since(start) != 3*time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}

func TestBudgetStopsBeforeTheCall(t *testing.T) {
	e := &endpoint{answers: []answer{said("hi")}}
	// A call reserves more than the 10 tokens it turns out to use; two fit, the third's worst case does not.
	body, _ := json.Marshal(hello)
	one := len(body)/2 + 1 + hello.MaxTokens
	c := client(t, e, func(o *Options) { o.TokenBudget = one + 10 })
	for i := range 3 {
		_, err := c.Chat(t.Context(), hello)
		if want := fault.CodeOK; i < 2 && fault.CodeOf(err) != want {
			t.Fatalf("call %d: %v", i, err)
		}
		if i == 2 && fault.CodeOf(err) != fault.CodeBudget {
			t.Errorf("call %d: %v, want a spent budget", i, err)
		}
	}
	if len(e.bodies) != 2 || c.Usage().Total() != 20 {
		t.Errorf("%d requests, spent %v", len(e.bodies), c.Usage())
	}
}

func TestBudgetHoldsForCallsInFlight(t *testing.T) {
	b := NewBudget(100, 0)
	tokens := func(n int) sum { return sum{Usage: Usage{PromptTokens: n}} }
	spent := func() int { used, _ := b.Usage(); return used.Total() }
	if err := b.reserve(tokens(60)); err != nil {
		t.Fatal(err)
	}
	if b.reserve(tokens(60)) == nil {
		t.Fatal("two calls of 60 were let into a budget of 100")
	}
	// no usage in the answer: all counts
	b.settle(sum{Usage: Usage{PromptTokens: 20, CompletionTokens: 40}}, sum{}, true)
	if spent() != 60 || b.reserve(tokens(41)) == nil || b.reserve(tokens(40)) != nil {
		t.Errorf("after settling: %d", spent())
	}
	b.settle(tokens(40), sum{}, false)
	if spent() != 60 || b.reserve(tokens(40)) != nil {
		t.Error("a failed call was charged")
	}
}

// Dollars are reserved as tokens are: the third call is not sent, since its worst case is above what is left. Without a
// price there is no such budget.
func TestBudgetInDollars(t *testing.T) {
	e := &endpoint{answers: []answer{said("hi")}}
	body, _ := json.Marshal(hello)
	price := func(prompt, completion int) float64 { return (float64(prompt) + 2*float64(completion)) / 1000 }
	one := price(len(body)/2+1, hello.MaxTokens)
	used := client(t, e, nil)
	first, err := used.Chat(t.Context(), hello)
	if err != nil {
		t.Fatal(err)
	}
	cost := price(first.Usage.PromptTokens, first.Usage.CompletionTokens)
	shared := NewBudget(0, one+1.5*cost)
	dollars := func(o *Options) { o.Budget, o.Cost = shared, price }
	clients := []*Client{client(t, e, dollars), client(t, e, dollars)} // two that share it
	for i, want := range []fault.Code{fault.CodeOK, fault.CodeOK, fault.CodeBudget} {
		if _, err := clients[i%2].Chat(t.Context(), hello); fault.CodeOf(err) != want {
			t.Errorf("call %d: %v", i, err)
		}
	}
	if _, got := shared.Usage(); math.Abs(got-2*cost) > 1e-9 || len(e.bodies) != 3 ||
		clients[0].Usage() != first.Usage {
		t.Errorf("$%v spent in %d requests, want $%v", got, len(e.bodies), 2*cost)
	}
	if _, err := New(Options{BaseURL: "http://127.0.0.1/v1",
		Budget: NewBudget(0, 1)}); fault.CodeOf(err) != fault.CodeUsage {
		t.Errorf("a budget in dollars without a price: %v", err)
	}
}

// What is asked several times at once is paid for once, also by who waits while its first asker fails or gives up.
func TestEqualRequestsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sent := 0
		c := client(t, nil, func(o *Options) {
			o.CacheDir, o.MaxRetries = t.TempDir(), -1
			o.Transport = transport(func(r *http.Request) (*http.Response, error) {
				sent++
				time.Sleep(time.Second)
				if sent == 1 {
					return nil, errors.New("cut off")
				}
				return &http.Response{
					StatusCode: 200,
					Body: io.NopCloser(
						strings.NewReader(`{"choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}]}`),
					),
				}, nil
			})
		})
		answered, failed := 0, 0
		var mu sync.Mutex
		for range 5 {
			go func() {
				_, err := c.Chat(t.Context(), hello)
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					answered++
				} else {
					failed++
				}
			}()
		}
		gone, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		synctest.Wait()
		if _, err := c.Chat(gone, hello); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("who gave up got %v", err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if sent != 2 || answered != 4 || failed != 1 {
			t.Errorf("%d requests, %d answered, %d failed", sent, answered, failed)
		}
	})
}

type transport func(r *http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestCache(t *testing.T) {
	e := &endpoint{answers: []answer{said("one"), said("two"), said("three")}}
	dir := filepath.Join(t.TempDir(), "cache")
	keep := func(o *Options) { o.CacheDir = dir; o.TokenBudget = 200 }
	took := map[string]float64{} // by answer: what is remembered took what it took then
	ask := func(c *Client, r Request, want string, cached bool) {
		t.Helper()
		got, err := c.Chat(t.Context(), r)
		if before, known := took[want]; got.Seconds <= 0 || known && got.Seconds != before {
			t.Errorf("%q took %v s, and %v s when it was asked for", want, got.Seconds, before)
		}
		took[want] = got.Seconds
		if err != nil || got.Message.Content != want || got.Cached != cached {
			t.Errorf("got %q, cached %v, %v; want %q, cached %v", got.Message.Content, got.Cached, err, want, cached)
		}
	}
	c := client(t, e, keep)
	ask(c, hello, "one", false)
	ask(c, hello, "one", true)
	seeded := hello
	seeded.Seed = 1
	ask(c, seeded, "two", false)
	again := client(t, e, keep) // another process, later
	ask(again, hello, "one", true)
	if again.Usage().Total() != 0 {
		t.Errorf("a cached answer cost %v", again.Usage())
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) != 2 {
		t.Fatalf("files %v, %v", files, err)
	}
	for _, f := range files {
		if err := os.WriteFile(f, []byte(`{"mess`), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ask(c, hello, "three", false) // a damaged entry is asked for again
	ask(c, hello, "three", true)

	blocked := client(t, e, func(o *Options) { o.CacheDir = filepath.Join(files[0], "under a file") })
	if _, err := blocked.Chat(t.Context(), hello); err == nil {
		t.Error("an answer that could not be kept was not reported")
	}
}

func TestKeysNeverAppear(t *testing.T) {
	const key = "sk-very-secret"
	long := strings.Repeat("x", maxMessage-5) + key // cutting must not leave half the key
	for _, a := range []answer{
		{status: 401, body: `{"error":{"message":"Incorrect API key provided: ` + key + `"}}`},
		{status: 400, body: long},
		{err: errors.New("proxy said: bad header Bearer " + key)},
		{status: 200, body: "<html>" + key},
	} {
		_, err := client(t, &endpoint{answers: []answer{a}},
			func(o *Options) { o.MaxRetries = -1 }).Chat(t.Context(), hello)
		if err == nil || strings.Contains(err.Error(), "sk-v") {
			t.Errorf("error = %v", err)
		}
		var status *StatusError
		if errors.As(err, &status) && strings.Contains(status.Message, "sk-v") {
			t.Errorf("status message = %s", status.Message)
		}
	}
	var log strings.Builder
	o := Options{Key: key}
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "o", o, "key", o.Key)
	j, err := json.Marshal(o.Key)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		fmt.Sprint(o), fmt.Sprintf("%v %+v %#v %s %q %x %d",
			o, o, o, o.Key, o.Key, o.Key, o.Key), log.String(), string(j),
	} {
		if strings.Contains(text, "very") || strings.Contains(text, fmt.Sprintf("%x", key)) {
			t.Errorf("shown: %s", text)
		}
	}
	if _, err := New(Options{BaseURL: "http://me:" + key + "@host/v1"}); err == nil ||
		strings.Contains(err.Error(), key) {
		t.Errorf("password in the URL: %v", err)
	}
}

func TestNewRefusesBadURLs(t *testing.T) {
	for _, u := range []string{"", "localhost:8000", "ftp://x/v1", "http:///v1", "http://h/v1?key=1", "::"} {
		if _, err := New(Options{BaseURL: u}); fault.CodeOf(err) != fault.CodeUsage {
			t.Errorf("%q: %v", u, err)
		}
	}
}

// What an endpoint that answers badly did is said, and a flood is fetched once.
func TestBadAnswersAreNotSilence(t *testing.T) {
	for name, tc := range map[string]struct {
		answer   answer
		what     string
		requests int
	}{
		"silence":     {answer{err: errors.New("reset by peer")}, "the endpoint did not answer", 3},
		"a page":      {answer{status: 200, body: "<html>Welcome</html>"}, "the endpoint's answer is of no use", 3},
		"a flood":     {answer{status: 200, body: strings.Repeat("x", maxResponse+1)}, "the endpoint's answer is of no use", 1},
		"errors":      {answer{status: 502, body: "bad gateway"}, "the endpoint answered with errors alone", 3},
		"a bad model": {answer{status: 400, body: "no such model"}, "the endpoint refused the request", 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := &endpoint{answers: []answer{tc.answer}}
				_, err := client(t, e, func(o *Options) { o.MaxRetries = 2 }).Chat(t.Context(), hello)
				var f *fault.Error
				if !errors.As(err, &f) || f.What != tc.what || len(e.times) != tc.requests {
					t.Errorf("%d requests, %v", len(e.times), err)
				}
			})
		})
	}
}
