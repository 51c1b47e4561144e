package basemodel

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"hone/internal/fault"
)

// A full disk is told as such, with what takes less of it.
func TestMergeOntoAFullDisk(t *testing.T) {
	full := MergeOptions{Output: "out"}.wrapError(fmt.Errorf("write: %w", syscall.ENOSPC))
	if fault.CodeOf(full) != fault.CodeExhausted || !strings.Contains(full.Error(), "bf16") {
		t.Errorf("a full disk is %v", full)
	}
}
