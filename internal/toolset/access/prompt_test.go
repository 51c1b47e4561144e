package access

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"hone/internal/chat"
)

// terminal is a pseudo-terminal with a person at its other end.
type terminal struct {
	t      *testing.T
	person *os.File
	screen *bufio.Reader
	*Terminal
}

func newTerminal(t *testing.T) *terminal {
	t.Helper()
	person, theirs, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { theirs.Close(); person.Close() })
	return &terminal{t, person, bufio.NewReader(person), NewTerminal(theirs, theirs)}
}

// shows reads the screen up to and including text, and returns what was on it.
func (p *terminal) shows(text string) string {
	p.t.Helper()
	var seen strings.Builder
	for !strings.HasSuffix(seen.String(), text) {
		b, err := p.screen.ReadByte()
		if err != nil {
			p.t.Fatalf("the screen ended without %q: %q: %v", text, seen.String(), err)
		}
		seen.WriteByte(b)
	}
	return seen.String()
}

func (p *terminal) types(text string) {
	p.t.Helper()
	if _, err := io.WriteString(p.person, text); err != nil {
		p.t.Fatal(err)
	}
}

const question = "always this [s]erver: "

func TestTerminalAnswers(t *testing.T) {
	for _, tc := range []struct {
		typed []string
		want  Answer
		err   string
	}{
		{[]string{"y\n"}, Yes, ""},
		{[]string{" YES \n"}, Yes, ""},
		{[]string{"n\n"}, No, ""},
		{[]string{"a\n"}, AlwaysTool, ""},
		{[]string{"s\n"}, AlwaysServer, ""},
		{[]string{"\n", "what?\n", "y\n"}, Yes, ""},
		{[]string{"\n", "\n", "\n"}, No, "none of the answers"},
		{[]string{"\x04"}, No, "the input ended"}, // control-D
	} {
		p := newTerminal(t)
		done := make(chan struct{})
		go func() {
			defer close(done)
			got, err := p.Ask(t.Context(), Question{Tool: catalog["add"], Arguments: "{}"})
			if got != tc.want || (err == nil) != (tc.err == "") ||
				err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Errorf("typed %q: %v, %v", tc.typed, got, err)
			}
		}()
		for _, text := range tc.typed {
			p.shows(question)
			p.types(text)
		}
		<-done
	}
}

// The whole call is on the screen, and nothing in it is obeyed by the terminal or hidden from the person.
func TestTerminalShowsEverything(t *testing.T) {
	long := strings.Repeat("x", 3000)
	for _, tc := range []struct {
		name      string
		tool      Tool
		arguments string
		place     Place
		want      []string
		never     []string
	}{
		{"plain", Tool{Server: "calc", Name: "add"}, `{"b":1.50,"a":[2]}`, Place{},
			[]string{"server:    calc\r\n", "tool:      add\r\n", "\"b\": 1.50,\r\n", "\"a\": [\r\n"},
			[]string{"read-only", "These arguments", "episode", "task"}},
		{"read-only", Tool{Server: "f", Name: "get", ReadOnly: true}, `{}`, Place{}, []string{"get (annotated as read-only)"}, nil},
		{"long", Tool{Server: "f", Name: "put"}, `{"text":"` + long + `"}`, Place{},
			[]string{long, "These arguments are for\r\n  server:    f\r\n  tool:      put\r\nSend it?"}, nil},
		{"many lines", Tool{Server: "f", Name: "put"}, `{"a":[` + strings.Repeat("1,", 30) + `1]}`, Place{}, []string{"tool:      put\r\nSend it?"}, nil},
		{"escape sequences", Tool{Server: "f", Name: "p\x1b[2Jut\nfake"}, "{\"a\":\"\u202e\u200b\"}", Place{},
			[]string{`p\u001b[2Jut\nfake`, `\u202e\u200b`}, []string{"\x1b", "\u202e", "\u200b"}},
		{"not JSON", Tool{Server: "f", Name: "put"}, "x\n  tool:      harmless", Place{}, []string{`"x\n  tool:      harmless"`}, nil},
		{"task and progress", Tool{Server: "f", Name: "put"}, `{}`,
			Place{Task: "Put it\n  tool:      away.", Episode: 3, Episodes: 60, Call: 2}, []string{
				"episode:   3 of 60, call 2\r\n  task:      Put it\\n  tool:      away.\r\n  server:    f\r\n" +
					"  tool:      put\r\n",
			}, []string{"These arguments"}},
		{"task and progress beneath", Tool{Server: "f", Name: "put"}, `{"text":"` + long + `"}`,
			Place{Task: strings.Repeat("é", 3000), Episode: 1, Episodes: 1, Call: 1}, []string{
				"These arguments are for\r\n  episode:   1 of 1, call 1\r\n  task:      " +
					strings.Repeat("é", 137) + "...\r\n  server:    f\r\n  tool:      put\r\nSend it?",
			}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := newTerminal(t)
			done := make(chan struct{})
			go func() {
				defer close(done)
				_, _ = p.Ask(t.Context(), Question{Tool: tc.tool, Arguments: tc.arguments, Place: tc.place})
			}()
			screen := p.shows(question)
			p.types("n\n")
			<-done
			for _, w := range tc.want {
				if !strings.Contains(screen, w) {
					t.Errorf("%q is not on the screen:\n%q", w, screen)
				}
			}
			for _, n := range tc.never {
				if strings.Contains(screen, n) {
					t.Errorf("%q is on the screen:\n%q", n, screen)
				}
			}
		})
	}
}

// A question given up leaves no second reader behind: the line typed later answers the next question.
func TestTerminalIsCancelled(t *testing.T) {
	p := newTerminal(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if a, err := p.Ask(ctx, Question{}); a != No || !errors.Is(err, context.Canceled) {
			t.Errorf("%v, %v", a, err)
		}
	}()
	p.shows(question)
	cancel()
	<-done
	done = make(chan struct{})
	go func() {
		defer close(done)
		if a, err := p.Ask(t.Context(), Question{}); a != AlwaysServer || err != nil {
			t.Errorf("%v, %v", a, err)
		}
	}()
	p.shows(question)
	p.types("s\n")
	<-done
}

// What was typed before a question is on the screen does not answer it: neither the late answer to a question that was
// given up, nor the second half of a double press.
func TestTerminalForgetsWhatWasTyped(t *testing.T) {
	ask := func(p *terminal, ctx context.Context, want Answer) chan struct{} {
		done := make(chan struct{})
		go func() {
			defer close(done)
			if a, err := p.Ask(ctx, Question{}); a != want || (err != nil) != (ctx.Err() != nil) {
				t.Errorf("%v, %v; want %v", a, err, want)
			}
		}()
		p.shows(question)
		return done
	}
	t.Run("a late answer", func(t *testing.T) {
		p := newTerminal(t)
		ctx, cancel := context.WithCancel(t.Context())
		first := ask(p, ctx, No)
		cancel()
		<-first
		p.types("y\n")
		for len(p.Terminal.pending) == 0 { // until it was read
			time.Sleep(time.Millisecond)
		}
		second := ask(p, t.Context(), No)
		p.types("n\n")
		<-second
	})
	t.Run("a double press", func(t *testing.T) {
		p := newTerminal(t)
		first := ask(p, t.Context(), Yes)
		p.types("y\ny\n")
		<-first
		p.shows("y\r\ny\r\n") // the terminal has both
		second := ask(p, t.Context(), No)
		p.types("n\n")
		<-second
	})
}

// What could not be shown is not taken as allowed, whatever is typed.
func TestTerminalNeedsAScreen(t *testing.T) {
	blind := NewTerminal(strings.NewReader("y\n"), failing{})
	if a, err := blind.Ask(t.Context(), Question{}); a != No || err == nil {
		t.Errorf("%v, %v", a, err)
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// The whole way: a gate, a session, a person at a pseudo-terminal who answers three calls of one turn.
func TestSessionAsksOnATerminal(t *testing.T) {
	p := newTerminal(t)
	inner := &fakeTools{}
	s, err := gate(t, GateOptions{Prompter: p.Terminal, Deny: []string{"files/write"}}).Wrap(inner,
		nil).Open(t.Context(), "e")
	if err != nil {
		t.Fatal(err)
	}
	calls := []chat.ToolCall{{Name: "add"}, {Name: "write"}, {Name: "read"}, {Name: "add"}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		results := s.Call(t.Context(), calls)
		want := []string{"allowed by the user, always for calc/add", `denied by the rule "files/write"`,
			"denied by the user", "allowed by the user, always for calc/add"}
		for i, r := range results {
			if r.Approval != want[i] {
				t.Errorf("call %d: %q, want %q", i, r.Approval, want[i])
			}
		}
	}()
	p.shows(question)
	p.types("a\n")
	p.shows(question)
	p.types("n\n")
	<-done
	if len(inner.sent) != 2 || inner.sent[0].Name != "add" || inner.sent[1].Name != "add" {
		t.Errorf("sent: %+v", inner.sent)
	}
}
