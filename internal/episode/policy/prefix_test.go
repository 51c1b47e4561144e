package policy

import "testing"

func TestCommonPrefix(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "a", 0}, {"abc", "abc", 3}, {"abc", "ab", 2}, {"ab", "abc", 2}, {"abc", "axc", 1},
		{"abc", "xbc", 0},
	} {
		if got := CommonPrefix([]byte(c.a), []byte(c.b)); got != c.want {
			t.Errorf("%q and %q begin with %d alike, want %d", c.a, c.b, got, c.want)
		}
	}
}
