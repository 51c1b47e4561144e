// Package console is a person at a terminal or a pipe: what is typed, what is shown, and the person as the user of
// episodes or as their policy; and hone chat: a conversation with a model behind OpenAI's chat completions, of this
// machine, with tools or without, or of a server.
package console

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"hone/internal/host"
)

// Quit is the command that ends all.
const Quit = "/quit"

// Lines are what is typed, or comes through a pipe.
type Lines struct {
	host *host.Host
	in   *bufio.Reader
}

// NewLines reads a host's stdin.
func NewLines(h *host.Host) *Lines { return &Lines{h, bufio.NewReader(h.Stdin)} }

// TerminalIn reports whether somebody types, who can be told of an error and go on.
func (l *Lines) IsTerminal() bool { return l.host.TerminalIn() != nil }

// Next is the next line that is not empty, without the spaces around it. On a terminal it is asked for by prompt. The
// error is ctx's, or io.EOF: nothing more comes, or the line is Quit.
func (l *Lines) Next(ctx context.Context, prompt string) (string, error) {
	for {
		text, err := l.One(ctx, prompt)
		if text == Quit {
			return "", io.EOF
		}
		if text != "" || err != nil {
			return text, err
		}
	}
}

// One is the next line, which may be empty. A last line without an end is one too.
func (l *Lines) One(ctx context.Context, prompt string) (string, error) {
	if l.IsTerminal() {
		fmt.Fprint(l.host.Talk, prompt)
	}
	type line struct {
		text string
		err  error
	}
	come := make(chan line, 1)
	go func() { // a terminal's read cannot be cancelled
		text, err := l.in.ReadString('\n')
		come <- line{text, err}
	}()
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case x := <-come:
		text := strings.TrimSpace(x.text)
		if text != "" && errors.Is(x.err, io.EOF) {
			x.err = nil
		}
		return text, x.err
	}
}
