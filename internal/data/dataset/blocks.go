package dataset

import (
	"github.com/go-json-experiment/json/jsontext"

	"hone/internal/chat"
)

// block is a part of a content in Anthropic's Messages API: https://docs.anthropic.com/en/api/messages. Calls and
// results are such parts, results in the user's messages.
type block struct {
	Type      jsontext.Value `json:"type"`
	Text      jsontext.Value `json:"text"`
	Thinking  jsontext.Value `json:"thinking"`
	ToolUseID jsontext.Value `json:"tool_use_id"`
	Content   jsontext.Value `json:"content"`
	raw       jsontext.Value
}

// blocksOf are the parts of a content, nil where none of them is of Anthropic's own types.
func blocksOf(v jsontext.Value) (blocks []block) {
	var parts []jsontext.Value
	if v.Kind() != '[' || decode(v, &parts) != nil {
		return nil
	}
	own := false
	for _, part := range parts {
		b := block{raw: part}
		if part.Kind() != '{' || decode(part, &b) != nil {
			return nil
		}
		switch text(b.Type) {
		case "tool_use", "tool_result", "thinking", "redacted_thinking":
			own = true
		}
		blocks = append(blocks, b)
	}
	if !own {
		return nil
	}
	return blocks
}

// blocks adds a message of parts: what an assistant thought, said and called, or the results and what a user said
// behind them.
func (c *conversation) blocks(m *message, role string, blocks []block) error {
	out := chat.Message{Role: role, ReasoningContent: m.reasoning(), NoLoss: m.noLoss()}
	for _, b := range blocks {
		switch kind := text(b.Type); {
		case kind == "text":
			out.Content += text(b.Text)
		case kind == "thinking" && role == chat.Assistant:
			out.ReasoningContent = join(out.ReasoningContent, text(b.Thinking))
		case kind == "redacted_thinking" && role == chat.Assistant: // nobody but its author can read it
		case kind == "tool_use" && role == chat.Assistant:
			call, err := c.callOf(b.raw)
			if err != nil {
				return err
			}
			out.ToolCalls = append(out.ToolCalls, call)
		case kind == "tool_result" && role == chat.User:
			said, err := contentOf(b.Content)
			if err == nil {
				err = c.result(said, text(b.ToolUseID), "")
			}
			if err != nil {
				return err
			}
		default:
			return refuse(badContent, "a part of type %q in a message of the %s: hone learns text and calls alone",
				kind, role)
		}
	}
	if role == chat.Assistant {
		return c.say(out)
	}
	if out.Content == "" {
		return nil
	}
	if err := c.pendingError(); err != nil {
		return err
	}
	c.messages = append(c.messages, chat.Message{Role: role, Content: out.Content})
	return nil
}
