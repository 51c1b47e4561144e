package modelfile

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/gomlx/go-huggingface/models/gguf"

	"hone/internal/fault"
)

type ggufFile struct {
	path   string
	header *gguf.File
	reader *gguf.Reader
}

func (f *ggufFile) close() error { return f.reader.Close() }

// names lists the tensors by Hugging Face's names, and by their own those that have none.
func (f *ggufFile) names() []string {
	parts := map[string]string{}
	for theirs, ours := range ggufNames {
		parts[ours] = theirs
	}
	whole := map[string]string{"token_embd.weight": "model.embed_tokens.weight", "output_norm.weight": "model.norm.weight",
		"output.weight": "lm_head.weight"}
	var names []string
	for _, t := range f.header.TensorInfos {
		name := t.Name
		rest, isLayer := strings.CutPrefix(name, "blk.")
		layer, part, _ := strings.Cut(rest, ".")
		if theirs := parts[strings.TrimSuffix(part, ".weight")]; isLayer && theirs != "" {
			name = "model.layers." + layer + "." + theirs + ".weight"
		} else if theirs := whole[name]; theirs != "" {
			name = theirs
		}
		names = append(names, name)
	}
	return names
}

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
	if a := header.Architecture(); a != "llama" {
		return nil, bad(fmt.Sprintf("its architecture is %q; only %q is supported", a, "llama"), nil)
	}
	if cut := cutOff(header, uint64(info.Size())); cut != "" {
		return nil, bad("it is not whole: "+cut, nil)
	}
	f := &ggufFile{path: path, header: header}
	config, err := f.config()
	if err != nil {
		return nil, bad("", err)
	}
	m := &Model{Path: path, Config: config, source: f}
	if m.Vocabulary, err = f.vocabulary(); err != nil {
		return nil, bad("", err)
	}
	if f.reader, err = gguf.NewReader(header); err != nil {
		return nil, bad("", err)
	}
	return m, nil
}

// cutOff says which tensor the file ends before the end of, as one does whose download broke off; empty where none is. One of
// more bytes than the whole file is another mistake, which check says.
func cutOff(header *gguf.File, size uint64) string {
	for _, t := range header.TensorInfos {
		bytes, start := uint64(t.NumBytes()), uint64(header.DataOffset())+t.Offset
		if bytes <= size && (start > size || start+bytes > size) {
			return fmt.Sprintf("it has %d bytes, and the tensor %s ends at byte %d", size, t.Name, start+bytes)
		}
	}
	return ""
}

func (f *ggufFile) config() (Config, error) {
	var missing []string
	number := func(key string) float64 {
		kv, ok := f.header.GetKeyValue(key)
		if !ok {
			missing = append(missing, key)
			return 0
		}
		switch v := kv.Value.Raw().(type) {
		case float32, float64:
			return kv.Float64()
		case nil:
			return 0
		default:
			_ = v
			return float64(kv.Int64())
		}
	}
	c := Config{
		Architecture: "llama",
		NumLayers:    int(number("llama.block_count")),
		Hidden:       int(number("llama.embedding_length")),
		Intermediate: int(number("llama.feed_forward_length")),
		NumHeads:     int(number("llama.attention.head_count")),
		NumKVHeads:   int(number("llama.attention.head_count_kv")),
		VocabSize:    int(number("llama.vocab_size")),
		MaxContext:   int(number("llama.context_length")),
		Rope:         Rope{Theta: number("llama.rope.freq_base")},
		NormEps:      number("llama.attention.layer_norm_rms_epsilon"),
	}
	if len(missing) > 0 {
		return c, fmt.Errorf("the file does not say %s", strings.Join(missing, ", "))
	}
	if c.NumHeads > 0 && c.Hidden%c.NumHeads != 0 {
		return c, fmt.Errorf("%d heads do not divide a width of %d", c.NumHeads, c.Hidden)
	}
	c.HeadDim = c.Hidden / max(c.NumHeads, 1)
	if err := c.validate(); err != nil {
		return c, err
	}
	if kv, ok := f.header.GetKeyValue("general.name"); ok {
		c.Name, _ = kv.Value.Raw().(string)
	}
	if _, ok := f.header.GetKeyValue("llama.rope.scaling.type"); ok {
		return c, fmt.Errorf("it uses rope scaling, which is not supported")
	}
	_, hasHead := f.header.GetTensorInfo("output.weight")
	c.TiedHead = !hasHead
	return c, nil
}

func (f *ggufFile) vocabulary() (Vocabulary, error) {
	var v Vocabulary
	text := func(key string) string {
		kv, _ := f.header.GetKeyValue(key)
		s, _ := kv.Value.Raw().(string)
		return s
	}
	id := func(key string) int32 {
		kv, ok := f.header.GetKeyValue(key)
		if !ok {
			return -1
		}
		return int32(kv.Int64())
	}
	flag := func(key string, usual bool) bool {
		if kv, ok := f.header.GetKeyValue(key); ok {
			return kv.Bool()
		}
		return usual
	}
	v.Model, v.PreTokenizer = text("tokenizer.ggml.model"), text("tokenizer.ggml.pre")
	v.ChatTemplate = text("tokenizer.chat_template")
	v.BOS, v.EOS = id("tokenizer.ggml.bos_token_id"), id("tokenizer.ggml.eos_token_id")
	if kv, ok := f.header.GetKeyValue("tokenizer.ggml.tokens"); ok {
		v.Tokens = kv.Strings()
	}
	if kv, ok := f.header.GetKeyValue("tokenizer.ggml.merges"); ok {
		v.Merges = kv.Strings()
	}
	if kv, ok := f.header.GetKeyValue("tokenizer.ggml.token_type"); ok {
		for _, t := range kv.Int64s() {
			v.TokenTypes = append(v.TokenTypes, int32(t))
		}
	}
	if kv, ok := f.header.GetKeyValue("tokenizer.ggml.scores"); ok {
		for _, s := range kv.Float64s() {
			v.Scores = append(v.Scores, float32(s))
		}
	}
	v.AddBOS, v.AddEOS = flag("tokenizer.ggml.add_bos_token", v.addsBOS()), flag("tokenizer.ggml.add_eos_token", false)
	v.NoSpacePrefix = !flag("tokenizer.ggml.add_space_prefix", true)
	return v, v.complete()
}

// addsBOS is what llama.cpp takes for granted where a file does not say whether a text begins with BOS.
func (v Vocabulary) addsBOS() bool {
	switch v.PreTokenizer {
	case "llama3", "llama-v3", "llama-bpe", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2", "tekken":
		return v.Model == "gpt2"
	}
	return v.Model == "llama"
}

// complete names the first key that a vocabulary of its kind cannot do without.
func (v Vocabulary) complete() error {
	missing := ""
	switch {
	case v.Model == "":
		missing = "model"
	case len(v.Tokens) == 0:
		missing = "tokens"
	case v.Model == "gpt2" && len(v.Merges) == 0:
		missing = "merges"
	case v.Model == "gpt2" && v.PreTokenizer == "":
		missing = "pre, how it splits text"
	case v.Model == "llama" && len(v.Scores) == 0:
		missing = "scores"
	default:
		return nil
	}
	return fmt.Errorf("its vocabulary lacks tokenizer.ggml.%s", missing)
}

// ggufNames maps Hugging Face's tensor names inside a layer to GGUF's.
var ggufNames = map[string]string{
	"input_layernorm":          "attn_norm",
	"self_attn.q_proj":         "attn_q",
	"self_attn.k_proj":         "attn_k",
	"self_attn.v_proj":         "attn_v",
	"self_attn.o_proj":         "attn_output",
	"post_attention_layernorm": "ffn_norm",
	"mlp.gate_proj":            "ffn_gate",
	"mlp.up_proj":              "ffn_up",
	"mlp.down_proj":            "ffn_down",
}

func ggufName(name string) string {
	switch name {
	case "model.embed_tokens.weight":
		return "token_embd.weight"
	case "model.norm.weight":
		return "output_norm.weight"
	case "lm_head.weight":
		return "output.weight"
	}
	rest, _ := strings.CutPrefix(name, "model.layers.")
	layer, part, _ := strings.Cut(rest, ".")
	if _, err := strconv.Atoi(layer); err != nil {
		return ""
	}
	if g, ok := ggufNames[strings.TrimSuffix(part, ".weight")]; ok {
		return "blk." + layer + "." + g + ".weight"
	}
	return ""
}

func (f *ggufFile) bf16(string) ([]uint16, []int, bool) { return nil, nil, false } // tensors are permuted, and few are bfloat16

func (f *ggufFile) tensor(c Config, name string) ([]float32, []int, error) {
	bad := func(err error) error { return tensorFault(f.path, name, err) }
	if err := f.check(c, name); err != nil {
		return nil, nil, bad(err)
	}
	t, err := f.reader.ReadTensor(nil, ggufName(name))
	if err != nil {
		return nil, nil, bad(err)
	}
	dims := t.Shape().Dimensions
	var flat []float32
	if err := t.ConstFlatData(func(data any) {
		if x, ok := data.([]float32); ok {
			flat = append(flat, x...)
		}
	}); err != nil {
		return nil, nil, bad(err)
	}
	t.FinalizeAll()
	if flat == nil {
		return nil, nil, bad(fmt.Errorf("it is stored as %s, which is not supported", t.Shape().DType))
	}
	switch {
	case strings.HasSuffix(name, "q_proj.weight"):
		flat = unpermute(flat, c.NumHeads, c.HeadDim, dims[1])
	case strings.HasSuffix(name, "k_proj.weight"):
		flat = unpermute(flat, c.NumKVHeads, c.HeadDim, dims[1])
	}
	return flat, dims, nil
}

// check refuses a tensor whose header would make the reader panic or allocate more than the file can hold.
func (f *ggufFile) check(c Config, name string) error {
	info, ok := f.header.GetTensorInfo(ggufName(name))
	if !ok {
		return fmt.Errorf("the file does not hold it")
	}
	file, err := os.Stat(f.path)
	if err != nil {
		return err
	}
	size := uint64(1)
	for _, d := range info.Shape {
		if d < 1 || d > uint64(file.Size())*8/size { // no format stores a weight in less than a bit
			return fmt.Errorf("its shape %v does not fit a file of %d bytes", info.Shape, file.Size())
		}
		size *= d
	}
	var rows int
	switch {
	case strings.HasSuffix(name, "q_proj.weight"):
		rows = c.NumHeads * c.HeadDim
	case strings.HasSuffix(name, "k_proj.weight"):
		rows = c.NumKVHeads * c.HeadDim
	default:
		return nil
	}
	if len(info.Shape) != 2 || info.Shape[1] != uint64(rows) {
		return fmt.Errorf("its shape %v is not that of %d rows", info.Shape, rows)
	}
	return nil
}

// unpermute undoes what llama.cpp's converter does to q and k of llama models: it stores each head's rows as
// (pair, half) where Hugging Face's rotary embedding wants (half, pair).
func unpermute(flat []float32, numHeads, headDim, width int) []float32 {
	out := make([]float32, len(flat))
	half := headDim / 2
	for h := range numHeads {
		for pair := range half {
			for side := range 2 {
				from := (h*headDim + pair*2 + side) * width
				to := (h*headDim + side*half + pair) * width
				copy(out[to:to+width], flat[from:from+width])
			}
		}
	}
	return out
}
