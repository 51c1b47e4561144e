package collect

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"hone/internal/chat"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
)

// What of results was not read as it came is counted and told, the most frequent first.
func TestOddResultsAreTold(t *testing.T) {
	odd := oddResults{}
	for i := range 3 {
		result := func(tool, warning string) trajectory.ToolResult {
			return trajectory.ToolResult{Call: chat.ToolCall{Name: tool}, Warning: warning}
		}
		x := &trajectory.Trajectory{ID: fmt.Sprintf("e%d", i), Turns: []trajectory.Turn{{Results: []trajectory.ToolResult{result("add", ""), result("look", "content[0] has no type")}}}}
		if i == 1 {
			x.Turns = append(x.Turns, trajectory.Turn{Results: []trajectory.ToolResult{result("list", "the content is no list")}})
		}
		odd.add(x)
	}
	want := []string{"left aside: content[0] has no type, in 3 results, the first of look in e0", "left aside: the content is no list, in 1 result, the first of list in e1"}
	if got := odd.lines(); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	for i := range 20 {
		odd[fmt.Sprint(i)] = fault.Aside{Times: 1, First: "x"}
	}
	if got := odd.lines(); len(got) != 9 || !strings.HasPrefix(got[8], "left aside: 14 more") {
		t.Errorf("%q", got)
	}
}
