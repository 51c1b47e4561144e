package recipe

import (
	"context"
	"errors"
	"strings"
	"testing"

	"hone/internal/episode/trajectory"
	"hone/internal/fault"
)

// A run whose sampler holds another adapter than its trainer stops before anything is sampled from it, and says what is wrong.
func TestARunStopsWhereAnotherAdapterServes(t *testing.T) {
	faults := map[string]func(f *fakeTrainer){
		"nothing is published":           func(*fakeTrainer) {},
		"the adapter of the step before": func(f *fakeTrainer) { f.published = max(0, len(f.Steps)-1) },
	}
	for name, publish := range faults {
		trainer, log := &fakeTrainer{publish: publish}, newLog(t)
		sampled := &fakeRunner{trainer: trainer, outcome: trajectory.OK}
		err := grpo().Run(context.Background(), scenarios(5), sampled, scoreFunc(byRollout), trainer, log, silent)
		f, ok := errors.AsType[*fault.Error](err)
		if !ok || f.Where != "grpo step 1" || !strings.Contains(f.What, "does not hold") || f.Next == "" {
			t.Errorf("%s: %v", name, err)
		}
		if len(trainer.Steps) != 1 || len(log.Metric) != 1 {
			t.Errorf("%s: %d steps were taken, %d recorded", name, len(trainer.Steps), len(log.Metric))
		}

		trainer, log = &fakeTrainer{publish: publish, Steps: []string{"an earlier stage's"}}, newLog(t)
		sampled = &fakeRunner{trainer: trainer, outcome: trajectory.OK}
		err = Rejection{GroupSize: 2, SFT: SFT{Stage: "raft", Epochs: 1, BatchSize: 2}, Keep: func(*trajectory.Trajectory) bool { return true }}.Run(
			context.Background(), scenarios(3), sampled, scoreFunc(byRollout), trainer, log, silent)
		if _, ok := errors.AsType[*fault.Error](err); !ok || sampled.episodes > 0 {
			t.Errorf("%s: rejection sampling ran %d episodes, %v", name, sampled.episodes, err)
		}
	}
}

// checksummed is a trainer of which only Publish and Checksums are asked.
type checksummed struct {
	*fakeTrainer
	trained, sampled []uint64
	err              error
}

func (c checksummed) Checksums() (trained, sampled []uint64, err error) {
	return c.trained, c.sampled, c.err
}

// All devices' sums count, and so does each.
func TestPublishComparesEachDevice(t *testing.T) {
	broken := errors.New("no checksum")
	for _, c := range []struct {
		trained, sampled []uint64
		err              error
		ok               bool
	}{{[]uint64{1, 1}, []uint64{1, 1}, nil, true}, {[]uint64{1, 1}, []uint64{1, 2}, nil, false}, {[]uint64{1, 1}, []uint64{1}, nil, false},
		{nil, nil, nil, false}, {[]uint64{1}, []uint64{1}, broken, false}} {
		err := Publish(checksummed{&fakeTrainer{}, c.trained, c.sampled, c.err}, "grpo step 3")
		if (err == nil) != c.ok || c.err != nil && !errors.Is(err, c.err) {
			t.Errorf("%v and %v: %v", c.trained, c.sampled, err)
		}
	}
}
