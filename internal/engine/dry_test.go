package engine

import (
	"slices"
	"testing"

	"github.com/gomlx/gomlx/core/graph"
)

// A dry engine takes note of programs and bytes, and computes nothing.
func TestDry(t *testing.T) {
	d := OpenDry(true, 1)
	defer d.Close()
	if !d.IsGPU() || d.PureGo() || d.Description() != "no device" {
		t.Errorf("%v %v %q", d.IsGPU(), d.PureGo(), d.Description())
	}
	p, err := d.Compile("double", []Param{{Name: "x", Shape: F32(4), Donated: true}, {Name: "y", Shape: F32(4)}},
		func(in []*graph.Node) []*graph.Node {
			return []*graph.Node{graph.Add(in[0], in[0]), graph.Mul(in[1], in[1])}
		})
	if err != nil {
		t.Fatal(err)
	}
	x, err := d.Upload([]float32{1, 2, 3, 4}, 4)
	if err != nil {
		t.Fatal(err)
	}
	y := d.Blank(F32(4))
	if d.Live() != 32 || d.MostLive(p) != 0 {
		t.Errorf("%d bytes live, %d at most", d.Live(), d.MostLive(p))
	}
	out, err := p.Run(x, y)
	if err != nil {
		t.Fatal(err)
	}
	if d.Live() != 48 || d.MostLive(p) != 48 { // x is gone
		t.Errorf("%d bytes live, %d at most", d.Live(), d.MostLive(p))
	}
	flat, err := Floats(out[0])
	if err != nil || !slices.Equal(flat, make([]float32, 4)) {
		t.Errorf("%v, %v", flat, err)
	}
	Free(out...)
	Free(y, y, x)
	if d.Live() != 0 {
		t.Errorf("%d bytes live", d.Live())
	}
	if _, ok := p.Memory(); ok || len(d.Programs()) != 1 || p.Name() != "double" || p.HLO() == "" {
		t.Errorf("%v %q %q", d.Programs(), p.Name(), p.HLO())
	}
	if _, err := d.Measure(p.HLO()); err == nil {
		t.Error("a program is measured without a device")
	}
}

// The pure-Go backend has neither text nor statistics.
func TestPureGoIsNotMeasured(t *testing.T) {
	e, err := Open(Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	p, err := e.Compile("same", []Param{{Name: "x", Shape: F32(4)}}, func(in []*graph.Node) []*graph.Node { return in })
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := p.Memory(); ok || p.HLO() != "" {
		t.Errorf("%v %q", ok, p.HLO())
	}
	if _, err := e.Measure(""); err == nil {
		t.Error("measured")
	}
}
