package mcp

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// What answers nothing is told to the call that waits, and the likeliest counts.
func TestCameInstead(t *testing.T) {
	for _, test := range []struct{ name, lines, want string }{
		{"nothing", "", ""},
		{"another id", `{"jsonrpc":"2.0","id":8,"result":{"n":1}}`, `under the id 8 where 7 was asked: "{\"n\":1}"`},
		{"the id as a text", `{"jsonrpc":"2.0","id":"7","result":{"n":1}}`, `under the id "7" where 7 was asked`},
		{"an error under another id", `{"jsonrpc":"2.0","id":0,"error":{"code":1,"message":"no such row"}}`, "no such row"},
		{"no id", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}`, "parse error"},
		{"text", "Traceback", `a line that is no message: "Traceback"`},
		{"text, then another id", "Traceback\n" + `{"jsonrpc":"2.0","id":8,"result":{"n":1}}`, "under the id 8"},
		{"a secret", `{"jsonrpc":"2.0","id":8,"result":{"n":"sesame-open"}}`, "[hidden]"},
		{"a notification", `{"jsonrpc":"2.0","method":"notifications/message","params":{}}`, ""},
	} {
		w, x := waiting(t, 1<<20)
		w.redact = redactor([]string{"sesame-open"})
		for line := range strings.Lines(test.lines) {
			decodeLine(w, line)
		}
		if got := x.outcome().instead; !strings.Contains(got, test.want) || test.want == "" && got != "" ||
			strings.Contains(got, "sesame") {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
		w.sending(context.WithValue(t.Context(), exchangeKey{}, x), &jsonrpc.Request{ID: x.id, Method: "tools/call"})
		if got := x.outcome().instead; got != "" {
			t.Errorf("%s: the next request is told %q", test.name, got)
		}
	}
}

func TestLineTail(t *testing.T) {
	for _, test := range []struct {
		reads []string
		n     int64
		want  string
	}{
		{nil, 0, ""},
		{[]string{"a\n"}, 0, ""},
		{[]string{"a\nb"}, 1, "b"},
		{[]string{"a", "b", "\n", "c"}, 1, "c"},
		{[]string{"ab", "cd"}, 4, "abcd"},
		{[]string{"a\nb\n", "c\nde", "f"}, 3, "def"},
		{[]string{strings.Repeat("x", 3000), strings.Repeat("x", 3000)}, 6000, strings.Repeat("x", tailShown)},
	} {
		var readers []io.Reader
		for _, text := range test.reads {
			readers = append(readers, strings.NewReader(text))
		}
		tail := &lineTail{r: io.MultiReader(readers...)}
		if _, err := io.ReadAll(tail); err != nil {
			t.Fatal(err)
		}
		if n, begins := tail.rest(); n != test.n || string(begins) != test.want {
			t.Errorf("%.40q: %d bytes, %.40q", test.reads, n, begins)
		}
	}
}

// A server that never ends its line is not said to be silent.
func TestNoNewline(t *testing.T) {
	_, err := Dial(t.Context(), "s", self(t, "no-newline"), configOf(t, nil).Base,
		Options{ConnectTimeout: 4 * time.Second, ProbeTimeout: 2 * time.Second})
	if err == nil || !strings.Contains(err.Error(), `a whole message without a newline at the end: "{\"jsonrpc\":`) ||
		!silent(err) || !strings.Contains(Mending(err), "newline") {
		t.Error(err)
	}
}
