package template

import (
	"slices"

	"hone/internal/chat"
)

// args are the values a call passes.
type args struct {
	positional []value
	names      []string
	named      []value
}

// constant are the values of arguments that are all constants, nil for others; nobody writes to them.
func (a arguments) constant() *args {
	positional, ok := constants(a.positional)
	named, all := constants(a.named)
	if !ok || !all || a.list != nil || a.dict != nil {
		return nil
	}
	return &args{positional, a.names, named}
}

// constants are the values of expressions, false if they are not all constants.
func constants(list []expression) ([]value, bool) {
	values := make([]value, len(list))
	for i, e := range list {
		c, ok := e.(constant)
		if !ok {
			return nil, false
		}
		values[i] = c.value
	}
	return values, true
}

// none are the arguments of most filters and tests.
func (a arguments) none() bool {
	return a.positional == nil && a.names == nil && a.list == nil && a.dict == nil
}

func (c *compiler) arguments(e arguments) func(r *run) *args {
	if e.none() {
		return func(r *run) *args { return &r.noArgs }
	}
	if fixed := e.constant(); fixed != nil {
		return func(*run) *args { return fixed }
	}
	positional, named := c.values(e.positional), c.values(e.named)
	var list, dict code
	if e.list != nil {
		list = c.value(e.list)
	}
	if e.dict != nil {
		dict = c.value(e.dict)
	}
	return func(r *run) *args {
		a := &r.args.take(1)[0]
		a.positional = r.evalAll(positional)
		if len(named) > 0 {
			a.names, a.named = e.names, r.evalAll(named)
		}
		if list != nil {
			a.positional = append(a.positional, r.list(list(r))...)
		}
		if dict != nil {
			r.unpack(a, dict(r))
		}
		return a
	}
}

// unpack adds the keyword arguments of **v.
func (r *run) unpack(a *args, v value) {
	r.must(v)
	d, ok := v.(*chat.Object)
	if !ok {
		fail(r.at, TypeFault, "argument after ** must be a mapping")
	}
	a.names = slices.Clip(a.names)
	for i := range d.Len() {
		name, v := d.At(i)
		if slices.Contains(a.names, name) {
			fail(r.at, TypeFault, "got multiple values for keyword argument '%s'", name)
		}
		a.names, a.named = append(a.names, name), append(a.named, plain(v))
	}
}

// onlyString returns the argument where there is one, and it is a string.
func (a *args) onlyString() (string, bool) {
	if len(a.positional) != 1 || len(a.names) > 0 {
		return "", false
	}
	s, ok := a.positional[0].(string)
	return s, ok
}

// take removes a keyword argument and returns it.
func (a *args) take(name string) (value, bool) {
	i := slices.Index(a.names, name)
	if i < 0 {
		return nil, false
	}
	v := a.named[i]
	a.names, a.named = slices.Delete(a.names, i, i+1), slices.Delete(a.named, i, i+1)
	return v, true
}

// rest are the keyword arguments that nobody took.
func (a *args) rest() *chat.Object {
	d := &chat.Object{}
	d.Grow(len(a.names))
	for i, name := range a.names {
		d.Set(name, a.named[i])
	}
	return d
}

// bind orders the arguments by the parameters' names, as Python would; the first so many must be there, others are
// unset if they were not passed.
func (a *args) bind(r *run, function string, required int, names ...string) []value {
	if len(a.positional) > len(names) {
		fail(r.at, TypeFault, "%s() takes %d arguments but %d were given", function, len(names), len(a.positional))
	}
	values := r.newValues(len(names))
	for i := copy(values, a.positional); i < len(values); i++ {
		values[i] = unset{}
	}
	for i, name := range a.names {
		j := slices.Index(names, name)
		if j < 0 {
			fail(r.at, TypeFault, "%s() got an unexpected keyword argument '%s'", function, name)
		}
		if j < len(a.positional) {
			fail(r.at, TypeFault, "%s() got multiple values for argument '%s'", function, name)
		}
		values[j] = a.named[i]
	}
	for i := range required {
		if values[i] == (unset{}) {
			fail(r.at, TypeFault, "%s() missing a required argument: '%s'", function, names[i])
		}
	}
	return values
}

// or is v, or the default where the argument was not passed.
func or(v, standard value) value {
	if _, missing := v.(unset); missing {
		return standard
	}
	return v
}

// integer is an argument that must be an int.
func (r *run) integer(v value) int {
	r.must(v)
	n, ok := integerOf(v).(int64)
	if !ok {
		fail(r.at, TypeFault, "'%s' object cannot be interpreted as an integer", typeName(v))
	}
	const limit = 1 << 40 // what is counted with ends in memory, which is far less
	return int(max(-limit, min(limit, n)))
}

// string is an argument that must be a str.
func (r *run) string(v value) string {
	s, ok := v.(string)
	if !ok {
		fail(r.at, TypeFault, "must be str, not %s", typeName(v))
	}
	return s
}
