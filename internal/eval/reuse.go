package eval

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"hone/internal/config"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
	"hone/internal/job"
	"hone/internal/job/records"
	"hone/internal/mcp"
	"hone/internal/recipe"
	"hone/internal/run"
	"hone/internal/run/report"
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

// earlierEpisodes looks through the run directories that the user names. An episode that says nothing about the policy
// is left there.
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

// reuse takes from earlier evaluations what is missing of a system's episodes, into log, where they are found like
// those that an earlier attempt left. They are scored anew. n is how many it took, those of an earlier attempt
// included.
func (b *bench) reuse(s stand, stage string, tasks []scenario.Scenario, log recipe.EvaluationLog) (n int, err error) {
	if len(b.earlier.episodes) == 0 {
		return 0, nil
	}
	kept, err := log.Trajectories(stage, 0)
	if err != nil {
		return 0, err
	}
	here, taken := map[string]bool{}, map[string]bool{}
	for _, k := range kept {
		here[k.ContentKey] = k.Outcome.Trainable()
		taken[k.ContentKey] = k.Reused != ""
	}
	for _, task := range tasks {
		for repeat := range b.repeats() {
			key := s.Episodes.KeyOf(&trajectory.Trajectory{ScenarioID: task.ID, Rollout: repeat})
			from, found := b.earlier.episodes[key]
			if here[key] && taken[key] {
				n++
			}
			if !found || here[key] {
				continue
			}
			t, err := b.take(from)
			if err != nil {
				return n, err
			}
			if !s.enters(t) {
				continue
			}
			if t.Split = task.Split; t.Reused == "" {
				t.Reused = filepath.Clean(from.dir)
			}
			if err := log.Trajectory(stage, 0, t); err != nil {
				return n, err
			}
			n++
		}
	}
	return n, nil
}

// sayReuse says, before a system's first episodes, how many of them are not run again; why, where none is and it is
// known.
func (b *bench) sayReuse(m *measuring, s stand, n, of int) {
	if len(b.Kept.Evaluation.Reuse) == 0 {
		return
	}
	part := ""
	if b.Config.Eval.StopEarly > 0 {
		part = " of the first part"
	}
	why := ""
	if reasons := b.differing(s); n == 0 && len(reasons) > 0 {
		why = ": " + strings.Join(reasons, "; ")
	} else if n == 0 {
		why = ": something else differs, such as the model, its adapter, a server's program, a file or hone's version"
	}
	b.Say("%s: %d of %s%s are taken from earlier evaluations%s", m.Name, n, fault.Count(of, "episode"), part, why)
}

// differing says of each earlier evaluation what an episode depends on that is not as it was there, as far as its
// folder tells.
func (b *bench) differing(s stand) (reasons []string) {
	for _, dir := range b.Kept.Evaluation.Reuse {
		var names []string
		if was, err := config.Load(filepath.Join(dir, run.ConfigFile)); err == nil {
			local := s.who.URL == ""
			names = differences("", reflect.ValueOf(settingsOfEpisodes(was, local)),
				reflect.ValueOf(settingsOfEpisodes(s.settings, local)))
		}
		if was, err := mcp.Load(filepath.Join(dir, job.CatalogFile)); err == nil && was.Hash != b.local.Catalog.Hash {
			names = append(names, "the servers' tools")
		}
		known := records.ScenariosOf(dir)
		if len(known) > 0 && !slices.ContainsFunc(b.tasks,
			func(t scenario.Scenario) bool { return known[t.ID] != nil && known[t.ID].Hash() == t.Hash() }) {
			names = append(names, "every scenario")
		}
		if len(names) > 0 {
			reasons = append(reasons, strings.Join(names, ", ")+" differs from "+dir)
		}
	}
	return reasons
}

// differences are the keys of two configurations whose values differ.
func differences(prefix string, was, is reflect.Value) (keys []string) {
	for i := range was.NumField() {
		f := was.Type().Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if !f.IsExported() || name == "-" {
			continue
		}
		switch {
		case f.Type.Kind() == reflect.Struct && name != "":
			keys = append(keys, differences(prefix+name+".", was.Field(i), is.Field(i))...)
		case !reflect.DeepEqual(was.Field(i).Interface(), is.Field(i).Interface()):
			keys = append(keys, prefix+name)
		}
	}
	return keys
}

// take reads one episode of an earlier evaluation, as it ended.
func (b *bench) take(from keptIn) (*trajectory.Trajectory, error) {
	row, found, err := b.earlier.ledgers[from.dir].Trajectory(from.row)
	if err == nil && !found {
		err = &fault.Error{Code: fault.CodeUsage, What: "an episode is gone while it is read",
			Where: from.dir + ": " + from.row, Next: "give the command again"}
	}
	if err != nil {
		return nil, err
	}
	k, err := records.EpisodeOfRow(row)
	if err != nil {
		return nil, err
	}
	if k.Shown != nil {
		k.Tools, err = mcp.ShownTools(*k.Shown, b.local.Catalog, from.dir+": "+from.row)
		k.Shown = nil
	}
	return k.Trajectory, err
}
