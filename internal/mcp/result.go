package mcp

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"hone/internal/digest"
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

// Render is what the model is shown of a result, at most max bytes (Truncate): its text, and a short placeholder for
// every part that is not text. The structured content stands in where there is no text, since some servers answer only
// there; where there is, it says the same again (MCP, server/tools, structured content).
func Render(content []mcp.Content, structured json.RawMessage, max int) string {
	var parts []string
	hasText := false
	for _, c := range content {
		text := partText(c)
		if _, ok := c.(*mcp.TextContent); ok && text != "" {
			hasText = true
		}
		parts = append(parts, text)
	}
	if !hasText && len(structured) > 0 {
		parts = append(parts, string(structured))
		if len(content) == 1 && parts[0] == "" {
			parts = parts[1:]
		}
	}
	return Truncate(strings.ToValidUTF8(strings.Join(parts, "\n"), "\ufffd"), max)
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
		return strings.TrimSpace(fmt.Sprintf("[resource %s %s", c.URI, c.MIMEType)) + "]"
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

// recorded is what the record keeps of a result's parts: nothing where text says it all, else the server's own bytes.
// Where those are more than max, long members of each part are cut: a hash stands for binary data.
func recorded(content json.RawMessage, text string, max int) json.RawMessage {
	var parts []map[string]json.RawMessage
	if json.Unmarshal(content, &parts) != nil {
		return nil
	}
	var texts []string
	plain := true
	for _, part := range parts {
		var kind, t string
		json.Unmarshal(part["type"], &kind) // an error leaves "", which is not plain
		json.Unmarshal(part["text"], &t)
		plain = plain && kind == "text" && len(part) == 2
		texts = append(texts, t)
	}
	if plain && strings.Join(texts, "\n") == text {
		return nil
	}
	if len(content) <= max {
		return compact(content)
	}
	for _, part := range parts {
		cutMembers(part, max)
		var inner map[string]json.RawMessage
		if json.Unmarshal(part["resource"], &inner) == nil && inner != nil {
			cutMembers(inner, max)
			part["resource"], _ = json.Marshal(inner) // of raw messages that were just decoded
		}
	}
	data, err := json.Marshal(parts)
	if err != nil {
		return nil
	}
	return data
}

func cutMembers(part map[string]json.RawMessage, max int) {
	for _, key := range []string{"text", "data", "blob"} {
		var value string
		if json.Unmarshal(part[key], &value) != nil || len(value) <= max {
			continue
		}
		short := fmt.Sprintf("sha256:%s, %d characters", digest.Of(value), len(value))
		if key == "text" {
			short = Truncate(value, max)
		}
		part[key], _ = json.Marshal(short) // of a string
	}
}
