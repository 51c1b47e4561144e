package mcp

import (
	"context"
	"strings"
	"testing"
)

func TestFraming(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"a header", "Content-Length: 52\r\n\r\n{", "Content-Length"},
		{"a header in small letters", "content-length:52\n", "Content-Length"},
		{"a header behind another", "Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: 52\r\n", "Content-Length"},
		{"printed for people", "{\n  \"jsonrpc\": \"2.0\",\n  \"id\": 1,\n  \"result\": {\n", "several lines"},
		{"with tabs", "{\n\t\"jsonrpc\": \"2.0\",\n\t\"id\": 1,\n\t\"error\": {\n", "several lines"},
		{"without indentation", "{\n\"jsonrpc\": \"2.0\",\n\"id\": 1,\n\"result\": {\n", "several lines"},
		{"the version last", "{\n  \"result\": {\n    \"id\": 5\n  },\n  \"id\": 1,\n  \"jsonrpc\": \"2.0\"\n}\n", "several lines"},
		{"the version beside the brace", "{\"jsonrpc\": \"2.0\",\n \"id\": 1,\n \"result\": {\n", "several lines"},
		{"a request", "{\n  \"jsonrpc\": \"2.0\",\n  \"id\": 1,\n  \"method\": \"ping\"\n}\n", ""},
		{"a log of another kind", "{\n  \"level\": \"info\",\n  \"result\": {\n    \"jsonrpc\": \"2.0\"\n  }\n}\n", ""},
		{"two objects that are half of one", "{\n  \"jsonrpc\": \"2.0\"\n}\n{\n  \"result\": 1\n}\n", ""},
		{"a line of text", "ready: Content-Length: 5\n", ""},
		{"a header without a number", "Content-Length: unknown\n", ""},
	} {
		f, got := framing{}, ""
		for line := range strings.Lines(test.text) {
			if how := f.see([]byte(line)); how != "" {
				got = how
			}
		}
		if !strings.Contains(got, test.want) || test.want == "" && got != "" {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

// A server that frames its messages otherwise is found out long before it is given up, and only where none of them
// came.
func TestMisframedServers(t *testing.T) {
	for mode, want := range map[string]string{
		"lsp":          "Content-Length headers",
		"pretty":       "over several lines",
		"logs-headers": "",
	} {
		c, err := Dial(context.Background(), "s", self(t, mode), configOf(t, nil).Base, Options{})
		if want == "" {
			if err != nil {
				t.Errorf("%s: %v", mode, err)
				continue
			}
			c.Close()
			continue
		}
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "no answer in") ||
			!strings.Contains(Mending(err), "newline-delimited") {
			t.Errorf("%s: %v; next: %q", mode, err, Mending(err))
		}
	}
}
