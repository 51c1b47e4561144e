package chat_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hone/internal/chat"
)

func TestObjectKeepsOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var o chat.Object
		last, order := map[string]int{}, []string{}
		for i, key := range rapid.SliceOfN(rapid.StringN(0, 2, -1), 0, 40).Draw(t, "keys") {
			if _, seen := last[key]; !seen {
				order = append(order, key)
			}
			last[key] = i
			o.Set(key, i)
		}
		if !reflect.DeepEqual(append([]string{}, o.Keys()...), order) || o.Len() != len(order) {
			t.Fatalf("got %q, want %q", o.Keys(), order)
		}
		for i, key := range order {
			got, ok := o.Get(key)
			name, value := o.At(i)
			if !ok || got != last[key] || name != key || value != got {
				t.Fatalf("%q: got %v %v, At %q %v, want %v", key, got, ok, name, value, last[key])
			}
		}
		if _, ok := o.Get("not a key"); ok {
			t.Fatal("found what was not set")
		}
	})
}

func TestDecode(t *testing.T) {
	for text, want := range map[string]chat.Value{
		`null`: nil, ` true `: true, "\n\"a\\u00e9\\ud83d\\ude00\"": "aé😀", `-0.50e+01`: chat.Number("-0.50e+01"),
		`[]`: []chat.Value{},
		`{}`: &chat.Object{},
		`{"z":1.0,"a":[12345678901234567890,{"":null}]}`: chat.NewObject("z", chat.Number("1.0"),
			"a", []chat.Value{chat.Number("12345678901234567890"), chat.NewObject("", nil)}),
	} {
		got, err := chat.Decode([]byte(text), chat.DecodeOptions{})
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %#v (%v), want %#v", text, got, err, want)
		}
	}
}

func TestDecodeRefusals(t *testing.T) {
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for _, c := range []struct {
		text   string
		o      chat.DecodeOptions
		why    string
		offset int
	}{
		{text: ``, why: "ends early", offset: 0},
		{text: `  `, why: "ends early", offset: 2},
		{text: `{"a": 1`, why: "ends early", offset: 7},
		{text: `[1,]`, why: "invalid character", offset: 2},
		{text: `[1] 2`, why: "after", offset: 3},
		{text: `[1] ]`, why: "after", offset: 3},
		{text: `{"a":1,"a":2}`, why: `duplicate`, offset: 7},
		{text: `[{"a":{"\u0061":1,"a":2}}]`, why: "duplicate", offset: 18},
		{text: "\"\xff\"", why: "UTF-8", offset: 1},
		{text: "{\"\xc3\x28\":1}", why: "UTF-8", offset: 2},
		{text: `"\ud800"`, why: "surrogate", offset: 1},
		{text: "\"a\tb\"", why: "invalid character", offset: 2},
		{text: `NaN`, why: "invalid character", offset: 0},
		{text: `01`, why: "after", offset: 1},
		{text: `'a'`, why: "invalid character", offset: 0},
		{text: deep(501), why: "more than 500", offset: 501},
		{text: deep(3), o: chat.DecodeOptions{MaxDepth: 2}, why: "more than 2", offset: 3},
		{text: `{"a":{"a":{}}}`, o: chat.DecodeOptions{MaxDepth: 2}, why: "more than 2", offset: 11},
		{text: `[1,2]`, o: chat.DecodeOptions{MaxBytes: 4}, why: "5 bytes are more than 4", offset: 0},
		{text: strings.Repeat("[", 10<<20), why: "more than 500", offset: 501},
	} {
		got, err := chat.Decode([]byte(c.text), c.o)
		var syntax *chat.SyntaxError
		if !errors.As(err, &syntax) || !strings.Contains(err.Error(), c.why) || got != nil {
			t.Errorf("%.30q: got %v, %v, want an error with %q", c.text, got, err, c.why)
		} else if syntax.Offset != c.offset {
			t.Errorf("%.30q: stopped at byte %d, want %d (%v)", c.text, syntax.Offset, c.offset, err)
		}
	}
	if _, err := chat.Decode([]byte(deep(500)), chat.DecodeOptions{}); err != nil {
		t.Errorf("500 levels: %v", err)
	}
}

func TestDecodeLastWins(t *testing.T) {
	got, err := chat.Decode([]byte(`{"a":1,"b":2,"a":{"c":3,"c":4}}`), chat.DecodeOptions{LastWins: true})
	want := chat.NewObject("a", chat.NewObject("c", chat.Number("4")), "b", chat.Number("2"))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %#v (%v), want %#v", got, err, want)
	}
	if _, err := chat.Decode([]byte("{\"a\":1,\"a\":\"\xff\"}"), chat.DecodeOptions{LastWins: true}); err == nil {
		t.Error("last-wins accepted invalid UTF-8")
	}
}

// The right sides are what CPython 3.11's json.dumps(value, ensure_ascii=False, ...) printed.
func TestAppendJSONIsPythons(t *testing.T) {
	value := chat.NewObject("z", chat.Number("1.50"), "a",
		[]chat.Value{true, nil, chat.NewObject(), []chat.Value{}, "é\"\\/\n\t\x01\x7f\u2028😀"})
	for _, c := range []struct {
		v    chat.Value
		f    chat.Format
		want string
	}{
		{value, chat.Format{}, "{\"z\": 1.5, \"a\": [true, null, {}, [], \"é\\\"\\\\/\\n\\t\\u0001\x7f\u2028😀\"]}"},
		{value, chat.Format{EnsureASCII: true, SortKeys: true},
			`{"a": [true, null, {}, [], "\u00e9\"\\/\n\t\u0001\u007f\u2028\ud83d\ude00"], "z": 1.5}`},
		{value, compact(), "{\"z\":1.50,\"a\":[true,null,{},[],\"é\\\"\\\\/\\n\\t\\u0001\x7f\u2028😀\"]}"},
		{
			[]chat.Value{chat.NewObject("a", []chat.Value{int64(1), int64(-2)}), []chat.Value{}, chat.NewObject()},
			chat.Format{Indent: "  "},
			"[\n  {\n    \"a\": [\n      1,\n      -2\n    ]\n  },\n  [],\n  {}\n]",
		},
		{[]chat.Value{int64(1)}, chat.Format{Lines: true}, "[\n1\n]"},
		{[]chat.Value{int64(1), int64(2)}, chat.Format{ItemSeparator: " ; ", Indent: "\t"}, "[\n\t1 ; \n\t2\n]"},
		{chat.NewObject("a", 1e16, "b", 0.1), chat.Format{KeySeparator: "="}, `{"a"=1e+16, "b"=0.1}`},
	} {
		got, err := chat.AppendJSON([]byte("x"), c.v, c.f)
		if err != nil || string(got) != "x"+c.want {
			t.Errorf("%+v:\n got  %s (%v)\n want %s", c.f, got[1:], err, c.want)
		}
	}
	for number, want := range map[chat.Number]string{
		"0": "0", "-0": "0", "-0.0": "-0.0", "1e0": "1.0", "1E5": "100000.0", "1e16": "1e+16",
		"1e15": "1000000000000000.0", "123456789012345678901234567890": "123456789012345678901234567890",
		"1e-7": "1e-07", "0.0001": "0.0001", "0.00001": "1e-05", "1.10": "1.1", "5e-324": "5e-324",
		"1.7976931348623157e308": "1.7976931348623157e+308", "1e400": "Infinity", "-1e400": "-Infinity",
		"1e-400": "0.0", "9007199254740993.0": "9007199254740992.0", "0.1e1": "1.0",
		"123456789.123456789": "123456789.12345679", "2.5e22": "2.5e+22",
		"12345678901234567.0": "1.2345678901234568e+16",
	} {
		if got := number.Python(); got != want {
			t.Errorf("%s: got %s, want %s", number, got, want)
		}
	}
}

// Strings are looked at several bytes at a time: one to be escaped is found at each place of each length.
func TestAppendStringFindsEveryEscape(t *testing.T) {
	escapes := map[string]string{"\"": `\"`, "\\": `\\`, "\n": `\n`, "\x00": `\u0000`, "\x1f": `\u001f`}
	for _, plain := range []string{" ", "!", "#", "[", "]", "\x7f", "é", "😀", "\u2028"} {
		for before := range 20 {
			for after := range 20 {
				left, right := strings.Repeat(plain, before), strings.Repeat(plain, after)
				if got, want := string(chat.AppendString(nil, left+right, false)), `"`+left+right+`"`; got != want {
					t.Fatalf("got %s, want %s", got, want)
				}
				for char, escape := range escapes {
					if got, want := string(chat.AppendString(nil, left+char+right, false)),
						`"`+left+escape+right+`"`; got != want {
						t.Fatalf("got %s, want %s", got, want)
					}
				}
			}
		}
	}
}

func TestAppendFloatReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := math.Float64frombits(rapid.Uint64().Draw(t, "bits"))
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return
		}
		text := string(chat.AppendFloat(nil, f))
		back, err := strconv.ParseFloat(text, 64)
		if err != nil || back != f || !strings.ContainsAny(text, ".e") {
			t.Fatalf("%v is written %s", f, text)
		}
		mantissa, exponent, hasExponent := strings.Cut(text, "e")
		if abs := math.Abs(f); hasExponent != (abs != 0 && (abs < 1e-4 || abs >= 1e16)) ||
			len(strings.TrimLeft(mantissa, "-")) > 23 || hasExponent && len(exponent) < 3 {
			t.Fatalf("%s is not Python's form", text)
		}
	})
}

func TestAppendJSONRefusals(t *testing.T) {
	var kind *chat.KindError
	if _, err := chat.AppendJSON(nil, []chat.Value{int64(1), 'x'}, chat.Format{}); !errors.As(err, &kind) ||
		!strings.Contains(err.Error(), "int32") {
		t.Errorf("got %v, want a KindError", err)
	}
	if _, err := chat.AppendJSON(nil, []chat.Value{"aaaa", "b", "c"}, chat.Format{MaxBytes: 5}); !errors.Is(err,
		chat.ErrTooLarge) {
		t.Errorf("got %v, want ErrTooLarge", err)
	}
	var deep chat.Value
	for range 20_000 {
		deep = []chat.Value{deep}
	}
	if _, err := chat.AppendJSON(nil, deep, chat.Format{}); !errors.Is(err, chat.ErrTooLarge) {
		t.Errorf("got %v, want ErrTooLarge", err)
	}
	odd := chat.Format{Kind: func(v any) (chat.Value, bool) { r, ok := v.(rune); return string(r), ok },
		Key: strings.ToUpper}
	if got, err := chat.AppendJSON(nil, chat.NewObject("k", 'x'), odd); err != nil || string(got) != `{"K": "x"}` {
		t.Errorf("got %s (%v)", got, err)
	}
}

// What Decode accepts is what encoding/json accepts and strict readers do not refuse; writing it loses nothing.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"a": [1.50, -0, 1e400, "\u00e9\ud83d\ude00", null, true], "b": {"a": {}}}`, `{"a":1,"a":2}`, "\"\xff\"",
		`"\ud800"`, `[[[[`, `1e5 `, `{"": ""}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		v, err := chat.Decode(text, chat.DecodeOptions{})
		if err != nil {
			var syntax *chat.SyntaxError
			if !errors.As(err, &syntax) || syntax.Offset < 0 || syntax.Offset > len(text) {
				t.Fatalf("error %#v", err)
			}
			return
		}
		if !json.Valid(text) {
			t.Fatal("encoding/json refuses it")
		}
		if lenient, err := chat.Decode(text, chat.DecodeOptions{LastWins: true}); err != nil ||
			!reflect.DeepEqual(lenient, v) {
			t.Fatalf("last-wins gives %#v (%v)", lenient, err)
		}
		short, err := chat.AppendJSON(nil, v, compact())
		if err != nil {
			t.Fatal(err)
		}
		if back, err := chat.Decode(short, chat.DecodeOptions{}); err != nil || !reflect.DeepEqual(back, v) {
			t.Fatalf("%s reads back as %#v (%v)", short, back, err)
		}
		for _, format := range []chat.Format{{}, {Indent: " "}, {EnsureASCII: true}} {
			written, err := chat.AppendJSON(nil, v, format)
			if err != nil || !json.Valid(bytes.ReplaceAll(written, []byte("Infinity"), []byte("0"))) {
				t.Fatalf("%+v: %s (%v)", format, written, err)
			}
		}
	})
}

// compact is the shortest form, numbers as they were written.
func compact() chat.Format {
	return chat.Format{ItemSeparator: ",", KeySeparator: ":", KeepNumbers: true}
}
