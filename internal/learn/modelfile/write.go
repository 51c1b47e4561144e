package modelfile

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"

	"hone/internal/blob"
)

// NewTensor is a tensor to be written: its values are read when it is their turn, so that one exists at a time.
type NewTensor struct {
	Name  string
	DType string // F32, BF16 or F16
	Dims  []int
	Read  func() ([]float32, error) // row-major
}

func (t NewTensor) numValues() int64 {
	n := int64(1)
	for _, d := range t.Dims {
		n *= int64(d)
	}
	return n
}

func (t NewTensor) size() int64 { return t.numValues() * widths[t.DType] }

// WriteSafetensors writes tensors in the safetensors format. What exists at path is replaced once all is written.
func WriteSafetensors(path string, tensors []NewTensor, metadata map[string]string) error {
	header := map[string]any{}
	if len(metadata) > 0 {
		header["__metadata__"] = metadata
	}
	var size int64
	for _, t := range tensors {
		if _, ok := widths[t.DType]; !ok {
			return fmt.Errorf("tensor %s: the type %q is not written", t.Name, t.DType)
		}
		if header[t.Name] != nil {
			return fmt.Errorf("tensor %s is there twice", t.Name)
		}
		header[t.Name] = entry{t.DType, t.Dims, [2]int64{size, size + t.size()}}
		size += t.size()
	}
	text, err := json.Marshal(header)
	if err != nil {
		return err
	}
	for len(text)%8 != 0 {
		text = append(text, ' ') // the data begins at a multiple of 8
	}
	return blob.WriteFrom(path, 0o666, func(out io.Writer) error {
		w := bufio.NewWriterSize(out, 1<<20)
		// the writer keeps its first error for Flush
		_, _ = w.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(text))))
		_, _ = w.Write(text)
		for _, t := range tensors {
			if err := t.write(w); err != nil {
				return fmt.Errorf("tensor %s: %w", t.Name, err)
			}
		}
		return w.Flush()
	})
}

func (t NewTensor) write(w *bufio.Writer) error {
	flat, err := t.Read()
	if err != nil {
		return err
	}
	if int64(len(flat)) != t.numValues() {
		return fmt.Errorf("%d values are no tensor of shape %v", len(flat), t.Dims)
	}
	var b []byte
	for _, x := range flat {
		switch bits := math.Float32bits(x); t.DType {
		case "F32":
			b = binary.LittleEndian.AppendUint32(b[:0], bits)
		case "BF16":
			b = binary.LittleEndian.AppendUint16(b[:0], toBrain(bits))
		default:
			b = binary.LittleEndian.AppendUint16(b[:0], toHalf(x))
		}
		if _, err := w.Write(b); err != nil {
			return err
		}
	}
	return nil
}

// toBrain rounds to bfloat16, halves to even.
func toBrain(bits uint32) uint16 {
	if bits&0x7fffffff > 0x7f800000 {
		return uint16(bits>>16) | 0x40 // not a number, and quiet
	}
	return uint16((bits + 0x7fff + bits>>16&1) >> 16)
}

// toHalf rounds to IEEE 754 binary16, halves to even.
func toHalf(x float32) uint16 {
	bits := math.Float32bits(x)
	sign := uint16(bits >> 16 & 0x8000)
	magnitude := bits & 0x7fffffff
	switch {
	case magnitude > 0x7f800000:
		return sign | 0x7e00
	case magnitude >= 0x477ff000: // rounds to 65536 or more
		return sign | 0x7c00
	case magnitude < 0x38800000: // subnormal: in units of 2^-24
		return sign | uint16(math.RoundToEven(math.Abs(float64(x))*(1<<24)))
	}
	rounded := magnitude + 0xfff + magnitude>>13&1
	return sign | uint16((rounded-0x38000000)>>13)
}
