package toolset

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hone/internal/config"
	"hone/internal/console/sanitize"
	"hone/internal/host"
	"hone/internal/mcp"
)

func TestLaunchers(t *testing.T) {
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, ".npmrc"), []byte("registry = https://a.example/npm/\n"+
		"//a.example/:_authToken=hunter22\nproxy=http://me:hunter22@proxy.example\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := &host.Host{LookupEnv: func(name string) (string, bool) {
		v, ok := map[string]string{"HOME": home, "UV_DEFAULT_INDEX": "https://u:hunter22@b.example",
			"SSL_CERT_FILE": "/ca.pem", "XDG_DATA_HOME": home + "/data"}[name]
		return v, ok
	}}
	servers, err := withLaunchers(h, mcp.Config{Servers: map[string]mcp.Server{
		"npx": {Command: "npx", Args: []string{"-y", "x"}, Env: map[string]string{"npm_config_update_notifier": "mine"}},
		"uvx": {Command: "/usr/local/bin/uvx"}, "node": {Command: "node"}, "url": {URL: "http://a"}}})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]map[string]string{
		"npx": {"npm_config_cache": home + "/.npm", "npm_config_update_notifier": "mine", "npm_config_registry": "https://a.example/npm/"},
		"uvx": {"UV_CACHE_DIR": home + "/.cache/uv", "UV_PYTHON_INSTALL_DIR": home + "/data/uv/python",
			"UV_TOOL_DIR": home + "/data/uv/tools", "SSL_CERT_FILE": "/ca.pem"},
		"node": nil, "url": nil,
	} {
		if got := servers.Servers[name].Env; !maps.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	for name, want := range map[string][]string{
		"npx":  {home + "/.npm", "/e"},
		"uvx":  {home + "/.cache/uv", home + "/data/uv", "/e"},
		"node": {"/e"},
	} {
		g := Grants(h, config.DefaultSandbox(), name, servers.Servers[name], "/e", []string{"HONE_X=1", "OTHER=2"})
		if !slices.Equal(g.Write, want) || g.Network || !slices.Contains(g.Env, "HONE_X") ||
			slices.Contains(g.Env, "OTHER") {
			t.Errorf("%s: %+v", name, g)
		}
	}
}

func TestFetching(t *testing.T) {
	for line, want := range map[string]string{
		"npx -y x": "-y -y --package=x -c true",
		"npx --registry http://r @a/b@1 --port 1": "--registry http://r -y --package=@a/b@1 -c true",
		"npx -p a --package=b prog -x":            "-y --package=a --package=b -c true",
		"npx -p a -c 'prog'":                      "-y --package=a -c true",
		"npm exec -- x --flag":                    "exec -y --package=x -c true",
		"npm start":                               "",
		"npx":                                     "",
		"uvx x --local":                           "--from x python -c pass",
		"uvx --with m --from x@1.2 prog":          "--with m --from x==1.2 python -c pass",
		"uvx x@latest":                            "--from x python -c pass",
		"uvx git+https://h/r@main":                "--from git+https://h/r@main python -c pass",
		"uv tool run -p 3.12 x":                   "tool run -p 3.12 --from x python -c pass",
		"uv --directory /d run s.py --a":          "--directory /d run python -c pass",
		"uv sync":                                 "",
	} {
		words := strings.Fields(line)
		got, ok := fetching("/bin/"+words[0], words[1:])
		if text := strings.Join(got, " "); text != want || ok != (want != "") {
			t.Errorf("%s: %q, want %q", line, text, want)
		}
	}
}

func TestUngranted(t *testing.T) {
	dir := t.TempDir()
	var said strings.Builder
	h := &host.Host{Talk: sanitize.New(&said)}
	server := mcp.Server{Command: "node", Args: []string{"server.js", dir, "--flag"}}
	servers := mcp.Config{Servers: map[string]mcp.Server{"files": server}}
	warnUngrantedFolders(h, config.DefaultSandbox(), servers)
	if !strings.Contains(said.String(), "put files:"+dir+" into mcp.sandbox.write") ||
		strings.Count(said.String(), "\n") != 1 {
		t.Errorf("said %q", said.String())
	}
	said.Reset()
	warnUngrantedFolders(h, config.Sandbox{Write: []string{"files:" + filepath.Dir(dir)}}, servers)
	if said.Len() > 0 {
		t.Errorf("said %q of a folder that is granted", said.String())
	}
}

// The folder of a run's episodes is the same each time, another for another run, and refused where others could have
// made it.
func TestEpisodeFolders(t *testing.T) {
	tmp := t.TempDir()
	h := &host.Host{LookupEnv: func(name string) (string, bool) { return tmp, name == "TMPDIR" }}
	one, err := episodeFolders(h, "runs/a")
	if err != nil {
		t.Fatal(err)
	}
	if again, err := episodeFolders(h, "runs/b/../a"); again != one || err != nil {
		t.Errorf("%s, then %s, %v", one, again, err)
	}
	if other, err := episodeFolders(h, "runs/b"); other == one || err != nil {
		t.Errorf("two runs share %s, %v", other, err)
	}
	if err := os.Chmod(one, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := episodeFolders(h, "runs/a"); err == nil {
		t.Error("a folder that all may write to is taken")
	}
	if err := os.Remove(one); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(tmp, one); err != nil {
		t.Fatal(err)
	}
	if _, err := episodeFolders(h, "runs/a"); err == nil {
		t.Error("a link is taken for a folder")
	}
}
