package toolcall

import (
	"fmt"
	"strings"

	"hone/internal/chat"
)

// Event is a piece of content or one whole call, in the order of the text.
type Event struct {
	Content string
	Call    *chat.ToolCall // nil for content
}

// Parser reads a text that arrives in chunks. However it is cut, its events and result are those of the whole text.
// The zero value is ready to use.
type Parser struct {
	pending string // read but not decided: what may be the start of a tag, newlines before a block, an open block
	content strings.Builder
	result  Result

	inBlock    bool
	afterBlock bool // only white space has followed the last call so far
	scan       scanner
}

// Feed reads the next chunk and returns what it settles.
func (p *Parser) Feed(chunk string) []Event {
	p.pending += chunk
	var events []Event
	for {
		step := p.readText
		if p.inBlock {
			step = p.readBlock
		}
		more := step(&events)
		if !more {
			return events
		}
	}
}

// Close ends the text. The parser must not be used afterwards.
func (p *Parser) Close() ([]Event, Result) {
	var events []Event
	p.result.Complete = !p.inBlock
	if p.inBlock {
		p.fail("unterminated tool call: no " + closeTag)
	}
	if !p.afterBlock || strings.TrimSpace(p.pending) != "" {
		p.emit(&events, p.pending)
	}
	p.pending = ""
	p.result.Content = p.content.String()
	return events, p.result
}

// readText passes content on up to the next block; true if one begins.
func (p *Parser) readText(events *[]Event) bool {
	at := strings.Index(p.pending, openTag)
	if at < 0 {
		// Held back: a start of the tag with the newline before it, and white space that may only set calls apart.
		ready := len(p.pending) - undecided(p.pending)
		if p.afterBlock && strings.TrimSpace(p.pending[:ready]) == "" {
			return false
		}
		p.emit(events, p.pending[:ready])
		p.pending = p.pending[ready:]
		return false
	}
	text := strings.TrimSuffix(p.pending[:at], "\n")
	if p.afterBlock && strings.TrimSpace(text) == "" {
		text = ""
	} else if text != "" {
		p.emit(events, text)
	}
	// What separates the block stays with it, so that a bad block goes back into the content as it was.
	p.pending = p.pending[len(text):]
	p.scan = scanner{at: strings.Index(p.pending, openTag) + len(openTag)}
	p.inBlock = true
	return true
}

// readBlock waits for the end of the block and reads it; true if it ended.
func (p *Parser) readBlock(events *[]Event) bool {
	end, ok := p.scan.findClose(p.pending)
	if !ok {
		return false
	}
	whole := p.pending[:end]
	p.pending = p.pending[end:]
	p.inBlock = false
	start := strings.Index(whole, openTag) + len(openTag)
	call, repairs, err := parseBlock(whole[start : end-len(closeTag)])
	if err != nil {
		p.fail(fmt.Sprintf("malformed tool call: %v", err))
		p.emit(events, whole)
		return true
	}
	call.ID = fmt.Sprintf("call_%d", len(p.result.Calls))
	p.result.Calls = append(p.result.Calls, call)
	p.result.Repairs = append(p.result.Repairs, repairs...)
	p.afterBlock = true
	*events = append(*events, Event{Call: &call})
	return true
}

func (p *Parser) emit(events *[]Event, text string) {
	if text == "" {
		return
	}
	p.afterBlock = false
	p.content.WriteString(text)
	*events = append(*events, Event{Content: text})
}

func (p *Parser) fail(why string) {
	if p.result.Err == "" {
		p.result.Err = why
	}
}

// undecided is the length of the end of text that the next chunk may turn into a newline and the opening tag.
func undecided(text string) int {
	const separated = "\n" + openTag
	for n := min(len(text), len(separated)-1); n > 0; n-- {
		tail := text[len(text)-n:]
		if strings.HasPrefix(separated, tail) || n < len(openTag) && strings.HasPrefix(openTag, tail) {
			return n
		}
	}
	return 0
}

// scanner looks for the closing tag outside JSON strings, so that an argument may hold the tag as text. It goes over
// each byte once however the text is cut.
type scanner struct {
	at       int
	inString bool
}

// findClose returns the index just behind the closing tag.
func (s *scanner) findClose(text string) (int, bool) {
	for ; s.at < len(text); s.at++ {
		switch c := text[s.at]; {
		case s.inString && c == '\\':
			if s.at+1 == len(text) {
				return 0, false // what it escapes has not come yet
			}
			s.at++
		case c == '"':
			s.inString = !s.inString
		case !s.inString && c == '<':
			rest := text[s.at:]
			if strings.HasPrefix(rest, closeTag) {
				return s.at + len(closeTag), true
			}
			if strings.HasPrefix(closeTag, rest) {
				return 0, false
			}
		}
	}
	return 0, false
}
