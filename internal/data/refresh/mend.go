package refresh

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"hone/internal/chat"
	"hone/internal/episode/environment"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
)

// seen is what a scenario's gold calls came to in one session.
type seen struct {
	last  string         // result of the last gold call
	looks map[int]string // what state and file checks look at, by their number
}

// Mend takes the values that a scenario's checks want from its gold calls as they are answered now, in two sessions: what
// differs between these is taken for nothing. Only values move: a call that is refused now, an answer that is not where it
// was, and a look that cannot be made leave why. before is the last gold call's result as it was when the scenario was made,
// "" where that is not known.
func Mend(ctx context.Context, from environment.Tools, s scenario.Scenario, before string) (out scenario.Scenario, why string, err error) {
	a, why, err := play(ctx, from, s)
	if why != "" || err != nil {
		return s, why, err
	}
	b, why, err := play(ctx, from, s)
	if why != "" || err != nil {
		return s, why, err
	}
	s.Checks = slices.Clone(s.Checks)
	for i := range s.Checks {
		if why := mendCheck(&s, i, a, b, before); why != "" {
			return s, fmt.Sprintf("checks[%d] (%s): %s", i, s.Checks[i].Type, why), nil
		}
	}
	return s, "", nil
}

func play(ctx context.Context, from environment.Tools, s scenario.Scenario) (got seen, why string, err error) {
	session, err := from.Open(ctx, s.ID, environment.TemplatesOf(s.Template)...)
	if err != nil {
		return got, "", err
	}
	defer func() { _ = session.Close() }() // the calls are made
	for _, c := range s.SetupCalls() {
		if r := session.Probe(ctx, c); r.Status != trajectory.CallOK {
			return got, "the setup's call of " + c.Name + " is refused: " + r.Text + r.Error, nil
		}
	}
	refused := map[string]bool{}
	for _, c := range s.Checks {
		refused[c.Name] = refused[c.Name] || c.Refused
	}
	for i, c := range s.GoldCalls() {
		c.ID = fmt.Sprint("gold_", i)
		r := session.Call(ctx, []chat.ToolCall{c})[0]
		if r.Status != trajectory.CallOK && !(refused[c.Name] && i < len(s.Gold)-1) {
			return got, "the call of " + c.Name + " is refused: " + r.Text + r.Error, nil
		}
		got.last = r.Text
	}
	got.looks = map[int]string{}
	for i, c := range s.Checks {
		switch c.Type {
		case scenario.StateCheck:
			r := session.Probe(ctx, chat.ToolCall{ID: fmt.Sprint("look_", i), Name: c.Name, Arguments: string(c.Arguments)})
			if r.Status != trajectory.CallOK {
				return got, "what " + c.Name + " looks at is not shown: " + r.Text + r.Error, nil
			}
			if got.looks[i] = r.Text; len(r.StructuredContent) > 0 && !json.Valid([]byte(r.Text)) {
				got.looks[i] = string(r.StructuredContent)
			}
		case scenario.FileCheck:
			if text, ok := fileIn(session.Dir(c.Server), c.Path); ok {
				got.looks[i] = text
			}
		}
	}
	return got, "", ctx.Err()
}

func fileIn(dir, path string) (string, bool) {
	if dir == "" {
		return "", false
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", false
	}
	defer root.Close()
	data, err := root.ReadFile(path)
	return string(data), err == nil && len(data) < 1<<16
}

// mendCheck has one check want what is there now.
func mendCheck(s *scenario.Scenario, i int, a, b seen, before string) (why string) {
	c := &s.Checks[i]
	now, again, looked := a.last, b.last, true
	if c.Type == scenario.StateCheck || c.Type == scenario.FileCheck {
		now, looked = a.looks[i]
		again = b.looks[i]
	} else if c.Type != scenario.AnswerCheck {
		return ""
	}
	switch {
	case c.Type == scenario.FileCheck && c.Equals == nil:
	case !looked:
		return "what it looks at is not there"
	case c.Type == scenario.AnswerCheck:
		return mendAnswer(s, c, a.last, b.last, before)
	case c.Equals != nil && now == again:
		c.Equals = &now
	case c.Equals != nil:
		return "it is another at each time"
	case c.Contains != nil && !strings.Contains(now, *c.Contains):
		return "what it is to contain is not there"
	case len(c.Matches) > 0:
		pattern, ok := fixed(now, again)
		if !ok {
			return "what stays of it has no form that a check can want"
		}
		c.Matches = pattern
	}
	return ""
}

// mendAnswer has a check of the answer, and the gold answer, want the value that stands now where the old one stood.
func mendAnswer(s *scenario.Scenario, c *scenario.Check, now, again, before string) (why string) {
	if c.Equals == nil {
		return ""
	}
	old := *c.Equals
	where, ok := placeOf(before, old)
	if !ok {
		if strings.Contains(now, old) && strings.Contains(again, old) { // as it was, wherever that is
			return ""
		}
		return "where its value stood is not known"
	}
	value, ok := where.in(now)
	other, same := where.in(again)
	switch {
	case !ok || !same:
		return "its value is no longer where it stood"
	case value != other:
		return "its value is another at each time"
	case value == "" || strings.Contains(s.Task, value) && value != old:
		return "the task gives its value away now"
	}
	if s.GoldAnswer == old {
		s.GoldAnswer = value
	}
	c.Equals = &value
	return ""
}

// place is where a value stands in a result: at a path of its JSON, between two texts on a line, or alone.
type place struct {
	path          []string
	before, after string
	alone         bool
}

// placeOf finds where a value stands in a text; ok is false where it stands nowhere, or in two places.
func placeOf(text, value string) (p place, ok bool) {
	if strings.TrimSpace(text) == value {
		return place{alone: true}, true
	}
	if v, isJSON := decoded(text); isJSON {
		var found [][]string
		leaves(nil, v, func(path []string, leaf string) {
			if leaf == value {
				found = append(found, slices.Clone(path))
			}
		})
		if len(found) == 1 {
			return place{path: found[0]}, true
		}
		return p, false
	}
	if strings.Count(text, value) != 1 {
		return p, false
	}
	for _, line := range strings.Split(text, "\n") {
		if head, tail, found := strings.Cut(line, value); found && strings.TrimSpace(head) != "" {
			return place{before: head, after: tail}, true
		}
	}
	return p, false
}

// in is what stands at a place of another text.
func (p place) in(text string) (string, bool) {
	if p.alone {
		text = strings.TrimSpace(text)
		return text, !strings.Contains(text, "\n")
	}
	if p.path != nil {
		v, isJSON := decoded(text)
		if !isJSON {
			return "", false
		}
		value, found := "", false
		leaves(nil, v, func(path []string, leaf string) {
			if slices.Equal(path, p.path) {
				value, found = leaf, true
			}
		})
		return value, found
	}
	for _, line := range strings.Split(text, "\n") {
		if rest, found := strings.CutPrefix(line, p.before); found {
			if value, found := strings.CutSuffix(rest, p.after); found {
				return value, true
			}
		}
	}
	return "", false
}

// leaves visits the texts and numbers of JSON, each with the way to it.
func leaves(path []string, v any, visit func(path []string, leaf string)) {
	switch v := v.(type) {
	case map[string]any:
		for name, below := range v {
			leaves(append(slices.Clone(path), name), below, visit)
		}
	case []any:
		for i, below := range v {
			leaves(append(slices.Clone(path), fmt.Sprint(i)), below, visit)
		}
	case string:
		visit(path, strings.TrimSpace(v))
	case json.Number:
		visit(path, v.String())
	}
}

// decoded reads JSON with its numbers as they are written.
func decoded(text string) (v any, isJSON bool) {
	if !json.Valid([]byte(text)) {
		return nil, false
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	err := d.Decode(&v)
	return v, err == nil
}

// fixed is a pattern (grade.Pattern) that two JSON texts meet: what differs may be anything. ok is false where they have
// nothing in common, or keys that would be read as operators.
func fixed(a, b string) (json.RawMessage, bool) {
	x, ok := decoded(a)
	y, also := decoded(b)
	if !ok || !also {
		return nil, false
	}
	kept := 0
	v, ok := common(x, y, &kept)
	if !ok || kept == 0 {
		return nil, false
	}
	text, err := json.Marshal(v)
	return bytes.TrimSpace(text), err == nil
}

func common(a, b any, kept *int) (any, bool) {
	anything := map[string]any{"$any": true}
	switch x := a.(type) {
	case map[string]any:
		y, same := b.(map[string]any)
		if !same || len(x) != len(y) {
			return anything, true
		}
		out := map[string]any{}
		for name, below := range x {
			other, there := y[name]
			if strings.HasPrefix(name, "$") {
				return nil, false
			}
			if !there {
				return anything, true
			}
			v, ok := common(below, other, kept)
			if !ok {
				return nil, false
			}
			out[name] = v
		}
		return out, true
	case []any:
		y, same := b.([]any)
		if !same || len(x) != len(y) {
			return anything, true
		}
		out := []any{}
		for i := range x {
			v, ok := common(x[i], y[i], kept)
			if !ok {
				return nil, false
			}
			out = append(out, v)
		}
		return out, true
	}
	if a != b {
		return anything, true
	}
	*kept++
	return a, true
}

// Answers says why the answer that a scenario wants is not what its gold calls answer now: its value stands elsewhere, or is
// another. Checks of answers are held against the gold answer alone by others (package vet), which does not move.
func Answers(ctx context.Context, from environment.Tools, s scenario.Scenario, before string) (why string, err error) {
	if !slices.ContainsFunc(s.Checks, func(c scenario.Check) bool { return c.Type == scenario.AnswerCheck && c.Equals != nil }) || len(s.Gold) == 0 {
		return "", nil
	}
	got, why, err := play(ctx, from, s)
	if err != nil || why != "" {
		return why, err
	}
	for _, c := range s.Checks {
		if c.Type != scenario.AnswerCheck || c.Equals == nil {
			continue
		}
		where, ok := placeOf(before, *c.Equals)
		if !ok {
			continue // nothing says where it stood
		}
		if value, ok := where.in(got.last); !ok || value != *c.Equals {
			return "the answer that it wants is not what the call answers", nil
		}
	}
	return "", nil
}
