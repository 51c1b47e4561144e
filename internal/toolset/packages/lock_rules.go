package packages

import (
	"bytes"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"hone/internal/fault"
)

// A lock comes from whoever made the folder. It is held to this before a package manager reads it, since with --build
// what it names runs scripts that have the network: each package has a hash, comes from a registry or is a packed
// file of the lock's own folder, and goes where npm puts packages.

// npm reads the folder's lock into l, with the packed files that it names.
func (l *Lock) npm() error {
	lock, err := readNPM(filepath.Join(l.Dir, npmLock))
	if err == nil && len(lock.Packages[""].Dependencies) != 1 {
		err = fmt.Errorf("it names %d packages to start, not one", len(lock.Packages[""].Dependencies))
	}
	if err != nil {
		return wrongLock(l.Dir, err)
	}
	for name := range lock.Packages[""].Dependencies {
		p, there := lock.Packages["node_modules/"+name]
		if !there {
			return wrongLock(l.Dir, fmt.Errorf("it has no entry of %s, which it is to start", name))
		}
		l.Package = "npm:" + name + "@" + p.Version
	}
	packed, err := lock.archives(l.Dir)
	if err != nil {
		return err
	}
	// The project's own scripts have no hash, and older npm read a second list of packages.
	if l.files["package.json"], err = without(l.files["package.json"], "scripts", "workspaces"); err == nil {
		l.files[npmLock], err = without(l.files[npmLock], "dependencies")
	}
	if err != nil {
		return wrongLock(l.Dir, err)
	}
	for name, text := range packed {
		l.files[name] = text
	}
	return nil
}

// archives are the packed files of the lock's folder that it names, by name, as its hashes say they are. It is an error
// where the lock names what has no hash or is not of the folder.
func (l npmPackages) archives(dir string) (map[string][]byte, error) {
	out := map[string][]byte{}
	for path, p := range l.Packages {
		if path == "" {
			continue
		}
		if err := p.isLocked(path); err != nil {
			return nil, err
		}
		file, is := strings.CutPrefix(p.Resolved, "file:")
		if !is {
			continue
		}
		name := strings.TrimPrefix(file, "./")
		if !packedName.MatchString(name) {
			return nil, &fault.Error{Code: fault.CodeUsage, What: "the lock names a file that is not of its folder",
				Where: filepath.Join(dir, npmLock), Why: path + " is to be unpacked from " + file,
				Next: "add the server from its packed file: hone servers add npm:FILE.tgz"}
		}
		text, err := readArchive(filepath.Join(dir, name))
		if err == nil {
			err = holdsHash(text, p.Integrity)
		}
		if err != nil {
			return nil, &fault.Error{Code: fault.CodeUsage,
				What: "a packed file is not the one that the lock was made with", Where: filepath.Join(dir,
					name), Err: err,
				Next: "put the file back, or add the server from another: hone servers add npm:FILE.tgz"}
		}
		out[name] = text
	}
	return out, nil
}

// isLocked is nil for an entry of npm's lock that says what is installed, by its hash, and where.
func (p npmPackage) isLocked(path string) error {
	if p.Link || !integrity.MatchString(p.Integrity) {
		return &fault.Error{Code: fault.CodeUsage, What: "a package has no hash, so what is installed is not locked",
			Where: path, Next: "name a released version, or a packed file (npm pack)"}
	}
	scheme, _, _ := strings.Cut(p.Resolved, ":")
	if p.Resolved != "" && !slices.Contains([]string{"https", "http", "file"}, scheme) {
		return &fault.Error{Code: fault.CodeUsage, What: "the lock names a package that is of no registry",
			Where: path, Why: "it comes from " + p.Resolved,
			Next: "name a released version, or a packed file (npm pack)"}
	}
	plain := filepath.IsLocal(path) && filepath.ToSlash(filepath.Clean(path)) == path && !strings.Contains(path, `\`)
	if !plain || !strings.HasPrefix(path, "node_modules/") {
		return &fault.Error{Code: fault.CodeUsage, What: "the lock puts a package outside of its folder", Where: path,
			Next: "add the server from its package: hone servers add npm:NAME"}
	}
	return nil
}

// integrity is a hash as npm's locks have it (W3C, Subresource Integrity). More than one may stand there, of which
// npm takes the strongest.
var integrity = regexp.MustCompile(`^(sha(1|256|384|512)-[A-Za-z0-9+/]+={0,2}(\s+|$))+$`)

// holdsHash is nil where a text has the strongest of the hashes that a lock gives it.
func holdsHash(text []byte, integrity string) error {
	sums := map[string]func() []byte{
		"sha512": func() []byte { sum := sha512.Sum512(text); return sum[:] },
		"sha384": func() []byte { sum := sha512.Sum384(text); return sum[:] },
		"sha256": func() []byte { sum := sha256.Sum256(text); return sum[:] },
	}
	for _, kind := range []string{"sha512", "sha384", "sha256"} {
		given := false
		for _, one := range strings.Fields(integrity) {
			if encoded, is := strings.CutPrefix(one, kind+"-"); is {
				want, err := base64.StdEncoding.DecodeString(encoded)
				if given = true; err == nil && bytes.Equal(want, sums[kind]()) {
					return nil
				}
			}
		}
		if given {
			return errors.New("its " + kind + " is another one")
		}
	}
	return errors.New("the lock has no strong hash of it")
}

// maxPacked bounds a packed file, in bytes: the largest packages of the registry have a tenth of it.
const maxPacked = 1 << 30

// readArchive reads a packed file: a regular one, and no link to one.
func readArchive(path string) ([]byte, error) {
	info, err := os.Lstat(path)
	if err == nil && (!info.Mode().IsRegular() || info.Size() > maxPacked) {
		err = errors.New("it is no regular file of at most 1 GiB")
	}
	if err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // read only
	return io.ReadAll(io.LimitReader(f, maxPacked))
}

// packedName is a packed file's of a lock: one word, which npm writes and reads as it stands, with an ending by which
// npm unpacks it.
var packedName = regexp.MustCompile(`^[A-Za-z0-9@_][A-Za-z0-9@_.+~-]*\.(tgz|tar\.gz|tar)$`)

// copyArchive copies a packed file into a server's folder, so that its lock names nothing outside of that, and returns
// its name there.
func copyArchive(path, dir string) (string, error) {
	name := filepath.Base(path)
	i := slices.IndexFunc(archiveEndings(), func(end string) bool { return strings.HasSuffix(name, end) })
	if i < 0 {
		return "", &fault.Error{Code: fault.CodeUsage, What: "npm unpacks no such file", Where: path,
			Next: "name a packed file, one that ends in .tgz (npm pack)"}
	}
	if !packedName.MatchString(name) {
		name = "package" + archiveEndings()[i]
	}
	file, err := filepath.EvalSymlinks(path) // the user's own words, unlike a lock's
	if err != nil {
		return "", err
	}
	text, err := readArchive(file)
	if err != nil {
		return "", err
	}
	return name, os.WriteFile(filepath.Join(dir, name), text, 0o644)
}

func archiveEndings() []string { return []string{".tgz", ".tar.gz", ".tar"} }

// without is an object without some of its members, as it was where it has none of them.
func without(text []byte, names ...string) ([]byte, error) {
	var object map[string]jsontext.Value
	if err := json.Unmarshal(text, &object); err != nil {
		return nil, err
	}
	n := len(object)
	for _, name := range names {
		delete(object, name)
	}
	if len(object) == n {
		return text, nil
	}
	return json.Marshal(object, json.Deterministic(true))
}

var (
	// requirement is a pinned package as pip reads it, with its hashes, and for which machines it is (PEP 508,
	// markers).
	requirement = regexp.MustCompile(`^[A-Za-z0-9][\w.-]*(\[[\w.,\s-]*\])?\s*==\s*[\w.!+]+(\s*;[^#@]*?)?` +
		`(\s+--hash=sha(256|384|512):[0-9a-fA-F]+)+$`)
	comment = regexp.MustCompile(`(^|\s)#.*`)
)

// checkPins is nil where each line of a requirements.lock is a package of a registry, in one version and with its hash:
// pip's files may hold options too, and name files and addresses.
func checkPins(lock []byte) error {
	for line := range strings.Lines(strings.ReplaceAll(strings.ReplaceAll(string(lock), "\r\n", "\n"), "\\\n", " ")) {
		line = strings.TrimSpace(comment.ReplaceAllString(strings.TrimSpace(line), ""))
		if line != "" && !requirement.MatchString(line) {
			return fmt.Errorf("a line is no NAME==VERSION --hash=sha256:HASH: %s", line)
		}
	}
	return nil
}
