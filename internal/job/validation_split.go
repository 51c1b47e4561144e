package job

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"hone/internal/data/dataset"
	"hone/internal/digest"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/recipe"
)

// holding is how examples are held out: those of a stage, rows or pairs.
type holding[T any] struct {
	stage, one string  // of the stage, and what an example is called
	share      float64 // of the tasks, of data that has no split validation
	patience   int
	seed       uint64
	row        func(T) dataset.Row // that says what task an example is of
}

// part parts examples that may be learnt from into those that are, and those on which the loss is measured: those of the data's own
// validation split, or else a share of the tasks. Examples of one task stay together, and which tasks are held follows from the seed. Patience
// without anything to measure is an error.
func (x holding[T]) part(h *host.Host, all, validation []T) (learnt, held []T, err error) {
	if len(validation) > 0 {
		h.Say("the loss is measured on %s of the split validation", fault.Count(len(validation), x.one))
		return all, validation, nil
	}
	if x.share == 0 {
		if x.patience > 0 {
			return nil, nil, &fault.Error{Code: fault.CodeUsage, What: "there is nothing to wait for", Where: x.stage + ".patience",
				Why: x.stage + ".validation is 0 and no " + x.one + " is of the split validation, so nothing is measured", Next: "set " + x.stage + ".validation, such as to 0.1, or " + x.stage + ".patience to 0"}
		}
		return all, nil, nil
	}
	var orders []string // of the tasks, each once
	for _, e := range all {
		orders = append(orders, orderOf(x.row(e), x.seed))
	}
	slices.Sort(orders)
	orders = slices.Compact(orders)
	n := int(math.Ceil(x.share * float64(len(orders))))
	if n >= len(orders) {
		return nil, nil, &fault.Error{Code: fault.CodeUsage, What: "nothing would be left to learn from", Where: x.stage + ".validation",
			Why:  fmt.Sprintf("%g of %s are to be held out", x.share, fault.Count(len(orders), "task")),
			Next: fmt.Sprintf("set %s.validation lower, to 0 for no measurement, or add %ss of other tasks", x.stage, x.one)}
	}
	for _, e := range all {
		if _, first := slices.BinarySearch(orders[:n], orderOf(x.row(e), x.seed)); first {
			held = append(held, e)
		} else {
			learnt = append(learnt, e)
		}
	}
	h.Say("held out %s of %d, with %s: the loss is measured on them (%s.validation)", fault.Count(n, "task"), len(orders), fault.Count(len(held), x.one), x.stage)
	return learnt, held, nil
}

// orderOf is where the task of a row stands among all, under a seed.
func orderOf(r dataset.Row, seed uint64) string {
	return digest.Parts(fmt.Sprint(seed), cmp.Or(r.Scenario, r.ScenarioID, r.Task())).String()
}

// takeBest puts the trainer where it was best on what was held out, and says where that was.
func (j *Job) takeBest(log Journal, stage string, trainer recipe.Trainer) error {
	_, last, err := log.Latest(stage)
	if err != nil {
		return err
	}
	step, m, err := log.Best(stage, last+1)
	if err != nil || step == 0 {
		return err
	}
	if step == last {
		j.Say("on what was held out the last step, %d, was best: loss %.4f", step, m["eval_loss"])
		return nil
	}
	at, _, err := log.Recorded(recipe.ValidationStage, last)
	if err != nil {
		return err
	}
	j.Say("on what was held out step %d was best: loss %.4f, that of the last step, %d, is %.4f; the adapter is step %d's", step, m["eval_loss"], last, at["eval_loss"], step)
	return trainer.Load(filepath.Join(j.Path, "checkpoints", fmt.Sprintf("%s_step_%d", stage, step)))
}
