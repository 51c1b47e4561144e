package fault

import "testing"

func TestCount(t *testing.T) {
	for _, c := range []struct {
		n    int
		noun string
		want string
	}{
		{0, "tool", "0 tools"}, {1, "tool", "1 tool"}, {2, "tool", "2 tools"}, {1, "trajectory", "1 trajectory"},
		{2, "trajectory", "2 trajectories"}, {2, "key", "2 keys"}, {-1, "token", "-1 tokens"},
		{11, "broken row", "11 broken rows"},
	} {
		if got := Count(c.n, c.noun); got != c.want {
			t.Errorf("%d %s: %q, want %q", c.n, c.noun, got, c.want)
		}
	}
}
