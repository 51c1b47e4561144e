package packages

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A package's own list of programs names nothing outside of it.
// What to do fits what the package manager said, in the words that npm 11 and pip 24 have for it.
func TestNextFitsTheReason(t *testing.T) {
	for says, want := range map[string]string{
		"ERROR: Ignored the following versions that require a different python version: 0.1.0 Requires-Python >=3.12; 0.2.0 Requires-Python >=3.12\nERROR: No matching distribution found for mcp-datetime": "--python python3.12",
		"npm error code E404\nnpm error 404 Not Found - GET https://registry.example/mcp-server-semver":                                                                                                     "look at the package's name",
		"npm error code ETARGET\nnpm error notarget No matching version found for x@99.":                                                                                                                    "look at the version",
		"npm error code ENOTFOUND\nnpm error network request failed":                                                                                                                                        "look at the network",
		"ERROR: Could not find a version that satisfies the requirement no-such\nERROR: No matching distribution found for no-such": "look at the " +
			"package's name and version",
		"npm error request to https://registry.example/x failed, reason: getaddrinfo EAI_AGAIN registry.example": "the package " +
			"manager does not reach registry.example",
		"Failed to establish a new connection: HTTPSConnectionPool(host='pypi.example', port=443): Max retries exceeded: NewConnectionError": "the package " +
			"manager does not reach pypi.example",
		"make: *** Error 1": "--build",
	} {
		if next := (Request{}).nextFor(says); !strings.Contains(next, want) {
			t.Errorf("%s\nnext: %s", says, next)
		}
		if next := (Request{Build: true}).nextFor(says); strings.Contains(next, "--build") {
			t.Errorf("it was built already: %s", next)
		}
	}
	script := "npm error command failed\nnpm error command sh -c prebuild-install -r napi || node-gyp rebuild\n" +
		"npm error prebuild-install warn install getaddrinfo ENOTFOUND github.com\n" +
		"npm error gyp ERR! stack Error: getaddrinfo ENOTFOUND nodejs.org"
	if next := (Request{Build: true}).nextFor(script); next != "look at the network: an install script of a package "+
		"does not reach github.com, nodejs.org" {
		t.Error(next)
	}
}

// What cannot be installed leaves no folder that was not there before.
func TestFailedLeavesNoFolders(t *testing.T) {
	home := t.TempDir()
	for _, kept := range []bool{false, true} {
		if kept {
			if err := os.MkdirAll(filepath.Join(home, ".hone", "servers"), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		run := func(context.Context, *exec.Cmd, string, []string, Network) ([]byte, error) {
			return nil, errors.New("no")
		}
		if _, err := Add(t.Context(), Request{Package: "npm:x", Dir: filepath.Join(home, ".hone", "servers", "x"),
			PATH: os.Getenv("PATH")}, run); err == nil {
			t.Fatal("installed")
		}
		if _, err := os.Stat(filepath.Join(home, ".hone", "servers")); (err == nil) != kept {
			t.Errorf("kept %v: %v", kept, err)
		}
	}
}

func TestChoose(t *testing.T) {
	for _, tc := range []struct {
		bin, want string
		bins      []string
	}{
		{"", "tiny", []string{"tiny"}},
		{"", "tiny", []string{"../../../bin/sh", "tiny"}},
		{"", "server", []string{"other", "server"}},
		{"other", "other", []string{"other", "server"}},
		{"", "", []string{"../../../bin/sh"}},
		{"", "", []string{"/bin/sh", ".."}},
		{"../sh", "", []string{"../sh", "a", "b"}},
	} {
		got, err := Request{Package: "npm:@x/server", Bin: tc.bin}.choose("@x/server", tc.bins)
		if got != tc.want || (err != nil) != (tc.want == "") {
			t.Errorf("%q of %q: %q, %v", tc.bin, tc.bins, got, err)
		}
	}
}
