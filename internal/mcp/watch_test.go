//go:build linux

package mcp

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/sys/unix"

	"hone/internal/episode/trajectory"
)

const mib = 1 << 20

var ( // what nothing refers to is freed and closed
	held  [][]byte
	files []*os.File
)

// hold takes memory, as many MiB as text says.
func hold(text string) {
	var n int
	fmt.Sscan(text, &n)
	page := make([]byte, n*mib)
	for i := range page {
		page[i] = byte(i)
	}
	held = append(held, page)
}

// fill writes n MiB to an open file.
func fill(file *os.File, n int) {
	files = append(files, file)
	for range n {
		if _, err := file.Write(make([]byte, mib)); err != nil {
			panic(err)
		}
	}
}

// hogs are ways to take more than a server may; each takes 160 MiB.
var hogs = map[string]func(folder string){
	"memory": func(string) { hold("160") },
	"children": func(string) {
		for range 4 {
			exec.Command(os.Args[0], "fixture", "hog", "40").Start()
		}
	},
	"daemons without the marker": func(folder string) {
		for range 4 {
			child := exec.Command(os.Args[0], "fixture", "hog", "40", folder)
			child.Env, child.SysProcAttr = []string{}, &syscall.SysProcAttr{Setsid: true}
			child.Start()
		}
	},
	"files in memory": func(string) {
		fd, err := unix.MemfdCreate("x", 0)
		if err != nil {
			panic(err)
		}
		fill(os.NewFile(uintptr(fd), "x"), 160)
	},
	"a file": func(folder string) {
		file, _ := os.Create(filepath.Join(folder, "big"))
		fill(file, 160)
	},
	"a file without a name": func(folder string) {
		file, _ := os.Create(filepath.Join(folder, "gone"))
		os.Remove(file.Name())
		fill(file, 160)
	},
	"files in folders": func(folder string) {
		for i := range 40 {
			dir := filepath.Join(folder, fmt.Sprint(i), "a")
			os.MkdirAll(dir, 0o700)
			file, _ := os.Create(filepath.Join(dir, "part"))
			fill(file, 4)
		}
	},
	"a mount of its own": func(string) {
		file, _ := os.Create("/dev/shm/big")
		fill(file, 160)
		file.Close()
	},
	"little": func(folder string) {
		hold("20")
		file, _ := os.Create(filepath.Join(folder, "small"))
		fill(file, 20)
	},
}

type hog struct {
	How string
}

func newHogs() *mcp.Server {
	s := newFixture(nil)
	mcp.AddTool(s, &mcp.Tool{Name: "take"},
		func(_ context.Context, _ *mcp.CallToolRequest, in hog) (*mcp.CallToolResult, any, error) {
			folder, _ := os.Getwd()
			if hogs[in.How](folder); in.How != "little" {
				select {}
			}
			return &mcp.CallToolResult{}, nil, nil
		})
	return s
}

func TestServersThatTakeTooMuch(t *testing.T) {
	const memory, disk = "of memory together, more than the 0.125 GiB of " + boundKey,
		"of files, more than the 0.125 GiB of " + boundKey
	for how, want := range map[string]string{
		"memory": memory, "a mount of its own": memory, "children": memory, "daemons without the marker": memory,
		"files in memory": memory, "a file": disk, "a file without a name": disk, "files in folders": disk,
		"little": "",
	} {
		t.Run(how, func(t *testing.T) { serveHog(t, how, want, nil) })
		t.Run("namespaces/"+how, func(t *testing.T) {
			if _, err := exec.LookPath("bwrap"); err != nil {
				t.Skip("bwrap is not installed")
			}
			serveHog(t, how, want, inNamespaces)
		})
	}
}

// inNamespaces gives a server process ids and a /dev/shm of its own.
func inNamespaces(_, _ string, cmd *exec.Cmd) error {
	before := []string{"bwrap", "--unshare-pid", "--die-with-parent", "--dev-bind", "/", "/", "--tmpfs", "/dev/shm",
		"--", cmd.Path}
	path, err := exec.LookPath("bwrap")
	cmd.Path, cmd.Args = path, append(before, cmd.Args[1:]...)
	return err
}

func serveHog(t *testing.T, how, want string, wrap func(server, folder string, cmd *exec.Cmd) error) {
	if wrap == nil && how == "a mount of its own" {
		t.Skip("without a sandbox there is none")
	}
	t.Parallel()
	s := self(t, "hogs")
	s.Cwd = EpisodeDir
	p := newPool(t, configOf(t, map[string]Server{"s": s}), Options{Warm: -1, MaxBytes: 128 * mib, Wrap: wrap})
	e := open(t, p, "e")
	r := ask(e, "take", fmt.Sprintf(`{"How":%q}`, how))
	if want == "" {
		watched.weigh(watched.weigh(nil))
		watched.measure()
		if r = ask(e, "add", `{"A":1,"B":2}`); r.Status != trajectory.CallOK {
			t.Errorf("what takes less was ended: %+v", r)
		}
		return
	}
	if r.Status != trajectory.CallTransportError || r.Outcome != trajectory.EnvironmentError ||
		!strings.Contains(r.Error, want) {
		t.Errorf("%+v\nwant %s", r, want)
	}
	if next := trajectory.Mending(r.Error, ""); !strings.Contains(next, boundKey) {
		t.Errorf("next: %q", next)
	}
	for isNamed(e.Dir("s")) { // a process that was killed is there for a moment
		time.Sleep(time.Millisecond)
	}
}

// isNamed reports whether a process has text in its command line.
func isNamed(text string) bool {
	return slices.ContainsFunc(readProcesses(), func(one procStat) bool {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", one.pid))
		return strings.Contains(string(line), text)
	})
}

func TestOwners(t *testing.T) {
	held := map[int]*process{10: {marker: "m"}, 20: {marker: "n"}}
	at := func(pid, parent, group int) procStat {
		return procStat{id: processID{pid, "1"}, pid: pid, parent: parent, group: group}
	}
	last := owners{{15, "1"}: 10, {16, "0"}: 10, {17, "1"}: 30}
	processes := []procStat{
		at(1, 0, 1), at(14, 13, 14), at(13, 11, 13), at(11, 10, 10), at(10, 1, 10), at(12, 1, 10), at(15, 1, 15),
		at(16, 1, 16), at(17, 1, 17), at(20, 1, 20), at(21, 20, 21), at(22, 1, 22),
	}
	now := ownersOf(processes, held, last)
	for pid, want := range map[int]int{
		1: 0, 10: 10, 11: 10, 12: 10, 13: 10, 14: 10, 15: 10, 16: 0, 17: 0, 20: 20, 21: 20, 22: 0,
	} {
		if got := now[processID{pid, "1"}]; got != want {
			t.Errorf("process %d belongs to %d, want %d", pid, got, want)
		}
	}
}

func TestParseStat(t *testing.T) {
	const rest = " S 7 8 8 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 12345 1000 3 18446744073709551615"
	for text, want := range map[string]procStat{
		"5 (sh)" + rest: {id: processID{5, "12345"}, pid: 5, parent: 7, group: 8,
			resident: 3 * int64(os.Getpagesize())},
		"5 (a) S 1 1 (b c))" + rest: {id: processID{5, "12345"}, pid: 5, parent: 7, group: 8,
			resident: 3 * int64(os.Getpagesize())},
		"5 (sh) S 7": {},
		"":           {},
	} {
		if got, _ := parseStat(5, text); got != want {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	}
}

func TestFolderSize(t *testing.T) {
	folder := t.TempDir()
	empty := folderSize(folder, 1<<40)
	if err := os.WriteFile(filepath.Join(folder, "a"), make([]byte, mib), 0o600); err != nil {
		t.Fatal(err)
	}
	one := folderSize(folder, 1<<40)
	for name, link := range map[string]func(string, string) error{"hard": os.Link, "soft": os.Symlink} {
		if err := link(filepath.Join(folder, "a"), filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	if linked := folderSize(folder, 1<<40); one-empty < mib || linked-one >= mib {
		t.Errorf("empty %d, with a file of a MiB %d, with two links to it %d", empty, one, linked)
	}
	if folderSize(filepath.Join(folder, "none"), 1<<40) != 0 {
		t.Error("no folder takes room")
	}
}
