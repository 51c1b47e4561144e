package sample

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"hone/internal/fault"
)

// Server is a sampler of another process, which reads adapters from folders and tells them apart by their names.
type Server interface {
	// SetFolder makes it sample from base + the adapter in a folder, under a name that it never had before, in the
	// place of the adapter before; without a name from the base model alone. It returns when no completion of the one
	// before is under way.
	SetFolder(name, folder string, version int) error
	// Serves reports whether it lists an adapter under a name.
	Serves(name string) (bool, error)
	// Unload has it forget an adapter, if it knows it.
	Unload(name string) error
}

// Remote is a Taker that takes each version as an adapter folder under a name of its own, so that nothing which the
// server keeps by name, as cached prefixes, can be another version's. The folder lies there while the version is
// sampled from: servers read it again.
type Remote struct {
	server Server
	root   string // the folder of adapter folders, here
	there  string // the same folder as the server knows it
	prefix string // of all names of this process

	name string // that is sampled from
	sums []uint64
}

// NewRemote hands policies to a server by folders in root, which the server sees as there (empty: by the same path).
// run is letters and digits that no other run with that root has: what a process of the same run that was killed left
// is taken away, at the server too.
func NewRemote(s Server, root, there, run string) (*Remote, error) {
	if there == "" {
		abs, err := filepath.Abs(root)
		if err != nil {
			return nil, err
		}
		there = abs
	}
	var random [4]byte
	_, _ = rand.Read(random[:]) // never fails
	own := namesBegin + run + "-"
	x := &Remote{server: s, root: root, there: there, prefix: own + hex.EncodeToString(random[:])}
	left, err := fs.Glob(os.DirFS(root), own+"*")
	for _, folder := range left {
		err = errors.Join(err, x.forget(folder))
	}
	return x, err
}

// namesBegin is what all names of adapters begin with.
const namesBegin = "hone-"

// Take implements Taker.
func (x *Remote) Take(s Source) error {
	before := x.name
	if s == nil {
		if err := x.server.SetFolder("", "", 0); err != nil {
			return err
		}
		x.name, x.sums = "", nil
		return x.remove(before)
	}
	sums, err := s.AdapterChecksums()
	if err != nil {
		return err
	}
	held := fmt.Sprintf("%s-%d-%s", x.prefix, s.PolicyVersion(), name(sums))
	if held == before { // as it is
		return nil
	}
	if err := s.SaveAdapter(filepath.Join(x.root, held)); err != nil {
		return err
	}
	if err := x.server.SetFolder(held, path.Join(x.there, held), s.PolicyVersion()); err != nil {
		return err
	}
	x.name, x.sums = held, sums
	return x.remove(before)
}

// Checksums implements Taker. The server reads what was written of the adapter with these sums, as far as its list of
// names says; that it computes with it, a probe of the run shows.
func (x *Remote) Checksums() ([]uint64, error) {
	if x.name == "" {
		return nil, nil
	}
	there, err := x.server.Serves(x.name)
	if err == nil && !there {
		err = &fault.Error{Code: fault.CodeUnavailable, What: "the sampler does not list the adapter that it was given",
			Where: x.name, Why: "it was started anew, or somebody unloaded it",
			Next: "see that the server keeps its adapters"}
	}
	return x.sums, err
}

// Close has the server forget the adapter.
func (x *Remote) Close() error {
	if x.name == "" {
		return nil
	}
	name := x.name
	x.name, x.sums = "", nil
	return x.forget(name)
}

func (x *Remote) forget(name string) error {
	return errors.Join(x.server.Unload(name), x.remove(name))
}

func (x *Remote) remove(name string) error {
	if name == "" {
		return nil
	}
	return os.RemoveAll(filepath.Join(x.root, name))
}
