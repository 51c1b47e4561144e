package template

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"hone/internal/chat"
)

// attribute is object.name: Python's attribute, else the item of that name, else undefined.
func (r *run) attribute(object value, name string) value {
	switch o := object.(type) {
	case *chat.Object:
		if hasMethod(o, name) {
			return &method{o, name}
		}
		if v, ok := o.Get(name); ok && !isForbidden(o, name) {
			return plain(v)
		}
	case *undefined:
		if !isForbidden(o, name) { // which Python's Undefined has as any object
			r.must(o)
		}
	case *namespace:
		r.steps += len(o.names) / manyVariables
		if v, ok := o.get(name); ok {
			return v
		}
	case *loop:
		if v, ok := o.attribute(name); ok {
			return v
		}
	case *cycler:
		switch name {
		case "next", "reset":
			return &method{o, name}
		case "current":
			return o.items[o.at]
		}
	case *macro:
		if name == "name" {
			return o.code.name
		}
	default:
		if hasMethod(object, name) {
			return &method{object, name}
		}
	}
	return r.absent(object, name)
}

// absent is what object has no attribute name gives.
func (r *run) absent(object value, name string) value {
	if isForbidden(object, name) {
		return &undefined{class: SecurityFault, message: fmt.Sprintf("access to attribute '%s' of '%s' object is unsafe.", name, typeName(object))}
	}
	if isLacking(object, name) {
		fail(r.at, Unsupported, "the attribute '%s' of a %s", name, typeName(object))
	}
	return &undefined{typ: typeName(object), name: name}
}

// item is object[key]: the item, else Python's attribute of that name, else undefined.
func (r *run) item(object, key value) value {
	r.must(object)
	switch o := object.(type) {
	case *chat.Object:
		if v, ok := r.get(o, key); ok {
			return v
		}
	case []value, tuple, *view, *span, string:
		if i, ok := integerOf(key).(int64); ok {
			if v, ok := r.nth(o, i); ok {
				return v
			}
		}
	case *namespace:
		fail(r.at, Unsupported, "an item of a namespace")
	}
	s, ok := key.(string)
	switch {
	case !ok:
		return &undefined{message: fmt.Sprintf("%s object has no element %s", typeName(object), r.repr(key))}
	case hasMethod(object, s):
		return &method{object, s}
	}
	if l, ok := object.(*loop); ok {
		if v, ok := l.attribute(s); ok {
			return v
		}
	}
	return r.absent(object, s)
}

// nth is the i-th item of a sequence, counted from the end where i is negative.
func (r *run) nth(sequence value, i int64) (value, bool) {
	n, ok := length(sequence)
	if i < 0 {
		i += int64(n)
	}
	if !ok || i < 0 || i >= int64(n) {
		return nil, false
	}
	switch s := sequence.(type) {
	case []value:
		return plain(s[i]), true
	case tuple:
		return plain(s[i]), true
	case *span:
		return s.at(i), true
	case string:
		r.scan(len(s))
		if n == len(s) {
			return s[i : i+1], true
		}
		for range i {
			_, size := utf8.DecodeRuneInString(s)
			s = s[size:]
		}
		_, size := utf8.DecodeRuneInString(s)
		return s[:size], true
	}
	return nil, false // Python's views have no items by number
}

// slice is object[start:stop:step].
func (r *run) slice(object value, bounds [3]value) value {
	r.must(object)
	n, ok := length(object)
	switch object.(type) {
	case string, []value, tuple, *span:
	case *chat.Object:
		fail(r.at, TypeFault, "unhashable type: 'slice'")
	default:
		ok = false
	}
	if !ok {
		fail(r.at, TypeFault, "'%s' object is not subscriptable", typeName(object))
	}
	start, step, count := r.sliceBounds(bounds, n)
	switch o := object.(type) {
	case []value:
		return pick(r, o, start, step, count)
	case tuple:
		return tuple(pick(r, []value(o), start, step, count))
	case *span:
		return &span{o.start + int64(start)*o.step, o.start + int64(start+count*step)*o.step, o.step * int64(step), int64(count)}
	}
	s := object.(string)
	r.scan(len(s))
	r.charge(len(s))
	if n == len(s) { // all ASCII: characters are bytes
		if step == 1 {
			return s[start : start+count]
		}
		return string(pick(r, []byte(s), start, step, count))
	}
	return string(pick(r, []rune(s), start, step, count))
}

func pick[T any](r *run, items []T, start, step, count int) []T {
	r.charge(itemBytes * count)
	if step == 1 {
		return slices.Clip(items[start : start+count])
	}
	picked := make([]T, count)
	for i := range picked {
		picked[i] = items[start+i*step]
	}
	return picked
}

// sliceBounds applies Python's rules for n items.
func (r *run) sliceBounds(bounds [3]value, n int) (start, step, count int) {
	step = 1
	if bounds[2] != nil {
		if step = r.sliceIndex(bounds[2]); step == 0 {
			fail(r.at, ValueFault, "slice step cannot be zero")
		}
	}
	low, high := 0, n
	if step < 0 {
		low, high = -1, n-1
	}
	clamp := func(v value, standard int) int {
		if v == nil {
			return standard
		}
		i := r.sliceIndex(v)
		if i < 0 {
			i += n
		}
		return max(low, min(high, i))
	}
	start = clamp(bounds[0], low)
	stop := clamp(bounds[1], high)
	if step < 0 {
		start = clamp(bounds[0], high)
		stop = clamp(bounds[1], low)
		if start > stop {
			count = (start - stop - step - 1) / -step
		}
		return start, step, count
	}
	if start < stop {
		count = (stop - start + step - 1) / step
	}
	return start, step, count
}

func (r *run) sliceIndex(v value) int {
	if _, ok := integerOf(v).(int64); !ok {
		fail(r.at, TypeFault, "slice indices must be integers or None or have an __index__ method")
	}
	return r.integer(v)
}
