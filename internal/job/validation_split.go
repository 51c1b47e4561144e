package job

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"hone/internal/blob"
	"hone/internal/data/dataset"
	"hone/internal/fault"
	"hone/internal/host"
)

// Holding is how examples are held out: those of a stage, rows or pairs.
type Holding[T any] struct {
	Stage, One string  // of the stage, and what an example is called
	Share      float64 // of the tasks, of data that has no split validation
	Patience   int
	Seed       uint64
	Row        func(T) dataset.Row // that says what task an example is of
}

// Part parts examples that may be learnt from into those that are, and those on which the loss is measured: those of
// the data's own validation split, or else a share of the tasks. Examples of one task stay together, and which tasks
// are held follows from the seed. Patience without anything to measure is an error.
func (x Holding[T]) Part(h *host.Host, all, validation []T) (learnt, held []T, err error) {
	if len(validation) > 0 {
		h.Say("the loss is measured on %s of the split validation", fault.Count(len(validation), x.One))
		return all, validation, nil
	}
	if x.Share == 0 {
		if x.Patience > 0 {
			return nil, nil, &fault.Error{Code: fault.CodeUsage, What: "there is nothing to wait for",
				Where: x.Stage + ".patience", Why: x.Stage + ".validation is 0 and no " +
					x.One + " is of the split validation, so nothing is measured",
				Next: "set " + x.Stage + ".validation, such as to 0.1, or " + x.Stage + ".patience to 0"}
		}
		return all, nil, nil
	}
	var orders []string // of the tasks, each once
	for _, e := range all {
		orders = append(orders, orderOf(x.Row(e), x.Seed))
	}
	slices.Sort(orders)
	orders = slices.Compact(orders)
	n := int(math.Ceil(x.Share * float64(len(orders))))
	if n >= len(orders) {
		return nil, nil, &fault.Error{
			Code:  fault.CodeUsage,
			What:  "nothing would be left to learn from",
			Where: x.Stage + ".validation",
			Why:   fmt.Sprintf("%g of %s are to be held out", x.Share, fault.Count(len(orders), "task")),
			Next: fmt.Sprintf("set %s.validation lower, to 0 for no measurement, or add %ss of other tasks",
				x.Stage, x.One),
		}
	}
	for _, e := range all {
		if _, first := slices.BinarySearch(orders[:n], orderOf(x.Row(e), x.Seed)); first {
			held = append(held, e)
		} else {
			learnt = append(learnt, e)
		}
	}
	h.Say("held out %s of %d, with %s: the loss is measured on them (%s.validation)",
		fault.Count(n, "task"), len(orders), fault.Count(len(held), x.One), x.Stage)
	return learnt, held, nil
}

// orderOf is where the task of a row stands among all, under a seed.
func orderOf(r dataset.Row, seed uint64) string {
	return blob.Parts(fmt.Sprint(seed), cmp.Or(r.Scenario, r.ScenarioID, r.Task())).String()
}
