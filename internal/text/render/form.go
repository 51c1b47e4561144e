package render

import (
	"fmt"
	"strconv"
	"sync"

	"hone/internal/chat"
	"hone/internal/episode/policy"
	"hone/internal/text/grammar"
	"hone/internal/text/tokenizer"
)

// TokenTexts is the vocabulary of a tokenizer, for grammars, of as many ids as the model has logits.
func TokenTexts(tok *tokenizer.Tokenizer, size int) *grammar.Vocabulary {
	return grammar.NewVocabulary(size, func(id int32) grammar.Token {
		text, _ := tok.Bytes(id)
		return grammar.Token{Text: text, Added: tok.IsAdded(id)}
	})
}

// Calls holds completions to one call of a tool, or to none. It is safe for use from many goroutines.
type Calls struct {
	words *grammar.Vocabulary
	frame grammar.Frame
	marks []*grammar.Mark // of calls
	r     Renderer
	stops []int32

	mu       sync.Mutex
	grammars map[string]*grammar.Grammar // by tool and schema
}

// NewCalls returns what holds a model of words under a renderer to calls. It is false where its form of calls cannot be
// held to a schema.
func NewCalls(words *grammar.Vocabulary, r Renderer) (*Calls, bool) {
	format := r.ToolFormat()
	frame, ok := format.Frame()
	if !ok {
		return nil, false
	}
	c := &Calls{words: words, frame: grammar.Frame(frame), r: r, stops: r.StopIDs(),
		grammars: map[string]*grammar.Grammar{}}
	for _, mark := range format.Marks() {
		c.marks = append(c.marks, words.Mark(mark))
	}
	return c, len(c.marks) > 0
}

// Call is what holds the completion behind a prompt to one call of a tool, with arguments of its schema. It is free
// before the end of its reasoning, where the prompt has begun that, or where the model thinks by itself. The error says
// what of the schema is wrong.
func (c *Calls) Call(tool chat.Tool, prompt []int32, thinks bool) (policy.Constraint, error) {
	g, err := c.of(tool)
	if err != nil {
		return nil, err
	}
	return g.NewMatcher(c.stops, c.after(prompt, thinks)), nil
}

// None is what holds the completion behind a prompt to words without a call. It is free where Call's is.
func (c *Calls) None(prompt []int32, thinks bool) policy.Constraint {
	return c.words.Speech(c.stops, c.after(prompt, thinks), c.marks...)
}

// after is the end of the reasoning of a completion, "" where it has none.
func (c *Calls) after(prompt []int32, thinks bool) string {
	if end := c.r.Opens(prompt); end != "" {
		return end
	}
	if thinks {
		return c.r.Closes()
	}
	return ""
}

func (c *Calls) of(tool chat.Tool) (*grammar.Grammar, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := strconv.Quote(tool.Name) + string(tool.InputSchema)
	if g := c.grammars[key]; g != nil && !g.Large() {
		return g, nil
	}
	g, err := grammar.Compile(c.words, grammar.Wanted{Tools: []chat.Tool{tool}, Frame: c.frame})
	if err != nil {
		return nil, fmt.Errorf("the schema of the tool %s: %w", tool.Name, err)
	}
	c.grammars[key] = g
	return g, nil
}
