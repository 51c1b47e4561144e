package collect

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/console/sanitize"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/job"
)

// replayed are traces q0, q1, ... of a file, whose answer is "yes", sent to an endpoint that answers by which of them
// it is.
type replayed struct {
	t     *testing.T
	data  string
	url   string
	mu    sync.Mutex
	asked []string
}

func replaying(
	t *testing.T, n int, answer func(ctx context.Context, question string) (status int, said string),
) *replayed {
	r := &replayed{t: t, data: filepath.Join(t.TempDir(), "traces.jsonl")}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var body struct{ Messages []struct{ Content string } }
		text, _ := io.ReadAll(req.Body)
		_ = json.Unmarshal(text, &body)
		question := body.Messages[len(body.Messages)-1].Content
		r.mu.Lock()
		r.asked = append(r.asked, question)
		r.mu.Unlock()
		status, said := answer(req.Context(), question)
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"choices":[{"finish_reason":"stop","message":{"role":"assistant","content":%q}}],"usage":{"prompt_tokens":1,"completion_tokens":1},"error":{"message":"no"}}`, said)
	}))
	t.Cleanup(s.Close)
	r.url = s.URL + "/v1"
	var lines []byte
	for i := range n {
		lines = fmt.Appendf(lines,
			`{"id":"t%d","messages":[{"role":"user","content":"q%d"},{"role":"assistant","content":"yes"}]}`+"\n", i, i)
	}
	if err := os.WriteFile(r.data, lines, 0o600); err != nil {
		t.Fatal(err)
	}
	return r
}

// run replays, and returns what was printed: how far each trace is the same.
func (r *replayed) run(ctx context.Context, a ReplayAsked) (same map[string]string, said string, err error) {
	r.t.Helper()
	r.mu.Lock()
	r.asked = nil
	r.mu.Unlock()
	var out, talk bytes.Buffer
	e := job.Env{Host: &host.Host{Data: sanitize.New(&out), Talk: sanitize.New(&talk), JSON: true,
		LookupEnv: func(string) (string, bool) { return "", false }}}
	c := config.Default()
	if a.Model == "" {
		a.Endpoint, a.Model = r.url, "m"
	} else {
		c.Providers = map[string]config.Provider{
			"shop": {URL: r.url, Prices: map[string]config.Price{"m": {Prompt: 250000, Completion: 500000}}},
		}
	}
	a.Data = r.data
	err = RunReplay(ctx, e, c, a)
	var list []Replayed
	if out.Len() > 0 {
		if jsonErr := json.Unmarshal(out.Bytes(), &list); jsonErr != nil {
			r.t.Fatalf("%v: %s", jsonErr, out.String())
		}
	}
	same = map[string]string{}
	for _, x := range list {
		same[x.Trace] = x.Same
	}
	return same, talk.String(), err
}

// lines are those of the kept answers.
func (r *replayed) lines(dir string) (traces []string) {
	text, err := os.ReadFile(filepath.Join(dir, File))
	if err != nil {
		r.t.Error(err)
	}
	for line := range strings.Lines(string(text)) {
		var x Replayed
		if err := json.Unmarshal([]byte(line), &x); err != nil || !strings.HasSuffix(line, "\n") {
			r.t.Errorf("%q: %v", line, err)
		}
		traces = append(traces, x.Trace+" "+x.Same)
	}
	return traces
}

// As many traces as are asked for are under way at once: each waits until all are.
func TestReplayIsParallel(t *testing.T) {
	var mu sync.Mutex
	waiting, all := 0, make(chan struct{})
	r := replaying(t, 6, func(ctx context.Context, _ string) (int, string) {
		mu.Lock()
		if waiting++; waiting == 3 {
			close(all)
		}
		mu.Unlock()
		select {
		case <-all:
		case <-ctx.Done():
		}
		return http.StatusOK, "yes"
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // else it would wait for ever
	defer cancel()
	if same, _, err := r.run(ctx, ReplayAsked{AtOnce: 3}); err != nil || len(same) != 6 || same["t5"] != "all" {
		t.Errorf("%v %v", same, err)
	}
}

// A trace whose request fails is counted, each answer is a line as it comes, and the same command asks for what failed
// alone.
func TestReplayGoesOn(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	broken := true
	var r *replayed
	r = replaying(t, 4, func(_ context.Context, question string) (int, string) {
		if question == "q1" && broken {
			return http.StatusBadRequest, ""
		}
		if question == "q2" && broken {
			if got := r.lines(dir); !slices.Equal(got, []string{"t0 all", "t1 no answer"}) {
				t.Errorf("the lines before the third answer are %q", got)
			}
			return http.StatusOK, "no"
		}
		return http.StatusOK, "yes"
	})
	same, said, err := r.run(t.Context(), ReplayAsked{Output: dir})
	if want := map[string]string{"t0": "all", "t1": "no answer", "t2": "kind", "t3": "all"}; err != nil ||
		fmt.Sprint(same) != fmt.Sprint(want) {
		t.Errorf("%v %v", same, err)
	}
	if !strings.Contains(said, "1 trace got no answer, the first by: ") || !strings.Contains(said, "status 400") {
		t.Error(said)
	}
	broken = false
	same, said, err = r.run(t.Context(), ReplayAsked{Output: dir})
	if want := map[string]string{"t0": "all", "t1": "all", "t2": "kind", "t3": "all"}; err != nil ||
		fmt.Sprint(same) != fmt.Sprint(want) || !slices.Equal(r.asked, []string{"q1"}) {
		t.Errorf("%v %v, asked for %q: %s", same, err, r.asked, said)
	}
	if got := r.lines(dir); !slices.Equal(got, []string{"t0 all", "t1 all", "t2 kind", "t3 all"}) {
		t.Errorf("%q", got)
	}
}

// What was answered is printed where the rest is not sent: the user stopped it, or no other can be answered either.
func TestReplayThatIsStopped(t *testing.T) {
	for _, c := range []struct {
		status int
		code   fault.Code
		next   string
	}{{http.StatusUnauthorized, fault.CodeUsage, "key"}, {0, fault.CodeStopped, "goes on"}} {
		dir := filepath.Join(t.TempDir(), "out")
		ctx, cancel := context.WithCancelCause(t.Context())
		r := replaying(t, 5, func(of context.Context, question string) (int, string) {
			if question != "q2" {
				return http.StatusOK, "yes"
			}
			if c.status == 0 {
				cancel(host.Signalled(2))
				<-of.Done()
				return http.StatusOK, ""
			}
			return c.status, ""
		})
		same, _, err := r.run(ctx, ReplayAsked{Output: dir})
		cancel(nil)
		f, _ := errors.AsType[*fault.Error](err)
		if fault.CodeOf(err) != c.code || !strings.Contains(f.Next, c.next) ||
			fmt.Sprint(same) != "map[t0:all t1:all]" || !slices.Equal(r.lines(dir), []string{"t0 all", "t1 all"}) {
			t.Errorf("%d: %v, %v", c.status, same, err)
		}
		if len(r.asked) != 3 {
			t.Errorf("%d: %q", c.status, r.asked)
		}
	}
}

// Where nothing is answered, that is an error. A rehearsal sends nothing.
func TestReplayOfNoAnswer(t *testing.T) {
	r := replaying(t, 12, func(context.Context, string) (int, string) { return http.StatusBadRequest, "" })
	if same, _, err := r.run(t.Context(), ReplayAsked{}); fault.CodeOf(err) != fault.CodeUnavailable ||
		len(same) != 12 || same["t9"] != "no answer" {
		t.Errorf("%v %v", same, err)
	}
	r.asked = nil
	var out bytes.Buffer
	e := job.Env{Host: &host.Host{Data: sanitize.New(&out), Talk: sanitize.New(&out), DryRun: true,
		LookupEnv: func(string) (string, bool) { return "", false }}}
	if err := RunReplay(t.Context(), e, config.Default(),
		ReplayAsked{Data: r.data, Endpoint: r.url, Model: "m"}); err != nil ||
		len(r.asked) > 0 || !strings.Contains(out.String(), "would send 12 traces to m") {
		t.Errorf("%v, asked for %q: %s", err, r.asked, out.String())
	}
}

// Calls of one message are made at once: they are the same in any order, each as often.
func TestSameAs(t *testing.T) {
	say := func(text string, calls ...string) (m chat.Message) {
		m.Content = text
		for _, c := range calls {
			name, arguments, _ := strings.Cut(c, " ")
			m.ToolCalls = append(m.ToolCalls,
				chat.ToolCall{ID: fmt.Sprint(len(m.ToolCalls), text), Name: name, Arguments: arguments})
		}
		return m
	}
	for _, c := range []struct {
		was, is chat.Message
		want    string
	}{
		{say("", `f {"a":1}`, `f {"a":2}`), say("", `f {"a": 2}`, `f {"a": 1}`), "all"},
		{say("", `f {"a":1,"b":[2]}`, `g {}`), say("", `g`, `f {"b":[2.0],"a":1}`), "all"},
		{say("I look.", `f {}`), say("Let me see.", `f {}`), "all"}, // words beside calls
		{say("", `f {"a":1}`, `f {"a":1}`), say("", `f {"a":1}`, `f {"a":2}`), "tools"},
		{say("", `f {"id":9007199254740992}`), say("", `f {"id":9007199254740993}`), "tools"},
		{say("", `f {"a":1}`, `g {}`), say("", `g {}`, `f {"a":2}`), "tools"},
		{say("", `f {}`, `f {}`, `g {}`), say("", `f {}`, `g {}`, `g {}`), "kind"},
		{say("", `f {}`, `f {}`), say("", `f {}`), "kind"},
		{say("", `f {`), say("", `f {`), "tools"}, // no JSON
		{say("a"), say("b"), "kind"},
		{say("a"), say("a"), "all"},
		{say("a"), say("a", `f {}`), "nothing"},
		{say("", `f {}`), say("no"), "nothing"},
	} {
		if got := sameAs(c.was, c.is); got != c.want {
			t.Errorf("%+v and %+v: %q, want %q", c.was, c.is, got, c.want)
		}
	}
}

// An endpoint that is away for a while costs no trace; one that stays away ends the command, with an error.
func TestReplayWaitsForTheEndpoint(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	asked, back := 0, 12
	r := replaying(t, 20, func(context.Context, string) (int, string) {
		mu.Lock()
		defer mu.Unlock()
		if asked++; asked > 5 && asked < back {
			return http.StatusServiceUnavailable, ""
		}
		return http.StatusOK, "yes"
	})
	if same, said, err := r.run(t.Context(), ReplayAsked{AtOnce: 2, Patience: time.Minute}); err != nil ||
		len(same) != 20 || strings.Contains(fmt.Sprint(same), "no answer") {
		t.Errorf("%v %v: %s", same, err, said)
	}
	asked, back = 0, 1<<30
	same, _, err := r.run(t.Context(), ReplayAsked{AtOnce: 2})
	if fault.CodeOf(err) != fault.CodeUnavailable ||
		!strings.Contains(fault.Whole(err), "the endpoint is gone: stopped after") || len(same) > 11 {
		t.Errorf("%v %v", same, err)
	}
}

// What is paid for is told in dollars where the configuration has a price, and no request is sent beyond a budget of
// tokens.
func TestReplayCosts(t *testing.T) {
	for name, tc := range map[string]struct {
		a     ReplayAsked
		says  string
		asked int
		code  fault.Code
	}{
		"without a price": {ReplayAsked{}, "3 tokens sent and 3 tokens received were paid for\n", 3, 0},
		"with one":        {ReplayAsked{Model: "shop/m"}, "3 tokens sent and 3 tokens received were paid for: $2.2500\n", 3, 0},
		"a budget of all": {ReplayAsked{TokenBudget: 1 << 20}, "3 tokens sent", 3, 0},
		"of none":         {ReplayAsked{TokenBudget: 1}, "0 tokens sent", 0, fault.CodeBudget},
	} {
		r := replaying(t, 3, func(context.Context, string) (int, string) { return http.StatusOK, "yes" })
		same, said, err := r.run(t.Context(), tc.a)
		if !strings.Contains(said, tc.says) || len(r.asked) != tc.asked || fault.CodeOf(err) != tc.code ||
			tc.code == 0 && len(same) != 3 {
			t.Errorf("%s: %v, %d asked, %v, said %s", name, err, len(r.asked), same, said)
		}
	}
}
