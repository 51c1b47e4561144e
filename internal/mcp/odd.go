package mcp

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// oddResult is a result that breaks the protocol, as far as it can be understood. The SDK refuses the whole of it for
// one part; a person who reads it does not.
type oddResult struct {
	mcp.CallToolResult
	bare       json.RawMessage // the result itself, where it is data and has no content
	understood int             // parts
	odd        []string        // what of it is not as the protocol has it
}

// readOdd reads a result part by part, with a placeholder for each that cannot be understood; nil where nothing can.
func (b *boundTool) readOdd(raw json.RawMessage) *oddResult {
	r := &oddResult{}
	var object map[string]json.RawMessage
	var structured json.RawMessage
	switch {
	case b.resources == listResources || absent(raw):
		return nil
	case raw[0] == '"':
		r.note("the result is a text, no object")
		r.text(textOf(raw))
	case json.Unmarshal(raw, &object) != nil:
		r.note("the result is no object")
		if raw[0] == '[' && looksLikeParts(raw) {
			r.parts(raw)
			break
		}
		r.bare = compact(raw)
	case b.resources == readResource:
		r.resources(object["contents"])
	default:
		structured = object["structuredContent"]
		r.object(object, raw)
	}
	if len(r.odd) > 0 && r.understood == 0 && r.bare == nil && absent(structured) {
		return nil
	}
	return r
}

func (r *oddResult) note(format string, values ...any) {
	const most = 8 // a list of thousands may be odd in each part
	if len(r.odd) < most {
		r.odd = append(r.odd, fmt.Sprintf(format, values...))
	}
}

func (r *oddResult) object(object map[string]json.RawMessage, raw json.RawMessage) {
	var proper bool
	if r.IsError, proper = truth(object["isError"]); !proper {
		r.note("isError is %s, not true or false", cutName(string(object["isError"])))
	}
	if !absent(object["content"]) {
		r.parts(object["content"])
		return
	}
	if !absent(object["structuredContent"]) {
		return
	}
	known := 0
	for _, key := range []string{"_meta", "isError", "resultType", "content", "structuredContent"} {
		if _, ok := object[key]; ok {
			known++
			delete(object, key)
		}
	}
	if len(object) == 0 {
		return
	}
	r.note("the result has no content; what it has instead is shown")
	if known > 0 {
		raw, _ = json.Marshal(object) // of raw messages that were just decoded
	}
	r.bare = compact(raw)
}

// parts reads a list of parts, or what stands in the place of one.
func (r *oddResult) parts(raw json.RawMessage) {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		if r.note("the content is no list"); raw[0] == '"' {
			r.text(textOf(raw))
			return
		}
		list = []json.RawMessage{raw}
	}
	for _, one := range list {
		r.part(one)
	}
}

func (r *oddResult) add(c mcp.Content) {
	r.Content = append(r.Content, c)
	r.understood++
}

func (r *oddResult) text(text string) { r.add(&mcp.TextContent{Text: text}) }

// placeholder stands for what cannot be understood.
func (r *oddResult) placeholder(kind string) {
	r.note("content[%d], %s, cannot be read", len(r.Content), kind)
	r.Content = append(r.Content, &mcp.TextContent{Text: "[" + kind + ", which cannot be read]"})
}

func (r *oddResult) part(raw json.RawMessage) {
	if c := properPart(raw); c != nil {
		r.add(c)
		return
	}
	at := len(r.Content)
	var part map[string]json.RawMessage
	var nested []json.RawMessage
	switch {
	case absent(raw):
		r.placeholder("an empty part")
	case json.Unmarshal(raw, &part) == nil:
		r.oddPart(part, raw)
	case json.Unmarshal(raw, &nested) == nil && looksLikeParts(raw):
		r.note("content[%d] is a list", at)
		r.parts(raw)
	default:
		r.note("content[%d] is no object", at)
		r.text(textOf(raw))
	}
}

// properPart is a part as the protocol has it, nil where it is none.
func properPart(raw json.RawMessage) mcp.Content {
	var r mcp.CallToolResult
	if json.Unmarshal(fmt.Appendf(nil, `{"content":[%s]}`, raw), &r) != nil || len(r.Content) != 1 {
		return nil
	}
	var empty struct{ Text *string }
	if _, ok := r.Content[0].(*mcp.TextContent); ok && json.Unmarshal(raw, &empty) == nil && empty.Text != nil ||
		isProper(r.Content[0]) {
		return r.Content[0]
	}
	return nil
}

// isProper reports whether a part is of a type that results have, and holds something.
func isProper(c mcp.Content) bool {
	switch c := c.(type) {
	case *mcp.TextContent:
		return c.Text != ""
	case *mcp.ImageContent:
		return len(c.Data) > 0
	case *mcp.AudioContent:
		return len(c.Data) > 0
	case *mcp.ResourceLink:
		return c.URI != ""
	case *mcp.EmbeddedResource:
		return c.Resource != nil
	}
	return false
}

func (r *oddResult) oddPart(part map[string]json.RawMessage, raw json.RawMessage) {
	at := len(r.Content)
	kind := strings.ToLower(stringIn(part, "type"))
	mime := stringIn(part, "mimeType", "mime_type", "mediaType", "media_type")
	text, hasText := part["text"]
	if kind == "text" && absent(text) {
		for _, key := range []string{"content", "value", "data"} {
			if value := stringIn(part, key); value != "" {
				text, hasText = part[key], true
			}
		}
	}
	switch {
	case kind == "image" || kind == "audio" || kind == "" && mime != "" && !absent(part["data"]):
		r.binary(kind, mime, part)
	case kind == "resource" || kind == "" && !absent(part["resource"]):
		r.resource(part)
	case kind == "resource_link" || kind == "" && !hasText && stringIn(part, "uri") != "":
		r.link(part)
	case hasText && !absent(text):
		switch kind {
		case "":
			r.note("content[%d] has no type", at)
		case "text":
			r.note("content[%d] is not as a text has to be", at)
		default:
			r.note("content[%d] is a text of the type %q", at, cutName(kind))
		}
		r.text(textOf(text))
	case kind == "" && len(part) > 0:
		r.note("content[%d] has no type", at)
		r.text(string(compact(raw)))
	case kind == "":
		r.placeholder("an empty part")
	default:
		r.placeholder("a part of the type " + strconv.Quote(cutName(kind)))
	}
}

// cutName bounds a name that a server gave.
func cutName(name string) string { return name[:runeStart(name, min(60, len(name)))] }

// binary reads an image or a recording: base64 of any spelling, a data URI, or where it is to be had.
func (r *oddResult) binary(kind, mime string, part map[string]json.RawMessage) {
	at, noted := len(r.Content), false
	if source := objectIn(part, "source"); source != nil { // as model servers have it
		if mime == "" {
			mime = stringIn(source, "media_type", "mimeType")
		}
		part = source
	}
	value := strings.TrimSpace(stringIn(part, "data", "blob", "url", "uri"))
	if head, payload, ok := strings.Cut(value, ","); ok && strings.HasPrefix(strings.ToLower(head), "data:") {
		if of, _, _ := strings.Cut(head[len("data:"):], ";"); of != "" {
			mime = of
		}
		value = payload
		if !strings.HasSuffix(strings.ToLower(head), ";base64") {
			if plain, err := url.PathUnescape(payload); err == nil {
				value = base64.StdEncoding.EncodeToString([]byte(plain))
			}
		}
		r.note("content[%d] holds a data URI in place of base64", at)
		noted = true
	}
	if kind == "" {
		kind, _, _ = strings.Cut(mime, "/")
	}
	name := strings.TrimSpace(kind + " " + cutName(mime))
	// which base64 has not
	if scheme, _, found := strings.Cut(value[:min(len(value), 20)], ":"); found && scheme != "" {
		r.note("content[%d] holds a URL in place of base64", at)
		r.text("[" + name + " at " + Truncate(value, 2000) + "]")
		return
	}
	data, ok := looseBase64(value)
	if !ok {
		r.placeholder(name)
		return
	}
	if !noted {
		r.note("content[%d] is not as %s has to be", at, kind)
	}
	if kind == "audio" {
		r.add(&mcp.AudioContent{MIMEType: mime, Data: data})
		return
	}
	r.add(&mcp.ImageContent{MIMEType: mime, Data: data})
}

// looseBase64 decodes base64 with or without padding, of either alphabet, whatever white space is in it.
func looseBase64(text string) ([]byte, bool) {
	text = strings.NewReplacer("-", "+", "_", "/", " ", "", "\n", "", "\r", "", "\t", "").Replace(text)
	data, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(text, "="))
	return data, err == nil && len(data) > 0
}

// resources reads what a resource holds.
func (r *oddResult) resources(raw json.RawMessage) {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil && !absent(raw) {
		r.note("the contents are no list")
		list = []json.RawMessage{raw}
	}
	for _, one := range list {
		r.part(fmt.Appendf(nil, `{"type":"resource","resource":%s}`, one))
	}
}

func (r *oddResult) resource(part map[string]json.RawMessage) {
	at := len(r.Content)
	inner := objectIn(part, "resource")
	switch text := stringIn(part, "resource"); {
	case inner == nil && text != "":
		inner = map[string]json.RawMessage{"uri": part["resource"]}
	case inner == nil:
		inner = part
	}
	name := strings.Join(
		strings.Fields("resource "+stringIn(inner, "uri")+" "+cutName(stringIn(inner, "mimeType", "mime_type"))), " ",
	)
	switch {
	case !absent(inner["text"]):
		r.note("content[%d] is not as a resource has to be", at)
		r.text(textOf(inner["text"]))
	case !absent(inner["blob"]):
		data, ok := looseBase64(stringIn(inner, "blob"))
		if !ok {
			r.placeholder(name)
			return
		}
		r.note("content[%d] is not as a resource has to be", at)
		r.text(fmt.Sprintf("[%s, %d bytes]", name, len(data)))
	case name != "resource":
		r.note("content[%d] is a resource without text or blob", at)
		r.text("[" + name + "]")
	default:
		r.placeholder("a resource")
	}
}

func (r *oddResult) link(part map[string]json.RawMessage) {
	link := &mcp.ResourceLink{URI: stringIn(part, "uri", "url"), Name: stringIn(part, "name"),
		Title: stringIn(part, "title"), Description: stringIn(part, "description"), MIMEType: stringIn(part, "mimeType",
			"mime_type")}
	if n, err := strconv.ParseInt(textOf(part["size"]), 10, 64); err == nil {
		link.Size = &n
	}
	if link.URI+link.Name+link.Title+link.Description == "" {
		r.placeholder("a link")
		return
	}
	r.note("content[%d] is not as a link has to be", len(r.Content))
	r.add(link)
}

// looksLikeParts reports whether a list is one of parts: each an object with a type, and there is one.
func looksLikeParts(raw json.RawMessage) bool {
	var list []struct{ Type string }
	if json.Unmarshal(raw, &list) != nil || len(list) == 0 {
		return false
	}
	for _, one := range list {
		if one.Type == "" {
			return false
		}
	}
	return true
}

// truth reads isError; proper is false where it is not one of JSON's two.
func truth(raw json.RawMessage) (yes, proper bool) {
	var text string
	switch value := strings.TrimSpace(string(raw)); {
	case absent(raw) || value == "false":
		return false, true
	case value == "true":
		return true, true
	case json.Unmarshal(raw, &text) == nil:
		switch strings.ToLower(strings.TrimSpace(text)) {
		case "", "false", "no", "0", "none", "null":
			return false, false
		}
		return true, false
	default:
		n, err := strconv.ParseFloat(value, 64)
		return value != "{}" && value != "[]" && (err != nil || n != 0), false
	}
}

func absent(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// textOf is a text, or the JSON of what is none.
func textOf(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(compact(raw))
}

// stringIn is the first of some members that is a text.
func stringIn(object map[string]json.RawMessage, keys ...string) string {
	for _, key := range keys {
		var text string
		if json.Unmarshal(object[key], &text) == nil && text != "" {
			return text
		}
	}
	return ""
}

func objectIn(object map[string]json.RawMessage, key string) map[string]json.RawMessage {
	var inner map[string]json.RawMessage
	if json.Unmarshal(object[key], &inner) != nil {
		return nil
	}
	return inner
}
