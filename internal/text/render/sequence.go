package render

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"hone/internal/chat"
	"hone/internal/episode/policy"
	"hone/internal/fault"
	"hone/internal/jinja"
	"hone/internal/text/toolcall"
)

// Sequence is one training row.
type Sequence struct {
	IDs     []int32
	Trained []bool // of each id, whether the loss counts it
	Spans   []Span // of each message that the row writes, in order
	// Rewrite says why the row begins anew and does not go on from the one before it; empty for the first.
	Rewrite string
}

// Span is where a message stands in a row: ids from Start up to End. What opens an assistant message was prompted, so
// it is part of no span.
type Span struct{ Message, Start, End int }

// turn is one completion as text, with sentinels.
type turn struct {
	prompt, completion string
	rest               string       // what the template writes of the message behind its stop token
	spans              []jinja.Span // trained bytes of prompt + completion + rest; nil without {% generation %}
}

// turn asks the template for the completion that message i is.
func (c *conversation) turn(i int) (turn, error) {
	// templates are not made for a conversation of no messages, and many refuse it
	if i == 0 && c.v.options.own == nil {
		return turn{}, badMessage(c.messages[i], "nothing stands before it, so that nothing prompts for it")
	}
	prompt, _, err := c.text(i, true)
	if err != nil {
		return turn{}, err
	}
	written, spans, err := c.text(i+1, false)
	if err != nil {
		return turn{}, err
	}
	t := turn{prompt: prompt}
	body, ok := strings.CutPrefix(written, prompt)
	if ok && c.v.masks {
		t.spans = spans
	}
	if !ok {
		if body, err = c.otherwise(i, prompt, written); err != nil {
			return t, err
		}
	}
	t.completion = body
	if c.v.open {
		t.completion = strings.TrimRight(body, "\n") + c.v.ends(c.messages[i])
		return t, nil
	}
	if _, end := c.v.danger.lastSpecial(body); end >= 0 {
		t.completion, t.rest = body[:end], body[end:]
		return t, nil
	}
	return t, badMessage(c.messages[i], "the template writes no special token behind it")
}

// otherwise returns the completion that message i is where what is written up to it does not begin with the prompt:
// because the prompt opens reasoning that the template never writes, or because the message changes what is written of
// those before it. What stands before it then is found by a message of ours in its place.
func (c *conversation) otherwise(i int, prompt, written string) (string, error) {
	base, opened, closed := c.v.reasoning.opening(prompt)
	if body, ok := strings.CutPrefix(written, base); opened && ok {
		// with other space in it than the prompt has
		if block, own := strings.CutPrefix(body, c.v.reasoning.open); own {
			if _, behind, ended := strings.Cut(block, c.v.reasoning.close); ended {
				body = strings.TrimLeft(behind, "\n")
			}
		}
		if !closed {
			body = c.mark(c.messages[i].ReasoningContent).(string) + c.v.reasoning.after + strings.TrimLeft(body, "\n")
		}
		return body, nil
	}
	other := *c
	if m := c.messages[i]; m.ReasoningContent != "" { // which has no place where the prompt turns thinking off
		m.ReasoningContent = ""
		value, _ := c.v.messageValue(m) // it was made before, with more in it
		other.values = append(c.values[:i:i], c.mark(value))
		text, _, err := other.text(i+1, false)
		if body, ok := strings.CutPrefix(text, prompt); err == nil && ok {
			return body, nil
		}
	}
	other.values = append(c.values[:i:i], chat.NewObject("role", chat.Assistant, "content", probeContent))
	text, _, err := other.text(i+1, false)
	if at := strings.LastIndex(text, c.v.probed); err == nil && at >= 0 && c.v.probed != "" {
		if body, ok := strings.CutPrefix(written, text[:at]); ok {
			return body, nil
		}
	}
	return "", badMessage(c.messages[i], "the template writes it otherwise than it prompts for it")
}

func (v *Vendor) ends(m chat.Message) string {
	if len(m.ToolCalls) > 0 {
		return v.afterCalls
	}
	return v.afterText
}

// readsBack is an error where the calls of a completion are not those of the message it was made from.
func (c *conversation) readsBack(m chat.Message, t turn, ids []int32) error {
	_, opened, closed := c.v.reasoning.opening(t.prompt)
	r := c.v.read(ids, opened && !closed, toolcall.Options{Tools: c.tools})
	why := r.Err
	if why == "" && len(r.Calls) != len(m.ToolCalls) {
		why = fmt.Sprintf("it has %d calls and %d are read", len(m.ToolCalls), len(r.Calls))
	}
	for i := 0; why == "" && i < len(r.Calls); i++ {
		if !sameCall(r.Calls[i], m.ToolCalls[i]) {
			why = fmt.Sprintf("its call %s(%s) is read as %s(%s)",
				m.ToolCalls[i].Name, m.ToolCalls[i].Arguments, r.Calls[i].Name, r.Calls[i].Arguments)
		}
	}
	if why == "" && c.v.options.own != nil && r.Content != m.Content {
		why = "its content is read otherwise"
	}
	if why != "" {
		return badMessage(m, "the model could not write it so that it is read back: "+why)
	}
	return nil
}

// part is a stretch of a row that is encoded for itself.
type part struct {
	text    string // with sentinels
	ids     []int32
	message int // of a completion; -1 for what is prompted
}

// sequence grows by a prompt and a completion at a time.
type sequence struct {
	c       *conversation
	parts   []part
	text    string       // of all parts
	trained []jinja.Span // bytes of text, where the template says what is trained
	rest    string       // of the last completion's message, what the template writes behind its stop token
	rewrite string
}

// extends reports whether a prompt goes on from what the sequence holds.
func (s *sequence) extends(prompt string) bool { return strings.HasPrefix(prompt, s.text) }

func (s *sequence) add(text string, message int) {
	s.parts = append(s.parts, part{text, s.c.encode(s.text, text), message})
	s.text += text
}

// context adds what a prompt that extends the sequence has beyond it.
func (s *sequence) context(prompt string) {
	if rest := prompt[len(s.text):]; rest != "" {
		s.add(rest, -1)
	}
}

func (s *sequence) completion(message int, t turn) {
	from := len(s.text)
	s.add(t.completion, message)
	s.rest = t.rest
	if !s.c.v.masks {
		return
	}
	if t.spans == nil {
		s.trained = append(s.trained, jinja.Span{Start: from, End: len(s.text)})
	}
	for _, span := range t.spans {
		if span.End > from { // the others are of earlier messages
			s.trained = append(s.trained, span)
		}
	}
}

func (s *sequence) ids() []int32 {
	var ids []int32
	for _, p := range s.parts {
		ids = append(ids, p.ids...)
	}
	return ids
}

// Sequences renders a conversation as training rows that end with its last assistant message: one where each prompt
// extends the one before it, as ids; else a new row begins where one does not, and says so. Every assistant message
// from first on is trained in exactly one row, those before it are prompted. Trained are the ids that serving would
// sample, stop ids among them, or what stands inside {% generation %} where the template has it; the rest is what
// serving would prompt.
func (v *Vendor) Sequences(messages []chat.Message, first int, tools []chat.Tool) ([]Sequence, error) {
	c, err := v.conversation(messages, tools)
	if err != nil {
		return nil, err
	}
	var out []Sequence
	var s *sequence
	for i, m := range c.messages {
		// what begins a conversation answers nothing
		if m.Role != chat.Assistant || i-c.shift < first || i == 0 && v.options.own == nil {
			continue
		}
		t, err := c.turn(i)
		if err != nil {
			return nil, err
		}
		if s != nil && !s.extends(t.prompt) {
			out = append(out, s.row())
			s = &sequence{
				c: c,
				rewrite: fmt.Sprintf("the template writes what stands before message %d otherwise than it was "+
					"sampled: %s",
					i-c.shift, divergence(s.text, t.prompt, c.sentinel)),
			}
		}
		if s == nil {
			s = &sequence{c: c}
		}
		s.context(t.prompt)
		s.completion(i, t)
		if err := c.readsBack(m, t, s.parts[len(s.parts)-1].ids); err != nil {
			return nil, err
		}
	}
	if s == nil {
		return nil, &fault.Error{Code: fault.CodeUsage, What: "the conversation has no assistant message to train on"}
	}
	rows, err := maskLoss(append(out, s.row()), messages)
	restoreOrder(rows, c.at)
	return rows, err
}

// maskLoss leaves out of the loss what messages with NoLoss say, and rows that then train nothing. A row ends with its
// last trained id.
func maskLoss(rows []Sequence, messages []chat.Message) ([]Sequence, error) {
	if !slices.ContainsFunc(messages, func(m chat.Message) bool { return m.NoLoss }) {
		return rows, nil
	}
	var out []Sequence
	for _, s := range rows {
		for _, span := range s.Spans {
			if messages[span.Message].NoLoss {
				clear(s.Trained[span.Start:span.End])
			}
		}
		end := len(s.Trained)
		for end > 0 && !s.Trained[end-1] {
			end--
		}
		if end == 0 {
			continue
		}
		s.IDs, s.Trained = s.IDs[:end], s.Trained[:end]
		s.Spans = slices.DeleteFunc(s.Spans, func(x Span) bool { return x.Start >= end })
		out = append(out, s)
	}
	if len(out) == 0 {
		return nil, &fault.Error{Code: fault.CodeUsage, What: "the conversation has no assistant message to train on",
			Why: "all are masked"}
	}
	return out, nil
}

// divergence shows where two texts part.
func divergence(a, b, sentinel string) string {
	n := common(a, b)
	show := func(text string) string {
		return fmt.Sprintf("%q", strings.ReplaceAll(text[n:min(len(text), n+40)], sentinel, ""))
	}
	return show(a) + " became " + show(b)
}

// common is the length of the longest common beginning, in whole characters.
func common(a, b string) int {
	n := policy.CommonPrefix([]byte(a), []byte(b))
	for n > 0 && n < len(a) && a[n]&0xC0 == 0x80 {
		n--
	}
	return n
}

// row makes the ids, the mask and the spans of a sequence.
func (s *sequence) row() Sequence {
	for _, span := range s.trained { // a template may have what follows the last stop token trained too
		if beyond := span.End - len(s.text); beyond > 0 && beyond <= len(s.rest) {
			s.add(s.rest[:beyond], -1)
		}
	}
	out := Sequence{Rewrite: s.rewrite}
	ends := s.messageEnds()
	at, next := 0, 0 // byte of the text, and the next message
	for _, p := range s.parts {
		first := len(out.IDs)
		out.IDs = append(out.IDs, p.ids...)
		trained := slices.Repeat([]bool{p.message >= 0 && !s.c.v.masks}, len(p.ids))
		o := s.offsets(p, at)
		for _, span := range s.trained {
			if span.Start < at+len(p.text) && span.End > at {
				for i := o.index(span.Start, true); i < o.index(span.End, false); i++ {
					trained[i] = true
				}
			}
		}
		out.Trained = append(out.Trained, trained...)
		at += len(p.text)
		if p.message >= 0 {
			out.Spans = append(out.Spans, Span{p.message, first, len(out.IDs)})
			next = p.message + 1
			continue
		}
		for start := first; next < len(ends) && ends[next] <= at; next++ {
			end := max(start, first+o.index(ends[next], false))
			out.Spans = append(out.Spans, Span{next, start, end})
			start = end
		}
	}
	kept := out.Spans[:0]
	for _, span := range out.Spans {
		if span.Message -= s.c.shift; span.Message >= 0 && span.End > span.Start {
			kept = append(kept, span)
		}
	}
	out.Spans = kept
	return out
}

// messageEnds is for each message up to where in the row's text it goes; 0 where the template does not show it, and the
// message counts with the one behind it.
func (s *sequence) messageEnds() []int {
	last := 0
	for _, p := range s.parts {
		last = max(last, p.message)
	}
	ends := make([]int, last)
	for i := range ends {
		written, _, err := s.c.text(i+1, false)
		n := common(written, s.text)
		// Results that follow each other may share what is around them.
		results := i+1 < len(ends) && s.c.messages[i].Role == chat.ToolRole && s.c.messages[i+1].Role == chat.ToolRole
		if err == nil && (n == len(written) || results) {
			ends[i] = n
		}
		if i > 0 {
			ends[i] = max(ends[i], ends[i-1])
		}
	}
	return ends
}

// offsets tells which ids of a part stand for which bytes.
type offsets struct {
	s      *sequence
	part   part
	at     int      // of the part in the sequence's text
	bounds [][2]int // of each id, in the part's text without sentinels; nil where the ids do not add up to it
}

// offsets reads the bytes of ids off the vocabulary. Ids that share a character share its bytes.
func (s *sequence) offsets(p part, at int) *offsets {
	bounds := make([][2]int, len(p.ids))
	d, end, waiting := s.c.v.tok.NewDecoder(), 0, 0
	var decoded strings.Builder
	for i, id := range p.ids {
		piece := d.Next(id)
		decoded.WriteString(piece)
		for j := waiting; j <= i; j++ {
			bounds[j] = [2]int{end, end + len(piece)}
		}
		if piece != "" {
			end, waiting = end+len(piece), i+1
		}
	}
	decoded.WriteString(d.Close())
	if decoded.String() != strings.ReplaceAll(p.text, s.c.sentinel, "") {
		bounds = nil
	}
	return &offsets{s, p, at, bounds}
}

// index returns the id that a byte of the sequence's text falls on: the first one behind it for an end, the one it is
// part of for a start.
func (o *offsets) index(edge int, start bool) int {
	front := o.part.text[:min(max(edge-o.at, 0), len(o.part.text))]
	if o.bounds == nil { // the text was normalised, or a space was added to it: tell from the ids of its front alone
		return min(len(o.s.c.encode(o.s.text[:o.at], front)), len(o.part.ids))
	}
	edge = len(strings.ReplaceAll(front, o.s.c.sentinel, ""))
	return sort.Search(len(o.bounds), func(i int) bool {
		if start {
			return o.bounds[i][1] > edge
		}
		return o.bounds[i][0] >= edge
	})
}
