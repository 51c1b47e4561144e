package mcp

import (
	"encoding/json"
	"strings"
	"testing"

	"hone/internal/episode/trajectory"
	"hone/internal/fault"
)

// An answer that is an error in all but isError counts as one where the configuration says so, cut for the model or
// not.
func TestRefusal(t *testing.T) {
	for _, test := range []struct {
		refusal, text string
		want          trajectory.CallStatus
	}{
		{``, `{"status":"error"}`, trajectory.CallOK},
		{`[{"status":"error"}]`, `{"status":"error","why":"` + strings.Repeat("x", 900) + `"}`, trajectory.CallToolError},
		{`{"status":"error"}`, ` {"why": 1, "status" : "error"} `, trajectory.CallToolError},
		{`[{"status":"error"}]`, `{"status":"ok"}`, trajectory.CallOK},
		{`[{"status":"error"}]`, `{"file":"{\"status\":\"error\"}"}`, trajectory.CallOK},
		{`[{"status":{"$any_of":["error","failed"]}}]`, `{"status":"failed"}`, trajectory.CallToolError},
		{`"^Error"`, `Error: no`, trajectory.CallToolError},
		{`["^Error","denied$"]`, `access denied`, trajectory.CallToolError},
		{`["^Error"]`, `no Error`, trajectory.CallOK},
	} {
		s := self(t, "tools", EpisodeDir)
		if test.refusal != "" {
			if err := json.Unmarshal([]byte(test.refusal), &s.Refusal); err != nil {
				t.Fatal(err)
			}
		}
		e := open(t, newPool(t, configOf(t, map[string]Server{"s": s}), Options{MaxResult: 100, Warm: -1}), "e")
		text, _ := json.Marshal(test.text)
		ask(e, "write", `{"Text":`+string(text)+`}`)
		r := ask(e, "read", "{}")
		if r.Status != test.want || (r.Error != "") != (test.want == trajectory.CallToolError) || r.Outcome != "" ||
			len(r.Text) > 100 {
			t.Errorf("%s of %.40s: %+v, want %s", test.refusal, test.text, r, test.want)
		}
		if test.want == trajectory.CallToolError && RefusalPattern(test.text) == "" &&
			!strings.HasSuffix(test.text, "denied") {
			t.Errorf("%.40s does not look like a refusal", test.text)
		}
	}
}

func TestRefusalInAFile(t *testing.T) {
	c, err := load(t, `{"mcpServers":{"s":{"command":"x","refusal":[{"status":"error"},"^Error"]}}}`)
	if err != nil || len(c.Servers["s"].Refusal) != 2 {
		t.Errorf("%+v, %v", c, err)
	}
	for refusal, want := range map[string]string{
		`["("]`: "missing closing", `[""]`: "found in every text", `[{}]`: "neither", `[7]`: "neither",
		`[{"a":{"$anyof":[]}}]`: "unknown operator",
	} {
		_, err := load(t, `{"mcpServers":{"s":{"command":"x","refusal":`+refusal+`}}}`)
		if fault.CodeOf(err) != fault.CodeUsage || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), `"refusal": ["^Error"]`) {
			t.Errorf("%s: %v", refusal, err)
		}
	}
	if _, err := load(t, `{"mcpServers":{"s":{"command":"x","refusals":[]}}}`); err == nil ||
		!strings.Contains(err.Error(), `did you mean "refusal"?`) {
		t.Errorf("misspelt: %v", err)
	}
}

// The pattern that is suggested fits what it was suggested for, and data that only speaks of errors suggests nothing.
func TestLooksRefused(t *testing.T) {
	for _, text := range []string{
		`{"status":"error","message":"no"}`, `{"success":false}`, `{"ok": false, "id": 3}`, `{"error":"not found"}`,
		`{"error":{"code":4}}`, `{"isError":true}`, `{"result":"failed"}`, "Error: no such file", "  failed to open",
		"Traceback (most recent call last)", "Database error: Parser Error: syntax error at or near \"moon\"",
		"SQL execution error: no such table",
		"Python exception: boom",
	} {
		pattern := RefusalPattern(text)
		var r Refusal
		if err := json.Unmarshal([]byte("["+pattern+"]"), &r); pattern == "" || err != nil {
			t.Errorf("%s: pattern %q, %v", text, pattern, err)
			continue
		}
		compiled, err := r.compile()
		if err != nil || compiled.fits(trajectory.ToolResult{Text: text}) == "" {
			t.Errorf("%s does not fit %s: %v", text, pattern, err)
		}
	}
	for _, text := range []string{
		`{"status":"ok"}`, `{"error":null,"rows":[]}`, `{"error":""}`, `{"errors":[]}`, `["error"]`, `No errors found`,
		`errors.log`, `{"rows":[{"status":"error"}]}`, `{"success":true}`, "", "Last error: none", "Standard error: 0",
		"Mean squared error: -", "The word error: what it means", "Rounding error:",
	} {
		if pattern := RefusalPattern(text); pattern != "" {
			t.Errorf("%s looks like a refusal: %s", text, pattern)
		}
	}
}
