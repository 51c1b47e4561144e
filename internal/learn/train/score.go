package train

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"hone/internal/engine"
	"hone/internal/learn/batch"
)

// Score returns the logprobs of a batch's trained tokens under the trainer's adapter, at a temperature above 0. They
// are aligned with the rows, one number for each id and 0 where it is not trained, so each is a column of its row as it
// is.
func (t *Trainer) Score(ctx context.Context, b batch.Batch, temperature float64) ([][]float32, error) {
	return t.score(ctx, t.adapter, b, temperature, false)
}

// Entropies returns the entropy of the trainer's policy at each of a batch's trained tokens, over the whole vocabulary,
// in nats, as Score returns logprobs.
func (t *Trainer) Entropies(ctx context.Context, b batch.Batch, temperature float64) ([][]float32, error) {
	return t.score(ctx, t.adapter, b, temperature, true)
}

// HoldReference keeps a copy of the adapter as it is now, for ScoreReference. Save writes it too.
func (t *Trainer) HoldReference() error {
	flat, err := engine.Floats(t.adapter)
	if err != nil {
		return err
	}
	return t.setReference(flat)
}

// setReference replaces the reference; nil is none.
func (t *Trainer) setReference(flat []float32) error {
	var held engine.Buffer
	if flat != nil {
		var err error
		if held, err = t.engine.Upload(flat, t.size); err != nil {
			return err
		}
	}
	if t.reference != nil {
		engine.Free(t.reference)
	}
	t.reference = held
	return nil
}

// ScoreReference is Score under the adapter that HoldReference kept.
func (t *Trainer) ScoreReference(ctx context.Context, b batch.Batch, temperature float64) ([][]float32, error) {
	if t.reference == nil {
		return nil, errors.New("no reference is held")
	}
	return t.ScoreUnder(ctx, t.reference, b, temperature)
}

// ScoreUnder is Score under another adapter, [A] on the trainer's devices, such as that of a sample.Folder: a
// reference. nil is the base model alone. A device that runs out of memory is given fewer rows at a time, as in a step.
func (t *Trainer) ScoreUnder(
	ctx context.Context, adapter engine.Buffer, b batch.Batch, temperature float64,
) ([][]float32, error) {
	if adapter == nil {
		none, err := t.engine.Zeros(engine.F32(t.size), 1)
		if err != nil {
			return nil, err
		}
		defer engine.Free(none...)
		adapter = none[0]
	}
	return t.score(ctx, adapter, b, temperature, false)
}

// score is ScoreUnder, or the entropies in place of the logprobs.
func (t *Trainer) score(
	ctx context.Context, adapter engine.Buffer, b batch.Batch, temperature float64, entropies bool,
) ([][]float32, error) {
	short := b.Shorten(t.maxPrefix)
	if err := check(short.Rows); err != nil {
		return nil, err
	}
	divisor, err := t.engine.Upload([]float32{float32(temperature)})
	if err != nil {
		return nil, err
	}
	defer engine.Free(divisor)
	scores := make([][]float32, len(b.Rows))
	all := func() error {
		parts, ahead := t.byPrefix(short), t.ahead()
		ahead.scores(parts, entropies)
		if err := ahead.compile(); err != nil {
			return err
		}
		for _, part := range parts {
			if err := t.scorePart(ctx, b.Rows, part, scores, adapter, divisor, entropies); err != nil {
				return err
			}
		}
		return nil
	}
	err = all()
	for t.lessens(err, short, true, false) {
		err = all()
	}
	if err != nil {
		return nil, t.memoryError(err, mostRows(t.calls(short.Rows, true)))
	}
	return scores, nil
}

// scorePart scores those of the rows that a part has.
func (t *Trainer) scorePart(
	ctx context.Context, rows []batch.Sequence, part batch.Part, scores [][]float32, adapter, divisor engine.Buffer,
	entropies bool,
) error {
	kv, prefix, err := t.prefixUnder(adapter, part.Prefix, masks{})
	if err != nil {
		return err
	}
	defer func() { engine.Free(append(kv, prefix...)...) }()
	for _, x := range t.calls(part.Rows, true) {
		if err := ctx.Err(); err != nil {
			return err
		}
		logp, err := t.scoreCall(x, part.Batch, adapter, kv, divisor, entropies)
		if err != nil {
			return err
		}
		for i := range logp {
			for _, tree := range x.of(i) {
				for _, row := range tree.rows {
					at := part.Place(row)
					scores[at], logp[i] = alignLogprobs(rows[at], logp[i])
				}
			}
		}
	}
	return nil
}

// scoreCall returns what each device has of a call's logprobs or entropies: those of its rows' trained tokens, one
// after the other.
func (t *Trainer) scoreCall(
	x call, b batch.Batch, adapter engine.Buffer, kv []engine.Buffer, divisor engine.Buffer, entropies bool,
) ([][]float32, error) {
	each := t.pad(x, b.Rows, 1, nil, masks{})
	p, err := t.scoreProgram(each[0].shape, len(b.Prefix), entropies)
	if err != nil {
		return nil, err
	}
	inputs, err := upload(t.engine, each, false)
	if err != nil {
		return nil, err
	}
	defer engine.Free(inputs...)
	read := slices.Concat(inputs[:3], inputs[numFixed:]) // a score is not weighted
	out, err := p.Run(slices.Concat(t.buffersUnder(adapter), kv, read, []engine.Buffer{divisor})...)
	if err != nil {
		return nil, fmt.Errorf("scoring %d rows: %w", len(x.trees), err)
	}
	return takeEach(out[0], len(each))
}

// alignLogprobs lays the first logprobs out as a row has its trained tokens, and returns the others.
func alignLogprobs(r batch.Sequence, logp []float32) (row, rest []float32) {
	row = make([]float32, len(r.IDs))
	for i, trained := range r.Trained {
		if trained {
			row[i], logp = logp[0], logp[1:]
		}
	}
	return row, logp
}
