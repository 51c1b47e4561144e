package terminal

import (
	"cmp"
	"fmt"
	"slices"

	"hone/internal/eval"
	"hone/internal/eval/stats"
	"hone/internal/fault"
	"hone/internal/host"
)

// Which is the episodes of an evaluation that are printed.
type Which string

// What Which may be.
const (
	None   Which = "none"
	Failed Which = "failed"
	All    Which = "all"
)

// Check is an error where there is no such choice.
func (w Which) Check() error {
	if w != None && w != Failed && w != All {
		return &fault.Error{Code: fault.CodeUsage, What: fmt.Sprintf("cannot show %q", string(w)), Where: "--show",
			Next: "give none, failed or all"}
	}
	return nil
}

// of are the episodes of systems that w names.
func (w Which) of(systems []stats.System) (shown []stats.Example) {
	for _, s := range systems {
		for _, e := range s.Episodes {
			if w == All || w == Failed && e.Fails() {
				e.Title = s.Name + ": " + e.Name()
				shown = append(shown, e)
			}
		}
	}
	return shown
}

// PrintEvaluation prints what was measured: the episodes that w names, and the rates. Its error is why the numbers of a
// system say little.
func PrintEvaluation(h *host.Host, measured *eval.Evaluated, w Which) error {
	if !h.JSON {
		for _, e := range w.of(measured.Systems) {
			if err := e.WriteText(h.Data); err != nil {
				return err
			}
			fmt.Fprintln(h.Data)
		}
	}
	// else there is nothing to print
	if slices.ContainsFunc(measured.Systems, func(s stats.System) bool { return len(s.Rows) > 0 }) {
		if err := Rates(h, measured, w); err != nil {
			return err
		}
	}
	return cmp.Or(measured.Failed...)
}

// Rates prints the rates, in JSON with the episodes that w names.
func Rates(h *host.Host, r *eval.Evaluated, w Which) error {
	results := r.Results()
	for _, note := range r.Notes(results) {
		h.Say("%s", note)
	}
	out := struct {
		stats.Results
		// episodes of each system that earlier evaluations had run
		Reused map[string]int `json:"reused,omitempty"`
		NotRun int            `json:"not_run,omitempty"` // scenarios that were left out by eval.stop_early
		// scenarios of the split, of which those of this were drawn
		DrawnOf  int                `json:"drawn_of,omitempty"`
		Known    []eval.Known       `json:"sequences,omitempty"` // differences that hold whenever it stops
		Failed   []string           `json:"failed,omitempty"`
		Initial  *eval.InitialCalls `json:"initial_call,omitempty"`
		Episodes []Printed          `json:"episodes,omitempty"`
	}{Results: results, Reused: r.Reused, NotRun: r.NotRun, DrawnOf: r.DrawnFrom, Known: r.Known,
		Initial: r.InitialCalls()}
	for _, err := range r.Failed {
		out.Failed = append(out.Failed, err.Error())
	}
	for _, e := range w.of(r.Systems) {
		out.Episodes = append(out.Episodes, Of(e))
	}
	return h.Print(out, r.Table(results))
}
