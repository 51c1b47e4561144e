package reward_test

import (
	"context"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"hone/internal/episode/reward"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/episode/userprogram"
)

func compiled(t *testing.T, text string) *userprogram.Formula {
	t.Helper()
	f, err := userprogram.Compile(text)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// A formula sees each fact of its own episode, and the scores of all terms before it; its term is the last, and nothing
// is taken of it.
func TestExpressionsSeeTheEpisode(t *testing.T) {
	answered := episode{calls: many(2, right), answer: "d8932aac"}.trajectory()
	answered.Turns[0].CompletionIDs, answered.Turns[1].Usage =
		make([]int32, 30), &trajectory.Usage{CompletionTokens: 12}
	silent := episode{answer: ""}.trajectory()
	silent.Outcome, silent.StopReason = trajectory.Limit, trajectory.StopMaxTurns
	s := hashScenario()
	s.Difficulty = "hard"
	g := trajectory.Group{ScenarioID: "x",
		Trajectories: []*trajectory.Trajectory{answered, {Outcome: trajectory.EnvironmentError}, silent}}
	plain, err := reward.Scorer{}.Score(t.Context(), s, g)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string][2]float64{
		"terms.checks ?? 0": {1, 0}, "terms.call ?? 0": {1, 0}, "terms.extra ?? 0": {0.5, 0},
		"terms.repeat ?? 0.125": {0.5, 0.125}, "terms.program ?? -1": {-1, -1}, "terms.end": {1, 0}, "tokens": {42, 0},
		"turns": {float64(len(answered.Turns)), float64(len(silent.Turns))}, "gold": {1, 1},
		"len(calls)": {2, 0},
		`count(calls, .name == "` + right.Name + `" and .status == "ok" and .arguments == '` + right.Arguments +
			`')`: {2, 0},
		`answer == "d8932aac" ? 1 : 0`: {1, 0}, `outcome == "limit" ? 1 : 0`: {0, 1},
		`stop_reason == "max_turns" ? 1 : 0`: {0, 1}, `difficulty == "hard" ? 2 : 0`: {2, 2},
	} {
		r := reward.Scorer{Expressions: []reward.Expression{{Name: "ours", Formula: compiled(t, text), Weight: -4}}}
		got, err := r.Score(t.Context(), s, g)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		for i, want := range map[int]float64{0: want[0], 2: want[1]} {
			last := got[i].Terms[len(got[i].Terms)-1]
			if last != (trajectory.Term{Name: "ours", Score: want, Weight: -4}) ||
				math.Abs(got[i].Reward-(plain[i].Reward-4*want)) > 1e-12 {
				t.Errorf("%s: episode %d has %+v, want %v; it earned %v, %v without",
					text, i, last, want, got[i].Reward, plain[i].Reward)
			}
		}
		if got[1].Terms != nil {
			t.Errorf("%s: an episode that is not scored has %+v", text, got[1].Terms)
		}
	}
}

// One episode without a value leaves its group without a reward: the error names the term, the scenario and the
// episode.
func TestExpressionsWithoutAValue(t *testing.T) {
	g := three()
	g.Trajectories[2].ID = "x/1/2"
	r := reward.Scorer{Expressions: []reward.Expression{
		{Name: "ours", Formula: compiled(t, "1 / len(calls)"), Weight: 1},
	}}
	_, err := r.Score(t.Context(), hashScenario(), g)
	if err == nil || !strings.Contains(err.Error(),
		`the reward term ours of scenario x: episode x/1/2: the formula "1 / len(calls)" is +Inf`) {
		t.Error(err)
	}
}

// halves judges all alike.
type halves struct{}

func (halves) Judge(_ context.Context, _ *scenario.Scenario, ts []*trajectory.Trajectory) ([]trajectory.Term, error) {
	return slices.Repeat([]trajectory.Term{{Score: 0.5}}, len(ts)), nil
}

func (h halves) Verdict(
	ctx context.Context, s *scenario.Scenario, ts []*trajectory.Trajectory,
) ([]trajectory.Term, error) {
	return h.Judge(ctx, s, ts)
}

// A formula may name each term that there is, and no other.
func TestFormulasKnowTheTerms(t *testing.T) {
	term, err := reward.NewProgram(judge(t, "echo '[1]'"), 1)
	if err != nil {
		t.Fatal(err)
	}
	all := reward.Scorer{
		Effort: reward.Effort{Arguments: 1, Recovery: -1, Repair: -1, Economy: reward.Economy{Weight: -1, Factor: 1},
			Length: reward.Length{Weight: -1, Budget: 1}},
		Overlong: &reward.Overlong{Weight: -1, Limit: 2, Buffer: 1},
		Program:  term,
		Judge: &reward.Judged{By: halves{},
			Weight: 1, All: true},
		Rating: 1,
	}
	for _, of := range []any{all, all.Effort} {
		v := reflect.ValueOf(of)
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			if v.Field(i).IsZero() && !slices.Contains([]string{"Weights", "Defaults", "Expressions", "Turns"}, name) {
				t.Errorf("the scorer of this test has no %s: its terms are not looked at", name)
			}
		}
	}
	one := episode{calls: many(1, right), answer: "d8932aac"}.trajectory()
	one.Turns[0].Results[0].Status = trajectory.CallToolError
	one.Rating = &trajectory.Rating{Score: 0.5}
	got, err := all.Score(t.Context(), hashScenario(),
		trajectory.Group{ScenarioID: "x", Trajectories: []*trajectory.Trajectory{one}})
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, name := range userprogram.Terms() {
		known[name] = true
	}
	for _, term := range got[0].Terms {
		if !known[term.Name] {
			t.Errorf("no formula can name %s", term.Name)
		}
		delete(known, term.Name)
	}
	if len(known) > 0 {
		t.Errorf("formulas name terms that are not there: %v", known)
	}
}
