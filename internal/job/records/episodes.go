package records

import (
	"fmt"
	"slices"
	"strings"

	"hone/internal/episode/trajectory"
	"hone/internal/eval/stats"
	"hone/internal/fault"
	"hone/internal/run"
)

// FindEpisode is the episode of a name in the run in path: whole or without its stage; or its scenario's id, or a
// beginning of either, where no other has it.
func FindEpisode(path, id string) (stats.Example, error) {
	found, err := episodesOf(path, func(l *run.Ledger, yield func(run.TrajectoryRow) error) error {
		rows, err := l.Find(id)
		if err == nil && len(rows) == 0 && id != "" {
			rows, err = l.FindByPrefix(id)
			rows = nearest(rows, id)
		}
		for _, r := range rows {
			if err == nil {
				err = yield(r)
			}
		}
		return err
	})
	if err != nil {
		return stats.Example{}, err
	}
	if len(found) != 1 {
		f := &fault.Error{Code: fault.CodeUsage, What: fmt.Sprintf("there is no episode %q", id), Where: path,
			Next: "hone runs rollouts " + run.Name(path) + " lists them"}
		if len(found) > 1 {
			var names []string
			for _, e := range found[:min(len(found), mostNames)] {
				names = append(names, e.Name())
			}
			if len(found) > mostNames {
				names = append(names, fmt.Sprintf("and %d more", len(found)-mostNames))
			}
			f.What, f.Why = fmt.Sprintf("%q is the name of %d episodes, or begins theirs", id, len(found)),
				strings.Join(names, ", ")
			f.Next = "give one of these names"
		}
		return stats.Example{}, f
	}
	return found[0], nil
}

// mostNames is how many names of episodes an error lists.
const mostNames = 12

// nearest are the episodes of the scenario of an id where there are any, else those whose names begin with it.
func nearest(rows []run.TrajectoryRow, id string) []run.TrajectoryRow {
	of := slices.DeleteFunc(slices.Clone(rows), func(r run.TrajectoryRow) bool {
		return !strings.Contains("/"+r.ID+"/", "/"+id+"/") && !strings.Contains("/"+r.ID, "/"+id+"#")
	})
	if len(of) > 0 {
		return of
	}
	return rows
}

// episodesOf are those episodes of the run in path that each yields, with the scenarios that the run keeps.
func episodesOf(
	path string, each func(l *run.Ledger, yield func(run.TrajectoryRow) error) error,
) (found []stats.Example, err error) {
	if _, err := run.Summarize(path); err != nil { // for its errors
		return nil, err
	}
	known := ScenariosOf(path)
	ratings, err := RatingsOf(path)
	if err != nil {
		return nil, err
	}
	err = ReadLedger(path, func(l *run.Ledger) error {
		return each(l, func(r run.TrajectoryRow) error {
			t := &trajectory.Trajectory{}
			if err := r.Decode(t); err != nil {
				return err
			}
			e := stats.Example{Title: r.ID, Trajectory: t}
			t.Rating = ratings[r.ID]
			if s := known[t.ScenarioID]; s != nil && s.Hash() == t.Scenario {
				e.Scenario = s
			}
			found = append(found, e)
			return nil
		})
	})
	return found, err
}
