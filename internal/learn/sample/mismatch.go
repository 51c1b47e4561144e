package sample

import "hone/internal/engine"

// bounds on the mean mismatch KL of sampler and trainer, in nats a token, beyond which a run stops. Each is above what
// was measured, with room for real models and longer texts, and below what a sampler without the trained adapter gave
// (docs/ENGINE.md, section 7, has both and how they were measured). They bound rounding and faults of kernels: whether
// the right adapter serves is told by its checksum, not by them.
var bounds = []struct {
	gpu, pureGo, bf16 bool
	nats              float64
}{
	{pureGo: true, nats: 1e-7},
	{nats: 1e-7},
	{bf16: true, nats: 2e-3},
	{gpu: true, nats: 1e-7},
	{gpu: true, bf16: true, nats: 2e-3},
}

// MaxMismatch is the bound for an engine's devices and type.
func MaxMismatch(e *engine.Engine) float64 {
	for _, b := range bounds {
		if b.gpu == e.IsGPU() && b.pureGo == e.PureGo() && b.bf16 == e.IsBF16() {
			return b.nats
		}
	}
	return 0 // pure Go in bfloat16, which Open refuses
}
