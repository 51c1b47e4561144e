package dataset

import (
	"strings"

	"hone/internal/chat"
)

// Tags that most data sets write reasoning in, at the beginning of what an assistant says.
const thinkTag, thinkEnd = "<think>", "</think>"

// apart splits what an assistant said into the reasoning that it begins with and the rest. A block that is not closed,
// or that stands elsewhere, is no reasoning of the message, but a part of its text.
func apart(said string) (thought, rest string) {
	inner, opened := strings.CutPrefix(strings.TrimLeft(said, " \t\r\n"), thinkTag)
	inner, rest, closed := strings.Cut(inner, thinkEnd)
	if !opened || !closed {
		return "", said
	}
	rest = strings.TrimLeft(rest, " \t\r\n")
	// thinking was off: templates write an empty block by themselves
	if thought = strings.TrimSpace(inner); thought == "" {
		return apart(rest)
	}
	return thought, rest
}

// setApart gives each assistant message its reasoning, which others write into its content. What says its reasoning
// already is as its author told the two apart.
func setApart(row *Row) {
	for i := range row.Messages {
		if m := &row.Messages[i]; m.Role == chat.Assistant && m.ReasoningContent == "" {
			m.ReasoningContent, m.Content = apart(m.Content)
		}
	}
}
