package dataset

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"hone/internal/chat"
	"hone/internal/episode/trajectory"
)

// own are the members that a trajectory of hone has beside those of a conversation.
type own struct {
	Opening    jsontext.Value `json:"opening"`
	Shown      jsontext.Value `json:"shown"`
	Split      jsontext.Value `json:"split"`
	ScenarioID jsontext.Value `json:"scenario_id"`
	Scenario   jsontext.Value `json:"scenario_hash"`
	Outcome    jsontext.Value `json:"outcome"`
	Terms      jsontext.Value `json:"terms"`
	Turns      jsontext.Value `json:"turns"`
	TraceID    jsontext.Value `json:"trace_id"`
	Turn       jsontext.Value `json:"turn"`
	NumTurns   jsontext.Value `json:"n_turns"`
}

// split takes the split of a row, which any format may have. One that is not known is refused: it may be one to be
// measured on.
func (o *own) split(row *Row) error {
	if o.Split != nil && o.Split.Kind() != 'n' && string(o.Split) != `""` {
		if row.Split = SplitOf(text(o.Split)); row.Split == "" {
			return refuse(noSplit, "%.60q is neither train, validation nor test; correct or remove the member",
				string(o.Split))
		}
	}
	return nil
}

// take copies the others into a row. What has another type, or a value that hone never writes, is another's member of
// the same name.
func (o *own) take(row *Row) error {
	if row.Outcome = outcomeOf(o.Outcome); row.Outcome != "" { // hone's own, where some forms have them as JSON text
		for _, m := range []*jsontext.Value{&o.Terms, &o.Turns} {
			if inner, err := unwrap(*m); err == nil {
				*m = inner
			}
		}
	}
	for _, m := range []struct {
		from jsontext.Value
		to   any
		kind jsontext.Kind
		name string
	}{
		{o.Opening, &row.Opening, '0', "opening"},
		{o.Shown, &row.Shown, '{', "shown"},
		{o.Terms, &row.Terms, '[', "terms"},
		{o.Turn, &row.Turn, '0', "turn"},
		{o.NumTurns, &row.NumTurns, '0', "n_turns"},
	} {
		if m.from.Kind() == m.kind {
			if err := decode(m.from, m.to); err != nil {
				return refuse(badShape, "%q", m.name)
			}
		}
	}
	if row.Opening < 0 || row.Opening > len(row.Messages) {
		return refuse(badShape, `"opening" is %d of %d messages`, row.Opening, len(row.Messages))
	}
	row.ScenarioID, row.Scenario, row.TraceID = text(o.ScenarioID), text(o.Scenario), text(o.TraceID)
	var turns []struct {
		Results    []Result          `json:"results"`
		Usage      *trajectory.Usage `json:"usage"`
		ParseError string            `json:"parse_error"`
	}
	if o.Turns.Kind() == '[' && row.Outcome != "" {
		if err := decode(o.Turns, &turns); err != nil {
			return refuse(badShape, `"turns"`)
		}
	}
	for _, turn := range turns {
		row.Results = append(row.Results, turn.Results...)
		if turn.Usage != nil {
			row.AddUsage(*turn.Usage)
		}
	}
	var said []*chat.Message // a message a turn
	for i := row.Opening; i < len(row.Messages); i++ {
		if row.Messages[i].Role == chat.Assistant {
			said = append(said, &row.Messages[i])
		}
	}
	for i, turn := range turns {
		// it was told so and went on: context, and nothing to learn
		if turn.ParseError != "" && len(said) == len(turns) {
			said[i].NoLoss = true
		}
	}
	return nil
}

// outcomeOf is one of hone's outcomes, or "".
func outcomeOf(v jsontext.Value) trajectory.Outcome {
	switch outcome := trajectory.Outcome(text(v)); outcome {
	case trajectory.OK, trajectory.PolicyError, trajectory.Limit, trajectory.EnvironmentError, trajectory.JudgeError,
		trajectory.InfrastructureError:
		return outcome
	}
	return ""
}

// readOpenAI reads messages and tools, either as a list or as a string of one. function_call and functions are their
// older form. Contents of Anthropic's blocks are read too.
func readOpenAI(r *record) (Row, error) {
	tools, err := toolsOf(r.tools())
	if err != nil {
		return Row{}, err
	}
	c := conversation{lenient: outcomeOf(r.Outcome) != "", tools: tools} // hone's own record: wrong calls and all
	if err := c.add(r.Messages); err != nil {
		return Row{}, err
	}
	row := Row{Messages: c.messages, Tools: tools}
	return row, r.take(&row)
}

// How Toucan's system messages list the tools that the teacher saw.
const declareStart, declareEnd = "<|im_system|>tool_declare<|im_middle|>", "<|im_end|>"

// readToucan reads rows of Toucan-1.5M. The tools are those that the teacher was shown in the system message, which in
// many rows are others than available_tools; the list itself is taken out of the message, since a chat template writes
// it.
func readToucan(r *record) (Row, error) {
	var c conversation
	if err := c.add(r.Messages); err != nil {
		return Row{}, err
	}
	listed := first(r.AvailableTools, r.Tools)
	if len(c.messages) > 0 && c.messages[0].Role == chat.System {
		before, rest, found := strings.Cut(c.messages[0].Content, declareStart)
		if list, after, ended := strings.Cut(rest, declareEnd); found && ended {
			if v := jsontext.Value(strings.TrimSpace(list)); v.Kind() == '[' &&
				v.IsValid(jsontext.AllowDuplicateNames(true)) {
				listed = v
			}
			c.messages[0].Content = strings.TrimSpace(before + after)
		}
		if c.messages[0].Content == "" {
			c.messages = c.messages[1:]
		}
	}
	tools, err := toolsOf(listed)
	return Row{Messages: c.messages, Tools: tools}, err
}
