// Package dataset reads the rows that data sets of conversations with tools are kept in, and makes the one form of them
// that hone learns from: Row. It writes them too (OpenSink): a data set folder of the Hub, session traces, rows
// for TRL and Axolotl, pairs for preference learning; put into place whole, or not at all. Each format is a pure
// function of a row; what is alike in several stands in messages.go and tools.go.
//
// EachRecord reads files of rows as a stream: JSON lines, JSON arrays and documents, and parquet, gzipped or not, alone
// or in a folder. A row comes out as JSON text with the place it stands at; a row that cannot be read comes out as a
// refusal, and those behind it are read all the same. No more than a few rows are held at once.
//
// The forms were taken from their publishers' files and papers: Toucan (arXiv 2510.01179), xLAM and APIGen
// (2406.18518), APIGen-MT (2504.03601), MCP-Flow (2510.24284), Hermes function calling v1, the Hub's Session Trace
// Simple Format, TRL's dataset formats, and LLaMA-Factory's data/README.md for Alpaca.
//
// It makes several training rows of one conversation, and proves by which of them each assistant message is trained.
//
// Example: U1 A1 T A2 U2 A3, where T is a tool's result. Brackets show what is trained.
//
//	turns:     U1 [A1] T [A2]         and  U1 A1 T A2 U2 [A3]
//	prefixes:  U1 [A1] T [A2]         and  U1 [A1] T [A2] U2 [A3]
//
// A chat template that drops the reasoning of earlier user turns shows that of A1 and A2 in the first row alone, so one
// row of the whole conversation would not train it.
package dataset

import (
	"hone/internal/chat"
	"hone/internal/episode/trajectory"
)

// Row is one conversation with its tools: a trace. It is read from the forms that others keep it in, and a trajectory
// of hone is one with more members.
type Row struct {
	File string // it was read from
	Line int    // in its file, from 1; of parquet the row

	ID         string // its own, where it has one
	Messages   []chat.Message
	Opening    int                // how many of the messages were given, and are not to be learnt
	Tools      []chat.Tool        // of the row itself; none where it has none
	Shown      *trajectory.Shown  // of a trajectory, in their place
	Split      string             // of a trajectory's scenario, or of the data set's file; "" where none is known
	ScenarioID string             // of a trajectory
	Scenario   string             // of a trajectory: its scenario's hash
	Outcome    trajectory.Outcome // empty for a plain conversation
	Terms      []trajectory.Term  // of a scored trajectory
	Results    []Result           // of a trajectory's calls, in order

	// Usage is what endpoints counted in all turns of a trajectory that was collected from them. Of several rows that
	// one trace is cut into, the first has it.
	Usage *trajectory.Usage

	TraceID  string // of an unrolled row: the trace it is a part of
	Turn     int    // of an unrolled row: which of the user's turns it ends with, from 1
	NumTurns int    // of an unrolled row: how many its trace has
}

// Result is how one call of a trajectory went.
type Result struct {
	Call struct {
		ID string `json:"ID,case:ignore"` // as trajectories write it
	} `json:"call"`
	Status trajectory.CallStatus `json:"status"`
	Error  string                `json:"error,omitempty"`
}

// WhyNoDemonstration says why a row shows nothing to imitate, or "": an episode that did not end by itself, or whose
// scenario's checks it failed.
func (r Row) WhyNoDemonstration() string {
	if r.Outcome != "" && r.Outcome != trajectory.OK {
		return "outcome " + string(r.Outcome)
	}
	for _, t := range r.Terms {
		if t.Name == "checks" && t.Score < 1 {
			return "failed " + t.Why
		}
	}
	for _, m := range r.Messages[r.Opening:] {
		if m.Role == chat.Assistant && !m.NoLoss {
			return ""
		}
	}
	return "no assistant message"
}

// Trains reports whether a message is to be learnt: one that an assistant wrote, that was not given, and that no mask
// leaves out.
func (r Row) Trains(message int) bool {
	m := &r.Messages[message]
	return message >= r.Opening && m.Role == chat.Assistant && !m.NoLoss
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
