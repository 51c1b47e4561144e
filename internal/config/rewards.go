package config

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"time"

	"hone/internal/episode/userprogram"
)

// Rewards are what an episode earns. Those that it earns are at least 0; penalties are written as negative numbers.
type Rewards struct {
	Checks    float64       `yaml:"checks" min:"0" max:"1000" doc:"for passing every check of the scenario"`
	Call      float64       `yaml:"call" min:"0" max:"1000" doc:"for all gold calls made, arguments and all, among as many calls as they are; of some, their share"`
	Tool      float64       `yaml:"tool" min:"0" max:"1000" doc:"for calling the tools of all gold calls, whatever the arguments, among as many calls as they are; of some, their share, and half where the schema refused the arguments"`
	End       float64       `yaml:"end" min:"0" max:"1000" doc:"for ending by itself with an answer, and no text around calls, after all gold calls"`
	Extra     float64       `yaml:"extra" min:"0" max:"1" doc:"share of what checks and end earned that each call beyond the gold calls takes away; below 0.5 guessing may pay"`
	Repeat    float64       `yaml:"repeat" min:"-1000" max:"0" doc:"where all calls repeat an earlier one; of some, their share; nothing once a gold call was made"`
	Invalid   float64       `yaml:"invalid" min:"-1000" max:"0" doc:"where all calls are of unknown tools or against a tool's schema; of some, their share; nothing once a gold call was made, nor for calls of a gold call's tool"`
	Parse     float64       `yaml:"parse" min:"-1000" max:"0" doc:"for a malformed call, but where some gold calls were made and not all"`
	Judge     float64       `yaml:"judge" min:"0" max:"1000" doc:"what a judge's score of 1 earns, see judge; calls beyond the gold calls take nothing of it away"`
	Rating    float64       `yaml:"rating" min:"0" max:"1000" doc:"what a person's rating of 1 earns, see hone runs rate, where a run is scored again; a group counts where all its episodes are rated"`
	Arguments float64       `yaml:"arguments" min:"0" max:"1000" doc:"for right arguments of gold calls' tools, among as many calls as they are; of some, the share of names whose values are equal"`
	Recovery  float64       `yaml:"recovery" min:"-1000" max:"0" doc:"where no tool with a failed call was called without one later; of some such tools, their share"`
	Repair    float64       `yaml:"repair" min:"-1000" max:"0" doc:"for a malformed call that nobody can read; of one that can be repaired, a quarter for each repair; nothing where some gold calls were made and not all"`
	Economy   Economy       `yaml:"economy" doc:"for turns and calls beyond a budget that grows with the task"`
	Length    Length        `yaml:"length" doc:"for tokens of an episode beyond a budget"`
	Overlong  Overlong      `yaml:"overlong" doc:"for a completion that comes near its limit (DAPO's overlong shaping)"`
	Program   RewardProgram `yaml:"program" doc:"a program of yours that scores the episodes of a scenario together"`

	Expressions map[string]Expression `yaml:"expressions" doc:"terms that you compute from what is known of an episode, by names of your own"`
}

// Expression is a term that a formula computes.
type Expression struct {
	Formula string  `yaml:"formula" doc:"a number, from terms, calls, gold, turns, tokens, outcome, stop_reason, answer and difficulty, as the guide says"`
	Weight  float64 `yaml:"weight" min:"-1000" max:"1000" doc:"what a value of 1 earns, or below 0 what it loses"`
}

// termName is what an expression may be called: metrics and reports name it.
var termName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,39}$`)

// checkExpressions refuses a formula that cannot be computed, and a name that another term has.
func (r Rewards) checkExpressions() error {
	for _, name := range slices.Sorted(maps.Keys(r.Expressions)) {
		key := "rewards.expressions." + name
		switch {
		case !termName.MatchString(name):
			return &ValueError{"rewards.expressions",
				fmt.Sprintf("the name %q of a term is none of small letters, digits and _", name)}
		case slices.Contains(userprogram.Terms(), name):
			return &ValueError{key, "there is such a term already: choose another name"}
		}
		if _, err := userprogram.Compile(r.Expressions[name].Formula); err != nil {
			return &ValueError{key + ".formula", err.Error()}
		}
	}
	return nil
}

// earns reports whether an expression has a weight.
func (r Rewards) earns() bool {
	for _, x := range r.Expressions {
		if x.Weight != 0 {
			return true
		}
	}
	return false
}

// Economy is the term that turns and calls beyond a budget lose by.
type Economy struct {
	Weight float64 `yaml:"weight" min:"-1000" max:"0" doc:"for twice the budget or more, of less the share of the budget that it is above; 0 has no such term"`
	Factor float64 `yaml:"factor" min:"1" max:"100" doc:"calls of the budget for each gold call, and one turn more; without gold calls a task that is easy, medium or hard counts as 2, 4 or 8"`
}

// Length is the term that tokens beyond a budget lose by.
type Length struct {
	Weight float64 `yaml:"weight" min:"-1000" max:"0" doc:"for twice the budget or more, of less the share of the budget that it is above; 0 has no such term"`
	Budget int     `yaml:"budget" min:"0" doc:"tokens that an episode may sample"`
}

// check refuses a term without a budget.
func (l Length) check() error {
	if l.Weight != 0 && l.Budget == 0 {
		return &ValueError{"rewards.length.budget",
			"rewards.length.weight needs it: tokens of a whole episode, such as 500"}
	}
	return nil
}

// Overlong is the term that long completions lose by.
type Overlong struct {
	Weight float64 `yaml:"weight" min:"-1000" max:"0" doc:"for a completion of limit tokens, of shorter ones in the buffer their share of it; 0 has no such term"`
	Limit  int     `yaml:"limit" min:"0" doc:"tokens of the longest completion there is to be: rollout.max_tokens, unless you want shorter ones"`
	Buffer int     `yaml:"buffer" min:"0" doc:"tokens before the limit over which the term grows from nothing to its weight, such as a fifth of the limit"`
}

// check refuses a term without lengths.
func (o Overlong) check() error {
	switch {
	case o.Weight != 0 && o.Limit == 0:
		return &ValueError{"rewards.overlong.limit", "rewards.overlong.weight needs it: set it to rollout.max_tokens"}
	case o.Weight != 0 && (o.Buffer == 0 || o.Buffer > o.Limit):
		return &ValueError{"rewards.overlong.buffer",
			fmt.Sprintf("%d is not from 1 to rewards.overlong.limit, which is %d", o.Buffer, o.Limit)}
	}
	return nil
}

// RewardProgram is the term that a user's program scores. Without a command there is none.
type RewardProgram struct {
	Command []string      `yaml:"command" doc:"the program, on PATH or with its path, and its arguments; empty for none. It reads {\"scenario\", \"trajectories\"} as JSON and writes a JSON list of scores, 0 to 1, one for each trajectory"`
	Worker  bool          `yaml:"worker" doc:"one process scores all groups: it reads a line {\"id\", \"scenario\", \"trajectories\"} for each and answers with a line {\"id\", \"scores\"}; else each group has a process of its own"`
	Weight  float64       `yaml:"weight" min:"0" max:"1000" doc:"what a score of 1 earns; calls beyond the gold calls take nothing of it away"`
	Timeout time.Duration `yaml:"timeout" min:"0.001" max:"3600" doc:"time for one group"`
}
