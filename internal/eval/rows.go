// Package eval turns trajectories into numbers a person can trust: success rates with intervals, paired differences
// of two systems on the same scenarios.
package eval

import (
	"hone/internal/episode/trajectory"
)

// Row is one scored episode.
type Row struct {
	ScenarioID string   `json:"scenario_id"`
	Kind       string   `json:"kind,omitempty"` // the group it is reported in
	Tags       []string `json:"tags,omitempty"`
	Tools      []string `json:"tools,omitempty"` // those of the gold calls, each once

	FirstCall bool `json:"first_call"` // the first call was the first gold call
	Episode   bool `json:"episode"`    // the whole task was done
	NumGold   int  `json:"num_gold"`   // gold calls of the scenario; without any FirstCall and NumExtraCalls say nothing

	NumTurns            int     `json:"num_turns"`
	NumCalls            int     `json:"num_calls"`
	NumToolErrors       int     `json:"num_tool_errors"`       // calls the tool answered with an error
	NumInvalidCalls     int     `json:"num_invalid_calls"`     // unknown tool or arguments against the schema
	NumExtraCalls       int     `json:"num_extra_calls"`       // calls beyond the number of gold calls
	NumCompletionTokens int     `json:"num_completion_tokens"` // 0 where the policy gave no token ids
	Reward              float64 `json:"reward"`
	Seconds             float64 `json:"seconds"`
	ModelSeconds        float64 `json:"model_seconds"` // of them, those in which the model wrote
	ToolSeconds         float64 `json:"tool_seconds"`  // and those in which tools worked
}

// Criteria say what counts as success, and what that is held against. FirstCall and Episode are required, the others may be nil.
type Criteria struct {
	FirstCall  func(*trajectory.Trajectory) bool
	Episode    func(*trajectory.Trajectory) bool
	ExtraCalls func(*trajectory.Trajectory) int // calls beyond the gold calls
	NumGold    func(scenarioID string) int
	Kind       func(scenarioID string) string
	Tags       func(scenarioID string) []string
	Tools      func(scenarioID string) []string
}

// FromTrajectories makes one row of each trajectory whose outcome is the policy's doing, in order. The others, such
// as a server's crash, are counted by outcome and are in no rate: they say nothing about the policy.
func FromTrajectories(ts []*trajectory.Trajectory, c Criteria) (rows []Row, excluded map[trajectory.Outcome]int) {
	excluded = map[trajectory.Outcome]int{}
	for _, t := range ts {
		if !t.Outcome.Trainable() {
			excluded[t.Outcome]++
			continue
		}
		r := Row{ScenarioID: t.ScenarioID, FirstCall: c.FirstCall(t), Episode: c.Episode(t),
			NumTurns: len(t.Turns), Reward: t.Reward, Seconds: t.Seconds}
		if c.Kind != nil {
			r.Kind = c.Kind(t.ScenarioID)
		}
		if c.Tags != nil {
			r.Tags = c.Tags(t.ScenarioID)
		}
		if c.Tools != nil {
			r.Tools = c.Tools(t.ScenarioID)
		}
		if c.NumGold != nil {
			r.NumGold = c.NumGold(t.ScenarioID)
		}
		if c.ExtraCalls != nil {
			r.NumExtraCalls = c.ExtraCalls(t)
		}
		for _, c := range t.Calls() {
			r.NumCalls++
			r.ToolSeconds += c.Seconds
			switch c.Status {
			case trajectory.CallToolError:
				r.NumToolErrors++
			case trajectory.CallInvalid:
				r.NumInvalidCalls++
			}
		}
		for _, turn := range t.Turns {
			r.NumCompletionTokens += len(turn.CompletionIDs)
			r.ModelSeconds += turn.SampleSeconds
		}
		rows = append(rows, r)
	}
	return rows, excluded
}

// FirstCall is 1 where the first call was the right one. It and Episode are metrics for Estimate and Compare; FirstCall is
// one of the rows that WithGold returns.
func FirstCall(r Row) float64 { return oneIf(r.FirstCall) }

// WithGold returns the rows whose scenarios have gold calls: of the others, no call is the right one.
func WithGold(rows []Row) []Row {
	var out []Row
	for _, r := range rows {
		if r.NumGold > 0 {
			out = append(out, r)
		}
	}
	return out
}

// Episode is 1 where the whole task was done.
func Episode(r Row) float64 { return oneIf(r.Episode) }

func oneIf(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
