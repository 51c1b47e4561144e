//go:build !soak

package tokenizer

const soak = false
