package view

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"hone/internal/console/sanitize"
	"hone/internal/job/records"
)

type linesAsked struct {
	Run      string `json:"run" jsonschema:"the name or the folder of a run"`
	Stage    string `json:"stage,omitempty" jsonschema:"such as grpo, validation, eval_base or collect"`
	Step     *int   `json:"step,omitempty" jsonschema:"the step of the stage, from 0"`
	Scenario string `json:"scenario,omitempty" jsonschema:"the id of a scenario"`
	Outcome  string `json:"outcome,omitempty" jsonschema:"ok, policy_error, limit, environment_error and others that the list shows"`
	Reason   string `json:"reason,omitempty" jsonschema:"why episodes ended: completed, max_turns and others that the list shows"`
	Tool     string `json:"tool,omitempty" jsonschema:"a tool that is called"`
	Text     string `json:"text,omitempty" jsonschema:"words in the task, the answers or the calls"`
	Passed   *bool  `json:"passed,omitempty" jsonschema:"whether the checks hold"`
	Worst    bool   `json:"worst,omitempty" jsonschema:"those that earned least first; lost and unscored ones are left out"`
	Offset   int    `json:"offset,omitempty" jsonschema:"how many to leave out: next of the part before"`
	Limit    int    `json:"limit,omitempty" jsonschema:"how many to list: 20 by default, 200 at most"`
}

// linesAtOnce is how many trajectories are listed where nobody says; mostLines is the most.
const (
	linesAtOnce = 20
	mostLines   = 200
)

func (d *Desk) listTrajectories(_ context.Context, in linesAsked) (any, error) {
	r, _, err := d.reading(in.Run)
	if err != nil {
		return nil, err
	}
	if in.Limit <= 0 {
		in.Limit = linesAtOnce
	}
	return r.Lines(Filter{Stage: in.Stage, Scenario: in.Scenario, Outcome: in.Outcome, Reason: in.Reason,
		Tool: in.Tool, Text: in.Text, Step: in.Step, Passed: in.Passed, Worst: in.Worst, Offset: in.Offset,
		Limit: min(in.Limit, mostLines)})
}

type trajectoryAsked struct {
	Run    string `json:"run" jsonschema:"the name or the folder of a run"`
	Name   string `json:"name" jsonschema:"the trajectory's name, as list_trajectories has it"`
	Offset int    `json:"offset,omitempty" jsonschema:"bytes to leave out: next of the part before"`
}

// textAtOnce is how many bytes of a trajectory come at once.
const textAtOnce = 24 << 10

func (d *Desk) readTrajectory(_ context.Context, in trajectoryAsked) (any, error) {
	_, path, err := d.reading(in.Run)
	if err != nil {
		return nil, err
	}
	found, err := records.FindEpisode(path, in.Name)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	if err := found.WriteText(&b); err != nil {
		return nil, err
	}
	return textPart(sanitize.Text(b.String()), in.Offset), nil
}

// textPart is what of a text comes at once, and where the rest begins.
func textPart(text string, offset int) string {
	first := min(max(offset, 0), len(text))
	for first < len(text) && !utf8.RuneStart(text[first]) {
		first++
	}
	last := min(first+textAtOnce, len(text))
	for last < len(text) && !utf8.RuneStart(text[last]) {
		last--
	}
	if last == len(text) {
		return text[first:]
	}
	return text[first:last] + fmt.Sprintf("\n... %d bytes more: next is %d\n", len(text)-last, last)
}
