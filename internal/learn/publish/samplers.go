package publish

import (
	"fmt"
	"os"
	"path/filepath"

	"hone/internal/learn/engine"
)

// Arrays is a sampler that takes an adapter as an array of its engine; *samplers.Samplers is one.
type Arrays interface {
	// SetAdapter makes it sample from base + adapter, [A] on each device (nil: base alone), which is copied.
	SetAdapter(adapter engine.Buffer, version int) error
	Checksums() ([]uint64, error)
}

// InProcess is a sampler on the source's own engine.
func InProcess(s Arrays) Sampler { return inProcess{s} }

type inProcess struct{ Arrays }

// Take implements Sampler.
func (x inProcess) Take(s Source) error {
	if s == nil {
		return x.SetAdapter(nil, 0)
	}
	return x.SetAdapter(s.Adapter(), s.PolicyVersion())
}

// ByFolder is a sampler on another engine, or in another process. Each version goes to it as an adapter folder, root/policy_N after N optimiser steps,
// from which take makes it sample ("": from the base model alone); the folder of the version before is then removed.
func ByFolder(root string, take func(folder string, version int) error, checksums func() ([]uint64, error)) Sampler {
	return &byFolder{root: root, take: take, checksums: checksums}
}

type byFolder struct {
	root      string
	take      func(folder string, version int) error
	checksums func() ([]uint64, error)
	last      string // folder that is sampled from
}

// Take implements Sampler.
func (x *byFolder) Take(s Source) error {
	folder, version := "", 0
	if s != nil {
		version = s.PolicyVersion()
		folder = filepath.Join(x.root, fmt.Sprintf("policy_%d", version))
		if err := s.SaveAdapter(folder); err != nil {
			return err
		}
	}
	if err := x.take(folder, version); err != nil {
		return err
	}
	before := x.last
	x.last = folder
	if before == "" || before == folder {
		return nil
	}
	return os.RemoveAll(before)
}

// Checksums implements Sampler.
func (x *byFolder) Checksums() ([]uint64, error) { return x.checksums() }
