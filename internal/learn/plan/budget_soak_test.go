//go:build soak

package plan

import "testing"

// A model of 4B with tools of 6,000 tokens is planned without a setting: on 24 GB with eight slots or more, on 48 with
// 32, on 141 with all that a step has, where rows of 8,000 tokens and fewer keep their layers.
func TestA4BIsPlannedWithoutSettings(t *testing.T) {
	for _, c := range []struct {
		gib   float64
		slots int
		apart bool
		kept  bool // no layer is computed again
	}{{22.5, 8, true, false}, {46, 32, false, false}, {78, 64, false, false}, {139, 64, false, true}} {
		room, x := planned(t, qwen4B(36), 6000, 64, c.gib)
		t.Logf("%v GiB: %s\n%s", c.gib, room, x)
		if !x.Fits(false) || room.Slots < c.slots || room.Apart != c.apart || x.Layers() == c.kept {
			t.Errorf("%v GiB: %d slots, apart %v, layers again %v, %d tokens; it fits: %v",
				c.gib, room.Slots, room.Apart, x.Layers(), room.Tokens, x.Fits(false))
		}
	}
}
