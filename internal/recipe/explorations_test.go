package recipe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"hone/internal/chat"
	"hone/internal/episode/rollout"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
)

// forcingCalls has the policy held to x, y or z in scenarios that it failed.
func forcingCalls() GRPO {
	g := without[*Imitation](imitating()).with(&Imitation{Rows: 2, Weight: 0.5, Memory: 3}, exploring())
	g.GroupsPerStep = 3
	g.Passed = func(t *trajectory.Trajectory) (passed, known bool) { return t.Reward >= 1, true }
	return g
}

// exploring forces two scenarios of a step to x, y or z.
func exploring() *Explorations {
	return &Explorations{Most: 2, Choices: func(*scenario.Scenario, []trajectory.Turn) []string {
		return []string{"x", "y", "z"}
	}}
}

// What a stage is to do and is not given the parts for is an error, not left out.
func TestPartsThatAreMissing(t *testing.T) {
	for want, part := range map[string]Addition{
		"not told what": &Explorations{Most: 1},
		"has none":      &Demonstrations{Rows: 1},
	} {
		g, trainer := grpo().with(part), &watched{fakeTrainer: &fakeTrainer{}}
		r := &fakeRunner{trainer: trainer.fakeTrainer, outcome: trajectory.OK}
		if err := g.Run(t.Context(), scenarios(4), r, scoreFunc(byRollout), trainer, trainer, newLog(t),
			silent); err == nil || !strings.Contains(err.Error(), want) || r.episodes > 0 {
			t.Errorf("%v, want %q; %d episodes", err, want, r.episodes)
		}
	}
}

type scoreTrajectory func(t *trajectory.Trajectory) float64

func (f scoreTrajectory) Score(
	_ context.Context, _ *scenario.Scenario, g trajectory.Group,
) (scores []trajectory.Score, err error) {
	for _, t := range g.Trajectories {
		scores = append(scores,
			trajectory.Score{Reward: f(t), Terms: []trajectory.Term{{Name: "checks", Score: f(t), Weight: 1}}})
	}
	return scores, nil
}

// Scenario a passes always, and no other does, but where the second turn of its fourth episode is forced: of these the
// first two of a step are tried once more, and what passes is no part of the step, and imitated in later ones. Not all
// are forced: x is never there. A run that is stopped among them goes on to the same.
func TestWhatNeverPassesIsExplored(t *testing.T) {
	scorer := scoreTrajectory(func(t *trajectory.Trajectory) float64 {
		switch {
		case t.ScenarioID == "a", t.Turns[1].Forced && t.Rollout == 3:
			return 1
		}
		return 0.1 * float64(t.Rollout)
	})
	forced := map[string]rollout.Forced{}
	shape := func(q rollout.Request, t *trajectory.Trajectory) {
		t.Turns = append(t.Turns,
			trajectory.Turn{BridgeIDs: []int32{9}, CompletionIDs: []int32{8}, SamplerLogprobs: []float32{0}})
		if q.Forced.Tool != "" {
			t.Turns[len(q.Forced.Behind)].Forced = q.Forced.Tool != "x"
			forced[t.ID] = q.Forced
		}
	}
	run := func(ctx context.Context, log *memoryLog, before func(step, episode int)) (*watched, int, error) {
		trainer := &watched{fakeTrainer: &fakeTrainer{}}
		r := &fakeRunner{trainer: trainer.fakeTrainer, outcome: trajectory.OK, before: before, shape: shape}
		err := forcingCalls().Run(ctx, scenarios(4), r, scorer, trainer, trainer, log, silent)
		return trainer, r.episodes, err
	}
	wantLog := newLog(t)
	want, episodes, err := run(t.Context(), wantLog, nil)
	if err != nil || episodes != 7*2*3+6*2*2 || len(forced) != 6*2*2 { // nothing would learn from the last step's
		t.Fatalf("%v: %d episodes, %d forced", err, episodes, len(forced))
	}
	turns, tools, passed, held := map[int]int{}, map[string]int{}, 0.0, map[int]float64{}
	for id, f := range forced {
		if strings.HasPrefix(id, "a/") || !strings.HasSuffix(id, "/2") && !strings.HasSuffix(id, "/3") {
			t.Errorf("%s is held to %v", id, f)
		}
		turns[len(f.Behind)]++
		tools[f.Tool]++
		if f.Tool != "x" {
			step, err := strconv.Atoi(strings.Split(id, "/")[1])
			if err != nil {
				t.Fatal(err)
			}
			held[step]++
		}
	}
	if len(turns) != 2 || len(tools) != 3 {
		t.Errorf("turns %v, tools %v", turns, tools)
	}
	imitated := 0
	for step, b := range want.given {
		m := wantLog.Metric[fmt.Sprint("grpo", step)]
		if m["explorations"] != []float64{2, 2, 2, 2, 2, 2, 0}[step] || m["explorations/forced"] != held[step] ||
			m["explorations/lost"] != 0 || m["outcome/ok"] != 6 || m["success"] >= 1 {
			t.Errorf("step %d: %v", step, m)
		}
		passed += m["explorations/passed"]
		for _, row := range b.Rows {
			number := slices.Concat(b.Prefix, row.IDs)[2] - 100
			if number == 3 && row.SamplerLogprobs[len(row.IDs)-1] == 0 {
				t.Errorf("step %d learns from an exploration as if it were a rollout", step)
			}
			if number == 3 {
				imitated++
			}
		}
	}
	if passed == 0 || imitated == 0 {
		t.Fatalf("%g explorations passed, %d rows are learnt from", passed, imitated)
	}
	text, err := os.ReadFile(filepath.Join(wantLog.dir("grpo", 7), statesFile))
	// better than the mean of the scenario's own group
	if err != nil || !strings.Contains(string(text), `"reward":1,"value":0.05`) {
		t.Errorf("%s, %v", text, err)
	}
	goesOn(t, run, want, wantLog, episodes)
}

// What the group did at the turn comes last, calls of tools and words alike; each turn of its best episode is drawn,
// and what is drawn follows from seed, step and scenario. A group that reasoned may do so before a call that is forced.
func TestForcedCalls(t *testing.T) {
	g := grpo().with(exploring())
	g.GroupSize = 40
	x := of[*Explorations](begun(t, g, nil))
	reasoning, calls, bad := "", []chat.ToolCall(nil), "" // of the worse episode, in all turns
	most := [2]int{3, 4}                                  // choices of each turn
	of := func(step int, turns ...string) []rollout.Forced {
		e := &trajectory.Trajectory{Outcome: trajectory.OK, Reward: 0.5}
		for _, name := range turns {
			turn := trajectory.Turn{}
			if name != "" {
				turn.Calls = []chat.ToolCall{{Name: name}}
			}
			e.Turns = append(e.Turns, turn)
		}
		worse := &trajectory.Trajectory{Outcome: trajectory.OK,
			Turns: slices.Repeat([]trajectory.Turn{{Calls: calls, ParseError: bad}}, 9)}
		worse.Turns[8].ReasoningContent = reasoning
		lost := &trajectory.Trajectory{Outcome: trajectory.EnvironmentError, Reward: 2,
			Turns: slices.Repeat([]trajectory.Turn{{ParseError: bad}}, 9)}
		choices := func(behind []trajectory.Turn) []string { return []string{"x", "y", "z", ""}[:most[len(behind)]] }
		return x.constraints(trajectory.Group{Trajectories: []*trajectory.Trajectory{worse, e, lost}}, choices, step, 5)
	}
	choice := func(f rollout.Forced) string {
		if f.Words != (f.Tool == "") {
			t.Errorf("%+v", f)
		}
		return cmp.Or(f.Tool, "-")
	}
	list := of(1, "x", "")
	first, turns := map[int]string{}, [2]int{}
	for _, f := range list {
		turns[len(f.Behind)]++
		first[len(f.Behind)] += choice(f)
		if len(f.Behind) == 1 && (len(f.Behind[0].Calls) != 1 || f.Behind[0].Calls[0].Name != "x") {
			t.Errorf("%+v is not how the best episode began", f.Behind)
		}
	}
	if !reflect.DeepEqual(list, of(1, "x", "")) || reflect.DeepEqual(list, of(2, "x", "")) || turns[0] < 10 ||
		turns[1] < 10 {
		t.Errorf("%v", list)
	}
	if order := first[0]; order[2] != 'x' || order[:3] != order[3:6] || order[0] == order[1] {
		t.Errorf("at the turn where x was called: %s", order)
	}
	if order := []byte(first[1][:4]); order[3] != '-' ||
		!slices.Equal(slices.Sorted(slices.Values(order)), []byte("-xyz")) {
		t.Errorf("at the turn without a call: %s", order)
	}
	bad = "no call" // is no words either
	for step := range 20 {
		order := ""
		for _, f := range of(step, "x", "y") {
			if len(f.Behind) == 1 {
				order += choice(f)
			}
		}
		if order[3] != 'y' {
			t.Errorf("where y was called, and a call could not be read: %s", order[:4])
		}
	}
	bad = ""
	for _, most = range [][2]int{{0, 4}, {3, 0}, {0, 0}} {
		list := of(1, "x", "y")
		for _, f := range list {
			if most[len(f.Behind)] == 0 {
				t.Errorf("%v are the choices, and %+v is forced", most, f)
			}
		}
		if (len(list) == 0) != (most == [2]int{}) {
			t.Errorf("%v are the choices, and %d are forced", most, len(list))
		}
	}
	most = [2]int{3, 4}
	for _, calls = range [][]chat.ToolCall{{{Name: "z"}}, nil} {
		first = map[int]string{}
		for _, f := range of(1, "x", "y") {
			first[len(f.Behind)] += choice(f)
		}
		fresh, made := "x-", "yz"
		if calls == nil {
			fresh, made = "xz", "-y"
		}
		order := []byte(first[1][:4])
		slices.Sort(order[:2])
		slices.Sort(order[2:])
		if sorted := []byte(fresh); string(order[2:]) != made || !slices.Contains(order[:2], sorted[0]) ||
			!slices.Contains(order[:2], sorted[1]) {
			t.Errorf("where y was called, and %v: %s", calls, first[1][:4])
		}
	}
	for _, reasoning = range []string{"Well.", ""} {
		for _, f := range of(1, "x", "") {
			if f.Thinks != (reasoning != "") {
				t.Errorf("a group that reasons %q: %v", reasoning, f)
			}
		}
	}
	for _, f := range of(1) {
		if len(f.Behind) != 0 {
			t.Errorf("an episode without a turn: %v", f)
		}
	}
}

// A success of forced calls is its own scenario's, as much better as that one's group was, and takes the place of none
// that earned as much. Scenarios that passed, whose episodes were all spoilt, that have a user or no tool, are not
// explored; nor are more than asked for, nor those kept alone.
func TestWhatIsExplored(t *testing.T) {
	m := of[*Imitation](begun(t, forcingCalls(), nil))
	saw := func(explored trajectory.Group, groups ...trajectory.Group) {
		step := took(groups...)
		step.Explored = []trajectory.Group{explored}
		m.See(step)
	}
	saw(groupOf("b", 0.5, 1), groupOf("a", 0, 0.2), groupOf("b", 0, 0.6))
	if len(m.held) != 1 || m.held[0].Scenario != "b" || m.held[0].Reward != 1 || m.held[0].Value != 0.3 {
		t.Errorf("%+v", m.held)
	}
	own := m.held[0].Rows
	better := groupOf("b", 1, 1.5)
	better.Trajectories[0].Turns[0].CompletionIDs[0] = 77
	saw(trajectory.Group{ScenarioID: "b", Trajectories: better.Trajectories[:1]}, groupOf("b", 0, 0))
	if !reflect.DeepEqual(m.held[0].Rows, own) || m.held[0].Value != 0 {
		t.Errorf("one as good takes its place: %+v", m.held)
	}
	saw(better, groupOf("b", 0, 0))
	if m.held[0].Reward != 1.5 {
		t.Errorf("a better one does not: %+v", m.held)
	}

	list := scenarios(6)
	list[3].User = &scenario.User{}
	x := of[*Explorations](begun(t, forcingCalls(), list))
	x.Choices = func(s *scenario.Scenario, _ []trajectory.Turn) []string {
		return []string{"x"}[:len("e")-strings.Count(s.ID, "e")]
	}
	spoilt := groupOf("b", 0, 0)
	for _, e := range spoilt.Trajectories {
		e.Outcome = trajectory.EnvironmentError
	}
	log := newLog(t)
	r := &fakeRunner{trainer: &fakeTrainer{}, outcome: trajectory.OK}
	rollouts := Rollouts{
		Stage:     "grpo",
		Step:      2,
		GroupSize: 2,
		Runner:    r,
		Scorer:    scoreTrajectory(func(*trajectory.Trajectory) float64 { return 0 }),
		Log:       log,
		Progress:  silent,
		Others:    [][]scenario.Scenario{list[:1]},
		Keep:      func(trajectory.Group) bool { return false },
	}
	got := &Sampling{Sampled: []trajectory.Group{groupOf("a", 0, 1), spoilt, groupOf("c", 0, 0), groupOf("d", 0, 0),
		groupOf("e", 0, 0), groupOf("f", 0, 0)}}
	err := x.Sample(t.Context(), rollouts, got)
	var ids []string
	for _, e := range got.Explored {
		ids = append(ids, e.ScenarioID)
	}
	if err != nil || !slices.Equal(ids, []string{"c", "f"}) || r.episodes != 4 {
		t.Errorf("%v, %d episodes, %v", ids, r.episodes, err)
	}
}

// goesOn stops a run before each of ten episodes of step 3, and asks that it goes on to the same, with no episode run
// twice.
func goesOn(
	t *testing.T, run func(ctx context.Context, log *memoryLog, before func(step, episode int)) (*watched, int, error),
	want *watched, wantLog *memoryLog, all int,
) {
	t.Helper()
	for n := range 10 {
		log, asked := newLog(t), 0
		ctx, cancel := context.WithCancel(t.Context())
		_, first, err := run(ctx, log, func(step, _ int) {
			if step == 3 {
				if asked == n {
					cancel()
				}
				asked++
			}
		})
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("stopped before episode %d with %v", n, err)
		}
		kept := len(log.Kept)
		again, second, err := run(t.Context(), log, nil)
		if err != nil || kept+second != all || !slices.Equal(again.Steps, want.Steps) ||
			!reflect.DeepEqual(log.Metric, wantLog.Metric) {
			t.Errorf("stopped before episode %d: %v: %d episodes, of which %d are kept, and %d, of %d",
				n, err, first, kept, second, all)
		}
		cancel()
	}
}
