package trajectory

import (
	"strings"
	"testing"
)

// What helps names the key, not the doctor, where the reason says which.
func TestMending(t *testing.T) {
	for reason, want := range map[string]string{
		"greet: timeout: no answer within 5s":                                                                                               `"timeout"`,
		"no answer within 50s, though it reported progress":                                                                                 "mcp.timeout",
		`no answer within 5s; in its place came an answer under the id "7" where 7 was asked: ...`:                                          "under the id of the request",
		`no answer within 5s; in its place came 61 bytes without a newline at the end: "{"`:                                                 `"timeout"`,
		`no answer within 5s; in its place came a whole message without a newline at the end: "{\"id\":1}"`:                                 "ends each message with a newline",
		`server p, connect: no answer in 50s; in its place came an answer under the id "1", which no request has: "{}"`:                     "under the id of the request",
		`server s, start: cwd "/nowhere" is not there`:                                                                                      `"cwd"`,
		"server s, connect: it writes its messages with Content-Length headers; MCP wants each on a line":                                   "newline-delimited",
		"server s, connect: it writes its messages over several lines each, as JSON is printed for people":                                  "newline-delimited",
		"server h, call: it no longer knows the session: HTTP 400 Bad Request":                                                              "sessions",
		"server s, call: EOF; the process ended: its processes took 2.4 GiB of memory together, more than the 2 GiB of mcp.sandbox.max_gib": "raise mcp.sandbox.max_gib",
		"server s, call: EOF; the process ended: exit status 7":                                                                             "hone doctor",
	} {
		if got := Mending(reason, "hone doctor"); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", reason, got, want)
		}
	}
}

// Structured content that wraps a text is that text; data beside a text that is none is the data.
func TestDataOfAResult(t *testing.T) {
	long := strings.Repeat("row, ", 100)
	for _, c := range []struct{ text, structured, want string }{
		{"1. row\nname: Ada", `{"result": "1. row\nname: Ada"}`, "1. row\nname: Ada"},
		{long[:90] + "[... 410 bytes omitted ...]", `{"result": "` + long + `"}`, long},
		{"all is well", `{"status": "ok"}`, `{"status": "ok"}`},
		{"two rows", `{"rows": [1, 2]}`, `{"rows": [1, 2]}`},
		{`{"a": 1}`, `{"result": "b"}`, `{"a": 1}`},
		{"no more", "", "no more"},
	} {
		if got := (ToolResult{Text: c.text, StructuredContent: []byte(c.structured)}).Data(); got != c.want {
			t.Errorf("%q, %s: %q, want %q", c.text, c.structured, got, c.want)
		}
	}
}
