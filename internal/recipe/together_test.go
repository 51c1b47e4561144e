package recipe

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"hone/internal/episode/rollout"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
)

// Before the episodes of a step are run it is told which scenarios it has, and which may take their place. Where they
// cannot share, the run says why and goes on.
func TestScenariosOfAStepShareTools(t *testing.T) {
	var shared []string
	trainer, log := &fakeTrainer{}, newLog(t)
	share := &Together{Share: func(list []scenario.Scenario) error {
		shared = nil
		for _, s := range list {
			shared = append(shared, s.ID)
		}
		if len(trainer.Steps) == 2 {
			return errors.New("no such tool")
		}
		return nil
	}}
	r := &fakeRunner{trainer: trainer, outcome: trajectory.OK}
	r.shape = func(q rollout.Request, _ *trajectory.Trajectory) {
		if !slices.Contains(shared, q.Scenario.ID) {
			t.Errorf("step %d has %s, of %v", q.Step, q.Scenario.ID, shared)
		}
		if len(shared) != 4 {
			t.Errorf("step %d shares with %v", q.Step, shared)
		}
	}
	g := grpo().with(&Resample{Most: 1}, share)
	if err := g.Run(t.Context(), scenarios(5), r, scoreFunc(byRollout), trainer, trainer, log, silent); err != nil {
		t.Fatal(err)
	}
	if len(log.said) != 1 || !strings.Contains(log.said[0], "no such tool") {
		t.Errorf("said: %v", log.said)
	}
}
