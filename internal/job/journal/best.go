package journal

import (
	"fmt"
	"path/filepath"

	"hone/internal/job"
	"hone/internal/recipe"
)

// TakeBest puts the trainer where it was best on what was held out, and says where that was.
func TakeBest(j *job.Job, log Journal, stage string, trainer recipe.Trainer) error {
	_, last, err := log.Latest(stage)
	if err != nil {
		return err
	}
	step, m, err := log.Best(stage, last+1)
	if err != nil || step == 0 {
		return err
	}
	if step == last {
		j.Say("on what was held out the last step, %d, was best: loss %.4f", step, m["eval_loss"])
		return nil
	}
	at, _, err := log.Recorded(recipe.ValidationStage, last)
	if err != nil {
		return err
	}
	j.Say("on what was held out step %d was best: loss %.4f, that of the last step, %d, is %.4f; the adapter is step %d's", step, m["eval_loss"], last, at["eval_loss"], step)
	return trainer.Load(filepath.Join(j.Path, "checkpoints", fmt.Sprintf("%s_step_%d", stage, step)))
}
