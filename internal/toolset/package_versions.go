package toolset

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"hone/internal/mcp"
)

// misfit is how a Python program ends that was written for another version of a package: a name is gone, or takes other
// arguments.
var misfit = regexp.MustCompile(`(?m)^\s*(AttributeError|ImportError|ModuleNotFoundError|TypeError): `)

// fromSDK are frames of the package mcp in a traceback, and lines that import from it.
var fromSDK = regexp.MustCompile(`/site-packages/mcp/|\b(from|import) mcp\b`)

// newSDK is the first version of the Python package mcp that many servers were not written for: 2.0 took names away
// that 1.x has.
const newSDK = 2

// blamed are the modules that Python names where one of their names is gone: "cannot import name 'x' from
// 'pydantic._internal'".
var blamed = regexp.MustCompile(`(?m)^\s*(?:ImportError: cannot import name .* from (?:partially initialized module )?|AttributeError: (?:partially initialized )?module |ModuleNotFoundError: No module named )'(\w+)([\w.]*)'`)

// misfitting is the package whose version is the likely reason that a Python server ended with what its standard error
// says, the version that is installed for it, and the one that it is to be below: the package that Python names, else
// mcp. It is "" where the version is not the likely reason; the others are where they are not known.
func misfitting(s mcp.Server, said string) (of, has, below string) {
	if !strings.Contains(said, "Traceback (most recent call last)") || !misfit.MatchString(said) {
		return "", "", ""
	}
	env := environmentOf(s.Command)
	for _, m := range blamed.FindAllStringSubmatch(said, -1) {
		missing := strings.Contains(m[0], "No module named") && m[2] == ""
		if dist, ok := env.of(m[1]); ok && dist != env.asked && dist != "mcp" && !missing {
			return dist, env.versions[dist], before(env.versions[dist])
		} else if len(env.versions) == 0 && m[1] != "mcp" && !missing &&
			strings.Contains(said, "/site-packages/"+m[1]+"/") {
			return m[1], "", ""
		}
	}
	sdk, known := env.versions["mcp"]
	if known && isNew(sdk) || !known && fromSDK.MatchString(said) {
		return "mcp", sdk, fmt.Sprint(newSDK)
	}
	return "", "", ""
}

// before is the version that a package is to be below to be older than it is by more than mended faults: 2.12 of
// 2.12.3, 3 of 3.0.1.
func before(version string) string {
	parts := strings.Split(version, ".")
	if len(parts) > 1 && parts[1] != "0" {
		return parts[0] + "." + parts[1]
	}
	return parts[0]
}

// older is what to do about a Python server that ended with what its standard error says, where the version of a
// package that was installed for it is the likely reason; "" where it is not. again is the line that adds the server
// once more; without it, one is made of what is known of the server.
func older(name string, s mcp.Server, said string, again func(more ...string) string) string {
	of, has, below := misfitting(s, said)
	if of == "" {
		return ""
	}
	why, bound := "the server may be written for an older version of the Python package "+of, ShellWord(of+"<"+below)
	switch asked := environmentOf(s.Command).requirement(); {
	case has == "" && below == "":
		return fmt.Sprintf("%s: give it one (hone servers add --constraint '%s<VERSION', uvx --with '%s<VERSION')",
			why, of, of)
	case has == "":
		return fmt.Sprintf("%s: give it one below %s (hone servers add --constraint %s, uvx --with %s)",
			why, below, bound, bound)
	case again != nil:
		return fmt.Sprintf("%s than %s, which it has: %s", why, has, again("--constraint", bound))
	case asked != "":
		words := []string{"hone servers add pypi:" + asked, "--name " + ShellWord(name), "--force",
			"--constraint " + bound}
		for _, host := range s.Hosts {
			words = append(words, "--host "+ShellWord(host))
		}
		return fmt.Sprintf("%s than %s, which it has: %s", why, has, WithArguments(strings.Join(words, " "), s.Args))
	}
	return ""
}

// Older is the constraint under which a Python server may start that ended with what it said, and the package that it
// bounds; "" where an older version of one is not likely to help, or none can be named.
func Older(s mcp.Server, said string) (of, bound string) {
	of, _, below := misfitting(s, said)
	if below == "" {
		return "", ""
	}
	return of, of + "<" + below
}

// isNew reports a version that many servers were not written for.
func isNew(version string) bool {
	major, _, _ := strings.Cut(version, ".")
	n, err := strconv.Atoi(major)
	return err == nil && n >= newSDK
}

// installedPython is what is installed in a virtual environment.
type installedPython struct {
	asked    string            // the package that was asked for
	versions map[string]string // by package, as pip has them in names of folders, with - for _
	files    fs.FS
}

// requirement is the package that was asked for as NAME==VERSION; "" where that is not known.
func (e installedPython) requirement() string {
	if e.asked == "" {
		return ""
	}
	return e.asked + "==" + e.versions[e.asked]
}

// environmentOf reads the virtual environment that a program is in (PyPA specifications, recording installed projects:
// the files REQUESTED, and RECORD, which lists the programs of a package). It is empty where there is none. Of several
// packages that were asked for, it is the one that has the program; of none where that is not known.
func environmentOf(program string) installedPython {
	e := installedPython{versions: map[string]string{}, files: os.DirFS(filepath.Join(filepath.Dir(program), ".."))}
	folders, err := fs.Glob(e.files, "lib/python*/site-packages/*.dist-info")
	if err != nil {
		return e
	}
	var asked, having []string // packages; the latter of the program
	for _, folder := range folders {
		name, version, _ := strings.Cut(strings.TrimSuffix(path.Base(folder), ".dist-info"), "-")
		name = strings.ReplaceAll(name, "_", "-")
		e.versions[name] = version
		if _, err := fs.Stat(e.files, path.Join(folder, "REQUESTED")); err == nil && name != "pip" &&
			name != "setuptools" {
			asked = append(asked, name)
			record, _ := fs.ReadFile(e.files, path.Join(folder, "RECORD")) // without it, nothing is known
			if strings.Contains(string(record), "/bin/"+filepath.Base(program)+",") {
				having = append(having, name)
			}
		}
	}
	if len(asked) > 1 {
		asked = having
	}
	if len(asked) == 1 {
		e.asked = asked[0]
	}
	return e
}

// of is the package that a module is of: the one with its name, else the one that lists its file (RECORD).
func (e installedPython) of(module string) (pkg string, ok bool) {
	for name := range e.versions {
		if strings.EqualFold(name, strings.ReplaceAll(module, "_", "-")) {
			return name, true
		}
	}
	records, _ := fs.Glob(e.files, "lib/python*/site-packages/*.dist-info/RECORD") // its error is of the pattern
	for _, record := range records {
		text, err := fs.ReadFile(e.files, record)
		if err == nil && strings.Contains("\n"+string(text), "\n"+module+"/__init__.py,") {
			name, _, _ := strings.Cut(path.Base(path.Dir(record)), "-")
			return strings.ReplaceAll(name, "_", "-"), true
		}
	}
	return "", false
}
