package generate

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"

	"hone/internal/synth/programs"
)

// pairs are properties with their values, as a view shows them.
type pairs map[string]string

// pairLine is a property in a view: "Assignee: @rosa".
var pairLine = regexp.MustCompile(`(?m)^([A-Z][A-Za-z ]{1,20}): +(\S.*)$`)

// pairsOf are the properties that a view shows: of lines by their names in small letters, of JSON by its keys.
func pairsOf(text string) pairs {
	list := pairs{}
	if object := viewObject(text); object != nil {
		for name, v := range object {
			if said, ok := scalars(v); ok && len(said) > 0 {
				list[name] = strings.Join(said, ", ")
			}
		}
		return list
	}
	for _, m := range pairLine.FindAllStringSubmatch(text, -1) {
		value := strings.ReplaceAll(strings.TrimSpace(m[2]), "@", "")
		if !strings.EqualFold(value, "none") && !strings.HasPrefix(value, "(") {
			list[strings.ToLower(m[1])] = value
		}
	}
	return list
}

// of is the value of a property, in whatever letters its name is.
func (p pairs) of(name string) string {
	for _, key := range slices.Sorted(maps.Keys(p)) {
		if strings.EqualFold(key, name) {
			return p[key]
		}
	}
	return ""
}

// saidOf is what a view says of a column.
func (b *boarding) saidOf(view string, column int) string {
	return pairsOf(view).of(b.columns[column].name)
}

// viewObject is the object of JSON that a view consists of: what is wrapped around the thing, as {"ok": true, "task":
// {...}}, is of no account where the thing says as much itself. It is nil where there is none.
func viewObject(text string) (object map[string]any) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if d.Decode(&object) != nil {
		return nil
	}
	for {
		at := ""
		for name, v := range object {
			within, _ := v.(map[string]any)
			if within != nil && (len(object) == 1 || numPlain(within) > numPlain(object)) && (at == "" || name < at) {
				at = name
			}
		}
		if at == "" {
			return object
		}
		within := object[at].(map[string]any)
		delete(object, at)
		for name, v := range within {
			object[name] = v
		}
	}
}

// numPlain counts the members of an object that hold one value.
func numPlain(object map[string]any) (n int) {
	for _, v := range object {
		switch v.(type) {
		case map[string]any, []any, nil:
		default:
			n++
		}
	}
	return n
}

// scalars are a value, or those of a list of them, as texts; none is nothing. It is false for an object.
func scalars(v any) (list []string, ok bool) {
	switch v := v.(type) {
	case nil:
		return nil, true
	case map[string]any:
		return nil, false
	case []any:
		for _, one := range v {
			said, plain := scalars(one)
			if _, nested := one.([]any); nested || !plain {
				return nil, false
			}
			list = append(list, said...)
		}
		return list, true
	case json.Number:
		return []string{v.String()}, true
	}
	if text := programs.Show(v); text != "" {
		list = []string{text}
	}
	return list, true
}
