package render

import (
	"errors"
	"slices"
	"strings"

	"hone/internal/chat"
)

// Bridge renders what stands between a completion and the next one: the end of the assistant message where the
// completion does not end with it, the results (tool or user messages), and the opening of the next assistant message.
//
// It is found by rendering a short conversation in which the same results follow a message of ours. Where the template
// would write the completion itself otherwise from now on (Sequences says so by a split), the bridge leaves it as it was
// sampled: what is trained is what was sampled.
func (v *Vendor) Bridge(completion []int32, results []chat.Message) ([]int32, error) {
	content, argument := unused(probeContent, results), unused(probeArgument, results)
	m, mark := chat.Message{Role: chat.Assistant, Content: content}, content
	for i, r := range results {
		if r.Role == chat.Assistant {
			return nil, badMessage(r, "it stands among the results of a completion")
		}
		if r.Role == chat.ToolRole {
			call := probeCall("").ToolCalls[0]
			call.Arguments = strings.Replace(call.Arguments, probeArgument, argument, 1)
			call.ID, mark = r.ToolCallID, argument
			if r.Name != "" {
				call.Name = r.Name
			}
			if i == 0 {
				m.Content = ""
			}
			m.ToolCalls = append(m.ToolCalls, call)
		}
	}
	c, err := v.conversation(probeTurn(m, results...), v.probeTools)
	if err != nil {
		return nil, err
	}
	at := len(c.messages) - len(results) // behind our message
	t, err := c.turn(at - 1)
	if err != nil {
		return nil, err
	}
	next, _, err := c.text(len(c.messages), true)
	if err != nil {
		return nil, err
	}
	stop := v.ends(m)
	tail, isLast := strings.CutSuffix(t.completion, stop)
	if i := strings.LastIndex(tail, mark); i >= 0 {
		tail = tail[i:]
	}
	i := strings.LastIndex(next, tail)
	if i < 0 || !isLast {
		return nil, errors.New("the template does not show where an assistant message ends")
	}
	text := next[i+len(tail):]
	before := c.sentence(completion)
	if n := len(completion); n > 0 && slices.Contains(v.stops, completion[n-1]) {
		if rest, ok := strings.CutPrefix(text, stop); ok && v.isToken(stop, completion[n-1]) {
			text = rest
		}
	}
	return c.encode(before, text), nil
}

// unused is a word that no result holds: one with the word in it would be taken for our message.
func unused(word string, results []chat.Message) string {
	for slices.ContainsFunc(results, func(m chat.Message) bool { return strings.Contains(m.Content, word) || strings.Contains(m.Name, word) }) {
		word += "x"
	}
	return word
}

func (v *Vendor) isToken(text string, id int32) bool {
	token, _ := v.tok.Token(id)
	return token == text
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
	return c.marked(c.v.tok.Decode(completion[from:])).(string)
}
