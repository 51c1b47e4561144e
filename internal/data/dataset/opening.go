package dataset

import (
	"reflect"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"hone/internal/chat"
)

// What a column beside the answer may be called that says what is answered, the likelier first. An instruction may have
// its input in a column of its own, as in Alpaca.
const askedIn = "prompt, messages, conversations, question, query, instruction, input"

// openingOf adds what an answer in a column of its own answers: earlier turns, and the question. Where there is no
// question it adds nothing.
func (r *columns) openingOf(c *conversation) error {
	asked, where := r.question()
	if asked == nil {
		return nil
	}
	if err := c.history(r.History); err != nil {
		return err
	}
	if err := c.side(asked, chat.User); err != nil {
		return within(err, where)
	}
	if n := len(c.messages); where != "prompt" && n > 0 && c.messages[n-1].Role == chat.Assistant {
		return refuse(badShape, "%q ends with an answer, and there is another", where)
	}
	return nil
}

// system is the system message that stands in a column.
func (r *columns) system() jsontext.Value { return first(r.System, r.SystemPrompt) }

// tools are the tools of a row, whatever their column is called.
func (r *columns) tools() jsontext.Value { return first(r.Tools, r.Functions, r.AvailableTools) }

// addSystem puts the system message that stands in a column before a row's messages, unless they begin with one.
func (r *columns) addSystem(row *Row) error {
	system, err := contentOf(r.system())
	if err != nil {
		return within(err, "system")
	}
	before := len(row.Messages)
	row.Messages = withSystem(row.Messages, system)
	if added := len(row.Messages) - before; row.Opening > 0 {
		row.Opening += added
	}
	return nil
}

// question is the first column that asks something, and its name; nil where none does.
func (r *columns) question() (jsontext.Value, string) {
	instruction := r.Instruction
	if says(r.Instruction) && says(r.Input) && r.Instruction.Kind() == '"' && r.Input.Kind() == '"' {
		instruction = chat.AppendString(nil, join(text(r.Instruction), text(r.Input)), false)
	}
	named := strings.Split(askedIn, ", ")
	for i, v := range []jsontext.Value{r.Prompt, r.Messages, r.turns(), r.Question, r.Query, instruction, r.Input} {
		if says(v) {
			return v, named[i]
		}
	}
	return nil, ""
}

// says reports whether a value is more than blanks, or an empty list or object.
func says(v jsontext.Value) bool {
	switch first(v).Kind() {
	case '"':
		said := strings.TrimSpace(text(v))
		return said != "" && said != "[]"
	case '[', '{':
		inner := strings.TrimSpace(string(v))
		return strings.TrimSpace(inner[1:len(inner)-1]) != ""
	}
	return first(v) != nil
}

// turns are the conversation under either name.
func (r *columns) turns() jsontext.Value { return first(r.Conversations, r.Conversation) }

// history adds earlier questions and answers, a list of pairs of texts.
func (c *conversation) history(v jsontext.Value) error {
	if first(v) == nil {
		return nil
	}
	var turns [][2]string
	if list, err := unwrap(v); err != nil || len(list) > 0 && decode(list, &turns) != nil {
		return refuse(badShape, `"history" is no list of pairs of texts`)
	}
	for _, turn := range turns {
		c.messages = append(c.messages, chat.Message{Role: chat.User, Content: turn[0]},
			chat.Message{Role: chat.Assistant, Content: turn[1]})
	}
	return nil
}

// side adds messages, one message, or a text that is one message of a role.
func (c *conversation) side(v jsontext.Value, role string) error {
	list, err := unwrap(v)
	switch {
	case err == nil && list.Kind() == '[':
		return c.add(list)
	case v.Kind() == '{':
		var request struct { // OpenAI's input of a preference
			Messages jsontext.Value `json:"messages"`
		}
		if decode(v, &request) == nil && request.Messages != nil {
			return c.add(request.Messages)
		}
		return c.addOne(v)
	case v.Kind() != '"':
		return refuse(badShape, "neither messages nor a text")
	}
	c.messages = append(c.messages, chat.Message{Role: role, Content: text(v)})
	return nil
}

// openingLength leaves out an opening that what goes on from it begins with once more: in many data sets the prompt is
// a column, and each side is the whole conversation all the same. It returns the length of the opening.
func (c *conversation) openingLength(opening int) int {
	parts := func(m []chat.Message) (system, rest []chat.Message) {
		n := 0
		for n < len(m) && m[n].Role == chat.System {
			n++
		}
		return m[:n], m[n:]
	}
	system, given := parts(c.messages[:opening])
	also, said := parts(c.messages[opening:])
	if len(given) == 0 || len(said) <= len(given) || !reflect.DeepEqual(said[:len(given)], given) {
		return opening
	}
	if len(also) > 0 {
		system = also
	}
	whole := append(append([]chat.Message{}, system...), said...)
	c.messages = whole
	return len(system) + len(given)
}
