package modelfile

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/gomlx/go-huggingface/models/gguf"

	"hone/internal/fault"
)

// ggufFile is a model in llama.cpp's format. Its tensors are those of Hugging Face under other names, with three things
// done to them: rows of queries and keys are reordered in llama's family, Gemma's norms hold 1 + weight, and most are
// stored in blocks of few bits. All is undone here.
type ggufFile struct {
	path    string
	header  *gguf.File
	mapped  []byte
	infos   map[string]gguf.TensorInfo
	config  map[string]any    // what config.json would say
	theirs  map[string]string // GGUF's names by Hugging Face's
	permute bool
	offset  bool // norms hold 1 + weight
}

func (f *ggufFile) close() error { return unmap(f.mapped) }

func (f *ggufFile) names() []string { return slices.Sorted(maps.Keys(f.theirs)) }

// dtype is F32 for all: what a file stores in less is dequantised to that.
func (f *ggufFile) dtype(string) string { return "F32" }

func openGGUF(path string) (*Model, error) {
	bad := func(why string, err error) error {
		return &fault.Error{Code: fault.CodeUsage, What: "cannot read the base model", Where: path, Why: why, Err: err,
			Next: "fetch it again, or name another with --base-model"}
	}
	info, err := os.Stat(path)
	if err != nil || info.Size() < 32 {
		return nil, bad("the file is empty or missing", err)
	}
	header, err := gguf.Open(path)
	if err != nil {
		return nil, bad("not a valid GGUF file", err)
	}
	if cut := cutOff(header, uint64(info.Size())); cut != "" {
		return nil, bad("it is not whole: "+cut, nil)
	}
	f := &ggufFile{path: path, header: header, infos: map[string]gguf.TensorInfo{}}
	for _, t := range header.TensorInfos {
		f.infos[t.Name] = t
	}
	m := &Model{Path: path, source: f}
	if f.mapped, err = mapFile(path); err != nil {
		return nil, bad("", err)
	}
	if err = f.read(m); err != nil {
		return nil, bad("", errors.Join(err, f.close()))
	}
	return m, nil
}

// read fills in what the header says.
func (f *ggufFile) read(m *Model) error {
	var err error
	if m.Vocabulary, err = f.vocabulary(); err != nil {
		return err
	}
	if f.config, err = f.readConfig(len(m.Vocabulary.Tokens)); err != nil {
		return err
	}
	if m.Config, err = parseConfig(f.config); err != nil {
		return err
	}
	if kv, ok := f.header.GetKeyValue("general.name"); ok {
		m.Config.Name, _ = kv.Value.Raw().(string)
	}
	// Biases of queries and keys are reordered as their rows are.
	f.permute = m.Config.Architecture == "llama" || m.Config.Architecture == "smollm3"
	f.offset = m.Config.NormOffset
	f.nameTensors(m.Config)
	return nil
}

// cutOff says which tensor the file ends before the end of, as one does whose download broke off; empty where none is.
// One of more bytes than the whole file is another mistake, which raw says.
func cutOff(header *gguf.File, size uint64) string {
	for _, t := range header.TensorInfos {
		bytes, start := uint64(t.NumBytes()), uint64(header.DataOffset())+t.Offset
		if bytes <= size && (start > size || start+bytes > size) {
			return fmt.Sprintf("it has %d bytes, and the tensor %s ends at byte %d", size, t.Name, start+bytes)
		}
	}
	return ""
}

// ggufNames are Hugging Face's names of the parts of a layer by GGUF's.
func ggufNames(c Config) map[string]string {
	names := map[string]string{
		"attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm",
		"attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
		"attn_output": "self_attn.o_proj", "attn_q_norm": "self_attn.q_norm", "attn_k_norm": "self_attn.k_norm",
		"ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj",
	}
	if c.PostNorms {
		names["ffn_norm"] = "pre_feedforward_layernorm"
		names["post_attention_norm"], names["post_ffw_norm"] = "post_attention_layernorm", "post_feedforward_layernorm"
	}
	if c.FusedLinears {
		names["attn_qkv"], names["ffn_up"] = "self_attn.qkv_proj", "mlp.gate_up_proj"
	}
	return names
}

// nameTensors lists the tensors by Hugging Face's names, and by their own those that have none; those that the
// configuration was made of are left out.
func (f *ggufFile) nameTensors(c Config) {
	parts := ggufNames(c)
	whole := map[string]string{"token_embd.weight": "model.embed_tokens.weight", "output.weight": "lm_head.weight",
		"output_norm.weight": "model.norm.weight"}
	f.theirs = map[string]string{}
	for name := range f.infos {
		rest, isLayer := strings.CutPrefix(name, "blk.")
		layer, part, _ := strings.Cut(rest, ".")
		dot := strings.LastIndexByte(part, '.')
		ours := name
		if _, err := strconv.Atoi(layer); isLayer && err == nil && dot > 0 && parts[part[:dot]] != "" {
			ours = "model.layers." + layer + "." + parts[part[:dot]] + part[dot:]
		} else if whole[name] != "" {
			ours = whole[name]
		}
		if !slices.Contains(ropeTensors(), name) {
			f.theirs[ours] = name
		}
	}
	if head := f.theirs["lm_head.weight"]; head != "" && c.TiedHead { // the embedding, which alone may have fewer bits
		f.theirs["model.embed_tokens.weight"] = head
		delete(f.theirs, "lm_head.weight")
	}
}

// raw is a tensor's bytes with its type and dimensions. It refuses one whose header cannot be true of the file.
func (f *ggufFile) raw(theirs string) ([]byte, gguf.TensorType, []int, error) {
	info, ok := f.infos[theirs]
	if !ok {
		return nil, 0, nil, errors.New("the file does not hold it")
	}
	q, ok := quantOf(info.Type)
	if !ok {
		return nil, 0, nil, fmt.Errorf("it is stored as %s, which is not supported", info.Type)
	}
	size, numbers := uint64(len(f.mapped)), uint64(1)
	var dims []int
	for _, d := range info.Shape {
		if d < 1 || d > size*8/numbers { // no format stores a weight in less than a bit
			return nil, 0, nil, fmt.Errorf("its shape %v does not fit a file of %d bytes", info.Shape, size)
		}
		numbers *= d
		dims = append(dims, int(d))
	}
	if len(dims) == 0 || dims[0]%q.numbers != 0 {
		return nil, 0, nil, fmt.Errorf("its shape %v is not one of blocks of %d", info.Shape, q.numbers)
	}
	slices.Reverse(dims)
	bytes := numbers / uint64(q.numbers) * uint64(q.bytes)
	start := uint64(f.header.DataOffset())
	if start > size || info.Offset > size-start || bytes > size-start-info.Offset {
		return nil, 0, nil, fmt.Errorf("its shape %v does not fit a file of %d bytes", info.Shape, size)
	}
	start += info.Offset
	return f.mapped[start : start+bytes], info.Type, dims, nil
}

// numbers reads a tensor by GGUF's name as it stands.
func (f *ggufFile) numbers(theirs string) ([]float32, []int, error) {
	raw, kind, dims, err := f.raw(theirs)
	if err != nil {
		return nil, nil, err
	}
	q, _ := quantOf(kind)
	return q.decode(kind, raw), dims, nil
}

func (f *ggufFile) tensor(c Config, name string) ([]float32, []int, error) {
	flat, dims, err := f.numbers(f.theirs[name])
	if err == nil {
		if heads := f.headsToPermute(c, name); heads > 0 {
			flat, err = unpermute(flat, dims, heads, c.HeadDim)
		}
	}
	if err != nil {
		return nil, nil, tensorFault(f.path, name, err)
	}
	if f.offset && strings.HasSuffix(name, "norm.weight") {
		flat = slices.Clone(flat)
		for i := range flat {
			flat[i]--
		}
	}
	return flat, dims, nil
}

// rows reads some rows of a matrix, which are not reordered.
func (f *ggufFile) rows(c Config, name string, ids []int) ([][]float32, error) {
	if f.headsToPermute(c, name) > 0 {
		return nil, tensorFault(f.path, name, errors.New("its rows are reordered"))
	}
	rows, err := f.rowsOf(f.theirs[name], ids)
	if err != nil {
		return nil, tensorFault(f.path, name, err)
	}
	return rows, nil
}

func (f *ggufFile) rowsOf(theirs string, ids []int) ([][]float32, error) {
	raw, kind, dims, err := f.raw(theirs)
	if err != nil {
		return nil, err
	}
	if len(dims) != 2 {
		return nil, fmt.Errorf("its shape %v is not that of a matrix", dims)
	}
	q, _ := quantOf(kind)
	width := len(raw) / dims[0]
	rows := make([][]float32, len(ids))
	for i, id := range ids {
		if id < 0 || id >= dims[0] {
			return nil, fmt.Errorf("it has %d rows, and none of number %d", dims[0], id)
		}
		rows[i] = q.decode(kind, raw[id*width:(id+1)*width])
	}
	return rows, nil
}

// bf16 is for what nothing is done to.
func (f *ggufFile) bf16(c Config, name string) ([]uint16, []int, bool) {
	raw, kind, dims, err := f.raw(f.theirs[name])
	changed := f.headsToPermute(c, name) > 0 || f.offset && strings.HasSuffix(name, "norm.weight")
	if err != nil || kind != gguf.TensorTypeBF16 || changed {
		return nil, nil, false
	}
	bits, ok := halves(raw)
	return bits, dims, ok
}

// headsToPermute is how many heads a tensor has whose rows are reordered; 0 for others.
func (f *ggufFile) headsToPermute(c Config, name string) int {
	switch {
	case !f.permute:
	case strings.Contains(name, ".q_proj."):
		return c.NumHeads
	case strings.Contains(name, ".k_proj."):
		return c.NumKVHeads
	}
	return 0
}

// unpermute undoes what llama.cpp's converter does to q and k of llama models: it stores each head's rows as
// (pair, half) where Hugging Face's rotary embedding wants (half, pair).
func unpermute(flat []float32, dims []int, numHeads, headDim int) ([]float32, error) {
	if dims[0] != numHeads*headDim || len(dims) > 2 {
		return nil, fmt.Errorf("its shape %v is not that of %d rows", dims, numHeads*headDim)
	}
	out := make([]float32, len(flat))
	half, width := headDim/2, len(flat)/dims[0]
	for h := range numHeads {
		for pair := range half {
			for side := range 2 {
				from := (h*headDim + pair*2 + side) * width
				to := (h*headDim + side*half + pair) * width
				copy(out[to:to+width], flat[from:from+width])
			}
		}
	}
	return out, nil
}

// sameRows reports whether two matrices are one, each rounded its own way: whether rows spread over them point the same
// way. Even blocks of two bits keep a cosine of 0.95; an embedding and a head of its own have one near 0.
func (f *ggufFile) sameRows(a, b string) bool {
	_, _, dims, err := f.raw(a)
	_, _, others, otherErr := f.raw(b)
	if err != nil || otherErr != nil || len(dims) != 2 || !slices.Equal(dims, others) {
		return false
	}
	var ids []int
	for i := range 64 {
		ids = append(ids, i*dims[0]/64)
	}
	x, err := f.rowsOf(a, ids)
	y, otherErr := f.rowsOf(b, ids)
	if err != nil || otherErr != nil {
		return false
	}
	var xy, xx, yy float64
	for i, row := range x {
		for j, v := range row {
			w := y[i][j]
			xy, xx, yy = xy+float64(v)*float64(w), xx+float64(v)*float64(v), yy+float64(w)*float64(w)
		}
	}
	return xy > 0.9*math.Sqrt(xx*yy)
}
