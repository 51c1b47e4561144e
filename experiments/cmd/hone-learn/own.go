package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"hone/internal/chat"
	"hone/internal/demo"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
	"hone/internal/job"
	"hone/internal/job/collect"
	"hone/internal/job/episodes"
	"hone/internal/job/records"
	"hone/internal/recipe"
	"hone/internal/toolset"
)

// own are the scenarios of a user's file in the place of the demo's, which the servers of l must be able to run. The
// start's demonstrations are shown of some of the training split, drawn by the seed; GRPO has the others.
func (d experiment) own(l *episodes.Episodes) (t demo.Tasks, err error) {
	list, err := scenario.Load(d.c.Scenarios.File)
	if err == nil {
		err = job.CheckScorable(list, d.c.Scenarios.File, "", false)
	}
	if err != nil {
		return t, err
	}
	t.Size = d.size
	if t.Train, err = job.OfSplit(list, scenario.Train, d.c.Scenarios.File); err == nil {
		t.Test, err = job.OfSplit(list, d.size.EvalSplit(), d.c.Scenarios.File)
	}
	if err == nil {
		err = l.Runnable(d.c, list)
	}
	if err == nil {
		err = toolset.RefuseFindings(d.Host, d.c.MCP, l.Catalog.LintTools(), nil)
	}
	if err == nil {
		err = toolset.CheckRules(d.Host, l.Gate, list)
	}
	if err != nil {
		return t, err
	}
	t.Validation = validationSample(scenario.OfSplit(list, scenario.Validation), d.c.Seed)
	random := rand.New(rand.NewPCG(d.c.Seed, 1))
	random.Shuffle(len(t.Train), func(i, j int) { t.Train[i], t.Train[j] = t.Train[j], t.Train[i] })
	if d.size.ShownKinds == 0 {
		return t, nil
	}
	shown := drawTools(list, d.size.ShownKinds, random)
	for _, split := range [][]scenario.Scenario{t.Train, t.Test, t.Validation} {
		for i := range split {
			if len(split[i].Gold) == 0 { // of no tool
				continue
			}
			tag := demo.ShownKind
			if slices.ContainsFunc(split[i].Gold, func(g scenario.Gold) bool { return !shown[g.Name] }) {
				tag = demo.UnshownKind
			}
			split[i].Tags = append(slices.Clone(split[i].Tags), tag)
		}
	}
	return t, nil
}

// validationSample are the scenarios that GRPO measures itself on while it trains, drawn by the seed: a file may have
// its kinds one after the other.
func validationSample(list []scenario.Scenario, seed uint64) []scenario.Scenario {
	rand.New(rand.NewPCG(seed, 2)).Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list[:min(numWatched, len(list))]
}

// drawTools are n of the tools that scenarios call.
func drawTools(list []scenario.Scenario, n int, random *rand.Rand) map[string]bool {
	var all []string
	for _, s := range list {
		for _, g := range s.Gold {
			all = append(all, g.Name)
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	drawn := map[string]bool{}
	for _, i := range random.Perm(len(all))[:min(n, len(all))] {
		drawn[all[i]] = true
	}
	return drawn
}

// show makes the demonstrations that the start is trained on: the gold calls of training scenarios, made on the live
// servers, where they pass every check. What is shown is no task of GRPO's; of all others that pass there are
// solutions.
func (d experiment) show(ctx context.Context, l *episodes.Episodes, t *demo.Tasks) error {
	if err := collect.MakesGold(l); err != nil {
		return err
	}
	var gold []scenario.Scenario
	for _, s := range t.Train {
		if collect.HasGold(&s) && len(s.Messages) == 0 { // nothing is to learn from earlier turns
			gold = append(gold, s)
		}
	}
	episodes, err := recipe.Evaluation{Stage: shownStage, Runner: l.Runner(collect.Gold(gold), 1), Scorer: l.Scorer,
		Log: records.Journal{Dir: d.dir, Say: d.Say, Episodes: l}, Progress: d.Progress(1)}.Run(ctx, gold)
	if err != nil {
		return err
	}
	passed, shown := l.Verdicts(gold), map[string][]chat.Message{}
	for _, e := range episodes {
		if ok, _ := passed(e); ok && e.Outcome == trajectory.OK {
			shown[e.ScenarioID] = e.Messages
		}
	}
	var train []scenario.Scenario
	for _, s := range t.Train {
		switch messages, ok := shown[s.ID]; {
		case ok && len(t.Demonstrations) < d.size.Demonstrations && !slices.Contains(s.Tags, demo.UnshownKind):
			t.Demonstrations = append(t.Demonstrations, scenario.Solved{Scenario: s, Messages: messages})
			continue
		case ok:
			t.Solutions = append(t.Solutions, scenario.Solved{Scenario: s, Messages: messages})
		}
		train = append(train, s)
	}
	t.Train = train
	d.Say("executed on the live servers: %s, %s of %s; %d in the split %s",
		fault.Count(len(t.Demonstrations), "demonstration"), fault.Count(len(t.Solutions), "solution"),
		fault.Count(len(t.Train), "training scenario"), len(t.Test), d.size.EvalSplit())
	if len(t.Demonstrations) == 0 || len(t.Train) == 0 || d.solved && len(t.Solutions) == 0 {
		return &fault.Error{
			Code:  fault.CodeUsage,
			What:  "too few scenarios are left to compare",
			Where: d.c.Scenarios.File,
			Why: fmt.Sprintf("%d are shown, and %d are left to try, of which %d have a solution; "+
				"the gold calls of %d pass", len(t.Demonstrations), len(t.Train), len(t.Solutions), len(shown)),
			Next: "hone scenarios validate " + d.c.Scenarios.File +
				"; or give more scenarios, fewer --demonstrations, or no arm " + ArmGold,
		}
	}
	return nil
}

// shownStage keeps the episodes in which gold calls are made.
const shownStage = "shown"
