package modelfile

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"unsafe"
)

// Safetensors is an open file of the safetensors format: the header's length (8 bytes, little endian), the header as
// JSON, the tensors' bytes without gaps.
type Safetensors struct {
	path    string
	mapped  []byte
	body    []byte
	entries map[string]entry
}

type entry struct {
	DType   string   `json:"dtype"`
	Shape   []int    `json:"shape"`
	Offsets [2]int64 `json:"data_offsets"`
}

// maxHeader is the format's own bound on the header.
const maxHeader = 100 << 20

// widths are bytes of a value, of the types that are read.
var widths = map[string]int64{"F32": 4, "BF16": 2, "F16": 2}

// OpenSafetensors maps a file into memory and checks its header against its size: of tensors that overlap, leave
// holes or do not fit, none is ever read. Errors name the tensor.
func OpenSafetensors(path string) (*Safetensors, error) {
	mapped, err := mapFile(path)
	if err != nil {
		return nil, err
	}
	f := &Safetensors{path: path, mapped: mapped}
	if err := f.parse(); err != nil {
		return nil, errors.Join(err, unmap(mapped))
	}
	return f, nil
}

// Close unmaps the file; tensors read from it must no longer be used.
func (f *Safetensors) Close() error { return unmap(f.mapped) }

func (f *Safetensors) parse() error {
	data := f.mapped
	if len(data) < 8 {
		return fmt.Errorf("%d bytes are too short for a safetensors file", len(data))
	}
	n := binary.LittleEndian.Uint64(data)
	if n > maxHeader || n > uint64(len(data)-8) {
		return fmt.Errorf("its header claims %d bytes of a file of %d", n, len(data))
	}
	var header map[string]json.RawMessage
	if err := json.Unmarshal(data[8:8+n], &header); err != nil {
		return fmt.Errorf("its header is not JSON: %w", err)
	}
	if header == nil {
		return errors.New("its header is not JSON of an object")
	}
	f.body = data[8+n:]
	f.entries = map[string]entry{}
	for name, raw := range header {
		if name == "__metadata__" {
			continue
		}
		var e entry
		if err := json.Unmarshal(raw, &e); err != nil {
			return fmt.Errorf("tensor %s: %w", name, err)
		}
		if err := e.check(int64(len(f.body))); err != nil {
			return fmt.Errorf("tensor %s: %w", name, err)
		}
		f.entries[name] = e
	}
	return f.contiguous()
}

func (e entry) check(body int64) error {
	width, ok := widths[e.DType]
	if !ok {
		return fmt.Errorf("it is stored as %q; read are F32, BF16 and F16", e.DType)
	}
	size := width
	for _, d := range e.Shape {
		if d < 1 || int64(d) > body/size {
			return fmt.Errorf("its shape %v does not fit %d bytes of data", e.Shape, body)
		}
		size *= int64(d)
	}
	start, end := e.Offsets[0], e.Offsets[1]
	if len(e.Shape) == 0 || start < 0 || end > body || end-start != size {
		return fmt.Errorf("bytes %d to %d of %d are no %s tensor of shape %v", start, end, body, e.DType, e.Shape)
	}
	return nil
}

// contiguous checks what the format demands: the tensors fill the data, without holes or overlaps.
func (f *Safetensors) contiguous() error {
	var end int64
	for _, name := range f.Names() {
		e := f.entries[name]
		if e.Offsets[0] != end {
			return fmt.Errorf("tensor %s overlaps another or leaves a hole at byte %d of the data",
				name, min(end, e.Offsets[0]))
		}
		end = e.Offsets[1]
	}
	if end != int64(len(f.body)) {
		return fmt.Errorf("its tensors fill %d bytes of data, the file holds %d", end, len(f.body))
	}
	return nil
}

// Names lists the tensors in the order of their bytes.
func (f *Safetensors) Names() []string {
	names := make([]string, 0, len(f.entries))
	for name := range f.entries {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(f.entries[a].Offsets[0], f.entries[b].Offsets[0]), cmp.Compare(a, b))
	})
	return names
}

// DType names the type a tensor is stored as; empty where there is no such tensor.
func (f *Safetensors) DType(name string) string { return f.entries[name].DType }

// Tensor reads a tensor as float32, row-major, with its dimensions. It is valid until Close and must not be changed:
// what the file stores as float32 is not copied.
func (f *Safetensors) Tensor(name string) ([]float32, []int, error) {
	e, ok := f.entries[name]
	if !ok {
		return nil, nil, fmt.Errorf("the file does not hold it")
	}
	return floats(f.raw(name), e.DType), slices.Clone(e.Shape), nil
}

// raw are the bytes of a tensor that is there.
func (f *Safetensors) raw(name string) []byte {
	e := f.entries[name]
	return f.body[e.Offsets[0]:e.Offsets[1]]
}

// BF16 is Model.BF16.
func (f *Safetensors) BF16(name string) (bits []uint16, dims []int, ok bool) {
	e, ok := f.entries[name]
	if !ok || e.DType != "BF16" {
		return nil, nil, false
	}
	bits, ok = halves(f.body[e.Offsets[0]:e.Offsets[1]])
	return bits, slices.Clone(e.Shape), ok
}

// halves are the bits as they lie; ok is false where this machine cannot read them so.
func halves(raw []byte) (bits []uint16, ok bool) {
	p := unsafe.Pointer(unsafe.SliceData(raw))
	if !littleEndian() || uintptr(p)%2 != 0 {
		return nil, false
	}
	return unsafe.Slice((*uint16)(p), len(raw)/2), true
}

// Rows reads some rows of a matrix as float32.
func (f *Safetensors) Rows(name string, ids []int) ([][]float32, error) {
	e := f.entries[name]
	if len(e.Shape) != 2 {
		return nil, fmt.Errorf("its shape %v is not that of a matrix", e.Shape)
	}
	rows, width := make([][]float32, len(ids)), int64(e.Shape[1])*widths[e.DType]
	for i, id := range ids {
		if id < 0 || id >= e.Shape[0] {
			return nil, fmt.Errorf("it has %d rows, and none of number %d", e.Shape[0], id)
		}
		start := e.Offsets[0] + int64(id)*width
		rows[i] = floats(f.body[start:start+width], e.DType)
	}
	return rows, nil
}

// floats decodes little-endian values.
func floats(raw []byte, dtype string) []float32 {
	if dtype == "F32" {
		if p := unsafe.Pointer(unsafe.SliceData(raw)); littleEndian() && uintptr(p)%4 == 0 {
			return unsafe.Slice((*float32)(p), len(raw)/4)
		}
	}
	out := make([]float32, int64(len(raw))/widths[dtype])
	switch dtype {
	case "F32":
		for i := range out {
			out[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
		}
	case "BF16":
		for i := range out {
			out[i] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(raw[2*i:])) << 16)
		}
	case "F16":
		for i := range out {
			out[i] = fromHalf(binary.LittleEndian.Uint16(raw[2*i:]))
		}
	}
	return out
}

func littleEndian() bool {
	one := uint16(1)
	return *(*byte)(unsafe.Pointer(&one)) == 1
}

// fromHalf decodes IEEE 754 binary16.
func fromHalf(h uint16) float32 {
	sign := uint32(h>>15) << 31
	exponent, fraction := uint32(h>>10)&31, uint32(h)&1023
	switch exponent {
	case 0: // zero or subnormal: the fraction in units of 2^-24
		return math.Float32frombits(math.Float32bits(float32(fraction)/(1<<24)) | sign)
	case 31: // infinity or not a number
		return math.Float32frombits(sign | 255<<23 | fraction<<13)
	}
	return math.Float32frombits(sign | (exponent+112)<<23 | fraction<<13)
}
