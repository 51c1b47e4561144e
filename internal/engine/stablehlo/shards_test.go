package stablehlo

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
)

var overAll = &compute.ShardingSpec{Mesh: "mesh", Axes: [][]string{{"data"}}}

// A sharded parameter is gathered where it is read, once, and a second time behind a barrier: each device gives a part
// and sees the whole.
func TestShardedParameter(t *testing.T) {
	b := several(t, 2)
	build := b.Builder("sharded")
	if err := errors.Join(build.DistributedSPMD(2), build.DeviceAssignment(0, 1)); err != nil {
		t.Fatal(err)
	}
	f, shape := build.Main(), shapes.Make(dtypes.Float32, 4, 1)
	w, err := f.Parameter("w", shape, overAll)
	if err != nil {
		t.Fatal(err)
	}
	y, errY := f.Parameter("y", shape, nil)
	sum, errSum := f.Add(w, y)
	sum, errAgain := f.Add(sum, w)
	late, errLate := f.SchedulingBarrier(w, sum)
	product, errMul := f.Mul(late, sum)
	if err := errors.Join(errY, errSum, errAgain, errLate, errMul,
		f.Return([]compute.Value{product}, nil)); err != nil {
		t.Fatal(err)
	}
	compiled, err := build.Compile()
	if err != nil {
		t.Fatal(err)
	}
	e := compiled.(*Executable)
	if n := strings.Count(e.HLO, "stablehlo.all_gather"); n != 2 || !strings.Contains(e.HLO, "%p0: tensor<2x1xf32>") {
		t.Errorf("%d gathers\n%s", n, e.HLO)
	}
	parts, err := b.BufferFromShards([]float32{1, 2, 3, 4}, shape)
	if err != nil {
		t.Fatal(err)
	}
	for d, want := range [][]float32{{1, 2}, {3, 4}} {
		if x := Part(parts, d); !slices.Equal(floats(t, x, 2), want) {
			t.Errorf("device %d holds %v", d, floats(t, x, 2))
		}
	}
	own, err := b.BufferFromEach([]any{[]float32{0, 0, 0, 0}, []float32{1, 1, 1, 1}}, shape)
	if err != nil {
		t.Fatal(err)
	}
	out, err := e.Execute([]compute.Buffer{parts, own}, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for d, want := range [][]float32{{2, 8, 18, 32}, {3, 10, 21, 36}} { // w (2w + y)
		if got := floats(t, Part(out[0], d), 4); !slices.Equal(got, want) {
			t.Errorf("device %d has %v, want %v", d, got, want)
		}
	}
}

// What devices cannot share alike is refused.
func TestShardingsThatAreRefused(t *testing.T) {
	b := NewDry(false, 2)
	f := b.Builder("refused").Main()
	for name, c := range map[string]struct {
		dims []int
		spec *compute.ShardingSpec
	}{
		"odd":             {[]int{3, 2}, overAll},
		"a scalar":        {nil, overAll},
		"the second axis": {[]int{2, 2}, &compute.ShardingSpec{Axes: [][]string{{"data"}, {"data"}}}},
	} {
		if _, err := f.Parameter("w", shapes.Make(dtypes.Float32, c.dims...), c.spec); !errors.Is(err,
			compute.ErrNotImplemented) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := f.Parameter("w", shapes.Make(dtypes.Float32, 3),
		&compute.ShardingSpec{Axes: [][]string{{}}}); err != nil {
		t.Errorf("a parameter that is whole: %v", err)
	}
	if _, err := b.BufferFromShards(make([]float32, 3), shapes.Make(dtypes.Float32, 3)); err == nil {
		t.Error("three numbers are shared by two devices")
	}
}
