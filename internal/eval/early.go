package eval

import (
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	"hone/internal/blob"
	"hone/internal/episode/scenario"
	"hone/internal/eval/stats"
	"hone/internal/fault"
	"hone/internal/job"
)

// Known is a difference that an evaluation stopped early on, by its confidence sequence. The intervals for a fixed
// number of scenarios do not hold then. All differences of an evaluation hold together with eval.confidence.
type Known struct {
	stats.Pair
	stats.Interval // of completion
}

// numLooks is about how often an evaluation that may stop early looks.
const numLooks = 20

// units are the scenarios that may be one piece of evidence, in the order in which they are run: a fixed random one
// where the evaluation may stop early, as its confidence sequence asks, else that of the file.
func (b *bench) units() (units [][]scenario.Scenario) {
	if b.Config.Eval.StopEarly == 0 {
		return [][]scenario.Scenario{b.tasks}
	}
	of, place := map[string][]scenario.Scenario{}, map[string]string{}
	for _, s := range b.tasks {
		name := familyOf(s)
		place[name] = blob.Parts("order", strconv.FormatUint(b.Config.Seed, 10), name).String()
		of[name] = append(of[name], s)
	}
	for _, tasks := range of {
		units = append(units, tasks)
	}
	sort.Slice(units, func(i, j int) bool {
		return place[familyOf(units[i][0])] < place[familyOf(units[j][0])]
	})
	return units
}

// order are the ids of the units.
func (b *bench) order() (order [][]string) {
	for _, unit := range b.units() {
		var ids []string
		for _, s := range unit {
			ids = append(ids, s.ID)
		}
		order = append(order, ids)
	}
	return order
}

// familyOf is what a scenario shares with those that are made alike; its own id where there are none.
func familyOf(s scenario.Scenario) string {
	for _, tag := range s.Tags {
		if strings.HasPrefix(tag, stats.FamilyTag) {
			return tag
		}
	}
	return "id:" + s.ID
}

// blocks are the scenarios that are run between two looks.
func (b *bench) blocks() (blocks [][]scenario.Scenario) {
	units := b.units()
	each := max(1, (len(units)+numLooks-1)/numLooks)
	for chunk := range slices.Chunk(units, each) {
		blocks = append(blocks, slices.Concat(chunk...))
	}
	return blocks
}

// differences are the differences by the episodes so far, and whether all are known well enough to stop.
func (b *bench) differences(systems []*measuring) (all []Known, enough bool) {
	points := b.Config.Eval.StopEarly
	if points == 0 {
		return nil, false
	}
	order, n := b.order(), len(systems)
	// All pairs of the evaluation share the chance to miss, also those of a system that is given up on the way: how it
	// went must not change what the others are held to.
	intervals := job.IntervalsOf(b.Config).Jointly(n * (n - 1) / 2)
	enough = true
	for i := range systems {
		for k := range i {
			if systems[i].gaveUp || systems[k].gaveUp {
				continue
			}
			d := stats.Sequential(order, systems[k].found.Rows, systems[i].found.Rows, intervals)
			all = append(all, Known{stats.Pair{Old: systems[k].Name, New: systems[i].Name}, d})
			enough = enough && (d.ExcludesZero() || d.High-d.Low <= points/100)
		}
	}
	return all, enough && len(all) > 0 // of systems that were all given up nothing is known
}

// checkEarly refuses to stop early where there is nothing to compare.
func checkEarly(j *job.Job) error {
	if j.Config.Eval.StopEarly > 0 && len(j.Kept.Evaluation.Systems) < 2 {
		return &fault.Error{Code: fault.CodeUsage, What: "eval.stop_early needs at least two systems",
			Where: fmt.Sprintf("eval.stop_early: %g",
				j.Config.Eval.StopEarly), Next: "name another system with --compare, or leave it out"}
	}
	return nil
}
