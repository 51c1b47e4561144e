package toolcall

import (
	"bytes"
	"fmt"
	"strings"
)

// harmony's marks.
const (
	hStart     = "<|start|>"
	hChannel   = "<|channel|>"
	hConstrain = "<|constrain|>"
	hMessage   = "<|message|>"
	hEnd       = "<|end|>"
	hCall      = "<|call|>"
	hReturn    = "<|return|>"
)

// harmony is the machine of gpt-oss. A text is a sequence of messages, the first without its <|start|>assistant, which
// was prompted:
//
//	<|channel|>analysis<|message|>...<|end|><|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>{...}<|call|>
//
// A message to a recipient functions.NAME is a call, on whatever channel, and the recipient may stand on either side
// of the channel. Other recipients are no functions: their messages are content, with their markup. The analysis
// channel is reasoning. The tokens that end a completion, <|call|> and <|return|>, may have been taken off.
type harmony struct {
	state   harmonyState
	header  string
	call    string // the function the message is a call of
	channel string
	scan    int
}

type harmonyState int

const (
	hBegin  harmonyState = iota // nothing has come: a header, or text without markup
	hText                       // between messages
	hHeader                     // behind <|start|> or <|channel|>
	hBody                       // behind <|message|>
)

func harmonyFormat() Format {
	return Format{name: "harmony", also: []string{"openai", "gpt_oss"}, blank: space, id: callID,
		machine: func() machine { return &harmony{} }, marks: []string{"to=functions."},
		frame: Frame{Open: hChannel + "commentary to=functions.", Middle: " " + hConstrain + "json" + hMessage,
			Close: hCall, Between: hStart + "assistant"}}
}

func (h *harmony) step(p *Parser, final bool) bool {
	switch h.state {
	case hBegin:
		return h.begin(p, final)
	case hText:
		return h.text(p, final)
	case hHeader:
		return h.readHeader(p, final)
	}
	return h.body(p, final)
}

// begin tells a header from a text without markup.
func (h *harmony) begin(p *Parser, final bool) bool {
	rest := p.rest()
	trimmed := bytes.TrimLeft(rest, space)
	mark, partial := markAt(trimmed, []string{hStart, hChannel, hMessage, "to="})
	switch {
	case len(rest) == 0 || partial && !final && len(rest) < maxHeader:
		return false
	case mark == "to=" || mark == hMessage:
		h.state = hHeader
	default:
		h.state = hText
	}
	return true
}

// text passes on what stands outside messages.
func (h *harmony) text(p *Parser, final bool) bool {
	mark, found := p.seek([]string{hStart, hChannel, hCall, hReturn, hEnd}, "<", final)
	if !found {
		return false
	}
	if mark != hStart && mark != hChannel {
		p.text(len(mark)) // it ends no message
		return true
	}
	h.state, h.scan = hHeader, len(mark)
	if mark == hChannel {
		h.scan = 0
	}
	return true
}

// readHeader waits for <|message|>; a header that does not come to it is text.
func (h *harmony) readHeader(p *Parser, final bool) bool {
	rest := p.rest()
	at, mark := find(rest, h.scan, []string{hMessage, hStart, hEnd, hCall, hReturn}, "<")
	if mark == "" && at < maxHeader && !final {
		h.scan = at
		return false
	}
	if mark != hMessage || at >= maxHeader {
		if mark == "" && at < maxHeader {
			p.noteOpenBlock(hMessage)
		}
		p.bad(min(at, maxHeader), "a header without "+hMessage)
		h.state, h.scan = hText, 0
		return true
	}
	h.header = string(rest[:at])
	recipient := ""
	h.channel, recipient = readHarmonyHeader(h.header)
	h.call, _ = strings.CutPrefix(recipient, "functions.")
	if h.call == recipient {
		h.call = ""
	}
	h.state, h.scan = hBody, at+len(hMessage)
	if h.call != "" {
		return true
	}
	if recipient != "" && recipient != "all" && recipient != "user" ||
		h.channel != "" && !contains([]string{"analysis", "final", "commentary"}, h.channel) {
		p.text(h.scan) // a message to someone else is shown as it is
	} else {
		p.frame(h.scan)
	}
	h.scan = 0
	return true
}

// readHarmonyHeader finds the channel and the recipient; the constraint and anything else is ignored.
func readHarmonyHeader(header string) (channel, recipient string) {
	for i, section := range strings.Split(strings.ReplaceAll(header, hStart, ""), "<|") {
		word, inChannel := strings.CutPrefix(section, "channel|>")
		if i > 0 && !inChannel {
			continue
		}
		words := strings.Fields(word)
		if inChannel && len(words) > 0 && !strings.HasPrefix(words[0], "to=") {
			channel = words[0]
		}
		for _, w := range words {
			if to, ok := strings.CutPrefix(w, "to="); ok {
				recipient = to
			}
		}
	}
	return channel, recipient
}

// body passes on a message as it comes, but holds a call until it ends.
func (h *harmony) body(p *Parser, final bool) bool {
	rest := p.rest()
	at, mark := find(rest, h.scan, []string{hEnd, hCall, hReturn, hStart}, "<")
	if h.call == "" {
		return h.message(p, at, mark, final)
	}
	if h.scan = at; mark == "" && !final {
		return false
	}
	if mark == "" {
		at = len(rest)
	}
	start := len(h.header) + len(hMessage)
	c, err := p.arguments(h.call, rest[start:at])
	shut := len(mark)
	if mark == hStart {
		shut = 0
	}
	if !isName(h.call) {
		err = fmt.Errorf("%.60q is no name", h.call)
	}
	if mark == "" && err != nil {
		p.noteOpenBlock(hCall)
	}
	p.block(start, whole(at-start, c, err), shut)
	h.next(mark)
	return true
}

// message streams a message that is no call.
func (h *harmony) message(p *Parser, at int, mark string, final bool) bool {
	if final && mark == "" {
		at = len(p.rest())
	}
	if at > 0 {
		if h.channel == "analysis" {
			p.think(at)
		} else {
			p.afterCall = false
			p.text(at)
		}
	}
	if mark == "" {
		return false
	}
	if mark != hStart {
		p.frame(len(mark))
	}
	h.next(mark)
	return true
}

func (h *harmony) next(mark string) {
	h.state, h.scan, h.call = hText, 0, ""
	if mark == hStart {
		h.state, h.scan = hHeader, len(hStart)
	}
}
