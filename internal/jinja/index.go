package jinja

import (
	"fmt"

	"hone/internal/chat"
	"hone/internal/jinja/pyvalue"
)

// attribute is object.name: Python's attribute, else the item of that name, else undefined.
func (r *run) attribute(object value, name string) value {
	switch o := object.(type) {
	case *chat.Object:
		if pyvalue.HasMethod(o, name) {
			return &method{o, name}
		}
		if v, ok := o.Get(name); ok && !isForbidden(o, name) {
			return pyvalue.Plain(v)
		}
	case *pyvalue.Undefined:
		if !isForbidden(o, name) { // which Python's Undefined has as any object
			r.Must(o)
		}
	case *namespace:
		r.Steps += len(o.names) / manyVariables
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
		if pyvalue.HasMethod(object, name) {
			return &method{object, name}
		}
	}
	return r.absent(object, name)
}

// absent is what object has no attribute name gives.
func (r *run) absent(object value, name string) value {
	if isForbidden(object, name) {
		return &pyvalue.Undefined{Class: SecurityFault,
			Message: fmt.Sprintf("access to attribute '%s' of '%s' object is unsafe.", name, pyvalue.TypeName(object))}
	}
	if isLacking(object, name) {
		pyvalue.Fail(r.At, pyvalue.Unsupported, "the attribute '%s' of a %s", name, pyvalue.TypeName(object))
	}
	return &pyvalue.Undefined{Type: pyvalue.TypeName(object), Name: name}
}

// item is object[key]: the item, else Python's attribute of that name, else undefined.
func (r *run) item(object, key value) value {
	r.Must(object)
	switch o := object.(type) {
	case *chat.Object:
		if v, ok := r.Get(o, key); ok {
			return v
		}
	case []value, pyvalue.Tuple, *pyvalue.View, *pyvalue.Range, string:
		if i, ok := pyvalue.IntegerOf(key).(int64); ok {
			if v, ok := r.Nth(o, i); ok {
				return v
			}
		}
	case *namespace:
		pyvalue.Fail(r.At, pyvalue.Unsupported, "an item of a namespace")
	}
	s, ok := key.(string)
	switch {
	case !ok:
		return &pyvalue.Undefined{Message: fmt.Sprintf("%s object has no element %s",
			pyvalue.TypeName(object), r.Repr(key))}
	case pyvalue.HasMethod(object, s):
		return &method{object, s}
	}
	if l, ok := object.(*loop); ok {
		if v, ok := l.attribute(s); ok {
			return v
		}
	}
	return r.absent(object, s)
}
