package host

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/mattn/go-isatty"

	"hone/internal/console/sanitize"
)

// TerminalIn is the terminal that a person types on, nil where stdin is none.
func (h *Host) TerminalIn() *os.File {
	if f, ok := h.Stdin.(*os.File); ok && isatty.IsTerminal(f.Fd()) {
		return f
	}
	return nil
}

// PromptWriter is where questions to a person who types are seen: stderr, or the terminal that is typed on where stderr
// goes elsewhere.
func (h *Host) PromptWriter(typed *os.File) io.Writer {
	if talk := h.Talk; talk.Terminal() != nil {
		return talk
	}
	return sanitize.New(typed)
}

// Confirm asks on a terminal; elsewhere, and with --yes, the command line is the consent.
func (h *Host) Confirm(plan string) bool {
	if h.Yes || h.TerminalIn() == nil {
		h.Say("%s", plan)
		return true
	}
	fmt.Fprintf(h.Talk, "%s? [Y/n] ", plan)
	answer, _ := bufio.NewReader(h.Stdin).ReadString('\n')
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "" || answer == "y" || answer == "yes"
}

// Colour reports whether stdout is a terminal that is to be written to in colour.
func (h *Host) Colour() bool {
	no, _ := h.LookupEnv("NO_COLOR")
	return !h.Plain && no == "" && h.Data.Terminal() != nil
}

// Ask asks a person who types for one line. Of a secret nothing is shown. The error is ctx's, or a terminal's.
func (h *Host) Ask(ctx context.Context, question string, secret bool) (string, error) {
	typed := h.TerminalIn()
	if typed == nil {
		return "", errors.New("nobody types here")
	}
	if secret {
		show, err := unseen(typed)
		if err != nil {
			return "", err
		}
		defer show()
	}
	to := h.PromptWriter(typed)
	fmt.Fprint(to, question)
	type line struct {
		text string
		err  error
	}
	read := make(chan line, 1)
	go func() {
		text, err := oneLine(typed)
		read <- line{text, err}
	}()
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case l := <-read:
		if secret {
			fmt.Fprintln(to)
		}
		return strings.TrimSpace(l.text), l.err
	}
}

// oneLine reads up to a line's end and no further: the next question's answer may be typed already.
func oneLine(r io.Reader) (string, error) {
	var text []byte
	for one := make([]byte, 1); len(text) < 1<<16; {
		n, err := r.Read(one)
		if n == 1 && one[0] == '\n' {
			break
		}
		if text = append(text, one[:n]...); err != nil {
			return string(text), err
		}
	}
	return string(text), nil
}
