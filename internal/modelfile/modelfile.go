// Package modelfile reads base models: their configuration, weights and vocabulary.
//
// Tensors are named and laid out as Hugging Face has them, whatever file they come from.
package modelfile

import (
	"os"
	"path/filepath"

	"hone/internal/fault"
)

// Config is the shape of a decoder-only transformer.
type Config struct {
	Architecture string // "llama"
	Name         string // for people
	NumLayers    int
	Hidden       int
	Intermediate int // width of the MLP
	NumHeads     int
	NumKVHeads   int
	HeadDim      int
	VocabSize    int
	MaxContext   int
	RopeTheta    float64
	NormEps      float64
	TiedHead     bool // the embedding is also the output head
}

// Vocabulary is what a tokenizer is built from.
type Vocabulary struct {
	Model        string // "gpt2": byte-level BPE
	PreTokenizer string // "smollm", "qwen2", ...
	Tokens       []string
	TokenTypes   []int32 // 1 normal, 3 control, 4 user defined
	Merges       []string
	BOS, EOS     int32
}

// Model is an open model file.
type Model struct {
	Path       string
	Config     Config
	Vocabulary Vocabulary
	source     *ggufFile
}

// Open reads a model: a .gguf file, or a folder that holds exactly one.
func Open(path string) (*Model, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, &fault.Error{Code: fault.CodeUsage, What: "cannot open the base model", Where: path, Err: err,
			Next: "give --base-model a .gguf file or a folder that holds one; hone engine install SmolLM2-135M-Instruct fetches the default"}
	}
	if info.IsDir() {
		found, err := filepath.Glob(filepath.Join(path, "*.gguf"))
		if err != nil || len(found) != 1 {
			return nil, &fault.Error{Code: fault.CodeUsage, What: "cannot tell which file is the base model", Where: path,
				Why: "the folder must hold exactly one .gguf file", Next: "name the file itself"}
		}
		path = found[0]
	}
	return openGGUF(path)
}

// Close releases the file.
func (m *Model) Close() error { return m.source.close() }

// Tensor reads one tensor as float32, row-major, with its dimensions. Names are Hugging Face's, for example
// "model.layers.3.self_attn.q_proj.weight" with dimensions [out, in].
func (m *Model) Tensor(name string) ([]float32, []int, error) { return m.source.tensor(m.Config, name) }
