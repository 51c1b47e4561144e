package mcp

import (
	"bufio"
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// processID is a process for good: a pid is given again.
type processID struct {
	pid   int
	start string
}

// procStat is what /proc/PID/stat says of a process (proc_pid_stat(5)).
type procStat struct {
	id            processID
	pid           int
	parent, group int
	resident      int64 // bytes
}

// readProcesses are all processes in sight; none where there is no /proc.
func readProcesses() []procStat {
	entries, _ := os.ReadDir("/proc")
	var all []procStat
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		text, err := os.ReadFile("/proc/" + e.Name() + "/stat") // fails once it has ended
		if err != nil {
			continue
		}
		if one, ok := parseStat(pid, string(text)); ok {
			all = append(all, one)
		}
	}
	return all
}

func parseStat(pid int, text string) (procStat, bool) {
	// The name may hold anything, and stands in brackets.
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	const parent, group, start, resident = 1, 2, 19, 21
	if len(fields) <= resident {
		return procStat{}, false
	}
	number := func(i int) int {
		n, _ := strconv.Atoi(fields[i])
		return n
	}
	return procStat{id: processID{pid, fields[start]}, pid: pid, parent: number(parent), group: number(group),
		resident: int64(number(resident)) * int64(os.Getpagesize())}, true
}

// owners is to which server, by the pid of its leader, each process belongs; 0 for those of none.
type owners map[processID]int

// ownersOf tells by the process group, by the parent, and by the environment, and remembers: a process that left all of
// them is still known.
func ownersOf(processes []procStat, held map[int]*process, last owners) owners {
	byPid := map[int]procStat{}
	for _, one := range processes {
		byPid[one.pid] = one
	}
	now := owners{}
	var find func(one procStat) int
	find = func(one procStat) int {
		if leader, known := now[one.id]; known {
			return leader
		}
		now[one.id] = 0
		before, seen := last[one.id]
		for _, leader := range []int{one.pid, before, one.group} {
			if held[leader] != nil {
				now[one.id] = leader
				return leader
			}
		}
		if parent, ok := byPid[one.parent]; ok {
			now[one.id] = find(parent)
		}
		if now[one.id] == 0 && !seen {
			now[one.id] = ownerByMarker(one.pid, held)
		}
		return now[one.id]
	}
	for _, one := range processes {
		find(one)
	}
	return now
}

func ownerByMarker(pid int, held map[int]*process) int {
	env, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if !bytes.Contains(env, []byte(markerEnv)) {
		return 0
	}
	for leader, p := range held {
		if bytes.Contains(env, []byte(p.marker)) {
			return leader
		}
	}
	return 0
}

// ownMemory is what processes have of memory, in bytes: of pages that several share each counts its part, pages of
// files on a disk do not count, and of files in memory those that are open count as well as those that are mapped.
func ownMemory(processes []procStat, openInMemory int64) int64 {
	var private, mapped int64
	for _, one := range processes {
		file, err := os.Open("/proc/" + strconv.Itoa(one.pid) + "/smaps_rollup")
		if err != nil { // it does not let itself be looked at
			private += one.resident
			continue
		}
		lines := bufio.NewScanner(file)
		for lines.Scan() {
			key, value, _ := strings.Cut(lines.Text(), ":")
			kib, _ := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(value, "kB")), 10, 64)
			switch key {
			case "Pss_Anon":
				private += kib << 10
			case "Pss_Shmem":
				mapped += kib << 10
			}
		}
		file.Close()
	}
	return private + max(mapped, openInMemory)
}

// openFiles are the bytes of files that processes hold open and that have no name: those in memory (memfd_create(2)),
// and those on a disk.
func openFiles(processes []procStat) (inMemory, unlinked int64) {
	seen := map[[2]uint64]bool{}
	for _, one := range processes {
		dir := "/proc/" + strconv.Itoa(one.pid) + "/fd/"
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			to, err := os.Readlink(dir + e.Name())
			if err != nil || !strings.HasSuffix(to, " (deleted)") {
				continue
			}
			info, err := os.Stat(dir + e.Name())
			if err != nil || !info.Mode().IsRegular() {
				continue
			}
			stat, ok := info.Sys().(*syscall.Stat_t)
			if !ok || seen[[2]uint64{uint64(stat.Dev), stat.Ino}] {
				continue
			}
			seen[[2]uint64{uint64(stat.Dev), stat.Ino}] = true
			if strings.HasPrefix(to, "/memfd:") {
				inMemory += stat.Blocks * statBlock
			} else {
				unlinked += stat.Blocks * statBlock
			}
		}
	}
	return inMemory, unlinked
}

const statBlock = 512 // bytes of a block that stat(2) counts

// privateMounts are the bytes in file systems that are in memory, and that processes see and hone does not: those that
// a sandbox made for them, such as /dev/shm.
func privateMounts(processes []procStat) int64 {
	ours, seen := map[string]bool{}, map[string]bool{}
	for device := range memoryMounts("self") {
		ours[device] = true
	}
	var sum int64
	for _, one := range processes {
		pid := strconv.Itoa(one.pid)
		for device, path := range memoryMounts(pid) {
			if ours[device] || seen[device] {
				continue
			}
			if used, ok := inMemory("/proc/" + pid + "/root" + path); ok {
				seen[device] = true
				sum += used
			}
		}
	}
	return sum
}

// inMemory is what a file system in memory holds, in bytes. While a sandbox is being mounted its path leads to the
// disk, which is none.
func inMemory(path string) (used int64, ok bool) {
	const tmpfs = 0x01021994 // TMPFS_MAGIC of linux/magic.h
	var fs syscall.Statfs_t
	if syscall.Statfs(path, &fs) != nil || int64(fs.Type) != tmpfs {
		return 0, false
	}
	return int64(fs.Blocks-fs.Bfree) * int64(fs.Bsize), true
}

// memoryMounts are where a process sees file systems in memory, by their device (proc_pid_mountinfo(5)).
func memoryMounts(pid string) map[string]string {
	text, _ := os.ReadFile("/proc/" + pid + "/mountinfo")
	found := map[string]string{}
	for line := range strings.Lines(string(text)) {
		place, kind, _ := strings.Cut(line, " - ")
		fields := strings.Fields(place)
		const device, path = 2, 4
		if strings.HasPrefix(kind, "tmpfs ") && len(fields) > path {
			found[fields[device]] = fields[path]
		}
	}
	return found
}

// folderSize is what a folder takes on the disk, in bytes. It stops counting above enough.
func folderSize(folder string, enough int64) int64 {
	var sum int64
	linked := map[uint64]bool{} // of files with several names
	_ = filepath.WalkDir(folder, func(_ string, d fs.DirEntry, err error) error {
		if err != nil { // it is gone, or may not be read
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return nil
		}
		stat, ok := info.Sys().(*syscall.Stat_t)
		if !ok || !d.IsDir() && stat.Nlink > 1 && linked[stat.Ino] {
			return nil
		}
		linked[stat.Ino] = linked[stat.Ino] || stat.Nlink > 1
		if sum += stat.Blocks*statBlock + inodeBytes; sum > enough {
			return fs.SkipAll
		}
		return nil
	})
	return sum
}

const inodeBytes = 256 // of a file's own, such as ext4 has by default: empty files are not free
