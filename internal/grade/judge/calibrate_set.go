package judge

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"hone/internal/chat"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
)

// Attempt is an episode of which it is known whether it passes.
type Attempt struct {
	Trajectory *trajectory.Trajectory
	Passed     *bool  // nil where nobody knows
	By         string // who says so: Rules, Labels; "" where nobody does
	Trick      string // what it tries a judge with, MasterKey or Injection; "" for one that does its task, or tries to
}

// Who says whether an attempt passes.
const (
	Rules  = "rules"  // the checks of its scenario
	Labels = "labels" // a person
)

// Group is attempts at one scenario.
type Group struct {
	Scenario *scenario.Scenario
	Attempts []Attempt
}

// task is one task of a set as it is written.
type task struct {
	ID    string `json:"id"`
	Task  string `json:"task"`
	Tools []struct {
		Name        string `json:"name"`
		Description string `json:"description"`
	} `json:"tools"`
	Attempts []struct {
		Passed *bool  `json:"passed"`
		Steps  []step `json:"steps"`
	} `json:"attempts"`
}

// step is a call with its result, or what is said.
type step struct {
	Call      string          `json:"call"`
	Arguments json.RawMessage `json:"arguments"`
	Result    string          `json:"result"`
	Error     bool            `json:"error"` // the result is an error
	Say       string          `json:"say"`
}

//go:embed set.json
var builtInSet []byte

// BuiltInSet is the set that is there without a run: small tasks, each with attempts that people labelled.
func BuiltInSet() ([]Group, error) { return ReadSet(builtInSet) }

// ReadSet reads a set: a JSON list of tasks, each with {"id", "task", "tools": [{"name", "description"}], "attempts":
// [{"passed", "steps": [{"call", "arguments", "result"} or {"say"}]}]}.
func ReadSet(text []byte) ([]Group, error) {
	var tasks []task
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&tasks); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the list")
	}
	var groups []Group
	for i, t := range tasks {
		if t.Task == "" || len(t.Attempts) == 0 {
			return nil, fmt.Errorf("tasks[%d] has no task, or no attempts", i)
		}
		if t.ID == "" {
			t.ID = fmt.Sprint("task-", i)
		}
		g := Group{Scenario: &scenario.Scenario{ID: t.ID, Task: t.Task}}
		for k, a := range t.Attempts {
			if a.Passed == nil || len(a.Steps) == 0 {
				return nil, fmt.Errorf("tasks[%d].attempts[%d] does not say whether it passes, or has no steps", i, k)
			}
			x, err := t.play(a.Steps)
			if err != nil {
				return nil, fmt.Errorf("tasks[%d].attempts[%d]: %w", i, k, err)
			}
			g.Attempts = append(g.Attempts, Attempt{Trajectory: x, Passed: a.Passed, By: Labels})
		}
		groups = append(groups, g)
	}
	return groups, nil
}

// play writes steps down as the record of an episode.
func (t task) play(steps []step) (*trajectory.Trajectory, error) {
	x := &trajectory.Trajectory{ScenarioID: t.ID, Outcome: trajectory.OK, StopReason: trajectory.StopCompleted,
		Opening: 1, Messages: []chat.Message{{Role: chat.User, Content: t.Task}}}
	for _, tool := range t.Tools {
		x.Tools = append(x.Tools, chat.Tool{Name: tool.Name, Description: tool.Description})
	}
	for i, s := range steps {
		if (s.Call == "") == (s.Say == "") {
			return nil, fmt.Errorf("steps[%d] is neither a call nor something said", i)
		}
		if s.Say != "" {
			x.Messages = append(x.Messages, chat.Message{Role: chat.Assistant, Content: s.Say})
			x.Turns = append(x.Turns, trajectory.Turn{Content: s.Say})
			continue
		}
		arguments := "{}"
		if len(s.Arguments) > 0 {
			arguments = string(s.Arguments)
		}
		call := chat.ToolCall{ID: fmt.Sprint("call_", i), Name: s.Call, Arguments: arguments}
		status := trajectory.CallOK
		if s.Error {
			status = trajectory.CallToolError
		}
		x.Messages = append(x.Messages, chat.Message{Role: chat.Assistant, ToolCalls: []chat.ToolCall{call}},
			chat.Message{Role: chat.ToolRole, ToolCallID: call.ID, Name: s.Call, Content: s.Result})
		x.Turns = append(x.Turns, trajectory.Turn{Calls: []chat.ToolCall{call}, Results: []trajectory.ToolResult{
			{Call: call, Status: status, Text: s.Result},
		}})
	}
	return x, nil
}
