package llm

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"hone/internal/fault"
)

// crowded is an endpoint that takes a second for an answer, and turns away what is more than it can do at once.
type crowded struct {
	mu                  sync.Mutex
	room, now, most     int
	answered, turnedOff int
}

func (c *crowded) RoundTrip(r *http.Request) (*http.Response, error) {
	_, _ = io.ReadAll(r.Body)
	c.mu.Lock()
	c.now++
	c.most = max(c.most, c.now)
	full := c.now > c.room
	if full {
		c.turnedOff++
	} else {
		c.answered++
	}
	c.mu.Unlock()
	defer func() { c.mu.Lock(); c.now--; c.mu.Unlock() }()
	if full {
		return &http.Response{StatusCode: 429, Header: http.Header{},
			Body: io.NopCloser(strings.NewReader("slow down"))}, nil
	}
	time.Sleep(time.Second)
	return &http.Response{StatusCode: 200, Header: http.Header{},
		Body: io.NopCloser(strings.NewReader(said("hi").body))}, nil
}

// Attempts at once grow to what an endpoint takes, and go down where it is overloaded: all calls are answered, and few
// are turned away.
func TestConcurrencyAdapts(t *testing.T) {
	for _, c := range []struct{ room, least, most int }{{40, 20, 24}, {3, 3, 6}, {1, 1, 4}} {
		synctest.Test(t, func(t *testing.T) {
			e := &crowded{room: c.room}
			api, err := New(Options{BaseURL: "http://127.0.0.1/v1", Transport: e, Concurrency: 24, Patience: time.Hour,
				Rand: func() float64 { return 0.5 }})
			if err != nil {
				t.Fatal(err)
			}
			var all sync.WaitGroup
			for range 400 {
				all.Go(func() {
					if _, err := api.Chat(t.Context(), hello); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			if e.answered != 400 || e.most < c.least || e.most > c.most || e.turnedOff > 60 {
				t.Errorf("room for %d: %d answered, %d at once, %d turned away",
					c.room, e.answered, e.most, e.turnedOff)
			}
			if api.pace.underway != 0 || len(api.pace.waiting) != 0 {
				t.Errorf("places are not given back: %+v", api.pace)
			}
		})
	}
}

// A call that is given up while it waits for a place leaves none taken.
func TestWaitingForAPlaceEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPace(1)
		epoch, err := p.begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := p.begin(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		p.end(epoch, true, false)
		if _, err := p.begin(t.Context()); err != nil || p.underway != 1 {
			t.Errorf("%v, %d under way", err, p.underway)
		}
	})
}

// An endpoint that fails call after call is left alone, tried once after a while, and asked again when it answers.
func TestBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := answer{status: 503, body: "down"}
		e := &endpoint{answers: []answer{down, down, down, said("up"), said("up")}}
		c := client(t, e, func(o *Options) { o.GiveUpAfter, o.Rest, o.MaxRetries = 2, time.Minute, -1 })
		ask := func() error { _, err := c.Chat(t.Context(), hello); return err }
		for i := range 4 { // the last two are not sent
			if err := ask(); fault.CodeOf(err) != fault.CodeUnavailable ||
				(i >= 2) != strings.Contains(err.Error(), "left alone") {
				t.Errorf("call %d: %v", i, err)
			}
		}
		if len(e.times) != 2 {
			t.Errorf("%d requests", len(e.times))
		}
		time.Sleep(time.Minute)
		if err := ask(); err == nil || len(e.times) != 3 { // the one that is let through, and fails
			t.Errorf("%v after %d requests", err, len(e.times))
		}
		if err := ask(); !strings.Contains(err.Error(), "left alone") || len(e.times) != 3 {
			t.Errorf("%v", err)
		}
		time.Sleep(time.Minute)
		if err := errors.Join(ask(), ask()); err != nil || len(e.times) != 5 {
			t.Errorf("%v", err)
		}
		if spent := c.budget.reserved.Total(); spent != 0 {
			t.Errorf("%d tokens are reserved by calls that are not sent", spent)
		}
	})
	refused := &endpoint{answers: []answer{{status: 400, body: "no"}}}
	c := client(t, refused, func(o *Options) { o.GiveUpAfter = 1 })
	for range 3 {
		if _, err := c.Chat(t.Context(), hello); err == nil || strings.Contains(err.Error(), "left alone") {
			t.Errorf("an endpoint that refuses a request is there: %v", err)
		}
	}
}

// What an endpoint does not take of a request is left out, or said by its other name, from then on.
func TestDialect(t *testing.T) {
	objects := func(param, code string) answer {
		return answer{status: 400,
			body: `{"error": {"message": "Unsupported", "param": "` + param + `", "code": "` + code + `"}}`}
	}
	e := &endpoint{answers: []answer{
		objects("max_tokens", "unsupported_parameter"), objects("temperature", "unsupported_value"), said("hi"),
		said("ho"), objects("max_tokens", "unsupported_parameter"),
	}}
	c := client(t, e, nil)
	q := hello
	q.Temperature, q.MaxTokens, q.Seed = 0.5, 77, 9
	for range 2 {
		if _, err := c.Chat(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	for i, wants := range [][]string{
		{`"max_tokens":77`, `"temperature":0.5`},
		{`"max_completion_tokens":77`, `"temperature":0.5`},
		{`"max_completion_tokens":77`, `"seed":9`},
		{`"max_completion_tokens":77`},
	} {
		for _, want := range wants {
			if !strings.Contains(e.bodies[i], want) {
				t.Errorf("request %d lacks %s: %s", i, want, e.bodies[i])
			}
		}
		if i >= 2 && (strings.Contains(e.bodies[i], "temperature") || strings.Contains(e.bodies[i], `"max_tokens"`)) {
			t.Errorf("request %d: %s", i, e.bodies[i])
		}
	}
	if _, err := c.Chat(t.Context(), q); err == nil { // the same objection again is final
		t.Error("an endpoint that objects to all is asked for ever")
	}
}
