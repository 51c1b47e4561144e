// Package userprogram runs a program of the user's that judges: what it is to judge is its stdin, as JSON, and its
// verdict is its stdout. It computes formulas of the user's too: arithmetic over what an episode came to, in the
// language of github.com/expr-lang/expr.
package userprogram

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Time is how long a program may take where nobody says.
const Time = time.Minute

// mostOutput is how many bytes of what a program writes are kept.
const mostOutput = 64 << 10

// Program is a command and all that it sees of the world.
type Program struct {
	Command []string      // a name on the PATH of Environ, or an absolute path; then its arguments
	Environ []string      // its whole environment
	Timeout time.Duration // 0: Time
}

// Find returns the file that is run. Its error says why there is none.
func (p Program) Find() (string, error) {
	name := p.Command[0]
	if filepath.IsAbs(name) {
		if err := runs(name); err != nil {
			return "", fmt.Errorf("the program %s: %w", name, err)
		}
		return name, nil
	}
	if strings.ContainsRune(name, filepath.Separator) {
		return "", fmt.Errorf("the program %s has no folder that it is in", name)
	}
	for _, entry := range p.Environ {
		list, found := strings.CutPrefix(entry, "PATH=")
		if !found {
			continue
		}
		for _, dir := range filepath.SplitList(list) {
			if file := filepath.Join(dir, name); runs(file) == nil {
				return file, nil
			}
		}
	}
	return "", errors.New("the program " + name + " is not on PATH")
}

// runs says why a file cannot be run.
func runs(file string) error {
	info, err := os.Stat(file)
	if err == nil && !(info.Mode().IsRegular() && info.Mode()&0o111 != 0) {
		err = errors.New("it is no file that can be executed")
	}
	return err
}

// Run gives the program an input and returns what it wrote to stdout and stderr, without the space around. A program
// with a path runs in its folder, one of PATH in ours. Nothing that it started outlives it. The error is ctx's cause
// where that has ended, else one that names the program.
func (p Program) Run(ctx context.Context, input any) (out, said string, err error) {
	name := p.Command[0]
	text, err := json.Marshal(input)
	if err != nil {
		return "", "", err
	}
	limit := p.limit()
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd, err := p.command(limited)
	if err != nil {
		return "", "", err
	}
	var stdout, stderr head
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(text), &stdout, &stderr
	err = cmd.Run()
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // mostly there is nothing left
	}
	out, said = strings.TrimSpace(stdout.String()), strings.TrimSpace(stderr.String())
	switch {
	case ctx.Err() != nil:
		return "", "", context.Cause(ctx)
	case limited.Err() != nil:
		return "", "", fmt.Errorf("the program %s did not end within %s", name, limit)
	case err != nil && said != "":
		return "", "", fmt.Errorf("the program %s: %w: %s", name, err, said)
	case err != nil:
		return "", "", fmt.Errorf("the program %s: %w", name, err)
	}
	return out, said, nil
}

// command is the program in its folder, ready to start, and killed when ctx ends.
func (p Program) command(ctx context.Context) (*exec.Cmd, error) {
	path, err := p.Find()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, path, p.Command[1:]...)
	if name := p.Command[0]; filepath.IsAbs(name) {
		cmd.Dir = filepath.Dir(name)
	}
	cmd.Env = append([]string{}, p.Environ...)
	// The whole group is killed: what the program started must not outlive it, or hold its pipes.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	return cmd, nil
}

func (p Program) limit() time.Duration {
	if p.Timeout > 0 {
		return p.Timeout
	}
	return Time
}

// head keeps the first bytes of what a program writes.
type head struct{ kept []byte }

func (h *head) Write(p []byte) (int, error) {
	h.kept = append(h.kept, p[:min(len(p), mostOutput-len(h.kept))]...)
	return len(p), nil
}

func (h *head) String() string { return string(h.kept) }
