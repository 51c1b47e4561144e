package mcp

import (
	"bytes"
	"encoding/json"
	"testing"
)

func TestPlainJSON(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"\ufeff{}", "{}"},
		{"{ // a \"comment\"\n\"a\": 1 }", `{"a":1}`},
		{"/* one\n * two */ [1, /* 3, */ 2]//", `[1,2]`},
		{`{"a": [1, 2, ], "b": {"c": 3 , /* d */ }, }`, `{"a":[1,2],"b":{"c":3}}`},
		{`{"url": "http://h//x", "glob": "/*", "comma": ",]", "quote": "\",}//"}`, `{"url":"http://h//x","glob":"/*","comma":",]","quote":"\",}//"}`},
	} {
		var got bytes.Buffer
		plain := plainJSON([]byte(test.text))
		if err := json.Compact(&got, plain); err != nil || got.String() != test.want || len(plain) != len(test.text) {
			t.Errorf("%q became %q (%v)", test.text, plain, err)
		}
	}
	for _, wrong := range []string{"[,]", "[1,,]", "{,}", "[1 /* 2]", `{"a`, "[1]/"} {
		if plain := plainJSON([]byte(wrong)); json.Valid(plain) {
			t.Errorf("%q became %q, which is valid", wrong, plain)
		}
	}
}

// What is JSON already stays as it is; nothing changes its length or lines.
func FuzzPlainJSON(f *testing.F) {
	for _, seed := range []string{`{"a":"\\\"//","b":[1,2]}`, "[1,//\n]", "/*", `"\`, "\ufeff1", `{"a":1,}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		plain := plainJSON(data)
		if json.Valid(data) && !bytes.Equal(plain, data) {
			t.Errorf("%q became %q", data, plain)
		}
		if len(plain) != len(data) || bytes.Count(plain, []byte("\n")) != bytes.Count(data, []byte("\n")) {
			t.Errorf("%q became %q: errors would name other lines", data, plain)
		}
		if again := plainJSON(plain); json.Valid(plain) && !bytes.Equal(again, plain) {
			t.Errorf("%q became %q, and that %q", data, plain, again)
		}
	})
}
