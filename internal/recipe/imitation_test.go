package recipe

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/learn/batch"
)

// imitating learns from one success of an earlier step in each step, at half of its advantage.
func imitating() GRPO {
	g := grpo()
	g.Advantage.By = batch.AdvantageCentred
	return g.with(&Imitation{Rows: 1, Weight: 0.5, Memory: 3})
}

// Each step but the first, whose memory is empty, learns from a success of an earlier step beside its own four
// episodes: from what was sampled then, by its share of how much better it did than its group, with the logprobs that
// the policy has for it now.
func TestSuccessesAreImitated(t *testing.T) {
	trainer, log := &watched{fakeTrainer: &fakeTrainer{}}, newLog(t)
	r := &fakeRunner{trainer: trainer.fakeTrainer, outcome: trajectory.OK}
	if err := imitating().Run(t.Context(), scenarios(5), r, scoreFunc(byRollout), trainer, trainer, log,
		silent); err != nil {
		t.Fatal(err)
	}
	if len(trainer.given) != 7 || len(trainer.given[0].Rows) != 4 || trainer.given[0].Normaliser != 8 {
		t.Fatalf("%d optimiser steps, %d rows in the first", len(trainer.given), len(trainer.given[0].Rows))
	}
	for step, b := range trainer.given[1:] {
		step++
		if len(b.Rows) != 5 || b.Normaliser != 10 {
			t.Fatalf("step %d: %d rows by %d", step, len(b.Rows), b.Normaliser)
		}
		row, now := b.Rows[4], float32(-float64(step)/8) // what a fakeTrainer scores
		ids := slices.Concat(b.Prefix, row.IDs)
		// The second episode of a group earns 1 and the first 0, so it is the one, and is 0.5 better than its group.
		if len(ids) != 4 || ids[2] != 101 || int(ids[3]) >= step || row.Group != 2 || row.Episode != 4 {
			t.Errorf("step %d learns from %v, group %d, episode %d", step, ids, row.Group, row.Episode)
		}
		last := len(row.IDs) - 1
		if !row.Scored || b.Rows[3].Scored { // the logprobs are the trainer's, and of its own episodes the sampler's
			t.Errorf("step %d: %+v after %+v", step, row, b.Rows[3])
		}
		if !row.Trained[last] || !row.Trained[last-1] || row.NumTrained() != 2 || row.Advantages[last] != 0.25 ||
			row.SamplerLogprobs[last] != now || row.SamplerLogprobs[last-1] != now {
			t.Errorf("step %d: %+v, want the advantage 0.25 and logprobs %g", step, row, now)
		}
		m := log.Metric[fmt.Sprint("grpo", step)]
		if m["imitation/episodes"] != 1 || m["imitation/logprob"] != float64(now) || m["imitation/memory"] < 1 ||
			m["imitation/memory"] > 3 {
			t.Errorf("step %d: %v", step, m)
		}
	}
	if m := log.Metric["grpo0"]; m["imitation/episodes"] != 0 || len(m) == 0 {
		t.Error("the first step has something to imitate")
	}
}

// An episode whose prompts do not go on from each other is imitated in all of its rows, and so is a success whose group
// another's took the place of.
func TestAllOfASuccessIsHeld(t *testing.T) {
	e := groupOf("a", 0, 1)
	e.Trajectories[1].Turns = append(e.Trajectories[1].Turns,
		trajectory.Turn{Rewrite: "thinking", BridgeIDs: []int32{3, 4}, CompletionIDs: []int32{5, 6, 7}})
	m := of[*Imitation](begun(t, imitating(), nil))
	m.See(took(e))
	rows := m.held[0].sequences(3)
	if len(rows) != 2 || rows[0].NumTrained() != 2 || rows[1].NumTrained() != 3 || rows[1].Episode != 3 ||
		!slices.Equal(rows[1].IDs, []int32{3, 4, 5, 6, 7}) {
		t.Errorf("%+v", rows)
	}

	// each group of two passes whole, so all are replaced, and none teaches anything
	g := imitating().with(&Resample{Most: 1})
	g.Steps = 1
	trainer, log := &fakeTrainer{}, newLog(t)
	r := &fakeRunner{trainer: trainer, outcome: trajectory.OK}
	if err := g.Run(t.Context(), scenarios(6), r, alike{"a": 1, "b": 1, "c": 1, "d": 1, "e": 1, "f": 1}, trainer,
		trainer, log, silent); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(log.dir("grpo", 1), statesFile))
	if held := strings.Count(string(text), `"scenario"`); err != nil || held < 3 {
		t.Errorf("%v: %d successes are held of %v groups", err, held, log.Metric["grpo0"]["groups_replaced"])
	}
}

// A step whose groups are all alike learns from successes nevertheless.
func TestStepsWithoutSpreadImitate(t *testing.T) {
	g := imitating()
	g.GroupsPerStep, g.Steps = 1, 3
	list := []scenario.Scenario{{ID: "b"}, {ID: "z"}} // all episodes of b earn 0, the second of z earns 1
	trainer := &watched{fakeTrainer: &fakeTrainer{}}
	r := &fakeRunner{trainer: trainer.fakeTrainer, outcome: trajectory.OK}
	if err := g.Run(t.Context(), list, r, easy, trainer, trainer, newLog(t), silent); err != nil {
		t.Fatal(err)
	}
	alone := 0
	for _, b := range trainer.given {
		if len(b.Rows) == 1 && b.Rows[0].Advantages[0] == 0.25 {
			alone++
		}
	}
	if alone == 0 {
		t.Errorf("of %d steps none has a success alone", len(trainer.given))
	}
}

// group is one whose members earned these rewards; a reward above 0 is a success.
func groupOf(id string, rewards ...float64) (g trajectory.Group) {
	g.ScenarioID = id
	for i, r := range rewards {
		g.Trajectories = append(g.Trajectories, &trajectory.Trajectory{
			ScenarioID: id,
			Rollout:    i,
			Outcome:    trajectory.OK,
			Reward:     r,
			Turns: []trajectory.Turn{
				{BridgeIDs: []int32{1, 2}, CompletionIDs: []int32{int32(10*i + 1), int32(r * 10)}},
			},
		})
	}
	return g
}

func TestWhatIsHeld(t *testing.T) {
	m := of[*Imitation](begun(t, imitating(), nil))
	state := func() (out []string) {
		for _, s := range m.held {
			out = append(out, fmt.Sprintf("%s %g-%.3f", s.Scenario, s.Reward, s.Value))
		}
		return out
	}
	steps := []struct {
		groups []trajectory.Group
		want   []string
	}{
		{[]trajectory.Group{groupOf("a", 0, 1, 0, 0), groupOf("b", 0, 0)}, []string{"a 1-0.250"}},
		{[]trajectory.Group{groupOf("b", -1, 0.5, 0.25, -1)}, []string{"a 1-0.250", "b 0.5--0.312"}},
		// it always passes: nothing to learn
		{[]trajectory.Group{groupOf("a", 1, 1)}, []string{"b 0.5--0.312", "a 1-1.000"}},
		// it is forgotten: the success of before is all there is
		{[]trajectory.Group{groupOf("a", 0, 0)}, []string{"b 0.5--0.312", "a 1-0.000"}},
		{[]trajectory.Group{groupOf("c", 0, 1), groupOf("d", 0, 1)}, []string{"a 1-0.000", "c 1-0.500", "d 1-0.500"}},
		// what is solved pushes nothing out
		{[]trajectory.Group{groupOf("h", 1, 1), groupOf("i", 1, 1)}, []string{"a 1-0.000", "c 1-0.500", "d 1-0.500"}},
	}
	for i, s := range steps {
		m.See(took(s.groups...))
		if got := state(); !slices.Equal(got, s.want) {
			t.Errorf("step %d: %v, want %v", i, got, s.want)
		}
	}
	detour := groupOf("g", 1, 1, 0)
	detour.Trajectories[0].Turns[0].ParseError = "no call"
	m.See(took(detour))
	if best := m.held[len(m.held)-1]; best.Scenario != "g" || best.Rows[0].IDs[2] != 11 {
		t.Errorf("of two successes the one without a detour is held: %+v", best)
	}
	lost, limit := groupOf("e", 1, 0), groupOf("f", 1, 0)
	lost.Trajectories[0].Outcome, limit.Trajectories[0].Outcome = trajectory.EnvironmentError, trajectory.Limit
	if m.See(took(lost, limit)); slices.ContainsFunc(m.held,
		func(s success) bool { return s.Scenario == "e" || s.Scenario == "f" }) {
		t.Errorf("held are %v", state())
	}
	valued := groupOf("v", 1, 0, 0, 0) // its value is of what the policy did, but not of what was done to it
	valued.Trajectories[1].Outcome, valued.Trajectories[2].Outcome, valued.Trajectories[3].Outcome =
		trajectory.Limit, trajectory.PolicyError, trajectory.EnvironmentError
	m.See(took(valued))
	if v := m.held[len(m.held)-1]; v.Scenario != "v" || v.Value != 1./3 {
		t.Errorf("the value of one success, two failures and one episode that a server spoilt is %+v", v)
	}
}

// Another seed draws others, and the same one the same.
func TestImitationIsDrawnByTheSeed(t *testing.T) {
	draws := func(seed uint64) (all string) {
		m := of[*Imitation](begun(t, imitating(), nil))
		m.stage.Seed = seed
		for i := range 8 {
			m.held = append(m.held, success{Scenario: string(rune('a' + i)), Reward: 1})
		}
		for step := range 20 {
			all += m.draw(step)[0].Scenario
		}
		return all
	}
	if one, again, other := draws(1), draws(1), draws(2); one != again || one == other {
		t.Errorf("drawn are %s, %s again, and %s by another seed", one, again, other)
	}
}

// Of a step that is not taken nothing is held: the run that goes on samples it again.
func TestARefusedStepIsNotHeld(t *testing.T) {
	held := func(g GRPO, trainer *fakeTrainer) string {
		t.Helper()
		log := newLog(t)
		err := g.Run(t.Context(), scenarios(5), &fakeRunner{trainer: trainer, outcome: trajectory.OK},
			scoreFunc(byRollout), trainer, trainer, log, silent)
		if (err != nil) != (trainer.mismatch > 0) || log.latest["grpo"] != 1 {
			t.Fatalf("%v, checkpoint %d", err, log.latest["grpo"])
		}
		text, err := os.ReadFile(filepath.Join(log.dir("grpo", 1), statesFile))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	whole := imitating()
	whole.Steps = 1
	want := held(whole, &fakeTrainer{})
	// the second step is refused
	if got := held(imitating(), &fakeTrainer{mismatch: 0.2, apart: 1}); got != want ||
		!strings.Contains(want, `"scenario"`) {
		t.Errorf("held are %s, after the step before %s", got, want)
	}
}

// Of a scenario that passes always nothing is drawn; others come in proportion to how rare their success was.
func TestRareSuccessesAreDrawnFirst(t *testing.T) {
	m := of[*Imitation](begun(t, imitating(), nil))
	m.held = []success{
		{Scenario: "rare", Reward: 1, Value: 0.25},
		{Scenario: "usual", Reward: 1, Value: 0.75},
		{Scenario: "solved", Reward: 1, Value: 1},
	}
	rare, all := 0, 4000
	for step := range all {
		switch picked := m.draw(step); {
		case len(picked) != 1 || picked[0].Scenario == "solved":
			t.Fatalf("drawn are %v", picked)
		case picked[0].Scenario == "rare":
			rare++
		}
	}
	if share := float64(rare) / float64(all); math.Abs(share-0.75) > 0.03 { // 4.4 standard errors
		t.Errorf("the rare one is drawn in %.3f of the steps, want 0.75", share)
	}
	m.Rows = 8
	if picked := m.draw(0); len(picked) != 2 {
		t.Errorf("%d are drawn without replacement", len(picked))
	}
}
