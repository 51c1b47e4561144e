package reward_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hone/internal/chat"
	"hone/internal/episode/reward"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/testing/fakes"
)

// puzzle is a task whose gold calls a policy does not know: of each place it knows some calls that may be the right
// one, all equally likely. A world is one choice for each place.
type puzzle struct {
	places [][]chat.ToolCall
	checks string // what the checks look at: calls, both, answer
	errors bool   // the server refuses what is not a gold call, so its answers tell; else all calls are answered
}

// result is what the server answers a call.
func result(c chat.ToolCall) string { return "<" + c.Name + c.Arguments + ">" }

// worlds are all choices, as the gold calls of each.
func (p puzzle) worlds() [][]chat.ToolCall {
	all := [][]chat.ToolCall{nil}
	for _, candidates := range p.places {
		var longer [][]chat.ToolCall
		for _, world := range all {
			for _, c := range candidates {
				longer = append(longer, append(slices.Clone(world), c))
			}
		}
		all = longer
	}
	return all
}

func (p puzzle) scenario(gold []chat.ToolCall) *scenario.Scenario {
	s := &scenario.Scenario{ID: "x", Task: "Do it."}
	var results []string
	for _, c := range gold {
		s.Gold = append(s.Gold, scenario.Gold{Name: c.Name, Arguments: json.RawMessage(c.Arguments)})
		results = append(results, result(c))
		if p.checks != "answer" {
			s.Checks = append(s.Checks,
				scenario.Check{Type: scenario.CallCheck, Name: c.Name, Arguments: json.RawMessage(c.Arguments)})
		}
		if p.checks == "both" {
			s.Checks = append(s.Checks, scenario.Check{Type: scenario.AnswerCheck, Contains: ptr(result(c))})
		}
	}
	if p.checks == "answer" {
		s.Checks = append(s.Checks, scenario.Check{Type: scenario.AnswerCheck, Equals: ptr(strings.Join(results, " "))})
	}
	return s
}

// play is what a policy does whichever world it is in: the calls of each turn, then an answer.
type play struct {
	turns   [][]chat.ToolCall
	answer  func(answered []string) string // sees the answers of the calls
	content string                         // around its calls
	cut     bool                           // by the limit of turns, before it answers
}

// mean is what a play earns, in the mean over all worlds: for what it did on the way, and for a task that is done.
func (p puzzle) mean(of play, s reward.Scorer) (way, done float64) {
	worlds := p.worlds()
	for _, gold := range worlds {
		t := p.run(of, gold)
		fakes.ScoreAlone(s, p.scenario(gold), t)
		for _, term := range t.Terms {
			share := term.Score * term.Weight / float64(len(worlds))
			switch term.Name {
			case "checks", "end", reward.ExtraTerm:
				done += share
			default:
				way += share
			}
		}
	}
	return way, done
}

func (p puzzle) run(of play, gold []chat.ToolCall) *trajectory.Trajectory {
	t := &trajectory.Trajectory{Outcome: trajectory.OK, StopReason: trajectory.StopCompleted}
	var answered []string
	for _, calls := range of.turns {
		turn := trajectory.Turn{Content: of.content, Calls: calls}
		for _, c := range calls {
			r := trajectory.ToolResult{Call: c, Status: trajectory.CallOK}
			switch {
			case !json.Valid([]byte(c.Arguments)) || c.Name == "nowhere":
				r.Status = trajectory.CallInvalid
			case p.errors && !slices.Contains(gold, c):
				r.Status = trajectory.CallToolError
			default:
				answered = append(answered, result(c))
			}
			turn.Results = append(turn.Results, r)
		}
		t.Turns = append(t.Turns, turn)
		t.Messages = append(t.Messages, chat.Message{Role: chat.Assistant, Content: of.content, ToolCalls: calls},
			chat.Message{Role: chat.ToolRole})
	}
	if of.cut {
		t.Outcome, t.StopReason = trajectory.Limit, trajectory.StopMaxTurns
		return t
	}
	answer := of.answer(answered)
	t.Turns = append(t.Turns, trajectory.Turn{Content: answer})
	t.Messages = append(t.Messages, chat.Message{Role: chat.Assistant, Content: answer})
	return t
}

func tellAll(answered []string) string { return strings.Join(answered, " ") }

// honest makes one call for each place, one a turn, and answers with what it was told.
func (p puzzle) honest() play {
	var turns [][]chat.ToolCall
	for _, candidates := range p.places {
		turns = append(turns, candidates[:1])
	}
	return play{turns: turns, answer: tellAll}
}

// guess answers what an honest attempt would be told if its calls were right.
func (p puzzle) guess([]string) string {
	var told []string
	for _, candidates := range p.places {
		told = append(told, result(candidates[0]))
	}
	return tellAll(told)
}

// best is what the best honest attempts earn in the mean, of each part and in all. They make as many calls as there are
// gold calls: one for each place, or, where one sees no chance in a place, another for an easier one.
func (p puzzle) best(s reward.Scorer) (way, done, all float64) {
	way, done, all = math.Inf(-1), math.Inf(-1), math.Inf(-1)
	try := func(of play) {
		w, d := p.mean(of, s)
		way, done, all = max(way, w), max(done, d), max(all, w+d)
	}
	var choose func(place, left int, turns [][]chat.ToolCall)
	choose = func(place, left int, turns [][]chat.ToolCall) {
		if place == len(p.places) {
			if left == 0 {
				try(play{turns: turns, answer: tellAll})
				if p.checks == "answer" { // which may be guessed beside the calls
					try(play{turns: turns, answer: p.guess})
				}
			}
			return
		}
		for n := range min(left, len(p.places[place])) + 1 {
			longer := slices.Clone(turns)
			for _, c := range p.places[place][:n] {
				longer = append(longer, []chat.ToolCall{c})
			}
			choose(place+1, left-n, longer)
		}
	}
	choose(0, len(p.places), nil)
	return way, done, all
}

func drawPuzzle(t *rapid.T) puzzle {
	p := puzzle{checks: rapid.SampledFrom([]string{"calls", "both", "answer"}).Draw(t, "checks"),
		errors: rapid.Bool().Draw(t, "errors")}
	oneTool := rapid.Bool().Draw(t, "all places have one tool")
	worlds := 1
	for place := range rapid.IntRange(1, 4).Draw(t, "places") {
		// What is known has one candidate; a boolean two; an enumeration more; a tool may be what is not known.
		n := rapid.SampledFrom([]int{1, 2, 2, 3, 5}).Draw(t, "candidates")
		if worlds *= n; worlds > 16 {
			n, worlds = 1, worlds/n
		}
		tools := rapid.Bool().Draw(t, "the tool is unknown")
		var candidates []chat.ToolCall
		for i := range n {
			name := fmt.Sprint("tool", place)
			switch {
			case tools:
				name += fmt.Sprint("_", i)
			case oneTool:
				name = "tool"
			}
			candidates = append(candidates, call(name, fmt.Sprintf(`{"place":%d,"value":%d}`, place, i)))
		}
		p.places = append(p.places, candidates)
	}
	return p
}

// drawGuesser draws a policy without the knowledge: what it calls depends neither on the world nor on an answer.
func drawGuesser(t *rapid.T, p puzzle) play {
	all := slices.Concat(p.places...)
	some := func(label string) []chat.ToolCall { // of each place some candidates
		var calls []chat.ToolCall
		for i, candidates := range p.places {
			calls = append(calls, candidates[:rapid.IntRange(0, len(candidates)).Draw(t, fmt.Sprint(label, i))]...)
		}
		return calls
	}
	oneATurn := func(calls []chat.ToolCall) (turns [][]chat.ToolCall) {
		for _, c := range calls {
			turns = append(turns, []chat.ToolCall{c})
		}
		return turns
	}
	var enumeration []string
	for _, c := range all {
		enumeration = append(enumeration, result(c))
	}
	answers := map[string]func([]string) string{
		"tells all it was told": tellAll,
		"tells one thing it was told": func(answered []string) string {
			if len(answered) == 0 {
				return "nothing"
			}
			return answered[len(answered)/2]
		},
		"enumerates":     func([]string) string { return strings.Join(enumeration, " ") },
		"guesses":        p.guess,
		"echoes":         func([]string) string { return "Do it." },
		"says it's done": func([]string) string { return "done" },
		"is silent":      func([]string) string { return "" },
	}
	names := []string{"tells all it was told", "tells one thing it was told", "enumerates", "guesses", "echoes",
		"says it's done", "is silent"}
	g := play{answer: answers[rapid.SampledFrom(names).Draw(t, "answer")]}
	switch rapid.SampledFrom([]string{"no calls", "shotgun", "shotgun over turns", "everything",
		"everything over turns", "repeats", "repeated keys", "spam", "mixture"}).Draw(t, "guesser") {
	case "no calls":
	case "shotgun":
		g.turns = [][]chat.ToolCall{some("of place ")}
	case "shotgun over turns":
		g.turns = oneATurn(some("of place "))
	case "everything":
		g.turns = [][]chat.ToolCall{all}
	case "everything over turns":
		g.turns = oneATurn(all)
	case "repeats":
		for range rapid.IntRange(2, 4).Draw(t, "times") {
			g.turns = append(g.turns, p.honest().turns...)
		}
	case "repeated keys":
		for _, candidates := range p.places {
			arguments := candidates[0].Arguments
			for i := range candidates {
				arguments = fmt.Sprintf(`%s,"value":%d}`, strings.TrimSuffix(arguments, "}"), i)
			}
			g.turns = append(g.turns, []chat.ToolCall{call(candidates[0].Name, arguments)})
		}
	case "spam":
		g.turns = oneATurn(append(some("of place "), spam(rapid.IntRange(1, 12).Draw(t, "calls"))...))
	case "mixture":
		pool := append(slices.Clone(all), call("nowhere", `{}`), call("other", `{}`), call(all[0].Name, `{"value":`))
		g.turns = rapid.SliceOfN(rapid.SliceOfN(rapid.SampledFrom(pool), 1, 4), 1, 5).Draw(t, "turns")
		g.content = rapid.SampledFrom([]string{"", "", "let me see"}).Draw(t, "content")
		g.cut = rapid.Bool().Draw(t, "cut")
	}
	return g
}

// Without the knowledge of the gold calls, nothing earns more in the mean than attempts with as many calls as they are:
// not on the way, not for what is done, and of one gold call not in all.
func TestGuessingDoesNotPay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPuzzle(t)
		way, done, all := p.best(reward.Scorer{})
		w, d := p.mean(drawGuesser(t, p), reward.Scorer{})
		if w > way+1e-9 || d > done+1e-9 || len(p.places) == 1 && w+d > all+1e-9 {
			t.Fatalf("%+v: the guesser earns %v and %v, honest attempts %v and %v", p, w, d, way, done)
		}
	})
}

// Once a gold call was made no call, right, wrong, repeated or refused, makes an episode's reward less, before all are
// made; nor does the one that makes them all.
func TestGoingOnNeverCosts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 4).Draw(t, "gold calls")
		s := &scenario.Scenario{ID: "x", Task: "Do it.",
			Checks: []scenario.Check{{Type: scenario.AnswerCheck, Equals: ptr("all of it")}}}
		pool := []chat.ToolCall{call("nowhere", `{}`), call("other", `{}`)}
		for i := range n {
			g := call(fmt.Sprint("tool", rapid.IntRange(0, i).Draw(t, "tool")), fmt.Sprintf(`{"value":%d}`, i))
			s.Gold = append(s.Gold, scenario.Gold{Name: g.Name, Arguments: json.RawMessage(g.Arguments)})
			pool = append(pool, g, g, call(g.Name, `{"value":-1}`), call(g.Name, `{"value":`))
		}
		gold := s.GoldCalls()
		p, before, left := puzzle{}, math.Inf(-1), slices.Clone(gold)
		var turns [][]chat.ToolCall
		for _, c := range rapid.SliceOfN(rapid.SampledFrom(pool), 1, 9).Draw(t, "calls") {
			if i := slices.Index(left, c); i >= 0 {
				left = slices.Delete(left, i, i+1)
			}
			turns = append(turns, []chat.ToolCall{c})
			got := p.run(play{turns: turns, answer: tellAll}, gold)
			fakes.ScoreAlone(reward.Scorer{}, s, got)
			if got.Reward < before-1e-9 {
				t.Fatalf("%v of %v: %v after %v: %+v", turns, gold, got.Reward, before, got.Terms)
			}
			if len(left) < n {
				before = got.Reward
			}
			if len(left) == 0 {
				return
			}
		}
	})
}

// What an episode of one gold call earns says how near it came: the right call, its tool, its tool against the schema,
// another tool, and one that does not exist. To correct a refused call is the next best to making it right at once.
func TestNearerEarnsMore(t *testing.T) {
	p, s := puzzle{}, hashScenario()
	broken := call("hash", `{"input":`)
	before := math.Inf(1)
	for _, calls := range [][]chat.ToolCall{
		{right}, {broken, right}, {wrong}, {broken}, {call("count", `{}`)}, {call("nowhere", `{}`)},
	} {
		got := p.run(play{turns: [][]chat.ToolCall{calls}, answer: func([]string) string { return "d8932aac" }},
			s.GoldCalls())
		if len(calls) == 1 && calls[0] != right {
			got.Messages[len(got.Messages)-1].Content = "no"
		}
		fakes.ScoreAlone(reward.Scorer{}, s, got)
		if got.Reward >= before-0.05 {
			t.Errorf("%v earns %v, what is nearer %v", calls, got.Reward, before)
		}
		before = got.Reward
	}
}

// Where a call beyond the gold calls takes less than half, guessing both values of a boolean pays: the property can
// fail. So it did where calls were counted up to a bound.
func TestGuessingCanPay(t *testing.T) {
	p := puzzle{checks: "both", places: [][]chat.ToolCall{{call("set", `{"on":true}`), call("set", `{"on":false}`)}}}
	both := play{turns: [][]chat.ToolCall{p.places[0]}, answer: tellAll}
	for extra, pays := range map[float64]bool{0.35: true, 0.5: false, 1: false, 0: true} {
		w := reward.Default()
		w.Extra = extra
		s := reward.Scorer{Weights: &w}
		way, done := p.mean(both, s)
		if w, d := p.mean(p.honest(), s); way+done > w+d+1e-9 != pays {
			t.Errorf("extra %v: both values earn %v, one %v", extra, way+done, w+d)
		}
	}
}

// Sixteen guesses in one turn, the right one among them, earn less than an honest wrong call, and each guess more less.
func TestShotgun(t *testing.T) {
	gold := []chat.ToolCall{right}
	p := puzzle{checks: "both", places: [][]chat.ToolCall{gold}}
	earned := func(calls []chat.ToolCall) float64 {
		got := p.run(play{turns: [][]chat.ToolCall{calls}, answer: tellAll}, gold)
		fakes.ScoreAlone(reward.Scorer{}, p.scenario(gold), got)
		return got.Reward
	}
	before := earned(gold)
	for n := 1; n < 16; n++ {
		got := earned(append(spam(n), right))
		if got >= before || got <= 0 {
			t.Errorf("%d calls beyond the gold call earn %v, one less %v", n, got, before)
		}
		before = got
	}
	if honest := earned([]chat.ToolCall{wrong}); before >= honest || math.Abs(honest-0.2) > 1e-9 {
		t.Errorf("16 guesses earn %v, an honest wrong call %v", before, honest)
	}
}

// A search of hone's own is no call of the task: it costs nothing, and no check sees it.
func TestSearchIsNoCall(t *testing.T) {
	find := call("search_tools", `{"query":"hash"}`)
	done := chat.ToolCall{Name: "complete_task", Arguments: `{"answer": "none"}`}
	ended := &trajectory.Trajectory{Outcome: trajectory.OK, Turns: []trajectory.Turn{
		{Calls: []chat.ToolCall{done},
			Results: []trajectory.ToolResult{{Call: done, Status: trajectory.CallOK, Ends: true}}},
	}}
	if n := reward.NumCalls(ended, ""); n != 0 {
		t.Errorf("the call that ends an episode is one of %d of the task", n)
	}
	search := trajectory.Turn{Calls: []chat.ToolCall{find},
		Results: []trajectory.ToolResult{{Call: find, Status: trajectory.CallOK, Search: true}}}
	e := episode{calls: many(1, right), answer: "d8932aac"}
	got := e.trajectory()
	got.Turns = append([]trajectory.Turn{search}, got.Turns...)
	s := hashScenario()
	fakes.ScoreAlone(reward.Scorer{}, s, got)
	if most := (reward.Scorer{}).Max(s); math.Abs(got.Reward-most) > 1e-9 || !reward.Episode(s, got, nil) ||
		!reward.FirstCall(s, got, nil) {
		t.Errorf("earns %v of %v, terms %+v", got.Reward, most, got.Terms)
	}
	s = &scenario.Scenario{ID: "x", Task: "Thank you.", Checks: []scenario.Check{{Type: scenario.NoCallCheck}}}
	for searched, want := range map[bool]int{true: 0, false: 1} {
		search.Results[0].Search = searched
		got := episode{answer: "You are welcome."}.trajectory()
		got.Turns = append([]trajectory.Turn{search}, got.Turns...)
		if failed := reward.FailedChecks(s, got, nil); len(failed) != want {
			t.Errorf("a search %v: failed %v", searched, failed)
		}
	}
	search.Results = nil // as where the limit of calls came first
	got = episode{answer: "You are welcome."}.trajectory()
	got.Turns = append([]trajectory.Turn{search}, got.Turns...)
	if failed := reward.FailedChecks(s, got, nil); len(failed) != 1 {
		t.Error("a call that was not sent is no call")
	}
}

// Each gold call has to be called for: one call of a tool is a foothold for one of them.
func TestOneCallIsOneFoothold(t *testing.T) {
	s := &scenario.Scenario{ID: "x", Task: "Hash three.", Gold: []scenario.Gold{
		{Name: "hash", Arguments: json.RawMessage(`{"input":"1"}`)},
		{Name: "hash", Arguments: json.RawMessage(`{"input":"2"}`)}, {Name: "hash",
			Arguments: json.RawMessage(`{"input":"3"}`)},
	}}
	for made, want := range []float64{0, 1. / 3, 2. / 3, 1, 1} {
		got := episode{calls: many(made, wrong), answer: "no"}.trajectory()
		fakes.ScoreAlone(reward.Scorer{}, s, got)
		i := slices.IndexFunc(got.Terms, func(term trajectory.Term) bool { return term.Name == "tool" })
		if math.Abs(got.Terms[i].Score-want) > 1e-9 {
			t.Errorf("%d calls of the tool of 3 gold calls: %v, want %v", made, got.Terms[i].Score, want)
		}
	}
}

// What each term says of episodes that differ from the gold one in one thing.
func TestTermsOfFaults(t *testing.T) {
	invalid := call("nowhere", `{}`)
	for name, c := range map[string]struct {
		e    episode
		term string
		want float64
	}{
		"the gold one":               {episode{calls: many(1, right), answer: "d8932aac"}, "end", 1},
		"an empty answer":            {episode{calls: many(1, right)}, "end", 0},
		"a blank answer":             {episode{calls: many(1, right), answer: " \n"}, "end", 0},
		"text around calls":          {episode{calls: many(1, right), content: "so", answer: "d8932aac"}, "end", 0},
		"a key twice":                {episode{calls: many(1, call("hash", `{"input": "ho", "input": "hi", "algorithm": "crc32"}`)), answer: "d8932aac"}, "tool", 0},
		"the same, read as some do":  {episode{calls: many(1, call("hash", `{"input": "ho"}`)), answer: "d8932aac"}, "tool", 1},
		"calls that are sent":        {episode{calls: many(1, right), answer: "d8932aac"}, "invalid", 0},
		"calls that are not":         {episode{calls: []chat.ToolCall{invalid, invalid}, status: trajectory.CallInvalid, answer: "d8932aac"}, "invalid", 1},
		"half a tool by what is not": {episode{calls: many(1, right), status: trajectory.CallInvalid, answer: "d8932aac"}, "tool", 0.5},
		"which is no fault beside":   {episode{calls: many(1, right), status: trajectory.CallInvalid, answer: "d8932aac"}, "invalid", 0},
		"an end without the call":    {episode{calls: many(1, wrong), answer: "d8932aac"}, "end", 0},
	} {
		got := c.e.trajectory()
		fakes.ScoreAlone(reward.Scorer{}, hashScenario(), got)
		i := slices.IndexFunc(got.Terms, func(term trajectory.Term) bool { return term.Name == c.term })
		if i < 0 || math.Abs(got.Terms[i].Score-c.want) > 1e-9 {
			t.Errorf("%s: %+v, want %s to be %v", name, got.Terms, c.term, c.want)
		}
	}
}
