// Package modelfile reads base models: their configuration, weights and vocabulary; and writes merged ones. It reads
// and writes LoRA adapters exactly as PEFT does: adapter_config.json and adapter_model.safetensors, with PEFT's key
// names, so that peft, vLLM and SGLang load them.
//
// Tensors are named and laid out as Hugging Face has them, whatever file they come from.
package modelfile

import (
	"io/fs"
	"os"
	"path/filepath"

	"hone/internal/fault"
)

// Vocabulary is what a tokenizer is built from.
type Vocabulary struct {
	Model         string // "gpt2": byte-level BPE; "llama": SentencePiece's BPE
	PreTokenizer  string // gpt2: "smollm", "qwen2", ...
	Tokens        []string
	TokenTypes    []int32           // 1 normal, 2 unknown, 3 control, 4 user defined, 5 unused, 6 byte
	Merges        []string          // gpt2: the most frequent first
	Scores        []float32         // llama: one per token
	BOS, EOS      int32             // -1 where the file names none
	AddBOS        bool              // a whole text begins with BOS
	AddEOS        bool              // and ends with EOS
	NoSpacePrefix bool              // llama: no space is put before a text
	ChatTemplate  string            // Jinja text; empty where the file has none
	Templates     map[string]string // further ones by name
}

// Model is an open model.
type Model struct {
	Path       string // the .gguf file, or the folder
	Config     Config
	Vocabulary Vocabulary // empty where the folder's tokenizer.json is the vocabulary
	source     source
	untied     bool // the head is one of its own, whatever config.json says
}

// source is a file format.
type source interface {
	names() []string
	dtype(name string) string
	tensor(c Config, name string) ([]float32, []int, error)
	rows(c Config, name string, ids []int) ([][]float32, error)
	bf16(c Config, name string) ([]uint16, []int, bool)
	close() error
}

// Open reads a model: a .gguf file, a folder that holds exactly one, or a folder with config.json and *.safetensors.
// What the decoder cannot compute as transformers does is refused by name.
func Open(path string) (*Model, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, &fault.Error{Code: fault.CodeUsage, What: "cannot open the base model", Where: path, Err: err,
			Next: "give --base-model a .gguf file, or a folder that holds one or config.json and *.safetensors; " +
				"hone engine install SmolLM2-135M-Instruct fetches the default"}
	}
	if !info.IsDir() {
		return openGGUF(path)
	}
	if _, err := os.Stat(filepath.Join(path, configFile)); err == nil {
		return openFolder(path)
	}
	found, err := fs.Glob(os.DirFS(path), "*.gguf")
	if err != nil || len(found) != 1 {
		return nil, &fault.Error{Code: fault.CodeUsage, What: "cannot tell which file is the base model", Where: path,
			Why:  "the folder must hold exactly one .gguf file, or config.json and *.safetensors",
			Next: "name the file itself"}
	}
	return openGGUF(filepath.Join(path, found[0]))
}

// Close releases the files; tensors read from them must no longer be used.
func (m *Model) Close() error { return m.source.close() }

// Names lists the tensors of the files.
func (m *Model) Names() []string { return m.source.names() }

// DType names the type a tensor is stored as, "BF16" for example; empty where the file does not hold it.
func (m *Model) DType(name string) string { return m.source.dtype(name) }

// Tensor reads one tensor as float32, row-major, with its dimensions. It must not be changed: it may be the file
// itself. Names are Hugging Face's, for example "model.layers.3.self_attn.q_proj.weight" with dimensions [out, in].
func (m *Model) Tensor(name string) ([]float32, []int, error) { return m.source.tensor(m.Config, name) }

// BF16 returns a tensor's bits as they stand in the file, row-major, with its dimensions; ok is false where the file
// does not hold it as bfloat16, and Tensor alone reads it. It must not be changed: it is the file itself.
func (m *Model) BF16(name string) (bits []uint16, dims []int, ok bool) {
	return m.source.bf16(m.Config, name)
}

// Rows reads some rows of a matrix as float32, and nothing else of it: of an embedding, what a few tokens have.
func (m *Model) Rows(name string, ids []int) ([][]float32, error) {
	return m.source.rows(m.Config, name, ids)
}

// tensorFault is the error of a tensor that cannot be read.
func tensorFault(path, name string, err error) error {
	return &fault.Error{Code: fault.CodeUsage, What: "cannot read a tensor of the base model",
		Where: path + ": " + name, Err: err, Next: "fetch the model again, or name another with --base-model"}
}
