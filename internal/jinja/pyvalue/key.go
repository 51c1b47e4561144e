package pyvalue

import (
	"math"
	"math/big"
	"strings"

	"hone/internal/chat"
)

// A dict's keys are an Object's strings. Those of another type, which only a template can write, begin with a byte
// that no string has, since all strings here are UTF-8.
const otherKey = "\xff"

// DictKey is what to look a key up by; false for one that cannot be in a dict.
func DictKey(v Value) (string, bool) {
	switch v := IntegerOf(v).(type) {
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

// Key is the value that was stored.
func Key(stored string) Value {
	text, other := strings.CutPrefix(stored, otherKey)
	switch {
	case !other:
		return stored
	case text == "none":
		return nil
	case strings.ContainsAny(text, ".en"):
		f, _ := ParseFloat(text) // it was written by floatText
		return f
	}
	n, _ := ParseInt(text, 10) // it was written by big.Int
	return n
}

// Key is key with the memory of the rendering.
func (m *Meter) Key(stored string) Value {
	if strings.HasPrefix(stored, otherKey) {
		return Key(stored)
	}
	return m.Box(stored)
}

// Get is Python's d[k].
func (m *Meter) Get(d *chat.Object, k Value) (Value, bool) {
	stored, ok := DictKey(k)
	if !ok {
		return nil, false
	}
	v, ok := d.Get(stored)
	return Plain(v), ok
}

// Set is Python's d[k] = v, but for keys that are equal to others and look different: 1, 1.0 and True.
func (m *Meter) Set(d *chat.Object, k, v Value) {
	m.Charge(2 * ItemBytes)
	m.Hashable(k)
	stored, ok := DictKey(k)
	f, isFloat := k.(float64)
	_, isBool := k.(bool)
	if !ok || isBool || isFloat && f == math.Trunc(f) {
		Fail(m.At, Unsupported, "a dict key of type %s", TypeName(k))
	}
	m.OtherKeys = m.OtherKeys || strings.HasPrefix(stored, otherKey)
	d.Set(stored, v)
}

// JSONKey is a key as json.dumps writes it.
func JSONKey(stored string) string {
	if !strings.HasPrefix(stored, otherKey) {
		return stored
	}
	switch k := Key(stored).(type) {
	case nil:
		return "null"
	case float64:
		return string(chat.AppendFloat(nil, k))
	}
	return strings.TrimPrefix(stored, otherKey)
}
