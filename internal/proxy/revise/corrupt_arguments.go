package revise

import (
	"math/rand/v2"
	"strings"

	"hone/internal/chat"
)

// corruptArguments makes one error of a kind in arguments.
func corruptArguments(o *chat.Object, kind string, r *rand.Rand) (*chat.Object, bool) {
	n := o.Len()
	if kind == ExtraArgument {
		out := without(o, -1)
		out.Set([]string{"query", "format", "verbose", "limit", "id", "mode"}[r.IntN(6)],
			[]chat.Value{"default", true, chat.Number("10"), nil}[r.IntN(4)])
		return out, out.Len() > n
	}
	if n == 0 {
		return o, false
	}
	at := r.IntN(n)
	key, value := o.At(at)
	switch kind {
	case MissingArgument:
		return without(o, at), true
	case IllTyped:
		changed, ok := retype(value, r)
		return with(o, key, changed), ok
	case WrongValue:
		changed, ok := otherValue(value, r)
		return with(o, key, changed), ok
	}
	return o, false
}

// without is a copy but for one member; -1 leaves none out.
func without(o *chat.Object, at int) *chat.Object {
	out := &chat.Object{}
	for i := range o.Len() {
		if key, value := o.At(i); i != at {
			out.Set(key, value)
		}
	}
	return out
}

func with(o *chat.Object, key string, value chat.Value) *chat.Object {
	out := without(o, -1)
	out.Set(key, value)
	return out
}

// retype writes a value as another type.
func retype(v chat.Value, r *rand.Rand) (chat.Value, bool) {
	switch v := v.(type) {
	case chat.Number:
		return string(v), true
	case bool:
		if v {
			return "true", true
		}
		return "no", true
	case string:
		if r.IntN(2) == 0 {
			return []chat.Value{v}, true
		}
		return chat.NewObject("value", v), true
	case []chat.Value:
		if len(v) > 0 && r.IntN(2) == 0 {
			return v[0], true
		}
		return valueText(v), true
	case *chat.Object:
		return valueText(v), true
	}
	return v, false
}

// otherValue is another value of the same type, near to the one there is.
func otherValue(v chat.Value, r *rand.Rand) (chat.Value, bool) {
	switch v := v.(type) {
	case chat.Number:
		return []chat.Value{v + "0", "1" + v, chat.Number("0")}[r.IntN(3)], !strings.ContainsAny(string(v), "eE-.")
	case bool:
		return !v, true
	case string:
		return otherText(v, r)
	case []chat.Value:
		if len(v) > 1 {
			return v[:len(v)-1], true
		}
		if len(v) == 1 {
			one, ok := otherValue(v[0], r)
			return []chat.Value{one}, ok
		}
	case *chat.Object:
		if v.Len() > 0 {
			key, below := v.At(r.IntN(v.Len()))
			changed, ok := otherValue(below, r)
			return with(v, key, changed), ok
		}
	}
	return v, false
}

// otherText loses a word or a letter, doubles one, or changes the case.
func otherText(s string, r *rand.Rand) (chat.Value, bool) {
	runes := []rune(s)
	if len(runes) < 2 {
		return s + "x", true
	}
	words := strings.Fields(s)
	at := r.IntN(len(runes))
	changed := ""
	switch r.IntN(5) {
	case 0:
		changed = string(runes[:at]) + string(runes[at+1:])
	case 1:
		changed = string(runes[:at]) + string(runes[at]) + string(runes[at:])
	case 2:
		changed = strings.ToUpper(s[:1]) + s[1:]
	case 3:
		changed = strings.Join(words[:max(1, len(words)-1)], " ")
	default:
		changed = strings.ReplaceAll(s, "-", " ")
	}
	return changed, changed != s
}
