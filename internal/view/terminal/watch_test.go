package terminal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"hone/internal/console/sanitize"
	"hone/internal/eval/stats"
	"hone/internal/host"
	"hone/internal/job"
	"hone/internal/run"
	"hone/internal/view"
)

// hostile would clear a terminal and set its title, were it sent.
const hostile = "\x1b[2J\x1b]0;mine\a\u202e"

func overview() view.Overview {
	left, cost := 840.0, 0.012
	return view.Overview{
		Name: "run" + hostile, State: "running, pid 7", Live: true, Verb: "hone train", Attempts: 2,
		Alerts: []view.Alert{
			{Name: "no spread", Says: "In 60% of the groups all earn the same.", Next: "Take harder ones."},
		},
		Words:  []string{"rollout took 70% of the time"},
		Stages: []view.StageFacts{{Name: "grpo" + hostile, Steps: 12, Trajectories: 96}},
		Cards: view.Cards{MainStage: "grpo", Done: 12, Steps: 100, Left: &left, Cost: &cost, Budget: 1,
			HeldOut: &view.Measured{Interval: stats.Interval{Mean: 0.625, Low: 0.5, High: 0.75, N: 24}, Step: 10},
			Reward:  &view.Measured{Interval: stats.Interval{Mean: 0.5, Low: -0.25, High: 1.5}, Step: 11, Episodes: 8}},
	}
}

func curve(name string, values ...float64) view.Curve {
	c := view.Curve{Name: name}
	for i, x := range values {
		c.Steps, c.Values = append(c.Steps, i), append(c.Values, &x)
	}
	return c
}

// What is on the page of a run is on the terminal, and what others wrote is text there.
func TestPage(t *testing.T) {
	p := &page{width: 100, height: 40,
		state: State{Overview: overview(), Curves: []view.Curve{curve("reward", 0, 1, 2, 3)}}}
	see := func(want ...string) string {
		t.Helper()
		text := p.View().Content
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("no %q in\n%s", w, text)
			}
		}
		return text
	}
	text := see(`run\u001b[2J`, "hone train, running, pid 7", "2 attempts", "! no spread: In 60%", "Take harder ones.",
		"63% [50%, 75%]", "24 scenarios after 10 steps", "0.5 [-0.25, 1.5]", "12 of 100", "about 14 min left",
		"$0.012", "of a budget of $1.00", "rollout took 70%", "▁▃▆█", `grpo\u001b`, "96 episodes", "q leave")
	for _, bad := range []string{"\x1b[2J", "\x1b]0", "\a", "\u202e"} {
		if strings.Contains(text, bad) {
			t.Errorf("%q is sent to the terminal", bad)
		}
	}
	_, cmd := p.Update(look{Err: errors.New("the ledger\nhas gone")})
	see("! the ledger has gone", "63% [50%, 75%]")
	if cmd == nil {
		t.Error("the run is not read again")
	}
	p.Update(tea.WindowSizeMsg{Width: 30, Height: 6})
	for range 99 {
		p.Update(tea.KeyPressMsg{Code: 'j', Text: "j"})
	}
	see("up, down")
	if lines := strings.Split(p.View().Content, "\n"); len(lines) != 6 {
		t.Errorf("%d lines in a terminal of 6", len(lines))
	}
	if _, cmd := p.Update(tea.KeyPressMsg{Code: 'q', Text: "q"}); cmd == nil || cmd() != tea.Quit() {
		t.Error("q does not leave")
	}
}

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		text  string
		width int
		want  string
	}{
		{"one two three", 20, "one two three"},
		{"one two three four", 9, "one two|three|four"},
		{"a-word-that-is-too-long for it", 10, "a-word-that-is-too-long for it"},
		{"name    value  note of it", 16, "name    value|note of it"},
		{"", 5, ""},
		{"größer größer", 8, "größer|größer"},
	} {
		if got := strings.Join(wrap(c.text, c.width), "|"); got != c.want {
			t.Errorf("%q in %d: %q, want %q", c.text, c.width, got, c.want)
		}
	}
}

func TestSpark(t *testing.T) {
	gap := curve("x", 1, 2, 3)
	gap.Values[1] = nil
	for _, c := range []struct {
		of    view.Curve
		width int
		want  string
	}{
		{curve("x", 5), 20, "▁"},
		{curve("x", 1, 1, 1), 20, "▁▁▁"},
		{gap, 20, "▁ █"},
		{curve("x", 0, 0, 7, 7, 0, 0, 7, 7, 0, 0, 7, 7, 0, 0, 7, 7), 8, "▁█▁█▁█▁█"},
	} {
		if got := spark(c.of.Values, c.width); got != c.want {
			t.Errorf("%v in %d: %q, want %q", c.of.Steps, c.width, got, c.want)
		}
	}
}

// Where stdout is no terminal the whole comes once, then a line for each change, and the end with that of the run.
func TestFollow(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	d, err := run.Create(dir, []byte("grpo: {steps: 9}\n"), job.Begun{Verb: "train"})
	check(t, err)
	put := func(step int) {
		text, err := json.Marshal(map[string]float64{"reward": float64(step), "step_time": 1})
		check(t, err)
		check(t, d.PutMetric("grpo", step, text))
	}
	put(0)
	var out buffer
	h := &host.Host{Data: sanitize.New(&out), Talk: sanitize.New(&out),
		LookupEnv: func(string) (string, bool) { return "", false }}
	ended := make(chan error, 1)
	go func() {
		ended <- Watch(context.Background(), h, view.NewReading(job.Env{Host: h}, dir))
	}()
	until := func(want string) {
		t.Helper()
		for range 300 {
			if strings.Contains(out.String(), want) {
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
		t.Fatalf("no %q in %s", want, out.String())
	}
	until("steps              1 of 9")
	put(1)
	until("  steps 2 of 9")
	check(t, d.Close())
	check(t, <-ended)
	if n := strings.Count(out.String(), "hone train"); n != 1 {
		t.Errorf("the whole is printed %d times: %s", n, out.String())
	}
	check(t, os.RemoveAll(dir))
	if err := Watch(t.Context(), h, view.NewReading(job.Env{Host: h}, dir)); err == nil {
		t.Error("a run that is not there is watched")
	}
}

// buffer is written and read at once.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
