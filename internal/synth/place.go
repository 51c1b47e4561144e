package synth

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// place is where a value stands in a result: at a path of its JSON, between two texts on a line, or alone.
type place struct {
	path          []step
	before, after string
	alone         bool
}

// step goes to a member of an object, or to the one element of a list whose members are as by says.
type step struct {
	key  string
	list bool
	by   map[string]string
}

// placeOf finds where a value stands in a text; ok is false where it stands nowhere, in two places, or where nothing
// but its number in a list tells the place.
func placeOf(text, value string) (p place, ok bool) {
	var found []place
	if v, isJSON := decode(text); strings.TrimSpace(text) == value {
		found = []place{{alone: true}}
	} else if isJSON {
		visit(nil, v, func(path []step, leaf string) {
			if leaf == value {
				found = append(found, place{path: slices.Clone(path)})
			}
		})
	} else if strings.Count(text, value) == 1 {
		for line := range strings.SplitSeq(text, "\n") {
			if head, tail, there := strings.Cut(line, value); there && strings.TrimSpace(head) != "" {
				found = append(found, place{before: head, after: tail})
			}
		}
	}
	if len(found) != 1 {
		return p, false
	}
	was, there := found[0].in(text)
	return found[0], there && was == value
}

// in is what stands at a place of another text; there is false where nothing does, or more than one thing.
func (p place) in(text string) (value string, there bool) {
	if p.alone {
		text = strings.TrimSpace(text)
		return text, !strings.Contains(text, "\n")
	}
	if p.path != nil {
		v, isJSON := decode(text)
		if !isJSON {
			return "", false
		}
		return at(v, p.path)
	}
	found := 0
	for line := range strings.SplitSeq(text, "\n") {
		rest, begins := strings.CutPrefix(line, p.before)
		if v, ends := strings.CutSuffix(rest, p.after); begins && ends {
			value = v
			found++
		}
	}
	return value, found == 1
}

// at follows a path.
func at(v any, path []step) (string, bool) {
	for _, s := range path {
		if !s.list {
			object, ok := v.(map[string]any)
			if v = object[s.key]; !ok || v == nil {
				return "", false
			}
			continue
		}
		list, _ := v.([]any)
		list = slices.DeleteFunc(slices.Clone(list), func(element any) bool { return !s.is(element) })
		if len(list) != 1 {
			return "", false
		}
		v = list[0]
	}
	return leafOf(v)
}

// is reports whether an element of a list is the one meant.
func (s step) is(element any) bool {
	object, _ := element.(map[string]any)
	for name, want := range s.by {
		if got, ok := leafOf(object[name]); !ok || got != want {
			return false
		}
	}
	return true
}

// visit calls f for the texts and numbers of JSON, each with the way to it.
func visit(path []step, v any, f func(path []step, leaf string)) {
	path = slices.Clip(path)
	switch v := v.(type) {
	case map[string]any:
		for name, below := range v {
			visit(append(path, step{key: name}), below, f)
		}
	case []any:
		for _, element := range v {
			object, ok := element.(map[string]any)
			if !ok {
				visit(append(path, step{list: true}), element, f)
			}
			for name, below := range object {
				visit(append(path, step{list: true, by: siblings(object, name)}, step{key: name}), below, f)
			}
		}
	default:
		if leaf, ok := leafOf(v); ok {
			f(path, leaf)
		}
	}
}

// siblings are the members that tell which element of a list an object is: its identifier or name beside the member
// that is looked at, else all its texts.
func siblings(object map[string]any, but string) map[string]string {
	by := map[string]string{}
	for _, name := range []string{"id", "uuid", "key", "name", "title"} {
		if leaf, ok := leafOf(object[name]); ok && name != but {
			return map[string]string{name: leaf}
		}
	}
	for name, v := range object {
		if text, ok := v.(string); ok && name != but {
			by[name] = strings.TrimSpace(text)
		}
	}
	return by
}

// leafOf is a text or a number of JSON.
func leafOf(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return strings.TrimSpace(v), true
	case json.Number:
		return v.String(), true
	}
	return "", false
}

// decode reads JSON with its numbers as they are written.
func decode(text string) (v any, isJSON bool) {
	if !json.Valid([]byte(text)) {
		return nil, false
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	err := d.Decode(&v)
	return v, err == nil
}

// occurs reports whether a value stands in a text, not as a part of a longer word or number; in JSON, in one of its
// texts or numbers too, as these read unescaped.
func occurs(text, value string) bool {
	if standsIn(text, value) {
		return true
	}
	found := false
	if v, isJSON := decode(text); isJSON {
		visit(nil, v, func(_ []step, leaf string) { found = found || standsIn(leaf, value) })
	}
	return found
}

func standsIn(text, value string) bool {
	if value == "" {
		return false
	}
	inWord := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	for from := 0; ; {
		i := strings.Index(text[from:], value)
		if i < 0 {
			return false
		}
		i += from
		head, tail := text[:i], text[i+len(value):]
		last, n := utf8.DecodeLastRuneInString(head)
		first, m := utf8.DecodeRuneInString(tail)
		digitBefore := last == '.' && len(head) > 1 && unicode.IsDigit(rune(head[len(head)-2]))
		digitBehind := first == '.' && len(tail) > 1 && unicode.IsDigit(rune(tail[1]))
		if (n == 0 || !inWord(last)) && (m == 0 || !inWord(first)) && !digitBefore && !digitBehind {
			return true
		}
		from = i + 1
	}
}
