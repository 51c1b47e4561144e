package console

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"hone/internal/chat"
	"hone/internal/episode/environment"
	"hone/internal/episode/rollout"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
	"hone/internal/host"
)

// Policy is a person who does the tasks: types the answers and the calls. It implements rollout.Policy.
type Policy struct {
	host  *host.Host
	lines *Lines
}

// NewPolicy is the person at a host.
func NewPolicy(h *host.Host) Policy { return Policy{h, NewLines(h)} }

// NumSlots implements rollout.Policy.
func (Policy) NumSlots() int { return 1 }

// Speaker implements rollout.Policy.
func (p Policy) Speaker(rollout.Attempt) rollout.Speaker { return &speaker{p, 0} }

type speaker struct {
	Policy
	seen int // messages that were shown
}

// Say implements rollout.Speaker.
func (s *speaker) Say(ctx context.Context, messages []chat.Message, tools []chat.Tool) (environment.Reply, error) {
	for _, m := range messages[s.seen:] {
		s.host.Say("%s: %s", m.Role, m.Content)
	}
	s.seen = len(messages) + 1 // and what is said now
	for {
		text, err := s.lines.Next(ctx, "answer, /call TOOL {...} or /tools"+Prompt)
		if errors.Is(err, io.EOF) {
			return environment.Reply{}, &fault.Error{
				Code: fault.CodeStopped,
				What: "stopped by the person who does the tasks; nothing finished is lost",
				Next: "the same command goes on",
			}
		}
		if err != nil {
			return environment.Reply{}, err
		}
		command, rest, _ := strings.Cut(text, " ")
		switch {
		case command == "/call":
			call, err := callOf(rest)
			if err == nil {
				return environment.Reply{Turn: &trajectory.Turn{Calls: []chat.ToolCall{call}}}, nil
			}
			s.host.Say("%v", err)
		case command == "/tools":
			for _, t := range tools {
				s.host.Say("%s: %s\n  %s", t.Name, t.Description, t.InputSchema)
			}
		case strings.HasPrefix(text, "/"):
			s.host.Say("/call TOOL {...} makes a call, /tools lists the tools, %s ends; all else is the answer", Quit)
		default:
			return environment.Reply{Turn: &trajectory.Turn{Content: text}}, nil
		}
	}
}

// callOf reads a tool's name and its arguments, none for {}.
func callOf(text string) (chat.ToolCall, error) {
	name, arguments, _ := strings.Cut(strings.TrimSpace(text), " ")
	if arguments = strings.TrimSpace(arguments); arguments == "" {
		arguments = "{}"
	}
	var object map[string]json.RawMessage
	var compact bytes.Buffer
	if name == "" || json.Unmarshal([]byte(arguments), &object) != nil || object == nil ||
		json.Compact(&compact, []byte(arguments)) != nil {
		return chat.ToolCall{}, errors.New(`write a call as: /call TOOL {"argument": "value"}`)
	}
	return chat.ToolCall{Name: name, Arguments: compact.String()}, nil
}
