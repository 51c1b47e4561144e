//go:build soak

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hone/internal/toolset"
)

// What is installed is not installed twice unasked, is taken out whole, and comes back from its lock.
func TestSoakServersAddAgain(t *testing.T) {
	tinyPackages(t)
	for _, tc := range tinyKinds() {
		addTiny(t, tc)
		if code, _, stderr := sandboxedHone(t, "servers", "add", tc.pkg, "--name", tc.name, "--mcp-config",
			"sub/mcp.json"); code != 2 || !strings.Contains(stderr, "already") {
			t.Errorf("%s, a second time: exit code %d, %s", tc.pkg, code, stderr)
		}
		if code, _, stderr := sandboxedHone(t, "servers", "add", tc.pkg, "--name", tc.name, "--mcp-config",
			"sub/mcp.json", "--force", "--no-start", "--", "--flag", "${HONE_EPISODE_DIR}"); code != 0 ||
			strings.Contains(stderr, "sandbox of the servers") {
			t.Errorf("%s, in its own place: exit code %d, %s", tc.pkg, code, stderr)
		}
		if code, _, _ := sandboxedHone(t, "servers", "add", tc.pkg, "--name", tc.name, "--mcp-config", "sub/mcp.json",
			"--force", "--bin", "none"); code == 0 {
			t.Errorf("%s: there is no such program, and yet it is installed", tc.pkg)
		}
		if old, _ := filepath.Glob("sub/.hone/servers/*.old"); len(old) > 0 {
			t.Errorf("left behind %q", old)
		}
	}
	runsTiny(t)
	text := contents(t, "sub/mcp.json")
	if code, stdout, stderr := sandboxedHone(t, "servers", "add", "sub/.hone/servers/js", "--mcp-config",
		"sub/mcp.json"); code != 0 || !strings.Contains(stdout, "1 tool") || contents(t, "sub/mcp.json") != text {
		t.Errorf("from its lock: exit code %d, %s%s", code, stdout, stderr)
	}
	for _, name := range []string{"js", "py"} {
		if code, _, stderr := sandboxedHone(t, "servers", "rm", name, "--mcp-config", "sub/mcp.json"); code != 0 {
			t.Errorf("rm %s: exit code %d, %s", name, code, stderr)
		}
	}
	if left, _ := filepath.Glob("sub/.hone/servers/*"); len(left) > 0 ||
		contents(t, "sub/mcp.json") != "{\"mcpServers\": {\n  // ours\n}}\n" {
		t.Errorf("left behind %q, %q", left, contents(t, "sub/mcp.json"))
	}
	if code, _, stderr := sandboxedHone(t, "servers", "rm", "js", "--mcp-config", "sub/mcp.json"); code != 2 ||
		!strings.Contains(stderr, "there is no server") {
		t.Errorf("rm a second time: exit code %d, %s", code, stderr)
	}
}

// Each server of a list comes as far as it can, its reason is told, and no one keeps another from being tried. The
// second time nothing is installed; ls knows what was found without starting any.
func TestSoakServersTry(t *testing.T) {
	pkg := func(name, identifier, rest string) string {
		return fmt.Sprintf(`{"name": "io.example/%s", "packages": [{"registryType": "pypi", "identifier": "%s", "version": "1.2", "transport": {"type": "stdio"}%s}]}`, name, identifier, rest)
	}
	entries := `{"servers": [` + strings.Join([]string{
		pkg("good", "tiny-server", ""),
		pkg("again", "tiny-server",
			`, "packageArguments": [{"type": "named", "name": "--root", "format": "filepath", "isRequired": true}]`),
		pkg("keyed", "tiny-server",
			`, "environmentVariables": [{"name": "SOME_KEY", "isRequired": true, "isSecret": true}]`),
		pkg("missing", "tiny-server-that-is-not-there", ""),
		pkg("dies", "tiny-server", `, "packageArguments": [{"type": "positional", "value": "--die"}]`),
		`{"name": "io.example/image", "packages": [{"registryType": "oci", "identifier": "images.example.com/x/y:1", "transport": {"type": "sse"}}]}`,
	}, ",") + `]}`
	mute := `{"servers": [` +
		pkg("mute", "tiny-server", `, "packageArguments": [{"type": "positional", "value": "--mute"}]`) + `]}`
	workFolder(t, map[string]string{"entries.json": entries, "mute.json": mute})
	moody := strings.NewReplacer("def main():", "def main():\n    if '--die' in sys.argv: sys.exit('no mood today')",
		`if q["method"] == "tools/list": r =`, `if q["method"] == "tools/list" and '--mute' in sys.argv: continue
        if q["method"] == "tools/list": r =`).Replace(tinyPython)
	wheel(t, "tiny_server-1.2-py3-none-any.whl", map[string]string{"tiny.py": moody,
		"tiny_server-1.2.dist-info/entry_points.txt": "[console_scripts]\ntiny-server = tiny:main\n"})
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PIP_NO_INDEX", "1")
	t.Setenv("PIP_FIND_LINKS", here)
	args := []string{"servers", "try", "--registry", "entries.json", "--cache", "cache", "--json", "--timeout", "60s"}
	code, stdout, said := sandboxedHone(t, args...)
	var r toolset.Report
	if err := json.Unmarshal([]byte(stdout), &r); code != 0 || err != nil {
		t.Fatalf("%d %v\n%s%s", code, err, stdout, said)
	}
	want := map[string][2]string{
		"good": {toolset.Answered, ""}, "again": {toolset.Answered, ""}, "keyed": {toolset.Lacking, "SOME_KEY"},
		"missing": {toolset.NotInstalled, "tiny-server-that-is-not-there"}, "dies": {toolset.NotStarted,
			"no mood today"}, "image": {toolset.Unsupported, "serves sse by itself"},
	}
	installs := 0
	for _, x := range r.Tried {
		w := want[strings.TrimPrefix(x.Name, "io.example/")]
		if x.Outcome != w[0] || !strings.Contains(x.Why, w[1]) || w[1] == "" && x.Why != "" {
			t.Errorf("%s: %s: %s", x.Name, x.Outcome, x.Why)
		}
		if x.InstallSeconds > 0 {
			installs++
		}
	}
	if len(r.Tried) != 6 || installs != 1 || r.Tried[0].Server == nil || r.Tried[0].Server.Era != "2025-11-25" ||
		r.Tried[0].ReadySeconds <= 0 {
		t.Errorf("%d installations of one package, %+v", installs, r.Tried[0])
	}
	if len(r.Yields) != 2 || r.Yields[0] != (toolset.Yield{From: "entries.json", Kind: "pypi", Entries: 5, Installed: 3,
		Started: 2, Answered: 2}) || r.Yields[1].Kind != "oci" || r.Yields[1].Installed != 0 {
		t.Errorf("%+v", r.Yields)
	}
	r = toolset.Report{} // in 15 s it has to start: it is silent later
	code, stdout, said = sandboxedHone(t, "servers", "try", "--registry", "mute.json", "--cache", "cache", "--json",
		"--timeout", "15s")
	if err := json.Unmarshal([]byte(stdout), &r); err != nil || len(r.Tried) != 1 ||
		r.Tried[0].Outcome != toolset.NoAnswer || !strings.Contains(r.Tried[0].Why, "no answer in") {
		t.Errorf("one that does not answer: %d %v\n%s%s", code, err, stdout, said)
	}
	r = toolset.Report{}
	code, stdout, said = sandboxedHone(t, append(args, "io.example/good")...)
	if err := json.Unmarshal([]byte(stdout), &r); code != 0 || err != nil || len(r.Tried) != 1 ||
		r.Tried[0].Outcome != toolset.Answered || r.Tried[0].InstallSeconds != 0 {
		t.Errorf("a second time: %d %v\n%s%s", code, err, stdout, said)
	}
	r = toolset.Report{}
	code, stdout, said = sandboxedHone(t, append(args, "pypi:tiny-server==1.2", "io.example/dies")...)
	if err := json.Unmarshal([]byte(stdout), &r); code != 0 || err != nil || len(r.Tried) != 2 ||
		r.Tried[0].Outcome != toolset.Answered || r.Tried[0].Next != "hone servers add pypi:tiny-server==1.2" ||
		!strings.HasPrefix(r.Tried[1].Why, "server io.example/dies, connect: ") || !strings.Contains(r.Tried[1].Next,
		"mend what it says") || strings.Count(said, "no mood today") != 1 {
		t.Errorf("a package and an entry: %d %v\n%s%s", code, err, stdout, said)
	}
	if code, _, said := sandboxedHone(t, append(args, "io.example/dies")...); code != 3 ||
		!strings.Contains(said, "no server answered") || !strings.Contains(said, "mend what it says") {
		t.Errorf("none answers: %d %s", code, said)
	}
	if code, table, _ := hone(t, "", "servers", "ls", "--cache", "cache"); code != 0 ||
		!strings.Contains(table, "WHY") || !strings.Contains(table, "no mood today") {
		t.Errorf("ls does not say why: %d %s", code, table)
	}
	code, stdout, said = hone(t, "", "servers", "ls", "--cache", "cache", "--json")
	var k toolset.Known
	if err := json.Unmarshal([]byte(stdout), &k); code != 0 || err != nil || len(k.Tried) != 8 ||
		len(k.Twins) != 1 || strings.Join(k.Twins[0], " ") != "io.example/again/py_tool io.example/good/py_tool "+
		"pypi:tiny-server==1.2/py_tool" {
		t.Errorf("%d %v\n%s%s", code, err, stdout, said)
	}
	if _, err := os.Stat("mcp.json"); err == nil {
		t.Error("a trial wrote a configuration")
	}
}
