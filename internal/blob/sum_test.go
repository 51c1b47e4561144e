package blob

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// The sums are sha256sum's.
func TestSums(t *testing.T) {
	const abc, nothing = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
		"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	if Of("abc").String() != abc || Of([]byte("abc")).String() != abc || Of("").String() != nothing {
		t.Errorf("%s, %s, %s", Of("abc"), Of([]byte("abc")), Of(""))
	}
	if sum, n, err := SumFrom(iotest.OneByteReader(strings.NewReader("abc"))); sum.String() != abc || n != 3 ||
		err != nil {
		t.Errorf("%s of %d bytes, %v", sum, n, err)
	}
	broken := errors.New("broken")
	if sum, n, err := SumFrom(io.MultiReader(strings.NewReader("abc"),
		iotest.ErrReader(broken))); sum.String() != abc ||
		n != 3 || !errors.Is(err, broken) {
		t.Errorf("%s of %d bytes, %v", sum, n, err)
	}
	if Parts("ab", "c") != Of("2:ab1:c") || Parts("ab", "c") == Parts("a", "bc") || Parts() != Of("") {
		t.Error("parts are not told apart")
	}
}
