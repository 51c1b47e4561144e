package generate

import (
	"strings"

	"hone/internal/synth/folders"
	"hone/internal/synth/programs"
)

// How a slip shows: the server refuses it, or finds nothing.
const (
	slipRefused = folders.Refused
	slipEmpty   = "nothing"
)

// Shares of the training programs over files whose demonstration has a slip: a file of another name is opened, or an
// edit changes nothing.
const (
	shareSlips    = 0.2
	shareMisedits = 0.15
)

// explained has a call made for a reason that its results so far give, before those that it has.
func explained(c Call, why string) Call {
	c.Why = strings.TrimSpace(why + "\n" + c.Why)
	return c
}

func isSlip(c Call) bool { return c.Slip != "" }

// slipsFail reports whether each slip went wrong as it was meant to.
func slipsFail(calls []Call, got *Played) bool {
	for i, c := range calls {
		if i >= len(got.Results) {
			break
		}
		r := got.Results[i]
		failed := !r.ok() || looksLikeFailure(r.Text)
		switch c.Slip {
		case slipRefused:
			if !failed {
				return false
			}
		case slipEmpty:
			if failed || !findsNothing(r.Text) {
				return false
			}
		}
	}
	return true
}

// findsNothing reports whether a result has no rows, or counts none.
func findsNothing(text string) bool {
	rows := programs.Rows(text)
	for _, r := range programs.Records(text) {
		rows = append(rows, r.Values)
	}
	none := func(v any) bool { return v == nil || programs.Equal(v, int64(0)) }
	return len(text) <= 80 && (len(rows) == 0 || len(rows) == 1 && len(rows[0]) == 1 && none(rows[0][0]))
}
