package modelfile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hone/internal/fault"
)

// FuzzGGUF checks that no bytes make the reader panic: what it refuses is a fault that names the file, and what it
// accepts has a vocabulary that is whole.
func FuzzGGUF(f *testing.F) {
	f.Add(file(tiny(), []uint64{8, 8}, count(64)))
	f.Add(file(tiny(pair{"tokenizer.ggml.model", "llama"}, pair{"tokenizer.ggml.scores", []float32{0, -1, -2}},
		pair{"tokenizer.ggml.token_type", []int32{2, 3, 6}}, pair{"tokenizer.ggml.add_bos_token", true}), []uint64{8,
		8}, count(64)))
	c := ggufCases()["phi3"]
	_, tensors := c.tensors()
	f.Add(ggufOf(c.kvs(), tensors[:4]...))
	f.Add([]byte("GGUF\x03\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<16 {
			return
		}
		path := filepath.Join(t.TempDir(), "m.gguf")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		m, err := Open(path)
		if err != nil {
			var e *fault.Error
			if !errors.As(err, &e) || !strings.HasPrefix(e.Where, path) {
				t.Fatalf("an error without its place: %v", err)
			}
			return
		}
		defer m.Close()
		if err := m.Vocabulary.complete(); err != nil {
			t.Fatal(err)
		}
		for _, name := range m.Names() {
			_, _, _ = m.Tensor(name) // may be refused
			_, _ = m.Rows(name, []int{0, 1})
		}
	})
}
