package serve

import (
	"slices"
	"strings"

	"hone/internal/chat"
	"hone/internal/episode/policy"
)

// Decoder turns a completion's ids into text, one at a time. What the next ids could still change, such as half a
// character, it holds back; Close returns it.
type Decoder interface {
	Next(id int32) string
	Close() string
}

// Reader reads a completion's text in parts, as a chat template's family writes it. All deltas together are the
// message.
type Reader interface {
	Feed(text string) []chat.Delta
	Close() []chat.Delta
}

// reading turns sampled ids into the assistant message, whether the client sees it grow or whole.
type reading struct {
	decoder Decoder
	reader  Reader
	ends    []int32  // ids that end a completion and are no text
	stops   []string // texts that end one
	// the number of its first call; the parser counts from 0 in each completion, and a conversation has many
	first  int
	unique string // tells its calls from those of all other completions

	end     []int32 // an id of ends that came last
	told    int     // bytes of text that the reader was fed
	held    string  // text that a stop text may begin in
	message chat.Message
}

// next reads the next id and returns what it settles.
func (r *reading) next(id int32) []chat.Delta {
	text := r.stopText()
	if slices.Contains(r.ends, id) {
		r.end = []int32{id}
	} else {
		text += r.decoder.Next(id)
	}
	r.held += text
	n := beforeStop(r.held, r.stops)
	text, r.held = r.held[:n], r.held[n:]
	return r.feed(text)
}

// stopText is the text of an id that would have ended the completion, had nothing followed.
func (r *reading) stopText() (text string) {
	for _, id := range r.end {
		text += r.decoder.Next(id)
	}
	r.end = nil
	return text
}

// close ends the message as the completion ended.
func (r *reading) close(c *policy.Completion) []chat.Delta {
	rest := r.held
	if c.StopText != "" {
		rest = c.Text[r.told:]
	} else {
		rest += r.decoder.Close()
	}
	return append(r.feed(rest), r.add(r.reader.Close())...)
}

func (r *reading) feed(text string) []chat.Delta {
	r.told += len(text)
	return r.add(r.reader.Feed(text))
}

func (r *reading) add(deltas []chat.Delta) []chat.Delta {
	for i, d := range deltas {
		r.message.Content += d.Content
		r.message.ReasoningContent += d.Reasoning
		if d.Call != nil {
			call := *d.Call
			call.ID = callID(r.first+len(r.message.ToolCalls), r.unique)
			deltas[i].Call = &call
			r.message.ToolCalls = append(r.message.ToolCalls, call)
		}
		if d.Arguments != "" {
			r.message.ToolCalls[len(r.message.ToolCalls)-1].Arguments += d.Arguments
		}
	}
	return deltas
}

// beforeStop returns how much of a text stands before all that is, or may become, a stop text.
func beforeStop(text string, stops []string) int {
	n := len(text)
	for _, stop := range stops {
		if at := strings.Index(text, stop); at >= 0 {
			n = min(n, at)
		}
		for at := max(0, len(text)-len(stop)+1); at < n; at++ {
			if strings.HasPrefix(stop, text[at:]) {
				n = at
			}
		}
	}
	return n
}
