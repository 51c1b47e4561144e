package chat

import "slices"

// Value is a JSON value that keeps what Go's maps and float64 lose, the order of members and the text of numbers.
// It is one of nil, bool, Number, string, []Value and *Object; an Object's values are of the same kinds.
type Value = any

// Number is a JSON number as it was written, so "1.50", "1e2" and a hundred digits survive.
type Number string

// Object is a JSON object whose members stay in the order they were first set. The zero value is empty and ready.
// It may be read from several goroutines, and written by one when nobody reads.
type Object struct {
	keys   []string
	values []Value
	index  map[string]int // nil while a scan is as fast
}

// scanned is the number of members up to which a lookup scans.
const scanned = 8

// NewObject takes alternating keys (strings) and values, as {"type": "string"} is written NewObject("type", "string").
func NewObject(pairs ...Value) *Object {
	o := &Object{}
	o.Grow(len(pairs) / 2)
	for i := 0; i < len(pairs); i += 2 {
		o.Set(pairs[i].(string), pairs[i+1])
	}
	return o
}

// Len is the number of members.
func (o *Object) Len() int { return len(o.keys) }

// Keys are the members' names in order; the caller does not change them.
func (o *Object) Keys() []string { return o.keys }

// At returns the i-th member, 0 <= i < Len.
func (o *Object) At(i int) (string, Value) { return o.keys[i], o.values[i] }

// Get returns a member and whether there is one.
func (o *Object) Get(key string) (Value, bool) {
	if i := o.find(key); i >= 0 {
		return o.values[i], true
	}
	return nil, false
}

// Set replaces a member where it stands, or adds it at the end.
func (o *Object) Set(key string, value Value) {
	if i := o.find(key); i >= 0 {
		o.values[i] = value
		return
	}
	o.keys, o.values = append(o.keys, key), append(o.values, value)
	switch {
	case o.index != nil:
		o.index[key] = len(o.keys) - 1
	case len(o.keys) > scanned:
		o.index = make(map[string]int, 2*len(o.keys))
		for i, k := range o.keys {
			o.index[k] = i
		}
	}
}

// Grow makes room for n more members.
func (o *Object) Grow(n int) {
	o.keys, o.values = slices.Grow(o.keys, n), slices.Grow(o.values, n)
}

func (o *Object) find(key string) int {
	if o.index != nil {
		if i, ok := o.index[key]; ok {
			return i
		}
		return -1
	}
	for i, k := range o.keys {
		if k == key {
			return i
		}
	}
	return -1
}
