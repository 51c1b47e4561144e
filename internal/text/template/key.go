package template

import (
	"math"
	"math/big"
	"strings"

	"hone/internal/chat"
)

// A dict's keys are an Object's strings. Those of another type, which only a template can write, begin with a byte
// that no string has, since all strings here are UTF-8.
const otherKey = "\xff"

// storedKey is what to look a key up by; false for one that cannot be in a dict.
func storedKey(v value) (string, bool) {
	switch v := integerOf(v).(type) {
	case string:
		return v, true
	case nil:
		return otherKey + "none", true
	case int64:
		return otherKey + big.NewInt(v).String(), true
	case *big.Int:
		return otherKey + v.String(), true
	case float64:
		if v == math.Trunc(v) && !math.IsInf(v, 0) {
			n, _ := big.NewFloat(v).Int(nil)
			return otherKey + n.String(), true
		}
		return otherKey + floatText(v), true
	}
	return "", false
}

// key is the value that was stored.
func key(stored string) value {
	text, other := strings.CutPrefix(stored, otherKey)
	switch {
	case !other:
		return stored
	case text == "none":
		return nil
	case strings.ContainsAny(text, ".en"):
		f, _ := parseFloat(text) // it was written by floatText
		return f
	}
	n, _ := parseInt(text, 10) // it was written by big.Int
	return n
}

// key is key with the memory of the rendering.
func (r *run) key(stored string) value {
	if strings.HasPrefix(stored, otherKey) {
		return key(stored)
	}
	return r.boxed(stored)
}

// get is Python's d[k].
func (r *run) get(d *chat.Object, k value) (value, bool) {
	stored, ok := storedKey(k)
	if !ok {
		return nil, false
	}
	v, ok := d.Get(stored)
	return plain(v), ok
}

// set is Python's d[k] = v, but for keys that are equal to others and look different: 1, 1.0 and True.
func (r *run) set(d *chat.Object, k, v value) {
	r.charge(2 * itemBytes)
	r.hashable(k)
	stored, ok := storedKey(k)
	f, isFloat := k.(float64)
	_, isBool := k.(bool)
	if !ok || isBool || isFloat && f == math.Trunc(f) {
		fail(r.at, Unsupported, "a dict key of type %s", typeName(k))
	}
	r.otherKeys = r.otherKeys || strings.HasPrefix(stored, otherKey)
	d.Set(stored, v)
}

// jsonKey is a key as json.dumps writes it.
func jsonKey(stored string) string {
	if !strings.HasPrefix(stored, otherKey) {
		return stored
	}
	switch k := key(stored).(type) {
	case nil:
		return "null"
	case float64:
		return string(chat.AppendFloat(nil, k))
	}
	return strings.TrimPrefix(stored, otherKey)
}
