//go:build soak

package generate

import "testing"

func TestSoakSharesOfTheSplits(t *testing.T) { sharesOfTheSplits(t, sized{30, 0}, sized{45, 2}) }
