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
	const listed = `{"errors": {"$includes": [{"$any": true}]}}`
	for text, want := range map[string]string{ // "": of any form
		`{"status":"error","message":"no"}`: `{"status": "error"}`, `{"success":false}`: `{"success": false}`,
		`{"ok": false, "id": 3}`: `{"ok": false}`, `{"isError":true}`: `{"isError": true}`,
		`{"error":"not found"}`: `{"error": {"$regex": "."}}`, `{"error":{"code":4}}`: `{"error": {"$subset": {}}}`,
		`{"result":"failed"}`: `{"result": "failed"}`,

		`{"status":"fail","data":{"title":"required"}}`: `{"status": "fail"}`,
		`{"data":null,"errors":[{"message":"no"}]}`:     `{"data": null, "errors": {"$includes": [{"$any": true}]}}`,
		`{"errors":[{"message":"no"}]}`:                 listed, `{"error": true,"message":"no"}`: `{"error": true}`,
		`{"error":["no"]}`: `{"error": {"$includes": [{"$any": true}]}}`,

		"```json\n{\"status\": \"error\"}\n```":        `{"status": "error"}`,
		"\n```\n{\n  \"errors\": [\"no\"]\n}\n```\n\n": listed,

		"Error: no such file": "", "  failed to open": "", "Traceback (most recent call last)": "",
		"Database error: Parser Error: syntax error at or near \"moon\"": "", "SQL execution error: no such table": "",
		"Python exception: boom": "", "Error": "", "Error 404": "", "error executing tool read: no": "",
		"Error handling request: too late": "", "Failed.": "", "Exception in thread main": "",
		"Failed validation: id": "",

		"ValueError: no such user": "", "sqlite3.OperationalError: no such table: cards": "",
		"java.lang.IllegalStateException: closed": "", "Uncaught TypeError: x is not a function": "",
		"TypeError [ERR_INVALID_ARG]: no": "", "Net::HTTPError: 404": "", "MCP error -32602: invalid arguments": "",
		"HTTP error 404: not found": "", "[ERROR] no such card": "", "\u274c Error: no such card": "",
		"\u26a0\ufe0f Failed to pay": "", "\u274c **Error:** no": "", "Error: 404, see the log": "",
	} {
		pattern := RefusalPattern(text)
		if want != "" && pattern != want {
			t.Errorf("%s: pattern %s, want %s", text, pattern, want)
		}
		if !fitsPasted(t, pattern, text) {
			t.Errorf("%s does not fit %q", text, pattern)
		}
	}
	for _, text := range []string{
		`{"status":"ok"}`, `{"error":null,"rows":[]}`, `{"error":""}`, `{"errors":[]}`, `["error"]`, `No errors found`,
		`errors.log`, `{"rows":[{"status":"error"}]}`, `{"success":true}`, "", "Last error: none", "Standard error: 0",
		"Mean squared error: -", "The word error: what it means", "Rounding error:",

		`{"error": null, "id": 3}`,
		`{"errors": [], "data": {"id": 3}}`, `{"error": false}`, `{"error":{}}`,
		`{"data":{"id":3},"errors":[{"message":"a part is old"}]}`, `{"errors":["line 3"],"warnings":[]}`,
		"Error handling in Go: a primer", "Failed logins today: none", "Failed: 0, passed: 12", "Failed: 3, passed: 9",
		"Error rate today: 0.1%", "error.log",
		"LastError: none", "lastError: none", "ValueError", "Tracebacks explained",
		"[ERROR] disk full\n[INFO] disk empty", "```json\n{\"error\": null}\n```", "```\n```", "\u2705 Done",
	} {
		if pattern := RefusalPattern(text); pattern != "" {
			t.Errorf("%s looks like a refusal: %s", text, pattern)
		}
	}
}

// Words that say by themselves that something failed are known in three keys and any case; others are not.
func TestErrorWords(t *testing.T) {
	for word, want := range map[string]bool{
		"error": true, "fail": true, "failed": true, "failure": true, "refused": true, "denied": true, "ERROR": true,
		"Failed": true, "errors": false, "failing": false, "no error": false, "error: no": false, "": false,
		"ok": false, "pending": false, "cancelled": false, "denied\n": false, "not denied": false, "failures": false,
		"err": false,
	} {
		for _, key := range []string{"status", "result", "outcome", "state"} {
			text, _ := json.Marshal(map[string]string{key: word})
			pattern := RefusalPattern(string(text))
			if (pattern != "") != (want && key != "state") || pattern != "" && !fitsPasted(t, pattern, string(text)) {
				t.Errorf("%s: %s", text, pattern)
			}
		}
	}
}

// What is pasted for one answer leaves those alone that only speak of errors.
func TestPastedRefusalIsNarrow(t *testing.T) {
	for refused, answered := range map[string]string{
		"Error: no such page":                       "Error handling in Go: a primer",
		"Failed to log in":                          "Failed logins today: none",
		"ValueError: no such user":                  "ValueError is a class",
		`{"errors":["no"]}`:                         `{"errors": []}`,
		`{"error":true}`:                            `{"error": false}`,
		`{"data":null,"errors":[{"message":"no"}]}`: `{"data":{"id":3},"errors":[{"message":"a part is old"}]}`,
	} {
		pattern := RefusalPattern(refused)
		if !fitsPasted(t, pattern, refused) || fitsPasted(t, pattern, answered) {
			t.Errorf("%s: of %q alone", pattern, refused)
		}
	}
}

// fitsPasted reports whether a text is a refusal where a pattern is pasted into the configuration.
func fitsPasted(t *testing.T, pattern, text string) bool {
	t.Helper()
	var r Refusal
	if err := json.Unmarshal([]byte("["+pattern+"]"), &r); err != nil {
		t.Errorf("%s: %v", pattern, err)
		return false
	}
	compiled, err := r.compile()
	return err == nil && compiled.fits(trajectory.ToolResult{Text: text}) != ""
}
