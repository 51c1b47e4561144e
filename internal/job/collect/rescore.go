package collect

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
	"strings"

	"hone/internal/config"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/job"
	"hone/internal/job/episodes"
	"hone/internal/job/records"
	"hone/internal/mcp"
	"hone/internal/recipe"
	"hone/internal/run"
	"hone/internal/run/report"
)

// rate gives the episodes of groups their ratings. A group that is compared counts where all its episodes that can be
// scored are rated: the others would earn less for not having been looked at. It returns how many groups are rated in
// part.
func rate(groups []recipe.Rescored, ratings map[string]*trajectory.Rating, alone func(stage string) bool) (parts int) {
	for _, g := range groups {
		rated, all := 0, 0
		for _, t := range g.Group.Trajectories {
			if t.Rating = ratings[g.Stage+"/"+t.ID]; t.Outcome.Trainable() {
				if all++; t.Rating != nil {
					rated++
				}
			}
		}
		if alone(g.Stage) || rated == all || rated == 0 {
			continue
		}
		parts++
		for _, t := range g.Group.Trajectories {
			t.Rating = nil
		}
	}
	return parts
}

// Rescore scores the episodes of the run in path by other rewards and returns what changes. The scores go to a new file
// of the run's folder; of a dry run they go nowhere. A judge scores the groups of training against each other, and each
// episode of an evaluation alone. Where episodes could not be scored there is an error beside the changes of the
// others.
func Rescore(
	ctx context.Context, h *host.Host, path string, c config.Config, given episodes.GivenJudge,
) ([]recipe.Change, error) {
	if err := given.Apply(&c); err != nil {
		return nil, err
	}
	groups, skipped, err := groupsOf(path)
	if err != nil {
		return nil, err
	}
	if len(groups) == 0 {
		return nil, &fault.Error{Code: fault.CodeUsage, What: "the run keeps no episode that can be scored again",
			Where: path, Why: fmt.Sprintf(
				"%s of scenarios that it does not keep, or that ended for reasons that are not the policy's",
				fault.Count(skipped, "episode"),
			), Next: "hone runs rollouts " + run.Name(path)}
	}
	catalog, err := mcp.Load(filepath.Join(path, job.CatalogFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err := showTools(groups, catalog); err != nil && c.Judge.Model != "" {
		return nil, err
	}
	ratings, err := records.RatingsOf(path)
	if err != nil {
		return nil, err
	}
	alone := func(stage string) bool {
		return stage == recipe.ValidationStage || strings.HasPrefix(stage, report.EvalStage)
	}
	if n := rate(groups, ratings, alone); n > 0 {
		h.Say("note: %s rated in part, whose ratings do not count: rate the other episodes too",
			fault.Count(n, "group"))
	}
	scorer, err := episodes.ScorerOf(h, c.Rewards, catalog)
	if err != nil {
		return nil, err
	}
	defer scorer.Program.Close()
	x, err := episodes.JudgeOf(h, c)
	if err != nil {
		return nil, err
	}
	defer x.Close()
	scorer.Judge = x.Term(c)
	err = recipe.Rescore(ctx, groups, records.ScenariosOf(path), func(stage string) recipe.Scorer {
		if alone(stage) {
			return scorer.Alone()
		}
		return scorer
	})
	x.Say(h)
	if err != nil {
		return nil, err
	}
	if skipped > 0 {
		h.Say("note: %s left out: of scenarios that the run does not keep, or never scored",
			fault.Count(skipped, "episode"))
	}
	if !h.DryRun {
		file, err := writeScores(path, groups)
		if err != nil {
			return nil, err
		}
		h.Say("scores: %s; the run's own are as they were", file)
	}
	return recipe.Changes(groups), missingScoreError(groups, path)
}

// ChangeRows are changes as a table.
func ChangeRows(changes []recipe.Change) [][]string {
	rows := [][]string{{"STAGE", "EPISODES", "REWARD", "RESCORED", "CHANGED", "GROUPS", "REORDERED", "UNSCORED"}}
	for _, c := range changes {
		rows = append(rows, []string{
			c.Stage, fmt.Sprint(c.Episodes), fmt.Sprintf("%.4g", c.Was), fmt.Sprintf("%.4g",
				c.Now), fmt.Sprint(c.Changed),
			fmt.Sprint(c.Groups), fmt.Sprint(c.Reordered), fmt.Sprint(c.Unscored),
		})
	}
	return rows
}

// missingScoreError is the error of episodes that had a score and have none now, for a term that failed; nil where
// there are none.
func missingScoreError(groups []recipe.Rescored, path string) error {
	n, all, first := 0, 0, ""
	for _, g := range groups {
		for i, now := range g.Now {
			if g.Was[i].Outcome != "" {
				continue
			}
			if all++; now.Outcome != "" {
				if n++; n == 1 {
					first = fmt.Sprintf("%s/%s: %s", g.Stage, g.Group.Trajectories[i].ID, now.Error)
				}
			}
		}
	}
	if n == 0 {
		return nil
	}
	return &fault.Error{
		Code:  fault.CodeFailures,
		What:  fmt.Sprintf("%d of %s could not be scored", n, fault.Count(all, "episode")),
		Where: path,
		Why:   "the first: " + first,
		Next:  "mend the term that failed; nothing of the run has changed, and hone runs rescore can be given again",
	}
}

// showTools gives episodes the tools that they were shown, which a run's catalog holds.
func showTools(groups []recipe.Rescored, catalog *mcp.Catalog) (err error) {
	for _, g := range groups {
		for _, t := range g.Group.Trajectories {
			if t.Shown == nil {
				continue
			}
			if t.Tools, err = mcp.ShownTools(*t.Shown, catalog, "episode "+g.Stage+"/"+t.ID); err != nil {
				return err
			}
		}
	}
	return nil
}

// groupsOf are the groups of a run that can be scored again, in the order they were begun, and how many episodes are in
// none.
func groupsOf(path string) (groups []recipe.Rescored, skipped int, err error) {
	if _, err := run.Summarize(path); err != nil { // for its errors
		return nil, 0, err
	}
	known := records.ScenariosOf(path)
	type key struct {
		stage, scenarioID string
		step              int
	}
	at := map[key]int{}
	err = records.ReadLedger(path, func(l *run.Ledger) error {
		return l.Each(func(r run.TrajectoryRow) error {
			k, err := records.EpisodeOfRow(r)
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
				at[of], groups = i, append(groups,
					recipe.Rescored{Stage: r.Stage, Step: r.Step, Group: trajectory.Group{ScenarioID: k.ScenarioID}})
			}
			g := &groups[i]
			place, _ := slices.BinarySearchFunc(g.Group.Trajectories, k.Rollout,
				func(t *trajectory.Trajectory, rollout int) int { return t.Rollout - rollout })
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

// writeScores writes the scores to the first file of the run's folder that is not there.
func writeScores(path string, groups []recipe.Rescored) (string, error) {
	var text bytes.Buffer
	out := json.NewEncoder(&text)
	for _, g := range groups {
		for i, t := range g.Group.Trajectories {
			if err := out.Encode(rescoredLine{g.Stage + "/" + t.ID, g.Was[i], g.Now[i], g.ChangesOrder()}); err != nil {
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
