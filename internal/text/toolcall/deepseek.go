package toolcall

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
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
	deepseek := tags{section: []string{dsSection}, sectionEnd: []string{dsSectionEnd}, open: dsCall, shut: dsCallEnd,
		body: deepseekBody}
	marked := parameters{open: "<" + dsml + "parameter name=", shut: "</" + dsml + "parameter>", quoted: true,
		marked: true}
	dsmlTags := tags{
		section:    []string{"<" + dsml + "tool_calls>", "<" + dsml + "function_calls>"},
		sectionEnd: []string{"</" + dsml + "tool_calls>", "</" + dsml + "function_calls>"},
		open:       "<" + dsml + "invoke name=", shut: "</" + dsml + "invoke>", value: marked.marks(),
		body: marked.body,
	}
	kimi := tags{section: []string{kimiSection}, sectionEnd: []string{kimiSectionEnd}, open: kimiCall,
		shut: kimiCallEnd, body: kimiBody}
	lfm2 := tags{open: "<|tool_call_start|>", shut: "<|tool_call_end|>", body: pythonOrJSON}
	olmo := tags{open: "<function_calls>", shut: "</function_calls>", body: func(p *Parser, text []byte) []part {
		return pythonCalls(text, "\n")
	}}
	function := gemma{open: "<start_function_call>", shut: "<end_function_call>", quote: "<escape>"}
	gemma4 := gemma{open: "<|tool_call>", shut: "<tool_call|>", quote: `<|"|>`}
	dsMarks := []string{dsSection, dsCall}
	return []Format{
		{name: "deepseek_v3", also: []string{"deepseek_r1"}, blank: space, id: callID, machine: newTagMachine(deepseek),
			marks: dsMarks, frame: Frame{Open: dsSection + dsCall + "function" + dsSeparator, Middle: "\n```json\n",
				Close: "\n```" + dsCallEnd + dsSectionEnd}},
		{name: "deepseek_v31", blank: space, id: callID, machine: newTagMachine(deepseek), marks: dsMarks,
			frame: Frame{Open: dsSection + dsCall, Middle: dsSeparator, Close: dsCallEnd + dsSectionEnd}},
		{name: "deepseek_v32", lead: 2, blank: space, id: callID, machine: newTagMachine(dsmlTags)},
		{name: "deepseek_v4", lead: 2, blank: space, id: callID, machine: newTagMachine(dsmlTags)},
		{name: "kimi_k2", also: []string{"kimi"}, blank: space, id: kimiID, validID: isKimiID,
			machine: newTagMachine(kimi), marks: []string{kimiSection,
				kimiCall}, frame: Frame{Open: kimiSection + kimiCall + "functions.", Middle: ":0" + kimiArguments,
				Close: kimiCallEnd + kimiSectionEnd}},
		{name: "lfm2", blank: space, id: callID, machine: newTagMachine(lfm2)},
		{name: "olmo3", blank: space, id: callID, machine: newTagMachine(olmo)},
		{name: "functiongemma", blank: space, id: callID, machine: newTagMachine(function.tags())},
		{name: "gemma4", blank: space, id: callID, machine: newTagMachine(gemma4.tags())},
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

// pythonOrJSON reads LFM2's list of Python calls, or, as its prompt may ask for, of JSON ones.
func pythonOrJSON(p *Parser, text []byte) []part {
	if start := bytes.TrimLeft(text, "[ \t\r\n"); len(start) > 0 && start[0] == '{' {
		return p.jsonCalls(text, "arguments", "parameters")
	}
	return pythonCalls(text, ",")
}
