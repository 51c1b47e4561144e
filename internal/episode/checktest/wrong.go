package checktest

import (
	"encoding/json"
	"strings"

	"hone/internal/chat"
	"hone/internal/episode/reward"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
)

// wrongText is what nobody asks for.
const wrongText = "hone wrote this wrong answer, 7391.25"

// unfailing reports whether a check holds of every wrong value in place of what it looks at: of what is there after the
// gold calls with its values made wrong, or, where that is nil, of what is wrong for most.
func unfailing(c scenario.Check, gold *trajectory.Observation) bool {
	episodes := wrong(c, gold)
	for _, t := range episodes {
		if reward.Unmet(c, t, nil) != "" {
			return false
		}
	}
	return len(episodes) > 0
}

// wrong are episodes that a check should not let pass.
func wrong(c scenario.Check, gold *trajectory.Observation) []*trajectory.Trajectory {
	switch c.Type {
	case scenario.AnswerCheck:
		var ts []*trajectory.Trajectory
		long := strings.Repeat(wrongText+"\n", 1000) // for checks that bound an answer's length
		for _, text := range []string{wrongText, "-8264.5", `{"hone": "wrong"}`, `["hone"]`, long} {
			if c.Matches == nil || json.Valid([]byte(text)) { // what is no JSON, no pattern holds of
				ts = append(ts, nothing(text))
			}
		}
		return ts
	case scenario.NoAttackCheck: // what it does not let pass, nobody can make up from a pattern
		return nil
	case scenario.CallCheck, scenario.CommandCheck: // silence fails the first; the second is tried in a session
		return nil
	case scenario.NoCallCheck, scenario.MaxCallsCheck:
		n, most := 1, 10000 // more than any limit of calls
		if c.Max != nil {
			n = min(*c.Max+1, most)
		}
		t := nothing("")
		for range n {
			t.Turns[0].Calls = append(t.Turns[0].Calls, chat.ToolCall{Name: c.Name, Arguments: "{}"})
		}
		return []*trajectory.Trajectory{t}
	}
	var ts []*trajectory.Trajectory
	for _, saw := range wrongSights(c, gold) {
		saw.Look = c.Look()
		t := nothing("")
		for len(t.Turns) < c.AfterTurn {
			t.Turns = append(t.Turns, trajectory.Turn{})
		}
		t.Seen = []trajectory.Observation{saw}
		ts = append(ts, t)
	}
	return ts
}

func wrongSights(c scenario.Check, gold *trajectory.Observation) []trajectory.Observation {
	seen := func(text string) trajectory.Observation {
		return trajectory.Observation{Status: trajectory.Seen, Text: text, SHA256: "0"}
	}
	switch {
	case c.Type == scenario.UnchangedCheck:
		return []trajectory.Observation{seen(`["changed it"]`)}
	case c.Exists != nil && *c.Exists:
		return []trajectory.Observation{{Status: trajectory.Absent}}
	case c.Exists != nil, c.Refused:
		return []trajectory.Observation{seen("")}
	}
	texts := []string{wrongText, "-8264.5", "", "null", `{"hone": "wrong"}`, `["hone"]`, `[{"hone": "wrong"}]`, "[]"}
	if gold != nil && gold.Status == trajectory.Seen {
		texts = mutants(gold.Text)
	}
	var sights []trajectory.Observation
	for _, text := range texts {
		if c.Matches == nil || json.Valid([]byte(text)) { // what is no JSON, no pattern holds of
			sights = append(sights, seen(text))
		}
	}
	return sights
}

// mutants are a JSON text with all its values wrong, and with none of them; any other text is wrong as a whole.
func mutants(text string) []string {
	var v any
	if json.Unmarshal([]byte(text), &v) != nil {
		return []string{wrongText, ""}
	}
	var texts []string
	for _, one := range []any{spoilt(v), emptyLike(v)} {
		data, err := json.Marshal(one)
		if err == nil {
			texts = append(texts, string(data))
		}
	}
	return texts
}

// spoilt changes all values and keeps their form.
func spoilt(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, inner := range v {
			out[key] = spoilt(inner)
		}
		return out
	case []any:
		out := []any{}
		for _, inner := range v {
			out = append(out, spoilt(inner))
		}
		return out
	case float64:
		return v + 7391.25
	case bool:
		return !v
	}
	return wrongText
}

// emptyLike is of the same kind as v, and holds nothing.
func emptyLike(v any) any {
	switch v.(type) {
	case map[string]any:
		return map[string]any{}
	case []any:
		return []any{}
	case string:
		return ""
	}
	return nil
}
