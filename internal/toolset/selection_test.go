package toolset

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/episode/rollout"
	"hone/internal/episode/scenario"
	"hone/internal/mcp/approval"
)

type noTools struct{ rollout.Tools }

func (noTools) Open(context.Context, string, ...rollout.Template) (rollout.Session, error) {
	return nil, nil
}

func manyTools(n int) []chat.Tool {
	var all []chat.Tool
	for i := range n {
		all = append(all, chat.Tool{Name: fmt.Sprintf("tool%d", i), Description: fmt.Sprintf("Handles thing%d.", i), InputSchema: json.RawMessage(`{"type":"object"}`)})
	}
	return all
}

func TestSelect(t *testing.T) {
	one := scenario.Scenario{ID: "a", Task: "do it to thing7", Gold: []scenario.Gold{{Name: "tool3"}},
		Checks: []scenario.Check{{Type: scenario.NoCallCheck, Name: "tool5"}}}
	for _, tc := range []struct {
		name         string
		tools, most  int
		share        float64
		shown        int
		search, tell bool
	}{
		{"few", 40, 40, 0, 40, false, false},
		{"many", 41, 40, 0, 40, false, true},
		{"fewer wanted", 30, 4, 0, 4, false, true},
		{"a small share", 40, 40, 0.9, 40, false, false},
		{"a large share", 40, 40, 0.1, 1, true, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := config.Default()
			c.Model.Context = 8192 // 0 is settled by the device before tools are chosen
			c.MCP.MaxTools, c.MCP.SearchShare = tc.most, tc.share
			s := Select(c, noTools{}, manyTools(tc.tools))
			got, err := s.ForScenario(one)
			if err != nil || len(got) != tc.shown || (s.Search != "") != tc.search || (s.Why != "") != tc.tell {
				t.Fatalf("%d tools, search %q, why %q, %v", len(got), s.Search, s.Why, err)
			}
			if tc.tools <= tc.most && (s.Of != nil) {
				t.Error("one list for all would do, and is not given")
			}
			for _, name := range []string{"tool3", "tool5", "tool7"} {
				if !tc.search && !slices.ContainsFunc(got, func(x chat.Tool) bool { return x.Name == name }) {
					t.Errorf("%s is missing", name)
				}
			}
			asked := 0
			approve := s.Unasked(func(chat.ToolCall, approval.Place) (bool, string) { asked++; return false, "" })
			if ok, _ := approve(chat.ToolCall{Name: "search_tools"}, approval.Place{}); ok != tc.search {
				t.Error("whether search_tools is asked about")
			}
			if ok, _ := approve(chat.ToolCall{Name: "tool1"}, approval.Place{}); ok || asked == 0 {
				t.Error("a server's tool is not asked about")
			}
		})
	}
}
