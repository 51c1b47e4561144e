package modelfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"

	"hone/internal/fault"
)

// Files of a model folder as transformers writes it.
const (
	configFile  = "config.json"
	weightsFile = "model.safetensors"
	indexFile   = "model.safetensors.index.json"
)

// folder is a model in safetensors, whole or in shards.
type folder struct {
	path   string
	shards []*Safetensors
	where  map[string]*Safetensors
}

func openFolder(path string) (*Model, error) {
	bad := func(file string, err error) error {
		return &fault.Error{Code: fault.CodeUsage, What: "cannot read the base model", Where: filepath.Join(path, file),
			Err: err, Next: "fetch it again, or name another with --base-model"}
	}
	text, err := os.ReadFile(filepath.Join(path, configFile))
	if err != nil {
		return nil, bad(configFile, err)
	}
	config, err := ParseConfig(text)
	if err != nil {
		return nil, bad(configFile, err)
	}
	config.Name = filepath.Base(path)
	f := &folder{path: path, where: map[string]*Safetensors{}}
	file, err := f.open()
	if err != nil {
		return nil, errors.Join(bad(file, err), f.close())
	}
	m := &Model{Path: path, Config: config, source: f, Vocabulary: Vocabulary{BOS: -1, EOS: -1}}
	if m.untied, err = f.hasOwnHead(config); err != nil {
		return nil, errors.Join(bad(configFile, err), f.close())
	}
	m.Config.TiedHead = config.TiedHead && !m.untied
	return m, nil
}

// hasOwnHead reports whether the files hold an output head of its own, where the configuration says that the embedding
// is the head. A copy of the embedding is none. Another is what the model was trained with: since version 5
// transformers too takes it, and says that it does.
func (f *folder) hasOwnHead(c Config) (bool, error) {
	const head = "lm_head.weight"
	if !c.TiedHead {
		return false, nil
	}
	embedding := c.Prefix + "model.embed_tokens.weight"
	if c.Prefix != "" && f.dtype(head) != "" && !f.alike(head, embedding) {
		return false, fmt.Errorf("tie_word_embeddings is true, and the files hold %s, which is not %s", head, embedding)
	}
	return f.dtype(c.Prefix+head) != "" && !f.alike(c.Prefix+head, embedding), nil
}

// alike reports whether two tensors are one, or one is the other rounded to fewer bits.
func (f *folder) alike(a, b string) bool {
	x, y := f.where[a], f.where[b]
	if x == nil || y == nil || !slices.Equal(x.entries[a].Shape, y.entries[b].Shape) {
		return false
	}
	if x.DType(a) == y.DType(b) {
		return bytes.Equal(x.raw(a), y.raw(b))
	}
	// of bfloat16, and what binary16 has below its normal numbers
	const relative, least = 1.0 / (1 << 8), 1.0 / (1 << 24)
	other := floats(y.raw(b), y.DType(b))
	for i, v := range floats(x.raw(a), x.DType(a)) {
		v, w := float64(v), float64(other[i])
		if !(math.Abs(v-w) <= relative*math.Abs(v)+least) {
			return false
		}
	}
	return true
}

// index is model.safetensors.index.json: which shard holds a tensor.
type index struct {
	Metadata map[string]any    `json:"metadata"`
	Weights  map[string]string `json:"weight_map"`
}

// open maps the shards. With an error it names the file.
func (f *folder) open() (file string, err error) {
	text, err := os.ReadFile(filepath.Join(f.path, indexFile))
	if errors.Is(err, os.ErrNotExist) {
		return weightsFile, f.add(weightsFile, nil)
	}
	if err != nil {
		return indexFile, err
	}
	var i index
	if err := json.Unmarshal(text, &i); err != nil {
		return indexFile, fmt.Errorf("it is not an index of shards: %w", err)
	}
	tensors := map[string][]string{}
	for name, shard := range i.Weights {
		tensors[shard] = append(tensors[shard], name)
	}
	if len(tensors) == 0 {
		return indexFile, errors.New("it lists no shards")
	}
	for _, shard := range slices.Sorted(maps.Keys(tensors)) {
		if filepath.Base(shard) != shard {
			return indexFile, fmt.Errorf("the shard %q is not a file beside it", shard)
		}
		slices.Sort(tensors[shard])
		if err := f.add(shard, tensors[shard]); err != nil {
			return shard, err
		}
	}
	return "", nil
}

// add opens a shard, which must hold what the index says.
func (f *folder) add(file string, expected []string) error {
	s, err := OpenSafetensors(filepath.Join(f.path, file))
	if err != nil {
		return err
	}
	f.shards = append(f.shards, s)
	for _, name := range expected {
		if s.DType(name) == "" {
			return fmt.Errorf("tensor %s is not in it, where %s says it is", name, indexFile)
		}
	}
	for _, name := range s.Names() {
		if other := f.where[name]; other != nil {
			return fmt.Errorf("tensor %s is also in %s", name, filepath.Base(other.path))
		}
		f.where[name] = s
	}
	return nil
}

func (f *folder) names() []string { return slices.Sorted(maps.Keys(f.where)) }

func (f *folder) dtype(name string) string {
	if s := f.where[name]; s != nil {
		return s.DType(name)
	}
	return ""
}

func (f *folder) tensor(_ Config, name string) ([]float32, []int, error) {
	s := f.where[name]
	if s == nil {
		return nil, nil, tensorFault(f.path, name, errors.New("the files do not hold it"))
	}
	flat, dims, err := s.Tensor(name)
	if err != nil {
		return nil, nil, tensorFault(s.path, name, err)
	}
	return flat, dims, nil
}

func (f *folder) rows(_ Config, name string, ids []int) ([][]float32, error) {
	s := f.where[name]
	if s == nil {
		return nil, tensorFault(f.path, name, errors.New("the files do not hold it"))
	}
	rows, err := s.Rows(name, ids)
	if err != nil {
		return nil, tensorFault(s.path, name, err)
	}
	return rows, nil
}

func (f *folder) bf16(_ Config, name string) ([]uint16, []int, bool) {
	if s := f.where[name]; s != nil {
		return s.BF16(name)
	}
	return nil, nil, false
}

func (f *folder) close() error {
	var errs []error
	for _, s := range f.shards {
		errs = append(errs, s.Close())
	}
	f.shards = nil
	return errors.Join(errs...)
}
