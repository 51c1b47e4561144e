package train

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"hone/internal/basemodel"
	"hone/internal/episode/scenario"
	"hone/internal/fault"
	"hone/internal/job"
	"hone/internal/job/episodes"
	"hone/internal/toolset"
)

// resolveGRPO opens the servers, and the sampler where it is another's, and settles what is trained on them: a plan of
// the scenarios that are left. gone is called where that sampler answers nothing any more.
func resolveGRPO(
	ctx context.Context, j *job.Job, list []scenario.Scenario, from toolset.Source, gone func(error),
) (*episodes.Episodes, episodes.Plan, error) {
	l, list, err := openServers(ctx, j, list, from)
	if err != nil {
		return nil, episodes.Plan{}, err
	}
	var p episodes.Plan
	if err = l.OpenSampler(ctx, j.Host, j.Config, j.Path, true, gone); err == nil {
		p, err = l.Resolve(j.Host, j.Config,
			episodes.Wanted{Adapter: j.Kept.Adapter, Scenarios: list, Trains: true, Shares: true})
	}
	if err != nil {
		l.Close()
	}
	return l, p, err
}

// openServers opens the servers of GRPO on the training split of list, and refuses tools and scenarios that cannot be
// trained on. What is left of list is without those that SkipBad leaves out.
func openServers(
	ctx context.Context, j *job.Job, list []scenario.Scenario, from toolset.Source,
) (*episodes.Episodes, []scenario.Scenario, error) {
	servers, err := toolset.LoadServers(j.Host, j.Config, from)
	if err != nil {
		return nil, nil, err
	}
	if !j.Config.Trainer.Away() {
		if err := basemodel.CheckDevices(j.Host, j.Config.Engine); err != nil {
			return nil, nil, err
		}
	}
	l, err := episodes.Open(ctx, j.Host, j.Config, servers, j.Path)
	if err != nil {
		return nil, nil, err
	}
	if j.Dir != nil {
		err = j.SameTools(l.Catalog)
	}
	if err == nil {
		err = toolset.RefuseFindings(j.Host, j.Config.MCP, l.Catalog.LintTools(), j.Kept.AllowFindings)
	}
	if err == nil {
		list, err = sendable(l, j, list)
	}
	tasks := scenario.OfSplit(list, scenario.Train)
	if j.Config.Eval.Every > 0 {
		tasks = slices.Concat(tasks, scenario.OfSplit(list, scenario.Validation))
	}
	if err == nil {
		err = l.Runnable(j.Config, tasks)
	}
	if err == nil {
		err = toolset.CheckRules(j.Host, l.Gate, tasks)
	}
	if err == nil {
		err = l.OpenJudge(j.Host, j.Config)
	}
	if err != nil {
		l.Close()
		return nil, nil, err
	}
	return l, list, nil
}

// sendable are the scenarios of a list but for those whose calls no session on the servers makes (vet.Sessions), which
// nobody passes: they are an error, or left out where bad ones are.
func sendable(l *episodes.Episodes, j *job.Job, list []scenario.Scenario) (good []scenario.Scenario, err error) {
	if j.Dir != nil { // they were looked at when the run began
		return list, nil
	}
	var bad []string
	sessions := l.Sendable(j.Config)
	for i := range list {
		if list[i].Split != scenario.Train && (list[i].Split != scenario.Validation || j.Config.Eval.Every == 0) {
			good = append(good, list[i]) // it is not run
			continue
		}
		if found := sessions.Unsendable(&list[i]); len(found) > 0 {
			bad = append(bad, list[i].ID+": "+strings.Join(found, "; "))
			continue
		}
		good = append(good, list[i])
	}
	if len(bad) == 0 {
		return list, nil
	}
	if len(scenario.OfSplit(good, scenario.Train)) == 0 || !j.SkipBad {
		const named = 10
		f := &fault.Error{
			Code:  fault.CodeUsage,
			What:  fault.Count(len(bad), "scenario") + " cannot be done on these servers",
			Where: j.Config.Scenarios.File,
			Next:  "hone discover lists the tools, hone scenarios validate names all such rows; mend them",
		}
		if more := len(bad) - named; more > 0 {
			bad = append(bad[:named], fmt.Sprintf("and %d more", more))
		}
		f.Why = strings.Join(bad, "\n    ")
		if !j.SkipBad && len(good) > 0 {
			f.Next += job.SkipBad
		}
		return nil, f
	}
	for _, why := range bad {
		j.Say("left out: %s: %s", j.Config.Scenarios.File, why)
	}
	return good, nil
}
