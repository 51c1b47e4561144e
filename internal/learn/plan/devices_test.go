package plan

import (
	"slices"
	"testing"

	"hone/internal/testing/learntest"
)

// Of several devices each holds what one would: gradients are added up in place. So the compiler says too.
func TestEachOfSeveralDevicesHoldsWhatOneWould(t *testing.T) {
	s, o := wide(), settings()
	one, err := Make(s, o)
	if err != nil {
		t.Fatal(err)
	}
	o.Devices = 2
	two, err := Make(s, o)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(one.Held, two.Held) || len(one.Programs) != len(two.Programs) {
		t.Fatalf("one device holds %v, each of two %v", one.Held, two.Held)
	}
	e := learntest.Devices(t, 2)
	for i, x := range two.Programs {
		if a := one.Programs[i]; x.Name != a.Name || x.Temporary != a.Temporary || x.Peak != a.Peak {
			t.Errorf("%s: one device takes %d for a while and %d in all, each of two %d and %d",
				x.Name, a.Temporary, a.Peak, x.Temporary, x.Peak)
		}
		if x.Name != "apply" {
			continue
		}
		m, err := e.Measure(x.HLO)
		if err != nil {
			t.Fatal(err)
		}
		outside := m.Inputs + m.Outputs - m.Aliased
		t.Logf("temporary %d, planned %d; with inputs and outputs %d", m.Temporary, x.Temporary, outside+m.Temporary)
		if far(x.Temporary+outside, m.Temporary+outside) || m.Aliased == 0 {
			t.Errorf("the compiler says %+v, planned are %d temporary", m, x.Temporary)
		}
	}
}
