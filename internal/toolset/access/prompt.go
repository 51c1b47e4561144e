package access

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"

	"hone/internal/console/sanitize"
)

// Question is one call to be asked about.
type Question struct {
	Tool      Tool
	Arguments string // as the model wrote them
	Place     Place
}

// Place is where in a run a call stands, for the person who is asked. The zero Place is not shown.
type Place struct {
	Task              string // of the episode
	Episode, Episodes int    // the episode's number, from 1, and how many the run has
	Call              int    // the call's number in the episode, from 1
}

// Answer is what the person said.
type Answer int

const (
	No Answer = iota
	Yes
	AlwaysTool   // this call, and every later one of this tool in this run
	AlwaysServer // this call, and every later one of this server in this run
	YesUnasked   // this call, as each that the person lets be made without being asked: the prompter knows which
)

// Prompter asks a person. An error counts as a denial.
type Prompter interface {
	Ask(ctx context.Context, q Question) (Answer, error)
}

// YesToAll answers every question with yes: what --yes means. Rules that deny still do.
type YesToAll struct{}

func (YesToAll) Ask(context.Context, Question) (Answer, error) { return Yes, nil }

// manyLines is how many lines of arguments leave no room for the rest of the question on a small screen.
const manyLines = 12

// mostTries bounds how often an answer that is none is asked for again.
const mostTries = 3

// Terminal asks on a terminal. What the model and the server wrote is shown in full and escaped, so that it can
// neither hide a part of itself nor draw a question of its own.
type Terminal struct {
	out io.Writer
	tty *os.File // in, nil where it is no file

	mu      sync.Mutex
	in      *bufio.Reader
	pending chan line // the read of a question that was given up, which the next one takes over
}

type line struct {
	text string
	err  error
}

// NewTerminal returns a prompter that reads lines from in and writes to out; both are a terminal's.
func NewTerminal(in io.Reader, out io.Writer) *Terminal {
	tty, _ := in.(*os.File)
	return &Terminal{in: bufio.NewReader(in), out: out, tty: tty}
}

// Ask shows the call and waits for a line or for ctx. An answer that is none of the offered is asked for again, three
// times in all; the end of the input is an error.
func (t *Terminal) Ask(ctx context.Context, q Question) (Answer, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.forget(); err != nil {
		return No, err
	}
	note := ""
	if q.Tool.ReadOnly {
		note = " (annotated as read-only)"
	}
	whose := q.Place.text() + fmt.Sprintf("  server:    %s\n  tool:      %s%s\n",
		name(q.Tool.Server), name(q.Tool.Name), note)
	shown := arguments(q.Arguments)
	again := ""
	// which have pushed the head off the screen
	if strings.Count(shown, "\n") >= manyLines || len(shown) > manyLines*80 {
		again = "These arguments are for\n" + whose
	}
	_, err := fmt.Fprintf(t.out, "\nThe model asks to call a tool.\n%s  arguments: %s\n%s", whose, shown, again)
	if err != nil {
		return No, fmt.Errorf("the question cannot be shown: %w", err) // what nobody has seen nobody can allow
	}
	for range mostTries {
		fmt.Fprint(t.out, "Send it? [y]es, [n]o, [a]lways this tool, always this [s]erver: ")
		text, err := t.readLine(ctx)
		if err != nil {
			fmt.Fprintln(t.out)
			return No, err
		}
		switch strings.ToLower(strings.TrimSpace(text)) {
		case "y", "yes":
			return Yes, nil
		case "n", "no":
			return No, nil
		case "a", "t", "always", "tool":
			return AlwaysTool, nil
		case "s", "server":
			return AlwaysServer, nil
		}
	}
	return No, errors.New("none of the answers was y, n, a or s")
}

// forget drops what was typed before the question is shown: it answers another one, which was given up or had been
// answered already.
func (t *Terminal) forget() error {
	if t.tty != nil {
		dropInput(t.tty)
	}
	select {
	case l := <-t.pending:
		t.pending = nil
		if l.err != nil {
			return fmt.Errorf("the input ended: %w", l.err)
		}
	default: // nobody reads, or nothing was typed
	}
	return nil
}

// readLine waits in a goroutine because a terminal's read cannot be cancelled.
func (t *Terminal) readLine(ctx context.Context) (string, error) {
	if t.pending == nil {
		t.pending = make(chan line, 1)
		go func(to chan<- line) {
			text, err := t.in.ReadString('\n')
			to <- line{text, err}
		}(t.pending)
	}
	select {
	case l := <-t.pending:
		t.pending = nil
		if l.err != nil {
			return "", fmt.Errorf("the input ended: %w", l.err)
		}
		return l.text, nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// longestTask is how many characters of a task are shown: two lines of a small screen.
const longestTask = 140

// text is the place's lines, each of one line of text.
func (p Place) text() string {
	if p.Episode == 0 {
		return ""
	}
	task := []rune(name(p.Task))
	if len(task) > longestTask {
		task = append(task[:longestTask-3], []rune("...")...)
	}
	return fmt.Sprintf("  episode:   %d of %d, call %d\n  task:      %s\n", p.Episode, p.Episodes, p.Call, string(task))
}

// arguments indents JSON, order and numbers kept; other text is quoted, for its line breaks could look like ours.
func arguments(text string) string {
	var b bytes.Buffer
	if json.Indent(&b, []byte(text), "  ", "  ") != nil {
		return strconv.Quote(text)
	}
	return visible(b.String())
}

// name shows a name on one line.
func name(text string) string { return strings.ReplaceAll(visible(text), "\n", `\n`) }

// visible escapes what a terminal would obey or not show, and what looks like a space and is none.
func visible(text string) string {
	return sanitize.Escape(text, func(r rune) bool { return r != '\n' && !strconv.IsPrint(r) })
}
