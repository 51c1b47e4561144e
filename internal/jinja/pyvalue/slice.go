package pyvalue

import (
	"slices"
	"unicode/utf8"

	"hone/internal/chat"
)

// Nth is the i-th item of a sequence, counted from the end where i is negative.
func (m *Meter) Nth(sequence Value, i int64) (Value, bool) {
	n, ok := Length(sequence)
	if i < 0 {
		i += int64(n)
	}
	if !ok || i < 0 || i >= int64(n) {
		return nil, false
	}
	switch s := sequence.(type) {
	case []Value:
		return Plain(s[i]), true
	case Tuple:
		return Plain(s[i]), true
	case *Range:
		return s.at(i), true
	case string:
		m.Scan(len(s))
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

// Slice is object[start:stop:step].
func (m *Meter) Slice(object Value, bounds [3]Value) Value {
	m.Must(object)
	n, ok := Length(object)
	switch object.(type) {
	case string, []Value, Tuple, *Range:
	case *chat.Object:
		Fail(m.At, TypeFault, "unhashable type: 'slice'")
	default:
		ok = false
	}
	if !ok {
		Fail(m.At, TypeFault, "'%s' object is not subscriptable", TypeName(object))
	}
	start, step, count := m.sliceBounds(bounds, n)
	switch o := object.(type) {
	case []Value:
		return pick(m, o, start, step, count)
	case Tuple:
		return Tuple(pick(m, []Value(o), start, step, count))
	case *Range:
		return &Range{o.start + int64(start)*o.step, o.start + int64(start+count*step)*o.step, o.step * int64(step),
			int64(count)}
	}
	s := object.(string)
	m.Scan(len(s))
	m.Charge(len(s))
	if n == len(s) { // all ASCII: characters are bytes
		if step == 1 {
			return s[start : start+count]
		}
		return string(pick(m, []byte(s), start, step, count))
	}
	return string(pick(m, []rune(s), start, step, count))
}

func pick[T any](m *Meter, items []T, start, step, count int) []T {
	m.Charge(ItemBytes * count)
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
func (m *Meter) sliceBounds(bounds [3]Value, n int) (start, step, count int) {
	step = 1
	if bounds[2] != nil {
		if step = m.sliceIndex(bounds[2]); step == 0 {
			Fail(m.At, ValueFault, "slice step cannot be zero")
		}
	}
	low, high := 0, n
	if step < 0 {
		low, high = -1, n-1
	}
	clamp := func(v Value, standard int) int {
		if v == nil {
			return standard
		}
		i := m.sliceIndex(v)
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

func (m *Meter) sliceIndex(v Value) int {
	if _, ok := IntegerOf(v).(int64); !ok {
		Fail(m.At, TypeFault, "slice indices must be integers or None or have an __index__ method")
	}
	return m.Integer(v)
}
