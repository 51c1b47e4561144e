package records

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"hone/internal/episode/trajectory"
	"hone/internal/recipe"
	"hone/internal/run"
)

// EpisodeOfRow reads a row of the ledger.
func EpisodeOfRow(r run.TrajectoryRow) (recipe.Kept, error) {
	k := recipe.Kept{Trajectory: &trajectory.Trajectory{}}
	if err := json.Unmarshal(r.JSON, k.Trajectory); err != nil {
		return k, fmt.Errorf("reading trajectory %s of the ledger: %w", r.ID, err)
	}
	if r.Score == nil {
		return k, nil
	}
	k.Score = &trajectory.Score{}
	err := r.Decode(k.Score)
	if k.Score.Outcome == k.Outcome { // of the episode, and not of its scoring
		k.Score.Outcome, k.Score.Error = "", ""
	}
	return k, err
}

// ReadLedger opens the ledger of the run in path for f, which only reads.
func ReadLedger(path string, f func(*run.Ledger) error) error {
	l, err := run.ReadLedger(filepath.Join(path, "ledger.db"))
	if err != nil {
		return err
	}
	defer func() { _ = l.Close() }() // read only
	return f(l)
}
