package render

import (
	"fmt"
	"io"
	"strings"

	"hone/internal/chat"
	"hone/internal/screen"
)

// View writes a training row for people: its text with what is trained in colour, or between « and », and where each
// message stands. Control characters are shown, not sent: tool results come from anyone, and the reader is a terminal.
func View(w io.Writer, title string, s Sequence, messages []chat.Message, decode func([]int32) string, colour bool) error {
	trained, prompted, end := "«", "", "»"
	if colour {
		trained, prompted, end = "\x1b[1;32m", "\x1b[2m", "\x1b[0m"
	}
	var b strings.Builder
	total := 0
	for _, t := range s.Trained {
		if t {
			total++
		}
	}
	fmt.Fprintf(&b, "%s: %d tokens, %d trained\n", screen.Line(title), len(s.IDs), total)
	if s.Rewrite != "" {
		b.WriteString("begins anew: " + screen.Text(s.Rewrite) + "\n")
	}
	for from := 0; from < len(s.IDs); {
		to := from
		for to < len(s.IDs) && s.Trained[to] == s.Trained[from] {
			to++
		}
		switch text := screen.Text(decode(s.IDs[from:to])); {
		case s.Trained[from]:
			b.WriteString(trained + text + end)
		case colour:
			b.WriteString(prompted + text + end)
		default:
			b.WriteString(text)
		}
		from = to
	}
	b.WriteString("\n")
	for _, span := range s.Spans {
		fmt.Fprintf(&b, "message %d, %s: tokens %d to %d\n", span.Message, screen.Line(string(messages[span.Message].Role)), span.Start, span.End-1)
	}
	_, err := io.WriteString(w, b.String()+"\n")
	return err
}
