package toolcall

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"hone/internal/chat"
)

// DeepSeek's and Kimi's special tokens.
const (
	dsSection    = "<｜tool▁calls▁begin｜>"
	dsSectionEnd = "<｜tool▁calls▁end｜>"
	dsCall       = "<｜tool▁call▁begin｜>"
	dsCallEnd    = "<｜tool▁call▁end｜>"
	dsSeparator  = "<｜tool▁sep｜>"

	dsml = "｜DSML｜"

	kimiSection    = "<|tool_calls_section_begin|>"
	kimiSectionEnd = "<|tool_calls_section_end|>"
	kimiCall       = "<|tool_call_begin|>"
	kimiArguments  = "<|tool_call_argument_begin|>"
	kimiCallEnd    = "<|tool_call_end|>"
)

// deepseekFormats are the forms of special tokens whose calls stand in a section.
func deepseekFormats() []Format {
	deepseek := tags{section: []string{dsSection}, sectionEnd: []string{dsSectionEnd}, open: dsCall, shut: dsCallEnd, body: deepseekBody}
	marked := parameters{open: "<" + dsml + "parameter name=", shut: "</" + dsml + "parameter>", quoted: true, marked: true}
	dsmlTags := tags{
		section:    []string{"<" + dsml + "tool_calls>", "<" + dsml + "function_calls>"},
		sectionEnd: []string{"</" + dsml + "tool_calls>", "</" + dsml + "function_calls>"},
		open:       "<" + dsml + "invoke name=", shut: "</" + dsml + "invoke>", value: marked.marks(), body: marked.body,
	}
	kimi := tags{section: []string{kimiSection}, sectionEnd: []string{kimiSectionEnd}, open: kimiCall, shut: kimiCallEnd, body: kimiBody}
	lfm2 := tags{open: "<|tool_call_start|>", shut: "<|tool_call_end|>", body: pythonOrJSON}
	olmo := tags{open: "<function_calls>", shut: "</function_calls>", body: func(p *Parser, text []byte) []part { return pythonCalls(text, "\n") }}
	function := gemma{open: "<start_function_call>", shut: "<end_function_call>", quote: "<escape>"}
	gemma4 := gemma{open: "<|tool_call>", shut: "<tool_call|>", quote: `<|"|>`}
	return []Format{
		{name: "deepseek_v3", also: []string{"deepseek_r1"}, blank: space, id: callID, machine: newTagged(deepseek), emit: emitDeepSeek("\n", func(w *emitter, c chat.ToolCall) {
			w.text("function", dsSeparator, c.Name, "\n```json\n", c.Arguments, "\n```")
		})},
		{name: "deepseek_v31", blank: space, id: callID, machine: newTagged(deepseek), emit: emitDeepSeek("", func(w *emitter, c chat.ToolCall) {
			w.text(c.Name, dsSeparator, c.Arguments)
		})},
		{name: "deepseek_v32", lead: 2, blank: space, id: callID, machine: newTagged(dsmlTags), emit: emitDSML("function_calls")},
		{name: "deepseek_v4", lead: 2, blank: space, id: callID, machine: newTagged(dsmlTags), emit: emitDSML("tool_calls")},
		{name: "kimi_k2", also: []string{"kimi"}, blank: space, id: kimiID, validID: isKimiID, machine: newTagged(kimi), emit: emitKimi},
		{name: "lfm2", blank: space, id: callID, machine: newTagged(lfm2), emit: emitLFM2},
		{name: "olmo3", blank: space, id: callID, machine: newTagged(olmo), emit: emitOlmo},
		{name: "functiongemma", blank: space, id: callID, machine: newTagged(function.tags()), emit: emitEach("", function.emit)},
		{name: "gemma4", blank: space, id: callID, machine: newTagged(gemma4.tags()), emit: emitEach("", gemma4.emit)},
	}
}

// emitDeepSeek writes the section; V3's template puts a line break between calls.
func emitDeepSeek(separator string, one func(w *emitter, c chat.ToolCall)) func(*emitter, []chat.ToolCall) error {
	return func(w *emitter, calls []chat.ToolCall) error {
		w.text(dsSection)
		for i, c := range calls {
			if err := refuse(c, c.Name+c.Arguments, dsCall, dsCallEnd, dsSection, dsSectionEnd, dsSeparator); err != nil {
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

// deepseekBody reads V3's form, function SEP name and a fenced object, and V3.1's, name SEP object.
func deepseekBody(p *Parser, text []byte) []part {
	c, err := deepseekCall(p, text)
	return whole(len(text), c, err)
}

func deepseekCall(p *Parser, text []byte) (call, error) {
	before, after, found := bytes.Cut(text, []byte(dsSeparator))
	if !found {
		return call{}, errors.New("no " + dsSeparator)
	}
	name, object := before, after
	if header, fenced, ok := bytes.Cut(after, []byte("```")); ok && !bytes.Contains(header, []byte("{")) {
		name = header
		fenced = bytes.TrimPrefix(fenced, []byte("json"))
		end := bytes.LastIndex(fenced, []byte("```"))
		if end < 0 {
			return call{}, errors.New("the code fence does not end")
		}
		if rest := bytes.TrimSpace(fenced[end+3:]); len(rest) > 0 {
			return call{}, fmt.Errorf("something follows the code fence: %.40q", rest)
		}
		object = fenced[:end]
	}
	called := string(bytes.TrimSpace(name))
	if !isName(called) {
		return call{}, fmt.Errorf("%.60q is no name", called)
	}
	return p.arguments(called, object)
}

// emitDSML writes the form of V3.2 and V4, which mark strings.
func emitDSML(section string) func(*emitter, []chat.ToolCall) error {
	return func(w *emitter, calls []chat.ToolCall) error {
		w.text("\n\n<", dsml, section, ">\n")
		for _, c := range calls {
			w.text("<", dsml, `invoke name="`, c.Name, "\">\n")
			before := len(w.out)
			err := untyped(c, func(name, text string, isString bool) error {
				w.text("<", dsml, `parameter name="`, name, `" string="`, strconv.FormatBool(isString), `">`, text, "</", dsml, "parameter>\n")
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

// kimiName is the header of a Kimi-K2 call, which is also its id: functions.NAME:INDEX.
func kimiName(header string) (name string, ok bool) {
	at := strings.LastIndexByte(header, ':')
	if at < 0 {
		return "", false
	}
	if _, err := strconv.ParseUint(header[at+1:], 10, 32); err != nil {
		return "", false
	}
	name = strings.TrimPrefix(header[:at], "functions.")
	return name, isName(name)
}

func isKimiID(id string) bool {
	_, ok := kimiName(id)
	return ok && strings.HasPrefix(id, "functions.")
}

func kimiID(index int, c call) string { return fmt.Sprintf("functions.%s:%d", c.name, index) }

func kimiBody(p *Parser, text []byte) []part {
	header, object, found := cutName(text, kimiArguments)
	if !found {
		return whole(len(text), call{}, errors.New("no "+kimiArguments))
	}
	name, ok := kimiName(header)
	if !ok {
		return whole(len(text), call{}, fmt.Errorf("%.60q is not functions.NAME:INDEX", header))
	}
	c, err := p.arguments(name, object)
	c.id = header
	return whole(len(text), c, err)
}

func emitKimi(w *emitter, calls []chat.ToolCall) error {
	w.text(kimiSection)
	for i, c := range calls {
		if err := refuse(c, c.Name+c.Arguments, kimiCall, kimiCallEnd, kimiArguments, kimiSection, kimiSectionEnd); err != nil {
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

// pythonOrJSON reads LFM2's list of Python calls, or, as its prompt may ask for, of JSON ones.
func pythonOrJSON(p *Parser, text []byte) []part {
	if start := bytes.TrimLeft(text, "[ \t\r\n"); len(start) > 0 && start[0] == '{' {
		return p.jsonCalls(text, "arguments", "parameters")
	}
	return pythonCalls(text, ",")
}
