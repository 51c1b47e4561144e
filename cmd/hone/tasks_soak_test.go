//go:build soak

package main

import (
	"maps"
	"slices"
	"testing"
)

func TestSoakTasksOnStatefulServers(t *testing.T) {
	if left := tasksOn(t, "memory", "files", "shop"); len(left) > 0 {
		t.Errorf("not played: %v", slices.Sorted(maps.Keys(left)))
	}
}
