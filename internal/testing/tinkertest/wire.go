package tinkertest

import (
	"encoding/binary"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"hone/internal/episode/policy"
)

// decodedPass is a ForwardBackwardRequest of the package tinker_public.
type decodedPass struct {
	model, loss string
	seq         int
	rows        []decodedRow
	forwardOnly bool
}

type decodedRow struct {
	ids, targets []int32
	inputs       map[string][]float32
}

func decodePass(b []byte) (p decodedPass) {
	walk(b, func(n protowire.Number, v []byte, x uint64) {
		switch n {
		case 1:
			p.model = string(v)
		case 2:
			p.seq = int(x)
		case 3:
			p.rows = append(p.rows, decodeRow(v))
		case 4:
			p.loss = string(v)
		case 6:
			p.forwardOnly = x == 1
		}
	})
	return p
}

func decodeRow(b []byte) decodedRow {
	r := decodedRow{inputs: map[string][]float32{}}
	walk(b, func(n protowire.Number, v []byte, _ uint64) {
		switch n {
		case 1: // Chunk, EncodedTextChunk, tokens
			walk(v, func(_ protowire.Number, v []byte, _ uint64) {
				walk(v, func(_ protowire.Number, v []byte, _ uint64) {
					for i := 0; i < len(v); i += 4 {
						r.ids = append(r.ids, int32(binary.LittleEndian.Uint32(v[i:])))
					}
				})
			})
		case 2:
			var name string
			walk(v, func(n protowire.Number, v []byte, _ uint64) {
				if n == 1 {
					name = string(v)
					return
				}
				r.input(name, v)
			})
		}
	})
	return r
}

func (r *decodedRow) input(name string, b []byte) {
	var dense []byte
	dtype := uint64(0)
	walk(b, func(n protowire.Number, v []byte, x uint64) {
		switch n {
		case 1:
			dense = v
		case 3:
			dtype = x
		}
	})
	if dtype == 2 {
		for i := 0; i < len(dense); i += 8 {
			r.targets = append(r.targets, int32(binary.LittleEndian.Uint64(dense[i:])))
		}
		return
	}
	for i := 0; i < len(dense); i += 4 {
		r.inputs[name] = append(r.inputs[name], math.Float32frombits(binary.LittleEndian.Uint32(dense[i:])))
	}
}

// slopesOf are the derivatives of importance sampling's loss, -sum exp(p-q) a, by each logprob p, before a first token
// that has none.
func slopesOf(p, q, a []float32) []float32 {
	slopes := make([]float32, len(p)+1)
	for i := range p {
		slopes[i+1] = float32(-math.Exp(float64(p[i])-float64(q[i])) * float64(a[i]))
	}
	return slopes
}

// encodePassed is a ForwardBackwardOutput with the logprobs of rows.
func encodePassed(rows [][]float32) []byte {
	var data, offsets []byte
	offsets = binary.LittleEndian.AppendUint64(offsets, 0)
	for _, r := range rows {
		data = append(data, floats(r)...)
		offsets = binary.LittleEndian.AppendUint64(offsets, uint64(len(data)))
	}
	tensor := number(put(put(nil, 1, data), 2, offsets), 3, 1)
	record := put(nil, 2, put(put(nil, 1, []byte("logprobs")), 2, tensor))
	record = number(record, 3, uint64(len(rows)))
	return put(put(nil, 1, []byte("ArrayRecord")), 2, record)
}

// encodeSampled is a SampleResponse of one completion.
func encodeSampled(c policy.Completion) []byte {
	var ids, b []byte
	for _, id := range c.IDs {
		ids = binary.LittleEndian.AppendUint32(ids, uint32(id))
	}
	if c.FinishReason == policy.FinishLength {
		b = number(b, 1, 1)
	}
	return put(nil, 1, put(put(b, 2, ids), 3, floats(c.SamplerLogprobs)))
}

func floats(x []float32) (b []byte) {
	for _, v := range x {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

func put(b []byte, n protowire.Number, v []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, n, protowire.BytesType), v)
}

func number(b []byte, n protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, n, protowire.VarintType), v)
}

// walk reads a message. What is malformed ends it.
func walk(b []byte, do func(n protowire.Number, v []byte, x uint64)) {
	for len(b) > 0 {
		n, kind, k := protowire.ConsumeTag(b)
		if k < 0 {
			return
		}
		b = b[k:]
		var v []byte
		var x uint64
		switch kind {
		case protowire.BytesType:
			v, k = protowire.ConsumeBytes(b)
		case protowire.VarintType:
			x, k = protowire.ConsumeVarint(b)
		default:
			k = protowire.ConsumeFieldValue(n, kind, b)
		}
		if k < 0 {
			return
		}
		b = b[k:]
		do(n, v, x)
	}
}
