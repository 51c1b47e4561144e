package schema

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestValidate(t *testing.T) {
	const person = `{"type":"object","properties":{"name":{"type":"string","minLength":2},"age":{"type":"integer"},
		"tags":{"type":"array","items":{"enum":["a","b"]}}},"required":["name"],"additionalProperties":false}`
	tests := []struct {
		name, schema, args string
		want               Verdict
		reason             string // "pointer: part of the text" of some reason
	}{
		{"valid", person, `{"name":"Ann","age":3}`, Valid, ""},
		{"whole float is an integer", person, `{"name":"Ann","age":3.0}`, Valid, ""},
		{"missing", person, `{"age":3}`, Invalid, "name"},
		{"wrong type", person, `{"name":"Ann","age":"3"}`, Invalid, "/age: got string, want integer"},
		{"nested pointer", person, `{"name":"Ann","tags":["a","c"]}`, Invalid, "/tags/1: value must be one of"},
		{"unknown property", person, `{"name":"Ann","x/y":1}`, Invalid, "additional properties 'x/y' not allowed"},
		{"pointer escapes", `{"properties":{"a/b~c":{"type":"null"}}}`, `{"a/b~c":1}`, Invalid, "/a~1b~0c: got number"},
		{"duplicate name", person, `{"name":"Ann","name":"Bob"}`, Invalid, "duplicate"},
		{"duplicate name below", `{}`, `{"a":[{"b":1,"b":2}]}`, Invalid, "duplicate"},
		{"duplicate by escape", `{}`, `{"a":1,"\u0061":2}`, Invalid, "duplicate"},
		{"invalid UTF-8", `{}`, "{\"a\":\"\xff\"}", Invalid, "UTF-8"},
		{"lone surrogate", `{}`, `{"a":"\ud800"}`, Invalid, "surrogate"},
		{"array", `{}`, `[1]`, Invalid, "must be a JSON object"},
		{"null", `{}`, `null`, Invalid, "must be a JSON object"},
		{"empty", `{}`, ``, Invalid, "ends early"},
		{"cut", `{}`, `{"a":`, Invalid, "ends early"},
		{"two objects", `{}`, `{} {}`, Invalid, "text after the object"},
		{"single quotes", `{}`, `{'a':1}`, Invalid, "not JSON"},
		{"huge exponent", `{"properties":{"a":{"maximum":1}}}`, `{"a":1e999999999}`, Invalid, "out of range"},
		{"tiny exponent", `{"properties":{"a":{"maximum":1}}}`, `{"a":[1e-999999999]}`, Invalid, "out of range"},
		{"no schema", ``, `{"a":1}`, Valid, ""},
		{"null schema", `null`, `{}`, Valid, ""},
		{"unknown format", `{"properties":{"a":{"type":"string","format":"zip-code"}}}`, `{"a":"x"}`, Valid, ""},
		{"look-ahead", `{"properties":{"a":{"pattern":"^(?!x)"}}}`, `{"a":"xy"}`, Invalid, "/a: "},
		{"look-ahead passes", `{"properties":{"a":{"pattern":"^(?!x)"}}}`, `{"a":"y"}`, Valid, ""},
		{"local reference", `{"$defs":{"n":{"type":"integer"}},"properties":{"a":{"$ref":"#/$defs/n"}}}`, `{"a":"x"}`, Invalid, "/a: got string"},
		{"draft 4", `{"$schema":"http://json-schema.org/draft-04/schema#","properties":{"a":{"minimum":1,"exclusiveMinimum":true}}}`,
			`{"a":1}`, Invalid, "/a: "},
		{"remote reference", `{"properties":{"a":{"$ref":"https://example.com/s.json"}}}`, `{"a":1}`, Uncheckable, ""},
		{"file reference", `{"properties":{"a":{"$ref":"file:///etc/hostname"}}}`, `{"a":1}`, Uncheckable, ""},
		{"unknown type", `{"properties":{"a":{"type":"any"}}}`, `{"a":1}`, Uncheckable, ""},
		{"schema is not JSON", `{`, `{"a":1}`, Uncheckable, ""},
		{"uncheckable, but duplicate names", `{"type":"any"}`, `{"a":1,"a":2}`, Invalid, "duplicate"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := Compile(json.RawMessage(test.schema))
			got, why := s.Validate(test.args)
			if got != test.want {
				t.Fatalf("got %s %v (schema: %v), want %s", got, why, s.Err(), test.want)
			}
			if (got == Invalid) != (len(why) > 0) {
				t.Fatalf("%s with reasons %v", got, why)
			}
			if (got == Uncheckable) && s.Err() == nil {
				t.Fatal("uncheckable without a reason")
			}
			if !strings.Contains(fmt.Sprint(why), test.reason) {
				t.Fatalf("reasons %v lack %q", why, test.reason)
			}
		})
	}
}

func TestDefaults(t *testing.T) {
	const s = `{"properties":{"z":{"default":[1, 2]},"a":{"type":"integer"},"b":{"default":null},"c":true}}`
	tests := []struct{ schema, args, want string }{
		{s, `{}`, `{"z":[1, 2],"b":null}`},
		{s, `{"a":1.0, "z":3}`, `{"a":1.0,"z":3,"b":null}`},
		{s, `{"b":2,"z":0}`, `{"b":2,"z":0}`},
		{``, `{"a":1}`, `{"a":1}`},
		{`{"properties":[]}`, `{"a":1}`, `{"a":1}`},
	}
	for _, test := range tests {
		if got, err := Defaults(json.RawMessage(test.schema), test.args); err != nil || got != test.want {
			t.Errorf("Defaults(%s, %s) = %s, %v; want %s", test.schema, test.args, got, err, test.want)
		}
	}
	for _, args := range []string{``, `[]`, `{"a":1,"a":2}`} {
		if got, err := Defaults(json.RawMessage(s), args); err == nil {
			t.Errorf("Defaults accepted %q: %s", args, got)
		}
	}
}

// Any object of strings is accepted by the open schema, and survives Defaults as the same value.
func TestProperties(t *testing.T) {
	open := Compile(nil)
	rapid.Check(t, func(t *rapid.T) {
		object := rapid.MapOf(rapid.String(), rapid.String()).Draw(t, "object")
		text, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		if got, why := open.Validate(string(text)); got != Valid {
			t.Fatalf("%s is %s: %v", text, got, why)
		}
		filled, err := Defaults(nil, string(text))
		if err != nil {
			t.Fatal(err)
		}
		var back map[string]string
		if err := json.Unmarshal([]byte(filled), &back); err != nil || fmt.Sprint(back) != fmt.Sprint(object) {
			t.Fatalf("%s became %s (%v)", text, filled, err)
		}
		if got, _ := open.Validate(string(text[:len(text)-1])); got != Invalid {
			t.Fatalf("cut text is %s", got)
		}
	})
}
