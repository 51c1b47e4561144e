package recipe

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"hone/internal/episode/trajectory"
)

// Of every third step each token that is learnt from is kept, as the trainer sees it before the step; that no record
// can be kept stops nothing.
func TestTokenRecord(t *testing.T) {
	kept := map[int]map[string][]RecordedRow{}
	full := error(nil)
	g := grpo().with(&TokenRecord{Every: 3, Keep: func(step int, rows map[string][]RecordedRow) error {
		kept[step] = rows
		return full
	}})
	for _, full = range []error{nil, errors.New("the disk is full")} {
		trainer, log := &fakeTrainer{}, newLog(t)
		if err := g.Run(t.Context(), scenarios(5), &fakeRunner{trainer: trainer, outcome: trajectory.OK},
			scoreFunc(byRollout), trainer, trainer, log, silent); err != nil || len(trainer.Steps) != 7 {
			t.Fatalf("%v after %d steps", err, len(trainer.Steps))
		}
		if told := strings.Contains(strings.Join(log.said, "\n"), "the disk is full"); told != (full != nil) {
			t.Errorf("%v: told %v", full, log.said)
		}
	}
	if len(kept) != 3 || len(kept[0]) != 4 || len(kept[3]) != 4 || len(kept[6]) != 4 {
		t.Fatalf("kept %v", kept)
	}
	for step, episodes := range kept {
		for name, rows := range episodes {
			for _, r := range rows {
				n := len(r.At)
				if n == 0 || r.At[n-1] != r.Length-1 || !slices.IsSorted(r.At) || len(r.Advantage) != n ||
					len(r.Weight) != n || len(r.Sampler) != n || len(r.Trainer) != n || len(r.Entropy) != n {
					t.Fatalf("step %d, %s: %+v", step, name, r)
				}
				if *r.Trainer[0] != -float32(step)/8 || *r.Weight[0] != 1 || *r.Advantage[0] == 0 {
					t.Errorf("step %d, %s: %g %g %g", step, name, *r.Trainer[0], *r.Weight[0], *r.Advantage[0])
				}
			}
		}
	}
}
