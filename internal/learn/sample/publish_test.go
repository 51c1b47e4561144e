package sample_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hone/internal/engine"
	"hone/internal/episode/policy"
	"hone/internal/learn/batch"
	"hone/internal/learn/sample"
	"hone/internal/learn/train"
	"hone/internal/testing/learntest"
)

// device is an engine in pure Go with the base's weights.
type device struct {
	*engine.Engine
	weights []engine.Buffer
}

func open(t *testing.T) device {
	t.Helper()
	e, err := engine.Open(engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return device{e, learntest.Weights(t, e, learntest.Spec())}
}

func (d device) sampler(t *testing.T) *sample.Samplers {
	t.Helper()
	s, err := sample.NewSamplers(d.Engine, learntest.Spec(), d.weights,
		sample.Options{LoRA: learntest.LoRA(), Slots: 1, Context: 32})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// trainer has an adapter that changes what is sampled.
func (d device) trainer(t *testing.T) *train.Trainer {
	t.Helper()
	state := train.NewState(learntest.Spec(), learntest.LoRA(), 2)
	for i := range state.Adapter {
		state.Adapter[i] += float32(math.Cos(float64(i)) * 0.1)
	}
	tr, err := train.New(d.Engine, learntest.Spec(), d.weights, state, train.Options{LoRA: learntest.LoRA()})
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func step(t *testing.T, tr *train.Trainer) {
	t.Helper()
	row := batch.Sequence{IDs: []int32{1, 2, 3, 4}, Trained: []bool{false, true, true, true}}
	if _, err := tr.Step(t.Context(), batch.Batch{Rows: []batch.Sequence{row}}, batch.Objective{},
		batch.Update{Rate: 1e-2}); err != nil {
		t.Fatal(err)
	}
}

func sampled(t *testing.T, s *sample.Samplers) policy.Completion {
	t.Helper()
	c, err := s.Sample(context.Background(), policy.Request{Prompt: []int32{3, 14, 15},
		Sampling: policy.Sampling{MaxTokens: 8, Temperature: 1}, Key: policy.Key{Seed: 1}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func same(a, b policy.Completion) bool {
	return slices.Equal(a.IDs, b.IDs) && slices.Equal(a.SamplerLogprobs, b.SamplerLogprobs) &&
		a.PolicyVersion == b.PolicyVersion
}

// takeFolder makes a sampler of its own engine sample from an adapter folder.
func takeFolder(e device, s *sample.Samplers) func(folder string, version int) error {
	return func(folder string, version int) error {
		if folder == "" {
			return s.SetAdapter(nil, 0)
		}
		f, err := sample.OpenFolder(e.Engine, learntest.Spec(), folder, version)
		if err != nil {
			return err
		}
		defer f.Close()
		return sample.InProcess(s).Take(f)
	}
}

// byFolder is a sampler on another engine, as one of another process would be. Each version goes to it as an adapter
// folder, root/policy_N after N optimiser steps, from which take makes it sample ("": from the base model alone); the
// folder of the version before is then removed.
type byFolder struct {
	root      string
	take      func(folder string, version int) error
	checksums func() ([]uint64, error)
	last      string // folder that is sampled from
}

// Take implements Taker.
func (x *byFolder) Take(s sample.Source) error {
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

// Checksums implements Taker.
func (x *byFolder) Checksums() ([]uint64, error) { return x.checksums() }

// A trainer's policy reaches two samplers of its engine, as an array, and one of another, as a folder: all sample the
// same, and their names say so. After a step they lag, and the names say that too.
func TestEverySamplerGetsThePolicy(t *testing.T) {
	here, there := open(t), open(t)
	tr, one, two, far := here.trainer(t), here.sampler(t), here.sampler(t), there.sampler(t)
	base, root := sampled(t, one), t.TempDir()
	p := sample.NewPublisher(tr, sample.InProcess(one), sample.InProcess(two),
		&byFolder{root: root, take: takeFolder(there, far), checksums: far.Checksums})
	check := func(want bool) (trained string) {
		t.Helper()
		trained, held, err := p.Policies()
		if err != nil || len(held) != 3 {
			t.Fatalf("%q, %v", held, err)
		}
		for i, h := range held {
			if (h == trained) != want {
				t.Errorf("sampler %d holds %s, trained is %s; the same: want %v", i, h, trained, want)
			}
		}
		return trained
	}
	check(false)
	last := ""
	for version := range 3 {
		if version > 0 {
			step(t, tr)
			check(false)
		}
		if err := p.Publish(); err != nil {
			t.Fatal(err)
		}
		name := check(true)
		if name != p.AdapterHash() || name == last || len(name) != 16 {
			t.Errorf("version %d is %q, held %q, before %q", version, name, p.AdapterHash(), last)
		}
		last = name
		want := sampled(t, one)
		if want.PolicyVersion != version || slices.Equal(want.SamplerLogprobs, base.SamplerLogprobs) {
			t.Errorf("version %d: %+v, of the base %+v", version, want, base)
		}
		if !same(want, sampled(t, two)) || !same(want, sampled(t, far)) {
			t.Errorf("version %d: the samplers differ: %+v, %+v, %+v", version, want, sampled(t, two), sampled(t, far))
		}
	}
	if left, err := filepath.Glob(filepath.Join(root, "*")); err != nil || len(left) != 1 ||
		filepath.Base(left[0]) != "policy_2" {
		t.Errorf("folders left: %v", left)
	}
	if err := p.Withdraw(); err != nil || p.AdapterHash() != "" {
		t.Errorf("%v, held %q", err, p.AdapterHash())
	}
	for i, s := range []*sample.Samplers{one, two, far} {
		if !same(base, sampled(t, s)) {
			t.Errorf("sampler %d does not sample from the base", i)
		}
	}
	if left, err := os.ReadDir(root); err != nil || len(left) != 0 {
		t.Errorf("folders left: %v", left)
	}
}

// An adapter folder is sampled without a trainer, as the trainer that wrote it is, under the same name; a trainer
// without samplers publishes to nobody.
func TestTrainerAndSamplerApart(t *testing.T) {
	d := open(t)
	tr, s := d.trainer(t), d.sampler(t)
	alone := sample.NewPublisher(tr)
	if err := alone.Publish(); err != nil {
		t.Fatal(err)
	}
	trained, held, err := alone.Policies()
	if err != nil || trained == "" || len(held) != 0 {
		t.Errorf("%q, %q, %v", trained, held, err)
	}
	if err := sample.NewPublisher(tr, sample.InProcess(s)).Publish(); err != nil {
		t.Fatal(err)
	}
	want, dir := sampled(t, s), t.TempDir()
	if err := tr.SaveAdapter(dir); err != nil {
		t.Fatal(err)
	}
	e := open(t)
	f, err := sample.OpenFolder(e.Engine, learntest.Spec(), dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if !f.LoRA().Equal(learntest.LoRA().Explicit(learntest.Spec())) {
		t.Errorf("the folder's shape is %+v", f.LoRA())
	}
	serving := e.sampler(t)
	p := sample.NewPublisher(f, sample.InProcess(serving))
	if err := p.Publish(); err != nil || p.AdapterHash() != trained {
		t.Errorf("%v: %q is served, %q was trained", err, p.AdapterHash(), trained)
	}
	if got := sampled(t, serving); !same(got, want) {
		t.Errorf("served %+v, of the trainer %+v", got, want)
	}
}

// fake is a source and a sampler that say what they are told to.
type fake struct {
	sample.Source
	sample.Taker
	sums []uint64
	err  error
}

func (f fake) AdapterChecksums() ([]uint64, error) { return f.sums, f.err }
func (f fake) Checksums() ([]uint64, error)        { return f.sums, f.err }
func (f fake) Take(sample.Source) error            { return f.err }

// fakeLater fails from a time on.
type fakeLater struct {
	fake
	err *error
}

func (f fakeLater) Take(sample.Source) error { return *f.err }

// Devices that hold other adapters than each other have a name of all their sums; what fails is an error, and nothing
// is held then.
func TestDevicesAndFailures(t *testing.T) {
	source := fake{sums: []uint64{1, 1}}
	_, held, err := sample.NewPublisher(source, fake{sums: []uint64{1, 1}}, fake{sums: []uint64{1, 2}}).Policies()
	if want := []string{"0000000000000001", "0000000000000001+0000000000000002"}; err != nil ||
		!slices.Equal(held, want) {
		t.Errorf("%q, %v", held, err)
	}
	broken := errors.New("broken")
	var later error
	p := sample.NewPublisher(source, fakeLater{fake{sums: []uint64{1, 1}}, &later})
	if err := p.Publish(); err != nil || p.AdapterHash() == "" {
		t.Fatalf("%v, held %q", err, p.AdapterHash())
	}
	if later = broken; !errors.Is(p.Publish(), broken) || p.AdapterHash() != "" {
		t.Errorf("after a failure %q is held, which nobody may hold", p.AdapterHash())
	}
	for name, p := range map[string]*sample.Publisher{
		"sampler": sample.NewPublisher(source, fake{sums: []uint64{1, 1}}, fake{err: broken}),
		"source":  sample.NewPublisher(fake{err: broken}, fake{}),
	} {
		if err := p.Publish(); !errors.Is(err, broken) || p.AdapterHash() != "" {
			t.Errorf("%s: %v, held %q", name, err, p.AdapterHash())
		}
		if _, _, err := p.Policies(); !errors.Is(err, broken) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := sample.NewPublisher(nil, source).Publish(); err == nil || !strings.Contains(err.Error(), "no adapter") {
		t.Errorf("nothing was published: %v", err)
	}
}

// A policy that was kept is what the samplers hold again, whatever the trainer is by then: the same tokens under the
// same version and name.
func TestSamplersGoBackToAKeptPolicy(t *testing.T) {
	here := open(t)
	tr, s := here.trainer(t), here.sampler(t)
	p := sample.NewPublisher(sample.Trained{Trainer: tr, Engine: here.Engine, Spec: learntest.Spec()},
		sample.InProcess(s))
	step(t, tr)
	if err := p.Publish(); err != nil {
		t.Fatal(err)
	}
	want, name := sampled(t, s), p.AdapterHash()
	save, err := p.Keep()
	if err != nil {
		t.Fatal(err)
	}
	step(t, tr) // what is kept is no view of it
	dir := t.TempDir()
	if err := save(dir); err != nil {
		t.Fatal(err)
	}
	if err := p.Publish(); err != nil {
		t.Fatal(err)
	}
	if got := sampled(t, s); same(got, want) || p.AdapterHash() == name {
		t.Fatalf("a step changed nothing: %v, %s", got, p.AdapterHash())
	}
	if err := p.Restore(dir); err != nil {
		t.Fatal(err)
	}
	if got := sampled(t, s); !same(got, want) || p.AdapterHash() != name {
		t.Errorf("%+v of %s, want %+v of %s", got, p.AdapterHash(), want, name)
	}
	if trained, held, err := p.Policies(); err != nil || trained == name || !slices.Equal(held, []string{name}) {
		t.Errorf("%v: the trainer has %s, the sampler %v, want another and %s", err, trained, held, name)
	}
	if err := os.WriteFile(filepath.Join(dir, "policy_version"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := p.Restore(dir); err == nil || !strings.Contains(err.Error(), "policy_version") {
		t.Error(err)
	}
	if _, err := sample.NewPublisher(tr, sample.InProcess(s)).Keep(); err == nil {
		t.Error("it keeps what cannot be read back")
	}
}
