package render

import (
	"strings"

	"hone/internal/chat"
)

// FillReasoning gives each message of a list the reasoning it has under the other keys that chat templates read it
// under. It is what transformers 5 does to messages before it renders them (_alias_reasoning_fields in
// utils/chat_template_utils.py): reasoning_content becomes the first of reasoning_content, thinking and reasoning that
// is not null; thinking comes first, and is filled where there is no such key. What is no list of objects is returned
// as it is.
func FillReasoning(messages chat.Value) chat.Value {
	list, ok := messages.([]chat.Value)
	if !ok {
		return messages
	}
	filled := make([]chat.Value, len(list))
	for i, m := range list {
		filled[i] = m
		if o, ok := m.(*chat.Object); ok {
			filled[i] = fillReasoning(o)
		}
	}
	return filled
}

func fillReasoning(m *chat.Object) *chat.Object {
	for _, key := range []string{"reasoning_content", "thinking", "reasoning"} {
		reasoning, _ := m.Get(key)
		if reasoning == nil {
			continue
		}
		filled := chat.NewObject("thinking", reasoning)
		for i := range m.Len() {
			filled.Set(m.At(i))
		}
		filled.Set("reasoning_content", reasoning)
		return filled
	}
	return m
}

// reasoning is how a family sets apart what it thinks before it answers. The zero value is a family that does not.
type reasoning struct {
	third       bool   // the template takes it under the key "reasoning" too, which FillReasoning leaves alone
	open, close string // the tags without the white space around them
	after       string // what stands between the reasoning and the content, close within
}

// reasoningTags are those in use, for templates that write reasoning only where they prompt for it.
func reasoningTags() [][2]string {
	return [][2]string{{"<think>", "</think>"}, {"[THINK]", "[/THINK]"}, {"<|START_THINKING|>", "<|END_THINKING|>"},
		{"<seed:think>", "</seed:think>"}, {"<|channel>thought", "<channel|>"}}
}

// learnReasoning asks the template for a message that reasons. Transformers pass reasoning under two keys; some
// templates take it under a third.
func (v *Vendor) learnReasoning() error {
	m := chat.Message{Role: chat.Assistant, Content: probeContent, ReasoningContent: probeReasoning}
	for _, third := range []bool{false, true} {
		v.reasoning.third = third
		c, err := v.conversation(probeTurn(m), v.probeTools)
		if err != nil {
			return err
		}
		prompt, _, err := c.text(c.shift+1, true)
		if err != nil {
			return err
		}
		written, _, err := c.text(c.shift+2, false)
		if err != nil {
			continue
		}
		before, rest, found := strings.Cut(written, probeReasoning)
		after, _, inFront := strings.Cut(rest, probeContent)
		if !found || !inFront {
			continue
		}
		v.reasoning.after, v.reasoning.close = after, strings.TrimSpace(after)
		for _, tags := range reasoningTags() {
			if strings.Contains(after, tags[1]) {
				v.reasoning.open, v.reasoning.close = tags[0], tags[1]
				return nil
			}
		}
		if opening, ok := strings.CutPrefix(before, prompt); ok {
			v.reasoning.open = strings.TrimSpace(opening)
		}
		return nil
	}
	v.reasoning.third = false
	for _, tags := range reasoningTags() {
		if strings.Contains(v.options.Template, tags[1]) {
			v.reasoning.open, v.reasoning.close, v.reasoning.after = tags[0], tags[1], "\n"+tags[1]+"\n\n"
			return nil
		}
	}
	return nil
}

// Thinks reports whether a model prompted by r reasons before it calls or answers: its template has a place for that,
// and has not closed it at the end of a prompt.
func Thinks(r Renderer) bool {
	v, ok := r.(*Vendor)
	if !ok || v.reasoning.open == "" || strings.HasPrefix(v.options.Template, reasonsInText) {
		return false
	}
	c, err := v.conversation(probeTurn(chat.Message{Role: chat.Assistant, Content: probeContent}), v.probeTools)
	if err != nil {
		return true
	}
	prompt, _, err := c.text(c.shift+1, true)
	if err != nil {
		return true
	}
	_, _, closed := v.reasoning.opening(prompt)
	return !closed
}

// learnBeside finds out whether the template takes a call with reasoning and content, or, as gpt-oss's, only one of
// them.
func (v *Vendor) learnBeside() {
	accepts := func(content string) bool {
		m := probeCall(probeReasoning)
		m.Content = content
		c, err := v.conversation(probeTurn(m), v.probeTools)
		if err == nil {
			_, _, err = c.text(c.shift+2, false)
		}
		return err == nil
	}
	v.oneText = false
	v.oneText = accepts("") && !accepts(probeContent)
}

// beside is a message as the template takes it: what is said before a call is then the end of its reasoning.
func (v *Vendor) beside(m chat.Message) chat.Message {
	if v.oneText && m.ReasoningContent != "" && m.Content != "" && len(m.ToolCalls) > 0 {
		m.ReasoningContent, m.Content = m.ReasoningContent+"\n\n"+m.Content, ""
	}
	return m
}

// opening cuts off the end of a prompt at which the template has opened reasoning for the model to go on with. closed
// says that it has ended it too, as where thinking is turned off.
func (r reasoning) opening(prompt string) (base string, opened, closed bool) {
	if r.open == "" {
		return prompt, false, false
	}
	at := strings.LastIndex(prompt, r.open)
	if at < 0 {
		return prompt, false, false
	}
	switch strings.TrimSpace(prompt[at+len(r.open):]) {
	case "":
		return prompt[:at], true, false
	case r.close:
		return prompt[:at], true, true
	}
	if inner := strings.TrimSpace(prompt[at+len(r.open):]); strings.HasSuffix(inner, r.close) &&
		strings.TrimSpace(strings.TrimSuffix(inner, r.close)) == "" {
		return prompt[:at], true, true
	}
	return prompt, false, false
}

// split takes the reasoning off a whole completion. opened says that the prompt began it. ended is false where it does
// not end.
func (r reasoning) split(text string, opened bool) (thought, content string, ended bool) {
	s := splitter{reasoning: r, opened: opened}
	thought, content = s.feed(text)
	restThought, restContent, ended := s.close()
	return thought + restThought, content + restContent, ended
}
