package mcp

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"hone/internal/chat"
)

// chaosCase is one behaviour on one transport in one era.
type chaosCase struct {
	behaviour Behaviour
	transport string
	era       Era
}

func (c chaosCase) String() string {
	return fmt.Sprintf("%s/%s/%s", c.behaviour.Name, c.transport, c.era)
}

func chaosCases() (all []chaosCase) {
	for _, b := range Behaviours() {
		for _, transport := range []string{viaStdio, viaHTTP} {
			for _, era := range []Era{Legacy, Modern} {
				if (b.Only == "" || b.Only == transport) && (b.Era == "" || b.Era == era) {
					all = append(all, chaosCase{b, transport, era})
				}
			}
		}
	}
	return all
}

// seen is what became of a server: how its tools were found, what a call of target and then one of add came to.
type seen struct {
	discovered string // "2 tools, 1 quarantined" or the phase that failed and its text
	first      string // status of the call, and whom it blames
	then       string // the same of a second call in the same episode
	text       string // of everything, for what an error must say
}

func (c chaosCase) run(t *testing.T) seen {
	dir := t.TempDir()
	server := Server{Isolation: PerSession}
	if c.transport == viaHTTP {
		s := New(c.behaviour, c.era, "")
		h := httptest.NewServer(s)
		defer h.Close()
		defer h.CloseClientConnections()
		defer s.Stop()
		server.URL = h.URL
	} else {
		server = self(t, "chaos", c.behaviour.Name, string(c.era), dir)
	}
	config := configOf(t, map[string]Server{"s": server})
	o := Options{ConnectTimeout: 2 * time.Minute, ProbeTimeout: time.Minute, Timeout: 2 * time.Minute,
		MaxFrame: 1 << 20, Warm: -1}
	switch w := c.want(); { // long deadlines where an answer is due, for the machine may be busy
	case c.behaviour.Name == "probe-hangs":
		o.ProbeTimeout = 300 * time.Millisecond
	case strings.HasPrefix(w.first, "timeout"):
		o.Timeout = 5 * time.Second
	case w.short && strings.HasPrefix(w.discovered, "list"):
		o.ConnectTimeout = 6 * time.Second
	case c.key() == "open-garbage": // what it says has to come in that time
		o.ConnectTimeout, o.ProbeTimeout = 5*time.Second, 3*time.Second
	case w.short:
		o.ConnectTimeout, o.ProbeTimeout = 1500*time.Millisecond, 700*time.Millisecond
	}
	got := c.use(config, o)
	if left := waitGone(dir); len(left) > 0 {
		t.Errorf("%s: processes left: %v", c, left)
	}
	return got
}

func (c chaosCase) use(config Config, o Options) (got seen) {
	report := inspect(context.Background(), config, o, 0)[0]
	if report.Err != nil {
		f, ok := report.Err.(*Failure)
		if !ok {
			return seen{discovered: "not a failure", text: report.Err.Error()}
		}
		return seen{discovered: string(f.Phase) + " " + string(f.Outcome), text: f.Error()}
	}
	got.discovered = fmt.Sprintf("%d tools, %d quarantined, %d warnings",
		len(report.Tools.Tools), len(report.Tools.Quarantined), len(report.Tools.Warnings))
	catalog := &Catalog{Servers: []ServerTools{report.Tools}}
	nameTools(catalog.Servers)
	p, err := NewPool(context.Background(), config, catalog, o)
	if err != nil {
		return seen{discovered: "pool", text: err.Error()}
	}
	defer p.Close()
	e, err := p.Open(context.Background(), "e")
	if err != nil {
		return seen{discovered: got.discovered, first: "open " + string(OutcomeOf(err)), text: err.Error()}
	}
	defer e.Close()
	for i, call := range []chat.ToolCall{{Name: "target", Arguments: `{"text":"x"}`}, {Name: "add", Arguments: "{}"}} {
		r := e.Call(context.Background(), []chat.ToolCall{call})[0]
		text := strings.TrimSpace(string(r.Status) + " " + string(r.Outcome))
		got.text += r.Text + "|" + r.Error + "|" + r.Warning + "|"
		if i == 0 {
			got.first = text
		} else {
			got.then = text
		}
	}
	return got
}

// waitGone returns the processes noted in dir that are still there after a while: KILL is sent, and the kernel delivers
// it in its own time.
func waitGone(dir string) (left []string) {
	for range 3000 {
		left = nil
		files, _ := os.ReadDir(dir)
		for _, f := range files {
			if alive(f.Name()) {
				left = append(left, f.Name())
			}
		}
		if len(left) == 0 {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return left
}

// alternate leaves out half of what starts processes: what has to come to the same over stdio in both eras is played in
// one, in turn.
func alternate(cases []chaosCase) (some []chaosCase) {
	n, behaviour := 0, ""
	for _, c := range cases {
		same := c.transport == viaStdio && c.behaviour.Era == "" && !strings.Contains(c.key(), "/"+viaStdio+"/")
		if same && c.behaviour.Name != behaviour {
			n, behaviour = n+1, c.behaviour.Name
		}
		if era := []Era{Legacy, Modern}[n%2]; !same || c.era == era {
			some = append(some, c)
		}
	}
	return some
}

// Each behaviour, on each transport that it is for; make soak plays all in both eras.
func TestChaosMatrix(t *testing.T) {
	cases := chaosCases()
	if len(cases) < 160 || len(Behaviours()) < 40 {
		t.Fatalf("%d cases of %d behaviours", len(cases), len(Behaviours()))
	}
	some := alternate(cases)
	played := map[string]bool{}
	for _, c := range some {
		played[c.behaviour.Name+c.transport] = true
	}
	for _, c := range cases {
		if !played[c.behaviour.Name+c.transport] {
			t.Errorf("%s is played in no era", c)
		}
	}
	playChaos(t, some)
}

// playChaos compares what each case comes to with what is wanted.
func playChaos(t *testing.T, cases []chaosCase) {
	ignore := goleak.IgnoreCurrent()
	slots := make(chan struct{}, 8)
	var wg sync.WaitGroup
	for _, c := range cases {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			want, got := c.want(), c.run(t)
			if got.discovered != want.discovered || got.first != want.first || got.then != want.then ||
				!strings.Contains(got.text, want.text) {
				t.Errorf("%s:\n got %+v\nwant %+v", c, got, want)
			}
		})
	}
	wg.Wait()
	goleak.VerifyNone(t, ignore)
}

func TestChaosExpectationsAreUsed(t *testing.T) {
	used := map[string]bool{}
	for _, c := range chaosCases() {
		used[c.key()] = true
	}
	for key := range chaosWants {
		if !used[key] {
			t.Errorf("no case needs the expectation %q", key)
		}
	}
}

// key finds the most special expectation of a case.
func (c chaosCase) key() string {
	for _, key := range []string{c.String(), c.behaviour.Name + "/" + c.transport, c.behaviour.Name} {
		if _, ok := chaosWants[key]; ok {
			return key
		}
	}
	return "sound"
}

func (c chaosCase) want() wanted { return chaosWants[c.key()] }
