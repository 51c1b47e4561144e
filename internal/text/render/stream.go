package render

import (
	"strings"

	"hone/internal/chat"
	"hone/internal/text/toolcall"
)

// Reader reads a completion whose text comes in parts. What Feed and Close return adds up to the message that Parse
// makes of the whole, wherever the text is cut. Held back is what later text could still make something else of: half a
// tag, the newlines before one, and a call until it has ended, as before that it may turn out to be none.
type Reader struct {
	splitter *splitter // nil in the harmony form, whose parser tells reasoning apart
	thought  strings.Builder
	parser   *toolcall.Parser
	noCalls  bool             // the parser is not asked
	framed   *toolcall.Framed // nil, or asked in its place
	result   toolcall.Result
}

func (r reasoning) reader(f toolcall.Format, opened bool, o toolcall.Options) *Reader {
	x := &Reader{parser: f.Parser(o)}
	if f.Name() != "harmony" {
		x.splitter = &splitter{reasoning: r, opened: opened}
	}
	return x
}

// openingTail is more tokens than any template writes behind the tag that opens reasoning.
const openingTail = 64

// Reader returns a reader of the completion of a prompt: strict, and by the tools' schemas, as Parse.
func (v *Vendor) Reader(prompt []int32, tools []chat.Tool) *Reader {
	return v.reasoning.reader(v.format, v.Opens(prompt) != "", toolcall.Options{Tools: tools})
}

// WithoutCalls makes r, which has read nothing yet, one that finds no calls: where no tools were offered, what looks
// like one is text. In the harmony form texts stand in channels, and nothing changes.
func (r *Reader) WithoutCalls() *Reader {
	r.noCalls = r.splitter != nil
	return r
}

// WithFrame makes r, which has read nothing yet, one of a completion that is held to calls of a frame: calls are told
// of while they are written. In the harmony form nothing changes.
func (r *Reader) WithFrame(f toolcall.Frame) *Reader {
	if r.WithoutCalls().noCalls {
		r.framed = f.Reader()
	}
	return r
}

// Feed reads more of the text, which must not hold the stop id's, and returns what it settles.
func (r *Reader) Feed(text string) []chat.Delta {
	if r.splitter == nil {
		return deltas(nil, r.parser.Feed(text))
	}
	thought, content := r.splitter.feed(text)
	return r.read(r.think(thought), content)
}

func (r *Reader) read(out []chat.Delta, content string) []chat.Delta {
	if r.framed != nil {
		return append(out, r.framed.Feed(content)...)
	}
	if !r.noCalls {
		return deltas(out, r.parser.Feed(content))
	}
	if content != "" {
		out = append(out, chat.Delta{Content: content})
	}
	return out
}

// Close ends the text and returns the rest.
func (r *Reader) Close() []chat.Delta {
	ended := true
	var out []chat.Delta
	if r.splitter != nil {
		var thought, content string
		thought, content, ended = r.splitter.close()
		out = r.read(r.think(thought), content)
	}
	if r.framed != nil {
		out = append(out, r.framed.Close()...)
	}
	events, result := r.parser.Close()
	if r.splitter != nil {
		result.Reasoning = r.thought.String()
	}
	if !ended {
		result.Complete, result.Err = false, "unterminated reasoning: no "+r.splitter.reasoning.close
	}
	r.result = result
	return deltas(out, events)
}

// Result returns, once the reader is closed, what the text holds.
func (r *Reader) Result() toolcall.Result { return r.result }

func (r *Reader) think(thought string) []chat.Delta {
	if thought == "" {
		return nil
	}
	r.thought.WriteString(thought)
	return []chat.Delta{{Reasoning: thought}}
}

func deltas(out []chat.Delta, events []toolcall.Event) []chat.Delta {
	for _, e := range events {
		if e.Content != "" || e.Reasoning != "" || e.Call != nil {
			out = append(out, chat.Delta{Content: e.Content, Reasoning: e.Reasoning, Call: e.Call})
		}
	}
	return out
}

// splitter takes the reasoning off a completion that comes in parts.
type splitter struct {
	reasoning reasoning
	opened    bool // the prompt began the reasoning
	state     splitState
	held      string
	begun     bool // something of the thought, then of the content, was passed on: newlines before it are not
}

type splitState int

const (
	splitStart   splitState = iota // a tag may come
	splitThought                   // inside of the reasoning
	splitBehind                    // behind it, where newlines that set the content apart may come
	splitContent                   // in the content
)

func (s *splitter) feed(text string) (thought, content string) {
	s.held += text
	if s.state == splitStart && !s.start(false) {
		return "", ""
	}
	if s.state == splitThought {
		thought = s.think()
	}
	if s.state == splitBehind {
		if s.held = strings.TrimLeft(s.held, "\n"); s.held != "" {
			s.state = splitContent
		}
	}
	if s.state == splitContent {
		content, s.held = s.held, ""
	}
	return thought, content
}

// close returns the rest; ended is false where the reasoning does not end.
func (s *splitter) close() (thought, content string, ended bool) {
	if s.state == splitStart {
		s.start(true)
	}
	switch s.state {
	case splitThought:
		s.held = strings.TrimRight(s.held, "\n")
		if !s.begun {
			s.held = strings.TrimLeft(s.held, "\n")
		}
		return s.held, "", false
	case splitContent:
		return "", s.held, true
	}
	return "", "", true
}

// start finds out what the text begins with. It is false where that is not known yet.
func (s *splitter) start(final bool) bool {
	r := s.reasoning
	if r.open == "" || r.close == "" {
		s.state = splitContent
		return true
	}
	trimmed := strings.TrimLeft(s.held, " \t\r\n")
	inner, tagged := strings.CutPrefix(trimmed, r.open)
	switch {
	case tagged:
		s.state, s.held = splitThought, inner
	case !final && strings.HasPrefix(r.open, trimmed):
		return false
	case s.opened:
		s.state = splitThought
	default:
		s.state = splitContent
	}
	return true
}

// think passes on what is certainly reasoning: not what may be the closing tag, and not the newlines before that.
func (s *splitter) think() string {
	thought, rest, ended := strings.Cut(s.held, s.reasoning.close)
	if ended {
		s.state = splitBehind
	} else {
		thought = thought[:len(thought)-begins(thought, s.reasoning.close)]
	}
	if !s.begun {
		lead := len(thought) - len(strings.TrimLeft(thought, "\n"))
		thought, s.held = thought[lead:], s.held[lead:]
	}
	thought = strings.TrimRight(thought, "\n")
	s.begun = s.begun || thought != ""
	if ended {
		s.held = rest
	} else {
		s.held = s.held[len(thought):]
	}
	return thought
}

// begins returns how long the end of text is that a tag could begin with.
func begins(text, tag string) int {
	for n := min(len(tag)-1, len(text)); n > 0; n-- {
		if strings.HasSuffix(text, tag[:n]) {
			return n
		}
	}
	return 0
}

// Closes returns the tag that ends the model's reasoning, and "" where it has none.
func (v *Vendor) Closes() string { return v.reasoning.close }

// Opens returns the tag that ends the reasoning where a prompt has begun it, and "" where it has not.
func (v *Vendor) Opens(prompt []int32) string {
	if v.reasoning.open == "" {
		return ""
	}
	if _, opened, closed := v.reasoning.opening(v.tok.Decode(prompt[max(0, len(prompt)-openingTail):])); opened &&
		!closed {
		return v.reasoning.close
	}
	return ""
}
