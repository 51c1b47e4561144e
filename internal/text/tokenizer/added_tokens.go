package tokenizer

import (
	"strings"
	"unicode"
)

// AddedToken is a token that is found in a text before anything else happens to it.
type AddedToken struct {
	ID         int32
	Content    string
	SingleWord bool `json:"single_word"` // not within a word
	Lstrip     bool // takes the white space before it
	Rstrip     bool // takes the white space after it
	Normalized bool // is looked for in the normalised text
	Special    bool // controls the model; left out by DecodeOrdinary
}

// harmless reports whether text from anyone may yield the token: it is not special and only white space, as the runs of
// spaces that GPT-NeoX added. Others, such as Qwen's <tool_call>, are not flagged as special but mark structure.
func (a *AddedToken) harmless() bool {
	return !a.Special && strings.TrimSpace(strings.ReplaceAll(a.Content, "▁", " ")) == ""
}

// addedTokens are the added tokens that are looked for in the raw or in the normalised text.
type addedTokens struct {
	tokens []AddedToken
	find   *trie // values are indices into tokens
	word   *set
}

func newAddedTokens(tokens []AddedToken, text func(AddedToken) string, word *set) *addedTokens {
	if len(tokens) == 0 {
		return nil
	}
	ids := make(map[string]int32, len(tokens))
	for i, token := range tokens {
		ids[text(token)] = int32(i)
	}
	delete(ids, "") // what normalises to nothing is never found
	return &addedTokens{tokens, newTrie(ids), word}
}

// found is a stretch of a text: an added token, or with id -1 what lies between.
type found struct {
	id         int32
	start, end int
}

// cut yields text in stretches. Of the tokens that begin at one place the longest counts, and only if allowed says yes
// to it; what is passed over stays text, and the search goes on behind it.
func (a *addedTokens) cut(text string, allowed func(token *AddedToken, start, end int) bool, yield func(found)) {
	start := 0
	for i := 0; a != nil && i < len(text); {
		if a.find.root[text[i]] == 0 {
			i++
			continue
		}
		index, length := a.find.longest(text[i:])
		if length == 0 {
			i++
			continue
		}
		token, low, high := &a.tokens[index], i, i+length
		i = high
		if !allowed(token, low, high) || token.SingleWord && !a.alone(text, low, high) {
			continue
		}
		if token.Lstrip {
			low = max(start, len(strings.TrimRightFunc(text[:low], unicode.IsSpace)))
		}
		if token.Rstrip {
			high = len(text) - len(strings.TrimLeftFunc(text[high:], unicode.IsSpace))
		}
		if low > start {
			yield(found{-1, start, low})
		}
		yield(found{token.ID, low, high})
		start = high
		// The search does not skip what rstrip took: a token that is white space itself is still found there.
	}
	if start < len(text) {
		yield(found{-1, start, len(text)})
	}
}

func (a *addedTokens) alone(text string, start, end int) bool {
	return !a.word.before(text, start) && a.word.at(text, end) == 0
}
