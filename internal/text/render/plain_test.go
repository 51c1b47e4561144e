//go:build !soak

package render

const soak = false
