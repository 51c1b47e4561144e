//go:build soak

package mcp

import "testing"

func TestSoakConformanceOfTheRevisionBefore(t *testing.T) { conforms(t, "2025-11-25", 18, 240) }
