package revise

import (
	"slices"
	"strings"
	"testing"

	"hone/internal/chat"
)

// Each other form of the prompt has another digest: other words, more or fewer problems, more of a long draft, a
// message of its own, an order.
func TestPromptForm(t *testing.T) {
	words := func(from, to string) func([]chat.Message, Fixed) []chat.Message {
		return func(messages []chat.Message, draft Fixed) []chat.Message {
			out := Prompt(messages, draft)
			last := &out[len(out)-1]
			last.Content = strings.ReplaceAll(last.Content, from, to)
			return out
		}
	}
	seen := map[string]string{PromptForm(): "the prompt"}
	for name, prompt := range map[string]func([]chat.Message, Fixed) []chat.Message{
		"draft":   words("Draft: ", "Draft:\n"),
		"problem": words("Problem: ", "Wrong: "),
		"nothing": words(Nothing, "Nothing."),
		"cut":     words(" [...]", "..."),
		"spaces":  words("It rains. It rains.", "It rains.  It rains."),
		"one problem less": func(messages []chat.Message, draft Fixed) []chat.Message {
			draft.Problems = draft.Problems[:min(len(draft.Problems), maxShown-1)]
			return Prompt(messages, draft)
		},
		"problems turned round": func(messages []chat.Message, draft Fixed) []chat.Message {
			draft.Problems = slices.Clone(draft.Problems)
			slices.Reverse(draft.Problems)
			return Prompt(messages, draft)
		},
		"a message of its own": func(messages []chat.Message, draft Fixed) []chat.Message {
			return append(slices.Clone(messages), Prompt(nil, draft)...)
		},
		"the first call alone": func(messages []chat.Message, draft Fixed) []chat.Message {
			draft.Message.ToolCalls = draft.Message.ToolCalls[:min(len(draft.Message.ToolCalls), 1)]
			return Prompt(messages, draft)
		},
	} {
		form := formOf(prompt)
		if other := seen[form]; other != "" {
			t.Errorf("%s has the digest of %s", name, other)
		}
		seen[form] = name
	}
}

// Sidecars are out that were trained in this form. Who changes the form on purpose writes its digest here, and says in
// the changelog that they are to be trained again.
func TestPromptFormStays(t *testing.T) {
	if got := PromptForm(); got != "ee6256ab77bcb51dc04018f82a9f031d" {
		t.Errorf("the sidecar's prompt has another form: %s", got)
	}
}
