package jinja

import (
	"fmt"
	"slices"
	"strings"

	"hone/internal/jinja/pyvalue"
)

// value is one of Python, or of the types here.
type value = pyvalue.Value

// What only templates know, beside loop and cycler.
type (
	namespace struct {
		names  []string
		values []value
	}
	macro struct {
		code  *macroCode
		scope *scope
	}
	function func(r *run, a *pyvalue.Args) value
	method   struct {
		object value
		name   string
	}
)

func (*namespace) TypeName() string { return "Namespace" }
func (*macro) TypeName() string     { return "Macro" }
func (*loop) TypeName() string      { return "LoopContext" }
func (*cycler) TypeName() string    { return "Cycler" }
func (function) TypeName() string   { return "function" }
func (*method) TypeName() string    { return "builtin_function_or_method" }

func (l *loop) Len() int { return l.length() }

func (l *loop) Iterate() func() (value, bool) {
	return func() (value, bool) {
		if !l.advance() {
			return nil, false
		}
		return pyvalue.Tuple{l.item(l.index), l}, true
	}
}

func (l *loop) AppendRepr(_ *pyvalue.Meter, b *strings.Builder, _ int) {
	fmt.Fprintf(b, "<LoopContext %d/%d>", l.index+1, l.length())
}

func (m *macro) AppendRepr(_ *pyvalue.Meter, b *strings.Builder, _ int) {
	b.WriteString("<Macro " + pyvalue.Quote(m.code.name) + ">")
}

func (n *namespace) AppendRepr(m *pyvalue.Meter, b *strings.Builder, depth int) {
	b.WriteString("<Namespace ")
	m.AppendRepr(b, (&pyvalue.Args{Names: n.names, Named: n.values}).Rest(), depth+1)
	b.WriteString(">")
}

func (n *namespace) get(name string) (value, bool) {
	if i := slices.Index(n.names, name); i >= 0 {
		return n.values[i], true
	}
	return nil, false
}

func (n *namespace) set(name string, v value) {
	if i := slices.Index(n.names, name); i >= 0 {
		n.values[i] = v
		return
	}
	n.names, n.values = append(slices.Clip(n.names), name), append(n.values, v)
}
