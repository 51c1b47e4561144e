package toolcall

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"hone/internal/chat"
)

// emission is how the vendor of a form writes calls: join stands between content and them.
type emission struct {
	join string
	emit func(w *emitter, calls []chat.ToolCall) error
}

// emissions are those of all forms, which parsers and frames are held against.
func emissions() map[string]emission {
	json := func(open, key, shut string) func(w *emitter, c chat.ToolCall) error {
		return func(w *emitter, c chat.ToolCall) error {
			w.text(open, jsonObject(c, key, ""), shut)
			return nil
		}
	}
	mistral := func(w *emitter, c chat.ToolCall) error {
		w.text(mistralMark, c.Name, "[ARGS]", c.Arguments)
		if !isName(c.Name) {
			return fmt.Errorf("tool call %q: this form cannot carry the name", c.Name)
		}
		return nil
	}
	phi := func(w *emitter, calls []chat.ToolCall) error {
		w.text("functools[")
		err := emitEach(", ", json("", "arguments", ""))(w, calls)
		w.text("]")
		return err
	}
	deepseek3 := emitDeepSeek("\n", func(w *emitter, c chat.ToolCall) {
		w.text("function", dsSeparator, c.Name, "\n```json\n", c.Arguments, "\n```")
	})
	deepseek31 := emitDeepSeek("", func(w *emitter, c chat.ToolCall) { w.text(c.Name, dsSeparator, c.Arguments) })
	function := gemma{open: "<start_function_call>", shut: "<end_function_call>", quote: "<escape>"}
	gemma4 := gemma{open: "<|tool_call>", shut: "<tool_call|>", quote: `<|"|>`}
	return map[string]emission{
		"hermes":        {"\n", emitEach("\n", json("<tool_call>\n", "arguments", "\n</tool_call>"))},
		"qwen3_coder":   {"\n\n", emitEach("\n", emitCoder)},
		"glm45":         {"\n", emitEach("\n", emitGLM)},
		"minimax_m2":    {"\n", emitMinimax},
		"deepseek_v3":   {"", deepseek3},
		"deepseek_v31":  {"", deepseek31},
		"deepseek_v32":  {"", emitDSML("function_calls")},
		"deepseek_v4":   {"", emitDSML("tool_calls")},
		"kimi_k2":       {"", emitKimi},
		"lfm2":          {"", emitLFM2},
		"olmo3":         {"", emitOlmo},
		"functiongemma": {"", emitEach("", function.emit)},
		"gemma4":        {"", emitEach("", gemma4.emit)},
		"llama3_json":   {"\n", emitEach("; ", json("", "parameters", ""))},
		"pythonic":      {"\n", emitPythonic},
		"mistral":       {"", emitEach("", mistral)},
		"mistral_v3":    {"", emitMistral},
		"phi4_mini":     {"", phi},
		"harmony":       {"", emitHarmony},
	}
}

// Emit writes the text of an assistant message, the inverse of Parse. Calls that the form cannot carry are an error:
// without a name, with arguments that are no JSON object, or with a text that the form would read as its own tag. No
// model that is shown such a call in its context could learn to write a valid one.
func (f Format) Emit(content string, calls []chat.ToolCall) (string, error) {
	w, e := emitter{}, emissions()[f.name]
	if len(calls) == 0 {
		return content, nil
	}
	for _, c := range calls {
		if c.Name == "" || !utf8.ValidString(c.Name) {
			return "", fmt.Errorf("a tool call has no name, or one that is no text: %q", c.Name)
		}
		if _, err := members(c.Arguments); err != nil {
			return "", fmt.Errorf("tool call %q: arguments are not a JSON object: %w: %.200s", c.Name, err, c.Arguments)
		}
	}
	if content != "" {
		w.text(content, e.join)
	}
	if err := e.emit(&w, calls); err != nil {
		return "", err
	}
	return string(w.out), nil
}

// emitter collects the text of a message.
type emitter struct{ out []byte }

func (w *emitter) text(parts ...string) {
	for _, p := range parts {
		w.out = append(w.out, p...)
	}
}

// refuse is an error if a text holds what the form would read as its own.
func refuse(c chat.ToolCall, text string, marks ...string) error {
	for _, m := range marks {
		if strings.Contains(text, m) {
			return fmt.Errorf("tool call %q: this form cannot carry %q inside a call", c.Name, m)
		}
	}
	return nil
}

// jsonObject writes {"name": ..., KEY: {...}}, spaced as Python's json.dumps does.
func jsonObject(c chat.ToolCall, key string, more string) string {
	return `{"name": ` + quote(c.Name) + `, "` + key + `": ` + c.Arguments + more + `}`
}

// untyped calls write for each argument, a string as its text and anything else as its JSON.
func untyped(c chat.ToolCall, write func(name, text string, isString bool) error, marks ...string) error {
	all, err := members(c.Arguments)
	if err != nil {
		return err
	}
	if !isName(c.Name) {
		return fmt.Errorf("tool call %q: this form cannot carry the name", c.Name)
	}
	for _, m := range all {
		text, isString := string(m.value), m.value.Kind() == '"'
		if isString {
			if text, err = unquote(m.value, m.name); err != nil {
				return err
			}
		}
		if m.name == "" || strings.TrimSpace(m.name) != m.name {
			return fmt.Errorf("tool call %q: this form cannot carry an argument called %q", c.Name, m.name)
		}
		if err := refuse(c, m.name, append(marks, ">", "\"", "\n", "<")...); err != nil {
			return err
		}
		if err := refuse(c, text, marks...); err != nil {
			return err
		}
		if err := write(m.name, text, isString); err != nil {
			return err
		}
	}
	return nil
}

// literals is how a form writes JSON values inside a call.
type literals struct {
	null, yes, no string
	str           func(text string) (string, error)
	key           func(name string) (string, error)
	colon, comma  string
	sorted        bool // members in the order of Jinja's dictsort
}

// value writes a JSON value in the form's literals; numbers keep their text.
func (l *literals) value(w *emitter, v jsontext.Value) error {
	switch v.Kind() {
	case 'n':
		w.text(l.null)
	case 't':
		w.text(l.yes)
	case 'f':
		w.text(l.no)
	case '"':
		text, err := unquote(v, "string")
		if err != nil {
			return err
		}
		if text, err = l.str(text); err != nil {
			return err
		}
		w.text(text)
	case '{':
		w.text("{")
		if err := l.object(w, v); err != nil {
			return err
		}
		w.text("}")
	case '[':
		return l.array(w, v)
	default:
		w.text(string(v))
	}
	return nil
}

// object writes the members of an object without the braces.
func (l *literals) object(w *emitter, v jsontext.Value) error {
	all, err := members(string(v))
	if err != nil {
		return err
	}
	if l.sorted {
		slices.SortStableFunc(all, func(a, b member) int {
			return strings.Compare(strings.ToLower(a.name), strings.ToLower(b.name))
		})
	}
	for i, m := range all {
		if i > 0 {
			w.text(l.comma)
		}
		key, err := l.key(m.name)
		if err != nil {
			return err
		}
		w.text(key, l.colon)
		if err := l.value(w, m.value); err != nil {
			return err
		}
	}
	return nil
}

func (l *literals) array(w *emitter, v jsontext.Value) error {
	dec := jsontext.NewDecoder(strings.NewReader(string(v)))
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	w.text("[")
	for i := 0; dec.PeekKind() != ']'; i++ {
		item, err := dec.ReadValue()
		if err != nil {
			return err
		}
		if i > 0 {
			w.text(l.comma)
		}
		if err := l.value(w, item); err != nil {
			return err
		}
	}
	w.text("]")
	return nil
}

// emitEach writes the calls one after another.
func emitEach(separator string, one func(w *emitter, c chat.ToolCall) error) func(*emitter, []chat.ToolCall) error {
	return func(w *emitter, calls []chat.ToolCall) error {
		for i, c := range calls {
			if i > 0 {
				w.text(separator)
			}
			if err := one(w, c); err != nil {
				return err
			}
		}
		return nil
	}
}

func emitCoder(w *emitter, c chat.ToolCall) error {
	w.text("<tool_call>\n<function=", c.Name, ">\n")
	err := untyped(c, func(name, text string, _ bool) error {
		w.text("<parameter=", name, ">\n", text, "\n</parameter>\n")
		return nil
	}, "<parameter=", "</parameter>", "</function>", "<function=")
	w.text("</function>\n</tool_call>")
	return err
}

// emitGLM writes GLM-4.5's and 4.6's form:
//
//	<tool_call>name
//	<arg_key>k</arg_key>
//	<arg_value>v</arg_value>
//	</tool_call>
func emitGLM(w *emitter, c chat.ToolCall) error {
	w.text("<tool_call>", c.Name, "\n")
	err := untyped(c, func(name, text string, _ bool) error {
		w.text("<arg_key>", name, "</arg_key>\n<arg_value>", text, "</arg_value>\n")
		return nil
	}, "<tool_call>", "</tool_call>", "</arg_value>")
	w.text("</tool_call>")
	return err
}

func emitMinimax(w *emitter, calls []chat.ToolCall) error {
	w.text("<minimax:tool_call>\n")
	for _, c := range calls {
		w.text(`<invoke name="`, c.Name, "\">\n")
		err := untyped(c, func(name, text string, _ bool) error {
			w.text(`<parameter name="`, name, `">`, text, "</parameter>\n")
			return nil
		}, "<parameter name=", "</parameter>", "</invoke>", "<invoke name=", "</minimax:tool_call>")
		if err != nil {
			return err
		}
		w.text("</invoke>\n")
	}
	w.text("</minimax:tool_call>")
	return nil
}

// emitDeepSeek writes the section; V3's template puts a line break between calls.
func emitDeepSeek(separator string, one func(w *emitter, c chat.ToolCall)) func(*emitter, []chat.ToolCall) error {
	return func(w *emitter, calls []chat.ToolCall) error {
		w.text(dsSection)
		for i, c := range calls {
			if err := refuse(c, c.Name+c.Arguments, dsCall, dsCallEnd, dsSection, dsSectionEnd,
				dsSeparator); err != nil {
				return err
			}
			if !isName(c.Name) {
				return fmt.Errorf("tool call %q: this form cannot carry the name", c.Name)
			}
			if i > 0 {
				w.text(separator)
			}
			w.text(dsCall)
			one(w, c)
			w.text(dsCallEnd)
		}
		w.text(dsSectionEnd)
		return nil
	}
}

// emitDSML writes the form of V3.2 and V4, which mark strings.
func emitDSML(section string) func(*emitter, []chat.ToolCall) error {
	return func(w *emitter, calls []chat.ToolCall) error {
		w.text("\n\n<", dsml, section, ">\n")
		for _, c := range calls {
			w.text("<", dsml, `invoke name="`, c.Name, "\">\n")
			before := len(w.out)
			err := untyped(c, func(name, text string, isString bool) error {
				w.text("<", dsml, `parameter name="`, name, `" string="`, strconv.FormatBool(isString), `">`, text,
					"</", dsml, "parameter>\n")
				return nil
			}, "<"+dsml, "</"+dsml)
			if err != nil {
				return err
			}
			if len(w.out) == before { // the vendor's encoder joins no lines to one
				w.text("\n")
			}
			w.text("</", dsml, "invoke>\n")
		}
		w.text("</", dsml, section, ">")
		return nil
	}
}

func emitKimi(w *emitter, calls []chat.ToolCall) error {
	w.text(kimiSection)
	for i, c := range calls {
		if err := refuse(c, c.Name+c.Arguments, kimiCall, kimiCallEnd, kimiArguments, kimiSection,
			kimiSectionEnd); err != nil {
			return err
		}
		id := c.ID
		if name, ok := kimiName(id); !ok || name != c.Name || !isKimiID(id) {
			id = kimiID(i, call{name: c.Name})
		}
		if _, ok := kimiName(id); !ok {
			return fmt.Errorf("tool call %q: this form cannot carry the name", c.Name)
		}
		w.text(kimiCall, id, kimiArguments, c.Arguments, kimiCallEnd)
	}
	w.text(kimiSectionEnd)
	return nil
}

// emitMistral writes the form of tokenizers up to version 10; an id in the vendor's form stands with the call.
func emitMistral(w *emitter, calls []chat.ToolCall) error {
	w.text(mistralMark, "[")
	for i, c := range calls {
		if i > 0 {
			w.text(", ")
		}
		id := ""
		if isNineAlphanumerics(c.ID) {
			id = `, "id": "` + c.ID + `"`
		}
		w.text(jsonObject(c, "arguments", id))
	}
	w.text("]")
	return nil
}

// emitPythonic writes the list of Llama 4 and of models prompted for it.
func emitPythonic(w *emitter, calls []chat.ToolCall) error {
	w.text("[")
	for i, c := range calls {
		if i > 0 {
			w.text(", ")
		}
		if err := emitPython(w, c, pythonLiterals(), pythonLiterals()); err != nil {
			return err
		}
	}
	w.text("]")
	return nil
}

func emitHarmony(w *emitter, calls []chat.ToolCall) error {
	if text := string(w.out); text != "" {
		if strings.Contains(text, "<|") {
			return fmt.Errorf("this form cannot carry content with markup: %.60q", text)
		}
		w.out = nil
		w.text(hChannel, "commentary", hMessage, text, hEnd, hStart, "assistant")
	}
	for i, c := range calls {
		if i > 0 {
			w.text(hStart, "assistant")
		}
		if !isName(c.Name) {
			return fmt.Errorf("tool call %q: this form cannot carry the name", c.Name)
		}
		if err := refuse(c, c.Arguments, hStart, hEnd, hCall, hReturn, hMessage, hChannel); err != nil {
			return err
		}
		w.text(hChannel, "commentary to=functions.", c.Name, " ", hConstrain, "json", hMessage, c.Arguments, hCall)
	}
	return nil
}

func (g gemma) emit(w *emitter, c chat.ToolCall) error {
	if !isName(c.Name) || strings.Contains(c.Name, ":") {
		return fmt.Errorf("tool call %q: this form cannot carry the name", c.Name)
	}
	l := literals{null: "null", yes: "true", no: "false", key: bareKey, colon: ":", comma: ",", sorted: true,
		str: func(text string) (string, error) {
			return g.quote + text + g.quote, refuse(c, text, g.quote, g.open, g.shut)
		}}
	w.text(g.open, "call:", c.Name, "{")
	if err := l.object(w, []byte(c.Arguments)); err != nil {
		return err
	}
	w.text("}", g.shut)
	return nil
}

// pythonString writes a string as LFM2's template and, for what stands in most texts, Python's repr do.
func pythonString(text string) (string, error) {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`, "\n", `\n`, "\r", `\r`).Replace(text) + "'", nil
}

// emitPython writes NAME(KEY=VALUE, ...) in the literals given for arguments and for what stands in them.
func emitPython(w *emitter, c chat.ToolCall, top, inner literals, marks ...string) error {
	all, err := members(c.Arguments)
	if err != nil {
		return err
	}
	if !isName(c.Name) || isDigit([]byte(c.Name)) || strings.ContainsAny(c.Name, "/:@#$%^&*+!?~\\") {
		return fmt.Errorf("tool call %q: this form cannot carry the name", c.Name)
	}
	start := len(w.out)
	w.text(c.Name, "(")
	for i, m := range all {
		if i > 0 {
			w.text(", ")
		}
		r := pythonReader{cursor: cursor{text: []byte(m.name)}}
		if r.word() != m.name || m.name == "" || isDigit([]byte(m.name)) || strings.ContainsAny(m.name, ".-+") {
			return fmt.Errorf("tool call %q: this form cannot carry an argument called %q", c.Name, m.name)
		}
		w.text(m.name, "=")
		l := &top
		if kind := m.value.Kind(); kind == '{' || kind == '[' {
			l = &inner
		}
		if err := l.value(w, m.value); err != nil {
			return err
		}
	}
	w.text(")")
	return refuse(c, string(w.out[start:]), marks...)
}

// pythonLiterals and jsonLiterals write values as Python's repr and as json.dumps do.
func pythonLiterals() literals {
	return literals{null: "None", yes: "True", no: "False", str: pythonString, key: pythonString, colon: ": ",
		comma: ", "}
}

func jsonLiterals() literals {
	str := func(text string) (string, error) { return quote(text), nil }
	return literals{null: "null", yes: "true", no: "false", str: str, key: str, colon: ": ", comma: ", "}
}

func emitLFM2(w *emitter, calls []chat.ToolCall) error {
	w.text("<|tool_call_start|>[")
	for i, c := range calls {
		if i > 0 {
			w.text(", ")
		}
		if err := emitPython(w, c, pythonLiterals(), jsonLiterals(), "<|tool_call_start|>",
			"<|tool_call_end|>"); err != nil {
			return err
		}
	}
	w.text("]<|tool_call_end|>")
	return nil
}

func emitOlmo(w *emitter, calls []chat.ToolCall) error {
	w.text("<function_calls>")
	for i, c := range calls {
		if i > 0 {
			w.text("\n")
		}
		if err := emitPython(w, c, jsonLiterals(), jsonLiterals(), "<function_calls>",
			"</function_calls>"); err != nil {
			return err
		}
	}
	w.text("</function_calls>")
	return nil
}
