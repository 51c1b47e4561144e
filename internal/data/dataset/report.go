package dataset

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"hone/internal/fault"
)

// mostPlaces is how many places of one reason a report names.
const mostPlaces = 20

// Report counts the rows that were read: Read = Kept + those refused.
type Report struct {
	Read    int                 `json:"read"`
	Kept    int                 `json:"kept"`
	Formats map[string]int      `json:"formats"` // of the rows that are kept
	Refused map[string]*Refused `json:"refused"` // by reason
	// of the rows that are kept, what is not read of them, or not learnt
	Aside   map[string]*Aside `json:"aside,omitempty"`
	Unknown *Unknown          `json:"unknown,omitempty"`
}

// Unknown counts the rows that are kept and teach an answer that could not be known: no prompt and no result says it.
type Unknown struct {
	Rows  int    `json:"rows"`
	First string `json:"first"` // where the first one stands
	Value string `json:"value"` // of its answer, that nothing says
}

// Refused counts the rows that were refused for one reason.
type Refused struct {
	Rows   int     `json:"rows"`
	Places []Place `json:"places"` // of the first ones
}

// Place is a row that was refused.
type Place struct {
	Where  string `json:"where"` // file:line, or file:row of parquet
	Rows   int    `json:"rows"`  // how many rows from there on
	Detail string `json:"detail,omitempty"`
}

// count takes a row in, and reports whether it is kept.
func (r *Report) count(x *item) bool {
	r.Read += x.Rows
	if x.Reason == "" {
		r.Kept++
		r.Formats[x.format]++
		r.leaveAside(x)
		if x.unknown != "" {
			if r.Unknown == nil {
				r.Unknown = &Unknown{First: x.Where(), Value: x.unknown}
			}
			r.Unknown.Rows++
		}
		return true
	}
	of := r.Refused[x.Reason]
	if of == nil {
		of = &Refused{}
		r.Refused[x.Reason] = of
	}
	if of.Rows += x.Rows; len(of.Places) < mostPlaces {
		of.Places = append(of.Places, Place{x.Where(), x.Rows, x.Detail})
	}
	return false
}

// NumRefused is how many rows were refused.
func (r *Report) NumRefused() int {
	n := 0
	for _, of := range r.Refused {
		n += of.Rows
	}
	return n
}

// Next is what cures all that is damaged or refused, "" where nothing known does.
func (r *Report) Next() string {
	of := r.Refused[NotUTF8]
	if of == nil || len(r.Refused) > 1 {
		return ""
	}
	file := of.Places[0].Where
	file = file[:strings.LastIndexByte(file, ':')]
	return RecodeCommand("LATIN1", file) + ", where it is Latin-1"
}

// reasons are those of refusals, the most frequent first.
func (r *Report) reasons() []string {
	all := slices.Sorted(maps.Keys(r.Refused))
	slices.SortStableFunc(all, func(a, b string) int { return cmp.Compare(r.Refused[b].Rows, r.Refused[a].Rows) })
	return all
}

// Lines say what was refused, each reason with the first places.
func (r *Report) Lines() []string {
	const shown = 3
	var out []string
	for _, reason := range r.reasons() {
		of := r.Refused[reason]
		what := "refused " + fault.Count(of.Rows, "row")
		if of.Rows == 0 { // it is none of the rows that is damaged
			what = "damaged"
		}
		out = append(out, what+": "+reason)
		for i, p := range of.Places {
			if i == shown {
				break
			}
			line := "  " + p.Where
			if p.Rows > 1 {
				line += fmt.Sprintf(" and the %d behind it", p.Rows-1)
			}
			if p.Detail != "" {
				line += ": " + p.Detail
			}
			out = append(out, line)
		}
		if more := of.Rows - shown; more > 0 && len(of.Places) > shown {
			out = append(out, fmt.Sprintf("  and %d more", more))
		}
	}
	return out
}

// Err is the error of rows that cannot be read, nil where all can.
func (r *Report) Err() *fault.Error {
	if len(r.Refused) == 0 {
		return nil
	}
	what := fault.Count(r.NumRefused(), "broken row")
	if r.NumRefused() == 0 {
		what = "something is damaged"
	}
	return &fault.Error{Code: fault.CodeUsage, What: what + " in the data",
		Where: r.Refused[r.reasons()[0]].Places[0].Where, Why: strings.Join(r.Lines(), "\n"), Next: cmp.Or(r.Next(),
			"correct these rows")}
}

// Tell says how many rows there are, of which formats, and what was refused.
func (r *Report) Tell(say func(format string, args ...any)) {
	say("%s read, %d kept, %d refused", fault.Count(r.Read, "row"), r.Kept, r.NumRefused())
	for _, name := range slices.Sorted(maps.Keys(r.Formats)) {
		say("format %s: %s", name, fault.Count(r.Formats[name], "row"))
	}
	for _, line := range append(r.AsideLines(), r.Lines()...) {
		say("%s", line)
	}
}
