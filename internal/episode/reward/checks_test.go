package reward_test

import (
	"encoding/json"
	"strings"
	"testing"

	"hone/internal/chat"
	"hone/internal/episode/reward"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/testing/fakes"
)

func episodeOf(results ...trajectory.ToolResult) *trajectory.Trajectory {
	t := &trajectory.Trajectory{Outcome: trajectory.OK, StopReason: trajectory.StopCompleted}
	for _, r := range results {
		t.Turns = append(t.Turns, trajectory.Turn{Calls: []chat.ToolCall{r.Call}, Results: []trajectory.ToolResult{r}})
	}
	t.Turns = append(t.Turns, trajectory.Turn{Content: "done"})
	t.Messages = []chat.Message{{Role: chat.Assistant, Content: "done"}}
	return t
}

func resultOf(name string, status trajectory.CallStatus, text string) trajectory.ToolResult {
	return trajectory.ToolResult{Call: chat.ToolCall{Name: name, Arguments: `{"n":1}`}, Status: status, Text: text}
}

// Checks of calls look at what was made of a call: its result, that it was refused, how many there were.
func TestChecksOfCalls(t *testing.T) {
	cut := resultOf("a", trajectory.CallOK, `{"rows": [1, 2`)
	cut.StructuredContent = json.RawMessage(`{"rows":[1,2,3]}`)
	search := resultOf("search_tools", trajectory.CallOK, "found")
	search.Search = true
	for _, test := range []struct {
		check   string
		results []trajectory.ToolResult
		why     string // "" where it is met
	}{
		{`{"type":"call","name":"a","arguments":{"n":1},"contains":"fine"}`, []trajectory.ToolResult{resultOf("a", trajectory.CallOK, "all fine")}, ""},
		{
			`{"type":"call","name":"a","arguments":{"n":1},"contains":"fine"}`, []trajectory.ToolResult{resultOf("a",
				trajectory.CallOK, "poor"), resultOf("a", trajectory.CallOK, "fine")}, "",
		},
		{
			`{"type":"call","name":"a","arguments":{"n":1},"contains":"fine"}`, []trajectory.ToolResult{resultOf("a",
				trajectory.CallOK, "poor")}, `the result of a: "poor" does not meet "contains"`,
		},
		{
			`{"type":"call","name":"a","arguments":{"n":1},"contains":"fine"}`,
			[]trajectory.ToolResult{resultOf("a", trajectory.CallToolError, "fine")},
			"the call of a was answered with an error (tool_error)",
		},
		{`{"type":"call","name":"a","arguments":{"n":1},"matches":{"rows":[1,2,3]}}`, []trajectory.ToolResult{cut}, ""},
		{`{"type":"call","name":"a","arguments":{"n":1},"matches":{"rows":[1,2,4]}}`, []trajectory.ToolResult{cut}, "$.rows[2] is 3, not 4"},
		{`{"type":"call","name":"a","arguments":{"n":1},"refused":true}`, []trajectory.ToolResult{resultOf("a", trajectory.CallToolError, "no")}, ""},
		{`{"type":"call","name":"a","arguments":{"n":1},"refused":true}`,
			[]trajectory.ToolResult{resultOf("a", trajectory.CallOK, "no")}, "was not answered with an error (ok)"},
		{`{"type":"call","name":"a","arguments":{"n":1},"refused":true}`, []trajectory.ToolResult{resultOf("a", trajectory.CallInvalid, "no")}, "(invalid)"},
		{`{"type":"call","name":"a","arguments":{"n":1},"refused":true,"regex":"stock"}`,
			[]trajectory.ToolResult{resultOf("a", trajectory.CallToolError, "no")}, "does not meet"},
		{`{"type":"call","name":"a","arguments":{"n":1},"refused":true}`, nil, "a was not called so"},
		{`{"type":"max_calls","max":1}`, []trajectory.ToolResult{resultOf("a", trajectory.CallInvalid, ""), search}, ""},
		{
			`{"type":"max_calls","max":1}`, []trajectory.ToolResult{resultOf("a", trajectory.CallOK, ""),
				resultOf("b", trajectory.CallOK, "")}, "2 calls were made, more than 1",
		},
		{`{"type":"max_calls","max":1,"name":"b"}`, []trajectory.ToolResult{resultOf("a", trajectory.CallOK, ""), resultOf("b", trajectory.CallOK, "")}, ""},
		{`{"type":"no_call"}`, []trajectory.ToolResult{search}, ""},
		{`{"type":"no_call"}`, []trajectory.ToolResult{resultOf("a", trajectory.CallInvalid, "")}, "1 calls were made"},
		{`{"type":"no_call","name":"b"}`, []trajectory.ToolResult{resultOf("a", trajectory.CallOK, "")}, ""},
	} {
		var c scenario.Check
		if err := json.Unmarshal([]byte(test.check), &c); err != nil {
			t.Fatal(err)
		}
		if err := c.Validate(); err != nil {
			t.Fatalf("%s: %v", test.check, err)
		}
		why := reward.Unmet(c, episodeOf(test.results...), nil)
		if test.why == "" && why != "" || !strings.Contains(why, test.why) {
			t.Errorf("%s: %q, want %q", test.check, why, test.why)
		}
	}
}

// Where a refusal is what the task is about, the gold call that is refused was made right, and earns what a gold call
// earns; without such a check a refused call has done nothing.
func TestRefusedGoldCall(t *testing.T) {
	gold := []scenario.Gold{{Name: "a", Arguments: json.RawMessage(`{"n":1}`)}}
	wanted := &scenario.Scenario{Gold: gold,
		Checks: []scenario.Check{{Type: "call", Name: "a", Arguments: gold[0].Arguments, Refused: true}}}
	episode := episodeOf(resultOf("a", trajectory.CallToolError, "no"))
	scorer := reward.Scorer{}
	fakes.ScoreAlone(scorer, wanted, episode)
	if episode.Reward != scorer.Max(wanted) {
		t.Errorf("a right episode earns %v of %v: %+v", episode.Reward, scorer.Max(wanted), episode.Terms)
	}
	unwanted := &scenario.Scenario{Gold: gold,
		Checks: []scenario.Check{{Type: "call", Name: "a", Arguments: gold[0].Arguments}}}
	if fakes.ScoreAlone(scorer, unwanted, episode); episode.Reward > 0.5 {
		t.Errorf("a call that did nothing earns %v: %+v", episode.Reward, episode.Terms)
	}
}

// The answer of a conversation is the policy's last message, whatever the user says behind it; any_turn looks at all of
// its messages to the user, and at no other.
func TestAnswersOfConversations(t *testing.T) {
	call := chat.ToolCall{ID: "c", Name: "a", Arguments: "{}"}
	talk := &trajectory.Trajectory{
		Outcome:    trajectory.OK,
		StopReason: trajectory.StopCompleted,
		Opening:    3,
		User:       &trajectory.User{Ended: trajectory.EndedByUser},
		Messages: []chat.Message{
			{Role: chat.User, Content: "uno"}, {Role: chat.Assistant, Content: "two"}, {Role: chat.User,
				Content: "three"},
			{Role: chat.Assistant, Content: "It is four."}, {Role: chat.User, Content: "five"}, {Role: chat.Assistant,
				Content: "six", ToolCalls: []chat.ToolCall{call}},
			{Role: chat.ToolRole, ToolCallID: "c", Content: "seven"}, {Role: chat.Assistant, Content: "Done."},
			{Role: chat.User, Content: "eight"},
		},
	}
	for text, where := range map[string]string{
		"uno": "", "two": "", "three": "", "four": "any", "five": "", "six": "", "seven": "", "Done": "last any",
		"eight": "",
	} {
		for _, any := range []bool{false, true} {
			c := scenario.Check{Type: scenario.AnswerCheck, Contains: &text, AnyTurn: any}
			name := "last"
			if any {
				name = "any"
			}
			if why := reward.Unmet(c, talk, nil); (why == "") != strings.Contains(where, name) {
				t.Errorf("%q in the %s message: %q", text, name, why)
			}
		}
	}
	cut := *talk
	cut.Outcome, cut.StopReason = trajectory.Limit, trajectory.StopMaxUserTurns
	four := "four"
	if why := reward.Unmet(scenario.Check{Type: scenario.AnswerCheck, Contains: &four, AnyTurn: true}, &cut,
		nil); why == "" {
		t.Error("a conversation that was cut off has an answer")
	}
}

// A call that ends the conversation needs no answer behind it; any other end does.
func TestEndOfAConversation(t *testing.T) {
	s := &scenario.Scenario{Task: "x", Gold: []scenario.Gold{{Name: "a", Arguments: []byte(`{"n":1}`)}},
		Checks: []scenario.Check{{Type: scenario.CallCheck, Name: "a", Arguments: []byte(`{"n":1}`)}}}
	for ended, want := range map[string]float64{trajectory.EndedByTool: 1, trajectory.EndedByPolicy: 0} {
		one := episodeOf(resultOf("a", trajectory.CallOK, "x"))
		one.Turns, one.Messages = one.Turns[:1], []chat.Message{
			{Role: chat.Assistant, ToolCalls: []chat.ToolCall{one.Turns[0].Calls[0]}},
			{Role: chat.ToolRole, Content: "x"},
		}
		one.User = &trajectory.User{Ended: ended}
		scores, err := reward.Scorer{}.Score(t.Context(), s,
			trajectory.Group{Trajectories: []*trajectory.Trajectory{one}})
		if err != nil {
			t.Fatal(err)
		}
		for _, term := range scores[0].Terms {
			if term.Name == "end" && term.Score != want {
				t.Errorf("ended by %s: %+v", ended, term)
			}
		}
	}
}

// Checks of the world say what was seen there, in words that a person can act upon.
func TestChecksOfTheWorld(t *testing.T) {
	as := func(status string) func(text string) *trajectory.Observation {
		return func(text string) *trajectory.Observation { return &trajectory.Observation{Status: status, Text: text} }
	}
	seen, refused, absent, tooLong := as(trajectory.Seen), as(trajectory.Refused), as(trajectory.Absent),
		as(trajectory.TooLong)
	hash := func(sum string) *trajectory.Observation {
		return &trajectory.Observation{Status: trajectory.TooLong, SHA256: sum}
	}
	gives := func(score float64) *trajectory.Observation {
		return &trajectory.Observation{Status: trajectory.Seen, Text: "0.75 of it", Score: &score}
	}
	for name, c := range map[string]struct {
		check string
		saw   *trajectory.Observation // nil where the record has nothing of it
		why   string                  // "" where it is met
	}{
		"one column of rows": {`{"type":"sql","name":"shop","query":"SELECT name FROM stock","contains":"hat\n2.50"}`,
			seen(`[{"name":"hat"},{"name":2.50}]`), ""},
		"two columns of rows": {`{"type":"sql","name":"shop","query":"SELECT * FROM stock","contains":"\"n\":7"}`,
			seen(`[{"name":"hat","n":7}]`), ""},
		"rows that lack it": {`{"type":"sql","name":"shop","query":"SELECT name FROM stock","contains":"coat"}`,
			seen(`[{"name":"hat"}]`), `"hat" does not meet "contains"`},
		"text that is no rows": {`{"type":"sql","name":"shop","query":"SELECT name FROM stock","contains":"hat"}`,
			seen(`no such table: hat`), ""},
		"nothing changed": {`{"type":"unchanged"}`, seen(`[]`), ""},
		"two changes":     {`{"type":"unchanged"}`, seen(`["a is new","b is gone"]`), "a is new, b is gone"},
		"many changes": {`{"type":"unchanged"}`, seen(`["1","2","3","4","5","6","7"]`),
			"1, 2, 3, 4, 5, 2 more"},
		"changes that are cut":  {`{"type":"unchanged"}`, seen(`["a is`), "the record of changes cannot be read"},
		"a file that is wanted": {`{"type":"file","path":"a.txt","exists":true}`, seen("x"), ""},
		"a file that is missed": {`{"type":"file","path":"a.txt","exists":true}`, absent(""), "a.txt is not there"},
		"a file that is gone":   {`{"type":"file","path":"a.txt","exists":false}`, absent(""), ""},
		"a file that is left":   {`{"type":"file","path":"a.txt","exists":false}`, seen("x"), "a.txt is there"},
		"a long file's hash":    {`{"type":"file","path":"a.txt","sha256":"77"}`, hash("77"), ""},
		"another hash":          {`{"type":"file","path":"a.txt","sha256":"77"}`, hash("78"), "has the hash 78"},
		"a file that is too long": {`{"type":"file","path":"a.txt","contains":"x"}`, tooLong("9 MB"),
			"a.txt: too long: 9 MB"},
		"a call that is to fail": {`{"type":"state","name":"list","refused":true,"contains":"closed"}`,
			refused("closed today"), ""},
		"a call that fails otherwise": {`{"type":"state","name":"list","refused":true,"contains":"closed"}`,
			refused("no such list"), `does not meet "contains"`},
		"a call that does not fail": {`{"type":"state","name":"list","refused":true}`, seen("hat"),
			"list was not answered with an error"},
		"a program's score": {`{"type":"command","command":["test"],"at_least":0.75}`, gives(0.75), ""},
		"a score too low":   {`{"type":"command","command":["test"]}`, gives(0.75), "gives 0.75 of it, less than 1"},
		"a program's words": {`{"type":"command","command":["test"]}`, seen("done"), "gives done, less than 1"},
		"an older record":   {`{"type":"unchanged"}`, nil, "the record does not say what was there"},
		"a turn that never came": {`{"type":"state","name":"list","contains":"hat","after_turn":9}`, nil,
			"the episode had no turn 9"},
	} {
		var check scenario.Check
		if err := json.Unmarshal([]byte(c.check), &check); err != nil {
			t.Fatal(err)
		}
		one := episodeOf()
		if c.saw != nil {
			c.saw.Look = check.Look()
			one.Seen = append(one.Seen, *c.saw)
		}
		why := reward.Unmet(check, one, nil)
		if c.why == "" && why != "" || !strings.Contains(why, c.why) {
			t.Errorf("%s: %q, want %q", name, why, c.why)
		}
	}
}
