package known

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkMissing is of a result of 20 MB, and an answer that is in none of it.
func BenchmarkMissing(b *testing.B) {
	var shown strings.Builder
	for i := 0; shown.Len() < 20<<20; i++ {
		fmt.Fprintf(&shown, `{"id": %d, "name": "row%x", "note": "some words of %d kinds"},`+"\n", i, i*i, i%97)
	}
	for b.Loop() {
		missing("Who?", shown.String(), "It is Ines Moreau, Tomas, Olu and Wilhelmina.")
	}
}
