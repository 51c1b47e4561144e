package policy

// CommonPrefix is how many items a and b begin with alike.
func CommonPrefix[T comparable](a, b []T) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
