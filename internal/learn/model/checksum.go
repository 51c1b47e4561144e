package model

import (
	. "github.com/gomlx/gomlx/core/graph"

	"hone/internal/engine"
)

// CompileChecksum compiles what ReadChecksums is given: adapter [A] -> ChecksumOf it.
func CompileChecksum(e *engine.Engine, s Spec, l LoRA) (*engine.Program, error) {
	a := NewAdapters(s, l, 1)
	return e.Compile("checksum",
		[]engine.Param{{Name: "adapter", Shape: engine.F32(a.Size())}}, func(in []*Node) []*Node {
			return []*Node{a.ChecksumOf(in[0])}
		}, "checksum")
}

// ReadChecksums reads, and releases, what CompileChecksum's program returned, as each device holds it: of sharded
// weights, whose sampler is one, what the first does.
func ReadChecksums(e *engine.Engine, s Spec, out engine.Buffer) ([]uint64, error) {
	defer engine.Free(out)
	n := e.NumDevices()
	if s.Shards > 1 {
		n = 1
	}
	sums := make([]uint64, n)
	for i := range sums {
		part := out
		if e.NumDevices() > 1 {
			part = engine.Part(out, i)
		}
		var err error
		if sums[i], err = ReadChecksum(part); err != nil {
			return nil, err
		}
	}
	return sums, nil
}
