package host

import (
	"strings"
	"testing"
)

func TestParseMeminfo(t *testing.T) {
	n, err := parseMeminfo(strings.NewReader("MemTotal:       100 kB\nMemAvailable:    8 kB\n"))
	if err != nil || n != 8192 {
		t.Errorf("%d, %v", n, err)
	}
	for _, bad := range []string{"", "MemTotal: 1 kB\n", "MemAvailable: many kB\n"} {
		if _, err := parseMeminfo(strings.NewReader(bad)); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}
