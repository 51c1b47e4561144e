package report

import (
	"fmt"
	"slices"
	"strings"

	"hone/internal/eval/stats"
	"hone/internal/fault"
)

// NextStep is something to do next: what, the scenario to look at, and a command.
type NextStep struct {
	Says     string `json:"says"`
	Scenario string `json:"scenario,omitempty"`
	Command  string `json:"command,omitempty"`
}

// Next is what to do about an evaluation, what stands in the way of all else first. n are the page's numbers.
func (p Page) Next(n Numbers) (out []NextStep) {
	out = []NextStep{}
	do := func(says, scenario, command string) { out = append(out, NextStep{says, scenario, command}) }
	if len(n.Order) == 0 || len(p.Systems) == 0 {
		return out
	}
	last := n.Order[len(n.Order)-1]
	if len(n.Unreliable) > 0 {
		do("Find out why episodes were lost, and evaluate again: the rates say little.", "",
			"hone runs rollouts "+p.Run)
	}
	if len(n.NeverDone) > 0 {
		do(fmt.Sprintf("Read %s that no system does: does a good answer pass the checks?",
			fault.Count(len(n.NeverDone), "scenario")), n.NeverDone[0], "")
	}
	if len(n.Regressions) > 0 {
		do(fmt.Sprintf("Look at %s done less often than before.", fault.Count(len(n.Regressions), "scenario")),
			n.Regressions[0].ScenarioID, "")
	}
	deltas := headlines(n)
	unclear := slices.ContainsFunc(deltas, func(d stats.Delta) bool {
		return d.Episode.N > 0 && d.Episode.Low <= 0 && d.Episode.High >= 0
	})
	if unclear && n.Power != nil {
		do("No clear difference is not the same as none: see how many scenarios would find one.", "",
			"hone eval power "+p.Run)
	}
	better := slices.ContainsFunc(deltas, func(d stats.Delta) bool {
		return d.New == last && d.Episode.N > 0 && d.Episode.Low > 0
	})
	adapter := p.Systems[len(p.Systems)-1].Model.Adapter
	switch whole := n.Systems[last].Metrics[stats.Completion().Name]; {
	case better && adapter != "":
		do("Use the model that is better.", "", "hone serve --model "+shellWord(adapter))
	case whole.N > 0 && whole.Mean == 0:
		command := ""
		if i := slices.IndexFunc(p.Facts, func(f Fact) bool { return f.Name == "dataset" && f.Value != "" }); i >= 0 {
			command = "hone collect --gold --yes --dataset " + shellWord(p.Facts[i].Value) + " --output-dir shown"
		}
		do(fmt.Sprintf("%s does none of the scenarios: show it how it is done, then learn from that with hone sft.",
			last), "", command)
	}
	return out
}

// headlines are the differences that count most: those of the last system, unless the pairs were chosen.
func headlines(n Numbers) []stats.Delta {
	last := n.Order[len(n.Order)-1]
	var mine []stats.Delta
	for _, d := range n.Deltas {
		if d.New == last {
			mine = append(mine, d)
		}
	}
	if len(mine) == 0 || len(n.Pairs) > 0 && len(mine) < len(n.Order)-1 {
		return n.Deltas
	}
	return mine
}

// shellWord is a path as a word of a shell.
func shellWord(path string) string {
	if strings.Trim(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=@%+,") == "" {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
