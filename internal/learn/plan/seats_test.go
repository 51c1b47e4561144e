package plan

import "testing"

// What a slot's other seats hold is planned on a CPU, one slot's cache each; where the memory does not hold that,
// nothing is set aside. A GPU sets nothing aside.
func TestSeatsArePlanned(t *testing.T) {
	s, o := wide(), settings()
	o.Row, o.Prefix = 0, 0
	alone, err := Make(s, o)
	if err != nil {
		t.Fatal(err)
	}
	o.Seats = 2
	both, err := Make(s, o)
	if err != nil {
		t.Fatal(err)
	}
	aside, caches := both.held(SetAside), both.held(KeysAndValues)
	if aside != caches || caches == 0 || both.Peak().Peak < alone.Peak().Peak+caches {
		t.Errorf("%d bytes are set aside, of caches of %d; at most %d, and %d without", aside, caches,
			both.Peak().Peak, alone.Peak().Peak)
	}
	for limit, want := range map[int64]int{both.Peak().Peak: 2, both.Peak().Peak - 1: 1, alone.Peak().Peak: 1, 0: 2} {
		x, err := Settle(s, o, Open{}, Limit{Bytes: limit})
		if err != nil || !x.Holds() || x.Chosen.Seats != want {
			t.Errorf("within %d bytes there are %d seats, want %d: %v", limit, x.Chosen.Seats, want, err)
		}
	}
	o.GPU = true
	if p, err := Make(s, o); err != nil || p.held(SetAside) != 0 {
		t.Errorf("a GPU sets %d bytes aside: %v", p.held(SetAside), err)
	}
}
