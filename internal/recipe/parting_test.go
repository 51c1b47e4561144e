package recipe

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
)

// rewards are n means of steps that wave around a middle.
func rewards(n int, middle, wave float64) (all []float64) {
	for i := range n {
		all = append(all, middle+wave*float64(i%3-1))
	}
	return all
}

func TestParts(t *testing.T) {
	was := standing{success: 0.6, n: 100, rewards: rewards(10, 1, 0.1)}
	for _, c := range []struct {
		name string
		is   standing
		want bool
	}{
		{"the reward rises, success falls", standing{success: 0.2, n: 100, rewards: rewards(10, 1.5, 0.1)}, true},
		{"both rise", standing{success: 0.9, n: 100, rewards: rewards(10, 1.5, 0.1)}, false},
		{"both fall", standing{success: 0.2, n: 100, rewards: rewards(10, 0.5, 0.1)}, false},
		{"success alone falls", standing{success: 0.2, n: 100, rewards: rewards(10, 1, 0.1)}, false},
		{"the reward alone rises", standing{success: 0.6, n: 100, rewards: rewards(10, 1.5, 0.1)}, false},
		{"success falls as it does by chance", standing{success: 0.5, n: 100, rewards: rewards(10, 1.5, 0.1)}, false},
		{"few scenarios", standing{success: 0.2, n: 8, rewards: rewards(10, 1.5, 0.1)}, false},
		{"the reward rises as it does by chance", standing{success: 0.2, n: 100, rewards: rewards(10, 1.05, 0.1)}, false},
		{"few steps", standing{success: 0.2, n: 100, rewards: rewards(4, 1.5, 0.1)}, false},
		{"nothing measured", standing{}, false},
	} {
		if got := parts(was, c.is); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	if parts(standing{}, was) {
		t.Error("parts from nothing")
	}
}

// Where it is known which scenarios pass, those that changed are compared: ten lost of fifty and none gained is more
// than chance, as few more lost than gained is not, though success fell as far.
func TestFellIsPaired(t *testing.T) {
	of := func(kept, lost, gained, never int) (was, is standing) {
		letters := func(a, b, c, d rune) string {
			return strings.Repeat(string(a), kept) + strings.Repeat(string(b), lost) +
				strings.Repeat(string(c), gained) + strings.Repeat(string(d), never)
		}
		n := float64(kept + lost + gained + never)
		return standing{success: float64(kept+lost) / n, n: n, seen: letters(didPass, didPass, didFail, didFail)},
			standing{success: float64(kept+gained) / n, n: n, seen: letters(didPass, didFail, didPass, didFail)}
	}
	for _, c := range []struct {
		kept, lost, gained, never int
		want                      bool
	}{{20, 10, 0, 20, true}, {20, 9, 0, 21, false}, {15, 15, 5, 15, false}, {15, 20, 4, 11, true},
		{20, 0, 10, 20, false}, {50, 0, 0, 0, false}} {
		was, is := of(c.kept, c.lost, c.gained, c.never)
		if got := fell(was, is); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
	was, is := of(20, 10, 0, 20)
	if was.seen = ""; fell(was, is) {
		t.Error("20 points of 50 scenarios as of two samples")
	}
	was, is = of(0, 50, 0, 0)
	if is.seen = strings.Repeat(string(unknown), 50); fell(was, is) {
		t.Error("episodes that say nothing are no loss")
	}
}

func TestNarrow(t *testing.T) {
	for _, c := range []struct {
		name string
		is   standing
		want bool
	}{
		{"training passes, held-out scenarios do not", standing{success: 0.37, n: 64, passed: rewards(10, 0.77, 0.05)}, true},
		{"both pass", standing{success: 0.72, n: 64, passed: rewards(10, 0.77, 0.05)}, false},
		{"held-out scenarios pass more", standing{success: 0.9, n: 64, passed: rewards(10, 0.3, 0.05)}, false},
		{"apart, and no more than may be", standing{success: 0.6, n: 10000, passed: rewards(10, 0.78, 0.01)}, false},
		{"few scenarios", standing{n: 19, passed: rewards(10, 0.77, 0.05)}, false},
		{"enough scenarios", standing{n: 20, passed: rewards(10, 0.77, 0.05)}, true},
		{"as it is by chance, of few that pass", standing{n: 20, passed: rewards(10, 0.25, 0.01)}, false},
		{"steps that differ much", standing{success: 0.4, n: 64, passed: []float64{1, 0.3, 1, 0.3, 1, 0.3}}, false},
		{"few steps", standing{success: 0.2, n: 64, passed: rewards(4, 0.77, 0.05)}, false},
		{"what passes is not known", standing{success: 0.2, n: 64, rewards: rewards(10, 1, 0.1)}, false},
		{"nothing measured", standing{passed: rewards(10, 0.77, 0.05)}, false},
	} {
		if got := narrow(c.is); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// growing is a scorer whose episodes earn more with each step.
type growing float64

func (g growing) Score(_ context.Context, s *scenario.Scenario, group trajectory.Group) ([]trajectory.Score, error) {
	scores := make([]trajectory.Score, len(group.Trajectories))
	for i, t := range group.Trajectories {
		scores[i].Reward = float64(g)*float64(stepOf(t)) + float64(t.Rollout)
	}
	return scores, nil
}

func stepOf(t *trajectory.Trajectory) (step int) {
	_, _ = fmt.Sscanf(strings.Split(t.ID, "/")[1], "%d", &step)
	return step
}

// The guide's example is what a run says.
func guideShows(t *testing.T, note string) {
	t.Helper()
	guide, err := os.ReadFile("../../docs/guide.md")
	if err != nil {
		t.Fatal(err)
	}
	if words := strings.Join(strings.Fields(string(guide)), " "); !strings.Contains(words, "note: "+note) {
		t.Errorf("docs/guide.md does not show %q", note)
	}
}

// A run whose reward rises while ever fewer held-out scenarios pass is told so once, with the step that was best, also
// where it was stopped in between; one whose success rises with it, or that measures nothing, is not.
func TestPartingIsTold(t *testing.T) {
	for _, c := range []struct {
		name   string
		grows  float64
		passes func(step int) int // of 26
		want   string
	}{
		{
			"gamed", 0.1, func(step int) int { return 26 - step }, "from step 5 to 15 the mean reward of training " +
				"rose from 0.70 to 1.70, while success on held-out scenarios fell from 81% to 42%",
		},
		{"learnt, then gamed", 0.1, func(step int) int { return min(step*2, 40-step*2) }, "from step 10 to 15"},
		{"learnt", 0.1, func(step int) int { return step }, ""},
		{"worse in both", -0.1, func(step int) int { return 26 - step }, ""},
	} {
		// before an episode of that step; step 15 begins with an evaluation
		for _, stops := range [][]int{{-1}, {12, -1}, {15, -1}} {
			log := newLog(t)
			for _, at := range stops {
				ctx, cancel := context.WithCancel(t.Context())
				trainer, g := &fakeTrainer{}, grpo()
				g.Steps = 20
				g.Validation = &Validation{Every: 5, Scenarios: scenarios(26),
					Runner: &fakeRunner{trainer: trainer,
						outcome: trajectory.OK}, Passed: func(t *trajectory.Trajectory) bool {
						return int(t.ScenarioID[0]-'a') < c.passes(stepOf(t))
					}}
				sampled := &fakeRunner{trainer: trainer, outcome: trajectory.OK, before: func(step, _ int) {
					if step == at {
						cancel()
					}
				}}
				err := g.Run(ctx, scenarios(5), sampled, growing(c.grows), trainer, trainer, log, silent)
				cancel()
				if (err != nil) != (at >= 0) {
					t.Fatalf("%s: %v", c.name, err)
				}
			}
			var told []string
			for _, text := range log.said {
				if strings.Contains(text, "possible reward hacking: from step") {
					told = append(told, text)
				}
			}
			switch {
			case c.want == "" && len(told) > 0, c.want != "" && (len(told) != 1 || !strings.Contains(told[0], c.want)):
				t.Errorf("%s, stops %v: told %q", c.name, stops, told)
			case c.name == "gamed":
				guideShows(t, told[0])
			}
		}
	}
}

// A run of whose training four of five episodes pass, and of whose held-out scenarios few, is told so once, whether or
// not it is stopped in between.
func TestNarrowIsTold(t *testing.T) {
	for _, c := range []struct {
		passes int // of 26 held-out scenarios
		want   string
	}{{7, "before step 10 the train pass rate is 80%, the held-out one 27%"}, {18, ""}} {
		for _, stops := range [][]int{{-1}, {17, -1}, {10, -1}} { // step 10 begins with an evaluation
			log := newLog(t)
			for _, at := range stops {
				ctx, cancel := context.WithCancel(t.Context())
				trainer, g := &fakeTrainer{}, grpo()
				g.Steps, g.GroupsPerStep = 20, 5
				g.Passed = func(t *trajectory.Trajectory) (bool, bool) { return t.ScenarioID != "a", true }
				g.Validation = &Validation{Every: 10, Scenarios: scenarios(26),
					Runner: &fakeRunner{trainer: trainer, outcome: trajectory.OK},
					Passed: func(t *trajectory.Trajectory) bool { return int(t.ScenarioID[0]-'a') < c.passes }}
				sampled := &fakeRunner{trainer: trainer, outcome: trajectory.OK, before: func(step, _ int) {
					if step == at {
						cancel()
					}
				}}
				err := g.Run(ctx, scenarios(5), sampled, growing(0.1), trainer, trainer, log, silent)
				cancel()
				if (err != nil) != (at >= 0) {
					t.Fatal(err)
				}
			}
			var told []string
			for _, text := range log.said {
				if strings.Contains(text, "overfitting: before step") {
					told = append(told, text)
				}
			}
			switch {
			case c.want == "" && len(told) > 0, c.want != "" && (len(told) != 1 || !strings.Contains(told[0], c.want)):
				t.Errorf("%d pass, stops %v: told %q", c.passes, stops, told)
			case c.want != "":
				guideShows(t, told[0])
			}
		}
	}
}
