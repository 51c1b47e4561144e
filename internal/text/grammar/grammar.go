package grammar

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"hone/internal/chat"
	"hone/internal/episode/policy"
)

// Frame is how a form writes calls whose arguments stand there as JSON: Open NAME Middle ARGUMENTS Close, and Between,
// where it is not empty, before another one.
type Frame struct{ Open, Middle, Close, Between string }

// Wanted says what a completion is held to: an answer, calls, or either. Without both it is any JSON object.
type Wanted struct {
	Answer json.RawMessage // JSON Schema of the answer; nil: none is wanted
	// tools of which one is to be called, of those without a schema with any arguments; nil: none is to be
	Tools []chat.Tool
	Frame Frame // of the calls
	Many  bool  // more than one call may be written, where the frame says what stands between them
}

// Compile makes the grammar. Its error says what is wrong with a schema, and where.
func Compile(v *Vocabulary, w Wanted) (*Grammar, error) {
	b := newBuilder(v)
	var alternatives []sequence
	if w.Answer != nil {
		x, err := b.document(w.Answer)
		if err != nil {
			return nil, err
		}
		alternatives = append(alternatives, one(x))
	}
	if len(w.Tools) > 0 {
		x, err := b.calls(w)
		if err != nil {
			return nil, err
		}
		alternatives = append(alternatives, one(x))
	}
	if alternatives == nil {
		alternatives = []sequence{one(b.anyObject())}
	}
	b.define(1, alternatives...)
	if err := b.large(); err != nil {
		return nil, err
	}
	b.prune()
	g := newGrammar(b)
	if g.start.dead() {
		return nil, errors.New("no value fits the schema")
	}
	return g, nil
}

// document is the rule of a whole schema. References point into it, not into others.
func (b *builder) document(schema json.RawMessage) (symbol, error) {
	root, err := decode(schema)
	if err != nil {
		return symbol{}, err
	}
	return b.schema(root, root, "#", 0)
}

// arguments is the rule of a call's arguments: whatever a schema allows beside, they are an object. A schema that is
// there and demands nothing is that of a tool without parameters. Without a schema any object will do.
func (b *builder) arguments(schema json.RawMessage) (symbol, error) {
	root, err := decode(schema)
	if err != nil {
		return symbol{}, err
	}
	o, object := root.(*chat.Object), chat.NewObject("type", "object")
	if beside(o, "").Len() == 0 {
		return b.schema(root, chat.NewObject("type", "object", "additionalProperties", false), "#", 0)
	}
	_, typed := o.Get("type")
	switch kinds, err := typesOf(o, "#"); {
	case err != nil:
		return symbol{}, err
	case !slices.Contains(kinds, "object"):
		return symbol{}, errors.New("arguments are an object, which its type at # does not allow")
	case len(kinds) == 1 && typed:
		return b.schema(root, root, "#", 0)
	}
	return b.schema(root, chat.NewObject("allOf", []chat.Value{root, object}), "#", 0)
}

func (b *builder) calls(w Wanted) (symbol, error) {
	b.compact = true
	var tools []sequence
	for _, t := range w.Tools {
		arguments, err := b.arguments(t.InputSchema)
		if err != nil {
			return symbol{}, fmt.Errorf("tool %q: %w", t.Name, err)
		}
		name := jsonText(t.Name) // as the frame writes it: where that is JSON, its quotes are the frame's
		tools = append(tools, join(name[1:len(name)-1], b.literal(w.Frame.Middle), one(arguments)))
	}
	call := join(b.literal(w.Frame.Open), one(b.rule(tools...)), b.literal(w.Frame.Close))
	if !w.Many || w.Frame.Between == "" {
		return b.rule(call), nil
	}
	return b.rule(join(call, one(b.many(join(b.literal(w.Frame.Between), call))))), nil
}

// Matcher holds one completion to a grammar. It implements policy.Constraint.
type Matcher struct {
	grammar *Grammar
	stops   []int32 // tokens that end a completion
	// free, where it is not empty, is a text up to which anything may be written, such as the end of a model's
	// reasoning.
	free string
	// lead is a text that begins the grammar's where it comes after anything else; empty: the grammar's begins at once.
	lead string

	at   *state // nil while anything may be written
	read int    // tokens of the completion
	text string // the end of what was written freely
	once bool   // after the grammar's text nothing but the end may follow
}

// NewMatcher holds a completion from its beginning on, or where after is not empty from behind that text on. stops may
// follow where the grammar's text may end.
func (g *Grammar) NewMatcher(stops []int32, after string) *Matcher {
	m := &Matcher{grammar: g, stops: stops, free: after, once: true}
	if after == "" {
		m.at = g.start
	}
	return m
}

// NewWatcher lets anything be written, and holds what begins with lead, the beginning of all of the grammar's texts.
// once says that behind such a text only the end may come.
func (g *Grammar) NewWatcher(stops []int32, lead string, once bool) *Matcher {
	return &Matcher{grammar: g, stops: stops, lead: lead, once: once}
}

// Narrow implements policy.Constraint.
func (m *Matcher) Narrow(completion []int32, allowed *policy.IDSet) {
	m.grammar.mu.Lock()
	defer m.grammar.mu.Unlock()
	for ; m.read < len(completion); m.read++ {
		m.take(completion[m.read])
	}
	if m.at == nil && m.free != "" { // what is asked for comes behind it
		for _, id := range m.stops {
			allowed.Remove(id)
		}
	}
	if m.at == nil {
		return
	}
	allowed.Keep(m.grammar.nextTokens(m.at))
	if m.at.ends {
		for _, id := range m.stops {
			allowed.Add(id)
		}
	}
}

// Exhausted reports whether the completion was cut off because the grammar has as many states as it may.
func (m *Matcher) Exhausted() bool {
	m.grammar.mu.Lock()
	defer m.grammar.mu.Unlock()
	return len(m.grammar.states) >= m.grammar.most
}

// take reads the next token.
func (m *Matcher) take(id int32) {
	g := m.grammar
	if m.at != nil {
		m.at = g.read(m.at, id)
		if m.at.ends && !m.once && len(m.at.places) == 1 {
			m.at, m.text = nil, ""
		}
		return
	}
	m.text += g.words.token(id).Text
	mark := m.free
	if mark == "" {
		mark = m.lead
	}
	for i := 0; i+len(mark) <= len(m.text); i++ {
		if m.text[i:i+len(mark)] != mark {
			continue
		}
		rest := m.text[i+len(mark):]
		m.at = g.start
		if m.free == "" {
			m.at = g.behindLead(mark)
		}
		m.text = ""
		if next := g.readText(m.at, rest); !next.dead() {
			m.at = next
		}
		return
	}
	m.text = m.text[max(0, len(m.text)-len(mark)+1):]
}

// behindLead is the state behind the text that a frame begins with, whatever tokens wrote it.
func (g *Grammar) behindLead(text string) *state {
	s := g.start
	for len(text) > 0 {
		if id, n := g.words.addedTokenAt(text); n > 0 {
			s, text = g.mark(s, id), text[n:]
			continue
		}
		s, text = g.step(s, text[0]), text[1:]
	}
	return s
}
