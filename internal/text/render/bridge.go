package render

import (
	"fmt"
	"strings"

	"hone/internal/chat"
)

// Next renders the prompt of the turn that follows a completion: messages[at] is the message it was read as, and what
// stands behind it its results (tool or user messages).
//
// Where the template writes all that came before as it was prompted and sampled, ids are what follows the completion:
// the end of the message where the completion has none, the results, and the opening of the next assistant message. So
// sampled ids are never made anew from text. Where it writes them otherwise (it drops the reasoning, or the completion
// is not in the form in which it writes calls), ids are the whole prompt, as serving would show it, and rewrite says
// what differs.
func (v *Vendor) Next(
	messages []chat.Message, at int, completion []int32, tools []chat.Tool,
) (ids []int32, rewrite string, err error) {
	if err := checkNext(messages, at); err != nil {
		return nil, "", err
	}
	c, err := v.conversation(messages, tools)
	if err != nil {
		return nil, "", err
	}
	prompt, _, err := c.text(c.shift+at, true)
	if err != nil {
		return nil, "", err
	}
	whole, _, err := c.text(len(c.messages), true)
	if err != nil {
		return nil, "", err
	}
	have := strings.ReplaceAll(prompt, c.sentinel, "") + v.tok.Decode(completion)
	if end, ok := behind(whole, have, c.sentinel); ok {
		return c.encode(c.sentence(completion), whole[end:]), "", nil
	}
	ids, err = v.Prompt(messages, tools)
	return ids, otherwise(at, divergence(have, strings.ReplaceAll(whole, c.sentinel, ""), c.sentinel)), err
}

// behind is where a text with sentinels goes on behind its beginning, which has none.
func behind(text, beginning, sentinel string) (end int, ok bool) {
	for beginning != "" {
		if rest, skip := strings.CutPrefix(text[end:], sentinel); skip {
			end = len(text) - len(rest)
			continue
		}
		if end == len(text) || text[end] != beginning[0] {
			return 0, false
		}
		end, beginning = end+1, beginning[1:]
	}
	return end, true
}

func checkNext(messages []chat.Message, at int) error {
	for i, m := range messages[at:] {
		if (m.Role == chat.Assistant) != (i == 0) {
			return badMessage(m, "behind a completion stand results alone")
		}
	}
	return nil
}

// otherwise says why a row begins anew behind a message.
func otherwise(message int, differs string) string {
	return fmt.Sprintf("the template writes what stands up to message %d otherwise than it was sampled: %s",
		message, differs)
}

// sentence is the text of a completion from its last special token on, as far as it bears on what follows: a special
// token stands for itself, and other text is ordinary.
func (c *conversation) sentence(completion []int32) string {
	n := len(completion)
	if n > 0 && c.v.tok.IsSpecial(completion[n-1]) {
		token, _ := c.v.tok.Token(completion[n-1])
		return token
	}
	from := n
	for from > 0 && !c.v.tok.IsSpecial(completion[from-1]) {
		from--
	}
	return c.mark(c.v.tok.Decode(completion[from:])).(string)
}
