package render

import (
	"slices"
	"strings"

	"hone/internal/chat"
	"hone/internal/text/toolcall"
)

// ReadOptions of Read. The zero value reads strictly.
type ReadOptions struct {
	Tools  []chat.Tool // type the values of forms that write all of them as text
	Repair bool        // mends calls that are almost JSON; what was mended is in the result
}

// Read reads a completion back, with or without its stop id. Reasoning that the prompt began or that the completion
// begins with is told apart; reasoning that does not end is an error, and the text is the reasoning.
func (v *Vendor) Read(completion []int32, o ReadOptions) toolcall.Result {
	return v.readAny(completion, toolcall.Options{Tools: o.Tools, Repair: o.Repair})
}

// Parse is Read for rollouts: strict, and as a message.
func (v *Vendor) Parse(completion []int32, tools []chat.Tool) (m chat.Message, parseError string) {
	r := v.readAny(completion, toolcall.Options{Tools: tools})
	return chat.Message{Role: chat.Assistant, ReasoningContent: r.Reasoning, Content: r.Content,
		ToolCalls: r.Calls}, r.Err
}

// readAny reads a completion whose prompt is not known.
func (v *Vendor) readAny(completion []int32, o toolcall.Options) toolcall.Result {
	r := v.read(completion, v.opened, o)
	if v.opened != v.openedBehindResults && r.Err != "" { // then it depends on the prompt
		if other := v.read(completion, !v.opened, o); other.Err == "" {
			return other
		}
	}
	return r
}

func (v *Vendor) read(completion []int32, opened bool, o toolcall.Options) toolcall.Result {
	if n := len(completion); n > 0 && slices.Contains(v.stops, completion[n-1]) {
		completion = completion[:n-1]
	}
	return v.reasoning.read(v.tok.Decode(completion), v.format, opened, o)
}

// ReadText is Read for a text whose model is not known: reasoning is what stands at its beginning between tags in use,
// or before an end tag that no other tag begins.
func ReadText(text string, f toolcall.Format, o ReadOptions) toolcall.Result {
	var r reasoning
	opened := false
	for _, tags := range reasoningTags() {
		begins := strings.HasPrefix(strings.TrimLeft(text, " \t\r\n"), tags[0])
		front, _, ends := strings.Cut(text, tags[1])
		// else the tag stands in a call
		if in := f.Parse(front, toolcall.Options{}); begins ||
			ends && !strings.Contains(front, tags[0]) && in.Err == "" && len(in.Calls) == 0 {
			r, opened = reasoning{open: tags[0], close: tags[1]}, !begins
			break
		}
	}
	return r.read(text, f, opened, toolcall.Options{Tools: o.Tools, Repair: o.Repair})
}

func (r reasoning) read(text string, f toolcall.Format, opened bool, o toolcall.Options) toolcall.Result {
	reader := r.reader(f, opened, o)
	reader.Feed(text)
	reader.Close()
	return reader.Result()
}

// sameCall reports whether two calls mean the same: arguments are compared as JSON values, since a template may write
// them with other spaces, or their keys in order.
func sameCall(a, b chat.ToolCall) bool {
	x, errX := chat.Decode([]byte(a.Arguments), chat.DecodeOptions{})
	y, errY := chat.Decode([]byte(b.Arguments), chat.DecodeOptions{})
	if strings.TrimSpace(b.Arguments) == "" {
		y, errY = chat.NewObject(), nil
	}
	return a.Name == b.Name && errX == nil && errY == nil && sameValue(x, y)
}

func sameValue(a, b chat.Value) bool {
	switch a := a.(type) {
	case chat.Number:
		n, ok := b.(chat.Number)
		return ok && (a == n || a.Float() == n.Float() && !(a.IsInteger() && n.IsInteger()))
	case []chat.Value:
		list, ok := b.([]chat.Value)
		return ok && slices.EqualFunc(a, list, sameValue)
	case *chat.Object:
		o, ok := b.(*chat.Object)
		if !ok || a.Len() != o.Len() {
			return false
		}
		for i := range a.Len() {
			key, item := a.At(i)
			if other, found := o.Get(key); !found || !sameValue(item, other) {
				return false
			}
		}
		return true
	}
	return a == b
}
