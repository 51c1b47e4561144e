package toolcall

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"hone/internal/chat"
)

// trap is a text that a careless parser reads wrongly.
type trap struct {
	form, name, text string
	mend             bool // with Options.Repair
	content          string
	calls            string // "f({}) g({})", exactly
	open             bool   // the text ends inside a block
	repairs          []Repair
	why              string // what the error says
}

const (
	xmlCall  = "<tool_call>\n<function=f>\n<parameter=x>\n1\n</parameter>\n</function>\n</tool_call>"
	hermesF  = "<tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call>"
	kimiF    = kimiCall + "functions.f:0" + kimiArguments + "{}" + kimiCallEnd
	dsF      = dsCall + "f" + dsSeparator + "{}" + dsCallEnd
	harmonyF = "<|channel|>commentary to=functions.f <|constrain|>json<|message|>{}<|call|>"
)

func traps() []trap {
	outer, closing := []Repair{MissingOuterTag}, []Repair{MissingClosingTag}
	return []trap{
		// Hermes: strict JSON, tags inside strings, blocks that are none.
		{
			form:  "hermes",
			name:  "tag in a string",
			text:  `<tool_call>{"name": "f", "arguments": {"a": "\"</tool_call>\\"}}</tool_call>`,
			calls: `f({"a": "\"</tool_call>\\"})`,
		},
		{
			form:  "hermes",
			name:  "opening tag in a string",
			text:  `<tool_call>{"name": "f", "arguments": {"a": "<tool_call>"}}</tool_call>`,
			calls: `f({"a": "<tool_call>"})`,
		},
		{
			form:  "hermes",
			name:  "kept as written",
			text:  `<tool_call>{"name": "f", "arguments": {"b":1.0,  "a": 1e400, "u":"\u00e9"} }</tool_call>`,
			calls: `f({"b":1.0,  "a": 1e400, "u":"\u00e9"})`,
		},
		{form: "hermes", name: "arguments before name", text: `<tool_call>{"arguments":{},"name":"f"}</tool_call>`, calls: "f({})"},
		{form: "hermes", name: "encoded twice", text: `<tool_call>{"name": "f", "arguments": "{\"a\": 1}"}</tool_call>`,
			calls: `f({"a": 1})`, repairs: []Repair{DoubleEncoded}},
		{form: "hermes", name: "another member", text: `<tool_call>{"id": 7, "name": "f", "arguments": {}}</tool_call>`,
			calls: "f({})", repairs: []Repair{IgnoredMember}},
		{form: "hermes", name: "missing brace", text: `a<tool_call>{"name": "f", "arguments": {}</tool_call>`,
			content: `a<tool_call>{"name": "f", "arguments": {}</tool_call>`, why: "breaks off"},
		{
			form:    "hermes",
			name:    "missing brace, mended",
			mend:    true,
			text:    `<tool_call>{"name": "f", "arguments": {}</tool_call>`,
			calls:   "f({})",
			repairs: []Repair{MissingCloser},
		},
		{
			form:    "hermes",
			name:    "Python, mended",
			mend:    true,
			text:    `<tool_call>{'name': 'f', 'arguments': {'a': True,}}</tool_call>`,
			calls:   `f({"a": true})`,
			repairs: []Repair{SingleQuotes, PythonLiteral, TrailingComma},
		},
		{form: "hermes", name: "Python", text: `<tool_call>{'name': 'f'}</tool_call>`,
			content: `<tool_call>{'name': 'f'}</tool_call>`, why: "invalid character"},
		{
			form:    "hermes",
			name:    "line break in a string, mended",
			mend:    true,
			text:    "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": \"x\ny\"}}</tool_call>",
			calls:   `f({"a": "x\ny"})`,
			repairs: []Repair{ControlCharacter},
		},
		{
			form:    "hermes",
			name:    "tag in a string, then cut",
			text:    `<tool_call>{"name": "f", "arguments": {"a": "</tool_call>"}}`,
			calls:   `f({"a": "</tool_call>"})`,
			open:    true,
			repairs: closing,
			why:     "unterminated",
		},
		{
			form:    "hermes",
			name:    "tag in a string, then cut, mended",
			mend:    true,
			text:    `<tool_call>{"name": "f", "arguments": {"a": "</tool_call>"}}`,
			calls:   `f({"a": "</tool_call>"})`,
			open:    true,
			repairs: closing,
			why:     "unterminated",
		},
		{
			form:    "hermes",
			name:    "inner JSON, mended",
			mend:    true,
			text:    `<tool_call>{"name": "f", "arguments": "{'a': 1}"}</tool_call>`,
			calls:   `f({"a": 1})`,
			repairs: []Repair{DoubleEncoded, SingleQuotes},
		},
		{
			form:    "hermes",
			name:    "repeated key",
			text:    `<tool_call>{"name": "f", "arguments": {"a": 1, "a": 2}}</tool_call>`,
			content: `<tool_call>{"name": "f", "arguments": {"a": 1, "a": 2}}</tool_call>`,
			why:     "duplicate",
		},
		{
			form:    "hermes",
			name:    "repeated key is not mended",
			mend:    true,
			text:    `<tool_call>{"name": "f", "arguments": {"a": 1, "a": 2}}</tool_call>`,
			content: `<tool_call>{"name": "f", "arguments": {"a": 1, "a": 2}}</tool_call>`,
			why:     "duplicate",
		},
		{
			form:    "hermes",
			name:    "NaN is not mended",
			mend:    true,
			text:    `<tool_call>{"name": "f", "arguments": {"a": NaN}}</tool_call>`,
			content: `<tool_call>{"name": "f", "arguments": {"a": NaN}}</tool_call>`,
			why:     "invalid character",
		},
		{form: "hermes", name: "no name", text: `<tool_call>{"arguments": {}}</tool_call>`,
			content: `<tool_call>{"arguments": {}}</tool_call>`, why: `"name" is missing`},
		{form: "hermes", name: "a number for name", text: `<tool_call>{"name": 1, "arguments": {}}</tool_call>`,
			content: `<tool_call>{"name": 1, "arguments": {}}</tool_call>`, why: `"name" is not a string`},
		{form: "hermes", name: "no arguments", text: `<tool_call>{"name": "f"}</tool_call>`,
			content: `<tool_call>{"name": "f"}</tool_call>`, why: `"arguments" is missing`},
		{form: "hermes", name: "no arguments, mended", mend: true, text: `<tool_call>{"name": "f"}</tool_call>`,
			calls: "f({})", repairs: []Repair{MissingArguments}},
		{
			form:    "hermes",
			name:    "null arguments, mended",
			mend:    true,
			text:    `<tool_call>{"name": "f", "arguments": null}</tool_call>`,
			calls:   "f({})",
			repairs: []Repair{MissingArguments},
		},
		{
			form:    "hermes",
			name:    "an empty text for arguments, mended",
			mend:    true,
			text:    `<tool_call>{"name": "f", "arguments": ""}</tool_call>`,
			calls:   "f({})",
			repairs: []Repair{MissingArguments},
		},
		{form: "mistral_v3", name: "no arguments, mended", mend: true, text: `[TOOL_CALLS][{"name": "f"}]`,
			calls: "f({})", repairs: []Repair{MissingArguments}},
		{
			form:    "hermes",
			name:    "another form's key is not dropped",
			mend:    true,
			text:    `<tool_call>{"name": "f", "parameters": {"a": 1}}</tool_call>`,
			content: `<tool_call>{"name": "f", "parameters": {"a": 1}}</tool_call>`,
			why:     `"arguments" is missing`,
		},
		{
			form:    "hermes",
			name:    "a list for arguments, mended",
			mend:    true,
			text:    `<tool_call>{"name": "f", "arguments": [1]}</tool_call>`,
			content: `<tool_call>{"name": "f", "arguments": [1]}</tool_call>`,
			why:     "not a JSON object",
		},
		{form: "hermes", name: "another form's key", text: `<tool_call>{"name": "f", "parameters": {}}</tool_call>`,
			content: `<tool_call>{"name": "f", "parameters": {}}</tool_call>`, why: `"arguments" is missing`},
		{form: "hermes", name: "null arguments", text: `<tool_call>{"name": "f", "arguments": null}</tool_call>`,
			content: `<tool_call>{"name": "f", "arguments": null}</tool_call>`, why: "not a JSON object"},
		{form: "hermes", name: "text for arguments", text: `<tool_call>{"name": "f", "arguments": "hi"}</tool_call>`,
			content: `<tool_call>{"name": "f", "arguments": "hi"}</tool_call>`, why: "not a JSON object"},
		{
			form:    "hermes",
			name:    "text behind the object",
			text:    `<tool_call>{"name": "f", "arguments": {}} ok</tool_call>`,
			content: `<tool_call>{"name": "f", "arguments": {}} ok</tool_call>`,
			why:     "follows",
		},
		{form: "hermes", name: "an array", text: `<tool_call>[{"name": "f", "arguments": {}}]</tool_call>`,
			content: `<tool_call>[{"name": "f", "arguments": {}}]</tool_call>`, why: "not a JSON object"},
		{form: "hermes", name: "nothing", text: `<tool_call></tool_call>`, content: `<tool_call></tool_call>`, why: "breaks off"},
		{form: "hermes", name: "tag in prose", text: "I write <tool_call> to call.\n" + hermesF,
			content: "I write <tool_call> to call.\n", calls: "f({})", why: "invalid character"},
		{form: "hermes", name: "lone closing tag", text: "a </tool_call> b", content: "a </tool_call> b"},
		{form: "hermes", name: "half a tag", text: "a <tool_cal b", content: "a <tool_cal b"},
		{form: "hermes", name: "quote that does not close", text: `<tool_call>{"name": "f</tool_call>` + "\n" + hermesF,
			content: `<tool_call>{"name": "f</tool_call>`, calls: "f({})", why: "invalid character"},
		{form: "hermes", name: "call without closing tag before another",
			text: `<tool_call>{"name": "f", "arguments": {}}` + "\n" + hermesF, calls: "f({}) f({})", repairs: closing},
		{form: "hermes", name: "invalid UTF-8", text: "<tool_call>{\"name\": \"\xff\", \"arguments\": {}}</tool_call>",
			content: "<tool_call>{\"name\": \"\xff\", \"arguments\": {}}</tool_call>", why: "UTF-8"},
		{form: "hermes", name: "reasoning is content", text: "<think>\nhm\n</think>\n\n" + hermesF, content: "<think>\nhm\n</think>\n", calls: "f({})"},

		// XML-like parameters.
		{form: "qwen3_coder", name: "no outer tag", text: "<function=f>\n<parameter=x>\n1\n</parameter>\n</function>", calls: `f({"x": 1})`, repairs: outer},
		{form: "qwen3_coder", name: "no closing outer tag", text: "<tool_call>\n<function=f>\n</function>\n" + xmlCall,
			calls: `f({}) f({"x": 1})`, repairs: closing},
		{
			form:    "qwen3_coder",
			name:    "no closing function tag",
			text:    "<tool_call>\n<function=f>\n<parameter=x>\n1\n</parameter>\n</tool_call>\n" + xmlCall,
			calls:   `f({"x": 1}) f({"x": 1})`,
			repairs: closing,
		},
		{
			form: "qwen3_coder",
			name: "no closing parameter tag",
			mend: true,
			text: "<tool_call>\n<function=f>\n<parameter=x>\n1\n<parameter=y>\n2\n</parameter>\n</function>\n" +
				"</tool_call>",
			calls:   `f({"x": 1, "y": 2})`,
			repairs: closing,
		},
		{form: "qwen3_coder", name: "outer tag in prose", text: "the tag <tool_call> is\n" + xmlCall,
			content: "the tag <tool_call> is", calls: `f({"x": 1})`, why: "no call follows"},
		{form: "qwen3_coder", name: "outer tag at the end", text: "a <tool_call>\n", content: "a <tool_call>\n", open: true, why: "unterminated"},
		{form: "qwen3_coder", name: "no end of the section", text: "<tool_call>\n<function=f>\n</function>\n",
			calls: "f({})", open: true, why: "no </tool_call>"},
		{
			form:    "qwen3_coder",
			name:    "repeated parameter",
			text:    "<function=f>\n<parameter=x>\n1\n</parameter>\n<parameter=x>\n2\n</parameter>\n</function>",
			content: "<function=f>\n<parameter=x>\n1\n</parameter>\n<parameter=x>\n2\n</parameter>\n</function>",
			why:     "twice",
		},
		{form: "qwen3_coder", name: "text between parameters", text: "<function=f>\noops\n</function>",
			content: "<function=f>\noops\n</function>", why: "not a parameter"},
		{
			form:    "qwen3_coder",
			name:    "JSON inside",
			text:    "<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>",
			content: "<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>",
			why:     "no call follows",
		},
		{form: "qwen3_coder", name: "markup in a value", text: "<function=f>\n<parameter=s>\n<b>1 < 2</b>\n" +
			"</parameter>\n</function>", calls: `f({"s": "<b>1 < 2</b>"})`, repairs: outer},
		{form: "qwen3_coder", name: "parameter without end of name", text: "<function=f>\n<parameter=x\n</function>",
			content: "<function=f>\n<parameter=x\n</function>", why: "name has no end"},
		{
			form:    "qwen3_coder",
			name:    "parameter without name",
			text:    "<function=f>\n<parameter=>\n1</parameter></function>",
			content: "<function=f>\n<parameter=>\n1</parameter></function>",
			why:     "no parameter's name",
		},
		{form: "glm45", name: "one line", text: "<tool_call>f<arg_key>x</arg_key><arg_value>1</arg_value></tool_call>", calls: `f({"x": 1})`},
		{form: "glm45", name: "value with line breaks", text: "<tool_call>f\n<arg_key>s</arg_key>\n<arg_value>a\nb\n" +
			"</arg_value>\n</tool_call>", calls: `f({"s": "a\nb\n"})`},
		{form: "glm45", name: "key without value", text: "<tool_call>f\n<arg_key>x</arg_key>\n</tool_call>",
			content: "<tool_call>f\n<arg_key>x</arg_key>\n</tool_call>", why: "no <arg_value>"},
		{
			form:    "glm45",
			name:    "value that does not end",
			text:    "<tool_call>f\n<arg_key>x</arg_key><arg_value>1</tool_call>",
			content: "<tool_call>f\n<arg_key>x</arg_key><arg_value>1</tool_call>",
			why:     "no </arg_value>",
		},
		{form: "glm45", name: "JSON inside", text: hermesF, content: hermesF, why: "no name"},
		{
			form:    "glm45",
			name:    "repeated key",
			text:    "<tool_call>f<arg_key>x</arg_key><arg_value>1</arg_value><arg_key>x</arg_key><arg_value>2</arg_value></tool_call>",
			content: "<tool_call>f<arg_key>x</arg_key><arg_value>1</arg_value><arg_key>x</arg_key><arg_value>2</arg_value></tool_call>",
			why:     "twice",
		},
		{form: "glm45", name: "call without closing tag before another",
			text: "<tool_call>f\n<tool_call>g\n</tool_call>", calls: "f({}) g({})", repairs: closing},
		{
			form:  "minimax_m2",
			name:  "quotes around names",
			text:  "<minimax:tool_call><invoke name='f'><parameter name=x>1</parameter></invoke></minimax:tool_call>",
			calls: `f({"x": 1})`,
		},
		{form: "minimax_m2", name: "no outer tag", text: `<invoke name="f"></invoke>`, calls: "f({})", repairs: outer},
		{
			form:    "minimax_m2",
			name:    "white space is data",
			text:    `<invoke name="f"><parameter name="s"> a </parameter></invoke>`,
			calls:   `f({"s": " a "})`,
			repairs: outer,
		},
		{
			form: "deepseek_v4",
			name: "marked values",
			text: "<" + dsml + `invoke name="f"><` + dsml + `parameter name="a" string="true">1</` +
				dsml + "parameter><" + dsml + `parameter name="b" string="false">[1]</` + dsml + "parameter><" + dsml +
				`parameter name="c">x</` + dsml + "parameter></" + dsml + "invoke>",
			calls:   `f({"a": "1", "b": [1], "c": "x"})`,
			repairs: outer,
		},
		{
			form: "deepseek_v4",
			name: "no JSON where it is marked",
			text: "<" + dsml + `invoke name="f"><` + dsml + `parameter name="a" string="false">x y</` + dsml +
				"parameter></" + dsml + "invoke>",
			calls:   `f({"a": "x y"})`,
			repairs: outer,
		},
		{
			form: "deepseek_v32",
			name: "the other section",
			text: "<" + dsml + "tool_calls>\n<" + dsml + "invoke name=\"f\">\n</" + dsml + "invoke>\n</" + dsml +
				"tool_calls>",
			calls: "f({})",
		},
		{
			form: "deepseek_v32",
			name: "the wrong closing tag",
			text: "<" + dsml + "tool_calls><" + dsml + "invoke name=\"f\"></" + dsml + "invoke></" + dsml +
				"function_calls>",
			content: "</" + dsml + "function_calls>",
			calls:   "f({})",
			open:    true,
			why:     "closes nothing",
		},

		// Special tokens around JSON.
		{form: "deepseek_v3", name: "V3.1 inside", text: dsSection + dsF + dsSectionEnd, calls: "f({})"},
		{form: "deepseek_v3", name: "fence without line breaks",
			text: dsCall + "function" + dsSeparator + "f```json{}```" + dsCallEnd, calls: "f({})", repairs: outer},
		{
			form:    "deepseek_v3",
			name:    "fence that does not end",
			text:    dsCall + "function" + dsSeparator + "f\n```json\n{}" + dsCallEnd,
			content: dsCall + "function" + dsSeparator + "f\n```json\n{}" + dsCallEnd,
			why:     "fence does not end",
		},
		{
			form:    "deepseek_v3",
			name:    "text behind the fence",
			text:    dsCall + "function" + dsSeparator + "f\n```json\n{}\n```x" + dsCallEnd,
			content: dsCall + "function" + dsSeparator + "f\n```json\n{}\n```x" + dsCallEnd,
			why:     "follows the code fence",
		},
		{
			form:    "deepseek_v31",
			name:    "fence in a string",
			text:    dsCall + "f" + dsSeparator + "{\"a\": \"```\"}" + dsCallEnd,
			calls:   "f({\"a\": \"```\"})",
			repairs: outer,
		},
		{form: "deepseek_v31", name: "no name", text: dsCall + dsSeparator + "{}" + dsCallEnd,
			content: dsCall + dsSeparator + "{}" + dsCallEnd, why: "no name"},
		{form: "deepseek_v31", name: "no end of the section", text: dsSection + dsF, calls: "f({})", open: true, why: dsSectionEnd},
		{
			form:  "kimi_k2",
			name:  "dotted name",
			text:  kimiSection + kimiCall + "functions.a.b:12" + kimiArguments + "{}" + kimiCallEnd + kimiSectionEnd,
			calls: "a.b({})",
		},
		{
			form: "kimi_k2",
			name: "space around",
			text: kimiSection + "\n" + kimiCall + " functions.f:0 " + kimiArguments + " {} " + kimiCallEnd + "\n" +
				kimiSectionEnd,
			calls: "f({})",
		},
		{form: "kimi_k2", name: "no index", text: kimiCall + "functions.f" + kimiArguments + "{}" + kimiCallEnd,
			content: kimiCall + "functions.f" + kimiArguments + "{}" + kimiCallEnd, why: "NAME:INDEX"},
		{
			form:    "kimi_k2",
			name:    "index that is none",
			text:    kimiCall + "functions.f:x" + kimiArguments + "{}" + kimiCallEnd,
			content: kimiCall + "functions.f:x" + kimiArguments + "{}" + kimiCallEnd,
			why:     "NAME:INDEX",
		},
		{form: "kimi_k2", name: "no section", text: kimiF, calls: "f({})", repairs: outer},
		{form: "kimi_k2", name: "the end of no section", text: "a" + kimiSectionEnd + "b", content: "a" + kimiSectionEnd + "b"},
		{form: "pythonic", name: "a bracket at the end", text: "a [", content: "a ["},
		{form: "pythonic", name: "a string behind one of three quotes", text: `[f(a="""x""", b="y]", c='z')]`, calls: `f({"a": "x", "b": "y]", "c": "z"})`},
		{form: "pythonic", name: "octal", text: "[f(a=07)]", content: "[f(a=07)]", why: "no value"},
		{form: "pythonic", name: "two halves of another character", text: `[f(a="\udc00\udc00")]`,
			content: `[f(a="\udc00\udc00")]`, why: "half of a character"},
		{
			form:    "mistral_v3",
			name:    "a backslash outside of strings",
			text:    `[TOOL_CALLS][{"name": "f", "arguments": {}}\] x`,
			content: `\] x`,
			calls:   "f({})",
			why:     "not a call",
		},
		{form: "kimi_k2", name: "empty section", text: "a" + kimiSection + kimiSectionEnd, content: "a" + kimiSection + kimiSectionEnd, why: "no call follows"},
		{
			form: "kimi_k2",
			name: "text inside the section",
			text: kimiSection + kimiF + "hm" + kimiCall + "functions.f:1" + kimiArguments + "{}" +
				kimiCallEnd + kimiSectionEnd,
			content: "hm",
			calls:   "f({}) f({})",
		},

		// Gemma's own literals.
		{form: "gemma4", name: "braces in a string", text: `<|tool_call>call:f{a:<|"|>},{"'<|"|>}<tool_call|>`, calls: `f({"a": "},{\"'"})`},
		{form: "gemma4", name: "quoted key", text: `<|tool_call>call:f{<|"|>a<|"|>:1}<tool_call|>`, calls: `f({"a": 1})`},
		{form: "gemma4", name: "string without marks", text: `<|tool_call>call:f{a:red, b:true}<tool_call|>`,
			calls: `f({"a": "red", "b": true})`, repairs: []Repair{UnquotedString}},
		{form: "gemma4", name: "infinite number", text: `<|tool_call>call:f{a:1e999}<tool_call|>`,
			calls: `f({"a": "1e999"})`, repairs: []Repair{UnquotedString}},
		{form: "gemma4", name: "no comma", text: `<|tool_call>call:f{a:[1]b:2}<tool_call|>`,
			content: `<|tool_call>call:f{a:[1]b:2}<tool_call|>`, why: "no comma"},
		{form: "gemma4", name: "no value", text: `<|tool_call>call:f{a:}<tool_call|>`, content: `<|tool_call>call:f{a:}<tool_call|>`, why: "value is missing"},
		{form: "gemma4", name: "no colon", text: `<|tool_call>call:f{a}<tool_call|>`, content: `<|tool_call>call:f{a}<tool_call|>`, why: "no value"},
		{form: "gemma4", name: "open string", text: `<|tool_call>call:f{a:<|"|>x}<tool_call|>`,
			content: `<|tool_call>call:f{a:<|"|>x}<tool_call|>`, why: "string does not end"},
		{form: "gemma4", name: "text behind", text: `<|tool_call>call:f{}x<tool_call|>`, content: `<|tool_call>call:f{}x<tool_call|>`, why: "follows"},
		{form: "gemma4", name: "repeated key", text: `<|tool_call>call:f{a:1,a:2}<tool_call|>`,
			content: `<|tool_call>call:f{a:1,a:2}<tool_call|>`, why: "twice"},
		{form: "gemma4", name: "deep", text: "<|tool_call>call:f{a:" + strings.Repeat("[", 200) + "<tool_call|>",
			content: "<|tool_call>call:f{a:" + strings.Repeat("[", 200) + "<tool_call|>", why: "too many values"},
		{form: "functiongemma", name: "line breaks in a string", text: "<start_function_call>call:f{a:<escape>x\r\n" +
			"y<escape>}<end_function_call>", calls: `f({"a": "x\r\ny"})`},

		// Python calls.
		{form: "pythonic", name: "bad sibling", text: "[f(), g(1), h(a=2)]", content: "g(1)", calls: `f({}) h({"a": 2})`, why: "argument has no name"},
		{form: "pythonic", name: "bad sibling last", text: "[f(), g(1)]\n", content: "g(1)", calls: "f({})", why: "argument has no name"},
		{form: "pythonic", name: "a name that is a number", text: "[f(), 1g()]", content: "1g()", calls: "f({})", why: "no name"},
		{form: "pythonic", name: "infinite number", text: "[f(a=1e999)]", content: "[f(a=1e999)]", why: "no value"},
		{form: "pythonic", name: "a name for a value", text: "[f(a=b)]", content: "[f(a=b)]", why: "no value"},
		{form: "pythonic", name: "a link in prose", text: "see [the docs](x) and [f(x)](y)", content: "see [the docs](x) and [f(x)](y)"},
		{form: "pythonic", name: "a list at the front", text: "[1, 2]", content: "[1, 2]"},
		{form: "pythonic", name: "brackets that do not match", text: "[f(a=1]", content: "[f(a=1]", open: true, why: "unterminated"},
		{form: "pythonic", name: "brackets in strings", text: `[f(a="])'", b=')]"', c='''x'"]''')]`, calls: `f({"a": "])'", "b": ")]\"", "c": "x'\"]"})`},
		{
			form:  "pythonic",
			name:  "escapes",
			text:  `[f(a='\'\\\n\x41\u00e9\U0001F642\101\q\ud83d\ude42', b=r'\d', c='a' "b", d=u'x')]`,
			calls: `f({"a": "'\\\nAé🙂A\\q🙂", "b": "\\d", "c": "ab", "d": "x"})`,
		},
		{form: "pythonic", name: "numbers", text: `[f(a=1_000, b=0x1F, c=.5, d=5., e=+2, g=-3.10, h=1E+05, i=-0b11)]`,
			calls: `f({"a": 1000, "b": 31, "c": 0.5, "d": 5.0, "e": 2, "g": -3.10, "h": 1E+05, "i": -3})`},
		{form: "pythonic", name: "numbers that are none", text: "[f(a=007), g(a=1-2), h(a=3j), i(a=1.2.3)]",
			content: "[f(a=007), g(a=1-2), h(a=3j), i(a=1.2.3)]", why: "no value"},
		{form: "pythonic", name: "values", text: `[f(a=[1, (2, 3), (4), ()], b={'k': None, "l": [True,],}, c=False,)]`,
			calls: `f({"a": [1, [2, 3], 4, []], "b": {"k": null, "l": [true]}, "c": false})`},
		{form: "pythonic", name: "keys that are no strings", text: "[f(a={1: 2})]", content: "[f(a={1: 2})]", why: "key is not a string"},
		{form: "pythonic", name: "half a character", text: `[f(a='\ud83d')]`, content: `[f(a='\ud83d')]`, why: "half of a character"},
		{form: "pythonic", name: "the other half of a character", text: `[f(a='\u0041\ude42')]`, content: `[f(a='\u0041\ude42')]`, why: "half of a character"},
		{form: "pythonic", name: "half a character and another", text: `[f(a='\ud83d\u0041')]`, content: `[f(a='\ud83d\u0041')]`, why: "half of a character"},
		{form: "pythonic", name: "repeated argument", text: "[f(a=1, a=2)]", content: "[f(a=1, a=2)]", why: "twice"},
		{form: "pythonic", name: "reserved words", text: "[f(from=1, class='x')]", calls: `f({"from": 1, "class": "x"})`},
		{form: "pythonic", name: "dotted names", text: "[a.b(x=1)]", calls: `a.b({"x": 1})`},
		{form: "pythonic", name: "Llama 4's marks", text: "<|python_start|>[f()]<|python_end|>", calls: "f({})"},
		{form: "pythonic", name: "marks without a call", text: "a <|python_start|>x<|python_end|>",
			content: "a <|python_start|>x<|python_end|>", why: "no call follows"},
		{form: "pythonic", name: "a bad call and a good one", text: "[f(a=(1, 'x)'), b), g()]", content: "f(a=(1, 'x)'), b)", calls: "g({})", why: "no name"},
		{form: "olmo3", name: "a string that does not end", text: "<function_calls>f(a='x)\ng()</function_calls>",
			content: "f(a='x)", calls: "g({})", why: "does not end"},
		{form: "pythonic", name: "an expression behind a call", text: "[f() + 1, g()]", content: "f() + 1", calls: "g({})", why: "follows the call"},
		{
			form:  "olmo3",
			name:  "JSON literals",
			text:  "<function_calls>f(a=true, b=null, c={\"d\": [false]})</function_calls>",
			calls: `f({"a": true, "b": null, "c": {"d": [false]}})`,
		},
		{form: "olmo3", name: "commas between calls", text: "<function_calls>f(), g()</function_calls>", calls: "f({}) g({})"},
		{form: "olmo3", name: "empty", text: "<function_calls>\n</function_calls>", content: "<function_calls>\n</function_calls>", why: "empty"},
		{form: "lfm2", name: "JSON inside", text: `<|tool_call_start|>[{"name": "f", "arguments": {"a": 1}}]<|tool_call_end|>`, calls: `f({"a": 1})`},
		{form: "lfm2", name: "nothing", text: "<|tool_call_start|>[ <|tool_call_end|>", content: "<|tool_call_start|>[ <|tool_call_end|>", why: "empty"},
		{form: "lfm2", name: "empty list", text: "<|tool_call_start|>[]<|tool_call_end|>", content: "<|tool_call_start|>[]<|tool_call_end|>", why: "empty"},
		{
			form:  "lfm2",
			name:  "JSON and Python values",
			text:  `<|tool_call_start|>[f(a={"b": true}, c=True)]<|tool_call_end|>`,
			calls: `f({"a": {"b": true}, "c": true})`,
		},
		{
			form:    "lfm2",
			name:    "closing token in a string",
			text:    "<|tool_call_start|>[f(a='<|tool_call_end|>')]<|tool_call_end|>",
			content: "<|tool_call_start|>[f(a='<|tool_call_end|>')]<|tool_call_end|>",
			why:     "string does not end",
		},

		{form: `pythonic`, name: `members without comma`, text: `[f(a={'b': 1 'c': 2})]`, content: `[f(a={'b': 1 'c': 2})]`, why: `no comma`},
		{form: `pythonic`, name: `a member without value`, text: `[f(a={'b' 1})]`, content: `[f(a={'b' 1})]`, why: `key has no value`},
		{form: `pythonic`, name: `a member twice`, text: `[f(a={'b': 1, 'b': 2})]`, content: `[f(a={'b': 1, 'b': 2})]`, why: `twice`},
		{form: `pythonic`, name: `a bad member`, text: `[f(a={'b': x})]`, content: `[f(a={'b': x})]`, why: `no value`},
		{form: `pythonic`, name: `a list without comma`, text: `[f(a=[1 2])]`, content: `[f(a=[1 2])]`, why: `no comma`},
		{form: `pythonic`, name: `a bad item`, text: `[f(a=[x])]`, content: `[f(a=[x])]`, why: `no value`},
		{form: `pythonic`, name: `a short escape`, text: `[f(a='\x4')]`, content: `[f(a='\x4')]`, why: `escape`},
		{form: `pythonic`, name: `an escape of no digits`, text: `[f(a='\uZZZZ')]`, content: `[f(a='\uZZZZ')]`, why: `escape is none`},
		{form: `pythonic`, name: `an escape beyond Unicode`, text: `[f(a='\U00110000')]`, content: `[f(a='\U00110000')]`, why: `escape is none`},
		{form: `pythonic`, name: `an escape by name`, text: `[f(a='\N{DASH}')]`, content: `[f(a='\N{DASH}')]`, why: `not understood`},
		{form: `pythonic`, name: `arguments without comma`, text: `[f(a=1 b=2)]`, content: `[f(a=1 b=2)]`, why: `no comma`},
		{form: "pythonic", name: "deep", text: "[f(a=" + strings.Repeat("[", 200) + strings.Repeat("]", 200) + ")]",
			content: "[f(a=" + strings.Repeat("[", 200) + strings.Repeat("]", 200) + ")]", why: "too many values"},
		{form: "pythonic", name: "a call twice in brackets", text: "[f(a=(1,)), (g())]", content: "(g())", calls: `f({"a": [1]})`, why: "no name"},
		{form: "olmo3", name: "bytes that are no text", text: "<function_calls>f(a='\xff')</function_calls>",
			content: "<function_calls>f(a='\xff')</function_calls>", why: "no text"},
		{
			form:    "olmo3",
			name:    "many bad calls, then a good one",
			text:    "<function_calls>f()\n" + strings.Repeat("x\n", 20) + "g()</function_calls>",
			content: strings.Repeat("x", 8) + "x" + strings.Repeat("\nx", 11) + "\ng()",
			calls:   "f({})",
			why:     "no (",
		},
		{
			form:    "llama3_json",
			name:    "much space",
			text:    "{" + strings.Repeat(" ", 600) + `"name": "f", "parameters": {}}`,
			content: "{" + strings.Repeat(" ", 600) + `"name": "f", "parameters": {}}`,
		},
		{
			form:    "llama3_json",
			name:    "python tag and much space",
			text:    "<|python_tag|>" + strings.Repeat(" ", 600) + `x`,
			content: "<|python_tag|>" + strings.Repeat(" ", 600) + `x`,
			why:     "no call follows",
		},
		{form: "llama3_json", name: "python tag before another object", text: `<|python_tag|>{"x": 1}`,
			content: `<|python_tag|>{"x": 1}`, why: "no call follows"},
		{form: "phi4_mini", name: "much space", text: "functools[" + strings.Repeat(" ", 600) + "{}]",
			content: "functools[" + strings.Repeat(" ", 600) + "{}]"},
		{
			form: "minimax_m2",
			name: "section and much space",
			text: "<minimax:tool_call>" + strings.Repeat(" ", 2000) +
				`<invoke name="f"></invoke></minimax:tool_call>`,
			content: "<minimax:tool_call>" + strings.Repeat(" ", 2000) + "</minimax:tool_call>",
			calls:   "f({})",
			repairs: outer,
			why:     "no call follows",
		},
		{form: "gemma4", name: "bad key", text: `<|tool_call>call:f{a b:1}<tool_call|>`, content: `<|tool_call>call:f{a b:1}<tool_call|>`, why: "is no key"},
		{form: "gemma4", name: "text behind a key", text: `<|tool_call>call:f{<|"|>a<|"|>x:1}<tool_call|>`,
			content: `<|tool_call>call:f{<|"|>a<|"|>x:1}<tool_call|>`, why: "no colon"},
		{form: "gemma4", name: "open list", text: `<|tool_call>call:f{a:[1 2}<tool_call|>`, content: `<|tool_call>call:f{a:[1 2}<tool_call|>`, why: "no comma"},
		{form: "gemma4", name: "open key", text: `<|tool_call>call:f{<|"|>a:1}<tool_call|>`,
			content: `<|tool_call>call:f{<|"|>a:1}<tool_call|>`, why: "string does not end"},

		// Brackets that close themselves.
		{form: "llama3_json", name: "python tag", text: `<|python_tag|>{"name": "f", "parameters": {}}`, calls: "f({})"},
		{form: "llama3_json", name: "python tag before code", text: "<|python_tag|>print(1)", content: "<|python_tag|>print(1)", why: "no call follows"},
		{form: "llama3_json", name: "python tag at the end", text: "<|python_tag|>", content: "<|python_tag|>", open: true, why: "unterminated"},
		{form: "llama3_json", name: "arguments for parameters", text: `{"name": "f", "arguments": {}}`, calls: "f({})"},
		{form: "llama3_json", name: "both", text: `{"name": "f", "arguments": {}, "parameters": {}}`,
			content: `{"name": "f", "arguments": {}, "parameters": {}}`, why: "twice"},
		{form: "llama3_json", name: "with type", text: `{"type": "function", "name": "f", "parameters": {}}`, calls: "f({})"},
		{form: "llama3_json", name: "JSON that is no call", text: `It is {"name": "Ann", "age": 3}. {x} {"y": {}}`,
			content: `It is {"name": "Ann", "age": 3}. {x} {"y": {}}`},
		{
			form:    "llama3_json",
			name:    "call inside another value",
			text:    `{"id": 1, "x": {"name": "f", "parameters": {}}}`,
			content: `{"id": 1, "x": {"name": "f", "parameters": {}}}`,
		},
		{form: "llama3_json", name: "braces in a string", text: `a {b} {"name": "f", "parameters": {"s": "}{\"}"}} {c}`,
			content: "a {b}  {c}", calls: `f({"s": "}{\"}"})`},
		{form: "llama3_json", name: "newline between calls", text: "{\"name\": \"f\", \"parameters\": {}}\n" +
			"{\"name\": \"g\", \"parameters\": {}};", calls: "f({}) g({})"},
		{form: "llama3_json", name: "broken, mended", mend: true, text: `{"name": "f", "parameters": {"a": True,}}`,
			calls: `f({"a": true})`, repairs: []Repair{PythonLiteral, TrailingComma}},
		{form: "llama3_json", name: "cut, mended", mend: true, text: `{"name": "f", "parameters": {"a": "1"`,
			calls: `f({"a": "1"})`, repairs: []Repair{MissingCloser}, open: true, why: "unterminated"},
		{
			form:    "llama3_json",
			name:    "cut in a number, which may be a longer one",
			mend:    true,
			text:    `{"name": "f", "parameters": {"a": 1`,
			content: `{"name": "f", "parameters": {"a": 1`,
			open:    true,
			why:     "unterminated",
		},
		{
			form:    "harmony",
			name:    "cut in a number",
			mend:    true,
			text:    `<|channel|>commentary to=functions.f json<|message|>{"a": 1`,
			content: `<|channel|>commentary to=functions.f json<|message|>{"a": 1`,
			open:    true,
			why:     "unterminated",
		},
		{
			form:    "hermes",
			name:    "a number that ends, mended",
			mend:    true,
			text:    "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1\n</tool_call>",
			calls:   `f({"a": 1})`,
			repairs: []Repair{MissingCloser},
		},
		{
			form:    "llama3_json",
			name:    "cut in a string is not mended",
			mend:    true,
			text:    `{"name": "f", "parameters": {"a": "1`,
			content: `{"name": "f", "parameters": {"a": "1`,
			open:    true,
			why:     "unterminated",
		},
		{form: "mistral", name: "array", text: `[TOOL_CALLS] [{"name": "f", "arguments": {}}]`, calls: "f({})"},
		{form: "mistral", name: "no [ARGS]", text: `[TOOL_CALLS]f{"a": 1}`, calls: `f({"a": 1})`},
		{form: "mistral", name: "call id", text: `[TOOL_CALLS]f[CALL_ID]abcDEF123[ARGS]{}`, calls: "f({})"},
		{form: "mistral", name: "no name", text: `[TOOL_CALLS][ARGS]{}`, content: `[TOOL_CALLS][ARGS]{}`, why: "not a call"},
		{form: "mistral", name: "prose behind the mark", text: `[TOOL_CALLS]I will call {x}`, content: `[TOOL_CALLS]I will call {x}`, why: "no call follows"},
		{
			form:    "mistral_v3",
			name:    "bad sibling",
			text:    `[TOOL_CALLS][{"name": "f", "arguments": {}}, {"name": 3}, {"name": "g", "arguments": {}}]`,
			content: `{"name": 3}`,
			calls:   "f({}) g({})",
			why:     "not a string",
		},
		{
			form:    "mistral_v3",
			name:    "text in the array",
			text:    `[TOOL_CALLS][{"name": "f", "arguments": {}} and {"name": "g", "arguments": {}}]`,
			content: " and ",
			calls:   "f({}) g({})",
			why:     "not a call",
		},
		{form: "phi4_mini", name: "the word in prose", text: "functools is a module; functools[x] too", content: "functools is a module; functools[x] too"},
		{form: "phi4_mini", name: "parameters", text: `functools[{"name": "f", "parameters": {"a": [[]]}}]`, calls: `f({"a": [[]]})`},
		{form: "phi4_mini", name: "space", text: "functools [ {\"name\": \"f\", \"arguments\": {}} ]", calls: "f({})"},

		// Harmony: headers in either order, other channels, other recipients.
		{form: "harmony", name: "recipient first", text: " to=functions.f<|channel|>commentary json<|message|>{}<|call|>", calls: "f({})"},
		{form: "harmony", name: "on analysis", text: "<|channel|>analysis to=functions.f<|message|>{}<|call|>", calls: "f({})"},
		{form: "harmony", name: "no constraint", text: "<|start|>assistant<|channel|>commentary to=functions.f<|message|>{}<|call|>", calls: "f({})"},
		{form: "harmony", name: "constraint without space", text: "<|channel|>commentary to=functions.f<|constrain|>json<|message|>{}", calls: "f({})"},
		{form: "harmony", name: "final", text: "<|channel|>final<|message|>Hello<|return|>", content: "Hello"},
		{
			form:    "harmony",
			name:    "preamble",
			text:    "<|channel|>commentary<|message|>Wait.<|end|><|start|>assistant" + harmonyF,
			content: "Wait.",
			calls:   "f({})",
		},
		{
			form:    "harmony",
			name:    "another recipient",
			text:    "<|channel|>commentary to=browser.search<|message|>{}<|call|>",
			content: "<|channel|>commentary to=browser.search<|message|>{}",
		},
		{form: "harmony", name: "to all", text: "<|channel|>commentary to=all<|message|>x<|end|>", content: "x"},
		{form: "harmony", name: "to the user", text: "<|channel|>final to=user<|message|>x", content: "x"},
		{form: "harmony", name: "another channel", text: "<|channel|>thinking<|message|>x<|end|>", content: "<|channel|>thinking<|message|>x"},
		{form: "harmony", name: "no channel", text: "<|start|>assistant<|message|>x<|end|>", content: "x"},
		{form: "harmony", name: "no JSON", text: "<|channel|>commentary to=functions.f<|message|>x<|call|>",
			content: "<|channel|>commentary to=functions.f<|message|>x<|call|>", why: "invalid character"},
		{form: "harmony", name: "no name", text: "<|channel|>commentary to=functions.f\"g<|message|>{}<|call|>",
			content: "<|channel|>commentary to=functions.f\"g<|message|>{}<|call|>", why: "is no name"},
		{form: "harmony", name: "space behind a call",
			text: harmonyF + "\n<|start|>assistant<|channel|>final<|message|>x<|end|>", content: "x", calls: "f({})"},
		{
			form:    "harmony",
			name:    "no end before the next",
			text:    "<|channel|>commentary to=functions.f<|message|>{}<|start|>assistant<|channel|>final<|message|>x",
			content: "x",
			calls:   "f({})",
		},
		{form: "harmony", name: "no markup", text: "Hello <|end|> there", content: "Hello <|end|> there"},
		{form: "harmony", name: "a header that does not end", text: "<|channel|>final", content: "<|channel|>final", open: true, why: "unterminated"},
		{form: "harmony", name: "a long header", text: "<|channel|>" + strings.Repeat("x", 600) + "<|message|>y",
			content: "<|channel|>" + strings.Repeat("x", 600) + "<|message|>y", why: "header without"},
		{
			form:    "harmony",
			name:    "broken, mended",
			mend:    true,
			text:    "<|channel|>commentary to=functions.f<|message|>{'a': 1}<|call|>",
			calls:   `f({"a": 1})`,
			repairs: []Repair{SingleQuotes},
		},
	}
}

func TestTraps(t *testing.T) {
	for _, c := range traps() {
		f, err := ByName(c.form)
		if err != nil {
			t.Fatal(err)
		}
		o := Options{Repair: c.mend}
		got := f.Parse(c.text, o)
		var calls []string
		for _, x := range got.Calls {
			calls = append(calls, fmt.Sprintf("%s(%s)", x.Name, x.Arguments))
		}
		if got.Content != c.content || strings.Join(calls, " ") != c.calls || got.Complete == c.open ||
			!reflect.DeepEqual(got.Repairs, c.repairs) || !strings.Contains(got.Err, c.why) ||
			(got.Err == "") != (c.why == "") {
			t.Errorf("%s/%s: %q\n got  %q %q complete %v %q err %q\n want %q %q complete %v %q err %q",
				c.form, c.name, c.text, got.Content, calls, got.Complete, got.Repairs, got.Err, c.content, c.calls,
				!c.open, c.repairs, c.why)
		}
		for i := range len(c.text) + 1 {
			checkStream(t, f, o, got, c.text[:i], c.text[i:])
		}
		checkStream(t, f, o, got, strings.Split(c.text, "")...)
	}
}

func TestHarmonyReasoning(t *testing.T) {
	f := harmonyFormat()
	text := "<|channel|>analysis<|message|>Think.<|end|><|start|>assistant" + harmonyF +
		"<|start|>assistant<|channel|>analysis<|message|> More"
	want := Result{Reasoning: "Think. More", Calls: []chat.ToolCall{{ID: "call_0", Name: "f", Arguments: "{}"}},
		Complete: true}
	if got := f.Parse(text, Options{}); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
	for i := range len(text) + 1 {
		checkStream(t, f, Options{}, want, text[:i], text[i:])
	}
}

func TestIDs(t *testing.T) {
	twice := kimiF + kimiCall + "functions.f:0" + kimiArguments + "{}" + kimiCallEnd
	for name, c := range map[string]struct {
		form, text string
		want       []string
	}{
		"counted":              {"hermes", hermesF + hermesF, []string{"call_0", "call_1"}},
		"nine digits":          {"mistral", "[TOOL_CALLS]f[ARGS]{}[TOOL_CALLS]f[ARGS]{}", []string{"000000000", "000000001"}},
		"of the wire":          {"mistral_v3", `[TOOL_CALLS][{"name": "f", "arguments": {}, "id": "abcDEF123"}]`, []string{"abcDEF123"}},
		"not in the form":      {"mistral_v3", `[TOOL_CALLS][{"name": "f", "arguments": {}, "id": "abc-EF123"}]`, []string{"000000000"}},
		"twice":                {"mistral_v3", `[TOOL_CALLS][{"name": "f", "arguments": {}, "id": "000000001"}, {"name": "f", "arguments": {}, "id": "000000001"}]`, []string{"000000001", "000000002"}},
		"behind the name":      {"mistral", "[TOOL_CALLS]f[CALL_ID]abcDEF123[ARGS]{}", []string{"abcDEF123"}},
		"Kimi's":               {"kimi_k2", kimiCall + "functions.f:7" + kimiArguments + "{}" + kimiCallEnd, []string{"functions.f:7"}},
		"Kimi's twice":         {"kimi_k2", twice, []string{"functions.f:0", "functions.f:1"}},
		"Kimi's without front": {"kimi_k2", kimiCall + "f:7" + kimiArguments + "{}" + kimiCallEnd, []string{"functions.f:0"}},
	} {
		f, err := ByName(c.form)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, x := range f.Parse(c.text, Options{}).Calls {
			got = append(got, x.ID)
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func TestNamed(t *testing.T) {
	for name, want := range map[string]string{
		"hermes": "hermes", "openai": "harmony", "qwen3_xml": "qwen3_coder", "phi4_mini_json": "phi4_mini",
		"deepseek_r1": "deepseek_v3",
	} {
		if f, err := ByName(name); err != nil || f.Name() != want {
			t.Errorf("%s: got %q (%v)", name, f.Name(), err)
		}
	}
	if _, err := ByName("nothing"); err == nil || !strings.Contains(err.Error(), "nothing") {
		t.Errorf("got %v", err)
	}
	seen := map[string]bool{}
	for _, f := range All() {
		for _, name := range append(f.also, f.name) {
			if seen[name] {
				t.Errorf("%s stands for two forms", name)
			}
			seen[name] = true
		}
	}
	if Hermes().Name() != "hermes" || len(Names()) != 19 {
		t.Errorf("got %q", Names())
	}
}
