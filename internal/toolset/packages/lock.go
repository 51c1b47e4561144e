package packages

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"hone/internal/fault"
)

// Names of locks: npm's own, and the one that hone writes for pip.
const (
	npmLock = "package-lock.json"
	pipLock = "requirements.lock"
)

// Lock is what a folder's lock says: enough to install the same files once more, in another folder or on another
// machine.
type Lock struct {
	Dir string
	// that was asked for, as npm:NAME@VERSION or pypi:NAME==VERSION; pypi:== where the lock does not say it
	Package string
	kind    string            // npm or pypi
	files   map[string][]byte // by name: the lock, and the packed files of its folder that it names
}

// LockOf reads the lock of a folder. ok is false where the folder has none.
func LockOf(dir string) (l Lock, ok bool, err error) {
	if l.Dir, err = filepath.Abs(dir); err != nil || dir == "" {
		return l, false, err
	}
	for kind, names := range map[string][]string{"npm": {npmLock, "package.json"}, "pypi": {pipLock}} {
		if _, err := os.Stat(filepath.Join(l.Dir, names[0])); err != nil {
			continue
		}
		l.kind, l.files = kind, map[string][]byte{}
		for _, name := range names {
			if l.files[name], err = os.ReadFile(filepath.Join(l.Dir, name)); err != nil {
				return l, true, wrongLock(l.Dir, err)
			}
		}
	}
	switch l.kind {
	case "npm":
		err = l.npm()
	case "pypi":
		name, version := requestOf(l.files[pipLock])
		l.Package, err = "pypi:"+name+"=="+version, checkPins(l.files[pipLock])
		if err != nil {
			err = wrongLock(filepath.Join(l.Dir, pipLock), err)
		}
	}
	return l, l.kind != "", err
}

func wrongLock(dir string, err error) error {
	return &fault.Error{Code: fault.CodeUsage, What: "the lock cannot be used", Where: dir, Err: err,
		Next: "name a folder that hone servers add made, or the package itself: hone servers add npm:NAME or pypi:NAME"}
}

// Foreign are the files of the lock's folder that no installation made: the folder is not to be replaced where it has
// some.
func (l Lock) Foreign() ([]string, error) {
	entries, err := os.ReadDir(l.Dir)
	var out []string
	for _, e := range entries {
		if _, named := l.files[e.Name()]; !named && !slices.Contains([]string{npmLock, "package.json", "node_modules",
			pipLock, "venv", "constraints.txt", "hone.json"}, e.Name()) {
			out = append(out, e.Name())
		}
	}
	return out, err
}

// installLock installs what a lock says, with the hashes that it says.
func (r Request) installLock(ctx context.Context, run Run) (Installed, error) {
	for name, text := range r.Lock.files {
		if err := os.WriteFile(filepath.Join(r.Dir, name), text, 0o644); err != nil {
			return Installed{}, err
		}
	}
	if r.Lock.kind == "npm" {
		return r.npmCI(ctx, run)
	}
	return r.lockPip(ctx, run)
}

// npmCI installs what the lock in the folder says, and then runs the packages' scripts.
func (r Request) npmCI(ctx context.Context, run Run) (Installed, error) {
	npm, err := r.find("npm")
	if err != nil {
		return Installed{}, err
	}
	cmd := exec.CommandContext(ctx, npm, "ci", "--no-audit", "--no-fund", "--omit=dev", "--ignore-scripts")
	cmd.Dir = r.Dir
	if out, err := run(ctx, cmd, r.Dir, nil, Registry); err != nil {
		return Installed{}, r.installError(err, out)
	}
	in, err := r.lockNPM()
	if err != nil || !r.Build {
		return in, err
	}
	return in, r.npmBuild(ctx, run)
}

// npmBuild runs the install scripts of what is installed.
func (r Request) npmBuild(ctx context.Context, run Run) error {
	npm, err := r.find("npm")
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, npm, "rebuild", "--no-audit", "--no-fund")
	cmd.Dir = r.Dir
	if out, err := run(ctx, cmd, r.Dir, nil, Scripts); err != nil {
		return r.installError(err, out)
	}
	return nil
}

func (r Request) lockPip(ctx context.Context, run Run) (in Installed, err error) {
	python, err := r.find(r.Python)
	if err != nil {
		return in, err
	}
	venv := filepath.Join(r.Dir, "venv")
	if out, err := run(ctx, exec.CommandContext(ctx, python, "-m", "venv", venv), r.Dir, nil, NoNetwork); err != nil {
		return in, r.installError(err, out)
	}
	in.Lock = filepath.Join(r.Dir, pipLock)
	args := []string{"-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--no-deps",
		"--require-hashes"}
	if !r.Build {
		args = append(args, "--only-binary=:all:")
	}
	if out, err := run(ctx, exec.CommandContext(ctx, filepath.Join(venv, "bin", "python"),
		append(args, "--requirement", in.Lock)...), r.Dir, nil, r.network()); err != nil {
		return in, r.installError(err, out)
	}
	name, version := requestOf(r.Lock.files[pipLock])
	in.Version, in.Packages = version, len(requirements(r.Lock.files[pipLock]))
	bins, err := consoleScripts(venv, name)
	if err != nil {
		return in, err
	}
	bin, err := r.choose(name, bins)
	in.Command = filepath.Join(venv, "bin", bin)
	return in, err
}

// The first line of a requirements.lock names the package that was asked for.
const requestedMark = "# "

// requestOf is the package that a requirements.lock was made for; empty where it does not say.
func requestOf(lock []byte) (name, version string) {
	line, _, _ := strings.Cut(string(lock), "\n")
	if rest, is := strings.CutPrefix(line, requestedMark); is {
		name, version, _ = strings.Cut(strings.TrimSpace(rest), "==")
	}
	return name, version
}

// requirements are the versions of a requirements.lock by the packages' names in their normal form.
func requirements(lock []byte) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(string(lock)) {
		pinned, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name, version, ok := strings.Cut(pinned, "=="); ok && !strings.HasPrefix(line, "#") {
			out[normal(name)] = version
		}
	}
	return out
}

// normal is a distribution's name in its normal form (PyPA specifications, names and normalization).
func normal(name string) string {
	return strings.ToLower(strings.Join(strings.FieldsFunc(name,
		func(r rune) bool { return strings.ContainsRune("-_.", r) }), "-"))
}

// hasFile reports whether a folder has a file of a name.
func hasFile(dir, name string) bool {
	info, err := os.Stat(filepath.Join(dir, name))
	return err == nil && info.Mode().IsRegular()
}
