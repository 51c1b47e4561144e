package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"hone/internal/config"
	"hone/internal/demo"
	"hone/internal/episode/scenario"
	"hone/internal/recipe"
)

// A resumed comparison makes the scenarios it was begun with: their number follows from what is kept.
func TestSizeOfAComparison(t *testing.T) {
	c := settingsOf(config.Default(),
		Options{Backend: "cuda", Split: "validation", Steps: 3, Groups: 5, GroupSize: 4, Epochs: 9, GRPORate: 0.125})
	if size, want := sizeOf(c, kept{Demonstrations: 7, ShownKinds: 8}), (demo.Size{Demonstrations: 7, Train: 15,
		Test: 320, Validation: 64, Held: "validation", ShownKinds: 8}); size != want {
		t.Errorf("%+v, want %+v", size, want)
	}
	if c.Seed != 1 || c.SFT.Epochs != 9 || c.GRPO.GroupSize != 4 || c.GRPO.Optimizer.LearningRate != 0.125 ||
		c.Engine.Slots != 128 || c.Engine.Backend != "cuda" {
		t.Errorf("%+v, %+v, %+v", c.GRPO, c.SFT, c.Engine)
	}
}

// loaded is a trainer that notes where it was put.
type loaded struct{ at string }

func (l *loaded) Load(dir string) error { l.at = dir; return nil }

// Each arm goes on from the start, and not from where the arm before it ended.
func TestArmsBeginAtTheStart(t *testing.T) {
	var trainer loaded
	var done []string
	err := fromStart(&trainer, "sft/step_38", []string{ArmGRPO, ArmContinued}, func(arm string) error {
		if trainer.at != "sft/step_38" {
			t.Errorf("%s begins at %q", arm, trainer.at)
		}
		trainer.at, done = arm, append(done, arm)
		return nil
	})
	if err != nil || len(done) != 2 {
		t.Errorf("%q, %v", done, err)
	}
}

// The metrics of a comparison without GRPO are not told as those of one.
func TestMainOfAComparison(t *testing.T) {
	for want, arms := range map[string][]string{ArmGRPO: {ArmGold, ArmGRPO}, ArmRFT: {ArmRFT, ArmGold}, "sft": {}} {
		if got := (experiment{c: config.Default()}).mainOf(arms); got != want {
			t.Errorf("%q of %q, want %s", got, arms, want)
		}
	}
}

// The base model, the start and all arms are compared: each with the base model and the start, and the first arm with
// each other.
func TestPairsOfAComparison(t *testing.T) {
	var got []string
	for _, p := range pairsOf([]recipe.System{{Name: "base"}, {Name: "start"}, {Name: "grpo"}, {Name: "gold"}}) {
		got = append(got, p.New+"-"+p.Old)
	}
	if want := "start-base grpo-base grpo-start gold-base gold-start grpo-gold"; strings.Join(got, " ") != want {
		t.Errorf("%q, want %s", got, want)
	}
}

// A file may have its kinds of task one after the other; what is watched has some of each, the same for a seed.
func TestWatchedAreDrawn(t *testing.T) {
	var list []scenario.Scenario
	for i := range 4 * numWatched {
		list = append(list, scenario.Scenario{ID: fmt.Sprint(i)})
	}
	got := validationSample(slices.Clone(list), 1)
	quarters := map[int]int{}
	for _, s := range got {
		i, _ := strconv.Atoi(s.ID)
		quarters[i/numWatched]++
	}
	if len(got) != numWatched || len(quarters) != 4 || quarters[0] == numWatched {
		t.Errorf("%d are watched, by quarters of the file: %v", len(got), quarters)
	}
	if again, other := validationSample(slices.Clone(list), 1), validationSample(slices.Clone(list),
		2); !slices.EqualFunc(got, again, sameID) || slices.EqualFunc(got, other, sameID) {
		t.Error("what is watched does not follow from the seed")
	}
	if few := validationSample(slices.Clone(list[:3]), 1); len(few) != 3 {
		t.Errorf("%d of 3 are watched", len(few))
	}
}

func sameID(a, b scenario.Scenario) bool { return a.ID == b.ID }
