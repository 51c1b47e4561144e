//go:build soak

package render

const soak = true
