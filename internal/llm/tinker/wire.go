package tinker

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// The messages of the package tinker_public, as far as they are sent and read here: tinker 0.38's
// proto/tinker_public_pb2.py has the numbers of their fields. Arrays are little-endian bytes.

// Types of numbers in a tensor.
const (
	typeFloat32  = 1
	typeInt64    = 2
	typeBFloat16 = 4
)

// Row is what one row of a pass is: the model reads all of IDs but the last, and is asked for the logprobs of all but
// the first.
type Row struct {
	IDs []int32
	// Inputs are those of a loss by their names, one number for each of IDs but the first.
	Inputs map[string][]float32
}

// pass is a ForwardBackwardRequest.
type pass struct {
	model       string
	seq         int
	rows        []Row
	loss        string
	forwardOnly bool
}

func (p pass) encode() []byte {
	b := appendBytes(nil, 1, []byte(p.model))
	b = appendVarint(b, 2, uint64(p.seq))
	for _, r := range p.rows {
		b = appendBytes(b, 3, r.encode())
	}
	b = appendBytes(b, 4, []byte(p.loss))
	if p.forwardOnly {
		b = appendVarint(b, 6, 1)
	}
	return b
}

// encode writes a Datum. Inputs are in the order of their names, so that a request that is sent again is the same.
func (r Row) encode() []byte {
	n := len(r.IDs) - 1
	chunk := appendBytes(nil, 1, encodeInt32(r.IDs[:n])) // EncodedTextChunk
	b := appendBytes(nil, 1, appendBytes(nil, 1, chunk))
	targets := make([]byte, 0, 8*n)
	for _, id := range r.IDs[1:] {
		targets = binary.LittleEndian.AppendUint64(targets, uint64(id))
	}
	tensors := map[string][]byte{"target_tokens": encodeTensor(targets, typeInt64, n)}
	names := []string{"target_tokens"}
	for name, x := range r.Inputs {
		tensors[name], names = encodeTensor(encodeFloat32(x), typeFloat32, len(x)), append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		b = appendBytes(b, 2, appendBytes(appendBytes(nil, 1, []byte(name)), 2, tensors[name]))
	}
	return b
}

// encodeTensor writes a Tensor of one dimension.
func encodeTensor(data []byte, dtype uint64, n int) []byte {
	b := appendVarint(appendBytes(nil, 1, data), 3, dtype)
	return appendBytes(b, 4, protowire.AppendVarint(nil, uint64(n)))
}

// passed is a ForwardBackwardOutput: the logprobs of each row, one for each of its IDs but the first.
type passed struct {
	logprobs [][]float32
	metrics  map[string]float64
}

// decodePassed reads a ForwardBackwardOutput.
func decodePassed(b []byte) (p passed, err error) {
	p.metrics = map[string]float64{}
	err = eachField(b, func(f field) error {
		switch f.number {
		case 2: // ArrayRecord
			return eachField(f.bytes, func(f field) error {
				if f.number != 2 {
					return nil
				}
				key, value, err := entry(f.bytes)
				if err != nil || key != "logprobs" {
					return err
				}
				rows, err := decodeBatched(value.bytes)
				p.logprobs = append(p.logprobs, rows...)
				return err
			})
		case 3:
			key, value, err := entry(f.bytes)
			p.metrics[key] = math.Float64frombits(value.scalar)
			return err
		}
		return nil
	})
	return p, err
}

// decodeBatched reads a BatchedTensor of numbers: the rows lie behind each other, cut at byte offsets.
func decodeBatched(b []byte) (rows [][]float32, err error) {
	var data []byte
	var offsets []int64
	dtype := uint64(0)
	if err := eachField(b, func(f field) error {
		switch f.number {
		case 1:
			data = f.bytes
		case 2:
			if len(f.bytes)%8 != 0 {
				return errors.New("offsets are cut short")
			}
			for i := 0; i < len(f.bytes); i += 8 {
				offsets = append(offsets, int64(binary.LittleEndian.Uint64(f.bytes[i:])))
			}
		case 3:
			dtype = f.scalar
		}
		return nil
	}); err != nil {
		return nil, err
	}
	for i := 1; i < len(offsets); i++ {
		from, to := offsets[i-1], offsets[i]
		if from < 0 || to < from || to > int64(len(data)) {
			return nil, fmt.Errorf("row %d is bytes %d to %d of %d", i, from, to, len(data))
		}
		row, err := decodeFloats(data[from:to], dtype)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func decodeFloats(b []byte, dtype uint64) ([]float32, error) {
	switch {
	case dtype == typeFloat32 && len(b)%4 == 0:
		return decodeFloat32(b), nil
	case dtype == typeBFloat16 && len(b)%2 == 0:
		x := make([]float32, len(b)/2)
		for i := range x {
			x[i] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(b[2*i:])) << 16)
		}
		return x, nil
	}
	return nil, fmt.Errorf("%d bytes of the type %d are no logprobs", len(b), dtype)
}

// sampled is a completion of a SampleResponse.
type sampled struct {
	stopped  bool // else its length ended it
	ids      []int32
	logprobs []float32 // nil where none are told
}

// decodeSampled reads a SampleResponse.
func decodeSampled(b []byte) (all []sampled, err error) {
	err = eachField(b, func(f field) error {
		if f.number != 1 {
			return nil
		}
		s := sampled{stopped: true} // the enum's zero
		err := eachField(f.bytes, func(f field) error {
			switch f.number {
			case 1:
				s.stopped = f.scalar == 0
			case 2:
				for i := 0; i+4 <= len(f.bytes); i += 4 {
					s.ids = append(s.ids, int32(binary.LittleEndian.Uint32(f.bytes[i:])))
				}
			case 3:
				s.logprobs = decodeFloat32(f.bytes)
			}
			return nil
		})
		all = append(all, s)
		return err
	})
	return all, err
}

// field is one of a message: bytes, or a number of any width.
type field struct {
	number protowire.Number
	bytes  []byte
	scalar uint64
}

// eachField reads a message.
func eachField(b []byte, do func(field) error) error {
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		f := field{number: number}
		switch kind {
		case protowire.BytesType:
			f.bytes, n = protowire.ConsumeBytes(b)
		case protowire.VarintType:
			f.scalar, n = protowire.ConsumeVarint(b)
		case protowire.Fixed64Type:
			f.scalar, n = protowire.ConsumeFixed64(b)
		default:
			n = protowire.ConsumeFieldValue(number, kind, b)
		}
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		if err := do(f); err != nil {
			return err
		}
	}
	return nil
}

// entry reads an entry of a map with names.
func entry(b []byte) (key string, value field, err error) {
	err = eachField(b, func(f field) error {
		switch f.number {
		case 1:
			key = string(f.bytes)
		case 2:
			value = f
		}
		return nil
	})
	return key, value, err
}

func appendBytes(b []byte, n protowire.Number, v []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, n, protowire.BytesType), v)
}

func appendVarint(b []byte, n protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, n, protowire.VarintType), v)
}

func encodeInt32(x []int32) []byte {
	b := make([]byte, 0, 4*len(x))
	for _, v := range x {
		b = binary.LittleEndian.AppendUint32(b, uint32(v))
	}
	return b
}

func encodeFloat32(x []float32) []byte {
	b := make([]byte, 0, 4*len(x))
	for _, v := range x {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

func decodeFloat32(b []byte) []float32 {
	x := make([]float32, len(b)/4)
	for i := range x {
		x[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return x
}
