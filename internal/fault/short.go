package fault

import (
	"errors"
	"fmt"
	"strings"
)

// What Short keeps: of a text its first and last lines, for the first say what was done and the last how it ended; of a
// line its beginning and end.
const (
	firstLines, lastLines = 6, 10
	lineHead, lineTail    = 600, 200 // bytes
)

// Short is text with its middle left out where it is long, as a server's log is, and a note of how much that was.
func Short(text string) string {
	lines := strings.Split(text, "\n")
	if n := len(lines) - firstLines - lastLines; n > 1 {
		note := fmt.Sprintf("[... %d lines left out ...]", n)
		lines = append(append(lines[:firstLines:firstLines], note), lines[len(lines)-lastLines:]...)
	}
	for i, line := range lines {
		if n := len(line) - lineHead - lineTail; n > lineTail {
			lines[i] = fmt.Sprintf("%s[... %d bytes left out ...]%s",
				strings.ToValidUTF8(line[:lineHead], ""), n, strings.ToValidUTF8(line[len(line)-lineTail:], ""))
		}
	}
	return strings.Join(lines, "\n")
}

// Whole is the text of an error of which Error leaves out what Short does.
func Whole(err error) string {
	var f *Error
	if !errors.As(err, &f) {
		return err.Error()
	}
	return strings.Replace(err.Error(), f.Error(), f.text(f.reason()), 1)
}

// Indent is a text whose lines after the first begin with the spaces of margin, if they did not, so that none of them
// looks like a line of hone's.
func Indent(text, margin string) string {
	first, rest, more := strings.Cut(text, "\n")
	if !more {
		return text
	}
	lines := strings.Split(rest, "\n")
	for i, line := range lines {
		if line != "" && !strings.HasPrefix(line, margin) {
			lines[i] = margin + line
		}
	}
	return first + "\n" + strings.Join(lines, "\n")
}
