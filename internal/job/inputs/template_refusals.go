package inputs

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"hone/internal/data/dataset"
	"hone/internal/fault"
	"hone/internal/host"
)

// Unrendered is what a row is that the chat template refuses, or of which it writes what is not read back.
const Unrendered = "a conversation cannot be rendered"

// refusedRows are the places of rows that cannot be rendered, by why.
type refusedRows map[string][]string

// add takes a row in.
func (x refusedRows) add(r *dataset.Row, err error) {
	why := innermost(err)
	x[why] = append(x[why], Where(r))
}

// innermost is the reason at the bottom of an error, in a line: a template's own words are the last of one.
func innermost(err error) string {
	f, is := errors.AsType[*fault.Error](err)
	switch {
	case is && f.Err != nil:
		return innermost(f.Err)
	case is && f.Why != "":
		return f.Why
	}
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// say tells of them, each reason in one line with its number.
func (x refusedRows) say(h *host.Host) {
	for _, why := range slices.Sorted(maps.Keys(x)) {
		sayLeftOut(h, x[why], "it cannot be rendered: "+why)
	}
}
