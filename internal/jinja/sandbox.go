package jinja

import (
	"slices"

	"hone/internal/chat"
	"hone/internal/jinja/pyvalue"
)

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
	case "__class__", "__doc__", "__init__", "__dict__", "__len__", "__iter__", "__getitem__", "__str__",
		"__repr__", "__eq__", "__hash__", "__add__", "__contains__", "__format__", "__module__", "__subclasshook__",
		"__reduce__", "__getattribute__":
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
		return slices.Contains([]string{
			"as_integer_ratio", "bit_count", "bit_length", "conjugate", "denominator", "from_bytes",
			"fromhex", "hex", "imag", "is_integer", "numerator", "real", "to_bytes",
		}, name)
	case *macro:
		return slices.Contains([]string{"arguments", "caller", "catch_kwargs", "catch_varargs", "explicit_caller"},
			name)
	case *pyvalue.Range:
		return slices.Contains([]string{"count", "index", "start", "step", "stop"}, name)
	case *pyvalue.View:
		return slices.Contains([]string{"isdisjoint", "mapping"}, name)
	}
	return false
}
