package stablehlo

import (
	"slices"
	"testing"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
)

// recorded are turns that say which were taken, and fail a test in which one is taken within another.
type recorded struct {
	t     *testing.T
	taken []string
	held  bool
}

func (r *recorded) take(kind string) {
	if r.held {
		r.t.Errorf("a turn is taken within another: %s after %v", kind, r.taken)
	}
	r.held, r.taken = true, append(r.taken, kind)
}

func (r *recorded) Lock()    { r.take("alone") }
func (r *recorded) Unlock()  { r.held = false }
func (r *recorded) RLock()   { r.take("beside others") }
func (r *recorded) RUnlock() { r.held = false }

// Each use of the devices is a turn, of a part of them too, and a program's first execution has them alone.
func TestFirstExecutionIsAlone(t *testing.T) {
	all, err := New(plugPath(t), 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(all.Finalize)
	turns := &recorded{t: t}
	all.turns = turns
	shape := shapes.Make(dtypes.Float32, 2)
	for name, b := range map[string]*Backend{"all devices": all, "one of them": all.On(1)} {
		t.Run(name, func(t *testing.T) {
			check := func(what string, err error, want ...string) {
				t.Helper()
				if err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				if turns.held || !slices.Equal(turns.taken, want) {
					t.Fatalf("%s took the turns %v, want %v (one is not given back: %v)",
						what, turns.taken, want, turns.held)
				}
				turns.taken = nil
			}
			builder := b.Builder("double")
			f := builder.Main()
			x, err := f.Parameter("x", shape, nil)
			if err == nil {
				x, err = f.Add(x, x)
			}
			if err == nil {
				err = f.Return([]compute.Value{x}, nil)
			}
			if err != nil {
				t.Fatal(err)
			}
			executable, err := builder.Compile()
			check("compiling", err)
			e := executable.(*Executable)
			in, err := b.BufferFromFlatData(0, []float32{1, 2}, shape)
			check("an upload", err, slices.Repeat([]string{"beside others"}, len(b.devices))...)
			first, err := e.Start([]compute.Buffer{in}, []bool{false})
			check("the first execution", err, "alone")
			second, err := e.Execute([]compute.Buffer{in}, []bool{false}, 0)
			check("the second", err, "beside others")
			third, err := e.Start([]compute.Buffer{in}, []bool{false})
			check("the third", err, "beside others")
			for _, out := range []compute.Buffer{first[0], second[0], third[0]} {
				got := make([]float32, 2)
				check("a download", out.ToFlatData(got), "beside others")
				if !slices.Equal(got, []float32{2, 4}) {
					t.Errorf("doubled %v", got)
				}
				check("a release", out.Finalize(), "beside others")
			}
			check("a release", in.Finalize(), "beside others")
		})
	}
}

// Where the devices are no GPU's nobody waits for another.
func TestTurnsAreOfGPUs(t *testing.T) {
	b := plug(t)
	if b.turns != nil || turnsOf(false) != nil || turnsOf(true) == nil {
		t.Errorf("turns of a CPU's devices: %v, of none %v, of a GPU's %v", b.turns, turnsOf(false), turnsOf(true))
	}
}
