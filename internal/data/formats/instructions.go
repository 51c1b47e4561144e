package formats

import (
	"hone/internal/chat"
	"hone/internal/data/dataset"
)

// readCompletion reads TRL's prompt-completion form: https://huggingface.co/docs/trl/dataset_formats. Either is a list of messages or a
// text. The prompt is given, as TRL's completion_only_loss has it; the completion is learnt.
func readCompletion(r *record) (dataset.Row, error) {
	tools, err := toolsOf(r.Tools)
	if err != nil {
		return dataset.Row{}, err
	}
	c := conversation{lenient: outcomeOf(r.Outcome) != "", tools: tools}
	if err := c.side(r.Prompt, chat.User); err != nil {
		return dataset.Row{}, within(err, "prompt")
	}
	opening := len(c.messages)
	if err := c.side(r.Completion, chat.Assistant); err != nil {
		return dataset.Row{}, within(err, "completion")
	}
	row := dataset.Row{Messages: c.messages, Opening: opening, Tools: tools}
	return row, r.take(&row)
}

// readAlpaca reads an instruction, the input that it is about, and the output. history is a list of earlier questions and answers.
func readAlpaca(r *record) (dataset.Row, error) {
	tools, err := toolsOf(r.Tools)
	if err != nil {
		return dataset.Row{}, err
	}
	var c conversation
	say := func(role, said string) { c.messages = append(c.messages, chat.Message{Role: role, Content: said}) }
	var history [][2]string
	if first(r.History) != nil {
		list, err := unwrapped(r.History)
		if err != nil || decode(list, &history) != nil {
			return dataset.Row{}, refuse(badShape, `"history" is no list of pairs of texts`)
		}
	}
	for _, turn := range history {
		say(chat.User, turn[0])
		say(chat.Assistant, turn[1])
	}
	said := joined(text(r.Instruction), text(r.Input))
	if said == "" || text(r.Output) == "" {
		return dataset.Row{}, refuse(noMessages, "no instruction, or no output")
	}
	say(chat.User, said)
	say(chat.Assistant, text(r.Output))
	return dataset.Row{Messages: withSystem(c.messages, text(r.System)), Tools: tools}, nil
}
