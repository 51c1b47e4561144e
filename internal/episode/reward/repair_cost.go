package reward

import (
	"strings"

	"hone/internal/text/toolcall"
)

// mostRepairs is how many things a malformed call may want until it costs as much as one that nobody can read.
const mostRepairs = 4

// repairCost is what the malformed calls of an episode would take to be read, 0..1: the sum over them of the number of
// repairs by package toolcall, of four, or 1 where there is no reading. So a call that lacks a brace loses less than
// half a sentence does, where parse tells none apart. For the reason of share it weighs nothing in an episode that made
// some gold calls and not all.
func repairCost(e episode) mark {
	cost, why := 0.0, []string{}
	for _, turn := range e.Trajectory.Turns {
		if turn.ParseError == "" || cutByLimit(e.Trajectory, turn) {
			continue
		}
		did, ok := repairsOf(turn.Content)
		if !ok {
			cost, why = cost+1, append(why, "nobody can read it")
			continue
		}
		cost, why = cost+min(1, float64(len(did))/mostRepairs), append(why, strings.Join(did, ", "))
	}
	done := goldShare(e, e.Trajectory.ServerCalls())
	return mark{score: min(1, cost), why: strings.Join(why, "; "), waived: done > 0 && done < 1}
}

// repairsOf are the repairs by which the text of a malformed call becomes one: at least one, as its frame may be what
// is broken.
func repairsOf(text string) (did []string, ok bool) {
	_, kinds, err := toolcall.RepairObject(text)
	if err != nil {
		return nil, false
	}
	for _, k := range kinds {
		if k != toolcall.Prose && k != toolcall.CodeFence { // tags of the call's form, or words around it
			did = append(did, string(k))
		}
	}
	if len(did) == 0 {
		did = []string{string(toolcall.MissingOuterTag)}
	}
	return did, true
}
