package collect

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"hone/internal/config"
	"hone/internal/eval/stats"
	"hone/internal/fault"
	"hone/internal/grade/judge"
	"hone/internal/host"
	"hone/internal/job"
	"hone/internal/job/episodes"
	"hone/internal/job/records"
	"hone/internal/mcp"
	"hone/internal/recipe"
	"hone/internal/run"
)

// Calibration is what the user asks of hone judge calibrate.
type Calibration struct {
	Run    string // folder of a run whose episodes are judged; "": those of a set
	Set    string // file of a set; "": the built-in one
	Labels string // file of what people say of the run's episodes
	Groups int    // most groups, drawn by the seed
	Judge  episodes.GivenJudge
}

// Measure has the judge of the configuration judge episodes of which it is known whether they pass, and attempts that
// try to fool it.
func (k Calibration) Measure(ctx context.Context, h *host.Host, c config.Config) (judge.Report, error) {
	if err := k.Judge.Apply(&c); err != nil {
		return judge.Report{}, err
	}
	if c.Judge.Model == "" {
		return judge.Report{}, &fault.Error{Code: fault.CodeUsage, What: "no judge is named",
			Next: "name one with --judge-model, or as judge.model in hone.yaml"}
	}
	groups, err := k.groups()
	if err != nil {
		return judge.Report{}, err
	}
	if k.Groups > 0 && len(groups) > k.Groups {
		draw := rand.New(rand.NewPCG(c.Seed, 0))
		draw.Shuffle(len(groups), func(i, j int) { groups[i], groups[j] = groups[j], groups[i] })
		groups = groups[:k.Groups]
	}
	groups = judge.Tricks(groups)
	x, err := episodes.JudgeOf(h, c)
	if err != nil {
		return judge.Report{}, err
	}
	defer x.Close()
	attempts := 0
	for _, g := range groups {
		attempts += len(g.Attempts)
	}
	if h.DryRun {
		h.Say(
			"would have %s judge %s beside each other, and %s alone, %s each; and each group once with each attempt "+
				"in each place", c.Judge.Model, fault.Count(len(groups), "group"), fault.Count(attempts, "attempt"),
			fault.Count(x.Samples(), "time"),
		)
		return judge.Report{}, nil
	}
	rotating := x.Options
	rotating.Rotate = true
	progress := h.Progress(1)
	passFrom := 0.0
	if len(x.Options.Rubric.Axes) > 0 {
		passFrom = x.Options.Rubric.PassFrom
	}
	report, err := judge.Calibration{Samples: x.Samples(), Tie: c.Judge.Tie, PassFrom: passFrom, AtOnce: x.AtOnce,
		Intervals: stats.Bootstrap{Level: c.Eval.Confidence, Seed: c.Seed},
		Progress:  func(done, total int) { progress("judge", done, total, "groups") }}.Run(ctx, x.Judge,
		judge.New(rotating), groups, func(err error) bool { return recipe.Stops(ctx, err) })
	x.Say(h)
	for _, why := range report.Failed {
		h.Say("no usable answer: %s", fault.Short(why))
	}
	return report, err
}

// groups are those that are judged.
func (k Calibration) groups() ([]judge.Group, error) {
	if k.Run != "" {
		return k.ofRun()
	}
	if k.Labels != "" {
		return nil, &fault.Error{Code: fault.CodeUsage, What: "labels are of the episodes of a run, and none is named",
			Where: "--labels " + k.Labels, Next: "hone judge calibrate RUN --labels FILE; a set has its own"}
	}
	if k.Set == "" {
		return judge.BuiltInSet()
	}
	text, err := os.ReadFile(k.Set)
	var groups []judge.Group
	if err == nil {
		groups, err = judge.ReadSet(text)
	}
	if err != nil {
		return nil, &fault.Error{Code: fault.CodeUsage, What: "the set cannot be used", Where: "--set " + k.Set,
			Err: err, Next: "docs/guide.md shows a set"}
	}
	return groups, nil
}

// ofRun are the groups of a run, with what its checks and the labels say of their episodes.
func (k Calibration) ofRun() ([]judge.Group, error) {
	kept, _, err := groupsOf(k.Run)
	if err != nil {
		return nil, err
	}
	catalog, err := mcp.Load(filepath.Join(k.Run, job.CatalogFile))
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = showTools(kept, catalog)
	}
	if err != nil {
		return nil, err
	}
	labels, err := k.labels()
	if err != nil {
		return nil, err
	}
	known := records.ScenariosOf(k.Run)
	var groups []judge.Group
	used := 0
	for _, g := range kept {
		group := judge.Group{Scenario: known[g.Group.ScenarioID]}
		for i, t := range g.Group.Trajectories {
			if !t.Outcome.Trainable() {
				continue
			}
			a := judge.Attempt{Trajectory: t}
			for _, term := range g.Was[i].Terms {
				if passed := term.Score == 1; term.Name == stats.ChecksTerm {
					a.Passed, a.By = &passed, judge.Rules
				}
			}
			for _, name := range []string{g.Stage + "/" + t.ID, t.ID} {
				if passed, has := labels[name]; has { // a person knows better than a rule
					a.Passed, a.By = &passed, judge.Labels
					used++
					break
				}
			}
			group.Attempts = append(group.Attempts, a)
		}
		if len(group.Attempts) > 0 {
			groups = append(groups, group)
		}
	}
	switch {
	case len(groups) == 0:
		return nil, &fault.Error{Code: fault.CodeUsage, What: "the run keeps no episode that can be judged",
			Where: k.Run, Next: "hone runs rollouts " + run.Name(k.Run)}
	case used == 0 && len(labels) > 0:
		return nil, &fault.Error{Code: fault.CodeUsage, What: "no label is of an episode of the run", Where: k.Labels,
			Next: "hone runs rollouts " + run.Name(k.Run) + " lists their names"}
	}
	return groups, nil
}

// labels reads what people say of episodes: a line {"episode": NAME, "passed": true or false} for each.
func (k Calibration) labels() (map[string]bool, error) {
	if k.Labels == "" {
		return nil, nil
	}
	bad := func(where string, err error) (map[string]bool, error) {
		return nil, &fault.Error{Code: fault.CodeUsage, What: "the labels cannot be used", Where: where, Err: err,
			Next: `write a line {"episode": "grpo/ID/0/1", "passed": true} for each`}
	}
	text, err := os.ReadFile(k.Labels)
	if err != nil {
		return bad(k.Labels, err)
	}
	labels := map[string]bool{}
	for n, line := range slices.Collect(bytes.Lines(text)) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var row struct {
			Episode string `json:"episode"`
			Passed  *bool  `json:"passed"`
		}
		err := json.Unmarshal(line, &row)
		if err == nil && (row.Episode == "" || row.Passed == nil) {
			err = errors.New("it lacks the episode, or whether it passed")
		}
		if err != nil {
			return bad(fmt.Sprintf("%s:%d", k.Labels, n+1), err)
		}
		labels[row.Episode] = *row.Passed
	}
	return labels, nil
}
