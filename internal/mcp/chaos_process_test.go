package mcp

import (
	"bytes"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

// processBehaviours are those of a process on stdio.
func processBehaviours() []Behaviour {
	return []Behaviour{
		{Name: "stderr-flood", Only: "stdio", about: "call", do: func(r *Request) {
			chunk := bytes.Repeat([]byte("x"), 1<<20)
			for range 1 << 10 { // a gigabyte
				os.Stderr.Write(chunk)
			}
			r.Send(r.Normal)
		}},
		{Name: "closes-stdout", Only: "stdio", about: "call", do: func(*Request) { os.Stdout.Close() }},
		{Name: "ignores-the-end", Only: "stdio", start: func(*ChaosServer) { signal.Ignore(syscall.SIGTERM) }},
		{Name: "leaves-children", Only: "stdio", start: func(s *ChaosServer) {
			s.spawn(&syscall.SysProcAttr{})
			s.spawn(&syscall.SysProcAttr{Setpgid: true})
			s.spawn(&syscall.SysProcAttr{Setsid: true})
		}},
		{Name: "child-holds-stdout", Only: "stdio", about: "call", do: func(r *Request) {
			r.spawn(&syscall.SysProcAttr{Setsid: true})
			r.Crash()
		}},
	}
}

// spawn starts a process that would outlive this one.
func (s *ChaosServer) spawn(attr *syscall.SysProcAttr) {
	cmd := exec.Command("sleep", "600")
	cmd.SysProcAttr, cmd.Stdout, cmd.Stderr = attr, os.Stdout, os.Stderr
	if cmd.Start() == nil {
		s.note(cmd.Process.Pid)
	}
}
