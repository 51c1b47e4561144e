package render

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"hone/internal/chat"
	"hone/internal/fault"
)

// What stands before and after the tool lines. The JSON form's text is Qwen2.5's.
const (
	beforeJSON = "\n\n# Tools\n\nYou may call one or more functions to assist with the user query.\n\n" +
		"You are provided with function signatures within <tools></tools> XML tags:\n<tools>"
	afterJSON = "\n</tools>\n\nFor each function call, return a json object with function name and arguments within " +
		"<tool_call></tool_call> XML tags:\n<tool_call>\n{\"name\": <function-name>, \"arguments\": <args-json-object>}\n</tool_call>"

	beforeCompact = "\n\n# Tools\n"
	afterCompact  = "\n\nTo call a tool, write:\n<tool_call>\n{\"name\": \"tool\", \"arguments\": {\"param\": value}}\n</tool_call>"
)

// systemText is the content of a system message that offers tools; system itself where there are none.
func (o Options) systemText(system string, tools []chat.Tool) (string, error) {
	if len(tools) == 0 {
		return system, nil
	}
	before, line, after := beforeCompact, compactTool, afterCompact
	if o.ToolFormat == ToolsJSON {
		before, line, after = beforeJSON, jsonTool, afterJSON
	}
	var b strings.Builder
	b.WriteString(system + before)
	for _, tool := range tools {
		text, err := line(tool)
		if err != nil {
			return "", &fault.Error{
				Code: fault.CodeUsage, What: fmt.Sprintf("cannot describe the tool %q to the model", tool.Name),
				Err: err, Next: "correct the tool's input schema, or leave the tool out",
			}
		}
		b.WriteString("\n" + text)
	}
	b.WriteString(after)
	return b.String(), nil
}

// jsonTool is the tool as Python's json.dumps(tool, ensure_ascii=False) writes it, in the order of the schema's keys.
func jsonTool(tool chat.Tool) (string, error) {
	text, err := json.Marshal(tool)
	if err != nil {
		return "", err
	}
	value := jsontext.Value(text)
	if err := value.Format(jsontext.SpaceAfterColon(true), jsontext.SpaceAfterComma(true)); err != nil {
		return "", err
	}
	return string(value), nil
}

// compactTool is one line:
//
//	name(param: type, opt?: type = default, e: "a"|"b") - first sentence of the description
//
// Parameters stand in the schema's order; optional ones have a question mark.
func compactTool(tool chat.Tool) (string, error) {
	line := tool.Name + "()"
	if len(tool.InputSchema) > 0 {
		schema, err := parseNode(jsontext.Value(tool.InputSchema))
		if err != nil {
			return "", fmt.Errorf("input schema: %w", err)
		}
		w := typeWriter{root: schema}
		line = tool.Name + "(" + w.parameters(schema) + ")"
	}
	if sentence := firstSentence(tool.Description); sentence != "" {
		line += " - " + sentence
	}
	return line, nil
}

// firstSentence ends at a blank line, or at a full stop, question or exclamation mark that ends a word and is followed
// by something other than a small letter ("e.g. this" goes on). White space is collapsed, a final full stop dropped.
func firstSentence(text string) string {
	text = strings.ReplaceAll(strings.TrimSpace(text), "\r\n", "\n")
	text, _, _ = strings.Cut(text, "\n\n")
	words := strings.Fields(text)
	for i, word := range words {
		if i+1 == len(words) || !strings.ContainsAny(word[len(word)-1:], ".?!") && !strings.HasSuffix(word, "。") {
			continue
		}
		if next := words[i+1][0]; (next < 'a' || next > 'z') && word != "e.g." && word != "i.e." {
			words = words[:i+1]
			break
		}
	}
	return strings.TrimSuffix(strings.Join(words, " "), ".")
}
