package mcp

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Truncate cuts text to at most max bytes: its beginning and its end, with a marker between that says how much is
// missing. Where max has no room for the marker, only the beginning is kept. Runes are never split. Training,
// evaluation and serving all cut with this function, so that a model meets in use what it met in training.
func Truncate(text string, max int) string {
	if len(text) <= max {
		return text
	}
	const format = "\n[... %d bytes omitted ...]\n"
	room := max - len(fmt.Sprintf(format, len(text)))
	if room <= 0 {
		return text[:runeStart(text, max)]
	}
	head := runeStart(text, room-room/2)
	tail := len(text) - room/2
	for tail < len(text) && !utf8.RuneStart(text[tail]) {
		tail++
	}
	return text[:head] + fmt.Sprintf(format, tail-head) + text[tail:]
}

// runeStart is the largest rune boundary of text that is at most n.
func runeStart(text string, n int) int {
	n = max(n, 0)
	for n > 0 && n < len(text) && !utf8.RuneStart(text[n]) {
		n--
	}
	return n
}

// contentText is what the model is shown of a result: its text, a short placeholder for every part that is not text,
// and the structured content where there is nothing else, since some servers answer only there.
func contentText(r *mcp.CallToolResult, structured json.RawMessage) string {
	var parts []string
	for _, content := range r.Content {
		parts = append(parts, partText(content))
	}
	if len(parts) == 0 && len(structured) > 0 {
		return string(structured)
	}
	return strings.Join(parts, "\n")
}

func partText(content mcp.Content) string {
	switch c := content.(type) {
	case *mcp.TextContent:
		return c.Text
	case *mcp.ImageContent:
		return fmt.Sprintf("[image %s, %d bytes]", c.MIMEType, len(c.Data))
	case *mcp.AudioContent:
		return fmt.Sprintf("[audio %s, %d bytes]", c.MIMEType, len(c.Data))
	case *mcp.ResourceLink:
		return fmt.Sprintf("[resource %s]", c.URI)
	case *mcp.EmbeddedResource:
		if c.Resource == nil {
			return "[resource]"
		}
		if c.Resource.Blob == nil {
			return c.Resource.Text
		}
		return fmt.Sprintf("[resource %s %s, %d bytes]", c.Resource.URI, c.Resource.MIMEType, len(c.Resource.Blob))
	}
	return fmt.Sprintf("[%T]", content)
}
