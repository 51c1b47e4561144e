package evaluate

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
	"hone/internal/job"
	"hone/internal/recipe"
	"hone/internal/report"
	"hone/internal/run"
)

// earlier finds the episodes of earlier evaluations by their content keys.
type earlier struct {
	episodes map[string]keptIn
	ledgers  map[string]*run.Ledger
}

// keptIn is where an episode is kept.
type keptIn struct{ dir, row string }

func (e earlier) close() {
	for _, l := range e.ledgers {
		_ = l.Close() // read only
	}
}

// earlierEpisodes looks through the run directories that the user names. An episode that says nothing about the policy is left there.
func earlierEpisodes(j *job.Job, dirs []string) (earlier, error) {
	found := earlier{map[string]keptIn{}, map[string]*run.Ledger{}}
	for _, dir := range dirs {
		if _, err := run.Summarize(dir); err != nil {
			return found, err
		}
		l, err := run.ReadLedger(filepath.Join(dir, "ledger.db"))
		if err != nil {
			return found, err
		}
		found.ledgers[dir] = l
		before := len(found.episodes)
		err = l.Each(func(r run.TrajectoryRow) error {
			var t struct {
				ContentKey string             `json:"content_key"`
				Outcome    trajectory.Outcome `json:"outcome"`
			}
			if !strings.HasPrefix(r.Stage, report.EvalStage) {
				return nil
			}
			if err := json.Unmarshal(r.JSON, &t); err != nil {
				return fmt.Errorf("reading trajectory %s of the ledger: %w", r.ID, err)
			}
			if t.ContentKey != "" && t.Outcome.Trainable() {
				found.episodes[t.ContentKey] = keptIn{dir, r.ID}
			}
			return nil
		})
		if err != nil {
			return found, err
		}
		if len(found.episodes) == before {
			j.Say("note: %s holds no episode of hone eval that could be reused", dir)
		}
	}
	return found, nil
}

// reuse takes from earlier evaluations what is missing of a system's episodes, into log, where they are found like those that an earlier
// attempt left. They are scored anew.
func (b *bench) reuse(s stand, stage string, tasks []scenario.Scenario, log recipe.EvaluationLog) error {
	if len(b.earlier.episodes) == 0 {
		return nil
	}
	kept, err := log.Trajectories(stage, 0)
	if err != nil {
		return err
	}
	here := map[string]bool{}
	for _, k := range kept {
		here[k.ContentKey] = k.Outcome.Trainable()
	}
	for _, task := range tasks {
		for repeat := range b.repeats() {
			key := s.Episodes.KeyOf(&trajectory.Trajectory{ScenarioID: task.ID, Rollout: repeat})
			from, found := b.earlier.episodes[key]
			if !found || here[key] {
				continue
			}
			t, err := b.take(from)
			if err != nil {
				return err
			}
			if !s.enters(t) {
				continue
			}
			if t.Split = task.Split; t.Reused == "" {
				t.Reused = filepath.Clean(from.dir)
			}
			if err := log.Trajectory(stage, 0, t); err != nil {
				return err
			}
		}
	}
	return nil
}

// take reads one episode of an earlier evaluation, as it ended.
func (b *bench) take(from keptIn) (*trajectory.Trajectory, error) {
	row, found, err := b.earlier.ledgers[from.dir].Trajectory(from.row)
	if err == nil && !found {
		err = &fault.Error{Code: fault.CodeUsage, What: "an episode is gone while it is read", Where: from.dir + ": " + from.row, Next: "give the command again"}
	}
	if err != nil {
		return nil, err
	}
	k, err := job.KeptOf(row)
	if err != nil {
		return nil, err
	}
	if k.Shown != nil {
		k.Tools, err = job.ToolsShown(*k.Shown, b.local.Catalog, from.dir+": "+from.row)
		k.Shown = nil
	}
	return k.Trajectory, err
}
