package toolset

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/episode/environment"
	"hone/internal/episode/scenario"
)

type noTools struct{ environment.Tools }

func (noTools) Open(context.Context, string, ...environment.Template) (environment.Session, error) {
	return nil, nil
}

func manyTools(n int) []chat.Tool {
	var all []chat.Tool
	for i := range n {
		all = append(all, chat.Tool{Name: fmt.Sprintf("tool%d", i), Description: fmt.Sprintf("Handles thing%d.", i),
			InputSchema: json.RawMessage(`{"type":"object"}`)})
	}
	return all
}

func TestSelect(t *testing.T) {
	one := scenario.Scenario{ID: "a", Gold: []scenario.Gold{{Name: "tool3"}},
		Messages: []chat.Message{
			{Role: chat.User, Content: "earlier"},
			{Role: chat.Assistant, ToolCalls: []chat.ToolCall{{Name: "tool9"}, {Name: "no_such"}}},
			{Role: chat.User, Content: "do it to thing7"},
		},
		Checks: []scenario.Check{
			{Type: scenario.NoCallCheck, Name: "tool5"},
			{Type: scenario.NoCallCheck, Name: "gone"},
			{Type: scenario.CallCheck, Name: "complete_task"},
		}}
	for _, tc := range []struct {
		name         string
		tools, most  int
		share        float64
		shown        int
		search, tell bool
		context      int // 0: 8192
	}{
		{"few", 40, 40, 0, 40, false, false, 0},
		{"many", 41, 40, 0, 40, false, true, 0},
		{"fewer wanted", 30, 6, 0, 6, false, true, 0},
		{"a small share", 40, 40, 0.9, 40, false, false, 0},
		{"a large share", 40, 40, 0.1, 1, true, true, 0},
		{"few, and nothing is set", 40, 0, 0, 40, false, false, 0},
		{"many that take little", 60, 0, 0, 60, false, false, 0},
		{"many that take more than half", 200, 0, 0, 40, false, true, 0},
		{"many that take half of a GPU's context and more", 400, 0, 0, 400, false, false, 16384},
		{"many that take more than a GPU's context", 800, 0, 0, 40, false, true, 16384},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := config.Default()
			c.Model.Context = cmp.Or(tc.context, 8192) // 0 is settled by the device before tools are chosen
			c.MCP.MaxTools, c.MCP.SearchShare = tc.most, tc.share
			s := Select(c, noTools{}, manyTools(tc.tools), nil)
			got, err := s.ForScenario(one)
			if err != nil || len(got) != tc.shown || (s.List[0].Name == "search_tools") != tc.search ||
				s.UsesSearch() != tc.search || (s.Why != "") != tc.tell {
				t.Fatalf("%d tools, the first %q, why %q, %v", len(got), s.List[0].Name, s.Why, err)
			}
			if tc.shown == tc.tools && (s.Of != nil) {
				t.Error("one list for all would do, and is not given")
			}
			for _, name := range []string{"tool3", "tool5", "tool7", "tool9"} {
				if !tc.search && !slices.ContainsFunc(got, func(x chat.Tool) bool { return x.Name == name }) {
					t.Errorf("%s is missing", name)
				}
			}
		})
	}
}

// A demonstration is shown the tools of its scenario's episodes, those drawn at random among them.
func TestSelectForDemonstration(t *testing.T) {
	c := config.Default()
	c.MCP.MaxTools = 6
	s := Select(c, noTools{}, manyTools(30), nil)
	shown := []chat.Message{
		{Role: chat.System, Content: "Be brief."}, {Role: chat.User, Content: "do it to thing7"}, {Role: chat.Assistant,
			ToolCalls: []chat.ToolCall{{Name: "tool3"}}},
		{Role: chat.ToolRole, Content: "done"}, {Role: chat.Assistant, Content: "Done."}, {Role: chat.User,
			Content: "now thing20"},
	}
	for _, id := range []string{"a", "b", ""} {
		of := id
		if id == "" {
			of = "do it to thing7"
		}
		want, err := s.ForScenario(scenario.Scenario{ID: of, Task: "do it to thing7", Gold: []scenario.Gold{
			{Name: "tool3"},
		}})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := s.ForDemonstration(id, shown); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %v, %v, want %v", id, got, err, want)
		}
	}
}

// Scenarios that are run together are shown the same tools until others are; other scenarios have tools of their own.
func TestShare(t *testing.T) {
	c := config.Default()
	c.MCP.MaxTools = 12
	s := Select(c, noTools{}, manyTools(30), nil)
	shown := func(one scenario.Scenario) []chat.Tool {
		t.Helper()
		tools, err := s.ForScenario(one)
		if err != nil || len(tools) != 12 {
			t.Fatalf("%d tools, %v", len(tools), err)
		}
		return tools
	}
	a := scenario.Scenario{ID: "a", Task: "do it to thing7", Gold: []scenario.Gold{{Name: "tool3"}}}
	b := scenario.Scenario{ID: "b", Task: "do it to thing9", Gold: []scenario.Gold{{Name: "tool4"}}}
	other := scenario.Scenario{ID: "c", Task: "do it to thing11", Gold: []scenario.Gold{{Name: "tool5"}}}
	if len(s.Largest) != 12 || AboutTokens(shown(a)) > AboutTokens(s.Largest) {
		t.Errorf("%d tools are the largest, of about %d tokens", len(s.Largest), AboutTokens(s.Largest))
	}
	own, others := shown(a), shown(other)
	if reflect.DeepEqual(own, shown(b)) {
		t.Error("two scenarios have the same tools by themselves")
	}
	if err := s.Share([]scenario.Scenario{a, b}); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(shown(a), shown(b)) || reflect.DeepEqual(shown(a), own) ||
		!reflect.DeepEqual(shown(other), others) {
		t.Errorf("together: %v and %v", shown(a), shown(b))
	}
	if err := s.Share([]scenario.Scenario{b, other}); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(shown(a), own) || !reflect.DeepEqual(shown(b), shown(other)) {
		t.Error("who is not run any more keeps the list")
	}
	if err := s.Share([]scenario.Scenario{{ID: "x", Gold: []scenario.Gold{{Name: "gone"}}}}); err == nil {
		t.Error("a tool that is not there is passed over")
	}
	if s := Select(c, noTools{}, manyTools(12), nil); s.Share != nil {
		t.Error("tools that all fit are shared as well")
	}
}
