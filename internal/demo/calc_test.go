package demo_test

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"hone/internal/chat"
	"hone/internal/demo"
	"hone/internal/episode/reward"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/testing/fakes"
)

const numKinds = 16

// recorded answers calls with what calc-mcp 2.1.1 answered when testdata/calls.json was made.
func recorded(t *testing.T) func(context.Context, chat.ToolCall) trajectory.ToolResult {
	t.Helper()
	data, err := os.ReadFile("testdata/calls.json")
	if err != nil {
		t.Fatal(err)
	}
	var rows []struct{ Name, Arguments, Text string }
	if err := json.Unmarshal(data, &rows); err != nil {
		t.Fatal(err)
	}
	return func(_ context.Context, c chat.ToolCall) trajectory.ToolResult {
		for _, r := range rows {
			if r.Name == c.Name && r.Arguments == c.Arguments {
				return trajectory.ToolResult{Call: c, Status: trajectory.CallOK, Text: r.Text}
			}
		}
		return trajectory.ToolResult{Call: c, Status: trajectory.CallTransportError, Error: "not recorded"}
	}
}

// Every kind, with results of the live server, becomes a scenario whose gold earns everything and whose conversation
// is itself a strict success.
func TestExecute(t *testing.T) {
	call := recorded(t)
	done := map[string]string{}
	for _, d := range demo.Generate(7, scenario.Train, numKinds) {
		s, messages, err := d.Execute(context.Background(), call)
		if err != nil {
			t.Errorf("%s: %v", d.Kind, err)
			continue
		}
		answer := messages[len(messages)-1].Content
		done[d.Kind] = answer
		scorer := reward.Scorer{}
		got := fakes.GoldEpisode(&s, answer)
		if fakes.ScoreAlone(scorer, &s, got); got.Reward < scorer.Max(&s) || !reward.Episode(&s, got, nil) {
			t.Errorf("%s: gold earns %v of %v: %+v", d.Kind, got.Reward, scorer.Max(&s), got.Terms)
		}
		if len(messages) != 3+2*len(s.Gold) || messages[0].Role != chat.System || messages[1].Content != d.Task ||
			len(s.Checks) != len(s.Gold)+1 {
			t.Errorf("%s: %+v", d.Kind, messages)
		}
		if chain := slices.Contains(s.Tags, "chain"); chain != (len(s.Gold) == 2) || len(s.Gold) > 2 {
			t.Errorf("%s: tags %v, %d gold calls", d.Kind, s.Tags, len(s.Gold))
		}
	}
	if len(done) != numKinds {
		t.Errorf("%d kinds ran: %v", len(done), done)
	}
}

// Neither a list of what the answer may be nor text around it is the answer, after the right call or without one.
func TestAnswerAlone(t *testing.T) {
	call := recorded(t)
	scorer := reward.Scorer{}
	for _, d := range demo.Generate(7, scenario.Train, numKinds) {
		s, messages, err := d.Execute(context.Background(), call)
		if err != nil {
			t.Fatal(err)
		}
		answer := messages[len(messages)-1].Content
		for _, alone := range []string{answer + ".", "\"" + answer + "\"", " " + answer + "\n"} {
			got := fakes.GoldEpisode(&s, alone)
			if fakes.ScoreAlone(scorer, &s, got); got.Reward < scorer.Max(&s) || !reward.Episode(&s, got, nil) {
				t.Errorf("%s: %q earns %v of %v", d.Kind, alone, got.Reward, scorer.Max(&s))
			}
		}
		enumeration := "Sunday Monday Tuesday Wednesday Thursday Friday Saturday 1 2 3 4 5 6 7 8 9 "
		for _, more := range []string{
			enumeration + answer, answer + " " + enumeration, "The result is " + answer, answer + answer,
		} {
			got := fakes.GoldEpisode(&s, more)
			if fakes.ScoreAlone(scorer, &s, got); got.Reward >= scorer.Max(&s) || reward.Episode(&s, got, nil) {
				t.Errorf("%s: %q earns all of %v", d.Kind, more, got.Reward)
			}
		}
	}
}

func TestExecuteRefuses(t *testing.T) {
	d := demo.Generate(7, scenario.Train, 1)[0]
	tests := []struct {
		name   string
		result trajectory.ToolResult
		want   string
	}{
		{"tool error", trajectory.ToolResult{Status: trajectory.CallToolError, Text: "bad input"}, "tool_error: bad input"},
		{"empty", trajectory.ToolResult{Status: trajectory.CallOK}, ""},
		{"the task", trajectory.ToolResult{Status: trajectory.CallOK, Text: d.Task[:4]}, ""},
		{"long", trajectory.ToolResult{Status: trajectory.CallOK, Text: strings.Repeat("x", 99)}, ""},
	}
	for _, test := range tests {
		_, _, err := d.Execute(context.Background(), func(context.Context, chat.ToolCall) trajectory.ToolResult {
			return test.result
		})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

// firstCall is the first gold call of a draft.
func firstCall(d demo.Draft) string {
	text := ""
	_, _, _ = d.Execute(context.Background(), func(_ context.Context, c chat.ToolCall) trajectory.ToolResult {
		if text == "" {
			text = c.Name + c.Arguments
		}
		return trajectory.ToolResult{}
	})
	return text
}

func TestGenerate(t *testing.T) {
	const n = 800
	calls := map[string]string{} // first call and kind -> split
	splits := map[string]string{}
	for _, split := range []string{scenario.Train, scenario.Validation, scenario.Test} {
		drafts := demo.Generate(1, split, n)
		kinds, unseen, tools := map[string]int{}, 0, map[string]bool{}
		for i, d := range drafts {
			kinds[d.Kind]++
			if slices.Contains(d.Tags, demo.UnseenWording) {
				unseen++
			}
			if strings.ContainsAny(d.Task, "{}") || len(d.Task) > 140 {
				t.Errorf("task %q", d.Task)
			}
			c := firstCall(d)
			tools[c[:strings.Index(c, "{")]] = true
			if in, taken := calls[d.Kind+c]; taken {
				t.Errorf("%s of %s is in %s already", c, split, in)
			}
			calls[d.Kind+c] = split
			if other := splits[c]; other != "" && other != split { // of another kind
				t.Errorf("%s is in %s and %s", c, other, split)
			}
			splits[c] = split
			if again := demo.Generate(1, split, i%3+1); i < 3 && (again[i].Task != d.Task || again[i].ID != d.ID) {
				t.Errorf("draft %d depends on how many are asked for", i)
			}
		}
		for kind, count := range kinds {
			if count != n/numKinds {
				t.Errorf("%s: %d of kind %s", split, count, kind)
			}
		}
		if split == scenario.Train && unseen != 0 || split != scenario.Train && (unseen < n*2/5 || unseen > n*3/5) {
			t.Errorf("%s: %d of %d with unseen wording", split, unseen, n)
		}
		for _, tool := range demo.Tools(false) {
			if !tools[tool] {
				t.Errorf("%s: no task for %s", split, tool)
			}
		}
		if len(kinds) != numKinds || len(tools) != len(demo.Tools(false)) {
			t.Errorf("%s: %d kinds, tools %v", split, len(kinds), tools)
		}
	}
	if a, b := demo.Generate(1, scenario.Test, 1), demo.Generate(2, scenario.Test, 1); a[0].Task == b[0].Task {
		t.Error("the seed changes nothing")
	}
}

// Few kinds are of one call each, use each of their tools and no other, and are kept apart by split as all kinds are.
func TestFewKinds(t *testing.T) {
	tasks, err := demo.Execute(t.Context(), 3, demo.Size{Demonstrations: 60, Train: 40, Test: 40, Validation: 20,
		Few: true}, answering, func(task string, err error) { t.Errorf("%s: %v", task, err) })
	if err != nil {
		t.Fatal(err)
	}
	if len(tasks.Demonstrations) != 60 || len(tasks.Train) != 40 || len(tasks.Test) != 40 ||
		len(tasks.Validation) != 20 {
		t.Errorf("%d, %d, %d, %d", len(tasks.Demonstrations), len(tasks.Train), len(tasks.Test), len(tasks.Validation))
	}
	tools, learnt := map[string]bool{}, map[string]bool{}
	first := func(s scenario.Scenario) string { return s.Tags[0] + s.Gold[0].Name + string(s.Gold[0].Arguments) }
	for _, d := range tasks.Demonstrations {
		tools[d.Scenario.Gold[0].Name], learnt[first(d.Scenario)] = true, true
	}
	for _, s := range slices.Concat(tasks.Train, tasks.Test, tasks.Validation) {
		if learnt[first(s)] || len(s.Gold) != 1 {
			t.Errorf("%s is demonstrated, or has %d calls", s.Task, len(s.Gold))
		}
		if !tools[s.Gold[0].Name] {
			t.Errorf("%s needs a tool that is not demonstrated", s.Task)
		}
	}
	for _, tool := range demo.Tools(true) {
		if !tools[tool] {
			t.Errorf("%s is shown, and no task needs it", tool)
		}
	}
	if len(tools) != len(demo.Tools(true)) {
		t.Errorf("%v", tools)
	}
}

// Demonstrations of some kinds are of no other, the scenarios of training and test are of all, and each says which its
// kind is. Without that choice everything is as it was.
func TestShownKinds(t *testing.T) {
	answer := func(_ context.Context, c chat.ToolCall) trajectory.ToolResult {
		return trajectory.ToolResult{Call: c, Status: trajectory.CallOK, Text: `{"result":"7"}`}
	}
	execute := func(shown int) demo.Tasks {
		tasks, err := demo.Execute(t.Context(), 3,
			demo.Size{Demonstrations: 40, Train: 64, Test: 32, ShownKinds: shown}, answer, func(string, error) {})
		if err != nil {
			t.Fatal(err)
		}
		return tasks
	}
	all, half := execute(0), execute(8)
	if len(all.Train) == 0 || slices.Contains(all.Train[0].Tags, demo.ShownKind) {
		t.Errorf("all kinds: %d scenarios, %v", len(all.Train), all.Train[0].Tags)
	}
	kinds := map[bool]map[string]bool{true: {}, false: {}}
	for _, s := range slices.Concat(half.Train, half.Test) {
		kinds[slices.Contains(s.Tags, demo.ShownKind)][s.Tags[0]] = true
		if slices.Contains(s.Tags, demo.ShownKind) == slices.Contains(s.Tags, demo.UnshownKind) {
			t.Fatalf("%v", s.Tags)
		}
	}
	for kind := range kinds[true] {
		if kinds[false][kind] {
			t.Errorf("%s is both", kind)
		}
	}
	if len(kinds[true]) == 0 || len(kinds[false]) == 0 {
		t.Fatalf("%v", kinds)
	}
	demonstrated := map[string]bool{}
	for _, d := range demo.Generate(3, scenario.Train, 40*16) {
		for _, shown := range half.Demonstrations {
			m := shown.Messages
			if m[1].Content == d.Task {
				demonstrated["kind:"+d.Kind] = true
			}
		}
	}
	for kind := range demonstrated {
		if kinds[false][kind] {
			t.Errorf("%s is demonstrated", kind)
		}
	}
	if len(demonstrated) == 0 || len(half.Demonstrations) == 0 {
		t.Error("nothing is demonstrated")
	}
}
