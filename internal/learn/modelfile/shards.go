package modelfile

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
)

// Size returns the bytes that tensors take on a disk, but for headers.
func Size(tensors []NewTensor) int64 {
	var total int64
	for _, t := range tensors {
		total += t.size()
	}
	return total
}

// WriteShards writes tensors into a folder as transformers does: one model.safetensors, or where they are larger than
// maxShard bytes, shards of at most that (or one tensor) and their index.
func WriteShards(dir string, tensors []NewTensor, maxShard int64) error {
	var shards [][]NewTensor
	var filled, total int64
	for _, t := range tensors {
		if len(shards) == 0 || filled+t.size() > maxShard {
			shards, filled = append(shards, nil), 0
		}
		shards[len(shards)-1] = append(shards[len(shards)-1], t)
		filled += t.size()
		total += t.size()
	}
	metadata := map[string]string{"format": "pt"} // transformers demands it
	if len(shards) == 1 {
		return WriteSafetensors(filepath.Join(dir, weightsFile), tensors, metadata)
	}
	i := index{Metadata: map[string]any{"total_size": total}, Weights: map[string]string{}}
	for n, shard := range shards {
		file := fmt.Sprintf("model-%05d-of-%05d.safetensors", n+1, len(shards))
		if err := WriteSafetensors(filepath.Join(dir, file), shard, metadata); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		for _, t := range shard {
			i.Weights[t.Name] = file
		}
	}
	text, err := json.MarshalIndent(i, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, indexFile), append(text, '\n'), 0o644)
}

// CopyRest copies into dir what a model's folder holds beside its weights: config.json, tokenizer, chat template. Of a
// GGUF file it writes them, as far as the file has them; tokenizer tells whether the tokenizer is among them. dtype is
// the type of the weights that config.json is to name, "F32" or "BF16"; empty leaves it as it is.
func (m *Model) CopyRest(dir, dtype string) (tokenizer bool, err error) {
	if f, ok := m.source.(*ggufFile); ok {
		config := maps.Clone(f.config)
		config["torch_dtype"] = typeNames[cmp.Or(dtype, "F32")]
		if err := writeJSON(filepath.Join(dir, configFile), config); err != nil {
			return false, err
		}
		return m.Vocabulary.writeTokenizer(dir, m.Config.MaxContext)
	}
	files, err := os.ReadDir(m.Path)
	if err != nil {
		return false, err
	}
	for _, f := range files {
		name := f.Name()
		if !f.Type().IsRegular() && f.Type()&os.ModeSymlink == 0 || isWeights(name) {
			continue
		}
		if err := copyFile(filepath.Join(m.Path, name), filepath.Join(dir, name)); err != nil {
			return false, err
		}
		tokenizer = tokenizer || name == "tokenizer.json"
	}
	if dtype == "" && !m.untied {
		return tokenizer, nil
	}
	return tokenizer, m.reconfigure(filepath.Join(dir, configFile), typeNames[dtype])
}

// typeNames are config.json's names of the types that weights are written in.
var typeNames = map[string]string{"F32": "float32", "BF16": "bfloat16"}

// reconfigure names another type of the weights in a config.json, at every place that names one, and says of a head of
// its own that it is. An empty name leaves the type.
func (m *Model) reconfigure(path, name string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber() // 1e-05 and 10000.0 are to stay as they are written
	var config map[string]any
	if err := d.Decode(&config); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if name != "" && !retypeObject(config, name) {
		config["torch_dtype"] = name
	}
	if m.untied {
		const key = "tie_word_embeddings"
		config[key] = false
		if text, ok := config["text_config"].(map[string]any); ok && text[key] != nil {
			text[key] = false
		}
	}
	return writeJSON(path, config)
}

func retypeObject(object map[string]any, name string) (found bool) {
	for key, value := range object {
		inner, ok := value.(map[string]any)
		switch {
		case key == "dtype" || key == "torch_dtype":
			object[key], found = name, true
		case ok && strings.HasSuffix(key, "_config"):
			found = retypeObject(inner, name) || found
		}
	}
	return found
}

func isWeights(name string) bool {
	for _, end := range []string{
		".safetensors", ".safetensors.index.json", ".bin", ".bin.index.json", ".pth", ".pt", ".gguf", ".onnx",
		".h5", ".msgpack",
	} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}

func copyFile(from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		_ = out.Close() // the copy's error is the one to tell
		return err
	}
	return out.Close()
}
