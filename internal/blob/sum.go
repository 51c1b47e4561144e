package blob

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
)

// Sum is a SHA-256. Its text is lower-case hexadecimal.
type Sum [sha256.Size]byte

func (s Sum) String() string { return hex.EncodeToString(s[:]) }

// Of is the sum of data.
func Of[T string | []byte](data T) Sum { return sha256.Sum256([]byte(data)) }

// SumFrom is the sum of what is read to the end, and how many bytes that were. It is what has been read until an error.
func SumFrom(r io.Reader) (sum Sum, size int64, err error) {
	h := sha256.New()
	size, err = io.Copy(h, r)
	return Sum(h.Sum(nil)), size, err
}

// Parts is the sum of texts with their lengths: moving text from one part to the next changes it.
func Parts(parts ...string) Sum {
	h := sha256.New()
	for _, part := range parts {
		_, _ = fmt.Fprintf(h, "%d:%s", len(part), part) // a hash does not fail
	}
	return Sum(h.Sum(nil))
}
