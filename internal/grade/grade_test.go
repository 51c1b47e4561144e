package grade_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hone/internal/chat"
	"hone/internal/grade"
)

// equal compares two JSON texts as calls and answers are.
func equal(got, want string) (bool, error) {
	a, err := grade.Decode(got)
	if err != nil {
		return false, err
	}
	b, err := grade.Decode(want)
	if err != nil {
		return false, err
	}
	return reflect.DeepEqual(a, b), nil
}

func TestEqual(t *testing.T) {
	tests := []struct {
		a, b string
		want bool
	}{
		{"1", "1.0", true},
		{"100", "1e2", true},
		{"-0", "0.0", true},
		{"0.10", "1E-1", true},
		{"120e-1", "12", true},
		{"1", "true", false},
		{"1", `"1"`, false},
		{"0", "false", false},
		{"0", "null", false},
		{"1", "-1", false},
		{"12", "1.2", false},
		{"9007199254740993", "9007199254740992", false}, // equal as float64
		{"1e999999999", "1e999999998", false},
		{`"a"`, `"\u0061"`, true},
		{`"a"`, `"A"`, false},
		{`"a"`, `"a "`, false},
		{`{"a":1,"b":[1,2]}`, `{"b":[1.0,2],"a":1}`, true},
		{`[1,2]`, `[2,1]`, false},
		{`[]`, `{}`, false},
		{`{"a":null}`, `{}`, false},
	}
	for _, test := range tests {
		for _, pair := range [][2]string{{test.a, test.b}, {test.b, test.a}} {
			got, err := equal(pair[0], pair[1])
			if err != nil || got != test.want {
				t.Errorf("equal(%s, %s) = %v, %v; want %v", pair[0], pair[1], got, err, test.want)
			}
		}
	}
}

func TestStrict(t *testing.T) {
	for _, text := range []string{
		``, `{"a":1,"a":1}`, `{"b":{"a":1,"a":2}}`, `{"a":1} x`, `{'a':1}`, `{"a":1,}`, `[1`, `01`, `{"a"}`, `nul`,
	} {
		if v, err := grade.Decode(text); err == nil {
			t.Errorf("Decode(%q) = %v; want an error", text, v)
		}
	}
}

func defaults(tool string) map[string]json.RawMessage {
	if tool != "count" {
		return nil
	}
	return map[string]json.RawMessage{"encoding": json.RawMessage(`"utf8"`)}
}

func call(name, arguments string) chat.ToolCall {
	return chat.ToolCall{Name: name, Arguments: arguments}
}

func TestEqualCalls(t *testing.T) {
	tests := []struct {
		name      string
		got, want chat.ToolCall
		equal     bool
		err       string
	}{
		{"default left out", call("count", `{"text":"a"}`), call("count", `{"text":"a","encoding":"utf8"}`), true, ""},
		{"other value", call("count", `{"text":"a","encoding":"sjis"}`), call("count", `{"text":"a"}`), false, ""},
		{"no default elsewhere", call("hash", `{"text":"a"}`), call("hash", `{"text":"a","encoding":"utf8"}`), false, ""},
		{"other tool", call("hash", `{}`), call("count", `{}`), false, ""},
		{"repeated key", call("hash", `{"a":1,"a":1}`), call("hash", `{"a":1}`), false, "arguments of hash"},
		{"no object", call("hash", `[]`), call("hash", `{}`), false, "not a JSON object"},
		{"no text", call("hash", ``), call("hash", `{}`), false, "arguments of hash"},
	}
	for _, test := range tests {
		equal, err := grade.EqualCalls(test.got, test.want, defaults)
		if equal != test.equal || (err == nil) != (test.err == "") ||
			err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%s: %v, %v", test.name, equal, err)
		}
	}
}

func TestMatch(t *testing.T) {
	got := []chat.ToolCall{call("b", `{"x":1}`), call("a", `{"x":1,"x":1}`), call("a", `{"x":1}`)}
	want := []chat.ToolCall{call("a", `{"x":1.0}`), call("a", `{"x":1}`), call("b", `{"x":1}`)}
	if pairs := grade.Match(got, want, nil); pairs[0] != 2 || pairs[1] != -1 || pairs[2] != 0 {
		t.Errorf("Match = %v; want [2 -1 0]", pairs)
	}
}

// A value equals itself however its numbers and keys are spelt, and never its neighbour.
func TestEqualProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(-1e15, 1e15).Draw(t, "n")
		s := rapid.String().Draw(t, "s")
		text := func(n int64, layout string) string {
			key, _ := json.Marshal(s)
			number, _ := json.Marshal(n)
			// one pass: keys are not replaced into
			return strings.NewReplacer("K", string(key), "N", string(number)).Replace(layout)
		}
		if s == "z" {
			s = "y"
		}
		if same, err := equal(text(n, `{"z":N,K:K}`), text(n, `{K:K, "z":N.00e0}`)); err != nil || !same {
			t.Fatalf("not equal to itself: %v", err)
		}
		if same, err := equal(text(n, `[N]`), text(n+1, `[N]`)); err != nil || same {
			t.Fatalf("%d equals %d: %v", n, n+1, err)
		}
	})
}

func FuzzDecode(f *testing.F) {
	f.Add(`{"a":[1,2.5e3,"x",null,true]}`)
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := grade.Decode(text); err != nil {
			return
		}
		if same, err := equal(text, text); err != nil || !same {
			t.Fatalf("%q does not equal itself: %v", text, err)
		}
	})
}
