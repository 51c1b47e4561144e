package mcp

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/iotest"
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
		if n, begins, _ := tail.rest(); n != test.n || string(begins) != test.want {
			t.Errorf("%.40q: %d bytes, %.40q", test.reads, n, begins)
		}
	}
}

// A message is known to be whole at any length and however it is read, and what only resembles one is not.
func TestWholeMessageInTail(t *testing.T) {
	long := strings.Repeat("x", 3*tailShown)
	for text, want := range map[string]bool{
		`{"id":1}`:                             true,
		`{"id":1,"result":["` + long + `"]}`:   true,
		`[{"id":"` + long + `"}] ` + "\r":      true,
		"stray\n" + `{"a":"` + long + `}\"]"}`: true,
		"":                                     false,
		"{}\n":                                 false,
		`{id}`:                                 false,
		long:                                   false,
		`{"id":"` + long + `"`:                 false,
		`{"id":"` + long + `}`:                 false,
		`{"id":"` + long + `"} and`:            false,
		`{"id":"` + long + `"}]`:               false,
	} {
		for _, r := range []io.Reader{strings.NewReader(text), iotest.OneByteReader(strings.NewReader(text))} {
			tail := &lineTail{r: r}
			if _, err := io.ReadAll(tail); err != nil {
				t.Fatal(err)
			}
			if n, _, whole := tail.rest(); whole != want {
				t.Errorf("%.20s of %d bytes: whole %t, want %t", text, n, whole, want)
			}
		}
	}
}

// A server that never ends its line is not said to be silent, however long its message is.
func TestNoNewline(t *testing.T) {
	for _, mode := range []string{"no-newline", "no-newline-long"} {
		_, err := Dial(t.Context(), "s", self(t, mode), configOf(t, nil).Base,
			Options{ConnectTimeout: 4 * time.Second, ProbeTimeout: 2 * time.Second})
		const came = `a whole message without a newline at the end: "{\"jsonrpc\":`
		if err == nil || !strings.Contains(err.Error(), came) ||
			!silent(err) || !strings.Contains(Mending(err), "newline") {
			t.Errorf("%s: %v", mode, err)
		}
	}
}
