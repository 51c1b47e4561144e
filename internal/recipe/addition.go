package recipe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/learn/batch"
)

// Addition is a technique that GRPO's loop knows nothing of, in a file of its own. The exported fields of one are its
// settings; what it holds while a stage runs is its own, and begins anew with each run. The methods are called in the
// order in which they stand here, for each step, and each for all additions in their order. An addition embeds None
// and writes those that it needs.
type Addition interface {
	// Begin is called as a stage begins, or goes on, before a checkpoint is read. It refuses what the addition lacks.
	Begin(s *stage) error
	// Resume is called once the stage is where it begins or goes on, with the state of its checkpoint read.
	Resume(ctx context.Context) error
	// Pick chooses whose episodes a step has. The scenarios that the addition before picked are in it.
	// It must say the same when it is asked again, and may be asked while the step before is computed (Overlap).
	Pick(p *Picked)
	// Sample samples more episodes behind those of a step, as of was used for them. It may run while the step before
	// is computed.
	Sample(ctx context.Context, of Rollouts, e *Sampling) error
	// AddRows adds rows that the step learns from too (Step.More), and says what its objective is (Step.Objective).
	AddRows(ctx context.Context, s *Step) error
	// Compare changes the step's rows by what the policy is compared with, as it is before the first update.
	Compare(ctx context.Context, s *Step) error
	// See looks at a step behind its update, and adds to its metrics. The step was refused unless Step.Taken.
	See(s *Step)
	// State is a pointer to what the next step depends on, for the JSON of checkpoints, and its name there; "" where
	// there is nothing to keep.
	State() (name string, state any)
}

// None is the addition that does nothing.
type None struct{}

// Begin implements Addition.
func (None) Begin(*stage) error { return nil }

// Resume implements Addition.
func (None) Resume(context.Context) error { return nil }

// Pick implements Addition.
func (None) Pick(*Picked) {}

// Sample implements Addition.
func (None) Sample(context.Context, Rollouts, *Sampling) error { return nil }

// AddRows implements Addition.
func (None) AddRows(context.Context, *Step) error { return nil }

// Compare implements Addition.
func (None) Compare(context.Context, *Step) error { return nil }

// See implements Addition.
func (None) See(*Step) {}

// State implements Addition.
func (None) State() (name string, state any) { return "", nil }

// Picked are the scenarios whose episodes a step has.
type Picked struct {
	Step      int
	Scenarios []scenario.Scenario
	Others    [][]scenario.Scenario // of each, those that take its place where its group is not to keep
	Keep      func(trajectory.Group) bool
	Rests     func(number int) bool // whether one of the stage's scenarios, by its number, is left out; nil: none is
}

// Sampling are those of a step.
type Sampling struct {
	Groups   []trajectory.Group // that are learnt from
	Sampled  []trajectory.Group // all that were sampled for them
	Explored []trajectory.Group // in which a turn is forced, where it comes to that
}

// Step is one step of a stage, as it comes about.
type Step struct {
	Number int // from 0
	Sampling
	Stale     bool            // the episodes are of the policy before the one that the trainer has
	More      []batch.Earlier // rows beside those of the groups
	Alike     bool            // rows of groups without spread are computed too
	Objective batch.Objective
	Rows      batch.Batch
	Update    batch.Update
	Stats     batch.StepStats
	Metrics   map[string]float64
	Refused   error // why the step was not taken
	Taken     bool
}

// options are those of the step's rows.
func (s *Step) options(l Loss) batch.Options {
	return batch.Options{Earlier: s.More, KeepAlike: s.Alike, Reduction: l.Name.Reduction(), Length: l.Length}
}

// whole is how many steps are whole behind this one.
func (s *Step) whole() int {
	if s.Taken {
		return s.Number + 1
	}
	return s.Number
}

// AdditionOf is the stage's addition of a kind, the zero value where there is none.
func AdditionOf[T Addition](list []Addition) (found T, ok bool) {
	for _, a := range list {
		if x, is := a.(T); is {
			return x, true
		}
	}
	return found, false
}

// saver is what a checkpoint keeps a part of, and where a stage goes on from.
type saver interface {
	Save(dir string) error
	Load(dir string) error
}

// savers keep their parts of a checkpoint in one folder.
type savers []saver

// Save implements saver.
func (list savers) Save(dir string) error {
	for _, s := range list {
		if err := s.Save(dir); err != nil {
			return err
		}
	}
	return nil
}

// Load implements saver.
func (list savers) Load(dir string) error {
	for _, s := range list {
		if err := s.Load(dir); err != nil {
			return err
		}
	}
	return nil
}

// states are those of additions, by their names in the JSON of a checkpoint.
type states map[string]any

// statesFile is that JSON. Checkpoints of before it was one file have a file for each state.
const statesFile = "additions.json"

var formerFiles = map[string]string{"pools": "syllabus.json", "imitation": "imitation.json"}

// Save implements saver. There is no file where there is no state.
func (s states) Save(dir string) error {
	if len(s) == 0 {
		return nil
	}
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, statesFile), append(text, '\n'), 0o644)
}

// Load implements saver. A state that a checkpoint does not have is as it begins.
func (s states) Load(dir string) error {
	kept := map[string]json.RawMessage{}
	text, err := os.ReadFile(filepath.Join(dir, statesFile))
	if err == nil {
		err = json.Unmarshal(text, &kept)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("reading %s of %s: %w", statesFile, dir, err)
	}
	for name, state := range s {
		text, file := kept[name], statesFile
		if text == nil {
			file = formerFiles[name]
			if text, err = os.ReadFile(filepath.Join(dir, file)); file == "" || errors.Is(err, fs.ErrNotExist) {
				continue
			}
		}
		if err = json.Unmarshal(text, state); err != nil {
			return fmt.Errorf("reading %s of %s: %w", file, dir, err)
		}
	}
	return nil
}
