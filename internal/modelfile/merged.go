package modelfile

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

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
// GGUF file it writes config.json alone.
func (m *Model) CopyRest(dir string) error {
	if _, ok := m.source.(*folder); !ok {
		text, err := json.MarshalIndent(m.llamaConfig(), "", "  ")
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, configFile), append(text, '\n'), 0o644)
	}
	files, err := os.ReadDir(m.Path)
	if err != nil {
		return err
	}
	for _, f := range files {
		name := f.Name()
		if !f.Type().IsRegular() && f.Type()&os.ModeSymlink == 0 || isWeights(name) {
			continue
		}
		if err := copyFile(filepath.Join(m.Path, name), filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

func isWeights(name string) bool {
	for _, end := range []string{".safetensors", ".safetensors.index.json", ".bin", ".bin.index.json", ".pth", ".pt", ".gguf", ".onnx", ".h5", ".msgpack"} {
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

// llamaConfig is config.json of what a GGUF file of llama's architecture says.
func (m *Model) llamaConfig() map[string]any {
	c := m.Config
	out := map[string]any{
		"architectures": []string{"LlamaForCausalLM"}, "model_type": "llama", "hidden_act": "silu", "torch_dtype": "float32",
		"num_hidden_layers": c.NumLayers, "hidden_size": c.Hidden, "intermediate_size": c.Intermediate, "head_dim": c.HeadDim,
		"num_attention_heads": c.NumHeads, "num_key_value_heads": c.NumKVHeads, "vocab_size": c.VocabSize,
		"max_position_embeddings": c.MaxContext, "rms_norm_eps": c.NormEps, "rope_theta": c.Rope.Theta, "tie_word_embeddings": c.TiedHead,
	}
	if m.Vocabulary.BOS >= 0 {
		out["bos_token_id"] = m.Vocabulary.BOS
	}
	if m.Vocabulary.EOS >= 0 {
		out["eos_token_id"] = m.Vocabulary.EOS
	}
	return out
}
