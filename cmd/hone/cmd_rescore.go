package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"hone/internal/episode/trajectory"
	"hone/internal/fault"
	"hone/internal/grade"
	"hone/internal/job"
	"hone/internal/mcp"
	"hone/internal/recipe"
	"hone/internal/run"
)

func newRunsRescore(a *app, dir *string) *cobra.Command {
	return &cobra.Command{
		Use:   "rescore RUN",
		Short: "Score the episodes of a run by the rewards of this configuration, and show what changes",
		Long: "rescore scores the episodes that a run keeps by the rewards of --config, else of hone.yaml, and shows for each stage what that\n" +
			"changes. The run keeps its own scores: the others go to a new file in its folder, rescored-1.jsonl.",
		Example: "  hone runs rescore demo --config other.yaml\n  hone runs rescore ./out --dry-run",
		Args:    arguments(1, 1, "the name or the folder of a run"),
		RunE: func(c *cobra.Command, args []string) error {
			path, err := a.runPath(*dir, args[0])
			if err != nil {
				return err
			}
			return runRescore(c.Context(), a, path)
		},
	}
}

func runRescore(ctx context.Context, a *app, path string) error {
	c, err := a.config()
	if err != nil {
		return err
	}
	groups, skipped, err := groupsOf(path)
	if err != nil {
		return err
	}
	if len(groups) == 0 {
		return &fault.Error{Code: fault.CodeUsage, What: "the run keeps no episode that can be scored again", Where: path,
			Why: fmt.Sprintf("%s of scenarios that it does not keep, or that ended for reasons that are not the policy's", fault.Count(skipped, "episode")), Next: "hone runs show " + run.Name(path) + " --episodes"}
	}
	var defaults grade.Defaults
	catalog, err := mcp.Load(filepath.Join(path, job.CatalogFile))
	if err == nil {
		defaults = catalog.Defaults()
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	scorer, err := job.ScorerOf(a.Host, c.Rewards, defaults)
	if err != nil {
		return err
	}
	if err := recipe.Rescore(ctx, groups, job.ScenariosOf(path), scorer); err != nil {
		return err
	}
	changes := recipe.Changes(groups)
	rows := [][]string{{"STAGE", "EPISODES", "REWARD", "RESCORED", "CHANGED", "GROUPS", "REORDERED"}}
	for _, c := range changes {
		rows = append(rows, []string{c.Stage, fmt.Sprint(c.Episodes), fmt.Sprintf("%.4g", c.Was), fmt.Sprintf("%.4g", c.Now), fmt.Sprint(c.Changed),
			fmt.Sprint(c.Groups), fmt.Sprint(c.Reordered)})
	}
	if skipped > 0 {
		a.Say("note: %s left out: of scenarios that the run does not keep, or never scored", fault.Count(skipped, "episode"))
	}
	if !a.DryRun {
		file, err := writeRescored(path, groups)
		if err != nil {
			return err
		}
		a.Say("scores: %s; the run's own are as they were", file)
	}
	return a.Print(changes, rows)
}

// groupsOf are the groups of a run that can be scored again, in the order they were begun, and how many episodes are in none.
func groupsOf(path string) (groups []recipe.Rescored, skipped int, err error) {
	if _, err := run.Summarize(path); err != nil { // for its errors
		return nil, 0, err
	}
	known := job.ScenariosOf(path)
	type key struct {
		stage, scenarioID string
		step              int
	}
	at := map[key]int{}
	err = withLedger(path, func(l *run.Ledger) error {
		return l.Each(func(r run.TrajectoryRow) error {
			k, err := job.KeptOf(r)
			if err != nil {
				return err
			}
			s := known[k.ScenarioID]
			if s == nil || s.Hash() != k.Scenario || k.Score == nil {
				skipped++
				return nil
			}
			of := key{r.Stage, k.ScenarioID, r.Step}
			i, ok := at[of]
			if !ok {
				i = len(groups)
				at[of], groups = i, append(groups, recipe.Rescored{Stage: r.Stage, Step: r.Step, Group: trajectory.Group{ScenarioID: k.ScenarioID}})
			}
			g := &groups[i]
			place, _ := slices.BinarySearchFunc(g.Group.Trajectories, k.Rollout, func(t *trajectory.Trajectory, rollout int) int { return t.Rollout - rollout })
			g.Group.Trajectories = slices.Insert(g.Group.Trajectories, place, k.Trajectory)
			g.Was = slices.Insert(g.Was, place, *k.Score)
			return nil
		})
	})
	return groups, skipped, err
}

// rescoredLine is an episode in rescored-N.jsonl.
type rescoredLine struct {
	Row       string           `json:"row"` // its name in the run
	Was       trajectory.Score `json:"was"`
	Now       trajectory.Score `json:"now"`
	Reordered bool             `json:"reordered"` // its group
}

// writeRescored writes the scores to the first file of the run's folder that is not there.
func writeRescored(path string, groups []recipe.Rescored) (string, error) {
	var text bytes.Buffer
	out := json.NewEncoder(&text)
	for _, g := range groups {
		for i, t := range g.Group.Trajectories {
			if err := out.Encode(rescoredLine{g.Stage + "/" + t.ID, g.Was[i], g.Now[i], g.Reordered()}); err != nil {
				return "", err
			}
		}
	}
	for n := 1; ; n++ {
		name := filepath.Join(path, fmt.Sprintf("rescored-%d.jsonl", n))
		if _, err := os.Lstat(name); err == nil {
			continue
		}
		return name, job.WriteFile(name, text.Bytes())
	}
}
