package sandbox

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Sight is what a process has in a sandbox, for a person to see.
type Sight struct {
	Level   Level
	Network bool
	Read    []string // beside the system's folders
	Write   []string
}

// Sight is what Wrap would leave to a command, which it does not change.
func (s *Sandbox) Sight(cmd *exec.Cmd, g Grants) (Sight, error) {
	if s.level == None {
		return Sight{Level: None, Network: true}, nil
	}
	p, err := newPlaces(cmd, g, s.o)
	if err != nil {
		return Sight{}, err
	}
	sight := Sight{Level: s.level, Network: g.Network, Write: slices.Compact(slices.Sorted(slices.Values(p.write)))}
	for _, path := range slices.Sorted(slices.Values(p.read)) {
		if p.hides(path) &&
			!slices.ContainsFunc(append(sight.Read, sight.Write...), func(s string) bool { return within(path, s) }) {
			sight.Read = append(sight.Read, path)
		}
	}
	return sight, nil
}

// Refusal is a path that cannot be written to, and why.
type Refusal struct{ Path, Why string }

// tries writes an empty file into each folder and adds nothing to each file, and says a line of each: "ok", or why not.
const tries = `n=$1; set -- PATHS
for p; do
  if [ -d "$p" ]; then e=$( (: > "$p/$n") 2>&1 ) && e=ok
  elif [ -f "$p" ]; then e=$( (: >> "$p") 2>&1 ) && e=ok
  else e="the sandbox hides it"; fi
  printf '%s\n' "$e" | tail -n 1
done`

// script is tries with the paths, quoted for a shell, which is read before the first is tried.
func script(paths []string) string {
	quoted := make([]string, len(paths))
	for i, path := range paths {
		quoted[i] = "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	return strings.Replace(tries, "PATHS", strings.Join(quoted, " "), 1) + "\n"
}

// Probe tries, inside, to write to folders and files that are there, and returns those where nothing was written, or
// where what was written is not there outside. It changes none of them.
func (s *Sandbox) Probe(ctx context.Context, g Grants, paths []string) ([]Refusal, error) {
	if s.level == None || len(paths) == 0 {
		return nil, nil
	}
	name := ".hone-probe-" + rand.Text()
	cmd := exec.CommandContext(ctx, "/bin/sh", "-s", name)
	cmd.Env, cmd.Dir = []string{"PATH=/usr/bin:/bin"}, "/"
	if err := s.Wrap(cmd, g); err != nil {
		return nil, err
	}
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stderr = strings.NewReader(script(paths)), &stderr // as arguments they would be shown
	out, err := cmd.Output()
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	var refused []Refusal
	for i, path := range paths {
		probe := filepath.Join(path, name)
		_, landed := os.Lstat(probe)
		isDir := false
		if info, err := os.Stat(path); err == nil {
			isDir = info.IsDir()
		}
		if landed == nil {
			if err := os.Remove(probe); err != nil {
				return nil, err
			}
		}
		switch {
		case err != nil || i >= len(lines):
			return nil, fmt.Errorf("the try to write: %w: %s", err, strings.TrimSpace(stderr.String()))
		case lines[i] != "ok":
			why := lines[i][strings.LastIndex(lines[i], ": ")+1:]
			refused = append(refused, Refusal{path, strings.TrimSpace(why)})
		case isDir && landed != nil:
			refused = append(refused, Refusal{path, "what it writes there is lost when it ends"})
		}
	}
	return refused, nil
}
