package sample

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"hone/internal/engine"
)

// Source has the policy that is published.
type Source interface {
	// Adapter is [A] on each device of the source's engine. It is valid until the source changes.
	Adapter() engine.Buffer
	// PolicyVersion is how many optimiser steps the adapter has seen.
	PolicyVersion() int
	// AdapterChecksums are those of the adapter (model.Adapters), of each device.
	AdapterChecksums() ([]uint64, error)
	// SaveAdapter writes the adapter into a folder, in PEFT's form: for a Taker that does not share the source's
	// engine.
	SaveAdapter(dir string) error
}

// Taker takes versions of a policy. A version comes from a Source: a trainer, or an adapter folder. It goes to a Taker
// in one of two ways: as the array that the source holds, to a sampler on the same engine (InProcess), or as an adapter
// folder (Source.SaveAdapter), to any other. So trainer and sampler are opened apart: a run may train without a
// sampler, sample from a folder without a trainer, or have one trainer and several samplers.
type Taker interface {
	// Take makes the sampler sample from a source's policy as it is now, nil: from the base model alone. It returns
	// when no completion of the version before is under way.
	Take(s Source) error
	// Checksums are those of the adapter that the sampler's programs read now, of each device.
	Checksums() ([]uint64, error)
}

// Keeper is a Source whose policy can be written as it was, and be read back beside the one there is: by a trainer
// whose samplers are behind it.
type Keeper interface {
	Source
	// KeepAdapter copies the adapter to the host and returns what writes it into a folder, as SaveAdapter does.
	KeepAdapter() (save func(dir string) error, err error)
	// OpenAdapter reads what it wrote, as another source on the same engine. version is how many optimiser steps it has
	// seen.
	OpenAdapter(dir string, version int) (*Folder, error)
}

// Publisher publishes what a source has to samplers. It implements recipe.Publisher.
type Publisher struct {
	source   Source // nil: there is the base model alone
	samplers []Taker
	held     string
}

// NewPublisher makes a publisher. The samplers hold the base model alone until Publish.
func NewPublisher(source Source, samplers ...Taker) *Publisher {
	return &Publisher{source: source, samplers: samplers}
}

// Publish gives the source's policy to all samplers. They get it one after the other; where one fails the others may
// hold either version, and the run must stop.
func (p *Publisher) Publish() error {
	if p.source == nil {
		return errors.New("there is no adapter to publish")
	}
	if err := p.give(p.source); err != nil {
		return err
	}
	sums, err := p.source.AdapterChecksums()
	p.held = name(sums)
	return err
}

const versionFile = "policy_version"

// Keep implements recipe.Rewinder: what it returns writes the source's policy as it is now.
func (p *Publisher) Keep() (save func(dir string) error, err error) {
	k, ok := p.source.(Keeper)
	if !ok {
		return nil, errors.New("the policy is no trainer's, so it is never another")
	}
	version := k.PolicyVersion()
	saveAdapter, err := k.KeepAdapter()
	return func(dir string) error {
		if err := saveAdapter(dir); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, versionFile), fmt.Appendln(nil, version), 0o644)
	}, err
}

// Restore implements recipe.Rewinder: all samplers hold what Keep has written into dir, until the next Publish.
func (p *Publisher) Restore(dir string) error {
	k, ok := p.source.(Keeper)
	if !ok {
		return errors.New("the policy is no trainer's, so it is never another")
	}
	text, err := os.ReadFile(filepath.Join(dir, versionFile))
	if err != nil {
		return err
	}
	version, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return fmt.Errorf("reading %s of %s: %w", versionFile, dir, err)
	}
	f, err := k.OpenAdapter(dir, version)
	if err != nil {
		return err
	}
	defer f.Close() // samplers copy it
	if err := p.give(f); err != nil {
		return err
	}
	sums, err := f.AdapterChecksums()
	if err != nil {
		return err
	}
	p.held = name(sums)
	for _, x := range p.samplers {
		if held, err := x.Checksums(); err != nil || name(held) != p.held {
			return errors.Join(fmt.Errorf("a sampler holds the adapter %s and not %s of %s", name(held), p.held, dir),
				err)
		}
	}
	return nil
}

// Withdraw leaves the base model alone to all samplers.
func (p *Publisher) Withdraw() error { return p.give(nil) }

func (p *Publisher) give(s Source) error {
	p.held = ""
	var errs []error
	for _, x := range p.samplers {
		errs = append(errs, x.Take(s))
	}
	return errors.Join(errs...)
}

// AdapterHash names the adapter that was published last by its checksum, 16 hexadecimal digits; "" is the base model
// alone. On a GPU a step that is computed again gives an adapter of another name.
func (p *Publisher) AdapterHash() string { return p.held }

// Policies implements recipe.Publisher.
func (p *Publisher) Policies() (trained string, sampled []string, err error) {
	sums, err := p.source.AdapterChecksums()
	if err != nil {
		return "", nil, err
	}
	for _, x := range p.samplers {
		held, err := x.Checksums()
		if err != nil {
			return "", nil, err
		}
		sampled = append(sampled, name(held))
	}
	return name(sums), sampled, nil
}

// name is one checksum where all devices hold the same adapter, as they should, and else the sums of all.
func name(sums []uint64) string {
	var names []string
	for _, s := range sums {
		names = append(names, fmt.Sprintf("%016x", s))
	}
	if len(slices.Compact(slices.Clone(names))) == 1 {
		return names[0]
	}
	return strings.Join(names, "+")
}
