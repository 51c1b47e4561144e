package records

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"

	"hone/internal/eval/stats"
	"hone/internal/fault"
	"hone/internal/job"
	"hone/internal/run"
)

// Pick says which episodes of a run are wanted. The zero value is all.
type Pick struct {
	Stage string // "" is each; with Step, that of GRPO where the run has one
	Step  *int
	Worst int // so many of those that earned least, the least first; 0 is all, in the order of the run
}

// Episodes are those of the run in path that p picks. Of the worst are those alone that were scored and say something
// of the policy. Its error says which steps there are where the run has none that is picked.
func (p Pick) Episodes(path string) ([]stats.Example, error) {
	s, err := run.Summarize(path)
	if err != nil {
		return nil, err
	}
	stages := slices.DeleteFunc(s.Stages, func(x run.StageSummary) bool { return x.NumTrajectories == 0 })
	trains := func(x run.StageSummary) bool { return x.Name == job.GRPOStage }
	if p.Stage == "" && p.Step != nil && slices.ContainsFunc(stages, trains) {
		p.Stage = job.GRPOStage
	}
	scored := map[string]bool{}
	found, err := episodesOf(path, func(l *run.Ledger, yield func(run.TrajectoryRow) error) error {
		each := func(r run.TrajectoryRow) error {
			scored[r.ID] = r.Score != nil
			return yield(r)
		}
		if p.Stage == "" && p.Step == nil {
			return l.Each(each)
		}
		for _, x := range stages {
			if p.Stage != "" && x.Name != p.Stage {
				continue
			}
			if p.Step == nil {
				if err := l.EachOf(x.Name, each); err != nil {
					return err
				}
				continue
			}
			rows, err := l.Trajectories(x.Name, *p.Step)
			if err != nil {
				return err
			}
			for _, r := range rows {
				if err := each(r); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(found) == 0 && (p.Stage != "" || p.Step != nil) {
		return nil, p.none(path, stages)
	}
	return p.worst(found, scored), nil
}

// worst are the first of found by what they earned, where p wants those alone.
func (p Pick) worst(found []stats.Example, scored map[string]bool) []stats.Example {
	if p.Worst == 0 {
		return found
	}
	found = slices.DeleteFunc(found, func(e stats.Example) bool {
		return !scored[e.Title] || !e.Trajectory.Outcome.Trainable()
	})
	sort.SliceStable(found, func(i, j int) bool {
		return cmp.Compare(found[i].Trajectory.Reward, found[j].Trajectory.Reward) < 0
	})
	return found[:min(p.Worst, len(found))]
}

// none says what the run has instead of what p picks.
func (p Pick) none(path string, stages []run.StageSummary) error {
	f := &fault.Error{Code: fault.CodeUsage, What: fmt.Sprintf("the run has no episode of stage %q", p.Stage),
		Where: path, Next: "hone runs show " + run.Name(path) + " shows how far the run is"}
	if p.Step != nil {
		f.What = fmt.Sprintf("the run has no episode of step %d", *p.Step)
	}
	var has []string
	for _, x := range stages {
		has = append(has, fmt.Sprintf("%s (%s)", x.Name, fault.Count(x.NumTrajectories, "episode")))
	}
	if f.Why = "it has " + strings.Join(has, ", "); len(has) == 0 {
		f.Why = "it has none yet"
	}
	return f
}
