package toolset

import (
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hone/internal/host"
	"hone/internal/mcp"
)

// What a person is told to type starts the server: a shell is given it, and must see what hone's process would.
func TestCommandLineCanBeTyped(t *testing.T) {
	dir := t.TempDir()
	template := filepath.Join(dir, "a template's")
	if err := os.Mkdir(template, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(template, "shop.db"), []byte("hats"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		server mcp.Server
		want   string
	}{
		{mcp.Server{Command: "echo", Args: []string{"a b", "it's", "$HOME", "", "--x=1"}}, "a b it's $HOME  --x=1\n"},
		{mcp.Server{Command: "cat", Args: []string{mcp.EpisodeDir + "/shop.db"}, Template: template}, "hats"},
		{
			mcp.Server{Command: "sh", Args: []string{"-c", `cat "$DB"`},
				Env: map[string]string{"DB": mcp.EpisodeDir + "/shop.db", "TOKEN": "secret-token"}, Template: template},
			"hats",
		},
		{mcp.Server{Command: "pwd", Cwd: template}, template + "\n"},
		{mcp.Server{Command: "ls", Args: []string{"-A", mcp.EpisodeDir}}, ""},
	} {
		line := CommandLine(c.server)
		out, err := exec.Command("sh", "-c", line).CombinedOutput()
		if err != nil || string(out) != c.want {
			t.Errorf("%s\nprints %q, want %q, %v", line, out, c.want, err)
		}
		if strings.Contains(line, "HONE_EPISODE_DIR") || strings.Contains(line, "secret") {
			t.Errorf("the line is %s", line)
		}
	}
}

// A server that says why it ended is mended first; the sandbox is the last to be asked.
func TestNextForServerAsksTheServerFirst(t *testing.T) {
	h := &host.Host{LookupEnv: func(string) (string, bool) { return "", false }}
	server := mcp.Server{Command: "python3", Args: []string{"server.py", "--db", mcp.EpisodeDir + "/shop.db"}}
	ended := &mcp.Failure{Server: "shop", Phase: mcp.PhaseConnect,
		Said: "stderr: ModuleNotFoundError: No module named 'mcp'", Err: errors.New("it ended")}
	for _, c := range []struct {
		name   string
		boxed  bool
		server mcp.Server
		err    error
		want   []string // in this order
		never  string
	}{
		{
			"it says why", true, server, ended, []string{"mend what it says",
				`d=$(mktemp -d) && python3 server.py --db "$d"/shop.db`, "if that works"}, "HONE_EPISODE_DIR",
		},
		{"it says nothing", true, server, errors.New("no answer"), []string{"run it by hand: d="}, "sandbox"},
		{
			"it ended for another reason", true, server, &mcp.Failure{Server: "shop", Phase: mcp.PhaseConnect,
				Said: "stderr: KeyError: 'PORT'", Err: errors.New("it ended")},
			[]string{"mend what it says"}, "sandbox",
		},
		{
			"it was kept from a file", true, server, &mcp.Failure{Server: "shop", Phase: mcp.PhaseConnect,
				Said: "stderr: EROFS: read-only file system", Err: errors.New("it ended")},
			[]string{"mend what it says", "if that works", "--sandbox off"}, "HONE_EPISODE_DIR",
		},
		{"no sandbox", false, server, errors.New("no answer"), []string{"run it by hand: d="}, "sandbox"},
		{"no program", true, server, &mcp.Failure{Phase: mcp.PhaseStart, Err: errors.New("not found")},
			[]string{"install the program", "python3 server.py"}, "sandbox"},
		{"URL", true, mcp.Server{URL: "http://localhost/mcp"}, ended, []string{"its URL and its token: http://localhost/mcp"}, "sandbox"},
	} {
		next := nextFor(h, c.server, c.err, c.boxed, nil)
		rest, ok := next, true
		for _, want := range c.want {
			if _, rest, ok = strings.Cut(rest, want); !ok {
				t.Errorf("%s: %q is not there, or not in its place, in\n%s", c.name, want, next)
			}
		}
		if strings.Contains(next, c.never) {
			t.Errorf("%s: %q is in\n%s", c.name, c.never, next)
		}
	}
}

// The sandbox is named where a server was kept from something, or said nothing at all, and where there is one.
func TestSandboxIsNamedWhereItMayBeToBlame(t *testing.T) {
	h := &host.Host{LookupEnv: func(string) (string, bool) { return "", false }}
	server := mcp.Server{Command: "python3", Args: []string{"server.py"}}
	for said, kept := range map[string]bool{
		"PermissionError: [Errno 13] Permission denied: '/etc/x'": true, "operation not permitted": true,
		"sqlite3.OperationalError: unable to open database file": true, "Error: EROFS, open '/x'": true,
		"spawn git ENOENT": true, "getaddrinfo EAI_AGAIN api.example.com": true, "Network is unreachable": true,
		"connect ECONNREFUSED 127.0.0.1:5432": true, "ModuleNotFoundError: No module named 'x'": true,
		"bash: line 1: uvx: command not found": true, "Read-only file system": true,
		"KeyError: 'PORT'": false, "SyntaxError: invalid syntax": false, "listening on port 8080": false,
		"usage: server [-h] --key KEY": false, "TypeError: x is not a function": false, "PENOENTX": false,
		"401 Unauthorized": false, "out of memory": false,
	} {
		for _, boxed := range []bool{true, false} {
			err := &mcp.Failure{Server: "s", Phase: mcp.PhaseConnect, Said: "stderr: " + said,
				Err: errors.New("it ended")}
			if next := nextFor(h, server, err, boxed, nil); strings.Contains(next, "--sandbox off") != (kept && boxed) {
				t.Errorf("%s, sandbox %v: %s", said, boxed, next)
			}
		}
	}
	silent := &mcp.Failure{Server: "s", Phase: mcp.PhaseConnect, Err: errors.New("it ended")}
	for _, boxed := range []bool{true, false} {
		if next := nextFor(h, server, silent, boxed, nil); strings.Contains(next, "--sandbox off") != boxed {
			t.Errorf("silent, sandbox %v: %s", boxed, next)
		}
	}
}

// What to do next names no value of a variable that was put into a command line or an address.
func TestNextForServerHidesSecrets(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mcp.json")
	text := `{"mcpServers": {"db": {"command": "db", "args": ["--dsn", "postgres://u:${DB_PASSWORD}@h/d", "--token", "plain-token-1", "--quoted", "${QUOTED_TOKEN}"], "cwd": "/${DB_PASSWORD}"},
		"far": {"url": "https://h/mcp?key=${DB_PASSWORD}"}}}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	values := map[string]string{"DB_PASSWORD": "sesame-open-now", "QUOTED_TOKEN": "it's a secret"}
	lookup := func(name string) (string, bool) { value, ok := values[name]; return value, ok }
	c, err := mcp.LoadConfig(file, lookup)
	if err != nil {
		t.Fatal(err)
	}
	h := &host.Host{LookupEnv: lookup}
	said := &mcp.Failure{Server: "db", Phase: mcp.PhaseConnect, Said: "stderr: no", Err: errors.New("it ended")}
	for name, err := range map[string]error{
		"it says why":     said,
		"it says nothing": errors.New("no answer"),
		"no program":      &mcp.Failure{Phase: mcp.PhaseStart, Err: errors.New("not found")},
	} {
		for _, server := range []string{"db", "far"} {
			next := nextFor(h, c.Servers[server], err, true, nil)
			if strings.Contains(next, "sesame") || strings.Contains(next, "plain-token") ||
				strings.Contains(next, "a secret") || !strings.Contains(next, "[hidden]") {
				t.Errorf("%s, %s: %s", name, server, next)
			}
		}
	}
}

// Where hone installed a server, its version is the package's too: many servers state that of their library.
func TestVersions(t *testing.T) {
	dir := t.TempDir()
	for file, text := range map[string]string{
		"py/lib/python3.11/site-packages/duck_db-1.1.dist-info/REQUESTED": "",
		"js/package.json":                       `{"dependencies": {"@us/tiny": "1.0.2"}}`,
		"js/node_modules/@us/tiny/package.json": `{"version": "1.0.2"}`, "js/node_modules/.bin/tiny": "",
	} {
		path := filepath.Join(dir, file)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700),
			os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	s := Set{
		Catalog: &mcp.Catalog{Servers: []mcp.ServerTools{
			{Name: "py", Version: "2.3"},
			{Name: "js"},
			{Name: "own", Version: "7"},
			{Name: "url", Version: "1"},
		}},
		Housing: &Housing{Servers: mcp.Config{Servers: map[string]mcp.Server{
			"py": {Command: filepath.Join(dir, "py/bin/duck")},
			"js": {Command: filepath.Join(dir, "js/node_modules/.bin/tiny")}, "own": {Command: "/usr/bin/env"},
			"url": {URL: "http://localhost/mcp"}}}},
	}
	want := map[string]string{"py": "2.3 (installed duck-db==1.1)", "js": "(installed @us/tiny@1.0.2)",
		"own": "7", "url": "1"}
	if got := s.Versions(); !maps.Equal(got, want) {
		t.Errorf("%q", got)
	}
	s.Housing = nil
	if got := s.Versions(); got["py"] != "2.3" || got["js"] != "" {
		t.Errorf("without servers: %q", got)
	}
}

// Of the packages that were asked for in an environment, the one with the program is what a server is installed from.
func TestPackageOfProgram(t *testing.T) {
	site := filepath.Join(t.TempDir(), "lib/python3.11/site-packages")
	for file, text := range map[string]string{
		"duck_db-1.1.dist-info/REQUESTED": "",
		"duck_db-1.1.dist-info/RECORD":    "../../../bin/duck-serve,sha256=x,230\n",
		"units-0.2.dist-info/REQUESTED":   "", "units-0.2.dist-info/RECORD": "../../../bin/units,sha256=y,230\n",
		"pip-24.0.dist-info/REQUESTED": "",
	} {
		path := filepath.Join(site, file)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700),
			os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for program, want := range map[string]string{
		"duck-serve": "duck_db==1.1", "units": "units==0.2", "python3": "", "serve": "",
	} {
		command := filepath.Join(site, "../../../bin", program)
		if got := installedPackage(mcp.Server{Command: command}); got != strings.ReplaceAll(want, "_", "-") {
			t.Errorf("%s is installed from %q, want %q", program, got, want)
		}
	}
}

// A Python server that ends as programs do which were written for another version of a package is given an older one:
// of the package that Python names, else of mcp, where it has a new one.
func TestOlderPackage(t *testing.T) {
	const traceback = "stderr: Traceback (most recent call last):\n      File \"/x/server.py\", line 75, in main\n"
	const gone = traceback + "    AttributeError: 'Server' object has no attribute 'list_resources'"
	program := func(packages ...string) string {
		venv := t.TempDir()
		for _, p := range packages {
			p, asked := strings.CutSuffix(p, "!")
			dir := filepath.Join(venv, "lib", "python3.11", "site-packages", p+".dist-info")
			err := os.MkdirAll(dir, 0o700)
			if err == nil && asked {
				err = os.WriteFile(filepath.Join(dir, "REQUESTED"), nil, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		return filepath.Join(venv, "bin", "serve")
	}
	const named = traceback + "ImportError: cannot import name 'eval_type_backport' from " +
		"'pydantic._internal._typing_extra' (/x/lib/python3.11/site-packages/pydantic/_internal/_typing_extra.py)"
	others := program("mcp-1.9.1", "pydantic-2.12.3", "duck_db-1.1!", "PyYAML-6.0.1", "attrs-25.0.0")
	record := filepath.Join(filepath.Dir(others), "..", "lib/python3.11/site-packages/PyYAML-6.0.1.dist-info/RECORD")
	if err := os.WriteFile(record, []byte("_yaml/__init__.py,,\nyaml/__init__.py,sha256=x,1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	new, old := program("mcp-2.3.0", "mcp_types-1.0", "duck_db-1.1!", "pip-23.2!"), program("mcp-1.9.1", "duck_db-1.1!")
	for _, c := range []struct{ name, program, said, want string }{
		{"a new mcp", new, gone, "hone servers add pypi:duck-db==1.1 --name 'a duck' --force --constraint 'mcp<2' --host api.example.com -- --db x"},
		{"arguments differ", new, traceback + "TypeError: run() takes 1 argument", "--constraint 'mcp<2'"},
		{"another error", new, traceback + "OSError: [Errno 30] Read-only file system: 'mcp.log'", ""},
		{"no traceback", new, "AttributeError: x", ""},
		{"an old mcp", old, gone, ""},
		{"no environment", "/usr/bin/python3", gone, ""},
		{
			"no environment, and it says mcp", "uvx", traceback + "    from mcp.server import FastMCP\n" +
				"    ImportError: cannot import name 'FastMCP'", "uvx --with 'mcp<2'",
		},
		{
			"another package", others, named, "the Python package pydantic than 2.12.3, which it has: " +
				"hone servers add pypi:duck-db==1.1 --name 'a duck' --force --constraint 'pydantic<2.12' --host",
		},
		{"a module of a package with another name", others, traceback + "AttributeError: module 'yaml' has no attribute 'CLoader2'", "--constraint 'PyYAML<6'"},
		{"a part of a package", others, traceback + "ModuleNotFoundError: No module named 'pydantic.v1.x'", "--constraint 'pydantic<2.12'"},
		{"a package that is not there", others, traceback + "ModuleNotFoundError: No module named 'pydantic'", ""},
		{"its own", others, traceback + "ImportError: cannot import name 'x' from 'duck_db.y' (/x)", ""},
		{"another package, no environment", "uvx", named, "uvx --with 'pydantic<VERSION'"},
	} {
		server := mcp.Server{Command: c.program, Args: []string{"--db", "x"}, Hosts: []string{"api.example.com"}}
		next := nextFor(&host.Host{}, server, &mcp.Failure{Server: "a duck", Phase: mcp.PhaseConnect, Said: c.said,
			Err: errors.New("it ended")}, false, nil)
		if !strings.Contains(next, c.want) || c.want == "" && strings.Contains(next, "older version") ||
			!strings.Contains(next, "mend what it says") {
			t.Errorf("%s: %s", c.name, next)
		}
	}
	again := func(more ...string) string { return "AGAIN " + strings.Join(more, " ") }
	if of, bound := Older(mcp.Server{Command: others}, named); of != "pydantic" || bound != "pydantic<2.12" {
		t.Errorf("%s: %s", of, bound)
	}
	ended := &mcp.Failure{Server: "a duck", Phase: mcp.PhaseConnect, Said: gone, Err: errors.New("it ended")}
	if next := nextFor(&host.Host{}, mcp.Server{Command: new}, ended, false,
		again); !strings.Contains(next, "AGAIN --constraint 'mcp<2'") || strings.Contains(next, "pypi:duck") {
		t.Errorf("right after it was added: %s", next)
	}
}
