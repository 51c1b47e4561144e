package recipe

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/learn/batch"
)

// imitating learns from one success of an earlier step in each step, at half of its rate.
func imitating() GRPO {
	g := grpo()
	g.Imitation = Imitation{Rows: 1, Rate: 0.5, Memory: 3}
	return g
}

// seen keeps each objective that a trainer is given, and may refuse to take its n-th step.
type seen struct {
	*watched
	objectives []batch.Objective
	refused    int // optimiser steps that were tried when one fails; 0: none does
}

func (s *seen) Gradient(ctx context.Context, b batch.Batch, o batch.Objective) (batch.StepStats, error) {
	s.objectives = append(s.objectives, o)
	return s.watched.Gradient(ctx, b, o)
}

func (s *seen) Apply(u batch.Update) (float64, error) {
	if len(s.taken)+1 == s.refused {
		return 0, errors.New("refused")
	}
	return s.watched.Apply(u)
}

// Behind the policy gradient of each step but the first, whose memory is empty, a success of an earlier step is learnt from: the likelihood of what was
// sampled, at its share of the rate and the temperature of the policy.
func TestSuccessesAreImitated(t *testing.T) {
	g := imitating()
	g.Temperature = 1.3
	trainer, log := &seen{watched: &watched{fakeTrainer: &fakeTrainer{}}}, newLog(t)
	r := &fakeRunner{trainer: trainer.fakeTrainer, outcome: trajectory.OK}
	if err := g.Run(t.Context(), scenarios(5), r, scoreFunc(byRollout), trainer, trainer, log, silent); err != nil {
		t.Fatal(err)
	}
	if len(trainer.given) != 7+6 {
		t.Fatalf("%d optimiser steps", len(trainer.given))
	}
	for i := 2; i < len(trainer.given); i += 2 {
		b, o, step := trainer.given[i], trainer.objectives[i], i/2
		if o != (batch.Objective{Temperature: 1.3}) || len(b.Rows) != 1 {
			t.Fatalf("step %d: %d rows under %+v", step, len(b.Rows), o)
		}
		ids := slices.Concat(b.Prefix, b.Rows[0].IDs)
		trained := slices.Concat(make([]bool, len(b.Prefix)), b.Rows[0].Trained)
		// The second episode of a group earns 1 and the first 0, so it is the one; its tokens are sampled under an earlier policy.
		if len(ids) != 4 || ids[2] != 101 || int(ids[3]) >= 2*step || !slices.Equal(trained, []bool{false, false, true, true}) || b.Rows[0].Advantages != nil {
			t.Errorf("step %d learns from %v, %v", step, ids, trained)
		}
		if whole := trainer.taken[i-1].Rate; math.Abs(trainer.taken[i].Rate-whole/2) > 1e-12 || whole == 0 {
			t.Errorf("step %d: rates %g and %g", step, whole, trainer.taken[i].Rate)
		}
		m := log.Metric[fmt.Sprint("grpo", step)]
		if m["imitation/episodes"] != 1 || m["imitation/loss"] <= 0 || m["imitation/memory"] != float64(min(2*step, 3)) && step < 2 {
			t.Errorf("step %d: %v", step, m)
		}
	}
	if _, ok := log.Metric["grpo0"]["imitation/episodes"]; ok {
		t.Error("the first step has something to imitate")
	}
}

// A step whose groups are all alike has an optimiser step on successes nevertheless. One that cannot be taken takes back the policy gradient's too.
func TestImitationIsPartOfTheStep(t *testing.T) {
	g := imitating()
	g.GroupsPerStep, g.Steps = 1, 3
	list := []scenario.Scenario{{ID: "b"}, {ID: "z"}} // all episodes of b earn 0, the second of z earns 1
	trainer := &seen{watched: &watched{fakeTrainer: &fakeTrainer{}}}
	r := &fakeRunner{trainer: trainer.fakeTrainer, outcome: trajectory.OK}
	if err := g.Run(t.Context(), list, r, easy, trainer, trainer, newLog(t), silent); err != nil {
		t.Fatal(err)
	}
	gradients, imitations := 0, 0
	for _, o := range trainer.objectives {
		if o.Loss == batch.LossLikelihood {
			imitations++
		} else {
			gradients++
		}
	}
	// z comes in one or two of three steps, and each step behind its first has something to imitate.
	if gradients == 0 || gradients == 3 || imitations == 0 || len(trainer.Steps) != gradients+imitations || slices.Max([]int{gradients, imitations}) > 2 {
		t.Errorf("%d steps by the policy gradient, %d on successes", gradients, imitations)
	}

	g = imitating()
	log := newLog(t)
	failing := &seen{watched: &watched{fakeTrainer: &fakeTrainer{}}, refused: 3} // of step 1 the second
	r = &fakeRunner{trainer: failing.fakeTrainer, outcome: trajectory.OK}
	if err := g.Run(t.Context(), scenarios(5), r, scoreFunc(byRollout), failing, failing, log, silent); err == nil || log.latest["grpo"] != 1 || len(failing.Steps) != 1 {
		t.Errorf("%v: checkpoint of step %d, %d optimiser steps are left", err, log.latest["grpo"], len(failing.Steps))
	}
}

// group is one whose members earned these rewards; a reward above 0 is a success.
func groupOf(id string, rewards ...float64) (g trajectory.Group) {
	g.ScenarioID = id
	for i, r := range rewards {
		g.Trajectories = append(g.Trajectories, &trajectory.Trajectory{ScenarioID: id, Rollout: i, Outcome: trajectory.OK, Reward: r,
			Turns: []trajectory.Turn{{BridgeIDs: []int32{1, 2}, CompletionIDs: []int32{int32(10*i + 1), int32(r * 10)}}}})
	}
	return g
}

func TestWhatIsHeld(t *testing.T) {
	m := &memory{of: imitating()}
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
		{[]trajectory.Group{groupOf("a", 1, 1)}, []string{"b 0.5--0.312", "a 1-1.000"}}, // it always passes: nothing to learn
		{[]trajectory.Group{groupOf("a", 0, 0)}, []string{"b 0.5--0.312", "a 1-0.000"}}, // it is forgotten: the success of before is all there is
		{[]trajectory.Group{groupOf("c", 0, 1), groupOf("d", 0, 1)}, []string{"a 1-0.000", "c 1-0.500", "d 1-0.500"}},
	}
	for i, s := range steps {
		m.took(s.groups)
		if got := state(); !slices.Equal(got, s.want) {
			t.Errorf("step %d: %v, want %v", i, got, s.want)
		}
	}
	lost, limit := groupOf("e", 1, 0), groupOf("f", 1, 0)
	lost.Trajectories[0].Outcome, limit.Trajectories[0].Outcome = trajectory.EnvironmentError, trajectory.Limit
	if m.took([]trajectory.Group{lost, limit}); slices.ContainsFunc(m.held, func(s success) bool { return s.Scenario > "d" }) {
		t.Errorf("held are %v", state())
	}
}

// Of a scenario that passes always nothing is drawn; others come in proportion to how rare their success was.
func TestRareSuccessesAreDrawnFirst(t *testing.T) {
	m := &memory{of: imitating()}
	m.held = []success{
		{Scenario: "rare", Reward: 1, Value: 0.25, Rows: []learned{{IDs: []int32{7, 8, 9}, Sampled: [][2]int{{1, 2}}}}},
		{Scenario: "usual", Reward: 1, Value: 0.75, Rows: []learned{{IDs: []int32{17, 18, 19}, Sampled: [][2]int{{1, 3}}}}},
		{Scenario: "solved", Reward: 1, Value: 1, Rows: []learned{{IDs: []int32{27, 28}, Sampled: [][2]int{{1, 2}}}}},
	}
	rare, all := 0, 4000
	for step := range all {
		b, n := m.drawn(step)
		if n != 1 || len(b.Rows) != 1 {
			t.Fatalf("%d drawn", n)
		}
		switch ids := slices.Concat(b.Prefix, b.Rows[0].IDs); ids[0] {
		case 7:
			rare++
			if b.NumTrained() != 1 {
				t.Fatalf("%d tokens are trained", b.NumTrained())
			}
		case 27:
			t.Fatal("a scenario that is solved is drawn")
		}
	}
	if share := float64(rare) / float64(all); math.Abs(share-0.75) > 0.03 { // 4.4 standard errors
		t.Errorf("the rare one is drawn in %.3f of the steps, want 0.75", share)
	}
	m.of.Imitation.Rows = 8
	if b, n := m.drawn(0); n != 2 || len(b.Rows) != 2 {
		t.Errorf("%d are drawn without replacement", n)
	}
}
