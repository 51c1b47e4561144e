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

// add takes a row in. A template's own words are the last of an error; what a message is about stands before them.
func (x refusedRows) add(r *dataset.Row, err error) {
	why, _, _ := strings.Cut(err.Error(), "\n")
	if f, is := errors.AsType[*fault.Error](err); is && f.Why != "" {
		why = f.Why
	}
	x[why] = append(x[why], Where(r))
}

// say tells of them, each reason in one line with its number.
func (x refusedRows) say(h *host.Host) {
	for _, why := range slices.Sorted(maps.Keys(x)) {
		sayLeftOut(h, x[why], "it cannot be rendered: "+why)
	}
}
