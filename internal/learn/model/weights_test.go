package model

import "testing"

// Every number, at each of the four places and among the last few, is found to be what float32 says it is.
func TestFiniteBF16(t *testing.T) {
	for x := range 1 << 16 {
		want := uint16(x)&0x7F80 != 0x7F80
		for at := range 6 {
			bits := []uint16{0x7F7F, 0xFF7F, 0, 0x8000, 0x3F80, 0xFFFF &^ 0x80}
			bits[at] = uint16(x)
			if got := finiteBF16(bits); got != want {
				t.Fatalf("%#04x at %d: %v", x, at, got)
			}
		}
	}
}
