package dataset

import (
	"hone/internal/chat"
)

// readCompletion reads TRL's prompt-completion form: https://huggingface.co/docs/trl/dataset_formats. Either is a list
// of messages or a text. The prompt is given, as TRL's completion_only_loss has it; the completion is learnt.
func readCompletion(r *record) (Row, error) {
	tools, err := toolsOf(r.tools())
	if err != nil {
		return Row{}, err
	}
	c := conversation{lenient: outcomeOf(r.Outcome) != "", tools: tools}
	if err := c.history(r.History); err != nil {
		return Row{}, err
	}
	if err := c.side(r.Prompt, chat.User); err != nil {
		return Row{}, within(err, "prompt")
	}
	opening := len(c.messages)
	if err := c.side(r.Completion, chat.Assistant); err != nil {
		return Row{}, within(err, "completion")
	}
	row := Row{Messages: c.messages, Opening: opening, Tools: tools}
	return row, r.take(&row)
}

// readAlpaca reads an instruction, the input that it is about, and the output. history is a list of earlier questions
// and answers.
func readAlpaca(r *record) (Row, error) {
	tools, err := toolsOf(r.tools())
	if err != nil {
		return Row{}, err
	}
	var c conversation
	if err := c.history(r.History); err != nil {
		return Row{}, err
	}
	said := join(text(r.Instruction), text(r.Input))
	if said == "" || text(r.Output) == "" {
		return Row{}, refuse(noMessages, "no instruction, or no output")
	}
	c.messages = append(c.messages, chat.Message{Role: chat.User, Content: said},
		chat.Message{Role: chat.Assistant, Content: text(r.Output)})
	return Row{Messages: c.messages, Tools: tools}, nil
}
