package stablehlo

import (
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/gobackend"
	"github.com/gomlx/compute/shapes"
)

// The contract of this backend: each operation gives what GoMLX's pure-Go backend gives, or what is written down where
// that backend has no such operation or, for the reason named, another answer.
//
// go test ./internal/engine/stablehlo -args -plugin PATH holds another plug-in to it, such as one for CUDA.

// contract is one operation on one set of inputs.
type contract struct {
	op   string // method of compute.Function, which the test calls by this name
	name string
	in   []tensor
	args func(v []compute.Value) []any // of the method; nil: the inputs
	// tolerance is relative to the larger of 1 and the number; 0: equal to the bit, but for the sign of zero.
	tolerance float64
	want      [][]float64 // in place of the pure-Go backend's outputs
	why       string      // it is in place of them
	fatal     bool        // the pure-Go backend ends the process
	cpuOnly   bool        // a GPU answers otherwise
}

// tensor is an input: a flat slice and its dimensions; no dimensions are a scalar.
type tensor struct {
	flat any
	dims []int
}

func f32(dims []int, xs ...float32) tensor { return tensor{xs, dims} }
func i32(dims []int, xs ...int32) tensor   { return tensor{xs, dims} }
func bools(dims []int, xs ...bool) tensor  { return tensor{xs, dims} }
func d(dims ...int) []int                  { return dims }

// ramp is n numbers of both signs without a pattern.
func ramp(dims ...int) tensor {
	n := 1
	for _, x := range dims {
		n *= x
	}
	flat := make([]float32, n)
	for i := range flat {
		flat[i] = float32(math.Sin(float64(i)*12.9898) * 3)
	}
	return tensor{flat, dims}
}

// plugPath is the plug-in under test.
func plugPath(t *testing.T) string {
	t.Helper()
	// The flag is learntest's, which this package's other tests import, and this one cannot.
	if path := flag.Lookup("plugin").Value.String(); path != "" {
		return path
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Skip(err)
	}
	found, err := filepath.Glob(filepath.Join(cache, "hone", "lammps-jax-pjrt-cpu-*", "*.so"))
	if err != nil || len(found) == 0 {
		t.Skip("no plug-in is installed: hone engine install cpu")
	}
	return found[0]
}

// plug opens the plug-in under test.
func plug(t *testing.T) *Backend {
	t.Helper()
	b, err := New(plugPath(t), 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Finalize)
	return b
}

// TestContract compiles the cases of one operation together, since compilation is what costs.
func TestContract(t *testing.T) {
	plugin := plug(t)
	pureGo, err := gobackend.New("parallelism=-1")
	if err != nil {
		t.Fatal(err)
	}
	defer pureGo.Finalize()
	byOp := map[string][]contract{}
	for _, c := range contracts() {
		byOp[c.op] = append(byOp[c.op], c)
	}
	for _, op := range slices.Sorted(maps.Keys(byOp)) {
		t.Run(op, func(t *testing.T) {
			cases := slices.DeleteFunc(byOp[op], func(c contract) bool { return c.cpuOnly && plugin.IsGPU() })
			got, err := runAll(plugin, cases)
			if err != nil {
				t.Fatal(err)
			}
			for i, c := range cases {
				want := c.want
				var reference [][][]float64
				err := errors.New("it ends the process")
				if !c.fatal {
					reference, err = runAll(pureGo, cases[i:i+1])
				}
				switch {
				case err == nil && want == nil:
					want = reference[0]
				case want == nil:
					t.Errorf("%s: the pure-Go backend says %v, and nothing else is written down", c.name, err)
					continue
				case err == nil && equal(reference[0], want, c.tolerance):
					t.Errorf("%s: what is written down is the pure-Go backend's answer too, so it need not be", c.name)
				case err == nil && c.why == "":
					t.Errorf("%s: the pure-Go backend answers %v, and no reason is given to want %v",
						c.name, reference[0], want)
				}
				if !equal(got[i], want, c.tolerance) {
					t.Errorf("%s: got %v, want %v", c.name, got[i], want)
				}
			}
		})
	}
}

// runAll runs the cases as one program and returns the outputs of each, flattened.
func runAll(b compute.Backend, cases []contract) ([][][]float64, error) {
	builder := b.Builder("contract")
	f := builder.Main()
	var inputs []compute.Buffer
	var outs []compute.Value
	counts := make([]int, len(cases))
	for i, c := range cases {
		var values []compute.Value
		for j, x := range c.in {
			shape := shapes.Make(dtypes.FromGoType(reflect.TypeOf(x.flat).Elem()), x.dims...)
			v, err := f.Parameter(fmt.Sprintf("c%d_%d", i, j), shape, nil)
			if err != nil {
				return nil, err
			}
			buffer, err := b.BufferFromFlatData(0, x.flat, shape)
			if err != nil {
				return nil, err
			}
			values, inputs = append(values, v), append(inputs, buffer)
		}
		results, err := call(f, c, values)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.name, err)
		}
		counts[i] = len(results)
		outs = append(outs, results...)
	}
	if err := f.Return(outs, nil); err != nil {
		return nil, err
	}
	x, err := builder.Compile()
	if err != nil {
		return nil, err
	}
	defer x.Finalize()
	buffers, err := x.Execute(inputs, nil, 0)
	if err != nil {
		return nil, err
	}
	all := make([][][]float64, len(cases))
	for i, n := range counts {
		for _, buffer := range buffers[:n] {
			flat, err := numbers(buffer)
			if err != nil {
				return nil, err
			}
			all[i] = append(all[i], flat)
		}
		buffers = buffers[n:]
	}
	return all, nil
}

// call calls the operation by its name, so that a case cannot be about another.
func call(f compute.Function, c contract, values []compute.Value) ([]compute.Value, error) {
	method := reflect.ValueOf(f).MethodByName(c.op)
	if !method.IsValid() {
		return nil, fmt.Errorf("there is no operation %s", c.op)
	}
	var args []any
	if c.args != nil {
		args = c.args(values)
	} else {
		for _, v := range values {
			args = append(args, v)
		}
	}
	in := make([]reflect.Value, len(args))
	for i, a := range args {
		in[i] = reflect.ValueOf(a)
	}
	out := method.Call(in)
	if err, ok := out[len(out)-1].Interface().(error); ok {
		return nil, err
	}
	if list, ok := out[0].Interface().([]compute.Value); ok {
		return list, nil
	}
	return []compute.Value{out[0].Interface()}, nil
}

// numbers copies a buffer to the host; true is 1.
func numbers(b compute.Buffer) ([]float64, error) {
	shape, err := b.Shape()
	if err != nil {
		return nil, err
	}
	flat := reflect.MakeSlice(reflect.SliceOf(shape.DType.GoType()), shape.Size(), shape.Size())
	if err := b.ToFlatData(flat.Interface()); err != nil {
		return nil, err
	}
	out := make([]float64, flat.Len())
	for i := range out {
		switch x := flat.Index(i); {
		case x.Kind() == reflect.Bool:
			if x.Bool() {
				out[i] = 1
			}
		case x.CanInt():
			out[i] = float64(x.Int())
		case x.CanUint():
			out[i] = float64(x.Uint())
		default:
			out[i] = x.Float()
		}
	}
	return out, nil
}

func equal(a, b [][]float64, tolerance float64) bool {
	return slices.EqualFunc(a, b, func(x, y []float64) bool {
		return slices.EqualFunc(x, y, func(x, y float64) bool {
			return x == y || math.IsNaN(x) && math.IsNaN(y) || math.Abs(x-y) <= tolerance*math.Max(1, math.Abs(y))
		})
	})
}

// structure are methods of the builder's function that are no operations.
var structure = []string{"Name", "Builder", "Parent", "Shape", "Parameter", "Return"}

// elsewhere are operations whose contracts need more than a case here, by the test that holds them.
var elsewhere = map[string]string{
	"FusedScaledDotProductAttention": "attention_test.go", "FusedScaledDotProductAttentionVJP": "attention_test.go",
}

// An operation without a contract is a gap in the suite.
func TestEveryOperationHasAContract(t *testing.T) {
	missing, err := withoutContract(".", contracts())
	if err != nil || len(missing) > 0 {
		t.Errorf("no contract for %v, %v", missing, err)
	}
	// The check sees a gap: without the cases of one operation, that operation is missing.
	missing, err = withoutContract(".",
		slices.DeleteFunc(contracts(), func(c contract) bool { return c.op == "Gather" }))
	if err != nil || !slices.Equal(missing, []string{"Gather"}) {
		t.Errorf("missing are %v, %v", missing, err)
	}
}

// withoutContract lists the operations that the package in dir implements and no case is about.
func withoutContract(dir string, cases []contract) ([]string, error) {
	has := map[string]bool{}
	for _, name := range structure {
		has[name] = true
	}
	for _, c := range cases {
		has[c.op] = true
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	var missing []string
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		syntax, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			return nil, err
		}
		for _, decl := range syntax.Decls {
			m, ok := decl.(*ast.FuncDecl)
			if !ok || !m.Name.IsExported() || !isMethodOf(m, "function") || has[m.Name.Name] {
				continue
			}
			if by, ok := elsewhere[m.Name.Name]; ok {
				if _, err := os.Stat(filepath.Join(dir, by)); err == nil {
					continue
				} else if !errors.Is(err, fs.ErrNotExist) {
					return nil, err
				}
			}
			missing = append(missing, m.Name.Name)
		}
	}
	return missing, nil
}

func isMethodOf(m *ast.FuncDecl, name string) bool {
	if m.Recv == nil {
		return false
	}
	star, ok := m.Recv.List[0].Type.(*ast.StarExpr)
	if !ok {
		return false
	}
	id, ok := star.X.(*ast.Ident)
	return ok && id.Name == name
}

// A donated input is written over, not copied, and the statistics add up.
func TestDonationAliases(t *testing.T) {
	b := plug(t)
	for _, donated := range []bool{true, false} {
		name := "cache"
		if donated {
			name += DonatedSuffix
		}
		builder := b.Builder("donate")
		f := builder.Main()
		shape := shapes.Make(dtypes.Float32, 64, 32)
		cache, _ := f.Parameter(name, shape, nil)
		row, _ := f.Parameter("row", shapes.Make(dtypes.Float32, 1, 32), nil)
		at, _ := f.Parameter("at", shapes.Make(dtypes.Int32), nil)
		zero, _ := f.Constant([]int32{0})
		next, err := f.DynamicUpdateSlice(cache, row, []compute.Value{at, zero})
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Return([]compute.Value{next}, nil); err != nil {
			t.Fatal(err)
		}
		compiled, err := builder.Compile()
		if err != nil {
			t.Fatal(err)
		}
		x := compiled.(*Executable)
		defer x.Finalize()
		m, size := x.Memory(), int64(64*32*4)
		if want := map[bool]int64{true: size}[donated]; m.Aliased != want || x.NumAlias != want {
			t.Errorf("donated %v: %d bytes aliased, want %d", donated, m.Aliased, want)
		}
		if m.Inputs != size+32*4+4 || m.Outputs != size ||
			m.Total() != m.Inputs+m.Outputs-m.Aliased+m.Temporary+m.Code {
			t.Errorf("%+v", m)
		}
		again, err := b.Measure(x.HLO)
		if err != nil || again != m {
			t.Errorf("measured %+v, %v; want %+v", again, err, m)
		}
	}
	if _, err := b.Measure("module {"); err == nil {
		t.Error("a broken text is measured")
	}
}
