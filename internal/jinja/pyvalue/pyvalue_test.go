package pyvalue

import (
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"

	"hone/internal/chat"
)

func newMeter() *Meter { return &Meter{Limits: Limits{Steps: 1e5, Bytes: 1e6, Depth: 100}} }

// try is the text of what an operation gives, or the class of its failure.
func try(operation func(m *Meter) Value) (text string) {
	defer func() {
		if f, ok := recover().(*Failure); ok {
			text = string(f.Class)
		}
	}()
	m := newMeter()
	return m.Repr(operation(m))
}

// What Python 3.11 gives for the same.
func TestValuesAreThoseOfPython(t *testing.T) {
	huge, _ := new(big.Int).SetString("340282366920938463463374607431768211456", 10)
	list := []Value{int64(1), "b", nil, 2.5, true}
	dict := chat.NewObject("a", int64(1), "b", []Value{Tuple{"x"}})
	call := func(object Value, name string, positional ...Value) func(m *Meter) Value {
		return func(m *Meter) Value { return m.CallMethod(object, name, &Args{Positional: positional}) }
	}
	binary := func(op string, a, b Value) func(m *Meter) Value {
		return func(m *Meter) Value { return m.Binary(op, a, b) }
	}
	compare := func(op string, a, b Value) func(m *Meter) Value {
		return func(m *Meter) Value { return Comparing(op)(m, a, b) }
	}
	slice := func(v Value, bounds ...Value) func(m *Meter) Value {
		return func(m *Meter) Value { return m.Slice(v, [3]Value(bounds)) }
	}
	for _, c := range []struct {
		name string
		do   func(m *Meter) Value
		want string
	}{
		{"repr", func(*Meter) Value { return []Value{list, dict, Tuple{}, `it's "x"`, "\n\x7fé"} },
			`[[1, 'b', None, 2.5, True], {'a': 1, 'b': [('x',)]}, (), 'it\'s "x"', '\n\x7fé']`},
		{"2 ** 128", binary("**", int64(2), int64(128)), huge.String()},
		{"-7 // 2", binary("//", int64(-7), int64(2)), "-4"},
		{"-7 % 2.5", binary("%", int64(-7), 2.5), "0.5"},
		{"7 / 0", binary("/", int64(7), int64(0)), "ZeroDivisionError"},
		{"'a' + 1", binary("+", "a", int64(1)), "TypeError"},
		{"'ab' * 3", binary("*", "ab", int64(3)), "'ababab'"},
		{"'x' * 2**40", binary("*", "x", int64(1<<40)), "LimitError"},
		{"printf", binary("%", "%05.1f|%-4s|%x|%%", Tuple{math.Pi, "ab", int64(255)}), "'003.1|ab  |ff|%'"},
		{"printf too few", binary("%", "%s %s", "a"), "TypeError"},
		{"1 == 1.0 == True", compare("==", []Value{int64(1), true}, []Value{1.0, int64(1)}), "True"},
		{"2**53 + 1 > 2.0**53", compare(">", int64(1<<53+1), float64(1<<53)), "True"},
		{"nan < 1", compare("<", math.NaN(), int64(1)), "False"},
		{"[1, 'a'] < [1, 2]", compare("<", []Value{int64(1), "a"}, []Value{int64(1), int64(2)}), "TypeError"},
		{"'b' in list", compare("in", "b", list), "True"},
		{"[] in dict", compare("in", []Value{}, dict), "TypeError"},
		{"list[::-2]", slice(list, nil, nil, int64(-2)), "[True, None, 1]"},
		{"'größe'[1:-1]", slice("größe", int64(1), int64(-1), nil), "'röß'"},
		{"list[::0]", slice(list, nil, nil, int64(0)), "ValueError"},
		{"split", call(" a  b ", "split"), "['a', 'b']"},
		{"rsplit", call("a,b,c", "rsplit", ",", int64(1)), "['a,b', 'c']"},
		{"title", call("it's ǆ", "title"), `"It'S ǅ"`},
		{"zfill", call("-7", "zfill", int64(4)), "'-007'"},
		{"find", call("größe", "find", "ß"), "3"},
		{"index", call("abc", "index", "z"), "ValueError"},
		{"get", call(dict, "get", "z", "none"), "'none'"},
		{"items", call(dict, "items"), "dict_items([('a', 1), ('b', [('x',)])])"},
		{"list.index", call(list, "index", 1.0), "0"},
		{"format", call("{} {0}", "format", "a"), "'a a'"},
		{"int('0x_ff', 16)", func(*Meter) Value { n, _ := ParseInt("0x_ff", 16); return n }, "255"},
		{"float('1_e5')", func(*Meter) Value { _, ok := ParseFloat("1_e5"); return ok }, "False"},
		{"float('1e_5')", func(*Meter) Value { _, ok := ParseFloat("1e_5"); return ok }, "False"},
		{"float('1_0e1_0')", func(*Meter) Value { f, _ := ParseFloat("1_0e1_0"); return f }, "100000000000.0"},
		{"int('z_1', 36)", func(*Meter) Value { n, _ := ParseInt("z_1", 36); return n }, "1261"},
		{"float('1_0.5')", func(*Meter) Value { f, _ := ParseFloat(" 1_0.5 "); return f }, "10.5"},
		{"range", func(m *Meter) Value {
			return m.List(m.NewRange(&Args{Positional: []Value{int64(5), int64(0), int64(-2)}}))
		}, "[5, 3, 1]"},
		{"dict", func(m *Meter) Value { return m.Dict(&Args{Positional: []Value{[]Value{Tuple{int64(1), "a"}}}}) }, "{1: 'a'}"},
		{"undefined", func(m *Meter) Value { m.Must(&Undefined{Message: "x is undefined"}); return nil }, "UndefinedError"},
		{"too many steps", func(m *Meter) Value { return m.List(&Iterator{Next: func() (Value, bool) { return "", true }}) }, "LimitError"},
	} {
		if got := try(c.do); got != c.want {
			t.Errorf("%s is %s, want %s", c.name, got, c.want)
		}
	}
}

// A value of the language above is what it says it is, and is equal to itself alone, however it is made.
func TestForeignValues(t *testing.T) {
	m := newMeter()
	var a, b Value = &guest{2}, &guest{2}
	if TypeName(a) != "guest" || !m.Truth(a) || m.Truth(&guest{}) || !m.Equal(a, a) || m.Equal(a, b) ||
		m.Text(a) != "<guest 2>" {
		t.Errorf("%s, truth %v, equal to itself %v and to another %v: %s",
			TypeName(a), m.Truth(a), m.Equal(a, a), m.Equal(a, b), m.Text(a))
	}
	if n, ok := Length(a); !ok || n != 2 || m.Repr(m.List(a)) != "['g', 'g']" {
		t.Errorf("%d items: %s", n, m.Repr(m.List(a)))
	}
	if f := Value(guests(nil)); m.Equal(f, f) || TypeName(f) != "guests" {
		t.Error("a function is equal to itself, which Go cannot tell")
	}
	if got := try(func(m *Meter) Value { return guests(nil) }); got != string(Unsupported) {
		t.Errorf("the text of a function is %s", got)
	}
}

type (
	guest  struct{ n int }
	guests func()
)

func (guests) TypeName() string { return "guests" }
func (*guest) TypeName() string { return "guest" }
func (g *guest) Len() int       { return g.n }
func (g *guest) Iterate() func() (Value, bool) {
	i := 0
	return func() (Value, bool) { i++; return "g", i <= g.n }
}
func (g *guest) AppendRepr(_ *Meter, b *strings.Builder, _ int) { fmt.Fprintf(b, "<guest %d>", g.n) }
