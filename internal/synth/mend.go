package synth

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"unicode"

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

// Mend takes the values that a scenario's checks want from its gold calls as they are answered now, in two sessions:
// what differs between these is taken for nothing. Only values move: a call that is refused now, an answer that is not
// where it was, and a look that cannot be made leave why. before is the last gold call's result as it was when the
// scenario was made, "" where that is not known; last is that result as it is now.
func Mend(
	ctx context.Context, from environment.Tools, s scenario.Scenario, before string,
) (out scenario.Scenario, last, why string, err error) {
	a, why, err := play(ctx, from, s)
	if why != "" || err != nil {
		return s, "", why, err
	}
	b, why, err := play(ctx, from, s)
	if why != "" || err != nil {
		return s, "", why, err
	}
	s.Checks = slices.Clone(s.Checks)
	for i := range s.Checks {
		if why := mendCheck(&s, i, a, b, before); why != "" {
			return s, "", fmt.Sprintf("checks[%d] (%s): %s", i, s.Checks[i].Type, why), nil
		}
	}
	return s, a.last, "", nil
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
			r := session.Probe(ctx,
				chat.ToolCall{ID: fmt.Sprint("look_", i), Name: c.Name, Arguments: string(c.Arguments)})
			if r.Status != trajectory.CallOK {
				return got, "what " + c.Name + " looks at is not shown: " + r.Text + r.Error, nil
			}
			got.looks[i] = r.Data()
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
		if value := missingValue(s, *c.Equals, now); value != "" {
			return fmt.Sprintf("%.60q, which the task or a gold call says, no longer stands where it stood", value)
		}
		c.Equals = &now
	case c.Equals != nil:
		return "it is another at each time"
	case c.Contains != nil && !strings.Contains(now, *c.Contains):
		return "what it is to contain is not there"
	case len(c.Matches) > 0:
		pattern, ok := commonValue(now, again)
		if !ok {
			return "what stays of it has no form that a check can want"
		}
		if value := missingValue(s, string(c.Matches), string(pattern)); value != "" {
			return fmt.Sprintf("%.60q, which the task or a gold call says, no longer stands where it stood", value)
		}
		c.Matches = pattern
	}
	return ""
}

// missingValue is a value of the task or of a gold call's arguments that a check wanted and would want no longer, ""
// where there is none: it is what the task is about, so a check without it would pass whatever was done.
func missingValue(s *scenario.Scenario, before, now string) string {
	values := strings.FieldsFunc(s.Task, func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune("\"'`.,;:!?()[]{}", r)
	})
	values = append(values, strings.Fields(s.Task)...)
	for _, c := range s.GoldCalls() {
		if v, isJSON := decode(c.Arguments); isJSON {
			visit(nil, v, func(_ []step, leaf string) { values = append(values, leaf) })
		}
	}
	for _, value := range values {
		if occurs(before, value) && !occurs(now, value) {
			return value
		}
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
		if occurs(now, old) && occurs(again, old) { // as it was, wherever that is
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

// commonValue is a pattern (grade.Pattern) that two JSON texts meet: what differs may be anything. ok is false where
// they have nothing in common, or keys that would be read as operators.
func commonValue(a, b string) (json.RawMessage, bool) {
	x, ok := decode(a)
	y, also := decode(b)
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

// Answers says why the answer that a scenario wants is not what its gold calls answer now: its value stands elsewhere,
// or is another. looked is false where that cannot be told: nothing says where its value stood, and it stands nowhere
// in the answer now. Checks of answers are held against the gold answer alone by others (package checktest), which does
// not move.
func Answers(
	ctx context.Context, from environment.Tools, s scenario.Scenario, before string,
) (why string, looked bool, err error) {
	if !slices.ContainsFunc(s.Checks,
		func(c scenario.Check) bool { return c.Type == scenario.AnswerCheck && c.Equals != nil }) || len(s.Gold) == 0 {
		return "", true, nil
	}
	got, why, err := play(ctx, from, s)
	if err != nil || why != "" {
		return why, true, err
	}
	why, looked = answers(s, before, got.last)
	return why, looked, nil
}

func answers(s scenario.Scenario, before, now string) (why string, looked bool) {
	looked = true
	for _, c := range s.Checks {
		if c.Type != scenario.AnswerCheck || c.Equals == nil {
			continue
		}
		where, ok := placeOf(before, *c.Equals)
		if !ok {
			looked = looked && occurs(now, *c.Equals)
			continue
		}
		if value, ok := where.in(now); !ok || value != *c.Equals {
			return "the answer that it wants is not what the call answers", true
		}
	}
	return "", looked
}
