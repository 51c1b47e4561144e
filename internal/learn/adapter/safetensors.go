package adapter

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
)

// Tensor is a matrix of float32, row-major.
type Tensor struct {
	Name       string
	Rows, Cols int
	Data       []float32
}

type safetensorsEntry struct {
	DType   string   `json:"dtype"`
	Shape   []int    `json:"shape"`
	Offsets [2]int64 `json:"data_offsets"`
}

// maxHeader is the format's own bound on the header.
const maxHeader = 100 << 20

// WriteSafetensors writes tensors in the safetensors format: the header's length (8 bytes, little endian), the header
// as JSON, the data without gaps.
func WriteSafetensors(path string, tensors []Tensor, metadata map[string]string) error {
	header := map[string]any{}
	if len(metadata) > 0 {
		header["__metadata__"] = metadata
	}
	var size int64
	for _, t := range tensors {
		if len(t.Data) == 0 || len(t.Data) != t.Rows*t.Cols {
			return fmt.Errorf("tensor %s: %d values are no %dx%d matrix", t.Name, len(t.Data), t.Rows, t.Cols)
		}
		end := size + int64(len(t.Data))*4
		header[t.Name] = safetensorsEntry{"F32", []int{t.Rows, t.Cols}, [2]int64{size, end}}
		size = end
	}
	text, err := json.Marshal(header)
	if err != nil {
		return err
	}
	for len(text)%8 != 0 {
		text = append(text, ' ') // the data begins at a multiple of 8
	}
	out := make([]byte, 0, 8+int64(len(text))+size)
	out = binary.LittleEndian.AppendUint64(out, uint64(len(text)))
	out = append(out, text...)
	for _, t := range tensors {
		for _, x := range t.Data {
			out = binary.LittleEndian.AppendUint32(out, math.Float32bits(x))
		}
	}
	return os.WriteFile(path, out, 0o644)
}

// ReadSafetensors reads a file of float32 matrices. Errors name the tensor.
func ReadSafetensors(path string) (map[string]Tensor, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return parse(data)
}

func parse(data []byte) (map[string]Tensor, error) {
	if len(data) < 8 {
		return nil, fmt.Errorf("%d bytes are too short for a safetensors file", len(data))
	}
	n := binary.LittleEndian.Uint64(data)
	if n > maxHeader || n > uint64(len(data)-8) {
		return nil, fmt.Errorf("its header claims %d bytes of a file of %d", n, len(data))
	}
	var header map[string]json.RawMessage
	if err := json.Unmarshal(data[8:8+n], &header); err != nil {
		return nil, fmt.Errorf("its header is not JSON: %w", err)
	}
	if header == nil {
		return nil, errors.New("its header is not JSON of an object")
	}
	body := data[8+n:]
	tensors := map[string]Tensor{}
	var entries []safetensorsEntry
	for name, raw := range header {
		if name == "__metadata__" {
			continue
		}
		var e safetensorsEntry
		if err := json.Unmarshal(raw, &e); err != nil {
			return nil, fmt.Errorf("tensor %s: %w", name, err)
		}
		t, err := e.read(body)
		if err != nil {
			return nil, fmt.Errorf("tensor %s: %w", name, err)
		}
		t.Name = name
		tensors[name] = t
		entries = append(entries, e)
	}
	if err := contiguous(entries, int64(len(body))); err != nil {
		return nil, err
	}
	return tensors, nil
}

// contiguous checks what the format demands: the tensors fill the data, without holes or overlaps.
func contiguous(entries []safetensorsEntry, size int64) error {
	slices.SortFunc(entries, func(a, b safetensorsEntry) int { return cmp.Compare(a.Offsets[0], b.Offsets[0]) })
	var end int64
	for _, e := range entries {
		if e.Offsets[0] != end {
			return fmt.Errorf("its tensors overlap or leave a hole at byte %d of the data", min(end, e.Offsets[0]))
		}
		end = e.Offsets[1]
	}
	if end != size {
		return fmt.Errorf("its tensors fill %d bytes of data, the file holds %d", end, size)
	}
	return nil
}

func (e safetensorsEntry) read(body []byte) (Tensor, error) {
	if e.DType != "F32" {
		return Tensor{}, fmt.Errorf("it is stored as %s, not F32", e.DType)
	}
	if len(e.Shape) == 0 || len(e.Shape) > 2 || slices.Min(e.Shape) < 1 || slices.Max(e.Shape) > 1<<30 {
		return Tensor{}, fmt.Errorf("its shape %v is not a matrix", e.Shape)
	}
	t := Tensor{Rows: 1, Cols: e.Shape[len(e.Shape)-1]}
	if len(e.Shape) == 2 {
		t.Rows = e.Shape[0]
	}
	start, end := e.Offsets[0], e.Offsets[1]
	if start < 0 || end < start || end > int64(len(body)) || end-start != int64(t.Rows)*int64(t.Cols)*4 {
		return Tensor{}, fmt.Errorf("bytes %d to %d do not hold its shape %v", start, end, e.Shape)
	}
	t.Data = make([]float32, t.Rows*t.Cols)
	for i := range t.Data {
		t.Data[i] = math.Float32frombits(binary.LittleEndian.Uint32(body[start+int64(i)*4:]))
	}
	return t, nil
}
