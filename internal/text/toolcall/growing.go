package toolcall

import (
	"encoding/json"
	"strings"

	"hone/internal/chat"
)

// Framed reads a text that is held to calls of a frame, as a grammar holds it where a call is required. Such a text can
// turn out to be nothing else, so a call is told of while it is written: first its name, then its arguments as they
// come. Of a call without such a hold that cannot be told: half a block may still be content.
type Framed struct {
	frame Frame
	state frameState
	held  string // not settled
	block string // what of the call that is begun was settled without being told of
	depth int    // of brackets in the arguments
	text  bool   // a string in the arguments is open
	slash bool   // and escapes what comes next
}

type frameState int

const (
	frameOpen frameState = iota
	frameName
	frameArguments
	frameClose
	frameNext // behind a call, where another may follow
	frameLost // the text is not of this frame: all of it is content
)

// Reader returns a reader of one text.
func (f Frame) Reader() *Framed { return &Framed{frame: f} }

// Feed reads more of the text and returns what it settles.
func (r *Framed) Feed(text string) (out []chat.Delta) {
	r.held += text
	for more := true; more; {
		var d chat.Delta
		if d, more = r.step(); d != (chat.Delta{}) {
			out = append(out, d)
		}
	}
	return out
}

// Close ends the text and returns the rest. A call that the text ends in keeps the arguments that were written.
func (r *Framed) Close() []chat.Delta {
	rest := r.block + r.held
	if r.state == frameArguments || r.state == frameClose || r.state == frameNext && strings.TrimSpace(rest) == "" ||
		rest == "" {
		return nil
	}
	return []chat.Delta{{Content: rest}}
}

// step settles a piece at the front of what is held; more is false where it needs more text.
func (r *Framed) step() (d chat.Delta, more bool) {
	switch r.state {
	case frameOpen:
		return r.literal(r.frame.Open, frameName)
	case frameNext:
		return r.literal(r.frame.Between+r.frame.Open, frameName)
	case frameClose:
		d, more = r.literal(r.frame.Close, frameNext)
		if more {
			r.block = ""
		}
		return d, more
	case frameName:
		return r.name()
	case frameArguments:
		return r.arguments()
	}
	d.Content, r.held = r.held, ""
	return d, false
}

// literal settles a text of the frame.
func (r *Framed) literal(text string, then frameState) (d chat.Delta, more bool) {
	rest, whole := strings.CutPrefix(r.held, text)
	switch {
	case whole && (text != "" || r.held != ""):
		r.block, r.held, r.state = r.block+text, rest, then
		return d, true
	case strings.HasPrefix(text, r.held):
		return d, false
	}
	return r.lose()
}

func (r *Framed) lose() (chat.Delta, bool) {
	r.held, r.block, r.state = r.block+r.held, "", frameLost
	return chat.Delta{}, true
}

// name settles a call's name once its arguments begin.
func (r *Framed) name() (d chat.Delta, more bool) {
	name, rest, whole := strings.Cut(r.held, r.frame.Middle)
	if !whole || rest == "" {
		return d, false
	}
	if strings.HasSuffix(r.frame.Open, `"`) && json.Unmarshal([]byte(`"`+name+`"`), &name) != nil || rest[0] != '{' {
		return r.lose()
	}
	r.block, r.held, r.state = "", rest, frameArguments
	d.Call = &chat.ToolCall{Name: name}
	return d, true
}

// arguments settles what is there of a call's arguments, a JSON object.
func (r *Framed) arguments() (d chat.Delta, more bool) {
	for i := range len(r.held) {
		switch c := r.held[i]; {
		case r.slash:
			r.slash = false
		case r.text:
			r.slash, r.text = c == '\\', c != '"'
		case c == '"':
			r.text = true
		case c == '{' || c == '[':
			r.depth++
		case c == '}' || c == ']':
			r.depth--
		}
		if r.depth == 0 {
			d.Arguments, r.held, r.state = r.held[:i+1], r.held[i+1:], frameClose
			return d, true
		}
	}
	d.Arguments, r.held = r.held, ""
	return d, false
}
