package records

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/episode/trajectory"
	"hone/internal/job"
	"hone/internal/job/episodes"
	"hone/internal/mcp"
	"hone/internal/run"
	"hone/internal/testing/fakes"
	"hone/internal/toolset"
)

// What reads as a refusal and counts as an answer is found in every form that mcp.RefusalPattern knows, in the text or
// in the structured content; what is an error already is not, nor what hone itself answered, nor what the configuration
// says.
func TestUnmarkedResults(t *testing.T) {
	for name, tc := range map[string]struct {
		result  trajectory.ToolResult
		refusal string // in the server's configuration, as JSON
		want    string // what to paste; "" where nothing is to be said
	}{
		"status":          {trajectory.ToolResult{Text: `{"status": "error", "why": "x"}`}, "", `"refusal": [{"status": "error"}]`},
		"success":         {trajectory.ToolResult{Text: `{"success": false}`}, "", `"refusal": [{"success": false}]`},
		"isError in it":   {trajectory.ToolResult{Text: `{"isError": true}`}, "", `"refusal": [{"isError": true}]`},
		"error":           {trajectory.ToolResult{Text: `{"error": "no such card"}`}, "", `"refusal": [{"error": {"$regex": "."}}]`},
		"an object of it": {trajectory.ToolResult{Text: `{"error": {"code": 4}}`}, "", `"refusal": [{"error": {"$subset": {}}}]`},
		"a text": {
			trajectory.ToolResult{Text: "Error: no such card"}, "",
			`"refusal": ["^[\\s\\p{So}\\pM]*(?i)(\\*\\*)?(error|failed|failure|exception)(\\*\\*)?\\s*:"]`,
		},
		"a named error": {
			trajectory.ToolResult{Text: "Database error: no such table"}, "",
			`"refusal": ["^[\\s\\p{So}\\pM]*(?i)(\\*\\*)?([\\w.-]+\\s+){1,3}` +
				`(error|exception)(\\s+\\(?-?\\d+\\)?)?:"]`,
		},
		"structured content": {
			trajectory.ToolResult{Text: "see there", StructuredContent: json.RawMessage(`{"status":"denied"}`)}, "",
			`"refusal": [{"status": "denied"}]`,
		},
		"beside another":     {trajectory.ToolResult{Text: `{"status": "error"}`}, `["^Error"]`, `"refusal": ["^Error", {"status": "error"}]`},
		"beside itself":      {trajectory.ToolResult{Text: `{"status": "error"}`}, `{"status": "error"}`, `"refusal": [{"status": "error"}]`},
		"an answer":          {trajectory.ToolResult{Text: `{"status": "done"}`}, "", ""},
		"an answer in words": {trajectory.ToolResult{Text: "There is no error."}, "", ""},
		"an error":           {trajectory.ToolResult{Text: `{"status": "error"}`, Status: trajectory.CallToolError}, "", ""},
		"never sent":         {trajectory.ToolResult{Text: "Error: no such tool", Status: trajectory.CallInvalid}, "", ""},
		"hone's end":         {trajectory.ToolResult{Text: `{"status": "error"}`, Ends: true}, "", ""},
		"hone's search":      {trajectory.ToolResult{Text: `{"status": "error"}`, Search: true}, "", ""},
		"taken at its word":  {trajectory.ToolResult{Text: `{"status": "error"}`}, `[]`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			server := mcp.Server{Command: "x"}
			if tc.refusal != "" {
				if err := json.Unmarshal([]byte(tc.refusal), &server.Refusal); err != nil {
					t.Fatal(err)
				}
			}
			catalog := &mcp.Catalog{Servers: []mcp.ServerTools{
				{Name: "shop", Tools: []mcp.Tool{{Name: "pay", ModelName: "shop_pay"}}},
			}}
			l, err := episodes.Of(fakes.QuietHost(t), config.Default(), &toolset.Set{Catalog: catalog,
				Housing: &toolset.Housing{Servers: mcp.Config{Servers: map[string]mcp.Server{"shop": server}}}})
			if err != nil {
				t.Fatal(err)
			}
			tc.result.Call = chat.ToolCall{Name: "shop_pay", Arguments: "{}"}
			if tc.result.Status == "" {
				tc.result.Status = trajectory.CallOK
			}
			dir, err := run.Create(t.TempDir()+"/run", []byte("{}\n"), job.Begun{})
			if err != nil {
				t.Fatal(err)
			}
			defer dir.Close()
			var said strings.Builder
			log := Journal{Dir: dir, Episodes: l, Say: func(format string, args ...any) {
				fmt.Fprintf(&said, format+"\n", args...)
			}}
			for step, stage := range []string{"collect", "eval", "grpo"} { // each verb keeps its episodes so
				x := &trajectory.Trajectory{ID: "a/0/0", Outcome: trajectory.OK,
					Turns: []trajectory.Turn{{Results: []trajectory.ToolResult{tc.result, tc.result}}}}
				if err := log.Trajectory(stage, step, x); err != nil {
					t.Fatal(err)
				}
				if l.RefuseGold(x) != (tc.want != "") || (x.Outcome == trajectory.OK) != (tc.want == "") ||
					!strings.Contains(l.MendRefusals(), tc.want) {
					t.Errorf("gold: %s, %s", x.Outcome, x.Error)
				}
			}
			if n := strings.Count(said.String(), "warning: server shop says no without isError"); n != min(1,
				len(tc.want)) || !strings.Contains(said.String(), tc.want) {
				t.Errorf("told %d times: %s", n, said.String())
			}
			var pasted mcp.Server
			if err := json.Unmarshal([]byte("{"+tc.want+"}"), &pasted); err != nil {
				t.Errorf("not to be pasted: %v", err)
			}
		})
	}
}
