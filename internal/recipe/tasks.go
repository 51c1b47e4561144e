package recipe

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
)

// Pools skip scenarios that are currently always or never solved: those whose last group passed in each of its episodes, or in none. Each pass
// over the scenarios leaves such a one out with a chance of its own; the zero value leaves none out. Where all are, the pass takes all.
type Pools struct {
	SkipSolved, SkipFailed float64
	// Passed says whether a scored episode passed, where rules know that. nil: its reward is above 0.
	Passed func(*trajectory.Trajectory) (passed, known bool)
}

// On reports whether any scenario may rest.
func (p Pools) On() bool { return p.SkipSolved > 0 || p.SkipFailed > 0 }

// passed counts the episodes of a group that passed, of those of which it is known.
func (p Pools) passed(g trajectory.Group) (passed, n float64) {
	for _, t := range g.Trajectories {
		if !t.Outcome.Trainable() {
			continue
		}
		yes, known := t.Reward > 0, true
		if p.Passed != nil {
			yes, known = p.Passed(t)
		}
		if known {
			n++
		}
		if known && yes {
			passed++
		}
	}
	return passed, n
}

// tasks returns the scenarios of a step, all different. They are walked through in shuffled passes of as many whole steps
// as they fill; what is over sits the pass out, others each time.
func (g GRPO) tasks(scenarios []scenario.Scenario, step int) []scenario.Scenario {
	n := min(g.GroupsPerStep, len(scenarios))
	perPass := len(scenarios) / n
	order := shuffled(len(scenarios), g.Seed, step/perPass)
	picked := make([]scenario.Scenario, n)
	for i := range picked {
		picked[i] = scenarios[order[step%perPass*n+i]]
	}
	return picked
}

// others are those that take the place of scenarios whose groups teach nothing: up to Resample for each, all different, in an order of the step's.
// They follow from the step alone, and from which scenarios rest.
func (g GRPO) others(scenarios, picked []scenario.Scenario, step int, pools *syllabus) [][]scenario.Scenario {
	if g.Resample == 0 {
		return nil
	}
	taken := map[string]bool{}
	for _, s := range picked {
		taken[s.ID] = true
	}
	out, n := make([][]scenario.Scenario, len(picked)), 0
	for _, i := range shuffled(len(scenarios), ^g.Seed, step) {
		if s := scenarios[i]; !taken[s.ID] && n < g.Resample*len(picked) && !(pools != nil && pools.rests(s.ID, i)) {
			out[n%len(picked)] = append(out[n%len(picked)], s)
			n++
		}
	}
	return out
}

// teaches reports whether the members of a group can be compared, and differ.
func (g GRPO) teaches(group trajectory.Group) bool {
	_, left := g.rows([]trajectory.Group{group})
	return left.Empty+left.ZeroSpread == 0
}

// syllabus is where a stage with pools is among its scenarios. It is part of each checkpoint, so that a run which goes on takes the same.
type syllabus struct {
	Trainer
	GRPO      GRPO
	scenarios map[string]scenario.Scenario
	ids       []string
	at        position
}

// position is what of a syllabus checkpoints hold.
type position struct {
	Pass  int                `json:"pass"`  // from 1; 0 before the first
	Order []string           `json:"order"` // ids of the scenarios of the pass
	Done  int                `json:"done"`  // of them
	Rates map[string]float64 `json:"rates"` // share of the episodes of its last group that passed, by scenario
}

func (g GRPO) syllabus(scenarios []scenario.Scenario, trainer Trainer) *syllabus {
	s := &syllabus{Trainer: trainer, GRPO: g, scenarios: map[string]scenario.Scenario{}, at: position{Rates: map[string]float64{}}}
	for _, x := range scenarios {
		s.scenarios[x.ID], s.ids = x, append(s.ids, x.ID)
	}
	return s
}

// next are the scenarios of the step at hand. Asked again, it says the same.
func (s *syllabus) next() (picked []scenario.Scenario) {
	n := min(s.GRPO.GroupsPerStep, len(s.ids))
	for len(s.at.Order)-s.at.Done < n {
		s.pass(n)
	}
	for _, id := range s.at.Order[s.at.Done : s.at.Done+n] {
		picked = append(picked, s.scenarios[id])
	}
	return picked
}

// pass begins the next pass, of at least n scenarios: where fewer are drawn, some of those that rest come too, the first of the shuffled order.
func (s *syllabus) pass(n int) {
	s.at.Pass++
	s.at.Order, s.at.Done = nil, 0
	var resting []string
	for _, i := range shuffled(len(s.ids), s.GRPO.Seed, s.at.Pass-1) {
		if id := s.ids[i]; s.rests(id, i) {
			resting = append(resting, id)
		} else {
			s.at.Order = append(s.at.Order, id)
		}
	}
	if missing := n - len(s.at.Order); missing > 0 {
		s.at.Order = append(s.at.Order, resting[:missing]...)
	}
}

// rests draws whether a scenario, the i-th, sits out the pass.
func (s *syllabus) rests(id string, i int) bool {
	rate, known := s.at.Rates[id]
	chance := 0.0
	switch {
	case known && rate == 1:
		chance = s.GRPO.Pools.SkipSolved
	case known && rate == 0:
		chance = s.GRPO.Pools.SkipFailed
	}
	return float64(draw(^s.GRPO.Seed, uint64(s.at.Pass), uint64(i))>>11)/(1<<53) < chance
}

// took notes what the groups of a step came to, which is taken, and adds to its metrics how many scenarios may rest now.
func (s *syllabus) took(groups []trajectory.Group, metrics map[string]float64) {
	s.at.Done += min(s.GRPO.GroupsPerStep, len(s.ids))
	for _, g := range groups {
		passed, n := s.GRPO.Pools.passed(g)
		if n > 0 {
			s.at.Rates[g.ScenarioID] = passed / n
		}
	}
	metrics["pools/solved"], metrics["pools/failed"] = 0, 0
	for _, rate := range s.at.Rates {
		switch rate {
		case 1:
			metrics["pools/solved"]++
		case 0:
			metrics["pools/failed"]++
		}
	}
}

const syllabusFile = "syllabus.json"

// Save implements Trainer.
func (s *syllabus) Save(dir string) error {
	if err := s.Trainer.Save(dir); err != nil {
		return err
	}
	text, err := json.Marshal(s.at)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, syllabusFile), append(text, '\n'), 0o644)
}

// Load implements Trainer. A checkpoint from before there were pools begins the first pass.
func (s *syllabus) Load(dir string) error {
	if err := s.Trainer.Load(dir); err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(dir, syllabusFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(text, &s.at)
	}
	for _, id := range s.at.Order {
		if _, ok := s.scenarios[id]; !ok && err == nil {
			err = fmt.Errorf("scenario %q is not there any more", id)
		}
	}
	if err != nil {
		return fmt.Errorf("reading %s of %s: %w", syllabusFile, dir, err)
	}
	return nil
}
