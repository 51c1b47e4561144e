//go:build soak

package tokenizer

const soak = true
