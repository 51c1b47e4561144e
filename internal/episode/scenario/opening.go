package scenario

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"hone/internal/chat"
	"hone/internal/grade"
)

// Opening is the conversation that an episode begins with, and that the policy is to go on with: the messages, or the
// task as the only one, or the user's first words. It is empty where a model is to find those. It is the caller's to
// append to.
func (s *Scenario) Opening() []chat.Message {
	switch {
	case len(s.Messages) > 0:
		return slices.Clone(s.Messages)
	case s.Task == "" && s.User != nil:
		return userWords(s.User.first())
	}
	return userWords(s.Task)
}

// Asks is what the user says last before the policy's first turn: the task. Of a user whose first words are not known,
// it is the goal.
func (s *Scenario) Asks() string {
	for _, m := range slices.Backward(s.Opening()) {
		if m.Role == chat.User {
			return m.Content
		}
	}
	if s.UserBegins() {
		return s.User.Goal
	}
	return s.Task
}

// wording is all that the opening says, by which a scenario is named, and split where it asks for no call.
func (s *Scenario) wording() string {
	if len(s.Messages) == 0 && s.User == nil {
		return s.Task
	}
	said := any(s.Messages)
	if s.User != nil {
		said = []any{s.Task, s.Messages, s.User}
	}
	text, _ := json.Marshal(said) // of texts, and of JSON that was read
	return string(text)
}

// validateOpening refuses what no chat template would write: turns out of order, and calls without a result.
func (s *Scenario) validateOpening() error {
	switch {
	case s.Task == "" && len(s.Messages) == 0 && s.User != nil:
		return nil
	case s.Task == "" && len(s.Messages) == 0:
		return errors.New(`"task" is missing or empty; "messages" or "user" can be in its place`)
	case s.Task != "" && len(s.Messages) > 0:
		return errors.New(`"task" and "messages" are both there; a task is short for one message of the user`)
	case s.Task != "":
		return nil
	}
	var open []chat.ToolCall // calls that have no result yet
	seen := map[string]bool{}
	last := ""
	for i := range s.Messages {
		m := &s.Messages[i]
		if err := follows(last, *m, open); err != nil {
			return fmt.Errorf("messages[%d]: %w", i, err)
		}
		last = m.Role
		if m.Role == chat.ToolRole {
			m.Name, open = open[0].Name, open[1:] // chat templates may write the name
			continue
		}
		for k, c := range m.ToolCalls {
			if err := validateCall(c, seen); err != nil {
				return fmt.Errorf("messages[%d]: tool_calls[%d]: %w", i, k, err)
			}
		}
		open = m.ToolCalls
	}
	if last != chat.User && last != chat.ToolRole || len(open) > 0 {
		return errors.New(
			`"messages" must end with the user or with the last result of a tool: what follows is the model's turn`,
		)
	}
	return nil
}

// follows says why a message cannot stand behind one of another role ("" before the first), with calls that are still
// open.
func follows(last string, m chat.Message, open []chat.ToolCall) error {
	switch {
	case m.Role == chat.ToolRole && len(open) == 0:
		return errors.New("a result of a tool, and no call is without one")
	case m.Role == chat.ToolRole && m.ToolCallID != open[0].ID:
		return fmt.Errorf("tool_call_id is %q, and the next call without a result is %q", m.ToolCallID, open[0].ID)
	case m.Role == chat.ToolRole:
		return nil
	case len(open) > 0:
		return fmt.Errorf("the call %q has no result before it", open[0].ID)
	case m.Role == chat.System && last != "":
		return errors.New("a system message can only be the first")
	case m.Role == chat.User && last == chat.User, m.Role == chat.Assistant && last == chat.Assistant:
		return fmt.Errorf("two messages in a row have the role %s", m.Role)
	case m.Role == chat.Assistant && last != chat.User && last != chat.ToolRole:
		return errors.New("the user must speak before the assistant")
	case len(m.ToolCalls) > 0 && m.Role != chat.Assistant:
		return fmt.Errorf("tool_calls in a message of the role %s", m.Role)
	case m.Content == "" && len(m.ToolCalls) == 0:
		return errors.New("it has neither content nor tool_calls")
	case m.Role != chat.System && m.Role != chat.User && m.Role != chat.Assistant:
		return fmt.Errorf("role %q is none of system, user, assistant and tool", m.Role)
	}
	return nil
}

// validateCall refuses a call of an earlier turn without a name, or without an id of its own; seen are the ids before
// it.
func validateCall(c chat.ToolCall, seen map[string]bool) error {
	if c.Name == "" || c.ID == "" || seen[c.ID] {
		return fmt.Errorf("it needs a name, and an id that no other call has; it has %q and %q", c.Name, c.ID)
	}
	seen[c.ID] = true
	v, err := grade.Decode(c.Arguments)
	if _, object := v.(map[string]any); err != nil || !object {
		return fmt.Errorf("arguments of %s are not the text of a JSON object: %s", c.Name, c.Arguments)
	}
	return nil
}
