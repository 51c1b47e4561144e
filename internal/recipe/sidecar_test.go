package recipe

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
)

// copying says the draft again in every episode until so many steps were taken; the drafts of scenario "a" need no
// change.
func copyingUntil(f *fakeTrainer, steps int) Copying {
	return func(t *trajectory.Trajectory) (bool, Copied) {
		copies := len(f.Steps) < steps
		return t.ScenarioID != "a", Copied{Equal: copies, Near: true, Right: !copies}
	}
}

func reviser(f *fakeTrainer, until int) (Sidecar, *fakeRunner) {
	p := pipeline()
	r := &fakeRunner{trainer: f, outcome: trajectory.OK}
	p.SFT.CheckpointEvery = 1
	return Sidecar{SFT: p.SFT, GRPO: p.GRPO, Copying: copyingUntil(f, until),
		Probe: Probe{Every: 2, Scenarios: scenarios(25), Runner: r, Scorer: scoreFunc(byRollout)}}, r
}

func runSidecar(ctx context.Context, s Sidecar, f *fakeTrainer, log *memoryLog) error {
	r := &fakeRunner{trainer: f, outcome: trajectory.OK}
	return s.Run(ctx, demonstrations(5), scenarios(5), r, scoreFunc(byRollout), f, f, log, silent)
}

// SFT is probed on the way and at its end, GRPO at each step, and a copying policy is told of in words, once for each
// stage.
func TestSidecarTellsOfCopies(t *testing.T) {
	f, log := &fakeTrainer{}, newLog(t)
	s, r := reviser(f, 100)
	if err := runSidecar(t.Context(), s, f, log); err != nil {
		t.Fatal(err)
	}
	if len(f.Steps) != 6+7 || r.episodes != 3*25 {
		t.Errorf("%d steps, %d episodes of probes", len(f.Steps), r.episodes)
	}
	for _, key := range []string{"copies2", "copies4", "copies6", "grpo0", "grpo6"} {
		m, ok := log.Metric[key]
		if !ok || m["copies/equal"] != 1 || m["copies/near"] != 1 || m["copies/fixed"] != 0 {
			t.Errorf("%s: %v", key, m)
		}
	}
	if log.Metric["copies2"]["copies/rows"] != 24 || log.Metric["copies2"]["loss"] == 0 {
		t.Errorf("%v", log.Metric["copies2"])
	}
	var alarms []string
	for _, text := range log.said {
		if strings.HasPrefix(text, "alarm: the sidecar copies") {
			alarms = append(alarms, text)
		}
	}
	if len(alarms) != 1 ||
		!strings.Contains(alarms[0], "Of 24 drafts that need a change, step 2 of copies says 100% again") ||
		!strings.Contains(alarms[0], "the loss went from") {
		t.Errorf("alarms %q", alarms) // GRPO's steps have too few drafts for one
	}
	quiet, log := &fakeTrainer{}, newLog(t)
	s, _ = reviser(quiet, 0)
	if err := runSidecar(t.Context(), s, quiet, log); err != nil || len(log.said) > 0 ||
		log.Metric["copies6"]["copies/fixed"] != 1 {
		t.Errorf("%v: said %q", err, log.said)
	}
}

// A short SFT is probed at its end, however far apart its probes are to be.
func TestShortSidecarIsProbed(t *testing.T) {
	f, log := &fakeTrainer{}, newLog(t)
	s, r := reviser(f, 0)
	s.SFT.Steps, s.GRPO.Steps, s.Probe.Every = 3, 0, 20
	if err := runSidecar(t.Context(), s, f, log); err != nil || len(f.Steps) != 3 || r.episodes != 25 ||
		log.Metric["copies3"]["copies/fixed"] != 1 {
		t.Errorf("%v: %d steps, %d episodes of probes, %v", err, len(f.Steps), r.episodes, log.Metric["copies3"])
	}
}

// Wherever it is stopped, in a probe too, it goes on to the same steps and metrics.
func TestSidecarResumes(t *testing.T) {
	want, wantLog := &fakeTrainer{}, newLog(t)
	s, _ := reviser(want, 3)
	if err := runSidecar(t.Context(), s, want, wantLog); err != nil {
		t.Fatal(err)
	}
	for stop := range 2*13 + 2 {
		ctx, cancel := context.WithCancel(t.Context())
		f, log := &fakeTrainer{}, newLog(t)
		s, r := reviser(f, 3)
		if stop < 13 {
			f.before = func(step int) {
				if step == stop {
					cancel()
				}
			}
		} else {
			r.before = func(_, episode int) {
				if episode == 2*(stop-13) {
					cancel()
				}
			}
		}
		if err := runSidecar(ctx, s, f, log); !errors.Is(err, context.Canceled) && stop < 13 {
			t.Fatalf("%d: %v", stop, err)
		}
		again := &fakeTrainer{}
		s, _ = reviser(again, 3)
		if err := runSidecar(t.Context(), s, again, log); err != nil {
			t.Fatalf("%d: %v", stop, err)
		}
		if !slices.Equal(again.Steps, want.Steps) {
			t.Errorf("stopped at %d: %d steps, want %d", stop, len(again.Steps), len(want.Steps))
		}
		for key, m := range wantLog.Metric {
			got := log.Metric[key]
			if strings.HasPrefix(key, CopyStage) { // the loss is of the process
				delete(m, "loss")
				delete(got, "loss")
			}
			if !reflect.DeepEqual(got, m) {
				t.Errorf("stopped at %d: %s is %v, want %v", stop, key, got, m)
			}
		}
		cancel()
	}
}

func TestSidecarWithoutSteps(t *testing.T) {
	f := &fakeTrainer{}
	s, _ := reviser(f, 0)
	s.SFT.Epochs, s.GRPO.Steps = 0, 0
	if err := runSidecar(t.Context(), s, f, newLog(t)); err == nil {
		t.Error("no error")
	}
	s.SFT.Epochs = 1
	if err := s.Run(t.Context(), demonstrations(2), []scenario.Scenario{}, nil, nil, f, f, newLog(t),
		silent); err != nil || len(f.Steps) != 1 {
		t.Errorf("SFT alone: %v, %d steps", err, len(f.Steps))
	}
}
