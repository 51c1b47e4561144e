package template

import (
	"slices"

	"hone/internal/chat"
)

// The methods of each type that are here; those that would change a value are forbidden by jinja2's sandbox, and the
// rest of Python's are lacking.
func hasMethod(object value, name string) bool {
	switch object.(type) {
	case string:
		switch name {
		case "capitalize", "casefold", "center", "count", "endswith", "expandtabs", "find", "format", "index", "isalnum",
			"isalpha", "isascii", "isdecimal", "isdigit", "islower", "isnumeric", "isprintable", "isspace", "istitle", "isupper",
			"join", "ljust", "lower", "lstrip", "partition", "removeprefix", "removesuffix", "replace", "rfind", "rindex", "rjust",
			"rpartition", "rsplit", "rstrip", "split", "splitlines", "startswith", "strip", "swapcase", "title", "upper", "zfill":
			return true
		}
	case *chat.Object:
		switch name {
		case "copy", "get", "items", "keys", "values":
			return true
		}
	case []value:
		return name == "copy" || name == "count" || name == "index"
	case tuple:
		return name == "count" || name == "index"
	}
	return false
}

// isForbidden reports what the sandbox hides: methods that change a list or dict, and private names.
func isForbidden(object value, name string) bool {
	switch object.(type) {
	case *chat.Object:
		switch name {
		case "clear", "pop", "popitem", "setdefault", "update":
			return true
		}
	case []value:
		switch name {
		case "append", "clear", "pop", "reverse", "insert", "sort", "extend", "remove":
			return true
		}
	}
	switch name {
	case "__class__", "__doc__", "__init__", "__dict__", "__len__", "__iter__", "__getitem__", "__str__", "__repr__", "__eq__",
		"__hash__", "__add__", "__contains__", "__format__", "__module__", "__subclasshook__", "__reduce__", "__getattribute__":
		return true
	}
	return false
}

// isLacking reports attributes that Python has and this package has not.
func isLacking(object value, name string) bool {
	switch object.(type) {
	case string:
		return slices.Contains([]string{"encode", "format_map", "isidentifier", "maketrans", "translate"}, name)
	case *chat.Object:
		return name == "fromkeys"
	case int64, bool, float64:
		return slices.Contains([]string{"as_integer_ratio", "bit_count", "bit_length", "conjugate", "denominator", "from_bytes",
			"fromhex", "hex", "imag", "is_integer", "numerator", "real", "to_bytes"}, name)
	case *macro:
		return slices.Contains([]string{"arguments", "caller", "catch_kwargs", "catch_varargs", "explicit_caller"}, name)
	case *span:
		return slices.Contains([]string{"count", "index", "start", "step", "stop"}, name)
	case *view:
		return slices.Contains([]string{"isdisjoint", "mapping"}, name)
	}
	return false
}

func (r *run) callMethod(object value, name string, a *args) value {
	switch o := object.(type) {
	case string:
		return r.stringMethod(o, name, a)
	case *chat.Object:
		return r.dictMethod(o, name, a)
	case *loop:
		return o.call(r, name, a)
	case *cycler:
		return o.call(r, name, a)
	case []value:
		return r.listMethod(o, name, a)
	}
	return r.listMethod(object.(tuple), name, a)
}

func (r *run) dictMethod(d *chat.Object, name string, a *args) value {
	if name == "get" {
		if len(a.names) > 0 {
			fail(r.at, TypeFault, "dict.get() takes no keyword arguments")
		}
		if key, ok := a.onlyString(); ok {
			member, _ := d.Get(key)
			return plain(member)
		}
		v := a.bind(r, "get", 1, "key", "default")
		r.hashable(v[0])
		if member, ok := r.get(d, v[0]); ok {
			return member
		}
		return or(v[1], nil)
	}
	a.bind(r, name, 0)
	r.charge(itemBytes * d.Len())
	if name == "copy" {
		c := &chat.Object{}
		for i := range d.Len() {
			c.Set(d.At(i))
		}
		return c
	}
	return &view{viewName(name), d}
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

// list makes the items of a view.
func (v *view) list() []value {
	items := make([]value, v.dict.Len())
	var pairs []value
	if v.name == "dict_items" {
		pairs = make([]value, 2*len(items))
	}
	for i := range items {
		stored, member := v.dict.At(i)
		switch v.name {
		case "dict_keys":
			items[i] = key(stored)
		case "dict_values":
			items[i] = plain(member)
		default:
			pair := pairs[2*i : 2*i+2 : 2*i+2]
			pair[0], pair[1] = key(stored), plain(member)
			items[i] = tuple(pair)
		}
	}
	return items
}

func (r *run) listMethod(list []value, name string, a *args) value {
	if name == "copy" {
		a.bind(r, name, 0)
		return r.clone(list)
	}
	v := a.bind(r, name, 1, "value", "start", "stop")
	first, last := 0, len(list)
	if v[1] != (unset{}) {
		first, _, _ = r.sliceBounds([3]value{v[1]}, len(list))
	}
	if v[2] != (unset{}) {
		start, _, count := r.sliceBounds([3]value{v[1], v[2]}, len(list))
		last = start + count
	}
	count := 0
	for i := first; i < last; i++ {
		r.step()
		if r.equal(list[i], v[0]) {
			if name == "index" {
				return int64(i)
			}
			count++
		}
	}
	if name == "index" {
		fail(r.at, ValueFault, "%s is not in list", r.repr(v[0]))
	}
	return int64(count)
}
