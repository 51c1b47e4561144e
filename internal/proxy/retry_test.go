package proxy

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"hone/internal/episode/trajectory"
)

// goes sends a request that its client may leave; the last of its answer comes over the channel.
func (a *acting) goes(ctx context.Context, body string) chan string {
	q := httptest.NewRequest("POST", a.URL+"/v1/chat/completions", strings.NewReader(body)).WithContext(ctx)
	q.Header.Set("Authorization", "Bearer k1")
	out := make(chan string, 1)
	go func() {
		w := httptest.NewRecorder()
		a.Config.Handler.ServeHTTP(w, q)
		out <- w.Header().Get(DecisionHeader) + w.Body.String()
	}()
	return out
}

// Who asks again while a call that changes something is under way waits for its result: also where the first client has
// left, and where the small model was asked for both.
func TestACallUnderWayIsNotMadeAgain(t *testing.T) {
	for name, tc := range map[string]struct{ leaves, asked bool }{
		"the client left":             {true, false},
		"the client is there":         {false, false},
		"both were asked for by then": {false, true},
	} {
		t.Run(name, func(t *testing.T) {
			d := &desk{begun: make(chan struct{}, 2), goOn: make(chan struct{})}
			both := make(chan struct{})
			var asked atomic.Int32
			a := act(t, d, false, func(w http.ResponseWriter, r *http.Request) {
				if tc.asked {
					switch asked.Add(1) {
					case 1:
						<-both
					case 2:
						close(both)
					}
				}
				small(call("sell", `{}`), -0.01)(w, r)
			}, says(upstreamSays))
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			first := a.goes(ctx, asks(""))
			if !tc.asked {
				<-d.begun
			}
			again := a.goes(t.Context(), asks(""))
			if tc.asked {
				<-d.begun
			}
			if tc.leaves {
				leave()
			}
			// the second waits, or it has made a call
			for made := 1; a.mode.memory.waiting() == 0 && made == 1; time.Sleep(time.Millisecond) {
				calls, _ := d.made()
				made = len(calls)
			}
			close(d.goOn)
			<-first
			if got := <-again; !strings.Contains(got, "executed") || !strings.Contains(got, "hello") {
				t.Errorf("the second client is told %s", got)
			}
			if made, _ := d.made(); len(made) != 1 {
				t.Errorf("made %q", made)
			}
			for _, got := range a.upstream() {
				if !strings.Contains(got, "49f6 by sell") {
					t.Errorf("the upstream got %s", got)
				}
			}
			a.post("k1", asks(""))
			if made, _ := d.made(); len(made) != 2 {
				t.Errorf("asked anew, %q was made", made)
			}
		})
	}
}

// Of a call that only reads the result is shared too, and nobody waits for more than that: the upstream answers both at
// once. Where the first client leaves, its call is given up, and the second makes it.
func TestAReadOnlyCallUnderWayIsShared(t *testing.T) {
	for name, leaves := range map[string]bool{"the client is there": false, "the client left": true} {
		t.Run(name, func(t *testing.T) {
			d := &desk{begun: make(chan struct{}, 2), goOn: make(chan struct{})}
			both := make(chan struct{})
			a := act(t, d, false,
				small(call("hash", `{"text":"it"}`), -0.01), func(n int, w http.ResponseWriter, _ string) {
					if n == 2 {
						close(both)
					}
					if !leaves {
						<-both // as it would stay for ever, if one waited for the other's answer
					}
					_, _ = io.WriteString(w, upstreamSays)
				})
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			first := a.goes(ctx, asks(""))
			<-d.begun
			again := a.goes(t.Context(), asks(""))
			// the second waits, or it has made a call
			for made := 1; a.mode.memory.waiting() == 0 && made == 1; time.Sleep(time.Millisecond) {
				calls, _ := d.made()
				made = len(calls)
			}
			if leaves {
				leave()
			}
			close(d.goOn)
			want := 1
			if leaves {
				want = 2
			} else if got := <-first; !strings.Contains(got, "executed") || !strings.Contains(got, "hello") {
				t.Errorf("the first client is told %s", got)
			}
			if got := <-again; !strings.Contains(got, "executed") || !strings.Contains(got, "hello") {
				t.Errorf("the second client is told %s", got)
			}
			if made, _ := d.made(); len(made) != want {
				t.Errorf("made %q, want %d", made, want)
			}
			for _, got := range a.upstream() {
				if !strings.Contains(got, "49f6 by hash") {
					t.Errorf("the upstream got %s", got)
				}
			}
		})
	}
}

// A read that fails is made once for all that wait for it: each has its request passed on untouched, and none is behind
// another's call.
func TestAFailedReadIsShared(t *testing.T) {
	const clients = 4
	for name, tc := range map[string]struct {
		status trajectory.CallStatus
		asked  bool // the small model was asked for all by then
	}{
		"it says no":                 {trajectory.CallToolError, false},
		"it gives no answer":         {trajectory.CallTimeout, false},
		"all were asked for by then": {trajectory.CallToolError, true},
	} {
		t.Run(name, func(t *testing.T) {
			d := &desk{status: tc.status, begun: make(chan struct{}, 2*clients), goOn: make(chan struct{})}
			all := make(chan struct{})
			var asked atomic.Int32
			a := act(t, d, false, func(w http.ResponseWriter, r *http.Request) {
				if asked.Add(1) == clients {
					close(all)
				}
				if tc.asked {
					<-all
				}
				small(call("hash", `{"text":"it"}`), -0.01)(w, r)
			}, says(upstreamSays))
			var told []chan string
			for i := range clients {
				told = append(told, a.goes(t.Context(), asks("")))
				if i == 0 && !tc.asked {
					<-d.begun
				}
			}
			for a.mode.memory.waiting() < clients-1 {
				time.Sleep(time.Millisecond)
			}
			close(d.goOn)
			for i, c := range told {
				if got := <-c; got != "initial-call=asked-upstream; call-failed"+upstreamSays {
					t.Errorf("client %d is told %s", i, got)
				}
			}
			if made, closed := d.made(); len(made) != 1 || closed != 1 {
				t.Errorf("made %q, %d sessions closed", made, closed)
			}
			if got := a.upstream(); len(got) != clients ||
				slices.ContainsFunc(got, func(body string) bool { return body != asks("") }) {
				t.Errorf("the upstream got %q", got)
			}
			a.post("k1", asks(""))
			if made, _ := d.made(); len(made) != 2 {
				t.Errorf("asked anew, %q was made", made)
			}
		})
	}
}

// waiting is how many requests wait for another.
func (m *memory) waiting() (n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, w := range m.works {
		n += w.waiting
	}
	return n
}

// What was made for a request that failed is of use to a client that tries again at once. Who asks the same much later
// means it anew.
func TestAMadeCallGetsOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m memory
		m.keep(retried+"k", hidden{label: with})
		m.keep("k", hidden{label: with})
		time.Sleep(mostAge)
		w, err := m.begin(t.Context(), "k", false)
		if err != nil || w == nil || w.made == nil {
			t.Fatalf("after %v: %+v, %v", mostAge, w, err)
		}
		m.end("k", w)
		m.keep(retried+"k", hidden{label: with})
		time.Sleep(mostAge + 1)
		if w, err := m.begin(t.Context(), "k", false); err != nil || w != nil {
			t.Errorf("after more: %+v, %v", w, err)
		}
		if _, ok := m.find("k"); !ok {
			t.Error("a conversation that goes on has lost its call")
		}
	})
}

// A client with a fast tool goes on before the stream is at its end: the upstream is shown the first call all the same.
func TestRemembersBeforeTheClientIsTold(t *testing.T) {
	calling := []string{chunkOf(`{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"x9","type":"function","function":{"name":"hash","arguments":"{\"text\":\"more\"}"}}]}`, "null", ""),
		chunkOf(`{}`, `"tool_calls"`, "")}
	wentOn := make(chan struct{})
	a := act(t, &desk{}, false,
		small(call("hash", `{"text":"it"}`), -0.01), func(n int, w http.ResponseWriter, _ string) {
			if n == 1 {
				streams(w, calling...)
				w.(http.Flusher).Flush()
				<-wentOn
				_, _ = io.WriteString(w, "data: [DONE]\n\n")
				return
			}
			_, _ = io.WriteString(w, upstreamSays)
		})
	q, err := http.NewRequestWithContext(t.Context(), "POST", a.URL+"/v1/chat/completions",
		strings.NewReader(strings.TrimSuffix(asks(""), "}")+`,"stream":true}`))
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Authorization", "Bearer k1")
	r, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	lines := bufio.NewScanner(r.Body)
	for lines.Scan() && !strings.Contains(lines.Text(), `"finish_reason":"tool_calls"`) {
	}
	a.post("k1", asks(`,{"role":"assistant","content":null,"tool_calls":[{"id":"x9","type":"function","function":{"name":"hash","arguments":"{\"text\":\"more\"}"}}]},{"role":"tool","tool_call_id":"x9","content":"abcd"}`))
	close(wentOn)
	for lines.Scan() {
	}
	if got := a.upstream(); len(got) != 2 || !strings.Contains(got[1], "49f6 by hash") {
		t.Errorf("the upstream got %q", got)
	}
}

// Behind a request that failed a client may go on with another message: what was made stands behind the one that it was
// made for.
func TestGoesOnBehindAFailure(t *testing.T) {
	for name, before := range map[string]string{
		"the first message": "",
		"the second":        `,{"role":"user","content":"Now."}`,
	} {
		t.Run(name, func(t *testing.T) {
			d := &desk{}
			a := act(t, d, false, func(w http.ResponseWriter, r *http.Request) {
				logprob := -0.01
				if body, _ := io.ReadAll(r.Body); strings.Contains(string(body), "And?") {
					logprob = -9
				}
				small(call("sell", `{}`), logprob)(w, r)
			}, func(n int, w http.ResponseWriter, _ string) {
				if n == 1 {
					w.WriteHeader(500)
					return
				}
				_, _ = io.WriteString(w, upstreamSays)
			})
			a.post("k1", asks(before))
			for range 2 {
				a.post("k1", asks(before+`,{"role":"user","content":"And?"}`))
			}
			made, _ := d.made()
			for _, got := range a.upstream()[1:] {
				said, sold, and :=
					strings.Index(got, "Hash <it>"), strings.Index(got, "49f6 by sell"), strings.Index(got, "And?")
				if before != "" {
					said = strings.Index(got, "Now.")
				}
				if said < 0 || sold < said || and < sold || len(made) != 1 {
					t.Errorf("made %q, the upstream got %s", made, got)
				}
			}
		})
	}
}

// Of a speculation that agreed the usage is of both requests, also where the upstream does not stream and the client
// wants a stream.
func TestUsageInAStreamOfTwoWholeAnswers(t *testing.T) {
	a := act(t, &desk{}, true, small(call("hash", `{"text":"it"}`), -2), func(n int, w http.ResponseWriter, _ string) {
		_, _ = io.WriteString(w, []string{upstreamCalls("x1", `{"text":"it"}`), upstreamSays}[n-1])
	})
	_, text := a.post("k1", strings.TrimSuffix(asks(""), "}")+`,"stream":true,"stream_options":{"include_usage":true}}`)
	if !strings.Contains(text, `"prompt_tokens":130,"completion_tokens":12,"total_tokens":142`) {
		t.Errorf("%s", text)
	}
}

// The upstream's own answer waits neither for a call that was tried nor for its session's end.
func TestSpeculationHoldsNoAnswerUp(t *testing.T) {
	for _, stream := range []bool{false, true} {
		d := &desk{begun: make(chan struct{}, 1), goOn: make(chan struct{})}
		a := act(t, d, true, small(call("hash", `{"text":"it"}`), -2), func(_ int, w http.ResponseWriter, _ string) {
			<-d.begun
			if stream {
				streams(w, chunkOf(`{"content":"hello"}`, `"stop"`, ""), "data: [DONE]")
				return
			}
			_, _ = io.WriteString(w, upstreamSays)
		})
		body := asks("")
		if stream {
			body = strings.TrimSuffix(body, "}") + `,"stream":true}`
		}
		q, err := http.NewRequestWithContext(t.Context(), "POST", a.URL+"/v1/chat/completions", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("Authorization", "Bearer k1")
		r, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(q)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(r.Body)
		for lines.Scan() && !strings.Contains(lines.Text(), "[DONE]") &&
			!strings.Contains(lines.Text(), `"hello"},"finish_reason":"stop"}],"usage"`) {
		}
		close(d.goOn) // the answer was there, and the call was not over
		r.Body.Close()
		<-a.ends
		if made, closed := d.made(); len(made) != 1 || closed != 1 || lines.Err() != nil {
			t.Errorf("made %q, %d closed, %v", made, closed, lines.Err())
		}
	}
}
