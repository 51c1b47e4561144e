package modelfile

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/gomlx/go-huggingface/models/gguf"
)

// Every type is read as llama.cpp's own package does, to the bit, in blocks of random bytes.
func TestQuantsAreTheReferences(t *testing.T) {
	text, err := os.ReadFile("testdata/quants.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden map[string]struct {
		Type         gguf.TensorType
		Raw, Numbers []byte
	}
	if err := json.Unmarshal(text, &golden); err != nil {
		t.Fatal(err)
	}
	if len(golden) != 13 {
		t.Errorf("%d types", len(golden))
	}
	for name, g := range golden {
		q, ok := quantOf(g.Type)
		if !ok || g.Type.String() != name {
			t.Errorf("%s: not read", name)
			continue
		}
		if q.numbers != g.Type.BlockSize() || q.bytes != g.Type.TypeSize() {
			t.Errorf("%s: blocks of %d bytes, %d numbers", name, q.bytes, q.numbers)
		}
		got, want := q.decode(g.Type, g.Raw), floats(g.Numbers, "F32")
		if len(got) != len(want) || len(want) == 0 {
			t.Fatalf("%s: %d numbers, want %d", name, len(got), len(want))
		}
		for i := range want {
			if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
				t.Errorf("%s: number %d is %v, want %v", name, i, got[i], want[i])
				break
			}
		}
	}
}

// Rows of a matrix are those of the whole, and a row that is not there is refused.
func TestRows(t *testing.T) {
	text, err := os.ReadFile("testdata/quants.json")
	var golden map[string]struct{ Raw []byte }
	if err != nil || json.Unmarshal(text, &golden) != nil {
		t.Fatal(err)
	}
	matrix := stored{"token_embd.weight", []uint64{32, 3}, uint32(gguf.TensorTypeQ5_0), golden["Q5_0"].Raw}
	path := write(t, ggufOf(tiny(), matrix))
	m, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	const name = "model.embed_tokens.weight"
	whole, dims, err := m.Tensor(name)
	rows, rowErr := m.Rows(name, []int{2, 0})
	if err != nil || rowErr != nil || !slices.Equal(dims, []int{3, 32}) ||
		!slices.Equal(rows[0], whole[64:]) || !slices.Equal(rows[1], whole[:32]) {
		t.Errorf("%v %v: %v of %v", err, rowErr, rows, whole)
	}
	for _, id := range []int{-1, 3} {
		_, err = m.Rows(name, []int{id})
		wantFault(t, err, path, "3 rows")
	}
}
