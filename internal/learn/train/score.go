package train

import (
	"hone/internal/learn/batch"
	"hone/internal/learn/engine"
)

// Score returns the trainer's logprobs of each row's trained tokens at a temperature above 0, in order.
func (t *Trainer) Score(b batch.Batch, temperature float64) ([][]float32, error) {
	b = b.Shorten(t.maxPrefix)
	if err := check(b.Rows); err != nil {
		return nil, err
	}
	kv, prefix, err := t.prefix(b.Prefix, masks{})
	if err != nil {
		return nil, err
	}
	defer func() { engine.Free(append(kv, prefix...)...) }()
	divisor, err := t.engine.Upload([]float32{float32(temperature)})
	if err != nil {
		return nil, err
	}
	defer engine.Free(divisor)
	scores := make([][]float32, len(b.Rows))
	for _, x := range t.calls(b.Rows) {
		each := t.pad(x, b.Rows, 1, masks{})
		p, err := t.scoreProgram(each[0].shape, len(b.Prefix))
		if err != nil {
			return nil, err
		}
		inputs, err := upload(t.engine, each)
		if err != nil {
			return nil, err
		}
		out, err := p.Run(append(append(append(t.modelBuffers(), kv...), inputs[:3]...), divisor)...)
		engine.Free(inputs...)
		if err != nil {
			return nil, err
		}
		logp, err := takeEach(out[0], len(each))
		if err != nil {
			return nil, err
		}
		for i := range each {
			for _, row := range x.of(i) {
				n := b.Rows[row].NumTrained()
				scores[row], logp[i] = logp[i][:n:n], logp[i][n:]
			}
		}
	}
	return scores, nil
}
