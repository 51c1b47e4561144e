package host

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
)

// AvailableMemory returns the bytes a new process can get: what the kernel has available, or what this process's
// control group, or one above it, still allows where that is less. Page cache that can be dropped counts as available.
func AvailableMemory() (int64, error) {
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		return 0, err
	}
	defer f.Close()
	available, err := parseMeminfo(f)
	if err != nil {
		return 0, err
	}
	membership, err := os.ReadFile("/proc/self/cgroup")
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return 0, err
	}
	return min(available, memoryLimit("/sys/fs/cgroup", string(membership), available)), nil
}

// memoryLimit returns what the control groups of a process, as /proc/self/cgroup lists them, leave of memory; unlimited
// where they do not say. Both versions of control groups are read below root.
func memoryLimit(root, membership string, unlimited int64) int64 {
	least := unlimited
	for line := range strings.Lines(membership) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		folder, limit, used := root, "memory.max", "memory.current"
		if controllers := strings.Split(parts[1], ","); parts[1] != "" {
			if !slices.Contains(controllers, "memory") {
				continue
			}
			folder, limit, used = path.Join(root, "memory"), "memory.limit_in_bytes", "memory.usage_in_bytes"
		}
		// In a container the group's own folder may be the root, whatever the path says.
		for at := path.Clean("/" + parts[2]); ; at = path.Dir(at) {
			if n := readBytes(path.Join(folder, at, limit)); n > 0 {
				least = min(least,
					n-readBytes(path.Join(folder, at, used))+droppable(path.Join(folder, at, "memory.stat")))
			}
			if at == "/" {
				break
			}
		}
	}
	return max(least, 0)
}

// droppable is the page cache in a group's use that is not in active use.
func droppable(file string) int64 {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "inactive_file "); ok {
			n, err := strconv.ParseInt(strings.TrimSpace(rest), 10, 64)
			if err != nil {
				return 0
			}
			return n
		}
	}
	return 0
}

func parseMeminfo(r io.Reader) (int64, error) {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		if rest, ok := strings.CutPrefix(lines.Text(), "MemAvailable:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(rest, "kB")), 10, 64)
			return kib << 10, err
		}
	}
	return 0, fmt.Errorf("no MemAvailable in /proc/meminfo: %w", io.ErrUnexpectedEOF)
}

// readBytes returns 0 where the file is missing or says "max": then there is no limit.
func readBytes(path string) int64 {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	if err != nil {
		return 0
	}
	return n
}
