package pyvalue

import "hone/internal/chat"

// HasMethod knows the methods of each type that are here; those that would change a value are forbidden by jinja2's
// sandbox, and the rest of Python's are lacking.
func HasMethod(object Value, name string) bool {
	switch object.(type) {
	case string:
		switch name {
		case "capitalize", "casefold", "center", "count", "endswith", "expandtabs", "find", "format",
			"index", "isalnum", "isalpha", "isascii", "isdecimal", "isdigit", "islower", "isnumeric",
			"isprintable", "isspace", "istitle", "isupper", "join", "ljust", "lower", "lstrip", "partition",
			"removeprefix", "removesuffix", "replace", "rfind", "rindex", "rjust", "rpartition", "rsplit", "rstrip",
			"split", "splitlines", "startswith", "strip", "swapcase", "title", "upper", "zfill":
			return true
		}
	case *chat.Object:
		switch name {
		case "copy", "get", "items", "keys", "values":
			return true
		}
	case []Value:
		return name == "copy" || name == "count" || name == "index"
	case Tuple:
		return name == "count" || name == "index"
	}
	return false
}

// CallMethod calls one of the methods that HasMethod knows.
func (m *Meter) CallMethod(object Value, name string, a *Args) Value {
	switch o := object.(type) {
	case string:
		return m.StringMethod(o, name, a)
	case *chat.Object:
		return m.dictMethod(o, name, a)
	case []Value:
		return m.listMethod(o, name, a)
	}
	return m.listMethod(object.(Tuple), name, a)
}

func (m *Meter) dictMethod(d *chat.Object, name string, a *Args) Value {
	if name == "get" {
		if len(a.Names) > 0 {
			Fail(m.At, TypeFault, "dict.get() takes no keyword arguments")
		}
		if key, ok := a.onlyString(); ok {
			member, _ := d.Get(key)
			return Plain(member)
		}
		v := m.Bind(a, "get", 1, "key", "default")
		m.Hashable(v[0])
		if member, ok := m.Get(d, v[0]); ok {
			return member
		}
		return Or(v[1], nil)
	}
	m.Bind(a, name, 0)
	m.Charge(ItemBytes * d.Len())
	if name == "copy" {
		c := &chat.Object{}
		for i := range d.Len() {
			c.Set(d.At(i))
		}
		return c
	}
	return &View{viewName(name), d}
}

// viewName is Python's type of what a dict's method gives.
func viewName(method string) string {
	switch method {
	case "keys":
		return "dict_keys"
	case "values":
		return "dict_values"
	}
	return "dict_items"
}

// List makes the items of a view.
func (v *View) List() []Value {
	items := make([]Value, v.Dict.Len())
	var pairs []Value
	if v.Name == "dict_items" {
		pairs = make([]Value, 2*len(items))
	}
	for i := range items {
		stored, member := v.Dict.At(i)
		switch v.Name {
		case "dict_keys":
			items[i] = Key(stored)
		case "dict_values":
			items[i] = Plain(member)
		default:
			pair := pairs[2*i : 2*i+2 : 2*i+2]
			pair[0], pair[1] = Key(stored), Plain(member)
			items[i] = Tuple(pair)
		}
	}
	return items
}

func (m *Meter) listMethod(list []Value, name string, a *Args) Value {
	if name == "copy" {
		m.Bind(a, name, 0)
		return m.Clone(list)
	}
	v := m.Bind(a, name, 1, "value", "start", "stop")
	first, last := 0, len(list)
	if v[1] != (Unset{}) {
		first, _, _ = m.sliceBounds([3]Value{v[1]}, len(list))
	}
	if v[2] != (Unset{}) {
		start, _, count := m.sliceBounds([3]Value{v[1], v[2]}, len(list))
		last = start + count
	}
	count := 0
	for i := first; i < last; i++ {
		m.Step()
		if m.Equal(list[i], v[0]) {
			if name == "index" {
				return int64(i)
			}
			count++
		}
	}
	if name == "index" {
		Fail(m.At, ValueFault, "%s is not in list", m.Repr(v[0]))
	}
	return int64(count)
}
