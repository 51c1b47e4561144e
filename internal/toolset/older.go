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

// misfit is how a Python program ends that was written for another version of a package: a name is gone, or takes other arguments.
var misfit = regexp.MustCompile(`(?m)^\s*(AttributeError|ImportError|ModuleNotFoundError|TypeError): `)

// fromSDK are frames of the package mcp in a traceback, and lines that import from it.
var fromSDK = regexp.MustCompile(`/site-packages/mcp/|\b(from|import) mcp\b`)

// newSDK is the first version of the Python package mcp that many servers were not written for: 2.0 took names away that 1.x has.
const newSDK = 2

// olderSDK is what to do about a Python server that ended with what its standard error says, where the version of the package mcp that was
// installed for it is the likely reason; "" where it is not. again is the line that adds the server once more; without it, one is made of
// what is known of the server.
func olderSDK(name string, s mcp.Server, said string, again func(more ...string) string) string {
	if !strings.Contains(said, "Traceback (most recent call last)") || !misfit.MatchString(said) {
		return ""
	}
	pkg, version, known := environmentOf(s.Command)
	switch {
	case known && !isNew(version):
		return ""
	case known && pkg != "" && again != nil:
		return fmt.Sprintf("the server may be written for an older version of the Python package mcp than %s, which it has: %s", version, again("--constraint", fmt.Sprintf("'mcp<%d'", newSDK)))
	case known && pkg != "":
		words := []string{"hone servers add pypi:" + pkg, "--name " + ShellWord(name), "--force", fmt.Sprintf("--constraint 'mcp<%d'", newSDK)}
		for _, host := range s.Hosts {
			words = append(words, "--host "+ShellWord(host))
		}
		if len(s.Args) > 0 {
			words = append(words, "-- ARGUMENTS, the same as in its entry")
		}
		return fmt.Sprintf("the server may be written for an older version of the Python package mcp than %s, which it has: %s", version, strings.Join(words, " "))
	case fromSDK.MatchString(said):
		return fmt.Sprintf("the server may be written for an older version of the Python package mcp: give it one below %[1]d (hone servers add --constraint 'mcp<%[1]d', uvx --with 'mcp<%[1]d')", newSDK)
	}
	return ""
}

// OlderSDK is the constraint under which a Python server may start that ended with what it said; "" where an older version of the package mcp
// is not likely to help.
func OlderSDK(s mcp.Server, said string) string {
	if olderSDK("", s, said, nil) == "" {
		return ""
	}
	return fmt.Sprintf("mcp<%d", newSDK)
}

// isNew reports a version that many servers were not written for.
func isNew(version string) bool {
	major, _, _ := strings.Cut(version, ".")
	n, err := strconv.Atoi(major)
	return err == nil && n >= newSDK
}

// environmentOf reads, of the virtual environment that a program is in, the package that was asked for and the version of its package mcp
// (PyPA specifications, recording installed projects: the file REQUESTED). known is false where there is no such environment, or no mcp.
func environmentOf(program string) (pkg, sdk string, known bool) {
	venv := os.DirFS(filepath.Join(filepath.Dir(program), ".."))
	folders, err := fs.Glob(venv, "lib/python*/site-packages/*.dist-info")
	if err != nil {
		return "", "", false
	}
	for _, folder := range folders {
		name, version, _ := strings.Cut(strings.TrimSuffix(path.Base(folder), ".dist-info"), "-")
		if name == "mcp" {
			sdk, known = version, true
		}
		if _, err := fs.Stat(venv, path.Join(folder, "REQUESTED")); err == nil && name != "pip" && name != "setuptools" {
			pkg = strings.ReplaceAll(name, "_", "-") + "==" + version
		}
	}
	return pkg, sdk, known
}
