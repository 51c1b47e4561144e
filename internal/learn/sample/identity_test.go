package sample

import (
	"context"
	"slices"
	"strings"
	"testing"

	"hone/internal/engine"
	"hone/internal/learn/batch"
	"hone/internal/learn/train"
	"hone/internal/recipe"
	"hone/internal/testing/learntest"
)

// wired is a sampler that is given adapters by a function.
type wired struct {
	sampler *Sampler
	set     func() error
}

func (w wired) SetAdapter(engine.Buffer, int) error { return w.set() }

func (w wired) Checksums() ([]uint64, error) {
	sum, err := w.sampler.Checksum()
	return []uint64{sum}, err
}

// published publishes a trainer's adapter as a run does, with that function.
func published(tr *train.Trainer, s *Sampler, set func() error) error {
	return recipe.Publish(NewPublisher(tr, InProcess(wired{s, set})), "a step")
}

// What the sampler's programs read is the trainer's adapter, at each version and on each backend; where Publish does
// nothing, hands over the adapter of the step before, or only the version rises, a run is told.
func TestThePublishedAdapterIsTheTrainers(t *testing.T) {
	learntest.EachDevice(t, func(t *testing.T, e *engine.Engine) { checkIdentity(t, e, false) })
	if learntest.Plugin() == "" {
		return
	}
	o := learntest.Options(t)
	o.DType = engine.DTypeBF16
	e, err := engine.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	checkIdentity(t, e, true)
}

func checkIdentity(t *testing.T, e *engine.Engine, bf16 bool) {
	spec, lora := learntest.Spec(), learntest.LoRA()
	spec.BF16, spec.NumLayers, lora.Tokens = bf16, 1, []int32{4, 2}
	weights := learntest.Weights(t, e, spec)
	s, err := New(e, spec, weights, Options{LoRA: lora, Slots: 8, Context: 32})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	tr, err := train.New(e, spec, weights, train.NewState(spec, lora, 2), train.Options{LoRA: lora})
	if err != nil {
		t.Fatal(err)
	}
	right := func() error { return s.SetAdapter(tr.Adapter(), tr.PolicyVersion()) }
	step := func() {
		ids := []int32{1, 2, 3, 4, 5}
		if _, err := tr.Step(context.Background(), batch.Batch{Prefix: ids[:1],
			Rows: []batch.Sequence{{IDs: ids[1:], Trained: []bool{false, true, true, true}}}}, batch.Objective{},
			batch.Update{Rate: 1e-5}); err != nil {
			t.Fatal(err)
		}
	}
	var sums []uint64
	for range 3 {
		if err := published(tr, s, right); err != nil {
			t.Fatal(err)
		}
		sum, err := s.Checksum()
		if err != nil || slices.Contains(sums, sum) {
			t.Fatalf("checksums %x, %x, %v", sums, sum, err)
		}
		sums = append(sums, sum)
		step()
	}
	if err := right(); err != nil {
		t.Fatal(err)
	}
	before, err := tr.State()
	if err != nil {
		t.Fatal(err)
	}
	old, err := e.Upload(before.Adapter, len(before.Adapter))
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Free(old)
	for name, set := range map[string]func() error{
		"nothing":                    func() error { return nil },
		"the adapter before":         func() error { return s.SetAdapter(old, tr.PolicyVersion()) },
		"the version without arrays": func() error { s.versions[0] = tr.PolicyVersion(); return nil },
		"the base model":             func() error { return s.SetAdapter(nil, tr.PolicyVersion()) },
	} {
		step()
		err := published(tr, s, set)
		if err == nil || !strings.Contains(err.Error(), "does not hold the adapter") {
			t.Errorf("published is %s: %v", name, err)
		}
		if err := published(tr, s, right); err != nil {
			t.Errorf("after %s: %v", name, err)
		}
	}
}
