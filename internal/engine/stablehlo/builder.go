package stablehlo

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/dtypes/bfloat16"
	"github.com/gomlx/compute/notimplemented"
	"github.com/gomlx/compute/shapes"
)

var dtypeNames = map[dtypes.DType]string{
	dtypes.Float32:  "f32",
	dtypes.BFloat16: "bf16",
	dtypes.Int16:    "i16",
	dtypes.Int32:    "i32",
	dtypes.Int64:    "i64",
	dtypes.Uint8:    "ui8",
	dtypes.Bool:     "i1",
}

// builder collects one program: a main function, and what it calls.
type builder struct {
	notimplemented.Builder
	backend   *Backend
	name      string
	main      *function
	numValues int
	// beside are the bodies of functions that main calls; see functionOf.
	beside     []string
	besideText strings.Builder
}

func (b *builder) Name() string { return b.name }

func (b *builder) Main() compute.Function {
	if b.main == nil {
		b.main = &function{builder: b}
		b.main.ErrFn = func(op compute.OpType) error {
			return fmt.Errorf("stablehlo backend: %s: %w", op, compute.ErrNotImplemented)
		}
	}
	return b.main
}

func (b *builder) OpShape(v compute.Value) (shapes.Shape, error) { return v.(*value).shape, nil }

func (b *builder) Compile() (compute.Executable, error) {
	f := b.main
	signature := make([]string, len(f.params))
	in := make([]shapes.Shape, len(f.params))
	for i, p := range f.params {
		attribute := ""
		if strings.HasSuffix(f.names[i], DonatedSuffix) {
			attribute = " {jax.buffer_donor = true}"
		}
		signature[i] = p.name + ": " + typeOf(p.here()) + attribute
		in[i] = p.shape
	}
	out := make([]shapes.Shape, len(f.outs))
	names, types := operandText(f.outs)
	for i, o := range f.outs {
		out[i] = o.shape
	}
	text := b.settings() + fmt.Sprintf("module @%s%s {\nfunc.func @main(%s) -> (%s) {\n%sreturn %s : %s\n}\n%s}\n",
		b.name, b.replicas(), strings.Join(signature, ", "), types, f.text.String(), names, types,
		b.besideText.String())
	if b.backend.dry != nil {
		return &Executable{backend: b.backend, names: f.names, in: in, out: out, HLO: text}, nil
	}
	p, err := b.backend.compile(text, widest(in))
	trim()
	if err != nil {
		return nil, fmt.Errorf("compiling %s: %w", b.name, err)
	}
	return &Executable{backend: b.backend, program: p, shared: b.backend.compiled != nil, names: f.names,
		in: in, out: out, HLO: text, NumAlias: p.memory.Aliased}, nil
}

// value is an SSA value of the program text.
type value struct {
	name  string
	shape shapes.Shape
	rows  rows // what it is rows of, if of anything; see replaces
	parts int  // it is sharded: cut along axis 0 into so many parts, of which each device has one; see whole
}

// function implements compute.Function by appending text.
type function struct {
	notimplemented.Function
	builder  *builder
	text     strings.Builder
	params   []*value
	names    []string
	outs     []*value
	gathered map[*value]*value // what whole has made
	// attended are the results of fused attention by the options it was called with; see
	// FusedScaledDotProductAttention.
	attended map[*compute.ScaledDotProductAttentionConfig]attended
}

// Name implements compute.Function.
func (f *function) Name() string { return compute.MainName }

// Parent implements compute.Function: the main function has none.
func (f *function) Parent() compute.Function { return nil }

func (f *function) Builder() compute.Builder { return f.builder }

func (f *function) Shape(v compute.Value) (shapes.Shape, error) { return v.(*value).shape, nil }

// Parameter implements compute.Function. Of a sharding the backend knows the first axis, over all devices.
func (f *function) Parameter(name string, shape shapes.Shape, sharding *compute.ShardingSpec) (compute.Value, error) {
	p := &value{name: "%p" + strconv.Itoa(len(f.params)), shape: shape}
	var err error
	if p.parts, err = f.parts(shape, sharding); err != nil {
		return nil, fmt.Errorf("the parameter %s: %w", name, err)
	}
	f.params, f.names = append(f.params, p), append(f.names, name)
	return p, nil
}

func (f *function) Return(outs []compute.Value, _ []*compute.ShardingSpec) error {
	for _, v := range outs {
		f.outs = append(f.outs, v.(*value))
	}
	return nil
}

func (b *builder) newName() string {
	b.numValues++
	return "%v" + strconv.Itoa(b.numValues)
}

func (f *function) newValue(shape shapes.Shape) *value {
	return &value{name: f.builder.newName(), shape: shape}
}

// op appends one operation in MLIR's generic form: %r = "stablehlo.name"(operands) <{attributes}> : (types) -> type.
func (f *function) op(name, attributes string, out shapes.Shape, operands ...compute.Value) (compute.Value, error) {
	r := f.newValue(out)
	in := make([]*value, len(operands))
	for i, o := range operands {
		in[i] = f.whole(o.(*value))
	}
	names, types := operandText(in)
	if attributes != "" {
		attributes = " <{" + attributes + "}>"
	}
	fmt.Fprintf(&f.text, "%s = \"stablehlo.%s\"(%s)%s : (%s) -> %s\n",
		r.name, name, names, attributes, types, typeOf(out))
	return r, nil
}

func operandText(values []*value) (names, types string) {
	n, t := make([]string, len(values)), make([]string, len(values))
	for i, v := range values {
		n[i], t[i] = v.name, typeOf(v.here())
	}
	return strings.Join(n, ", "), strings.Join(t, ", ")
}

func typeOf(s shapes.Shape) string {
	var b strings.Builder
	b.WriteString("tensor<")
	for _, d := range s.Dimensions {
		b.WriteString(strconv.Itoa(d) + "x")
	}
	b.WriteString(dtypeNames[s.DType] + ">")
	return b.String()
}

func join(xs []int) string {
	s := make([]string, len(xs))
	for i, x := range xs {
		s[i] = strconv.Itoa(x)
	}
	return strings.Join(s, ", ")
}

// array writes an array<i64> attribute.
func array(xs []int) string {
	if len(xs) == 0 {
		return "array<i64>"
	}
	return "array<i64: " + join(xs) + ">"
}

// Constant implements compute.Function for scalars and vectors of f32, bf16, i32, i64 and bool.
func (f *function) Constant(flat any, dims ...int) (compute.Value, error) {
	var text []string
	var dtype dtypes.DType
	switch xs := flat.(type) {
	case []float32:
		dtype = dtypes.Float32
		for _, x := range xs {
			text = append(text, fmt.Sprintf("0x%08X", math.Float32bits(x)))
		}
	case []bfloat16.BFloat16:
		dtype = dtypes.BFloat16
		for _, x := range xs {
			text = append(text, fmt.Sprintf("0x%04X", x.Bits()))
		}
	case []int32:
		dtype = dtypes.Int32
		for _, x := range xs {
			text = append(text, strconv.Itoa(int(x)))
		}
	case []int64:
		dtype = dtypes.Int64
		for _, x := range xs {
			text = append(text, strconv.FormatInt(x, 10))
		}
	case []bool:
		dtype = dtypes.Bool
		for _, x := range xs {
			text = append(text, strconv.FormatBool(x))
		}
	default:
		return nil, fmt.Errorf("stablehlo backend: constant of %T: %w", flat, compute.ErrNotImplemented)
	}
	if len(dims) > 1 {
		return nil, fmt.Errorf("stablehlo backend: constant of rank %d: %w", len(dims), compute.ErrNotImplemented)
	}
	shape := shapes.Make(dtype, dims...)
	body := text[0]
	if len(dims) == 1 {
		body = "[" + strings.Join(text, ", ") + "]"
	}
	return f.op("constant", fmt.Sprintf("value = dense<%s> : %s", body, typeOf(shape)), shape)
}

// results are the values of an operation that has several.
func results(name string, like []*value) []compute.Value {
	out := make([]compute.Value, len(like))
	for i, x := range like {
		out[i] = &value{name: name + "#" + strconv.Itoa(i), shape: x.shape, parts: x.parts}
	}
	return out
}
