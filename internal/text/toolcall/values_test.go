package toolcall

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"hone/internal/chat"
)

// xmlForms write a call of f with text arguments, each value between the form's own tags, and no closing tag where a
// value ends in CUT.
func xmlForms() map[string]func(arguments ...string) string {
	pairs := func(arguments []string, one func(name, value string) string, shut string) string {
		var b strings.Builder
		for i := 0; i < len(arguments); i += 2 {
			value, cut := strings.CutSuffix(arguments[i+1], "CUT")
			text := one(arguments[i], value)
			if cut {
				text = strings.Replace(text, shut, "", strings.Count(text, shut))
			}
			b.WriteString(text)
		}
		return b.String()
	}
	return map[string]func(arguments ...string) string{
		"qwen3_coder": func(a ...string) string {
			return "<tool_call>\n<function=f>\n" + pairs(a, func(n, v string) string {
				return "<parameter=" + n + ">\n" + v + "\n</parameter>\n"
			}, "</parameter>") +
				"</function>\n</tool_call>"
		},
		"minimax_m2": func(a ...string) string {
			return "<minimax:tool_call>\n<invoke name=\"f\">\n" + pairs(a, func(n, v string) string {
				return `<parameter name="` + n + `">` + v + "</parameter>\n"
			}, "</parameter>") +
				"</invoke>\n</minimax:tool_call>"
		},
		"glm45": func(a ...string) string {
			return "<tool_call>f\n" + pairs(a, func(n, v string) string {
				return "<arg_key>" + n + "</arg_key>\n<arg_value>" + v + "</arg_value>\n"
			}, "</arg_value>") + "</tool_call>"
		},
		"deepseek_v32": func(a ...string) string {
			return "<" + dsml + "function_calls>\n<" + dsml + "invoke name=\"f\">\n" +
				pairs(a, func(n, v string) string {
					return "<" + dsml + `parameter name="` + n + `">` + v + "</" + dsml + "parameter>\n"
				}, "</"+dsml+"parameter>") + "</" + dsml + "invoke>\n</" + dsml + "function_calls>"
		},
		"gemma4": func(a ...string) string {
			return "<|tool_call>call:f{" +
				strings.TrimSuffix(pairs(a, func(n, v string) string { return n + `:<|"|>` + v + `<|"|>,` }, ""), ",") +
				"}<tool_call|>"
		},
		"functiongemma": func(a ...string) string {
			return "<start_function_call>call:f{" +
				strings.TrimSuffix(pairs(a, func(n, v string) string { return n + `:<escape>` + v + `<escape>,` }, ""),
					",") + "}<end_function_call>"
		},
	}
}

func valueTools() []chat.Tool {
	const schema = `{"type": "object", "properties": {"path": {"type": "string"}, "content": {"type": "string"}, "meta": {"type": "object"},
		"tags": {"type": "array", "items": {"type": "string"}}, "either": {"anyOf": [{"type": "object"}, {"type": "null"}]}, "ref": {"$ref": "#/$defs/X"},
		"members": {"properties": {"a": {"type": "integer"}}}, "listed": {"items": {}}, "mixed": {"type": ["object", "string"]}, "untyped": {},
		"flag": {"type": "boolean"}, "n": {"type": "integer"}, "x": {"type": "number"}, "all": {"allOf": [{"type": "array"}]}},
		"$defs": {"X": {"type": "object"}}, "required": ["path"]}`
	return []chat.Tool{{Name: "f", InputSchema: json.RawMessage(schema)}}
}

// A tag of the form in a value is text; a value that is cut is no call.
func TestTagsInValues(t *testing.T) {
	texts := []string{
		"a </function> b </tool_call> c", "</function>", "</tool_call>", "<tool_call>",
		"a\n</function>\n</tool_call>\nb", "<function=g> x", "a </invoke> b", "</invoke>\n</minimax:tool_call>",
		"<invoke name=\"g\">", "</minimax:tool_call> c", "</" + dsml + "invoke>", "</" + dsml + "function_calls>\n",
		"<" + dsml + "invoke name=\"g\">", "a </tool_call>\n<tool_call>f\n b", "<tool_call|> b", "<|tool_call>call:g{",
		"x <end_function_call> y", "<start_function_call>", "a <b>1</b> </div>\n", "<parameter=other> x",
		"</tool_call></tool_call></function></function>", "</function", "<", "if a < b && b > c", "{\"name\": \"f\"}",
		"<arg_key>", "</arg_key>", "a </parameter> b", "a </arg_value> b", "</" + dsml + "parameter> z",
	}
	for form, write := range xmlForms() {
		f, err := ByName(form)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range texts {
			for _, mend := range []bool{false, true} {
				o := Options{Tools: valueTools(), Repair: mend}
				for _, call := range []string{
					write("path", "p", "content", text), write("content", text, "path", "p"), write("content", text),
				} {
					for name, wire := range map[string]string{
						"alone":        call,
						"twice":        call + "\n" + call,
						"behind words": "I write it.\n" + call,
					} {
						got := f.Parse(wire, o)
						want := 1 + strings.Count(name, "twice")
						if len(got.Calls) != want || got.Err != "" || len(got.Repairs) > 0 || !got.Complete {
							t.Errorf("%s, %s, mend %v: %q: %+v", form, name, mend, text, got)
							continue
						}
						for _, c := range got.Calls {
							var arguments map[string]string
							if json.Unmarshal([]byte(c.Arguments), &arguments) != nil ||
								strings.Trim(arguments["content"], "\n") != strings.Trim(text, "\n") {
								t.Errorf("%s, %s, mend %v: %q is read as %s", form, name, mend, text, c.Arguments)
							}
						}
						checkStream(t, f, o, got, strings.Split(wire, "")...)
					}
				}
			}
		}
	}
}

// A value without its closing tag is mended where that is asked for and it can be told where it ends, and is no call
// else.
func TestValuesThatDoNotEnd(t *testing.T) {
	for form, write := range xmlForms() {
		f, _ := ByName(form)
		if !strings.Contains(form, "gemma") {
			for _, wire := range []string{
				write("content", "a </function> bCUT"), write("content", "a </tool_call> </invoke> bCUT"),
				write("content", "aCUT", "path", "p"), write("path", "p", "content", "aCUT"),
			} {
				for _, mend := range []bool{false, true} {
					o := Options{Tools: valueTools(), Repair: mend}
					got := f.Parse(wire, o)
					whole := len(got.Calls) == 1 && mend && slices.Contains(got.Repairs, MissingClosingTag)
					if bad := len(got.Calls) == 0 && got.Err != ""; !bad && !whole {
						t.Errorf("%s, mend %v: %q: %+v", form, mend, wire, got)
					}
					checkStream(t, f, o, got, strings.Split(wire, "")...)
				}
			}
		}
		call := write("path", "p", "content", "a </function> </tool_call> </invoke> b")
		for i := range len(call) - 1 { // where a completion ends at its limit
			if got := f.Parse(call[:i], Options{Tools: valueTools()}); len(got.Calls) > 0 &&
				!strings.Contains(got.Calls[0].Arguments, "</invoke> b") {
				t.Errorf("%s: %q is read as %s", form, call[:i], got.Calls[0].Arguments)
			}
		}
	}
}

// Python's values are those of their type, and told of; where text is allowed as well they are text. Nothing need be
// mended for it where the schema has a type.
func TestPythonValues(t *testing.T) {
	literal := []Repair{PythonLiteral}
	for _, x := range []struct {
		name, value, want string
		repairs           []Repair
	}{
		{"meta", `{'theme': 'dark', 'size': 14}`, `{"theme":"dark","size":14}`, literal},
		{"meta", `{'a': True, 'b': None, 'c': [1, 'x'], 'd': {'e': False}}`, `{"a":true,"b":null,"c":[1,"x"],"d":{"e":false}}`, literal},
		{"meta", `{"a": True}`, `{"a":true}`, literal},
		{"meta", `{'it': "it's", 'q': 'say "x"', 'n': 'a\nb', 'é': '日本'}`, `{"it":"it's","q":"say \"x\"","n":"a\nb","é":"日本"}`, literal},
		{"meta", `{'a': 1,}`, `{"a":1}`, literal},
		{"meta", `{}`, `{}`, nil},
		{"meta", `{"a": 1}`, `{"a":1}`, nil},
		{"meta", `{a: 1}`, `{"a":1}`, []Repair{UnquotedKey}},
		{"meta", `{'a': it}`, `"{'a': it}"`, nil},
		{"meta", `see {'a': 1}`, `"see {'a': 1}"`, nil},
		{"tags", `['a', 'b']`, `["a","b"]`, literal},
		{"tags", `('a', 'b')`, `["a","b"]`, literal},
		{"tags", `[ 'a' , ]`, `["a"]`, literal},
		{"tags", `["a", "b",]`, `["a","b"]`, literal},
		{"tags", `[]`, `[]`, nil},
		{"tags", `a, b`, `"a, b"`, nil},
		{"all", `[None, True]`, `[null,true]`, literal},
		{"either", `{'a': 1}`, `{"a":1}`, literal},
		{"either", `None`, `null`, literal},
		{"ref", `{'k': 1}`, `{"k":1}`, literal},
		{"members", `{'a': 1}`, `{"a":1}`, literal},
		{"listed", `['a']`, `["a"]`, literal},
		{"untyped", `{'a': 1}`, `{"a":1}`, literal},
		{"untyped", `['a']`, `["a"]`, literal},
		{"untyped", `('a')`, `"('a')"`, nil},
		{"untyped", `True`, `"True"`, nil},
		{"mixed", `{'a': 1}`, `"{'a': 1}"`, nil},
		{"content", `{'a': 1}`, `"{'a': 1}"`, nil},
		{"content", `['a']`, `"['a']"`, nil},
		{"flag", `True`, `true`, literal},
		{"n", `1_000`, `1000`, []Repair{NumberForm}},
		{"n", `0x10`, `16`, []Repair{NumberForm}},
		{"n", `1.5`, `1.5`, nil},
		{"x", `.5`, `0.5`, []Repair{NumberForm}},
		{"x", `nan`, `"nan"`, nil},
	} {
		for form, write := range xmlForms() {
			if strings.Contains(form, "gemma") {
				continue // its strings have marks
			}
			f, _ := ByName(form)
			wire := write(x.name, x.value)
			got := f.Parse(wire, Options{Tools: valueTools(), Repair: true})
			if want := `{"` + x.name + `": ` + x.want + `}`; len(got.Calls) != 1 ||
				!sameJSON(got.Calls[0].Arguments, want) || !reflect.DeepEqual(got.Repairs, x.repairs) {
				t.Errorf("%s: %s of %s: %+v, want %s %q", form, x.value, x.name, got, want, x.repairs)
			}
			want, repairs := x.want, x.repairs
			if len(repairs) > 0 && (x.name == "untyped" || repairs[0] != PythonLiteral) {
				want, repairs = quote(x.value), nil
			}
			strict := f.Parse(wire, Options{Tools: valueTools()})
			if want = `{"` + x.name + `": ` + want + `}`; len(strict.Calls) != 1 ||
				!sameJSON(strict.Calls[0].Arguments, want) || !reflect.DeepEqual(strict.Repairs, repairs) {
				t.Errorf("%s, strict: %s of %s: %+v, want %s %q", form, x.value, x.name, strict, want, repairs)
			}
		}
	}
}
