package pyvalue

import (
	"slices"

	"hone/internal/chat"
)

// Args are the values a call passes.
type Args struct {
	Positional []Value
	Names      []string
	Named      []Value
}

// Unpack adds the keyword arguments of **v.
func (m *Meter) Unpack(a *Args, v Value) {
	m.Must(v)
	d, ok := v.(*chat.Object)
	if !ok {
		Fail(m.At, TypeFault, "argument after ** must be a mapping")
	}
	a.Names = slices.Clip(a.Names)
	for i := range d.Len() {
		name, v := d.At(i)
		if slices.Contains(a.Names, name) {
			Fail(m.At, TypeFault, "got multiple values for keyword argument '%s'", name)
		}
		a.Names, a.Named = append(a.Names, name), append(a.Named, Plain(v))
	}
}

// onlyString returns the argument where there is one, and it is a string.
func (a *Args) onlyString() (string, bool) {
	if len(a.Positional) != 1 || len(a.Names) > 0 {
		return "", false
	}
	s, ok := a.Positional[0].(string)
	return s, ok
}

// Take removes a keyword argument and returns it.
func (a *Args) Take(name string) (Value, bool) {
	i := slices.Index(a.Names, name)
	if i < 0 {
		return nil, false
	}
	v := a.Named[i]
	a.Names, a.Named = slices.Delete(a.Names, i, i+1), slices.Delete(a.Named, i, i+1)
	return v, true
}

// Rest are the keyword arguments that nobody took.
func (a *Args) Rest() *chat.Object {
	d := &chat.Object{}
	d.Grow(len(a.Names))
	for i, name := range a.Names {
		d.Set(name, a.Named[i])
	}
	return d
}

// Bind orders the arguments by the parameters' names, as Python would; the first so many must be there, others are
// unset if they were not passed.
func (m *Meter) Bind(a *Args, function string, required int, names ...string) []Value {
	if len(a.Positional) > len(names) {
		Fail(m.At, TypeFault, "%s() takes %d arguments but %d were given", function, len(names), len(a.Positional))
	}
	values := m.NewValues(len(names))
	for i := copy(values, a.Positional); i < len(values); i++ {
		values[i] = Unset{}
	}
	for i, name := range a.Names {
		j := slices.Index(names, name)
		if j < 0 {
			Fail(m.At, TypeFault, "%s() got an unexpected keyword argument '%s'", function, name)
		}
		if j < len(a.Positional) {
			Fail(m.At, TypeFault, "%s() got multiple values for argument '%s'", function, name)
		}
		values[j] = a.Named[i]
	}
	for i := range required {
		if values[i] == (Unset{}) {
			Fail(m.At, TypeFault, "%s() missing a required argument: '%s'", function, names[i])
		}
	}
	return values
}

// Or is v, or the default where the argument was not passed.
func Or(v, standard Value) Value {
	if _, missing := v.(Unset); missing {
		return standard
	}
	return v
}

// Integer is an argument that must be an int.
func (m *Meter) Integer(v Value) int {
	m.Must(v)
	n, ok := IntegerOf(v).(int64)
	if !ok {
		Fail(m.At, TypeFault, "'%s' object cannot be interpreted as an integer", TypeName(v))
	}
	const limit = 1 << 40 // what is counted with ends in memory, which is far less
	return int(max(-limit, min(limit, n)))
}

// Str is an argument that must be a str.
func (m *Meter) Str(v Value) string {
	s, ok := v.(string)
	if !ok {
		Fail(m.At, TypeFault, "must be str, not %s", TypeName(v))
	}
	return s
}

// Clone is for calls that take arguments out.
func (a *Args) Clone() *Args {
	return &Args{a.Positional, slices.Clone(a.Names), slices.Clone(a.Named)}
}
