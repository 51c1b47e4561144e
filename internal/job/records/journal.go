package records

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"strings"

	"hone/internal/episode/trajectory"
	"hone/internal/fault"
	"hone/internal/job"
	"hone/internal/job/episodes"
	"hone/internal/mcp"
	"hone/internal/recipe"
	"hone/internal/run"
	"hone/internal/run/metrics"
)

// Conclude turns the end of a recipe into what the user sees; the recipe has kept its whole steps.
func Conclude(ctx context.Context, j *job.Job, stage string, err error) error {
	next, server := "hone runs resume "+run.Name(j.Path), ""
	if j.Kept.MCPGiven {
		server = " with the same MCP_URL or --mcp"
	}
	if f, ok := errors.AsType[*fault.Error](err); ok {
		switch f.Code {
		case fault.CodeExhausted:
			help := "make room there"
			if strings.Contains(f.Next, "engine.") { // not the disk is full, but the device
				help = f.Next + " in " + filepath.Join(j.Path, run.ConfigFile)
				next += " --accept-edits"
			}
			f.Next = help + "; then " + next + server
		case fault.CodeUnavailable:
			f.Next += "; then " + next + server
		}
	}
	if ctx.Err() == nil || !errors.Is(err, context.Canceled) {
		return err
	}
	_, at, latestErr := Journal{Dir: j.Dir, Say: j.Say}.Latest(stage)
	if latestErr != nil {
		return latestErr
	}
	return &fault.Error{
		Code:  fault.CodeStopped,
		What:  fmt.Sprintf("stopped after step %d; nothing finished is lost", at),
		Where: j.Path,
		Next:  next + server,
	}
}

// keepCheckpoints is how many of a stage stay on disk, beside the best.
const keepCheckpoints = 2

// Journal keeps what recipes produce in a run directory.
type Journal struct {
	Dir      *run.Dir
	Say      func(format string, args ...any)
	Episodes *episodes.Episodes // where episodes are run; nil where no trajectory is kept
	Track    *Track             // who else is told of metrics; nil where nobody is
}

// Trajectory implements recipe.Log.
func (l Journal) Trajectory(stage string, step int, t *trajectory.Trajectory) error {
	l.Episodes.Stamp(t)
	l.Episodes.TellRefusals(l.Say, t)
	t.Attempt = l.Dir.Attempt
	lean := *t
	shown := trajectory.DescribeTools(t.Tools, l.Episodes.Catalog.Tools(), l.Episodes.Catalog.Hash)
	lean.Tools, lean.Shown = nil, &shown // the run's catalog holds them once
	text, err := json.Marshal(unscored{Trajectory: lean})
	if err != nil {
		return err
	}
	row := run.TrajectoryRow{ID: stage + "/" + t.ID, Stage: stage, Step: step, JSON: text}
	added, err := l.Dir.PutTrajectory(row)
	if err != nil || added {
		return err
	}
	// An attempt that was stopped within this step left the row; what counts is the episode that is trained on now.
	return l.Dir.ReplaceTrajectory(row)
}

// unscored is a trajectory's JSON without its score, which is a row of its own.
type unscored struct {
	trajectory.Trajectory
	Reward *struct{} `json:"reward,omitempty"`
	Terms  *struct{} `json:"terms,omitempty"`
}

// Scores implements recipe.Log.
func (l Journal) Scores(stage string, g trajectory.Group, scores []trajectory.Score) error {
	rows := make([]run.ScoreRow, len(scores))
	for i, s := range scores {
		text, err := json.Marshal(s)
		if err != nil {
			return err
		}
		rows[i] = run.ScoreRow{ID: stage + "/" + g.Trajectories[i].ID, JSON: text}
	}
	return l.Dir.PutScores(rows)
}

// Metrics implements recipe.Log. A metric that is no number, as the mismatch of a policy that is another one, is left
// out, for JSON has no such numbers, and the run is to say why it stops and not that.
func (l Journal) Metrics(stage string, step int, metrics map[string]float64) error {
	numbers := maps.Clone(metrics)
	maps.DeleteFunc(numbers, func(_ string, x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) })
	l.Track.measure(stage, step, numbers)
	text, err := json.Marshal(numbers)
	if err == nil {
		err = l.Dir.PutMetric(stage, step, text)
	}
	if err == nil {
		l.Track.put(stage, step, numbers)
	}
	return err
}

func (l Journal) Checkpoint(stage string, step int, write func(dir string) error) error {
	defer l.Track.begin(metrics.Checkpoint)()
	if _, err := l.Dir.PublishCheckpoint(stage, step, write); err != nil {
		return err
	}
	best, _, err := l.Best(stage, step)
	if err != nil {
		return err
	}
	return run.KeepLast(l.Dir.Path, stage, keepCheckpoints, best)
}

// Best is the number of steps after which the policy was best on the validation split, the first of several, of fewer
// than before and of those whose checkpoint is there; and what was measured of it. It is 0 where nothing was measured.
// A run that goes on from an earlier checkpoint, since later ones were damaged, measures again what it had measured of
// those.
func (l Journal) Best(stage string, before int) (step int, measured map[string]float64, err error) {
	all, err := l.Measurements(recipe.ValidationStage)
	if err != nil {
		return 0, nil, err
	}
	checkpoints, err := run.Checkpoints(l.Dir.Path, stage)
	if err != nil {
		return 0, nil, err
	}
	for _, c := range checkpoints {
		if m, ok := all[c.Step]; ok && c.Step < before && (step == 0 || recipe.Better(m, measured)) {
			step, measured = c.Step, m
		}
	}
	return step, measured, nil
}

// StepMetrics implements recipe.Log. What was measured of episodes that another adapter made is not recorded of this
// one.
func (l Journal) StepMetrics(stage string, step int) (map[string]float64, bool, error) {
	if mine, err := l.ofThisAdapter(stage, step); err != nil || !mine {
		return nil, false, err
	}
	all, err := l.Measurements(stage)
	m, ok := all[step]
	return m, ok, err
}

// Measurements implements recipe.Log.
func (l Journal) Measurements(stage string) (map[int]map[string]float64, error) {
	rows, err := l.Dir.Ledger.Metrics(stage)
	if err != nil {
		return nil, err
	}
	all := map[int]map[string]float64{}
	for _, r := range rows {
		var m map[string]float64
		if err := json.Unmarshal(r.JSON, &m); err != nil {
			return nil, fmt.Errorf("reading the metrics of %s step %d: %w", r.Stage, r.Step, err)
		}
		all[r.Step] = m
	}
	return all, nil
}

// ofThisAdapter reports whether no episode of a step was made by another adapter than the one there is now.
func (l Journal) ofThisAdapter(stage string, step int) (bool, error) {
	if l.Episodes == nil { // no episodes are kept
		return true, nil
	}
	rows, err := l.Dir.Ledger.Trajectories(stage, step)
	if err != nil {
		return false, err
	}
	for _, r := range rows {
		var t struct{ Adapter string }
		if err := json.Unmarshal(r.JSON, &t); err != nil {
			return false, fmt.Errorf("reading trajectory %s of the ledger: %w", r.ID, err)
		}
		if t.Adapter != l.Episodes.Held() {
			return false, nil
		}
	}
	return true, nil
}

// Notice implements recipe.Log.
func (l Journal) Notice(text string) { l.Say("note: %s", text) }

func (l Journal) Latest(stage string) (string, int, error) {
	c, ok, moved, err := l.Dir.LatestCheckpoint(stage)
	for _, q := range moved {
		l.sayMoved(q)
	}
	if err != nil || !ok {
		return "", 0, err
	}
	return c.Path, c.Step, nil
}

// Trajectories implements recipe.Log. Where a run that goes on computed a step again, on a GPU to other numbers, the
// log may hold episodes of the step after it that another adapter made: they are no part of a step of the adapter there
// is now.
func (l Journal) Trajectories(stage string, step int) ([]recipe.Kept, error) {
	rows, err := l.Dir.Ledger.Trajectories(stage, step)
	if err != nil {
		return nil, err
	}
	var all []recipe.Kept
	for _, r := range rows {
		k, err := EpisodeOfRow(r)
		if err != nil {
			return nil, err
		}
		if k.Adapter != l.Episodes.Held() {
			continue
		}
		if k.Shown != nil {
			if k.Tools, err = mcp.ShownTools(*k.Shown, l.Episodes.Catalog,
				"trajectory "+r.ID+" of the ledger"); err != nil {
				return nil, err
			}
		}
		all = append(all, k)
	}
	return all, nil
}

// Finish implements recipe.Log.
func (l Journal) Finish(stage string) error {
	return l.Dir.Ledger.PutStage(run.StageRow{Name: stage, Status: run.Finished})
}

// TakeBest puts the trainer, and those who sample from it, where it was best on validation, says which step that was,
// and records it of the stage. Where nothing was measured that is the last step. A nil publisher says that nobody
// samples.
func (l Journal) TakeBest(stage string, trainer recipe.Trainer, publisher recipe.Publisher) error {
	_, last, err := l.Latest(stage)
	if err != nil {
		return err
	}
	best, of, err := l.soundBest(stage, last)
	if err != nil {
		return err
	}
	final := cmp.Or(best, last)
	if best != 0 {
		all, err := l.Measurements(recipe.ValidationStage)
		if err != nil {
			return err
		}
		l.Say("%s", finalText(best, last, of, all))
	}
	if final != last {
		name := fmt.Sprintf("%s_step_%d", stage, final)
		if err := trainer.Load(filepath.Join(l.Dir.Path, "checkpoints", name)); err != nil {
			return err
		}
		if publisher != nil {
			if err := recipe.Publish(publisher, fmt.Sprintf("%s step %d", stage, final)); err != nil {
				return err
			}
		}
	}
	return l.end(stage, final)
}

// TakeLast records the last step of a stage as its final one, and says what was measured there and at the best one.
func (l Journal) TakeLast(stage string) error {
	_, last, err := l.Latest(stage)
	if err != nil {
		return err
	}
	all, err := l.Measurements(recipe.ValidationStage)
	if err != nil {
		return err
	}
	if at, ok := all[last]; ok {
		best, of, err := l.Best(stage, last+1)
		if err != nil {
			return err
		}
		l.Say("%s", lastText(best, last, of, at))
	}
	return l.end(stage, last)
}

// lastText says how good the last step was on validation, and the best one where that is another.
func lastText(best, last int, of, at map[string]float64) string {
	text := fmt.Sprintf("final is step %d, the last: %s on validation", last, measurementText(at))
	if best != 0 && best != last {
		text += fmt.Sprintf("; the best was step %d, %s", best, measurementText(of))
	}
	return text
}

// end records the step that a stage ends with.
func (l Journal) end(stage string, final int) error {
	text, err := json.Marshal(run.StageEnd{FinalStep: final})
	if err != nil {
		return err
	}
	return l.Dir.Ledger.PutStage(run.StageRow{Name: stage, Status: run.Finished, JSON: text})
}

// soundBest is Best of the checkpoints that verify; the last one was verified before. One that does not is moved away.
func (l Journal) soundBest(stage string, last int) (step int, measured map[string]float64, err error) {
	for {
		step, measured, err = l.Best(stage, last+1)
		if err != nil || step == 0 || step == last {
			return step, measured, err
		}
		q, broken, err := l.Dir.CheckStep(stage, step)
		if err != nil || !broken {
			return step, measured, err
		}
		l.sayMoved(q)
	}
}

func (l Journal) sayMoved(q run.Quarantined) {
	l.Say("checkpoint %s does not verify (%s); moved to %s", q.From, q.Why, q.To)
}

// finalText says how good the best step was on validation, beside the last one, and beside what training began with
// where that was no worse.
func finalText(best, last int, of map[string]float64, all map[int]map[string]float64) string {
	text := fmt.Sprintf("final is step %d, the best on validation: %s", best, measurementText(of))
	if best == last {
		text = fmt.Sprintf("final is step %d, the last and the best on validation: %s", best, measurementText(of))
	} else if at, ok := all[last]; ok {
		text += fmt.Sprintf("; step %d, the last, has %s", last, measurementText(at))
	}
	if began, ok := all[0]; ok && !recipe.Better(of, began) {
		text += fmt.Sprintf("; no step is better than the adapter that training began with, which has %s",
			measurementText(began))
	}
	return text
}

// measurementText is what a validation measured, for a person: the loss of held rows, or how episodes went.
func measurementText(m map[string]float64) string {
	if loss, ok := m["eval_loss"]; ok {
		return fmt.Sprintf("loss %.4f", loss)
	}
	return fmt.Sprintf("success %.1f%%, reward %.2f", 100*m["success"], m["reward"])
}
