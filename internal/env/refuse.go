package env

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"hone/internal/config"
	"hone/internal/episode/scenario"
	"hone/internal/fault"
	"hone/internal/host"
)

// elsewhere are terms that see what a trainer keeps to itself, and facts of formulas that do.
var elsewhere = regexp.MustCompile(`\btokens\b|\bterms\.(parse|repair|length|overlong|program|judge)\b`)

// unservable are the keys of a configuration that ask for what no episode here can have, each with why.
func unservable(c config.Config) (list []string) {
	add := func(on bool, key, why string) {
		if on {
			list = append(list, key+": "+why)
		}
	}
	const malformed, tokens, group = "a trainer's malformed calls never come here",
		"a trainer's tokens never come here", "it compares the episodes of a group, and each is scored alone here"
	r := c.Rewards
	add(r.Parse != 0 && r.Parse != config.Default().Rewards.Parse, "rewards.parse", malformed)
	add(r.Repair != 0, "rewards.repair", malformed)
	add(r.Length.Weight != 0, "rewards.length", tokens)
	add(r.Overlong.Weight != 0, "rewards.overlong", tokens)
	add(len(r.Program.Command) > 0, "rewards.program", group)
	add(c.Judge.Model != "" && r.Judge > 0, "judge.model", group)
	for _, name := range slices.Sorted(maps.Keys(r.Expressions)) {
		if used := elsewhere.FindString(r.Expressions[name].Formula); used != "" && r.Expressions[name].Weight != 0 {
			add(true, "rewards.expressions."+name, "it uses "+used+", which a trainer keeps to itself")
		}
	}
	add(c.GRPO.Credit.Level == "turn", "grpo.credit.level",
		"trainers take one reward for an episode, and none for turns")
	add(c.GRPO.Explorations > 0, "grpo.explorations", "a trainer's policy cannot be held to a call")
	return list
}

// servable are the scenarios that can be served. Those with a simulated user are left out, since no protocol of
// trainers carries its words.
func servable(
	h *host.Host, c config.Config, list []scenario.Scenario, path string,
) ([]scenario.Scenario, error) {
	alone := slices.DeleteFunc(slices.Clone(list), func(s scenario.Scenario) bool { return s.User != nil })
	if len(alone) == 0 {
		alone = list // which is refused
	} else if n := len(list) - len(alone); n > 0 {
		h.Say("%s with a simulated user, whose words no protocol of trainers carries: left out",
			fault.Count(n, "scenario"))
	}
	return alone, refuse(c, alone, path)
}

// refuse is an error of what cannot be served: what the configuration asks for, and scenarios with a user or without
// checks.
func refuse(c config.Config, list []scenario.Scenario, path string) error {
	if keys := unservable(c); len(keys) > 0 {
		return &fault.Error{
			Code:  fault.CodeUsage,
			What:  "a reward or a technique of the configuration cannot be had by the trainers of others",
			Where: "hone.yaml",
			Why:   strings.Join(keys, "; "),
			Next:  "take these keys out of the configuration that --config names; the trainer may have its own",
		}
	}
	for _, s := range list {
		why := ""
		switch {
		case s.User != nil:
			why = "it has a simulated user, whose words no protocol of trainers carries"
		case len(s.Checks) == 0:
			why = "it has no checks, so nothing can score it"
		default:
			continue
		}
		return &fault.Error{Code: fault.CodeUsage, What: "a scenario cannot be served",
			Where: fmt.Sprintf("%s, scenario %s",
				path, s.ID), Why: why, Next: "leave it out of the file that --dataset names"}
	}
	return nil
}

// blindSpots are what of a configuration never acts on the episodes of trainers, though nothing asks for it.
func blindSpots(c config.Config) (list []string) {
	if c.Rewards.Parse != 0 {
		list = append(list,
			"rewards.parse takes nothing: malformed calls never come here, so the trainer has to lower their reward")
	}
	list = append(list, "words beside calls are not seen, so none lower a reward",
		"calls come one by one, so rollout.max_turns counts each call as a turn")
	return list
}
