package serve

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"hone/internal/chat"
	"hone/internal/episode/policy"
	"hone/internal/text/grammar"
)

// Shape is what is needed to hold completions to a form. Without it such requests are refused.
type Shape struct {
	Words *grammar.Vocabulary
	// Frame is how calls are written; nil where their arguments do not stand there as JSON, so that none can be forced.
	Frame *grammar.Frame
	// Opens returns, where the prompt has begun the model's reasoning, the text that ends it; else "".
	Opens func(prompt []int32) string
	// Read returns a reader of a completion that is held to calls: it tells of them while they are written. nil: they
	// are told of once whole.
	Read func(prompt []int32) Reader
}

// constraint is what holds a completion to what was asked; nil where anything may come.
func (m *served) constraint(q *request, prompt []int32) (policy.Constraint, *apiError) {
	for _, id := range q.banned {
		if m.VocabSize > 0 && int(id) >= m.VocabSize {
			return nil, invalid("logit_bias",
				fmt.Sprintf("there is no token %d: the vocabulary has %d", id, m.VocabSize))
		}
	}
	form, refused := m.form(q, prompt)
	switch {
	case refused != nil:
		return nil, refused
	case form == nil && q.banned == nil:
		return nil, nil
	case form == nil:
		return q.banned, nil
	case q.banned == nil:
		return form, nil
	}
	return both{form, q.banned}, nil
}

// both are two constraints one after the other.
type both [2]policy.Constraint

// Narrow implements policy.Constraint.
func (b both) Narrow(completion []int32, allowed *policy.IDSet) {
	b[0].Narrow(completion, allowed)
	b[1].Narrow(completion, allowed)
}

// form is the grammar of what was asked.
func (m *served) form(q *request, prompt []int32) (policy.Constraint, *apiError) {
	tools := q.promptTools()
	forced := q.choice.mode == choiceRequired
	watched := len(tools) > 0 && q.answer == nil &&
		(q.oneCall || len(q.strict) > 0 && m.Shape != nil && m.Shape.Frame != nil)
	if !forced && q.answer == nil && !watched {
		return nil, nil
	}
	param := "tool_choice"
	switch {
	case q.answer != nil:
		param = q.answer.param
	case !forced:
		param = "parallel_tool_calls"
	}
	if m.Shape == nil || len(tools) > 0 && m.Shape.Frame == nil {
		return nil, unsupportedError(param, "this model's form of tool calls cannot be held to a schema")
	}
	want := grammar.Wanted{Many: !q.oneCall && q.choice.name == ""}
	if len(tools) > 0 {
		want.Frame = *m.Shape.Frame
	}
	for _, t := range tools {
		switch {
		case forced && q.choice.name != "" && t.Name != q.choice.name:
			continue
		case !forced && !q.strict[t.Name]:
			t.InputSchema = nil // the model's own doing
		case len(t.InputSchema) == 0 || string(t.InputSchema) == "null":
			t.InputSchema = json.RawMessage(`{}`) // without parameters, as OpenAI says of a tool that leaves them out
		}
		want.Tools = append(want.Tools, t)
	}
	if q.answer != nil && !forced {
		if want.Answer = q.answer.schema; want.Answer == nil {
			want.Answer = json.RawMessage(`{"type":"object"}`)
		}
	}
	if watched && !forced {
		want.Many = false // the watcher begins anew behind each
	}
	g, refused := m.grammars.of(m.Shape.Words, want, q, param)
	if refused != nil {
		return nil, refused
	}
	stops := append(m.Renderer.StopIDs(), q.sampling.StopIDs...)
	if watched && !forced {
		return g.NewWatcher(stops, want.Frame.Open, q.oneCall), nil
	}
	after := ""
	if m.Shape.Opens != nil {
		after = m.Shape.Opens(prompt)
	}
	return g.NewMatcher(stops, after), nil
}

// formError is why sampling ended, where the form had a part in it.
func formError(form policy.Constraint, err error) error {
	if b, ok := form.(both); ok {
		form = b[0]
	}
	var none *policy.ConstraintError
	if m, ok := form.(*grammar.Matcher); ok && errors.As(err, &none) && m.Exhausted() {
		return errForm
	}
	return err
}

// grammars keeps what was compiled: agents send the same tools with each request. Those asked for last are kept, as
// many as take maxGrammarBytes together: a grammar grows with what is written with it.
type grammars struct {
	mu   sync.Mutex
	kept []keptGrammar // asked for last comes last
}

type keptGrammar struct {
	key [sha256.Size]byte
	*grammar.Grammar
}

const maxGrammarBytes = 64 << 20

func (k *grammars) find(key [sha256.Size]byte) *grammar.Grammar {
	k.mu.Lock()
	defer k.mu.Unlock()
	i := slices.IndexFunc(k.kept, func(x keptGrammar) bool { return x.key == key })
	if i < 0 {
		return nil
	}
	x := k.kept[i]
	k.kept = append(slices.Delete(k.kept, i, i+1), x)
	return x.Grammar
}

func (k *grammars) keep(key [sha256.Size]byte, g *grammar.Grammar) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.kept = append(slices.DeleteFunc(k.kept, func(x keptGrammar) bool { return x.key == key }), keptGrammar{key, g})
	bytes := 0
	for i := len(k.kept) - 1; i >= 0; i-- {
		if bytes += k.kept[i].Bytes(); bytes > maxGrammarBytes && i < len(k.kept)-1 {
			k.kept = slices.Delete(k.kept, 0, i+1)
			return
		}
	}
}

func (k *grammars) of(
	words *grammar.Vocabulary, want grammar.Wanted, q *request, param string,
) (*grammar.Grammar, *apiError) {
	text, err := json.Marshal(want)
	if err != nil {
		return nil, invalid(param, "a schema is not JSON: "+err.Error())
	}
	key := sha256.Sum256(text)
	g := k.find(key)
	if g == nil || g.Large() {
		if g, err = grammar.Compile(words, want); err != nil {
			if len(want.Tools) > 0 {
				param = "tools"
			}
			return nil, invalid(param, "a schema cannot be held to: "+err.Error())
		}
		k.keep(key, g)
	}
	if strict := q.answer != nil && q.answer.strict || len(q.strict) > 0; strict && len(g.Unheld) > 0 {
		return nil, unsupportedError(param,
			"strict is asked for, and this cannot be held to: "+strings.Join(g.Unheld, ", "))
	}
	return g, nil
}

// tool is OpenAI's tool with what chat.Tool does not keep.
type tool struct {
	chat.Tool
	strict bool
}

// UnmarshalJSON implements json.Unmarshaler. Responses have the function's keys beside its type, chat completions have
// them in "function".
func (t *tool) UnmarshalJSON(raw []byte) error {
	type function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
		Strict      bool            `json:"strict"`
	}
	var x struct {
		Type     string    `json:"type"`
		Function *function `json:"function"`
		function
	}
	if err := json.Unmarshal(raw, &x); err != nil {
		return err
	}
	f := x.function
	if x.Function != nil {
		f = *x.Function
	}
	if f.Name == "" {
		return errors.New(`a tool has no function name: its form is {"type": "function", "function": {"name": ..., "parameters": ...}}`)
	}
	*t = tool{chat.Tool{Name: f.Name, Description: f.Description, InputSchema: f.Parameters}, f.Strict}
	return nil
}

// setTools gives a request its tools.
func (q *request) setTools(given tools) {
	for _, t := range given {
		q.tools = append(q.tools, t.Tool)
		if t.strict {
			if q.strict == nil {
				q.strict = map[string]bool{}
			}
			q.strict[t.Name] = true
		}
	}
}
