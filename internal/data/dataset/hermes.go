package dataset

import (
	"slices"
	"strings"
)

// ownWords are what an author says in a system message beside the tools and the form of calls. Those go: the chat
// template of the model to be trained writes its own. Sentences that speak of the tags go, and those that Hermes and
// Qwen begin with.
func ownWords(said string) string {
	said = withoutBlocks(withoutBlocks(said, toolsTag, toolsEnd), callTag, callEnd)
	var kept strings.Builder
	for said != "" {
		var sentence string
		if sentence, said = sentenceOf(said); !aboutForm(sentence) {
			kept.WriteString(sentence)
		}
	}
	return strings.TrimSpace(kept.String())
}

// withoutBlocks ends the line where JSON stands between two tags. Tags with nothing of the kind between them are words
// of a sentence.
func withoutBlocks(said, open, end string) string {
	var out strings.Builder
	for {
		before, behind, found := strings.Cut(said, open)
		inner, after, closed := strings.Cut(behind, end)
		switch {
		case !found:
			return out.String() + said
		case closed && strings.IndexAny(strings.TrimSpace(inner), "[{") == 0:
			if open == callTag { // an example: the tag tells that its sentence is about the form
				before += open
			}
			out.WriteString(before + "\n")
			said = after
		default:
			out.WriteString(before + open)
			said = behind
		}
	}
}

// sentenceOf is the first sentence of a text with what parts it from the next: the end of a line, or a blank behind its
// stop.
func sentenceOf(said string) (sentence, rest string) {
	for i := range len(said) {
		if said[i] == '\n' || i > 0 && (said[i] == ' ' || said[i] == '<') && strings.IndexByte(".!?", said[i-1]) >= 0 {
			n := i + 1
			if said[i] == '<' {
				n = i
			}
			return said[:n], said[n:]
		}
	}
	return said, ""
}

// aboutForm reports whether a sentence says how calls are written, and nothing of the author's own.
func aboutForm(sentence string) bool {
	sentence = strings.TrimSpace(sentence)
	for _, tag := range []string{toolsTag, toolsEnd, callTag, callEnd, responseTag, responseEnd} {
		if strings.Contains(sentence, tag) {
			return true
		}
	}
	if slices.Contains([]string{"You are a function calling AI model.", "You are a function calling AI model",
		"# Tools", "."}, sentence) {
		return true
	}
	for _, known := range []string{
		"You are provided with function signatures", "You may call one or more functions to assist",
		"Don't make assumptions about what values to plug into functions", "Here are the available tools",
		"Use the following pydantic model json schema", "For each function call return",
		"For each function call, return", "{'title': 'FunctionCall'", `{"title": "FunctionCall"`,
	} {
		if strings.HasPrefix(sentence, known) {
			return true
		}
	}
	return false
}
