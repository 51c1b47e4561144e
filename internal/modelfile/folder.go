package modelfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
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
	bad := func(file, why string, err error) error {
		return &fault.Error{Code: fault.CodeUsage, What: "cannot read the base model", Where: filepath.Join(path, file), Why: why, Err: err,
			Next: "fetch it again, or name another with --base-model"}
	}
	text, err := os.ReadFile(filepath.Join(path, configFile))
	if err != nil {
		return nil, bad(configFile, "", err)
	}
	config, err := ParseConfig(text)
	if err != nil {
		return nil, bad(configFile, "", err)
	}
	config.Name = filepath.Base(path)
	f := &folder{path: path, where: map[string]*Safetensors{}}
	file, err := f.open()
	if err != nil {
		return nil, errors.Join(bad(file, "", err), f.close())
	}
	return &Model{Path: path, Config: config, source: f, Vocabulary: Vocabulary{BOS: -1, EOS: -1}}, nil
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
