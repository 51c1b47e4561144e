// Package known tells whether an answer could be known from what was shown before it. A model that learns answers which
// follow from nothing learns to invent.
package known

import "hone/internal/chat"

// Unknown returns the first value of an answer in a conversation that nothing before it says, and whether there is one.
// Answers are the messages of the assistant that call nothing, come behind a tool's result, and are to be judged. holds
// says that the reasoning before an answer is known to hold, as that of a gold solution is: what it comes to was not
// invented.
func Unknown(
	messages []chat.Message, tools []chat.Tool, judged func(message int) bool, holds bool,
) (value string, found bool) {
	var c Context
	for _, t := range tools {
		c.Offer(t.Name + "\n" + t.Description + "\n" + string(t.InputSchema))
	}
	results := false
	for i, m := range messages {
		switch {
		case m.Role == chat.ToolRole:
			results = true
			c.Show(m.Content)
		case m.Role != chat.Assistant:
			c.Ask(m.Content)
		default:
			if holds {
				c.Show(m.ReasoningContent)
			}
			if results && len(m.ToolCalls) == 0 && judged(i) {
				if value := c.Missing(m.Content); value != "" {
					return value, true
				}
			}
			for _, call := range m.ToolCalls {
				c.Call(call.Arguments)
			}
			c.Show(m.Content)
		}
	}
	return "", false
}

// Context is what stands before an answer. Each text is gone over once, whatever number of answers is looked at.
type Context struct {
	given, seen words    // of what was asked, offered or called with; of what was shown
	numbers     reckoner // reads them when an answer first has a number that nothing says
}

// Offer adds what a tool says of itself.
func (c *Context) Offer(text string) { c.given.add(text) }

// Call adds the arguments of a call: a number that the answer repeats from there was not invented for the answer.
func (c *Context) Call(arguments string) { c.given.addNumbers(arguments) }

// Ask adds what a prompt says.
func (c *Context) Ask(text string) {
	c.given.add(text)
	c.numbers.texts = append(c.numbers.texts, source{text: text})
}

// Show adds a result, or what was said before.
func (c *Context) Show(text string) {
	c.seen.add(text)
	c.numbers.texts = append(c.numbers.texts, source{text: text, shown: true})
}

// Missing returns the first value of an answer that could not be known, "" where there is none. Values are the words
// of a short answer, and in a longer one numbers, names, and what stands in quotes. Of words, one that was shown will
// do, since the others may be other words for what was shown; those that repeat what was asked say nothing. Each number
// in digits is to be known: shown, asked for, or reckoned from what was shown and asked.
func (c *Context) Missing(answer string) string {
	first, known := "", false
	repeated := c.repeated(answer)
	for _, v := range valuesOf(answer) {
		switch {
		case v.in(&c.given):
		case v.in(&c.seen), c.leadsTo(&v, repeated):
			known = true
		case v.strict():
			return v.text
		case known || c.given.holds(v.word):
		case c.seen.holds(v.word):
			known = true
		case first == "":
			first = v.text
		}
	}
	if known {
		return ""
	}
	return first
}

// leadsTo reports whether what was shown or asked leads to a value that it does not say.
func (c *Context) leadsTo(v *value, repeated int) bool {
	switch v.kind {
	case calendar:
		return c.numbers.hasDay() || c.seen.calendar || c.given.calendar
	case moment:
		return c.numbers.leadsToMoment(v.at)
	case number:
		return v.whole() && v.number <= float64(repeated) || c.numbers.leadsTo(v)
	case code:
		return len(v.word) >= stem && (c.seen.holds(v.word) || c.given.holds(v.word))
	}
	return false
}

// repeated counts the words of an answer that were shown or asked, of which a number in it may be the count.
func (c *Context) repeated(answer string) int {
	found := map[string]bool{}
	for t := range split(answer) {
		if w := t.lower(); t.kind == word && !sayNothing[w] && (c.seen.all[w] || c.given.all[w]) {
			found[w] = true
		}
	}
	return len(found)
}
