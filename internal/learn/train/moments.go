package train

import (
	"hone/internal/engine"
)

// store is how Adam's two moments lie on the device between steps.
type store interface {
	name() string
	// params declares the buffers of moments of n numbers each: those of the first, then those of the second.
	params(n int) []engine.Param
	// read and write are graphs: the moments [n] in what is stored; and what is to be stored of new ones, which is what
	// was stored where taken is false.
	read(stored []*node, n int) (m, v *node)
	write(taken, m, v *node, stored []*node) []*node
	// upload and download are the same on the host.
	upload(e *engine.Engine, m, v []float32) ([]engine.Buffer, error)
	download(stored []engine.Buffer, n int) (m, v []float32, err error)
}

// whole stores moments as they are, 8 bytes for each number of the adapter.
type whole struct{}

func (whole) name() string { return "f32" }

func (whole) params(n int) []engine.Param {
	return []engine.Param{
		{Name: "m", Shape: engine.F32(n), Donated: true},
		{Name: "v", Shape: engine.F32(n), Donated: true},
	}
}

func (whole) read(stored []*node, _ int) (m, v *node) { return stored[0], stored[1] }

func (whole) write(taken, m, v *node, stored []*node) []*node {
	return []*node{where(taken, m, stored[0]), where(taken, v, stored[1])}
}

func (whole) upload(e *engine.Engine, m, v []float32) ([]engine.Buffer, error) {
	return uploadAll(e, same(m, len(m)), same(v, len(v)))
}

func (whole) download(stored []engine.Buffer, _ int) (m, v []float32, err error) {
	if m, err = engine.Floats(stored[0]); err != nil {
		return nil, nil, err
	}
	v, err = engine.Floats(stored[1])
	return m, v, err
}

// array is what is uploaded: a flat slice of float32 or int32 and its shape. It is one for all devices, or one for
// each.
type array struct {
	each []any
	dims []int
}

func same(flat any, dims ...int) array { return array{[]any{flat}, dims} }

// uploadAll copies arrays to the device; with an error none stays there.
func uploadAll(e *engine.Engine, arrays ...array) ([]engine.Buffer, error) {
	var out []engine.Buffer
	for _, a := range arrays {
		b, err := e.UploadEach(a.each, a.dims...)
		if err != nil {
			engine.Free(out...)
			return nil, err
		}
		out = append(out, b)
	}
	return out, nil
}
