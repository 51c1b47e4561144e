package host

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/mattn/go-isatty"

	"hone/internal/screen"
)

// Typed is the terminal that a person types on, nil where stdin is none.
func (h *Host) Typed() *os.File {
	if f, ok := h.Stdin.(*os.File); ok && isatty.IsTerminal(f.Fd()) {
		return f
	}
	return nil
}

// Asked is where questions to a person who types are seen: stderr, or the terminal that is typed on where stderr goes elsewhere.
func (h *Host) Asked(typed *os.File) io.Writer {
	if talk := h.Talk; talk.Terminal() != nil {
		return talk
	}
	return screen.New(typed)
}

// Confirm asks on a terminal; elsewhere, and with --yes, the command line is the consent.
func (h *Host) Confirm(plan string) bool {
	if h.Yes || h.Typed() == nil {
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
