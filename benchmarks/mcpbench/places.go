package mcpbench

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"hone/internal/chat"
	"hone/internal/episode/trajectory"
)

// place is what a system calls at one place of a scenario, a line of the file that hone sidecar eval writes.
type place struct {
	System  string                  `json:"system"`
	Calls   []chat.ToolCall         `json:"calls"`
	Results []trajectory.ToolResult `json:"results"` // nil: the calls were not made
}

// log is the place as a task of one turn: where the calls were not made, as if each had been answered.
func (p place) log(made bool, refused func(text string) string) (l Log) {
	if len(p.Calls) == 0 { // where one is due
		l.NumMalformed = 1
	}
	if made {
		for _, r := range p.Results {
			l.Calls = append(l.Calls, CallOf(r, refused))
		}
		return l
	}
	for _, c := range p.Calls {
		l.Calls = append(l.Calls, Call{Tool: c.Name, Arguments: c.Arguments, Answered: true})
	}
	return l
}

// PlaceRates are the rates of one system over the places of a sidecar's evaluation.
type PlaceRates struct {
	System    string  `json:"system"`
	Rate      string  `json:"rate"`
	Published float64 `json:"published"`
	Closed    float64 `json:"closed"`
}

// Places computes the rates of each system from the lines of hone sidecar eval, each place being a task of one turn: of
// all places those of what was written, and the rate of executions of the places whose calls were made.
func (t Tools) Places(in io.Reader, refused func(text string) string) (out []PlaceRates, err error) {
	written, made, order := map[string][]Log{}, map[string][]Log{}, []string{}
	lines := json.NewDecoder(in)
	for n := 1; ; n++ {
		var p place
		if err := lines.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if !slices.Contains(order, p.System) {
			order = append(order, p.System)
		}
		written[p.System] = append(written[p.System], p.log(false, refused))
		if p.Results != nil {
			made[p.System] = append(made[p.System], p.log(true, refused))
		}
	}
	for _, system := range order {
		of, executed := t.Summarize(written[system]), t.Summarize(made[system])
		for _, d := range Definitions() {
			switch d.Name {
			case "valid_tool_name_rate", "input_schema_compliance", "planning_json_compliance":
				out = append(out, PlaceRates{system, d.Name, d.Of(of.Published), d.Of(of.Closed)})
			case "execution_success_rate":
				if len(made[system]) > 0 {
					out = append(out, PlaceRates{system, d.Name, d.Of(executed.Published), d.Of(executed.Closed)})
				}
			}
		}
	}
	return out, nil
}

// PlaceRows are the rates as a table.
func PlaceRows(rates []PlaceRates) [][]string {
	rows := [][]string{{"SYSTEM", "RATE", "PUBLISHED", "CLOSED"}}
	for _, r := range rates {
		rows = append(rows,
			[]string{r.System, r.Rate, fmt.Sprintf("%.1f%%", 100*r.Published), fmt.Sprintf("%.1f%%", 100*r.Closed)})
	}
	return rows
}
