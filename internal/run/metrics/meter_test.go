package metrics

import (
	"strings"
	"testing"
)

// counting is a reader of a page that has the meter count meanwhile.
type counting struct {
	strings.Builder
	m *Meter
}

func (c *counting) Write(p []byte) (int, error) {
	c.m.Add("asked", "", 1)
	return c.Builder.Write(p)
}

// Whoever reads slowly keeps nothing from being counted.
func TestWriteHoldsNobodyUp(t *testing.T) {
	m := NewMeter(map[string]string{"asked": "Requests."})
	m.Add("asked", "", 1)
	c := &counting{m: m}
	m.Write(c)
	if got := c.String(); got != "# HELP asked Requests.\n# TYPE asked counter\nasked{} 1\n" {
		t.Errorf("%q", got)
	}
}
