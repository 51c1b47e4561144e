package packages

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"hone/internal/fault"
)

// pypi installs into a virtual environment Dir/venv and leaves requirements.lock, which pip reads with
// --require-hashes.
func (r Request) pypi(ctx context.Context, spec string, read []string, run Run) (Installed, error) {
	python, err := r.find(r.Python)
	if err != nil {
		return Installed{}, err
	}
	venv, report := filepath.Join(r.Dir, "venv"), filepath.Join(r.Dir, "report.json")
	if out, err := run(ctx, exec.CommandContext(ctx, python, "-m", "venv", venv), r.Dir, nil, NoNetwork); err != nil {
		return Installed{}, r.installError(err, out)
	}
	args := []string{"-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--report", report}
	if !r.Build {
		args = append(args, "--only-binary=:all:")
	}
	if len(r.Constraints) > 0 {
		file := filepath.Join(r.Dir, "constraints.txt")
		if err := os.WriteFile(file, []byte(strings.Join(r.Constraints, "\n")+"\n"), 0o644); err != nil {
			return Installed{}, err
		}
		args = append(args, "--constraint", file)
	}
	if name, version, ok := strings.Cut(spec, "@"); ok && !filepath.IsAbs(spec) { // as npm writes it
		spec = name + "==" + version
	}
	cmd := exec.CommandContext(ctx, filepath.Join(venv, "bin", "python"), append(args, "--", spec)...)
	if out, err := run(ctx, cmd, r.Dir, read, r.network()); err != nil {
		return Installed{}, r.installError(err, out)
	}
	return r.lockPyPI(venv, report)
}

// lockPyPI writes the lock from pip's report (PyPA specifications, pip inspect and install report) and refuses a
// package without a hash.
func (r Request) lockPyPI(venv, reportPath string) (Installed, error) {
	in := Installed{Lock: filepath.Join(r.Dir, pipLock)}
	var report struct {
		Install []struct {
			Requested bool
			Metadata  struct{ Name, Version string }
			Download  struct {
				Archive struct{ Hashes map[string]string } `json:"archive_info"`
			} `json:"download_info"`
		}
	}
	if err := readJSON(reportPath, &report); err != nil {
		return in, err
	}
	name, lines := "", []string{}
	for _, p := range report.Install {
		hash := p.Download.Archive.Hashes["sha256"]
		if hash == "" {
			return in, &fault.Error{
				Code:  fault.CodeUsage,
				What:  "a package has no hash, so what is installed is not locked",
				Where: p.Metadata.Name,
				Next:  "name a released version, or a wheel",
			}
		}
		lines = append(lines, fmt.Sprintf("%s==%s --hash=sha256:%s", p.Metadata.Name, p.Metadata.Version, hash))
		if p.Requested {
			name, in.Version = p.Metadata.Name, p.Metadata.Version
		}
	}
	slices.Sort(lines)
	in.Packages = len(lines)
	if err := os.WriteFile(in.Lock, []byte(requestedMark+name+"=="+in.Version+"\n"+strings.Join(lines, "\n")+"\n"),
		0o644); err != nil {
		return in, err
	}
	if err := os.Remove(reportPath); err != nil { // it names the registry
		return in, err
	}
	bins, err := consoleScripts(venv, name)
	if err != nil {
		return in, err
	}
	bin, err := r.choose(name, bins)
	in.Command = filepath.Join(venv, "bin", bin)
	return in, err
}

// consoleScripts are the programs of an installed distribution, of all where it is not named (PyPA specifications,
// entry points).
func consoleScripts(venv, distribution string) ([]string, error) {
	files, err := fs.Glob(os.DirFS(venv), "lib/python*/site-packages/*.dist-info/entry_points.txt")
	if err != nil {
		return nil, err
	}
	var bins []string
	for _, file := range files {
		name, _, _ := strings.Cut(filepath.Base(filepath.Dir(file)), "-")
		if distribution != "" && normal(name) != normal(distribution) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(venv, file))
		if err != nil {
			return nil, err
		}
		section := ""
		for line := range strings.Lines(string(text)) {
			line = strings.TrimSpace(line)
			if strings.HasPrefix(line, "[") {
				section = line
			} else if bin, _, ok := strings.Cut(line, "="); ok && section == "[console_scripts]" {
				bins = append(bins, strings.TrimSpace(bin))
			}
		}
	}
	return bins, nil
}
