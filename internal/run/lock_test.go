package run

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// A process that was killed is no writer any more, although the system has not yet let go of what it held; who goes on
// with the run waits until it has.
func TestKilledProcessWritesNothing(t *testing.T) {
	d := create(t)
	dead := exec.Command("sleep", "600")
	must(t, dead.Start())
	pid := strconv.Itoa(dead.Process.Pid)
	if ending(pid) {
		t.Error("a process that lives is taken for a killed one")
	}
	must(t, os.WriteFile(filepath.Join(d.Path, lockFile), []byte(pid+"\n"), 0o600))
	if s, err := Summarize(d.Path); err != nil || s.InUseBy != pid {
		t.Errorf("in use by %q, %v; want %s", s.InUseBy, err, pid)
	}
	if _, err := Open(d.Path, OpenOptions{}); err == nil || !strings.Contains(err.Error(), "process "+pid+" holds it") {
		t.Errorf("a run that is written: %v", err)
	}
	must(t, dead.Process.Signal(syscall.SIGKILL)) // and not waited for, so it stays a zombie
	for !ending(pid) {
	}
	if s, err := Summarize(d.Path); err != nil || s.InUseBy != "" {
		t.Errorf("in use by %q, %v", s.InUseBy, err)
	}
	opened := make(chan error)
	go func() {
		again, err := Open(d.Path, OpenOptions{})
		if err == nil {
			err = again.Close()
		}
		opened <- err
	}()
	must(t, d.Close()) // what the system does in the end
	if err := <-opened; err != nil {
		t.Error(err)
	}
	_ = dead.Wait() // killed
}
