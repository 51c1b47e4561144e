package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hone/internal/config"
	"hone/internal/doctor"
	"hone/internal/mcp"
	"hone/internal/mcp/sandbox"
	"hone/internal/toolset"
)

// doctored are doctor's checks of one server in a sandbox of one level.
func doctored(t *testing.T, level sandbox.Level, server string, set func(c *config.Sandbox)) []doctor.Check {
	t.Helper()
	helper, err := exec.LookPath("hone")
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	a := toyApp(&said, nil)
	a.Helper = []string{helper, sandboxVerb}
	if level == sandbox.Landlock {
		a.withEnv(map[string]string{"PATH": t.TempDir()}) // without bubblewrap on it
	}
	if err := os.WriteFile("mcp.json", []byte(server), 0o644); err != nil {
		t.Fatal(err)
	}
	c := config.Default()
	if set != nil {
		set(&c.MCP.Sandbox)
	}
	checks := doctor.Servers(t.Context(), a.Host, c, toolset.Source{File: "mcp.json"})
	if !strings.HasPrefix(checks[0].Detail, string(level)) {
		t.Skipf("no %s here: %s", level, checks[0].Detail)
	}
	return checks[1:]
}

// A server that starts, and could not write to its data, is found out by a try, with the keys that mend it; and doctor
// says what keeps it in.
func TestDoctorTriesAWrite(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Fatal(err)
	}
	memory := npmServer(t, "server-memory")
	for _, level := range []sandbox.Level{sandbox.Bubblewrap, sandbox.Landlock} {
		t.Run(string(level), func(t *testing.T) {
			workFolder(t, map[string]string{"data/old.json": ""})
			here, err := os.Getwd()
			if err != nil {
				t.Fatal(err)
			}
			entry := func(file string, starts bool) string {
				command := node
				if !starts {
					command = "false"
				}
				return `{"mcpServers": {"memory": {"command": "` + command + `", "args": ["` + memory +
					`"], "env": {"MEMORY_FILE_PATH": "` + file + `"}}}}`
			}
			for _, tc := range []struct {
				name, file string
				set        func(c *config.Sandbox)
				refused    string // the path
				next       string
			}{
				{"a file", here + "/data/old.json", nil, here + "/data/old.json",
					mcp.EpisodeDir + `/old.json" in its place, and "template": "` + here + `/data"`},
				{
					"a file that is not there yet", here + "/data/new.json",
					nil, here + "/data", mcp.EpisodeDir + `/new.json" in its place, and "template": "` + here +
						`/data" where each episode is to begin with a copy (for what it writes where it starts: "cwd": "` +
						mcp.EpisodeDir + `"); or let all episodes write to one: put memory:` + here +
						"/data into mcp.sandbox.write",
				},
				{"granted", here + "/data/new.json", func(c *config.Sandbox) { c.Write = []string{"memory:" + here + "/data"} }, "", ""},
				{"meant to be read", here + "/data/old.json", func(c *config.Sandbox) { c.Read = []string{"memory:" + here + "/data"} }, "", ""},
				{"in the episode's folder", mcp.EpisodeDir + "/new.json", nil, "", ""},
			} {
				starts := tc.name == "a file" // the whole of what doctor says, once: it starts the server five times
				checks := doctored(t, level, entry(tc.file, starts), tc.set)
				at := slices.IndexFunc(checks, func(c doctor.Check) bool {
					return strings.Contains(c.Detail, "it cannot write to ")
				})
				if (at >= 0) != (tc.refused != "") {
					t.Fatalf("%s: %+v", tc.name, checks)
				}
				if at >= 0 && (checks[at].Status != doctor.Warn || !strings.Contains(checks[at].Detail,
					"to "+tc.refused+", which") || !strings.Contains(checks[at].Next, tc.next) ||
					!strings.Contains(checks[at].Next, `"cwd"`)) {
					t.Errorf("%s: %+v", tc.name, checks[at])
				}
				if left, err := filepath.Glob("data/.hone-probe-*"); err != nil || len(left) > 0 {
					t.Errorf("%s: left behind %q, %v", tc.name, left, err)
				}
				if !starts {
					continue
				}
				if checks[0].Status != doctor.OK || !strings.Contains(checks[0].Detail, "9 tools") {
					t.Errorf("%+v", checks)
				}
				sight := checks[1].Detail
				if !strings.HasPrefix(sight, "sandbox: "+string(level)+"; network: none; reads: the system, ") ||
					!strings.Contains(sight, "/node_modules") || strings.Contains(sight, "hone-sandbox") ||
					strings.Contains(sight, here+"/data") {
					t.Errorf("%s", sight)
				}
			}
		})
	}
}

// What has no sandbox, or the network, is warned of.
func TestDoctorSaysWhatIsNotKeptIn(t *testing.T) {
	server := `{"mcpServers": {"every": {"command": "node", "args": ["` + npmServer(t, "server-everything") + `"]}}}`
	workFolder(t, nil)
	for name, tc := range map[string]struct {
		set    func(c *config.Sandbox)
		status doctor.Status
		says   string
	}{
		"exempt":  {func(c *config.Sandbox) { c.Exempt = []string{"every"} }, doctor.Warn, "sandbox: none; it has the network and every file of yours"},
		"network": {func(c *config.Sandbox) { c.Network = []string{"every"} }, doctor.OK, "network: everything, this machine's own services"},
	} {
		checks := doctored(t, sandbox.Bubblewrap, server, tc.set)
		if !slices.ContainsFunc(checks,
			func(c doctor.Check) bool { return c.Status == tc.status && strings.Contains(c.Detail, tc.says) }) {
			t.Errorf("%s: %+v", name, checks)
		}
	}
}

// A program that only a shell's settings put on PATH is found where version managers keep it, and a stand-in that
// cannot work in a sandbox is named, with the command that prints the program.
func TestVersionManagersAreNamed(t *testing.T) {
	workFolder(t, map[string]string{"home/.nvm/versions/node/v20.1.0/bin/mcp-test": "#!/bin/sh\n",
		"home/.asdf/shims/mcp-other": "#!/bin/sh\nexit 1\n"})
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod("home/.asdf/shims/mcp-other", 0o755); err != nil {
		t.Fatal(err)
	}
	helper, err := exec.LookPath("hone")
	if err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]string{
		"mcp-test":  `write "command": "` + here + `/home/.nvm/versions/node/v20.1.0/bin/mcp-test"`,
		"mcp-other": `asdf which mcp-other prints it`, "false": "mcp.sandbox.read, write and network",
	} {
		var said strings.Builder
		a := toyApp(&said,
			map[string]string{"HOME": here + "/home", "PATH": os.Getenv("PATH") + ":" + here + "/home/.asdf/shims"})
		a.Helper = []string{helper, sandboxVerb}
		if code := a.main(t.Context(), []string{"discover", "--mcp", command}); code != 5 ||
			!strings.Contains(said.String(), want) {
			t.Errorf("%s: exit code %d, want %s: %s", command, code, want, said.String())
		}
	}
}
