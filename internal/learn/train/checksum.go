package train

import (
	"hone/internal/engine"
	"hone/internal/learn/model"
)

// AdapterChecksums are what those of the adapter are to be in the arrays of a sampler (model.Adapters), as each device
// holds it: of sharded weights, whose sampler is one, the first's.
func (t *Trainer) AdapterChecksums() ([]uint64, error) {
	p, err := t.program("checksum", func() (*engine.Program, error) {
		return model.CompileChecksum(t.engine, t.spec, t.lora)
	})
	if err != nil {
		return nil, err
	}
	out, err := p.Run(t.adapter)
	if err != nil {
		return nil, err
	}
	return model.ReadChecksums(t.engine, t.spec, out[0])
}
