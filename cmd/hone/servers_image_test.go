package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hone/internal/toolset"
	"hone/internal/toolset/packages"
)

const imageSum = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

// engineProgram is a program in the place of docker: it writes down how it was called and which variables a container
// would get, knows one image once that was pulled, and runs a real server as that image.
const engineProgram = `#!/bin/sh
echo "$*" >> "$HOME/engine.log"
case "$1" in
pull) case "$2" in */gone*) echo "manifest unknown" >&2; exit 1;; esac; touch "$HOME/pulled"; exit 0;;
image) case "$*" in */gone*) exit 1;; esac; [ -f "$HOME/pulled" ] || exit 1
  echo '[{"Id": "SUM", "RepoDigests": ["images.example.com/x/other@sha256:bbbb", "images.example.com/x/tiny@SUM"], "Config": {"Labels": {"org.opencontainers.image.version": "1.2"}}}]'; exit 0;;
run) shift
  while [ $# -gt 0 ]; do case "$1" in
    --env) eval "echo \"env $2=\$$2\"" >> "$HOME/engine.log"; shift 2;;
    --network|--cap-drop|--security-opt|--volume) shift 2;;
    -*) shift;;
    *) break;;
  esac; done
  shift; exec python3 "$HOME/tiny.py" "$@";;
esac
exit 64
`

func withEngine(t *testing.T, name string) (log func() string) {
	t.Helper()
	home, bin := t.TempDir(), t.TempDir()
	for path, text := range map[string]string{
		filepath.Join(bin, name):       strings.ReplaceAll(engineProgram, "SUM", imageSum),
		filepath.Join(home, "tiny.py"): tinyPython + "main()\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("HOME", home)
	withoutEngines(t, bin)
	return func() string {
		text, err := os.ReadFile(filepath.Join(home, "engine.log"))
		if err != nil {
			t.Fatal(err)
		}
		_ = os.Remove(filepath.Join(home, "engine.log"))
		return string(text)
	}
}

// withoutEngines takes the engines of this machine from PATH, and puts a folder there.
func withoutEngines(t *testing.T, bin string) {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err == nil {
		err = os.WriteFile(filepath.Join(bin, "python3"), []byte("#!/bin/sh\nexec "+python+" \"$@\"\n"), 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	dirs := slices.DeleteFunc(filepath.SplitList(os.Getenv("PATH")), func(dir string) bool {
		return slices.ContainsFunc(packages.Engines(), func(name string) bool {
			_, err := os.Stat(filepath.Join(dir, name))
			return err == nil
		})
	})
	t.Setenv("PATH", strings.Join(append([]string{bin}, dirs...), string(filepath.ListSeparator)))
}

const imageEntries = `{"servers": [
	{"name": "io.example/image", "packages": [{"registryType": "oci", "identifier": "x/tiny", "registryBaseUrl": "https://images.example.com", "version": "1.2", "transport": {"type": "stdio"},
		"runtimeArguments": [{"type": "named", "name": "-e", "value": "MODE={mode}", "variables": {"mode": {"default": "calm"}}}, {"type": "named", "name": "--privileged"}],
		"packageArguments": [{"type": "positional", "value": "--serve"}],
		"environmentVariables": [{"name": "TINY_KEY", "isRequired": true, "isSecret": true}]}]},
	{"name": "io.example/plain", "packages": [{"registryType": "oci", "identifier": "images.example.com/x/tiny:1.2", "transport": {"type": "stdio"}}]},
	{"name": "io.example/gone", "packages": [{"registryType": "oci", "identifier": "images.example.com/x/gone:1", "transport": {"type": "stdio"}}]}]}`

// An image is downloaded once, run by its hash with nothing of the machine, and gets its secret by name alone.
func TestServersAddImage(t *testing.T) {
	for _, name := range []string{"docker", "podman"} {
		t.Run(name, func(t *testing.T) {
			log := withEngine(t, name)
			workFolder(t, map[string]string{"entries.json": imageEntries})
			t.Setenv("TINY_KEY", "very-secret")
			code, stdout, said := sandboxedHone(t, "servers", "add", "io.example/image", "--registry", "entries.json",
				"--env", "TINY_KEY", "--mcp-config", "mcp.json", "--json")
			var added struct {
				Version, Lock string
				Entry         struct {
					Command string
					Args    []string
				}
			}
			if err := json.Unmarshal([]byte(stdout), &added); code != 0 || err != nil {
				t.Fatalf("%d %v\n%s%s", code, err, stdout, said)
			}
			want := strings.Fields(
				"run --rm -i --cap-drop ALL --security-opt no-new-privileges --network none --env MODE --env " +
					"TINY_KEY images.example.com/x/tiny@" + imageSum + " --serve",
			)
			if added.Entry.Command != name || !slices.Equal(added.Entry.Args, want) || added.Version != "1.2" ||
				!strings.Contains(said, "--privileged") {
				t.Errorf("%+v\n%s", added, said)
			}
			if lock, err := os.ReadFile(added.Lock); err != nil || !strings.Contains(string(lock), imageSum) {
				t.Errorf("%v: the lock is %s", err, lock)
			}
			log()
			code, stdout, said = sandboxedHone(t, "discover", "--mcp-config", "mcp.json", "--out", "catalog.json")
			if catalog, err := os.ReadFile("catalog.json"); code != 0 || err != nil ||
				!strings.Contains(string(catalog), "py_tool") {
				t.Fatalf("%d %v\n%s%s", code, err, stdout, said)
			}
			ran := log()
			if !strings.Contains(ran, strings.Join(want, " ")+"\n") ||
				!strings.Contains(ran, "env TINY_KEY=very-secret\n") || !strings.Contains(ran, "env MODE=calm\n") {
				t.Errorf("it ran %s", ran)
			}
			if text, err := os.ReadFile("mcp.json"); err != nil || strings.Contains(string(text), "very-secret") {
				t.Errorf("the entry has the secret, or is not there: %v", err)
			}
			code, stdout, said = sandboxedHone(t, "servers", "add", "oci:images.example.com/x/tiny@"+imageSum,
				"--mcp-config", "sub/mcp.json", "--host", "api.example.com", "--volume",
				"${HONE_EPISODE_DIR}:/data", "--json")
			line := strings.Join([]string{"--security-opt", "no-new-privileges", "--volume",
				"${HONE_EPISODE_DIR}:/data", "images.example.com/x/tiny@" + imageSum}, `","`)
			if entry, err := os.ReadFile("sub/mcp.json"); code != 0 || err != nil ||
				!strings.Contains(strings.Join(strings.Fields(string(entry)), ""), strings.ReplaceAll(line, " ", "")) {
				t.Errorf("%d %v %s%s%s", code, err, stdout, said, entry)
			}
			if asked := log(); strings.Contains(asked, "pull") {
				t.Errorf("an image that is there by its hash is downloaded again: %s", asked)
			}
			code, _, said = sandboxedHone(t, "discover", "--mcp-config", "sub/mcp.json", "--out", "catalog2.json")
			if ran := log(); code != 0 || !strings.Contains(ran, ":/data images.example.com") ||
				strings.Contains(ran, "--network") || !strings.Contains(said, "whole network") {
				t.Errorf("%d %s\n%s", code, said, ran)
			}
		})
	}
}

// Trials take images as they take packages; a machine without an engine is told what to install.
func TestServersTryImages(t *testing.T) {
	workFolder(t, map[string]string{"entries.json": imageEntries})
	try := func() (r toolset.Report) {
		code, stdout, said := sandboxedHone(t, "servers", "try", "--registry", "entries.json", "--cache", "cache",
			"--json", "--timeout", "60s")
		answered := strings.Contains(stdout, `"outcome": "answered"`)
		if err := json.Unmarshal([]byte(stdout), &r); code != map[bool]int{true: 0, false: 3}[answered] || err != nil ||
			len(r.Tried) != 3 {
			t.Fatalf("%d %v\n%s%s", code, err, stdout, said)
		}
		return r
	}
	withoutEngines(t, t.TempDir())
	if r := try(); r.Tried[1].Outcome != toolset.NotInstalled || !strings.Contains(r.Tried[1].Why,
		"neither docker nor podman") || !strings.Contains(r.Tried[1].Next, "apt install podman") {
		t.Errorf("without an engine: %+v", r.Tried[1])
	}
	withEngine(t, "podman")
	r := try()
	if r.Tried[0].Outcome != toolset.Lacking || !strings.Contains(r.Tried[0].Why, "TINY_KEY") ||
		r.Tried[1].Outcome != toolset.Answered || r.Tried[1].InstallSeconds <= 0 ||
		r.Tried[2].Outcome != toolset.NotInstalled || !strings.Contains(r.Tried[2].Why, "manifest unknown") {
		t.Errorf("%+v", r.Tried)
	}
	if len(r.Yields) != 1 || r.Yields[0].Kind != "oci" || r.Yields[0].Answered != 1 {
		t.Errorf("%+v", r.Yields)
	}
	code, stdout, _ := hone(t, "", "servers", "ls", "--cache", "cache")
	if code != 0 || !strings.Contains(stdout, "io.example/plain") || !strings.Contains(stdout, "answered") {
		t.Errorf("%d %s", code, stdout)
	}
}
