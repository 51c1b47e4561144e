// Package dataset reads conversations that a model is to learn from.
package dataset

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"hone/internal/chat"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
)

// Row is one conversation: a line {"messages": [...], "tools": [...]} in OpenAI's form, or a trajectory, which is such
// a line with more keys.
type Row struct {
	Line     int                `json:"-"` // in its file, from 1
	Messages []chat.Message     `json:"messages"`
	Opening  int                `json:"opening"`       // of a trajectory: how many of the messages were given, and are not to be learnt
	Tools    []chat.Tool        `json:"tools"`         // of the row itself; none where the line has none
	Shown    *trajectory.Shown  `json:"shown"`         // of a trajectory, in their place
	Split    string             `json:"split"`         // of a trajectory's scenario; none of a plain conversation
	Scenario string             `json:"scenario_hash"` // of a trajectory
	Outcome  trajectory.Outcome `json:"outcome"`       // empty for a plain conversation
	Terms    []trajectory.Term  `json:"terms"`         // of a scored trajectory
}

// Parse reads JSON lines; keys it does not know are left alone. name is used in errors only. Its error is a
// *fault.Error with exit code 2 that lists every broken row as file:line.
func Parse(name string, data []byte) ([]Row, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("[")) {
		return nil, &fault.Error{Code: fault.CodeUsage, What: "cannot read the conversations", Where: name,
			Why: "it is a JSON array", Next: "write one JSON object a line, without the brackets and commas around them"}
	}
	var rows []Row
	var broken []string
	first := 0
	for i, line := range bytes.Split(data, []byte("\n")) {
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		row := Row{Line: i + 1}
		err := fault.JSON(json.Unmarshal(line, &row))
		if err == nil {
			err = row.validate()
		}
		if err != nil {
			if first == 0 {
				first = row.Line
			}
			broken = append(broken, fmt.Sprintf("%s:%d: %v", name, i+1, err))
			continue
		}
		rows = append(rows, row)
	}
	if len(broken) > 0 {
		return nil, &fault.Error{Code: fault.CodeUsage, What: fault.Count(len(broken), "broken row") + " in the conversations",
			Where: fmt.Sprintf("%s:%d", name, first), Why: strings.Join(broken, "\n    "),
			Next: `each line is one JSON object: {"messages": [{"role": "user", "content": "..."}, ...]}`}
	}
	if len(rows) == 0 {
		return nil, &fault.Error{Code: fault.CodeUsage, What: "there is no conversation", Where: name,
			Next: `add at least one line: {"messages": [...]}`}
	}
	return rows, nil
}

func (r Row) validate() error {
	if len(r.Messages) == 0 {
		return fmt.Errorf(`"messages" is missing or empty`)
	}
	if r.Opening < 0 || r.Opening > len(r.Messages) {
		return fmt.Errorf(`"opening" is %d of %d messages`, r.Opening, len(r.Messages))
	}
	for i, m := range r.Messages {
		switch m.Role {
		case chat.System, chat.User, chat.Assistant, chat.ToolRole:
		default:
			return fmt.Errorf("messages[%d]: role %q is none of system, user, assistant and tool", i, m.Role)
		}
	}
	return nil
}

// NotDemonstrated says why a row shows nothing to imitate, or "": an episode that did not end by itself, or whose
// scenario's checks it failed.
func (r Row) NotDemonstrated() string {
	if r.Outcome != "" && r.Outcome != trajectory.OK {
		return "outcome " + string(r.Outcome)
	}
	for _, t := range r.Terms {
		if t.Name == "checks" && t.Score < 1 {
			return "failed " + t.Why
		}
	}
	for _, m := range r.Messages[r.Opening:] {
		if m.Role == chat.Assistant {
			return ""
		}
	}
	return "no assistant message"
}

// ToLearnFrom reports whether a row is of the training split, or of none: the others are to be measured on.
func (r Row) ToLearnFrom() bool { return r.Split == "" || r.Split == "train" }

// Task is what the user said first.
func (r Row) Task() string {
	for _, m := range r.Messages {
		if m.Role == chat.User {
			return m.Content
		}
	}
	return ""
}

// UnknownTool is the first tool that the conversation calls and that is not among tools, or "".
func (r Row) UnknownTool(tools []chat.Tool) string {
	known := map[string]bool{}
	for _, t := range tools {
		known[t.Name] = true
	}
	for _, m := range r.Messages {
		for _, c := range m.ToolCalls {
			if !known[c.Name] {
				return c.Name
			}
		}
	}
	return ""
}
