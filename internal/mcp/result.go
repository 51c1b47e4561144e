package mcp

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"hone/internal/blob"
	"hone/internal/grade"
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

// Render is what the model is shown of a result, at most max bytes (Truncate): its text, a short placeholder for every
// part that is not text, and its structured content. The protocol wants the text to say that again (MCP, server/tools,
// structured content), but of many servers it is a summary, so only a text that does say it stands alone.
func Render(content []mcp.Content, structured json.RawMessage, max int) string {
	var parts []string
	for _, c := range content {
		parts = append(parts, partText(c))
	}
	blank := strings.TrimSpace(strings.Join(parts, "")) == ""
	switch {
	case len(structured) == 0:
	case blank:
		parts = []string{string(structured)}
	case !says(content, parts, structured):
		parts = append(parts, string(structured))
	}
	return Truncate(strings.ToValidUTF8(strings.Join(parts, "\n"), "\ufffd"), max)
}

// says reports whether a result's parts, whose texts are given, hold its structured content: the same JSON, however it
// is spelt, in one of them or in all. Of an object with one member the member will do, for so SDKs wrap what is no
// object.
func says(content []mcp.Content, texts []string, structured json.RawMessage) bool {
	value, err := grade.Decode(string(structured))
	if err != nil {
		return false
	}
	wanted := []any{value}
	if object, ok := value.(map[string]any); ok && len(object) < 2 {
		if len(object) == 0 {
			return true
		}
		for _, member := range object {
			wanted = append(wanted, member)
		}
	}
	found := []any{}
	for _, text := range append([]string{strings.Join(texts, "\n")}, texts...) {
		found = append(found, strings.TrimSpace(text))
		if v, ok := valueIn(text); ok {
			found = append(found, v)
		}
	}
	found = append(found, listOf(texts))
	if data, err := json.Marshal(content); err == nil {
		if v, err := grade.Decode(string(data)); err == nil { // some put the list of parts there
			found = append(found, v)
		}
	}
	for _, want := range wanted {
		if text, ok := want.(string); ok {
			want = strings.TrimSpace(text)
		}
		if slices.ContainsFunc(found, func(v any) bool { return reflect.DeepEqual(v, want) }) {
			return true
		}
	}
	return false
}

// listOf is a list of which each text is an element: its JSON, or the text itself.
func listOf(texts []string) any {
	list := []any{}
	for _, text := range texts {
		v, err := grade.Decode(text)
		if err != nil {
			v = text
		}
		list = append(list, v)
	}
	return list
}

// valueIn is the JSON value that a text is, or the first object or list in it, as behind a heading or in a fence.
func valueIn(text string) (any, bool) {
	if v, err := grade.Decode(text); err == nil {
		return v, true
	}
	at := strings.IndexAny(text, "{[")
	if at < 0 {
		return nil, false
	}
	raw, err := jsontext.NewDecoder(strings.NewReader(text[at:])).ReadValue()
	if err != nil {
		return nil, false
	}
	v, err := grade.Decode(string(raw))
	return v, err == nil
}

func partText(content mcp.Content) string {
	switch c := content.(type) {
	case *mcp.TextContent:
		return c.Text
	case *mcp.ImageContent:
		return fmt.Sprintf("[%s, %d bytes]", strings.TrimSpace("image "+c.MIMEType), len(c.Data))
	case *mcp.AudioContent:
		return fmt.Sprintf("[%s, %d bytes]", strings.TrimSpace("audio "+c.MIMEType), len(c.Data))
	case *mcp.ResourceLink:
		return linkText(c)
	case *mcp.EmbeddedResource:
		if c.Resource == nil {
			return "[resource]"
		}
		if c.Resource.Blob == nil {
			return c.Resource.Text
		}
		return fmt.Sprintf("[resource %s %s, %d bytes]", c.Resource.URI, c.Resource.MIMEType, len(c.Resource.Blob))
	}
	return "[a part of another type]"
}

// linkText is a link with all that helps to tell whether to follow it.
func linkText(c *mcp.ResourceLink) string {
	var about []string
	for _, one := range []string{c.Name, c.Title, c.Description} {
		if one = strings.Join(strings.Fields(one), " "); one != "" && !slices.Contains(about, one) {
			about = append(about, one)
		}
	}
	if c.Size != nil {
		about = append(about, fmt.Sprintf("%d bytes", *c.Size))
	}
	text := strings.TrimSpace("[resource " + strings.TrimSpace(c.URI+" "+c.MIMEType))
	if len(about) > 0 {
		text += ": " + strings.Join(about, ", ")
	}
	return text + "]"
}

// recordText is what the record keeps of a result's parts: nothing where text says it all, else the server's own bytes.
// Where those are more than max, long members of each part are cut: a hash stands for binary data.
func recordText(content json.RawMessage, text string, max int) json.RawMessage {
	var parts []map[string]json.RawMessage
	if json.Unmarshal(content, &parts) != nil { // parts that are no objects
		var plain string
		if json.Unmarshal(content, &plain) == nil && plain == text || len(content) > max {
			return nil
		}
		return compact(content)
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
		short := fmt.Sprintf("sha256:%s, %d characters", blob.Of(value), len(value))
		if key == "text" {
			short = Truncate(value, max)
		}
		part[key], _ = json.Marshal(short) // of a string
	}
}
