//go:build soak

package mcp

import "testing"

// Each behaviour on each transport in both eras, of which TestChaosMatrix plays one over stdio.
func TestSoakChaosMatrix(t *testing.T) { playChaos(t, chaosCases()) }

// As many episodes with a real server of their own as a machine of a few cores bears at once.
func TestSoakFilesystemServerIsIsolated(t *testing.T) { isolatedFiles(t, 16) }
