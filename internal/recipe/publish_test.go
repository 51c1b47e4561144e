package recipe

import (
	"context"
	"errors"
	"strings"
	"testing"

	"hone/internal/episode/trajectory"
	"hone/internal/fault"
)

// A run whose sampler holds another adapter than its trainer stops before anything is sampled from it, and says what is
// wrong.
func TestARunStopsWhereAnotherAdapterServes(t *testing.T) {
	faults := map[string]func(f *fakeTrainer){
		"nothing is published":           func(*fakeTrainer) {},
		"the adapter of the step before": func(f *fakeTrainer) { f.published = max(0, len(f.Steps)-1) },
	}
	for name, publish := range faults {
		trainer, log := &fakeTrainer{publish: publish}, newLog(t)
		sampled := &fakeRunner{trainer: trainer, outcome: trajectory.OK}
		err := grpo().Run(context.Background(), scenarios(5), sampled, scoreFunc(byRollout), trainer, trainer,
			log, silent)
		f, ok := errors.AsType[*fault.Error](err)
		if !ok || f.Where != "grpo step 1" || !strings.Contains(f.What, "does not hold") || f.Next == "" {
			t.Errorf("%s: %v", name, err)
		}
		if len(trainer.Steps) != 1 || len(log.Metric) != 1 || log.latest["grpo"] != 1 {
			t.Errorf("%s: %d steps were taken, %d recorded, %d kept",
				name, len(trainer.Steps), len(log.Metric), log.latest["grpo"])
		}

		trainer, log = &fakeTrainer{publish: publish, Steps: []string{"an earlier stage's"}}, newLog(t)
		sampled = &fakeRunner{trainer: trainer, outcome: trajectory.OK}
		err = Rejection{GroupSize: 2, SFT: SFT{Stage: "raft", Epochs: 1, BatchSize: 2},
			Keep: func(*trajectory.Trajectory) bool { return true }}.Run(
			context.Background(), scenarios(3), sampled, scoreFunc(byRollout), trainer, trainer, log, silent)
		if _, ok := errors.AsType[*fault.Error](err); !ok || sampled.episodes > 0 {
			t.Errorf("%s: rejection sampling ran %d episodes, %v", name, sampled.episodes, err)
		}
	}
}

// named is a publisher that says which policies there are.
type named struct {
	trained string
	sampled []string
	err     error
}

func (n named) Publish() error { return nil }

func (n named) Policies() (trained string, sampled []string, err error) {
	return n.trained, n.sampled, n.err
}

// Each sampler must hold the trained policy; where there is none, nothing is sampled from it.
func TestPublishComparesEachSampler(t *testing.T) {
	broken := errors.New("no checksum")
	for _, c := range []struct {
		named
		ok bool
	}{
		{named{"1", []string{"1"}, nil}, true}, {named{"1", []string{"1", "1"}, nil}, true},
		{named{"1", []string{"1", "2"}, nil}, false}, {named{"1", []string{"2", "1"}, nil}, false},
		{named{"1", nil, nil}, false}, {named{"", []string{""}, nil}, false},
		{named{"1", []string{"1"}, broken}, false},
	} {
		err := Publish(c.named, "grpo step 3")
		if (err == nil) != c.ok || c.err != nil && !errors.Is(err, c.err) {
			t.Errorf("%+v: %v", c.named, err)
		}
	}
}

// SFT that nobody samples from publishes to nobody.
func TestSFTAlonePublishesNothing(t *testing.T) {
	trainer, log := &fakeTrainer{publish: func(*fakeTrainer) { t.Error("published") }}, newLog(t)
	if err := (SFT{Stage: "sft", Epochs: 1, BatchSize: 2}).Run(t.Context(), demonstrations(4), trainer, nil, log,
		silent); err != nil || !log.Finished["sft"] {
		t.Errorf("%v, finished %v", err, log.Finished)
	}
}
