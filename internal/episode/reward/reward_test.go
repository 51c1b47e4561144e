package reward_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"hone/internal/chat"
	"hone/internal/episode/reward"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/testing/fakes"
)

func ptr[T any](v T) *T { return &v }

var hashArguments = json.RawMessage(`{"input": "hi", "algorithm": "crc32"}`)

func hashScenario() *scenario.Scenario {
	return &scenario.Scenario{
		ID: "x", Task: "Hash hi.",
		Checks: []scenario.Check{
			{Type: scenario.CallCheck, Name: "hash", Arguments: hashArguments},
			{Type: scenario.AnswerCheck, Contains: ptr("d8932aac")},
		},
		Gold: []scenario.Gold{{Name: "hash", Arguments: hashArguments}},
	}
}

type episode struct {
	calls   []chat.ToolCall // one a turn
	status  trajectory.CallStatus
	content string // of the calling turns
	answer  string
	outcome trajectory.Outcome
	reason  trajectory.StopReason
	parse   string
}

func (e episode) trajectory() *trajectory.Trajectory {
	t := &trajectory.Trajectory{Outcome: trajectory.OK, StopReason: trajectory.StopCompleted}
	if e.outcome != "" {
		t.Outcome, t.StopReason = e.outcome, e.reason
	}
	status := trajectory.CallOK
	if e.status != "" {
		status = e.status
	}
	for _, c := range e.calls {
		t.Turns = append(t.Turns, trajectory.Turn{Content: e.content, Calls: []chat.ToolCall{c},
			Results: []trajectory.ToolResult{{Call: c, Status: status}}})
		t.Messages = append(t.Messages, chat.Message{Role: chat.Assistant, Content: e.content,
			ToolCalls: []chat.ToolCall{c}}, chat.Message{Role: chat.ToolRole})
	}
	if t.StopReason != trajectory.StopMaxTurns {
		t.Turns = append(t.Turns, trajectory.Turn{Content: e.answer, ParseError: e.parse})
		t.Messages = append(t.Messages, chat.Message{Role: chat.Assistant, Content: e.answer})
	}
	return t
}

func call(name, arguments string) chat.ToolCall {
	return chat.ToolCall{Name: name, Arguments: arguments}
}

var (
	right = call("hash", string(hashArguments))
	wrong = call("hash", `{"input": "ho", "algorithm": "crc32"}`)
)

func score(e episode) float64 {
	t := e.trajectory()
	fakes.ScoreAlone(reward.Scorer{}, hashScenario(), t)
	return t.Reward
}

func many(n int, c chat.ToolCall) []chat.ToolCall {
	var calls []chat.ToolCall
	for range n {
		calls = append(calls, c)
	}
	return calls
}

func spam(n int) []chat.ToolCall {
	var calls []chat.ToolCall
	for i := range n {
		calls = append(calls, call("count", fmt.Sprintf(`{"text": "%d"}`, i)))
	}
	return calls
}

// A cheat earns strictly less than the honest success, and no more than an honest attempt that got an argument wrong,
// unless it made the right call and is only untidy.
func TestCheats(t *testing.T) {
	honest := score(episode{calls: many(1, right), answer: "d8932aac"})
	attempt := score(episode{calls: many(1, wrong), answer: "0000"})
	if max := (reward.Scorer{}).Max(hashScenario()); math.Abs(honest-max) > 1e-9 {
		t.Fatalf("honest %v is not the most possible, %v", honest, max)
	}
	tests := []struct {
		name   string
		e      episode
		untidy bool
	}{
		{"no calls at all", episode{answer: "I cannot do that."}, false},
		{"empty", episode{}, false},
		{"echoing the expected phrase", episode{answer: "d8932aac"}, false},
		{"many safe calls", episode{calls: spam(8), answer: "done"}, false},
		{"every tool once", episode{calls: append(spam(7), wrong), answer: "done"}, false},
		{"safe calls and the phrase", episode{calls: spam(8), answer: "d8932aac"}, false},
		{"repeated keys", episode{calls: many(1, call("hash", `{"input": "ho", "input": "hi", "algorithm": "crc32"}`)), answer: "d8932aac"}, false},
		{"right call refused", episode{calls: many(1, right), status: trajectory.CallInvalid, answer: "d8932aac"}, false},
		{"malformed call", episode{outcome: trajectory.PolicyError, reason: trajectory.StopParseError, parse: "unterminated", answer: "d8932aac"}, false},
		{"never ending", episode{calls: spam(8), outcome: trajectory.Limit, reason: trajectory.StopMaxTurns}, false},
		{"text around JSON", episode{calls: many(1, right), content: "Sure! Here it is:", answer: "d8932aac"}, true},
		{"right call among many", episode{calls: append(spam(8), right), answer: "d8932aac"}, true},
		{"right call again and again", episode{calls: many(5, right), answer: "d8932aac"}, true},
		{"ending lost", episode{calls: many(1, right), outcome: trajectory.Limit, reason: trajectory.StopMaxTokens, answer: "d8932aac d8932aac"}, true},
		{"call without answer", episode{calls: many(1, right)}, true},
	}
	for _, test := range tests {
		got := score(test.e)
		if got >= honest || !test.untidy && got > attempt {
			t.Errorf("%s earns %v; an honest success %v, an honest attempt %v", test.name, got, honest, attempt)
		}
	}
	if attempt <= score(episode{answer: "d8932aac"}) {
		t.Error("an honest attempt earns no more than an echo")
	}
}

// A task that needs no call is not done by an episode that did not end by itself, although that made no call either.
func TestNoCallNeedsAnEnd(t *testing.T) {
	s := &scenario.Scenario{ID: "x", Task: "What is 2 + 2?", Checks: []scenario.Check{{Type: scenario.NoCallCheck}}}
	of := func(e episode) float64 {
		got := e.trajectory()
		fakes.ScoreAlone(reward.Scorer{}, s, got)
		return got.Reward
	}
	honest := of(episode{answer: "4"})
	if max := (reward.Scorer{}).Max(s); math.Abs(honest-max) > 1e-9 {
		t.Fatalf("honest %v is not the most possible, %v", honest, max)
	}
	for name, e := range map[string]episode{
		"babble to the limit": {answer: "la la la", outcome: trajectory.Limit, reason: trajectory.StopMaxTokens},
		"a broken call":       {answer: "<tool_call>{", parse: "unterminated", outcome: trajectory.PolicyError, reason: trajectory.StopParseError},
		"context overflow":    {outcome: trajectory.Limit, reason: trajectory.StopContextOverflow},
		"only invalid calls":  {calls: spam(2), status: trajectory.CallInvalid, outcome: trajectory.PolicyError, reason: trajectory.StopMaxTurns},
	} {
		if got := of(e); got > 1e-9 {
			t.Errorf("%s earns %v of %v", name, got, honest)
		}
	}
}

// What Default's comment says of n gold calls.
func TestDefaultWeights(t *testing.T) {
	for n := 1; n <= 12; n++ {
		s := &scenario.Scenario{ID: "x", Task: "Hash.",
			Checks: []scenario.Check{{Type: scenario.AnswerCheck, Equals: ptr("ok")}}}
		var gold, wrongs []chat.ToolCall
		for i := range n {
			arguments := fmt.Sprintf(`{"input": "%d"}`, i)
			s.Gold = append(s.Gold, scenario.Gold{Name: "hash", Arguments: json.RawMessage(arguments)})
			gold, wrongs = append(gold, call("hash", arguments)), append(wrongs,
				call("hash", fmt.Sprintf(`{"input": "wrong %d"}`, i)))
		}
		of := func(e episode) float64 {
			got := e.trajectory()
			fakes.ScoreAlone(reward.Scorer{}, s, got)
			return got.Reward
		}
		w := reward.Default()
		below := of(episode{calls: wrongs, answer: "no"})
		if below > w.Tool+1e-9 {
			t.Errorf("%d gold calls: without a right one %v, more than Tool", n, below)
		}
		for k := 1; k <= n; k++ {
			least := (w.Call + w.Tool) * float64(k) / float64(n)
			if k == n {
				least += w.End
			}
			if got := of(episode{calls: gold[:k], answer: "no"}); got < least-1e-9 {
				t.Errorf("%d of %d right calls and no others earn %v; want at least %v", k, n, got, least)
			}
			got := of(episode{calls: append(slices.Clone(gold[:k]), wrongs[k:]...), answer: "no"})
			if got < least-1e-9 || got <= below {
				t.Errorf("%d of %d right calls earn %v; want at least %v and more than %v", k, n, got, least, below)
			}
			below = got
		}
		if got := of(episode{calls: gold, answer: "ok"}); got <= 2*below {
			t.Errorf("%d gold calls: the answer doubles no reward: %v after %v", n, got, below)
		}
	}
}

// With greedy weights a cheat does win, so TestCheats can fail.
func TestCheatsCanWin(t *testing.T) {
	bad := reward.Scorer{Weights: &reward.Weights{End: 1, Checks: 0.1, Parse: 5}}
	cheat := episode{outcome: trajectory.PolicyError, reason: trajectory.StopParseError, parse: "x"}.trajectory()
	honest := episode{calls: many(1, right), answer: "d8932aac"}.trajectory()
	fakes.ScoreAlone(bad, hashScenario(), cheat)
	fakes.ScoreAlone(bad, hashScenario(), honest)
	if cheat.Reward <= honest.Reward {
		t.Errorf("cheat %v, honest %v", cheat.Reward, honest.Reward)
	}
	twice := reward.Default()
	twice.Extra = 1.5 // more than all that was earned
	if bad.Weights.Validate() == nil || twice.Validate() == nil || reward.Default().Validate() != nil {
		t.Error("Validate does not tell these weights apart")
	}
	if most := bad.Max(hashScenario()); most != 1.1 {
		t.Errorf("at most %v", most)
	}
}

func TestTerms(t *testing.T) {
	s := hashScenario()
	s.Gold = append(s.Gold, scenario.Gold{Name: "count", Arguments: json.RawMessage(`{"text": "a"}`)})
	got := episode{calls: []chat.ToolCall{right, right, wrong}, answer: "d8932aac"}.trajectory()
	fakes.ScoreAlone(reward.Scorer{}, s, got)
	want := map[string]float64{"checks": 1, "call": 0.5, "tool": 0.5, "end": 0, "repeat": 1. / 3, "extra": 0.5,
		"invalid": 0, "parse": 0}
	sum := 0.0
	for _, term := range got.Terms {
		if score, ok := want[term.Name]; !ok || math.Abs(score-term.Score) > 1e-9 {
			t.Errorf("%s = %v; want %v", term.Name, term.Score, score)
		}
		sum += term.Score * term.Weight
		delete(want, term.Name)
	}
	if len(want) > 0 || math.Abs(sum-got.Reward) > 1e-9 {
		t.Errorf("missing %v; terms sum to %v, reward %v", want, sum, got.Reward)
	}
}

func TestOneTurnEpisode(t *testing.T) {
	stopped := episode{calls: many(1, right), outcome: trajectory.Limit, reason: trajectory.StopMaxTurns}
	cut := episode{calls: many(1, right), outcome: trajectory.Limit, reason: trajectory.StopMaxTokens}
	if score(stopped) <= score(cut) {
		t.Error("a single turn that ends after its call earns no more than one that never ends")
	}
}

func TestNotScored(t *testing.T) {
	for _, outcome := range []trajectory.Outcome{
		trajectory.EnvironmentError, trajectory.InfrastructureError, trajectory.JudgeError,
	} {
		got := episode{calls: many(1, right), answer: "d8932aac", outcome: outcome,
			reason: trajectory.StopError}.trajectory()
		got.Reward = 3
		fakes.ScoreAlone(reward.Scorer{}, hashScenario(), got)
		if got.Reward != 0 || got.Terms != nil {
			t.Errorf("%s: reward %v, %v", outcome, got.Reward, got.Terms)
		}
	}
}

func TestMetrics(t *testing.T) {
	tests := []struct {
		name           string
		e              episode
		first, episode bool
	}{
		{"gold", episode{calls: many(1, right), answer: "it is d8932aac"}, true, true},
		{
			"default written out",
			episode{calls: many(1, call("hash", `{"algorithm": "crc32", "input": "hi", "action": "hash"}`)),
				answer: "d8932aac"}, true, true,
		},
		{"wrong answer", episode{calls: many(1, right), answer: "d8932aad"}, true, false},
		{"another call behind", episode{calls: []chat.ToolCall{right, wrong}, answer: "d8932aac"}, true, true},
		{"another call before", episode{calls: []chat.ToolCall{wrong, right}, answer: "d8932aac"}, false, true},
		{"many calls behind", episode{calls: append([]chat.ToolCall{right}, spam(8)...), answer: "d8932aac"}, true, true},
		{"no call", episode{answer: "d8932aac"}, false, false},
		{"failed call", episode{calls: many(1, right), status: trajectory.CallToolError, answer: "d8932aac"}, true, false},
		{"not ended", episode{calls: many(1, right), outcome: trajectory.Limit, reason: trajectory.StopMaxTokens, answer: "d8932aac"}, true, false},
	}
	defaults := func(tool string) map[string]json.RawMessage {
		return map[string]json.RawMessage{"action": json.RawMessage(`"hash"`)}
	}
	for _, test := range tests {
		s, got := hashScenario(), test.e.trajectory()
		if first := reward.FirstCall(s, got, defaults); first != test.first {
			t.Errorf("%s: FirstCall %v", test.name, first)
		}
		if episode := reward.Episode(s, got, defaults); episode != test.episode {
			t.Errorf("%s: Episode %v", test.name, episode)
		}
	}
	// Without checks, the gold calls are to be made in order, with others between them or not, and the episode is to
	// end.
	look := call("look", `{}`)
	two := &scenario.Scenario{ID: "x", Task: "Do it.", Gold: []scenario.Gold{
		{Name: "look", Arguments: json.RawMessage(`{}`)},
		{Name: "hash", Arguments: hashArguments},
	}}
	for _, test := range []struct {
		e     episode
		want  bool
		extra int
	}{
		{episode{calls: []chat.ToolCall{look, right}, answer: "done"}, true, 0},
		{episode{calls: []chat.ToolCall{look, wrong, right, look}, answer: "done"}, true, 2},
		{episode{calls: []chat.ToolCall{right, look}, answer: "done"}, false, 0},
		{episode{calls: []chat.ToolCall{look}, answer: "done"}, false, 0},
		{episode{calls: []chat.ToolCall{look, right}, status: trajectory.CallToolError, answer: "done"}, false, 0},
		{episode{calls: []chat.ToolCall{look, right}, outcome: trajectory.Limit, reason: trajectory.StopMaxTurns}, false, 0},
	} {
		if got := test.e.trajectory(); reward.Episode(two, got, nil) != test.want ||
			reward.ExtraCalls(two, got) != test.extra {
			t.Errorf("%+v: Episode %v, %d extra calls", test.e, !test.want, reward.ExtraCalls(two, got))
		}
	}
	if got := (episode{calls: spam(3)}).trajectory(); reward.ExtraCalls(&scenario.Scenario{}, got) != 0 {
		t.Error("calls beyond gold calls that there are not")
	}
	lost := episode{calls: many(1, right), answer: "d8932aac", outcome: trajectory.EnvironmentError,
		reason: trajectory.StopError}
	if reward.Episode(hashScenario(), lost.trajectory(), nil) {
		t.Error("an episode whose server failed is a success")
	}
	if got := (episode{answer: "x"}).trajectory(); reward.Episode(&scenario.Scenario{}, got, nil) ||
		reward.FirstCall(&scenario.Scenario{}, got, nil) {
		t.Error("success without anything to succeed at")
	}
}

// The gold solution earns Max, an empty episode less; gold calls that a check does not want fail it.
func TestGoldEarnsMax(t *testing.T) {
	bad := hashScenario()
	bad.Gold[0].Arguments = json.RawMessage(`{"input": "ho"}`)
	for i, c := range []struct {
		s      *scenario.Scenario
		answer string
		failed int
	}{
		{hashScenario(), "d8932aac", 0},
		{
			&scenario.Scenario{Checks: []scenario.Check{{Type: "answer", Number: scenario.NumberOf(0.1)},
				{Type: "answer", Contains: ptr("km")}, {Type: "no_call"}}}, "km 0.1", 0,
		},
		{&scenario.Scenario{Checks: []scenario.Check{{Type: "answer", Equals: ptr("ok")}}}, "ok", 0},
		{bad, "d8932aac", 1},
	} {
		gold, empty := fakes.GoldEpisode(c.s, c.answer), episode{}.trajectory()
		fakes.ScoreAlone(reward.Scorer{}, c.s, gold)
		fakes.ScoreAlone(reward.Scorer{}, c.s, empty)
		most := (reward.Scorer{}).Max(c.s)
		if failed := reward.FailedChecks(c.s, gold, nil); len(failed) != c.failed ||
			c.failed == 0 && math.Abs(gold.Reward-most) > 1e-9 {
			t.Errorf("scenario %d: gold earns %v of %v, failed %v", i, gold.Reward, most, failed)
		}
		if empty.Reward >= gold.Reward {
			t.Errorf("scenario %d: empty earns %v, gold %v", i, empty.Reward, gold.Reward)
		}
	}
}

// No trajectory earns more than Max.
func TestMaxProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pick := rapid.SampledFrom([]chat.ToolCall{right, wrong, call("count", `{}`), call("hash", `{`)})
		e := episode{
			calls: rapid.SliceOfN(pick, 0, 6).Draw(t, "calls"),
			status: rapid.SampledFrom([]trajectory.CallStatus{"", trajectory.CallInvalid,
				trajectory.CallToolError}).Draw(t, "status"),
			content: rapid.SampledFrom([]string{"", "text"}).Draw(t, "content"),
			answer:  rapid.SampledFrom([]string{"", "d8932aac", "no"}).Draw(t, "answer"),
		}
		if got := score(e); got > (reward.Scorer{}).Max(hashScenario())+1e-9 {
			t.Fatalf("%+v earns %v", e, got)
		}
	})
}

// An episode whose record lacks what a check looks at earns nothing, no penalty either: its checks are not said of it.
func TestWhatWasNotSeenIsNotScored(t *testing.T) {
	s := &scenario.Scenario{ID: "s", Checks: []scenario.Check{{Type: scenario.StateCheck, Name: "list"}}}
	blind := fakes.GoldEpisode(s, "x")
	saw := fakes.GoldEpisode(s, "x")
	saw.Seen = []trajectory.Observation{{Look: s.Checks[0].Look(), Status: trajectory.Seen}}
	fakes.ScoreAlone(reward.Scorer{}, s, blind)
	fakes.ScoreAlone(reward.Scorer{}, s, saw)
	if len(blind.Terms) != 0 || blind.Reward != 0 || len(saw.Terms) == 0 {
		t.Errorf("blind earns %+v, who saw %+v", blind.Terms, saw.Terms)
	}
}

// A first call counts where nothing but searches of hone's own came before it: one that is broken is the first.
func TestFirstCallOfAnEpisode(t *testing.T) {
	search := resultOf("search_tools", trajectory.CallOK, "found")
	search.Search = true
	searched := episode{calls: many(1, right)}.trajectory()
	searched.Turns = append([]trajectory.Turn{{Calls: []chat.ToolCall{search.Call},
		Results: []trajectory.ToolResult{search}}}, searched.Turns...)
	broken := episode{calls: many(1, right)}.trajectory()
	broken.Turns = append([]trajectory.Turn{{ParseError: "unterminated"}}, broken.Turns...)
	goldless := hashScenario()
	goldless.Gold = nil
	for name, c := range map[string]struct {
		s    *scenario.Scenario
		t    *trajectory.Trajectory
		want bool
	}{
		"right":                 {hashScenario(), episode{calls: many(1, right)}.trajectory(), true},
		"wrong":                 {hashScenario(), episode{calls: []chat.ToolCall{wrong, right}}.trajectory(), false},
		"none":                  {hashScenario(), episode{answer: "no"}.trajectory(), false},
		"behind a search":       {hashScenario(), searched, true},
		"behind a broken call":  {hashScenario(), broken, false},
		"nothing to compare it": {goldless, episode{calls: many(1, right)}.trajectory(), false},
	} {
		if got := reward.FirstCall(c.s, c.t, nil); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
