package toolcall

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"
)

func TestObject(t *testing.T) {
	for name, c := range map[string]struct {
		text, want string
		kinds      []Repair
	}{
		"valid":                  {`{"a": 1.50, "b": [1e400, "\u00e9"]}`, `{"a": 1.50, "b": [1e400, "\u00e9"]}`, nil},
		"valid in white space":   {" \n{}\t", `{}`, nil},
		"byte order mark":        {"\ufeff{\"a\": 1}", `{"a": 1}`, nil},
		"fence":                  {"```json\n{\"a\": 1}\n```", `{"a": 1}`, []Repair{CodeFence}},
		"fence without language": {"```\n{\"a\": 1}\n```", `{"a": 1}`, []Repair{CodeFence}},
		"fence on one line":      {"```json {\"a\": 1}```", `{"a": 1}`, []Repair{CodeFence}},
		"fence not closed":       {"```json\n{\"a\": 1}", `{"a": 1}`, []Repair{CodeFence}},
		"fence and prose":        {"Here:\n```json\n{\"a\": 1}\n```\nDone.", `{"a": 1}`, []Repair{CodeFence}},
		"fence inside a string":  {"{\"a\": \"```x```\"}", "{\"a\": \"```x```\"}", nil},
		"prose before":           {`Sure: {"a": 1}`, `{"a": 1}`, []Repair{Prose}},
		"prose after":            {`{"a": 1} is it.`, `{"a": 1}`, []Repair{Prose}},
		"braces in prose":        {`For {x} use {"a": 1}`, `{"a": 1}`, []Repair{Prose}},
		"braces behind":          {`{"a": 1} and {x y}`, `{"a": 1}`, []Repair{Prose}},
		"trailing comma":         {`{"a": [1, 2,], }`, `{"a": [1, 2] }`, []Repair{TrailingComma}},
		"missing comma":          {"{\"a\": 1\n\"b\": [1 2]}", "{\"a\": 1\n,\"b\": [1 ,2]}", []Repair{MissingComma}},
		"single quotes":          {`{'a': 'x "y"', "b": 'it\'s'}`, `{"a": "x \"y\"", "b": "it's"}`, []Repair{SingleQuotes, BadEscape}},
		"smart quotes":           {`{“a”: “x ’ y”, ‘b’: ‘z’}`, `{"a": "x ’ y", "b": "z"}`, []Repair{SmartQuotes}},
		"smart quotes as text":   {`{"a": "“x”",}`, `{"a": "“x”"}`, []Repair{TrailingComma}},
		"unquoted keys":          {`{a: 1, b_c-d: {é: 2}}`, `{"a": 1, "b_c-d": {"é": 2}}`, []Repair{UnquotedKey}},
		"any letter in a key": {`{À: 1, a€: 2, aAzZ09_-$: 3, 0: 4, Z: 5, z: 6, 9: 7}`,
			`{"À": 1, "a€": 2, "aAzZ09_-$": 3, "0": 4, "Z": 5, "z": 6, "9": 7}`, []Repair{UnquotedKey}},
		"escaped in a string":      {`"{\\\"a\\\": 1}"`, `{"a": 1}`, []Repair{DoubleEncoded, DoubleEncoded}},
		"fence, object on lines":   {"```json {\"a\":\n1}\n```", "{\"a\":\n1}", []Repair{CodeFence}},
		"a key that is a literal":  {`{true: 1}`, `{"true": 1}`, []Repair{UnquotedKey}},
		"Python literals":          {`{"a": True, "b": [False, None]}`, `{"a": true, "b": [false, null]}`, []Repair{PythonLiteral}},
		"Python dictionary":        {`{'a': None,}`, `{"a": null}`, []Repair{SingleQuotes, PythonLiteral, TrailingComma}},
		"line comment":             {"{\"a\": 1, // one\n\"b\": 2}", "{\"a\": 1, \n\"b\": 2}", []Repair{Comment}},
		"Python comment":           {"{\"a\": 1 # one\n}", "{\"a\": 1 \n}", []Repair{Comment}},
		"block comment":            {`{/* x */"a": 1}`, `{"a": 1}`, []Repair{Comment}},
		"comment mark in a string": {`{"a": "http://x /* # */",}`, `{"a": "http://x /* # */"}`, []Repair{TrailingComma}},
		"a number that ends":       {"{\"a\": 12\n", `{"a": 12}`, []Repair{MissingCloser}},
		"a number in a fence":      {"```json\n{\"a\": 12\n```", `{"a": 12}`, []Repair{CodeFence, MissingCloser}},
		"a number in a string":     {`"{\"a\": 12"`, `{"a": 12}`, []Repair{DoubleEncoded, MissingCloser}},
		"a word at the end":        {`{"a": true`, `{"a": true}`, []Repair{MissingCloser}},
		"missing brace":            {`{"a": {"b": 1}`, `{"a": {"b": 1}}`, []Repair{MissingCloser}},
		"missing brackets":         {`{"a": [1, {"b": ["2"`, `{"a": [1, {"b": ["2"]}]}`, []Repair{MissingCloser}},
		"missing inner bracket":    {`{"a": [1, 2}`, `{"a": [1, 2]}`, []Repair{MissingCloser}},
		"missing bracket of none":  {`{"a": [}`, `{"a": []}`, []Repair{MissingCloser}},
		"cut behind a comma":       {`{"a": 1, `, `{"a": 1}`, []Repair{MissingCloser, TrailingComma}},
		"extra brace":              {`{"a": 1}}`, `{"a": 1}`, []Repair{ExtraCloser}},
		"extra brackets":           {`{"a": 1}] } `, `{"a": 1}`, []Repair{ExtraCloser}},
		"encoded twice":            {`"{\"a\": \"x\\ny\"}"`, `{"a": "x\ny"}`, []Repair{DoubleEncoded}},
		"encoded three times":      {`"\"{\\\"a\\\": 1}\""`, `{"a": 1}`, []Repair{DoubleEncoded, DoubleEncoded}},
		"encoded and broken":       {`"{'a': 1}"`, `{"a": 1}`, []Repair{DoubleEncoded, SingleQuotes}},
		"escaped quotes":           {`{\"a\": \"x\"}`, `{"a": "x"}`, []Repair{DoubleEncoded}},
		"line break in a string":   {"{\"a\": \"x\ny\tz\x01\"}", `{"a": "x\ny\tz\u0001"}`, []Repair{ControlCharacter}},
		"Windows path":             {`{"a": "C:\Docs\user"}`, `{"a": "C:\\Docs\\user"}`, []Repair{BadEscape}},
		"pattern":                  {`{"a": "\d+\.\w"}`, `{"a": "\\d+\\.\\w"}`, []Repair{BadEscape}},
		"number forms":             {`{"a": .5, "b": +1, "c": 5., "d": -.5}`, `{"a": 0.5, "b": 1, "c": 5.0, "d": -0.5}`, []Repair{NumberForm}},
		"big numbers stay":         {`{a: 123456789012345678901234567890, b: 1.10}`, `{"a": 123456789012345678901234567890, "b": 1.10}`, []Repair{UnquotedKey}},
		"equals sign":              {`{"a" = 1}`, `{"a" : 1}`, []Repair{EqualsSign}},
		"everything": {
			"Call: {'a': [True, .5,], // x\n b: \"q\nr\"",
			"{\"a\": [true, 0.5], \n \"b\": \"q\\nr\"}",
			[]Repair{SingleQuotes, PythonLiteral, NumberForm, TrailingComma, Comment, UnquotedKey, ControlCharacter,
				MissingCloser, Prose},
		},
	} {
		got, kinds, err := RepairObject(c.text)
		if err != nil || got != c.want || !reflect.DeepEqual(kinds, c.kinds) {
			t.Errorf("%s: %q\n got  %q %q (%v)\n want %q %q", name, c.text, got, kinds, err, c.want, c.kinds)
		}
	}
}

func TestObjectRefuses(t *testing.T) {
	for name, c := range map[string]struct{ text, why string }{
		"nothing":                     {"", "no object"},
		"prose":                       {"There is none.", "no object"},
		"an array":                    {`[{"a": 1}]`, "not an object"},
		"a broken array":              {`[{"a": 1},`, "part of another value"},
		"an object in a cut list":     {`{"a": [0, {"b": 1}], "c`, "does not end"},
		"brackets in a string":        {`{"a": ["]}", {"b": 1}], "c`, "does not end"},
		"an odd quote before it":      {`{"a": 5", "b": [0, {"c": 1}], "d`, "no value"},
		"an object of another value":  {`"x": {"a": 1}`, "part of another value"},
		"a number":                    {"7", "not an object"},
		"a string":                    {`"hello"`, "no object"},
		"a string of a number":        {`"7"`, "not an object"},
		"too many strings":            {`"\"\\\"{\\\\\\\"a\\\\\\\": 1}\\\"\""`, "not an object"},
		"NaN":                         {`{"a": NaN}`, "no value"},
		"infinity":                    {`{"a": Infinity}`, "no value"},
		"minus infinity":              {`{"a": -Infinity}`, "no number"},
		"undefined":                   {`{"a": undefined}`, "no value"},
		"dots":                        {`{"a": ...}`, "no number"},
		"a bare word":                 {`{"a": red}`, "no value"},
		"a string that breaks off":    {`{"a": "hel`, "does not end"},
		"an escape that breaks off":   {`{"a": "hel\`, "does not end"},
		"a number that breaks off":    {`{"a": 12`, "may break off"},
		"a fraction that breaks off":  {`{"a": [5.`, "may break off"},
		"a fence that breaks off":     {"```json\n{\"a\": 12", "may break off"},
		"escaped, and breaks off":     {`{\"a\": 12`, "may break off"},
		"a key that breaks off":       {`{"a": 1, "b`, "does not end"},
		"a key without a value":       {`{"a": 1, "b"}`, "no value"},
		"a value that is missing":     {`{"a": 1, "b": }`, "no value"},
		"cut before a value":          {`{"a": 1, "b":`, "value is missing"},
		"two objects":                 {`{"a": 1} {"b": 2}`, "two objects"},
		"two broken objects":          {`{a: 1}; {b: 2}`, "two objects"},
		"two objects, braces between": {`{"a": 1} or {x} or {"b": 2}`, "two objects"},
		"the first one is no text":    {`{"a": "\x41"} {"b": 2}`, "another language"},
		"the first one has no value":  {`{"a": NaN}, no: {"b": 2}`, "no value"},
		"a repeated key":              {`{"a": 1, "a": 2}`, "repeated"},
		"a repeated key, mended":      {`{'a': 1, "a": 2}`, "repeated"},
		"half a character":            {`{'a': "\ud800"}`, "repeated, or a string is no text"},
		"bytes that are no text":      {"{'a': '\xff'}", "repeated, or a string is no text"},
		"an escape of Python":         {`{'a': '\x41'}`, "another language"},
		"unescaped quotes":            {`{"a": "say "hi" now"}`, "may belong to it"},
		"an apostrophe":               {`{'a': 'it's'}`, "may belong to it"},
		"a comment that does not end": {`{"a": 1 /* x`, "comment"},
		"brackets that do not match":  {`{"a": 1]`, "do not match"},
		"a number with a comma":       {`{"a": 1,000}`, "no value"},
		"a string with a colon":       {`{"a": "b" c: "d"}`, "may belong to it"},
		"two strings":                 {`{"a": ["b" "c"]}`, "may belong to it"},
		"octal":                       {`{"a": 007, }`, "no number"},
		"hexadecimal":                 {`{"a": 0x1F, }`, "no number"},
		"a date":                      {`{"a": 2026-01-01}`, "no number"},
		"deep":                        {strings.Repeat(`{"a":`, 300) + "1", "brackets in brackets"},
	} {
		got, kinds, err := RepairObject(c.text)
		if err == nil || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s: %q gave %q %q, error %v, want one with %q", name, c.text, got, kinds, err, c.why)
		}
	}
}

// objects draws valid JSON objects.
func objects() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		var value func(depth int) any
		value = func(depth int) any {
			switch n := rapid.IntRange(0, 7).Draw(t, "kind"); {
			case n == 0:
				return nil
			case n == 1:
				return rapid.Bool().Draw(t, "bool")
			case n == 2:
				return rapid.Int64().Draw(t, "int")
			case n == 3:
				return rapid.Float64Range(-1e300, 1e300).Draw(t, "float")
			case n == 4 && depth > 0:
				out := []any{}
				for range rapid.IntRange(0, 3).Draw(t, "n") {
					out = append(out, value(depth-1))
				}
				return out
			case n == 5 && depth > 0:
				out := map[string]any{}
				for range rapid.IntRange(0, 3).Draw(t, "n") {
					out[rapid.StringN(0, 6, -1).Draw(t, "key")] = value(depth - 1)
				}
				return out
			}
			return rapid.String().Draw(t, "string")
		}
		out := map[string]any{}
		for range rapid.IntRange(0, 4).Draw(t, "members") {
			out[rapid.StringN(0, 6, -1).Draw(t, "key")] = value(3)
		}
		text, err := json.Marshal(out)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	})
}

func equal(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && reflect.DeepEqual(x, y)
}

// A valid object comes back byte for byte; damaged, it comes back with the same values.
func TestValuesAreKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := objects().Draw(t, "object")
		if got, kinds, err := RepairObject(text); err != nil || got != text || kinds != nil {
			t.Fatalf("%q became %q %q (%v)", text, got, kinds, err)
		}
		quoted, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		for kind, damaged := range map[Repair]string{
			CodeFence: "```json\n" + text + "\n```", Prose: "Sure: " + text + " there.", ExtraCloser: text + "}",
			DoubleEncoded: string(quoted), Comment: "{/* x */" + text[1:], MissingCloser: text[:len(text)-1] + "\n",
		} {
			got, kinds, err := RepairObject(damaged)
			if err != nil || !slices.Contains(kinds, kind) || !equal(got, text) {
				t.Fatalf("%s: %q became %q %q (%v)", kind, damaged, got, kinds, err)
			}
		}
		if text == "{}" {
			return
		}
		damaged := text[:len(text)-1] + ",}"
		if got, kinds, err := RepairObject(damaged); err != nil || got != text ||
			!reflect.DeepEqual(kinds, []Repair{TrailingComma}) {
			t.Fatalf("%q became %q %q (%v)", damaged, got, kinds, err)
		}
	})
}

// What takes long must take as long as it is: these would not end if the time were not linear.
func TestHostileObjects(t *testing.T) {
	const n = 1 << 20
	for name, text := range map[string]string{
		"braces": strings.Repeat("{", n), "brackets": strings.Repeat("[", n), "objects": strings.Repeat("{a", n),
		"quotes":      strings.Repeat(`{"`, n),
		"backslashes": `{"a": "` + strings.Repeat(`\`, n), "commas": "{" + strings.Repeat(",", n),
		"fences": strings.Repeat("```", n), "comments": "{" + strings.Repeat("/*", n),
		"members": "{" + strings.Repeat(`"a":1,`, n),
		"colons":  strings.Repeat(":{", n),
	} {
		if got, _, err := RepairObject(text); err == nil {
			t.Errorf("%s: gave %.40q", name, got)
		}
	}
}

func FuzzObject(f *testing.F) {
	for _, text := range []string{
		`{"a": 1}`, "```json\n{'a': [True, .5,], // x\n b: \"q\nr\"", `"{\"a\": 1}"`, `{\"a\": 1}`, `{“a” = C:\x}`,
		`[{}]`, `{"a": 1} {"b": 2}`, "{\"a\": \"\\ud83d\\ude00\xff\"}", `{'a': 'it's'}`, `x {y} {"a": 1}}`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		object, kinds, err := RepairObject(text)
		if err != nil {
			if object != "" || kinds != nil {
				t.Fatalf("an error and %q %q", object, kinds)
			}
			return
		}
		value := jsontext.Value(object)
		if !value.IsValid() || value.Kind() != '{' {
			t.Fatalf("%q became %q", text, object)
		}
		if again, kinds, err := RepairObject(object); err != nil || again != object || len(kinds) > 0 {
			t.Fatalf("%q is mended again to %q %q (%v)", object, again, kinds, err)
		}
		if trimmed := jsontext.Value(strings.TrimSpace(text)); trimmed.IsValid() && trimmed.Kind() == '{' &&
			object != string(trimmed) {
			t.Fatalf("%q was valid and became %q", text, object)
		}
	})
}

// Wherever a text breaks off, what is made of it holds values of the whole in their places, and no others.
func TestCutTextsGiveNoOtherValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := objects().Draw(t, "object")
		var whole any
		if err := json.Unmarshal([]byte(text), &whole); err != nil {
			t.Fatal(err)
		}
		for end := range text {
			object, kinds, err := RepairObject(text[:end])
			if err != nil {
				continue
			}
			var part any
			if err := json.Unmarshal([]byte(object), &part); err != nil {
				t.Fatal(err)
			}
			if len(kinds) == 0 || !isPart(part, whole) {
				t.Fatalf("%q became %q %q", text[:end], object, kinds)
			}
		}
	})
}

// isPart reports whether each value in part stands in whole at the same place.
func isPart(part, whole any) bool {
	switch p := part.(type) {
	case []any:
		w, ok := whole.([]any)
		for i := range p {
			ok = ok && i < len(w) && isPart(p[i], w[i])
		}
		return ok
	case map[string]any:
		w, ok := whole.(map[string]any)
		for key, v := range p {
			other, has := w[key]
			ok = ok && has && isPart(v, other)
		}
		return ok
	}
	return reflect.DeepEqual(part, whole)
}
