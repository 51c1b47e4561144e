package packages

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"hone/internal/fault"
)

// Drift is where what is installed in a folder differs from the folder's lock, a text for each package; none where it
// is the same. lock is "" for a folder without a lock.
//
// Of npm's packages it compares versions, and the hashes of the archives that they were unpacked from, as npm notes
// them in node_modules/.package-lock.json. A file that was changed since has no hash there, so it is not seen. Of
// PyPI's it compares versions, and each file with its hash in RECORD (PyPA specifications, recording installed
// projects).
func Drift(dir string) (lock string, differs []string, err error) {
	switch {
	case hasFile(dir, npmLock):
		lock = filepath.Join(dir, npmLock)
		differs, err = npmDrift(dir)
	case hasFile(dir, pipLock):
		lock = filepath.Join(dir, pipLock)
		differs, err = pipDrift(dir)
	}
	slices.Sort(differs)
	return lock, differs, err
}

// npmPackages are npm's package-lock.json, and its node_modules/.package-lock.json (npm, package-lock.json,
// lockfileVersion 3).
type npmPackages struct {
	Packages map[string]npmPackage `json:"packages"`
}

type npmPackage struct {
	Version   string `json:"version"`
	Integrity string `json:"integrity"`
	Resolved  string `json:"resolved"`
	Link      bool   `json:"link"`
	Optional  bool   `json:"optional"`
	// this and the next: of who works on the project; hone installs without them
	Dev              bool              `json:"dev"`
	DevOptional      bool              `json:"devOptional"`
	HasInstallScript bool              `json:"hasInstallScript"`
	Dependencies     map[string]string `json:"dependencies"`
}

// readNPM reads a lock as npm does: a key in other letters is another key, of which npm takes no notice.
func readNPM(path string) (l npmPackages, err error) {
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &l)
	}
	if err != nil {
		return l, fmt.Errorf("%s: %w", path, err)
	}
	return l, nil
}

func npmDrift(dir string) (differs []string, err error) {
	want, err := readNPM(filepath.Join(dir, npmLock))
	if err != nil {
		return nil, err
	}
	have, err := readNPM(filepath.Join(dir, "node_modules", ".package-lock.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return []string{"nothing of it is installed"}, nil
	}
	if err != nil {
		return nil, err
	}
	for path, p := range want.Packages {
		name := packageAt(path)
		is, there := have.Packages[path]
		var manifest struct{ Version string }
		missing := errors.Is(readJSON(filepath.Join(dir, path, "package.json"), &manifest), fs.ErrNotExist)
		switch {
		case path == "" || p.Link || !strings.Contains(path, "node_modules/"):
			// the project itself, and folders of its own
		case missing && (p.Optional || p.Dev || p.DevOptional):
			// npm leaves an optional one out where the machine is not made for it
		case missing || !there:
			differs = append(differs, fmt.Sprintf("%s %s is not installed", name, p.Version))
		case manifest.Version != p.Version:
			differs = append(differs, fmt.Sprintf("%s is %s, and %s in the lock", name, manifest.Version, p.Version))
		case is.Version != p.Version || is.Integrity != p.Integrity:
			differs = append(differs, fmt.Sprintf("%s %s was unpacked from another archive", name, p.Version))
		}
	}
	for path, p := range have.Packages {
		if _, known := want.Packages[path]; !known && !p.Link {
			differs = append(differs, fmt.Sprintf("%s %s is not in the lock", packageAt(path), p.Version))
		}
	}
	return differs, nil
}

// packageAt is the package that npm keeps at a path: of node_modules/a/node_modules/@b/c, @b/c.
func packageAt(path string) string {
	if at := strings.LastIndex(path, "node_modules/"); at >= 0 {
		return path[at+len("node_modules/"):]
	}
	return path
}

// ofPip are packages that a virtual environment has without being asked.
var ofPip = []string{"pip", "setuptools", "wheel"}

func pipDrift(dir string) (differs []string, err error) {
	text, err := os.ReadFile(filepath.Join(dir, pipLock))
	if err != nil {
		return nil, err
	}
	want := requirements(text)
	sites, err := fs.Glob(os.DirFS(dir), "venv/lib/python*/site-packages")
	if err != nil {
		return nil, err
	}
	if len(sites) == 0 {
		return []string{"nothing of it is installed"}, nil
	}
	site := filepath.Join(dir, sites[0])
	entries, err := os.ReadDir(site)
	if err != nil {
		return nil, err
	}
	have := map[string]bool{}
	for _, e := range entries {
		folder, is := strings.CutSuffix(e.Name(), ".dist-info")
		name, _, _ := strings.Cut(folder, "-")
		if name = normal(name); !is || slices.Contains(ofPip, name) && want[name] == "" {
			continue
		}
		have[name] = true
		version, err := versionOf(filepath.Join(site, e.Name(), "METADATA"))
		if err != nil {
			return nil, err
		}
		switch {
		case want[name] == "":
			differs = append(differs, fmt.Sprintf("%s %s is not in the lock", name, version))
		case want[name] != version:
			differs = append(differs, fmt.Sprintf("%s is %s, and %s in the lock", name, version, want[name]))
		default:
			changed, err := filesChanged(site, e.Name())
			if err != nil {
				return nil, err
			}
			if len(changed) > 0 {
				differs = append(differs, fmt.Sprintf("%s %s: %s changed since, the first is %s",
					name, version, fault.Count(len(changed), "file"), changed[0]))
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if !have[name] {
			differs = append(differs, fmt.Sprintf("%s %s is not installed", name, want[name]))
		}
	}
	return differs, nil
}

// versionOf is the version in a distribution's METADATA; "" where it has none. The name of the folder has it in another
// form.
func versionOf(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		if version, is := strings.CutPrefix(line, "Version:"); is {
			return strings.TrimSpace(version), nil
		}
	}
	return "", nil
}

// filesChanged are the files of a distribution that have another hash than its RECORD says, or are gone. Some have none
// there: what Python compiled, and RECORD itself.
func filesChanged(site, info string) (changed []string, err error) {
	f, err := os.Open(filepath.Join(site, info, "RECORD"))
	if errors.Is(err, fs.ErrNotExist) {
		return []string{info + "/RECORD"}, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	rows := csv.NewReader(f)
	rows.FieldsPerRecord = -1
	for {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			slices.Sort(changed)
			return changed, nil
		}
		if err != nil {
			return nil, err
		}
		if len(row) < 2 {
			continue
		}
		want, hashed := strings.CutPrefix(row[1], "sha256=")
		if !hashed {
			continue
		}
		got, err := hashOf(filepath.Join(site, filepath.FromSlash(row[0])))
		if err != nil {
			return nil, err
		}
		if got != want {
			changed = append(changed, row[0])
		}
	}
}

// hashOf is a file's hash as RECORD has it; "" where there is no such file.
func hashOf(path string) (string, error) {
	// opening a pipe would wait
	if info, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		return "", nil
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(sum.Sum(nil)), nil
}
