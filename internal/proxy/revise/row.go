package revise

import (
	"encoding/json"
	"fmt"
	"slices"

	"hone/internal/chat"
	"hone/internal/episode/scenario"
	"hone/internal/grade"
)

// Point is a place in a scenario where a call is to be made: the conversation so far, and the gold calls. They were
// executed. One without gold calls is the end of a scenario, where the answer in words is due.
type Point struct {
	ID       string             `json:"id"`       // scenario#turn
	Scenario string             `json:"scenario"` // its id: rows of one scenario are one piece of evidence
	Split    string             `json:"split"`
	Server   string             `json:"server"` // of the gold call's tool, or of the last one
	Template scenario.Templates `json:"template,omitempty"`
	Setup    []scenario.Gold    `json:"setup,omitempty"`
	Messages []chat.Message     `json:"messages"`
	Tools    []string           `json:"tools"` // shown, by their names in the catalog
	Gold     []scenario.Gold    `json:"gold"`
	Later    []scenario.Gold    `json:"later,omitempty"` // the scenario's gold calls of later turns: too early here
	// Answered is what became of the gold calls: "ok", or "tool_error" where the scenario wants the refusal.
	Answered string `json:"answered"`
}

// Row is what an upstream wrote at a point, and what is known of it.
type Row struct {
	Point
	ID     string       `json:"row"`
	Source string       `json:"source"` // who wrote the draft: "corrupt", or a model
	Draft  chat.Message `json:"draft"`
	Right  bool         `json:"right"`           // its calls are the gold calls, as they stand
	Kinds  []string     `json:"kinds,omitempty"` // what is wrong with it, see Kinds
	// what became of its calls behind the fixer: a call status; "" where they were not made
	Executed string `json:"executed,omitempty"`
	// the revision of a stronger model, where it is right; nil: the gold calls
	Target *chat.Message `json:"target,omitempty"`
}

// GoldCalls are the gold calls in the conversation's form.
func (p *Point) GoldCalls() []chat.ToolCall {
	calls := make([]chat.ToolCall, len(p.Gold))
	for i, g := range p.Gold {
		calls[i] = g.Call()
		calls[i].ID = fmt.Sprintf("call_%d", i)
	}
	return calls
}

// IsEnd reports whether no call is due.
func (p *Point) IsEnd() bool { return len(p.Gold) == 0 }

// Answer is what SFT learns to say of a row.
func (r *Row) Answer() chat.Message {
	if r.IsEnd() {
		return chat.Message{Role: chat.Assistant, Content: Nothing}
	}
	if r.Target != nil {
		return *r.Target
	}
	return chat.Message{Role: chat.Assistant, ToolCalls: r.GoldCalls()}
}

// IsGold reports whether calls are the point's, in their order.
func (p *Point) IsGold(calls []chat.ToolCall, defaults grade.Defaults) bool {
	gold := p.GoldCalls()
	if len(calls) != len(gold) {
		return false
	}
	for i := range gold {
		if equal, err := grade.EqualCalls(calls[i], gold[i], defaults); err != nil || !equal {
			return false
		}
	}
	return true
}

// Tools are those of a catalog, by name.
type Tools map[string]chat.Tool

// Of are the tools of these names. Its error names one that there is not.
func (t Tools) Of(names []string) ([]chat.Tool, error) {
	var out []chat.Tool
	for _, name := range names {
		tool, ok := t[name]
		if !ok {
			return nil, fmt.Errorf("the catalog has no tool %q", name)
		}
		out = append(out, tool)
	}
	return out, nil
}

// NewTools are the tools of a catalog.
func NewTools(list []chat.Tool) Tools {
	out := Tools{}
	for _, t := range list {
		out[t.Name] = t
	}
	return out
}

// ReadRow reads a line of a data file.
func ReadRow(line []byte) (Row, error) {
	var r Row
	if err := json.Unmarshal(line, &r); err != nil {
		return r, err
	}
	if r.ID == "" || len(r.Messages) == 0 || r.Gold == nil || len(r.Tools) == 0 {
		return r, fmt.Errorf(`a row has "row", "messages", "tools" and "gold": hone sidecar make-data makes such`)
	}
	return r, nil
}

// OfSplit are the rows of a split.
func OfSplit(rows []Row, split string) []Row {
	return slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return r.Split != split })
}
