package dataset

import (
	"github.com/go-json-experiment/json/jsontext"

	"hone/internal/chat"
)

// readXLAM reads a query and the calls that answer it. What the calls gave is not in such a row.
func readXLAM(r *record) (Row, error) { return r.questionAndCalls(r.Query, r.Answers) }

// readPair reads MCP-Flow's instruction and the one call that follows. Its tools are in files of their own: name them
// with --catalog.
func readPair(r *record) (Row, error) { return r.questionAndCalls(r.SourceInstruction, r.FunctionCall) }

func (r *record) questionAndCalls(question, answer jsontext.Value) (Row, error) {
	tools, err := toolsOf(r.tools())
	if err != nil {
		return Row{}, err
	}
	c := conversation{tools: tools}
	calls, err := c.callList(answer)
	if err != nil {
		return Row{}, err
	}
	messages, err := questionAndCalls(text(question), calls)
	return Row{Messages: messages, Tools: tools}, err
}

// questionAndCalls is a conversation of one question and the calls for it.
func questionAndCalls(task string, calls []chat.ToolCall) ([]chat.Message, error) {
	c := conversation{messages: []chat.Message{{Role: chat.User, Content: task}}}
	if task == "" || len(calls) == 0 {
		return nil, refuse(noMessages, "no question, or no call")
	}
	err := c.say(chat.Message{ToolCalls: calls})
	return c.messages, err
}

// readTrajectory reads MCP-Flow's list of messages, whose calls are objects without an id.
func readTrajectory(r *record) (Row, error) {
	tools, err := toolsOf(r.tools())
	if err != nil {
		return Row{}, err
	}
	c := conversation{tools: tools}
	err = c.add(r.Trajectory)
	return Row{Messages: c.messages, Tools: tools}, err
}

// readSTS reads a session header and its message lines.
func readSTS(r *record) (Row, error) {
	tools, err := toolsOf(r.tools())
	if err != nil {
		return Row{}, err
	}
	c := conversation{lenient: outcomeOf(r.Outcome) != "", tools: tools}
	for i, line := range r.rest {
		var envelope struct {
			Type    jsontext.Value `json:"type"`
			Message jsontext.Value `json:"message"`
		}
		if err := decode(line, &envelope); err != nil {
			return Row{}, refuse(badShape, "line %d of the session", i+2)
		}
		if text(envelope.Type) != "message" || envelope.Message == nil {
			continue // the format allows other lines
		}
		if err := c.addOne(envelope.Message); err != nil {
			return Row{}, within(err, "a message of the session")
		}
	}
	row := Row{Messages: c.messages, Tools: tools}
	return row, r.take(&row)
}
