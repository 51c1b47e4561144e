package job

import (
	"os"
	"path/filepath"

	"hone/internal/run"
)

// Over reports whether a run has ended, and if so tells what its end told: for that no server, model or program is needed. last is the file that
// its verb writes last. A run whose files were edited is not over: it may be asked for more steps.
func (j *Job) Over(b Begun, stage, last string, tell func(final string) error) (bool, error) {
	s, err := run.Summarize(j.Path)
	if err != nil || j.Reopen != (run.OpenOptions{}) || b.Edits != nil || !HasAdapter(s, b) || !Ended(s, stage) {
		return false, nil // opening the run says what is wrong with it
	}
	if _, err := os.Stat(filepath.Join(j.Path, last)); err != nil {
		return false, nil
	}
	if err := j.GoOn(); err != nil {
		return true, err
	}
	j.Say("the run has ended: its steps are taken, and nothing is left to do")
	return true, tell(j.Final())
}

// Final is the folder of the adapter that a run ends with.
func (j *Job) Final() string { return filepath.Join(j.Path, "final") }
