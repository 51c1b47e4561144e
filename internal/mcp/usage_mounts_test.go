//go:build linux

package mcp

import (
	"maps"
	"slices"
	"testing"
)

// What a path leads to counts where it is in memory: while a sandbox is being mounted it leads to the disk.
func TestOnlyMemoryCounts(t *testing.T) {
	if used, ok := inMemory("/proc"); ok {
		t.Errorf("/proc holds %d bytes of memory", used)
	}
	paths := slices.Collect(maps.Values(memoryMounts("self")))
	if len(paths) == 0 {
		t.Skip("no file system in memory is mounted here")
	}
	if !slices.ContainsFunc(paths, func(path string) bool { _, ok := inMemory(path); return ok }) {
		t.Errorf("none of %q is in memory", paths)
	}
}
