package world

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
)

// programTime is how long a program may take where the check does not say.
const programTime = time.Minute

// command runs a user's program: the trajectory is its stdin, as JSON, and its stdout is a number from 0 to 1. A program
// beside the scenarios runs in its folder, one of PATH in ours. It sees the given environment, and the episode's folder as
// HONE_EPISODE_DIR.
func (w *Watch) command(ctx context.Context, c scenario.Check, t *trajectory.Trajectory) (trajectory.Observation, error) {
	name := c.Command[0]
	if w.programs == nil {
		return trajectory.Observation{}, fmt.Errorf("programs of scenarios are not allowed to run: %s", name)
	}
	path, err := lookPath(name, w.programs)
	if err != nil {
		return trajectory.Observation{}, err
	}
	input, err := json.Marshal(t)
	if err != nil {
		return trajectory.Observation{}, err
	}
	limit := programTime
	if c.Timeout > 0 {
		limit = time.Duration(c.Timeout * float64(time.Second))
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(limited, path, c.Command[1:]...)
	if filepath.IsAbs(name) {
		cmd.Dir = filepath.Dir(name)
	}
	cmd.Env = append([]string{}, w.programs...)
	if dir := w.session.Dir(""); dir != "" {
		cmd.Env = append(cmd.Env, "HONE_EPISODE_DIR="+dir)
	}
	var out, said head
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), &out, &said
	// The whole group is killed: what the program started must not outlive it, or hold its pipes.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	err = cmd.Run()
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // mostly there is nothing left
	}
	switch {
	case ctx.Err() != nil:
		return trajectory.Observation{}, context.Cause(ctx)
	case limited.Err() != nil:
		return trajectory.Observation{}, fmt.Errorf("the program %s did not end within %s", name, limit)
	case err != nil:
		return trajectory.Observation{}, fmt.Errorf("the program %s: %w%s", name, err, after(": ", said.String()))
	}
	text := strings.TrimSpace(out.String())
	score, err := strconv.ParseFloat(text, 64)
	if err != nil || !(score >= 0 && score <= 1) {
		return trajectory.Observation{}, fmt.Errorf("the program %s writes %q, which is no score of 0 to 1%s", name, text, after("; stderr: ", said.String()))
	}
	return trajectory.Observation{Status: trajectory.Seen, Text: text, Score: &score}, nil
}

func after(before, text string) string {
	if text = strings.TrimSpace(text); text == "" {
		return ""
	}
	return before + text
}

// lookPath finds a program as PATH of its own environment says.
func lookPath(name string, environ []string) (string, error) {
	if filepath.IsAbs(name) {
		return name, nil
	}
	if strings.ContainsRune(name, filepath.Separator) {
		return "", fmt.Errorf("the program %s has no folder that it is in", name)
	}
	for _, entry := range environ {
		list, found := strings.CutPrefix(entry, "PATH=")
		if !found {
			continue
		}
		for _, dir := range filepath.SplitList(list) {
			file := filepath.Join(dir, name)
			if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
				return file, nil
			}
		}
	}
	return "", errors.New("the program " + name + " is not on PATH")
}

// head keeps the first bytes of what a program writes.
type head struct{ kept []byte }

func (h *head) Write(p []byte) (int, error) {
	const most = 4 << 10
	h.kept = append(h.kept, p[:min(len(p), most-len(h.kept))]...)
	return len(p), nil
}

func (h *head) String() string { return string(h.kept) }
