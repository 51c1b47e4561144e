package dataset

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"hone/internal/chat"
	"hone/internal/text/toolcall"
)

func fitsAPIGen(r *record) bool {
	turns := r.turns()
	return turns != nil && r.System != nil && r.Tools != nil && bytes.Contains(turns, []byte(`function_call`))
}

// readShareGPT reads turns of from and value: human, gpt, function_call, observation and their other names.
func readShareGPT(r *record) (Row, error) {
	tools, err := toolsOf(r.tools())
	if err != nil {
		return Row{}, err
	}
	c := conversation{tools: tools}
	err = c.add(first(r.turns(), r.Messages))
	return Row{Messages: c.messages, Tools: tools}, err
}

func withSystem(messages []chat.Message, system string) []chat.Message {
	if system == "" || len(messages) > 0 && messages[0].Role == chat.System {
		return messages
	}
	return append([]chat.Message{{Role: chat.System, Content: system}}, messages...)
}

// Tags of the Hermes form.
const (
	callTag, callEnd         = "<tool_call>", "</tool_call>"
	toolsTag, toolsEnd       = "<tools>", "</tools>"
	responseTag, responseEnd = "<tool_response>", "</tool_response>"
)

func fitsHermes(r *record) bool {
	turns := r.turns()
	return turns != nil && (bytes.Contains(turns, []byte(callTag)) || bytes.Contains(turns, []byte(toolsTag)) ||
		bytes.Contains(turns, []byte(`\u003ctool_call\u003e`)) || bytes.Contains(turns, []byte(`\u003ctools\u003e`)))
}

// readHermes reads turns whose calls, results and tools stand in their text. What a system message says of the form
// goes, since the chat template of the model to be trained writes its own.
func readHermes(r *record) (Row, error) {
	list, err := unwrap(r.turns())
	if err != nil {
		return Row{}, err
	}
	var turns []message
	if err := decode(list, &turns); err != nil {
		return Row{}, refuse(badShape, "conversations are not a list of turns")
	}
	var c conversation
	if system := r.system(); system != nil && (len(turns) == 0 || roleOf(&turns[0]) != chat.System) {
		turns = append([]message{{Role: chat.System, Content: system}}, turns...)
		r.System, r.SystemPrompt = nil, nil // read
	}
	listed := r.tools()
	for i := range turns {
		m := &turns[i]
		said, err := contentOf(first(m.Content, m.Value))
		if err != nil {
			return Row{}, err
		}
		switch roleOf(m) {
		case chat.System:
			if inner, ok := toolsIn(said); ok {
				if listed == nil {
					listed = inner
				}
				if said = ownWords(said); said == "" {
					continue
				}
			}
			c.messages = append(c.messages, chat.Message{Role: chat.System, Content: said})
		case chat.User:
			if err := c.pendingError(); err != nil {
				return Row{}, err
			}
			c.messages = append(c.messages, chat.Message{Role: chat.User, Content: said})
		case chat.Assistant:
			if err := m.checkWeight(); err != nil {
				return Row{}, err
			}
			thought := m.reasoning()
			if thought == "" { // before its calls are looked for: those that it thinks of are none
				thought, said = apart(said)
			}
			found := toolcall.Hermes().Parse(said, toolcall.Options{Repair: true})
			if found.Err != "" {
				return Row{}, refuse(badCall, "%s", found.Err)
			}
			for j := range found.Calls {
				found.Calls[j].ID = ""
			}
			if err := c.say(chat.Message{Content: strings.TrimSpace(found.Content), ReasoningContent: thought,
				NoLoss: m.noLoss(), ToolCalls: found.Calls}); err != nil {
				return Row{}, err
			}
		case chat.ToolRole:
			for _, one := range responses(said) {
				if err := c.result(one, "", ""); err != nil {
					return Row{}, err
				}
			}
		default:
			return Row{}, refuse(badRole, "%q", m.Role+m.From)
		}
	}
	tools, err := toolLines(listed)
	return Row{Messages: c.messages, Tools: tools}, err
}

// toolsIn are the tools in a system message, and whether it speaks of any. Its first tags may be the sentence that
// explains them: "signatures within <tools></tools> XML tags".
func toolsIn(said string) (list jsontext.Value, ok bool) {
	for {
		_, behind, found := strings.Cut(said, toolsTag)
		if !found {
			return list, ok
		}
		ok = true
		inner, _, ended := strings.Cut(behind, toolsEnd)
		if inner = strings.TrimSpace(inner); ended && (strings.HasPrefix(inner, "[") || strings.HasPrefix(inner, "{")) {
			return jsontext.Value(inner), true
		}
		said = behind
	}
}

// toolLines reads a list of tools, or tools one a line.
func toolLines(v jsontext.Value) ([]chat.Tool, error) {
	if v.Kind() != '{' || v.IsValid(jsontext.AllowDuplicateNames(true)) {
		if len(v) > 0 && !v.IsValid(jsontext.AllowDuplicateNames(true)) {
			return nil, refuse(badTools, "%.60q", string(v))
		}
		return toolsOf(v)
	}
	var tools []chat.Tool
	for line := range strings.Lines(string(v)) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if !jsontext.Value(line).IsValid(jsontext.AllowDuplicateNames(true)) {
			return nil, refuse(badTools, "%.60q", line)
		}
		tool, err := toolOf(jsontext.Value(line))
		if err != nil {
			return nil, err
		}
		tools = append(tools, tool)
	}
	return tools, nil
}

// responses are the results in a tool's turn.
func responses(said string) []string {
	var out []string
	for rest := said; ; {
		_, behind, ok := strings.Cut(rest, responseTag)
		if !ok {
			break
		}
		inner, after, ended := strings.Cut(behind, responseEnd)
		out = append(out, strings.TrimSpace(inner))
		if !ended {
			break
		}
		rest = after
	}
	if out == nil {
		return []string{said}
	}
	return out
}
