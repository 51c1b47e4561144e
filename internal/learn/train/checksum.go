package train

import (
	. "github.com/gomlx/gomlx/core/graph"

	"hone/internal/learn/engine"
	"hone/internal/learn/model"
)

// AdapterChecksums are what those of the adapter are to be in the arrays of a sampler (model.Adapters), as each device holds it: of sharded weights,
// whose sampler is one, the first's.
func (t *Trainer) AdapterChecksums() ([]uint64, error) {
	p, err := t.program("checksum", func() (*engine.Program, error) {
		a := model.NewAdapters(t.spec, t.lora, 1)
		return t.engine.Compile("checksum", []engine.Param{{Name: "adapter", Shape: engine.F32(t.size)}}, func(in []*Node) []*Node {
			return []*Node{a.ChecksumOf(in[0])}
		})
	})
	if err != nil {
		return nil, err
	}
	out, err := p.Run(t.adapter)
	if err != nil {
		return nil, err
	}
	defer engine.Free(out...)
	n := t.engine.NumDevices()
	if t.spec.Shards > 1 {
		n = 1
	}
	sums := make([]uint64, n)
	for i := range sums {
		part := out[0]
		if t.engine.NumDevices() > 1 {
			part = engine.Part(out[0], i)
		}
		if sums[i], err = model.ReadChecksum(part); err != nil {
			return nil, err
		}
	}
	return sums, nil
}
