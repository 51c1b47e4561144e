// Package sanitize shows text that others wrote as text. A terminal obeys control characters: a tool's name could clear
// the screen, set its title or write over what hone said. Here each of them is written as JSON does, \u001b for ESC, so
// that JSON stays JSON with the same value.
package sanitize

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/mattn/go-isatty"
)

// IsHidden reports whether a terminal would obey a character, or not show it: controls (C0, DEL, C1), text direction,
// zero widths, tags, and the line ends that are not \n. New lines and tabs stay, and so do the joiners U+200C and
// U+200D, which Persian and emoji are written with.
func IsHidden(r rune) bool {
	if ' ' <= r && r <= '~' { // most characters; the tables below take their time
		return false
	}
	switch r {
	case '\n', '\t', '\u200c', '\u200d':
		return false
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

// Text is a text without hidden characters. Bytes that are no UTF-8 become U+FFFD: a terminal of another encoding takes
// some of them for controls.
func Text(text string) string { return Escape(text, IsHidden) }

// Line is Text on one line, without tabs: a cell of a table, a name.
func Line(text string) string {
	return Escape(text, func(r rune) bool { return r == '\n' || r == '\t' || IsHidden(r) })
}

// Escape writes the characters that hidden names as JSON does: \n, \t and \r by their letters, others as UTF-16 in
// \uXXXX.
func Escape(text string, hidden func(rune) bool) string {
	if utf8.ValidString(text) && !strings.ContainsFunc(text, hidden) {
		return text
	}
	var b strings.Builder
	for _, r := range text { // an invalid byte is U+FFFD here
		if !hidden(r) {
			b.WriteRune(r)
			continue
		}
		switch r {
		case '\n':
			b.WriteString(`\n`)
		case '\t':
			b.WriteString(`\t`)
		case '\r':
			b.WriteString(`\r`)
		default:
			for _, unit := range utf16.AppendRune(nil, r) {
				fmt.Fprintf(&b, `\u%04x`, unit)
			}
		}
	}
	return b.String()
}

// Writer passes on what Text makes of what is written to it. It may be used from many goroutines.
type Writer struct {
	to io.Writer

	mu   sync.Mutex
	tail []byte    // the beginning of a character whose end is yet to be written
	last time.Time // something was written
}

// New returns a Writer before to.
func New(to io.Writer) *Writer { return &Writer{to: to, last: time.Now()} }

// Silent is for how long nothing was written.
func (w *Writer) Silent() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Since(w.last)
}

// Write implements io.Writer. An error says that what p stands for was not, or not wholly, written.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := append(w.tail, p...)
	whole := len(text)
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if start := len(text) - n; utf8.RuneStart(text[start]) {
			if !utf8.FullRune(text[start:]) {
				whole = start
			}
			break
		}
	}
	w.tail, w.last = append([]byte(nil), text[whole:]...), time.Now()
	if _, err := w.to.Write([]byte(Text(string(text[:whole])))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Raw is where hone's own control sequences go: a line drawn anew, colours. What others wrote must go through Text or
// Line first.
func (w *Writer) Raw() io.Writer { return raw{w} }

// raw is what a Writer writes to, from as many goroutines.
type raw struct{ *Writer }

// Write implements io.Writer.
func (w raw) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = time.Now()
	return w.to.Write(p)
}

// Terminal is the terminal that is written to, nil where it is none.
func (w *Writer) Terminal() *os.File {
	if f, ok := w.to.(*os.File); ok && isatty.IsTerminal(f.Fd()) {
		return f
	}
	return nil
}
