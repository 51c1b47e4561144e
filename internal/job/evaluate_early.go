package job

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hone/internal/digest"
	"hone/internal/episode/scenario"
	"hone/internal/eval"
	"hone/internal/fault"
)

// Known is a difference that an evaluation stopped early on, by its confidence sequence. The intervals for a fixed number of scenarios do
// not hold then.
type Known struct {
	eval.Pair
	eval.Interval // of completion
}

// numLooks is about how often an evaluation that may stop early looks.
const numLooks = 20

// units are the scenarios that may be one piece of evidence, in the order in which they are run: a fixed random one where the evaluation
// may stop early, as its confidence sequence asks, else that of the file.
func (b *bench) units() (units [][]scenario.Scenario) {
	if b.Config.Eval.StopEarly == 0 {
		return [][]scenario.Scenario{b.tasks}
	}
	of, place := map[string][]scenario.Scenario{}, map[string]string{}
	for _, s := range b.tasks {
		name := familyOf(s)
		place[name] = digest.Parts("order", strconv.FormatUint(b.Config.Seed, 10), name).String()
		of[name] = append(of[name], s)
	}
	for _, tasks := range of {
		units = append(units, tasks)
	}
	slices.SortFunc(units, func(x, y []scenario.Scenario) int { return cmp.Compare(place[familyOf(x[0])], place[familyOf(y[0])]) })
	return units
}

// familyOf is what a scenario shares with those that are made alike; its own id where there are none.
func familyOf(s scenario.Scenario) string {
	for _, tag := range s.Tags {
		if strings.HasPrefix(tag, eval.FamilyTag) {
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

// known are the differences by the episodes so far, and whether all are known well enough to stop.
func (b *bench) known(systems []*measuring) (all []Known, enough bool) {
	points := b.Config.Eval.StopEarly
	if points == 0 {
		return nil, false
	}
	criteria, rates := b.local.Criteria(ByID(b.tasks)), make([]map[string]float64, len(systems))
	for i, m := range systems {
		rates[i] = completion(eval.NewSystem(m.Name, m.episodes, criteria).Rows)
	}
	units, bootstrap := b.units(), IntervalsOf(b.Config)
	enough = true
	for i := range systems {
		for k := range i {
			if systems[i].gaveUp || systems[k].gaveUp {
				continue
			}
			seq := eval.NewSequence(bootstrap)
			for _, unit := range units {
				if d, both := difference(rates[k], rates[i], unit); both {
					seq.Add(d)
				}
			}
			interval := seq.Interval()
			all = append(all, Known{eval.Pair{Old: systems[k].Name, New: systems[i].Name}, interval})
			enough = enough && (seq.Decided() || interval.High-interval.Low <= points/100)
		}
	}
	return all, enough
}

// completion is the share of each scenario's episodes in which the task was done.
func completion(rows []eval.Row) map[string]float64 {
	done, n := map[string]float64{}, map[string]float64{}
	for _, r := range rows {
		n[r.ScenarioID]++
		if r.Episode {
			done[r.ScenarioID]++
		}
	}
	for id := range n {
		done[id] /= n[id]
	}
	return done
}

// difference is the mean difference over the scenarios of a unit that both systems have, and whether there is one.
func difference(old, new map[string]float64, unit []scenario.Scenario) (d float64, both bool) {
	n := 0.0
	for _, s := range unit {
		was, isOld := old[s.ID]
		is, isNew := new[s.ID]
		if isOld && isNew {
			d, n = d+is-was, n+1
		}
	}
	return d / max(1, n), n > 0
}

// checkEarly refuses to stop early where there is nothing to compare.
func (j *Job) checkEarly() error {
	if j.Config.Eval.StopEarly > 0 && len(j.Kept.Evaluation.Systems) < 2 {
		return &fault.Error{Code: fault.CodeUsage, What: "one system has no difference that could be known early", Where: fmt.Sprintf("eval.stop_early: %g", j.Config.Eval.StopEarly),
			Next: "name another system with --compare, or leave it out"}
	}
	return nil
}
