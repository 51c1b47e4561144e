//go:build soak

package learntest

const soak = true
