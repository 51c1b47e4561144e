package scan

import (
	"strings"
	"testing"
)

// Where an expression is left out, it would have found nothing: on all texts of the labelled tools.
func TestPlacesMay(t *testing.T) {
	left, all := 0, 0
	for _, half := range []string{"development", "held_out"} {
		for _, l := range readLabelled(t, half) {
			for _, text := range []string{l.Tool.Name, l.Tool.Description, string(l.Tool.InputSchema)} {
				text = fold(text).String()
				for _, p := range places {
					all++
					if p.may(strings.ToLower(text), text) {
						continue
					}
					left++
					if p.MatchString(text) {
						t.Errorf("%s is left out where it matches", p.name) // the held-out half is not to be read
					}
				}
			}
		}
	}
	if left < all/3 {
		t.Errorf("%d of %d are left out", left, all)
	}
}
