package install

import "testing"

// A package's own list of programs names nothing outside of it.
func TestChoose(t *testing.T) {
	for _, tc := range []struct {
		bin, want string
		bins      []string
	}{
		{"", "tiny", []string{"tiny"}},
		{"", "tiny", []string{"../../../bin/sh", "tiny"}},
		{"", "server", []string{"other", "server"}},
		{"other", "other", []string{"other", "server"}},
		{"", "", []string{"../../../bin/sh"}},
		{"", "", []string{"/bin/sh", ".."}},
		{"../sh", "", []string{"../sh", "a", "b"}},
	} {
		got, err := Request{Package: "npm:@x/server", Bin: tc.bin}.choose("@x/server", tc.bins)
		if got != tc.want || (err != nil) != (tc.want == "") {
			t.Errorf("%q of %q: %q, %v", tc.bin, tc.bins, got, err)
		}
	}
}
