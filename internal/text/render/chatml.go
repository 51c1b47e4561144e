// Package render turns conversations into token ids and completions back into messages. Calls holds
// completions to the form in which a model writes calls.
//
// One rule carries training: ids that a model has seen are never computed again from text. A prompt is built from
// segments, special ids come from the template alone, and turn k+1's prompt is turn k's prompt, the sampled ids, and
// what follows them, unless the template now writes them otherwise (Vendor.Next). What SFT trains on is built from the
// same segments, so it is what serving would prompt.
package render

import (
	_ "embed" // the templates' text
	"fmt"
	"strconv"
	"strings"

	"hone/internal/chat"
	"hone/internal/fault"
	"hone/internal/jinja"
	"hone/internal/text/tokenizer"
	"hone/internal/text/toolcall"
)

// ToolFormat says how the system message lists the tools.
type ToolFormat string

const (
	ToolsCompact ToolFormat = "compact" // one signature a line, see compact.jinja; about a third of the tokens
	ToolsJSON    ToolFormat = "json"    // one OpenAI JSON object a line, as Qwen2.5's template writes it
)

// Options of NewChatML. The zero value has compact tools and no system message but for them.
type Options struct {
	ToolFormat ToolFormat // empty is ToolsCompact
	System     string     // for conversations that do not begin with a system message; empty for none. See OwnSystem
}

// NewChatML renders SmolLM2's form, with Qwen2.5's conventions for what that lacks: tools stand at the end of the
// system message, calls are in the Hermes form, and the results that follow one completion form one user message:
//
//	<|im_start|>system\nYou are ...\n\n# Tools\n...<|im_end|>\n
//	<|im_start|>user\nHash "hi".<|im_end|>\n
//	<|im_start|>assistant\n<tool_call>\n{"name": "hash", ...}\n</tool_call><|im_end|>\n
//	<|im_start|>user\n<tool_response>\n49f6...\n</tool_response><|im_end|>\n
//	<|im_start|>assistant\n
//
// It has no place for reasoning: ReasoningContent is left out, but where calls are JSON alone. The vocabulary must have
// <|im_start|> and <|im_end|>.
func NewChatML(tok *tokenizer.Tokenizer, o Options) (*Vendor, error) {
	if o.ToolFormat == "" {
		o.ToolFormat = ToolsCompact
	}
	if o.ToolFormat != ToolsCompact && o.ToolFormat != ToolsJSON {
		return nil, &fault.Error{Code: fault.CodeUsage, What: fmt.Sprintf("unknown tool format %q", o.ToolFormat),
			Next: "use compact or json"}
	}
	for _, token := range []string{"<|im_start|>", "<|im_end|>"} {
		if id, ok := tok.ID(token); !ok || !tok.IsSpecial(id) {
			return nil, &fault.Error{
				Code: fault.CodeUsage, What: "the model cannot be prompted in ChatML",
				Why:  "its vocabulary has no special token " + token,
				Next: "use an instruction-tuned model whose chat template is ChatML",
			}
		}
	}
	return NewVendor(tok, VendorOptions{Name: "hone's ChatML", Template: o.template(), EOS: "<|endoftext|>",
		Format: toolcall.Hermes(), own: &o})
}

// What stands before and after the tool lines. The JSON form's text is Qwen2.5's.
const (
	beforeJSON = "\n\n# Tools\n\nYou may call one or more functions to assist with the user query.\n\n" +
		"You are provided with function signatures within <tools></tools> XML tags:\n<tools>"
	afterJSON = "\n</tools>\n\nFor each function call, return a json object with function name and arguments within " +
		"<tool_call></tool_call> XML tags:\n<tool_call>\n" +
		"{\"name\": <function-name>, \"arguments\": <args-json-object>}\n</tool_call>"

	beforeCompact = "\n\n# Tools\n"
	afterCompact  = "\n\nTo call a tool, write:\n<tool_call>\n" +
		"{\"name\": \"tool\", \"arguments\": {\"param\": value}}\n</tool_call>"
)

// Schemas nest so deep in a list of tools. References are written out so deep, and so many in a tool: schemas whose
// definitions each use the next one twice, or a hundred times, would otherwise grow without bound.
const (
	maxNested     = 500
	maxReferences = 4
	maxFollowed   = 256
)

//go:embed chatml.jinja
var chatmlTemplate string

//go:embed compact.jinja
var compactTemplate string

// template makes other servers prompt as NewChatML's renderer does, for chat_template.jinja beside the weights.
//
// Such a server tokenises the whole text again, so its ids are ours unless message content looks like a special
// token or an assistant's begins with white space.
func (o Options) template() string {
	text, line, before, after :=
		compactTemplate+chatmlTemplate, "compact_tool(tool.function or tool)", beforeCompact, afterCompact
	if o.ToolFormat == ToolsJSON {
		text, line, before, after = chatmlTemplate, "tool | tojson", beforeJSON, afterJSON
	}
	return strings.NewReplacer(
		"@SYSTEM@", jinjaString(o.System),
		"@TOOL_LINE@", line,
		"@BEFORE_TOOLS@", jinjaString(before),
		"@TOOLS_ALONE@", jinjaString(strings.TrimLeft(before, "\n")),
		"@AFTER_TOOLS@", jinjaString(after),
		"@MAX_REFERENCES@", strconv.Itoa(maxReferences),
		"@MAX_FOLLOWED@", strconv.Itoa(maxFollowed),
	).Replace(text)
}

// withSystem gives a conversation the system message that offers its tools, so that they are written once and not for
// each prefix of it. It returns how many messages it put before the others.
func (v *Vendor) withSystem(messages []chat.Message, tools []chat.Tool) (_ []chat.Message, added int, err error) {
	first, rest := []chat.Value{}, messages
	if len(messages) > 0 && messages[0].Role == chat.System {
		first, rest = append(first, chat.NewObject("role", chat.System, "content", messages[0].Content)), messages[1:]
	}
	listed, err := toolValues(tools)
	if err != nil {
		return nil, 0, err
	}
	plain := &conversation{v: v} // without a sentinel: the content is marked as a whole
	text, _, err := v.template.Render(jinja.Values{Variables: chat.NewObject("messages", first, "tools",
		plain.mark(listed))})
	content, ok := strings.CutPrefix(text, "<|im_start|>system\n")
	if !ok || err != nil {
		return messages, 0, err
	}
	system := chat.Message{Role: chat.System, Content: strings.TrimSuffix(content, "<|im_end|>\n")}
	return append([]chat.Message{system}, rest...), 1 - len(first), nil
}

func badMessage(m chat.Message, why string) error {
	return &fault.Error{
		Code: fault.CodeUsage, What: fmt.Sprintf("cannot render a message with role %q", m.Role),
		Where: fmt.Sprintf("the message beginning %.80q",
			m.Content), Why: why, Next: "correct or leave out the conversation that holds it",
	}
}
