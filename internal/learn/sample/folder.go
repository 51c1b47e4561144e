package sample

import (
	"hone/internal/engine"
	"hone/internal/learn/model"
)

// Folder is an adapter folder, copied to the devices of an engine: the source of those who sample and do not train.
type Folder struct {
	engine   *engine.Engine
	spec     model.Spec
	lora     model.LoRA
	flat     []float32
	adapter  engine.Buffer
	version  int
	checksum *engine.Program
}

// OpenFolder reads an adapter folder for a model. version is how many optimiser steps it has seen, as far as the caller
// knows.
func OpenFolder(e *engine.Engine, s model.Spec, dir string, version int) (*Folder, error) {
	lora, flat, err := model.LoadPEFT(dir, s)
	if err != nil {
		return nil, err
	}
	adapter, err := e.Upload(flat, len(flat))
	if err != nil {
		return nil, err
	}
	return &Folder{engine: e, spec: s, lora: lora, flat: flat, adapter: adapter, version: version}, nil
}

// LoRA is the adapter's shape, with which a sampler of it is opened.
func (f *Folder) LoRA() model.LoRA { return f.lora }

// Adapter implements Source.
func (f *Folder) Adapter() engine.Buffer { return f.adapter }

// PolicyVersion implements Source.
func (f *Folder) PolicyVersion() int { return f.version }

// SaveAdapter implements Source.
func (f *Folder) SaveAdapter(dir string) error { return model.SavePEFT(dir, f.spec, f.lora, 0, f.flat) }

// AdapterChecksums implements Source.
func (f *Folder) AdapterChecksums() (sums []uint64, err error) {
	if f.checksum == nil {
		if f.checksum, err = model.CompileChecksum(f.engine, f.spec, f.lora); err != nil {
			return nil, err
		}
	}
	out, err := f.checksum.Run(f.adapter)
	if err != nil {
		return nil, err
	}
	return model.ReadChecksums(f.engine, f.spec, out[0])
}

// Close releases the devices' copy.
func (f *Folder) Close() { engine.Free(f.adapter) }

// Trained is a trainer whose adapter can be kept and read back: a Keeper.
type Trained struct {
	Trainer
	Engine *engine.Engine
	Spec   model.Spec
}

// Trainer is what Trained needs of one; *train.Trainer is one.
type Trainer interface {
	Source
	KeepAdapter() (save func(dir string) error, err error)
}

// OpenAdapter implements Keeper.
func (t Trained) OpenAdapter(dir string, version int) (*Folder, error) {
	return OpenFolder(t.Engine, t.Spec, dir, version)
}
