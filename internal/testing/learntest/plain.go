//go:build !soak

package learntest

const soak = false
