package proxy

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"hone/internal/chat"
)

// Usage counts tokens.
type Usage struct {
	PromptTokens     int `json:"prompt_tokens"`
	CompletionTokens int `json:"completion_tokens"`
	TotalTokens      int `json:"total_tokens"`
}

// Answer is what a client is told: the upstream's answer as it came or with another message, or a mode's own.
type Answer struct {
	Message      chat.Message // of the first choice
	FinishReason string       // "" where the upstream did not say
	Usage        *Usage       // nil: not told
	// Opaque says why the message could not be read. It is passed on as it is.
	Opaque error

	body     []byte  // of one that is not streamed
	events   []event // of a stream; those that the client was told are empty
	base     []byte  // the first chunk of a stream
	told     int     // events that the client was told
	saidText string  // the text in them
	replaced bool
}

// Replace gives an answer another message and reason to end. Text that was told already stays said.
func (a *Answer) Replace(m chat.Message, finish string) {
	a.Message, a.FinishReason, a.replaced = m, finish, true
}

// Sent reports whether the client was told anything of the answer.
func (a *Answer) Sent() bool { return a.told > 0 }

// Pass asks the upstream with a body, and tells the client what it says, as it comes.
func (x *Exchange) Pass(ctx context.Context, body []byte) error {
	r, err := x.ask(ctx, body)
	if err != nil {
		return err
	}
	defer r.close()
	switch {
	case r.isStream() && !x.Request.Stream:
		return notAskedError()
	case r.isStream():
		a, err := x.follow(r, func(e event, so *Answer) bool {
			if so.FinishReason != "" || e.isDone() {
				x.hear(so)
			}
			return true
		})
		x.note(a)
		if err == nil {
			x.hear(a)
		}
		return err
	}
	text, err := r.json()
	if err != nil {
		return err
	}
	if x.method != http.MethodGet {
		x.note(readWhole(text))
		x.hear(x.said)
	}
	if x.Request.Stream {
		return x.Tell(x.said)
	}
	return x.writeAnswer(cmp.Or(r.header.Get("Content-Type"), "application/json"), text)
}

// writeAnswer writes a whole answer, with what there is to tell beside it.
func (x *Exchange) writeAnswer(contentType string, body []byte) error {
	body, err := x.addUsage(body)
	if err == nil {
		body, err = x.withOwnCalls(body)
	}
	if err != nil {
		return badUpstream("upstream_invalid", "the upstream's answer is no JSON object")
	}
	x.write(http.StatusOK, contentType, body)
	return nil
}

func notAskedError() error {
	return badUpstream("upstream_invalid", "the upstream answered with a stream, which was not asked for")
}

// Ask asks the upstream with a body, and returns its answer when it is whole.
func (x *Exchange) Ask(ctx context.Context, body []byte) (*Answer, error) {
	return x.Follow(ctx, body, func(string) bool { return true })
}

// Follow asks the upstream with a body, and tells the client of text as it comes, where the client asked for a stream.
// From the first call on, or from where hold says so of the text so far, all is held until Tell. hold may be nil.
func (x *Exchange) Follow(ctx context.Context, body []byte, hold func(text string) bool) (*Answer, error) {
	r, err := x.ask(ctx, body)
	if err != nil {
		return nil, err
	}
	defer r.close()
	if !r.isStream() {
		text, err := r.json()
		if err != nil {
			return nil, err
		}
		a := readWhole(text)
		x.note(a)
		return a, nil
	}
	if !x.Request.Stream {
		return nil, notAskedError()
	}
	held := hold != nil && hold("")
	a, err := x.follow(r, func(_ event, a *Answer) bool {
		held = held || len(a.Message.ToolCalls) > 0 || hold != nil && hold(a.Message.Content)
		return !held && (x.stream.HasBegun() || a.Message.Content != "")
	})
	x.note(a)
	return a, err
}

// json reads an answer that must be a JSON object.
func (r *response) json() ([]byte, error) {
	text, err := r.whole()
	if err != nil {
		return nil, err
	}
	if !json.Valid(text) {
		return nil, badUpstream("upstream_invalid", "the upstream's answer is no JSON")
	}
	return text, nil
}

// follow reads a stream to its end, and tells the client of all events so far whenever tell says so. What was read is
// returned also beside an error.
func (x *Exchange) follow(r *response, tell func(e event, so *Answer) bool) (*Answer, error) {
	read, a, g := newEventReader(r.body, int(r.most)), &Answer{events: []event{}}, gathering{}
	size := 0
	for {
		e, err := read.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return a, err
		}
		if size += len(e.text); int64(size) > r.most {
			return a, badUpstream("upstream_too_long", "the upstream's stream does not end")
		}
		if err := g.add(e, a); err != nil {
			return a, err
		}
		if x.before != (Usage{}) && e.data != nil && !e.isDone() {
			if e.data, err = x.addUsage(e.data); err != nil {
				return a, badUpstream("upstream_invalid", "an event of the upstream's stream is no JSON object")
			}
			e.text = "data: " + strings.ReplaceAll(string(e.data), "\n", " ")
		}
		a.events = append(a.events, e)
		if tell(e, a) && !x.tellTo(a, len(a.events)) {
			return a, errGone
		}
		if e.isDone() {
			return a, nil
		}
	}
	if !g.finished {
		return a, badUpstream("upstream_cut", "the upstream broke off in the middle of its answer")
	}
	return a, nil
}

// errGone is that the client does not take its answer. Nobody is told.
var errGone = errors.New("the client takes nothing")

// tellTo tells of the events before end that the client was not told.
func (x *Exchange) tellTo(a *Answer, end int) bool {
	if !x.tellOwnCalls() {
		return false
	}
	for ; a.told < end; a.told++ {
		x.status = http.StatusOK
		if !x.stream.Send(a.events[a.told].text) {
			return false
		}
		a.events[a.told] = event{}
	}
	a.saidText = a.Message.Content
	return true
}

// Tell tells the client of an answer, or of what it was not told yet.
func (x *Exchange) Tell(a *Answer) error {
	switch {
	case a.events != nil && !a.replaced:
		if !x.tellTo(a, len(a.events)) {
			return errGone
		}
	case a.events == nil && !x.Request.Stream:
		body, err := a.whole()
		if err != nil {
			return err
		}
		return x.writeAnswer("application/json", body)
	default:
		return x.tellChunks(a)
	}
	return nil
}

// TellAtOnce is Tell for a mode that has more to do afterwards: the client has all of the answer before.
func (x *Exchange) TellAtOnce(a *Answer) error {
	x.atOnce = true
	return x.Tell(a)
}
