package packages

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// npm installs into Dir/node_modules and leaves npm's package-lock.json, without the registry's address.
func (r Request) npm(ctx context.Context, spec string, read []string, run Run) (Installed, error) {
	npm, err := r.find("npm")
	if err != nil {
		return Installed{}, err
	}
	if err := os.WriteFile(filepath.Join(r.Dir, "package.json"), []byte("{\"private\": true}\n"), 0o644); err != nil {
		return Installed{}, err
	}
	if len(read) > 0 {
		name, err := copyArchive(spec, r.Dir)
		if err != nil {
			return Installed{}, err
		}
		spec = "./" + name
	}
	args := []string{"install", "--no-audit", "--no-fund", "--omit=dev", "--omit-lockfile-registry-resolved",
		"--save-exact", "--ignore-scripts"}
	cmd := exec.CommandContext(ctx, npm, append(args, "--", spec)...)
	cmd.Dir = r.Dir
	if out, err := run(ctx, cmd, r.Dir, nil, Registry); err != nil {
		return Installed{}, r.installError(err, out)
	}
	in, err := r.lockNPM()
	if err != nil || !r.Build {
		return in, err
	}
	return in, r.npmBuild(ctx, run) // when all has its hash, and the lock is known to name nothing else
}

// lockNPM reads what npm installed, and refuses a package without a hash.
func (r Request) lockNPM() (Installed, error) {
	in := Installed{Lock: filepath.Join(r.Dir, npmLock)}
	lock, err := readNPM(in.Lock)
	if err != nil {
		return in, err
	}
	wanted := slices.Collect(maps.Keys(lock.Packages[""].Dependencies))
	if len(wanted) != 1 {
		return in, fmt.Errorf("npm's lock names %d packages, not one", len(wanted))
	}
	if _, err := lock.archives(r.Dir); err != nil {
		return in, err
	}
	for path, p := range lock.Packages {
		if path == "" {
			continue
		}
		in.Packages++
		if p.HasInstallScript && !r.Build {
			in.Unbuilt = append(in.Unbuilt, path[strings.LastIndex(path, "node_modules/")+len("node_modules/"):])
		}
	}
	slices.Sort(in.Unbuilt)
	in.Version = lock.Packages["node_modules/"+wanted[0]].Version
	var manifest struct {
		Name string
		Bin  json.RawMessage
	}
	if err := readJSON(filepath.Join(r.Dir, "node_modules", wanted[0], "package.json"), &manifest); err != nil {
		return in, err
	}
	bins := map[string]string{}
	if text := ""; json.Unmarshal(manifest.Bin, &text) == nil && text != "" {
		bins[manifest.Name[strings.LastIndex(manifest.Name, "/")+1:]] = text
	} else if manifest.Bin != nil && json.Unmarshal(manifest.Bin, &bins) != nil {
		return in, fmt.Errorf("the programs in the package's package.json cannot be read")
	}
	bin, err := r.choose(manifest.Name, slices.Collect(maps.Keys(bins)))
	in.Command = filepath.Join(r.Dir, "node_modules", ".bin", bin)
	return in, err
}

func readJSON(path string, v any) error {
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, v)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
