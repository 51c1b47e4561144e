package grade

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"hone/internal/fault"
)

// Pattern is a condition on a JSON value. It is itself JSON, and a value without operators is met by what equals it:
//
//	{"$any_of": [P, P]}                  at least one of the patterns
//	{"$one_of": [P, P]}                  exactly one of the patterns
//	{"$set": [P, P]}                     a list of exactly these, in any order, each once or more often
//	{"$unordered": [P, P]}               a list of exactly these, in any order, each as often as here
//	{"$includes": [P, P]}                a list that holds these, in any order, and perhaps others
//	{"$subset": {"key": P}}              an object with these members, and perhaps others
//	{"key": {"$optional": P}}            the member may be missing; if it is there, it meets P
//	{"$regex": "^a"}                     a text that matches; RE2, anywhere unless anchored
//	{"$number": 4.5, "$tolerance": 0.1}  a number, to within the tolerance (0 where it is left out)
//	{"$any": true}                       any value
//	{"$equals": V}                       this value; its keys are no operators
type Pattern struct{ root node }

// node holds of a decoded value or says why not; path leads to the value, as $.list[2].
type node interface {
	unmet(v any, path string) string
}

// operators are the keys with a meaning, each the only one of its object but for $tolerance.
func operators() []string {
	return []string{"$any", "$any_of", "$equals", "$includes", "$number", "$one_of", "$optional", "$regex", "$set",
		"$subset", "$tolerance", "$unordered"}
}

// NewPattern reads a pattern. Its error says where in it something is wrong.
func NewPattern(text string) (*Pattern, error) {
	v, err := Decode(text)
	if err != nil {
		return nil, err
	}
	root, err := compile(v, "$")
	if err != nil {
		return nil, err
	}
	if _, ok := root.(optional); ok {
		return nil, errors.New("$optional stands for a member of an object, and here is none")
	}
	return &Pattern{root}, nil
}

// Unmet says why a JSON text does not meet the pattern, or "".
func (p *Pattern) Unmet(text string) string {
	v, err := Decode(text)
	if err != nil {
		return "it is not JSON: " + err.Error()
	}
	return p.root.unmet(v, "$")
}

func compile(v any, path string) (node, error) {
	switch v := v.(type) {
	case []any:
		patterns, err := compileAll(v, path)
		return list{patterns}, err
	case map[string]any:
		return compileObject(v, path)
	}
	return literal{v}, nil
}

func compileAll(values []any, path string) ([]node, error) {
	patterns := make([]node, len(values))
	for i, v := range values {
		var err error
		at := fmt.Sprintf("%s[%d]", path, i)
		if patterns[i], err = compile(v, at); err != nil {
			return nil, err
		}
		if _, ok := patterns[i].(optional); ok {
			return nil, fmt.Errorf("%s: $optional stands for a member of an object, not of a list", at)
		}
	}
	return patterns, nil
}

func compileObject(v map[string]any, path string) (node, error) {
	operator := ""
	for key := range v {
		if strings.HasPrefix(key, "$") && (operator == "" || operator == "$tolerance") {
			operator = key
		}
	}
	if operator == "" {
		return compileMembers(v, path, false)
	}
	for _, key := range sortedNames(v) {
		switch {
		case !slices.Contains(operators(), key) && strings.HasPrefix(key, "$"):
			return nil, fmt.Errorf(`%s: unknown operator %q%s; {"$equals": ...} takes keys as they are`,
				path, key, canonicalKey(key))
		case key != operator && !(operator == "$number" && key == "$tolerance"):
			return nil, fmt.Errorf("%s: %q stands alone in its object, not beside %q", path, operator, key)
		}
	}
	return compileOperator(operator, v, path)
}

func canonicalKey(key string) string {
	if near := fault.Nearest(key, operators()); near != "" {
		return fmt.Sprintf(" (did you mean %q?)", near)
	}
	return ""
}

func compileOperator(operator string, v map[string]any, path string) (node, error) {
	inner, at := v[operator], path+"."+operator
	switch operator {
	case "$equals":
		return literal{inner}, nil
	case "$any":
		if inner != true {
			return nil, fmt.Errorf("%s is true or left out", at)
		}
		return anything{}, nil
	case "$optional":
		one, err := compile(inner, at)
		return optional{one}, err
	case "$subset":
		members, ok := inner.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("%s is not an object", at)
		}
		return compileMembers(members, at, true)
	case "$regex":
		return compileRegex(inner, at)
	case "$number", "$tolerance":
		return compileNumber(v, path)
	}
	values, ok := inner.([]any)
	if !ok {
		return nil, fmt.Errorf("%s is not a list", at)
	}
	patterns, err := compileAll(values, at)
	if err != nil {
		return nil, err
	}
	switch operator {
	case "$any_of", "$one_of":
		if len(patterns) == 0 {
			return nil, fmt.Errorf("%s is empty, so nothing could meet it", at)
		}
		return choice{patterns, operator == "$one_of"}, nil
	case "$set":
		return set{patterns}, nil
	}
	return bag{patterns, operator == "$includes"}, nil
}

func compileMembers(v map[string]any, path string, more bool) (node, error) {
	o := object{members: map[string]node{}, more: more}
	for _, key := range sortedNames(v) {
		one, err := compile(v[key], path+"."+key)
		if err != nil {
			return nil, err
		}
		o.members[key] = one
	}
	return o, nil
}

func sortedNames(v map[string]any) []string {
	keys := make([]string, 0, len(v))
	for key := range v {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

type anything struct{}

func (anything) unmet(any, string) string { return "" }

type literal struct{ want any }

func (l literal) unmet(v any, path string) string {
	if reflect.DeepEqual(l.want, v) {
		return ""
	}
	return fmt.Sprintf("%s is %s, not %s", path, brief(v), brief(l.want))
}

// optional is met by what is there; that nothing need be there is for the object to see to.
type optional struct{ node }

type choice struct {
	patterns []node
	one      bool
}

func (c choice) unmet(v any, path string) string {
	met, why := 0, ""
	for _, p := range c.patterns {
		if why = p.unmet(v, path); why == "" {
			met++
		}
	}
	switch {
	case met == 0 && len(c.patterns) == 1:
		return why
	case met == 0:
		return fmt.Sprintf("%s is %s, which meets none of %d patterns", path, brief(v), len(c.patterns))
	case c.one && met > 1:
		return fmt.Sprintf("%s is %s, which meets %d patterns and not one", path, brief(v), met)
	}
	return ""
}

type object struct {
	members map[string]node
	more    bool // others may be there
}

func (o object) unmet(v any, path string) string {
	found, ok := v.(map[string]any)
	if !ok {
		return fmt.Sprintf("%s is %s, not an object", path, brief(v))
	}
	keys := make([]string, 0, len(o.members))
	for key := range o.members {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		p := o.members[key]
		value, there := found[key]
		if _, may := p.(optional); !there && may {
			continue
		}
		if !there {
			return fmt.Sprintf("%s has no %q", path, key)
		}
		if why := p.unmet(value, path+"."+key); why != "" {
			return why
		}
	}
	if !o.more {
		for _, key := range sortedNames(found) {
			if o.members[key] == nil {
				return fmt.Sprintf("%s has %q as well", path, key)
			}
		}
	}
	return ""
}
