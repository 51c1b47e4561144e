package grade

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// list is met by a list of as many values, each meeting the pattern in its place.
type list struct{ patterns []node }

func (l list) unmet(v any, path string) string {
	found, why := listOf(v, path)
	if why != "" {
		return why
	}
	if len(found) != len(l.patterns) {
		return fmt.Sprintf("%s has %d elements, not %d: %s", path, len(found), len(l.patterns), brief(v))
	}
	for i, p := range l.patterns {
		if why := p.unmet(found[i], fmt.Sprintf("%s[%d]", path, i)); why != "" {
			return why
		}
	}
	return ""
}

// set: each pattern is met by an element, and each element meets a pattern.
type set struct{ patterns []node }

func (s set) unmet(v any, path string) string {
	found, why := listOf(v, path)
	if why != "" {
		return why
	}
	used := make([]bool, len(found))
	for i, p := range s.patterns {
		met := false
		for j, element := range found {
			if p.unmet(element, path) == "" {
				met, used[j] = true, true
			}
		}
		if !met {
			return fmt.Sprintf("no element of %s meets pattern %d of the set: %s", path, i, brief(v))
		}
	}
	if j := slices.Index(used, false); j >= 0 {
		return fmt.Sprintf("%s[%d] is %s, which is not in the set", path, j, brief(found[j]))
	}
	return ""
}

// bag: each pattern is met by an element of its own, and, unless there may be more, no element is left.
type bag struct {
	patterns []node
	more     bool
}

func (b bag) unmet(v any, path string) string {
	found, why := listOf(v, path)
	if why != "" {
		return why
	}
	if !b.more && len(found) != len(b.patterns) {
		return fmt.Sprintf("%s has %d elements, not %d: %s", path, len(found), len(b.patterns), brief(v))
	}
	// One element may meet several patterns, so the first that fits is not always the right one: augmenting paths
	// (Kuhn's algorithm for a maximum matching).
	owner := make([]int, len(found)) // pattern that has an element, or -1
	for j := range owner {
		owner[j] = -1
	}
	var place func(i int, tried []bool) bool
	place = func(i int, tried []bool) bool {
		for j, element := range found {
			if tried[j] || b.patterns[i].unmet(element, path) != "" {
				continue
			}
			tried[j] = true
			if owner[j] < 0 || place(owner[j], tried) {
				owner[j] = i
				return true
			}
		}
		return false
	}
	for i := range b.patterns {
		if !place(i, make([]bool, len(found))) {
			return fmt.Sprintf("%s has no element for pattern %d: %s", path, i, brief(v))
		}
	}
	return ""
}

func listOf(v any, path string) ([]any, string) {
	found, ok := v.([]any)
	if !ok {
		return nil, fmt.Sprintf("%s is %s, not a list", path, brief(v))
	}
	return found, ""
}

type regex struct{ *regexp.Regexp }

func compileRegex(v any, path string) (node, error) {
	text, ok := v.(string)
	if !ok {
		return nil, fmt.Errorf("%s is not a text", path)
	}
	r, err := regexp.Compile(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return regex{r}, nil
}

func (r regex) unmet(v any, path string) string {
	text, ok := v.(string)
	if !ok || !r.MatchString(text) {
		return fmt.Sprintf("%s is %s, which does not match %s", path, brief(v), r)
	}
	return ""
}

func compileNumber(v map[string]any, path string) (node, error) {
	value, ok := v["$number"].(number)
	if !ok {
		return nil, fmt.Errorf("%s.$number is not a number", path)
	}
	if _, err := strconv.ParseFloat(string(value), 64); err != nil {
		return nil, fmt.Errorf("%s.$number: %w", path, err)
	}
	n := near{value, "0"}
	if raw, given := v["$tolerance"]; given {
		tolerance, _ := raw.(number) // "" is no number either
		if f, err := strconv.ParseFloat(string(tolerance), 64); err != nil || f < 0 {
			return nil, fmt.Errorf("%s.$tolerance is not a number of at least 0", path)
		}
		n.tolerance = tolerance
	}
	return n, nil
}

func (n near) unmet(v any, path string) string {
	if value, ok := v.(number); ok && n.matches(value) {
		return ""
	}
	return fmt.Sprintf("%s is %s, not %s within %s", path, brief(v), brief(n.number), brief(n.tolerance))
}

// brief shows a decoded value, short enough to stand in a sentence.
func brief(v any) string {
	const most = 120
	text, err := json.Marshal(plainValue(v))
	if err != nil {
		return fmt.Sprint(v)
	}
	if runes := []rune(string(text)); len(runes) > most {
		return string(runes[:most]) + "..."
	}
	return string(text)
}

// plainValue is a decoded value with numbers as JSON spells them.
func plainValue(v any) any {
	switch v := v.(type) {
	case number:
		if f, err := strconv.ParseFloat(string(v), 64); err == nil && exact(f, v) {
			return f
		}
		return json.RawMessage(v.plain())
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = plainValue(v[i])
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for key := range v {
			out[key] = plainValue(v[key])
		}
		return out
	}
	return v
}

// plain is a number with all its digits, and without an exponent where it is whole and none need be counted.
func (n number) plain() string {
	digits, exponent, _ := strings.Cut(string(n), "e")
	if power, err := strconv.Atoi(exponent); err == nil && power >= 0 && power < 30 {
		return digits + strings.Repeat("0", power)
	}
	return string(n)
}

// exact reports whether a float is a decoded number to the last digit.
func exact(f float64, n number) bool {
	return canonical(strconv.FormatFloat(f, 'g', -1, 64)) == n
}
