package revise

import (
	"slices"
	"strings"

	"hone/internal/blob"
	"hone/internal/chat"
)

// Nothing is what the sidecar says where no call is due: the draft's answer in words is right.
const Nothing = "No call."

// maxDraft bounds what of a draft's text the sidecar is shown, in bytes.
const maxDraft = 800

// maxShown bounds the problems that the sidecar is told.
const maxShown = 4

// Prompt is what the sidecar is asked: the conversation that the upstream was asked, and behind it the draft as the
// fixer left it, with what is still wrong with it. All drafts of a conversation begin alike, so what comes before is
// computed once.
//
//	USER   What is the weather in Rome for 3 days?
//
//	       Draft: {"name": "get_weather", "arguments": {"days": 3}}
//	       Problem: missing property 'city'
//	       Write the right call, or: No call.
func Prompt(messages []chat.Message, draft Fixed) []chat.Message {
	var b strings.Builder
	b.WriteString("Draft: " + DraftText(draft.Message))
	for i, p := range draft.Problems {
		if i == maxShown {
			break
		}
		b.WriteString("\nProblem: " + shorten(p.String(), maxDraft/maxShown))
	}
	b.WriteString("\nWrite the right call, or: " + Nothing)
	out := slices.Clone(messages)
	if n := len(out); n > 0 && out[n-1].Role == chat.User {
		out[n-1].Content += "\n\n" + b.String()
		return out
	}
	return append(out, chat.Message{Role: chat.User, Content: b.String()})
}

// PromptForm is a digest of what Prompt makes of messages and drafts of all kinds: another form of the prompt has
// another. A sidecar is served with the one that it was trained with.
func PromptForm() string { return formOf(Prompt) }

func formOf(prompt func([]chat.Message, Fixed) []chat.Message) string {
	asked := []chat.Message{
		{Role: chat.System, Content: "You use tools."},
		{Role: chat.User, Content: "What is the weather in Rome?"},
	}
	answered := append(slices.Clone(asked), chat.Message{Role: chat.Assistant, ToolCalls: []chat.ToolCall{
		{ID: "call_0", Name: "get_city", Arguments: "{}"},
	}},
		chat.Message{Role: chat.ToolRole, ToolCallID: "call_0", Content: "Rome"})
	calls := chat.Message{Role: chat.Assistant, Content: "I look.", ToolCalls: []chat.ToolCall{
		{ID: "a", Name: "get_weather", Arguments: `{"days": 3}`},
		{ID: "b", Name: `get "it"`, Arguments: `{`},
	}}
	long := chat.Message{Role: chat.Assistant, Content: " " + strings.Repeat("It rains. ", 200)}
	var problems []Problem
	for i, where := range []string{"", "/days", "", "/city", "", ""} {
		problems = append(problems,
			Problem{Call: i, Where: where, Text: strings.Repeat("missing property 'city' ", 1+10*i)})
	}
	var parts []string
	for _, messages := range [][]chat.Message{nil, asked, answered} {
		for _, draft := range []Fixed{{Message: calls}, {Message: calls, Problems: problems}, {Message: long}} {
			for _, m := range prompt(messages, draft) {
				parts = append(parts, string(m.Role), m.Content)
			}
			parts = append(parts, "")
		}
	}
	return blob.Parts(parts...).String()[:32]
}

// DraftText is a message as the sidecar is shown it: its calls, one a line, else its text.
func DraftText(m chat.Message) string {
	if len(m.ToolCalls) == 0 {
		return shorten(strings.TrimSpace(m.Content), maxDraft)
	}
	var lines []string
	for _, c := range m.ToolCalls {
		name, _ := chat.AppendJSON(nil, c.Name, chat.Format{}) // of a text
		lines = append(lines, shorten(`{"name": `+string(name)+`, "arguments": `+c.Arguments+`}`, maxDraft))
	}
	return strings.Join(lines, "\n")
}

// shorten keeps the head of a text.
func shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + " [...]"
}

// Hint is what an upstream is told of its draft, for another try: the problems in words.
func Hint(draft Fixed) chat.Message {
	var lines []string
	for _, p := range draft.Problems {
		lines = append(lines, "- "+p.String())
	}
	return chat.Message{Role: chat.User,
		Content: "That is no valid tool call:\n" + strings.Join(lines, "\n") + "\nWrite the call again, corrected."}
}
