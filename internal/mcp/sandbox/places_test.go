//go:build linux

package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// write makes files below dir; a text that begins with -> makes a symbolic link.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		err := error(nil)
		if target, link := strings.CutPrefix(text, "->"); link {
			err = os.Symlink(target, path)
		} else {
			err = os.WriteFile(path, []byte(text), 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// A home folder as people have it: what a server needs of it is shown, what is beside it is not.
func TestShown(t *testing.T) {
	home := t.TempDir()
	write(t, home, map[string]string{
		".ssh/id":                                    "key",
		".local/bin/uvx":                             "\x7fELF",
		".local/share/keyrings/k":                    "key",
		"bin/tool":                                   "\x7fELF",
		"venv/bin/server":                            "#!" + home + "/pythons/3.12/bin/python3\n",
		"pythons/3.12/bin/python3":                   "\x7fELF",
		"nvm/v20/bin/node":                           "\x7fELF",
		"proj/node_modules/.bin/mcp":                 "->../pkg/dist/index.js",
		"proj/node_modules/pkg/dist/index.js":        "#!/usr/bin/env -S node --no-warnings\n",
		"proj/.env":                                  "KEY=1",
		"app/package.json":                           "{}",
		"app/dist/main.js":                           "1",
		"app/dist/c.json":                            "{}",
		".pyenv/shims/python3":                       "#!/bin/sh\n",
		".pyenv/versions/3.12/bin/python3":           "\x7fELF",
		".local/share/uv/python/3.12/bin/python3.12": "\x7fELF",
		".local/bin/python3.12":                      "->../share/uv/python/3.12/bin/python3.12",
		"env/bin/python":                             "->" + home + "/.local/bin/python3.12",
		"env/pyvenv.cfg":                             "home = " + home + "/.local/bin\n",
		"env/lib/python3.12/site-packages/e.pth":     home + "/src\n",
		"src/mod.py":                                 "",
		"edited/pyproject.toml":                      "",
		"edited/.venv/bin/python":                    "->" + home + "/.local/bin/python3.12",
		"edited/.venv/pyvenv.cfg":                    "home = " + home + "/.ssh/bin\n",
		"edited/.venv/bin/odd":                       "#!/usr/bin/env -S -u ../../../.ssh/id python3\n",
		"edited/.venv/lib/python3.12/site-packages/e.pth": "import sys\n" + home + "/edited/src\n" + home + "/.ssh\n" +
			home + "/edited/../.local/share/keyrings\n",
		"edited/src/mod.py": "",
		"scripts/server.py": "print()",
		"scripts/key":       "key",
	})
	for _, tc := range []struct {
		name, program string
		args          []string
		dir           string
		want          []string
	}{
		{"npm", "proj/node_modules/.bin/mcp", nil, "", []string{"nvm/v20", "nvm/v20/bin", "proj/node_modules"}},
		{"node with a script", "nvm/v20/bin/node", []string{home + "/proj/node_modules/pkg/dist/index.js"}, "",
			[]string{"nvm/v20", "nvm/v20/bin", "proj/node_modules", "proj/node_modules/pkg/dist/index.js"}},
		{"virtual environment", "venv/bin/server", nil, "", []string{"pythons/3.12", "pythons/3.12/bin", "venv", "venv/bin"}},
		{"in .local/bin", ".local/bin/uvx", nil, "", []string{".local/bin"}},
		{"in ~/bin", "bin/tool", nil, "", []string{"bin"}},
		{"a script alone", "nvm/v20/bin/node", []string{home + "/scripts/server.py", home + "/.ssh"}, "",
			[]string{"nvm/v20", "nvm/v20/bin", "scripts/server.py"}},
		{"started in a project", "bin/tool", nil, "proj", []string{"bin", "proj"}},
		{"a package's script", "nvm/v20/bin/node", []string{home + "/app/dist/main.js"}, "", []string{"app", "app/dist/main.js", "nvm/v20", "nvm/v20/bin"}},
		{"a script by its place from where it starts", "nvm/v20/bin/node", []string{"dist/main.js"}, "app",
			[]string{"app", "app/dist/main.js", "nvm/v20", "nvm/v20/bin"}},
		{"settings of a package are no script", "bin/tool", []string{"--config=" + home + "/app/dist/c.json"}, "", []string{"app/dist/c.json", "bin"}},
		{"pyenv", ".pyenv/shims/python3", nil, "", []string{".pyenv", ".pyenv/shims"}},
		{"an environment that another program made", "env/bin/python", nil, "",
			[]string{".local/bin", ".local/share/uv/python/3.12", ".local/share/uv/python/3.12/bin", "env", "env/bin"}},
		{"a project's environment, into which a package has put files", "edited/.venv/bin/python", nil, "",
			[]string{".local/bin", ".local/share/uv/python/3.12", ".local/share/uv/python/3.12/bin", "edited/.venv",
				"edited/.venv/bin", "edited/src"}},
		{"a first line that names a file", "edited/.venv/bin/odd", nil, "", []string{"edited/.venv", "edited/.venv/bin", "edited/src"}},
		{"started in the home folder", "bin/tool", nil, ".", []string{"bin"}},
		{"none", "missing", nil, "", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cmd := &exec.Cmd{Path: filepath.Join(home, tc.program), Args: append([]string{"x"}, tc.args...),
				Dir: "/usr", Env: []string{"PATH=" + home + "/nvm/v20/bin:/usr/bin", "HOME=" + home}}
			if tc.dir != "" {
				cmd.Dir = filepath.Join(home, tc.dir)
			}
			p, err := newPlaces(cmd, Grants{}, Options{Home: home})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, path := range p.read {
				got = append(got, strings.TrimPrefix(path, home+"/"))
			}
			slices.Sort(got)
			if got = slices.Compact(got); !slices.Equal(got, tc.want) {
				t.Errorf("shown %q, want %q", got, tc.want)
			}
		})
	}
}

// Folders that are links, shown and granted, below hidden folders and elsewhere, are what they point to.
func TestLinksAreFollowed(t *testing.T) {
	for _, level := range []Level{Bubblewrap, Landlock} {
		t.Run(string(level), func(t *testing.T) {
			tg, _ := outside(t)
			s := at(t, level, options(tg))
			write(t, tg.Home, map[string]string{"lib/text": "found", "data/.keep": "", "proj/lib": "->../lib",
				"proj/data": "->../data", "granted": "->lib"})
			cmd := exec.Command("/bin/sh", "-c",
				`cat "$H/granted/text" && echo x > "$H/data/a" && echo x > "$H/proj/data/b" && cat "$H/proj/lib/text"`)
			cmd.Dir, cmd.Env = tg.Home+"/proj", []string{"PATH=" + os.Getenv("PATH"), "H=" + tg.Home}
			if err := s.Wrap(cmd,
				Grants{Env: []string{"H"}, Read: []string{tg.Home + "/granted", tg.Home + "/proj/lib"},
					Write: []string{tg.Home + "/proj/data"}}); err != nil {
				t.Fatal(err)
			}
			if out, err := cmd.CombinedOutput(); string(out) != "foundfound" || err != nil {
				t.Errorf("%q, %v", out, err)
			}
			for _, name := range []string{"a", "b"} {
				if _, err := os.Stat(tg.Home + "/data/" + name); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// A program installed below a hidden home by npm runs, and finds its libraries, at each level.
func TestInstalledInTheHomeFolder(t *testing.T) {
	for _, level := range []Level{Bubblewrap, Landlock} {
		t.Run(string(level), func(t *testing.T) {
			tg, g := outside(t)
			s := at(t, level, options(tg))
			write(t, tg.Home, map[string]string{"proj/node_modules/.bin/mcp": "->../pkg/dist/run.sh",
				"proj/node_modules/pkg/dist/run.sh": "#!/bin/sh\ncat '" + tg.Home + "/proj/node_modules/lib/text'; cat '" + tg.Home + "/.ssh/id'\n",
				"proj/node_modules/lib/text":        "found"})
			cmd := exec.Command(tg.Home + "/proj/node_modules/.bin/mcp")
			cmd.Dir, cmd.Env = tg.Own, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + tg.Home}
			if err := s.Wrap(cmd, g); err != nil {
				t.Fatal(err)
			}
			if out, err := cmd.Output(); string(out) != "found" || err == nil {
				t.Errorf("%q, %v: the library is read, the key is not", out, err)
			}
		})
	}
}

// Where a server starts, and the package it is a part of, are read but for their .env files; links in them lead nowhere
// that is hidden; and what is written where nothing is kept is refused rather than lost.
func TestProjectWithoutItsSecrets(t *testing.T) {
	const script = `for f in main.js lib/x.js .env .env.local sub/.env secrets.link key; do printf "%s:" "$f"; cat "$f" 2>/dev/null; echo; done
ls > /dev/null && echo lists
for d in "$H" "$H/app" "${H%/*}" "${H%/*}/project"; do (echo x > "$d/planted") 2>/dev/null && echo "wrote $d"; done; true`
	const want = "main.js:main\nlib/x.js:lib\n.env:\n.env.local:\nsub/.env:\nsecrets.link:\nkey:\nlists\n"
	for _, level := range []Level{Bubblewrap, Landlock} {
		t.Run(string(level), func(t *testing.T) {
			tg, g := outside(t)
			s := at(t, level, options(tg))
			write(t, tg.Home, map[string]string{
				"app/package.json": "{}", "app/main.js": "main", "app/lib/x.js": "lib", "app/.env": "KEY=1",
				"app/.env.local": "->prod", "app/prod": "KEY=2", "app/sub/.env": "KEY=3", "app/secrets.link": "->.env",
				"app/key": "->../.ssh/id",
			})
			for name, granted := range map[string]bool{"shown": false, "granted": true} {
				cmd := exec.Command("/bin/sh", "-c", script)
				cmd.Dir, cmd.Env = tg.Home+"/app", []string{"PATH=" + os.Getenv("PATH"), "H=" + tg.Home}
				own := g
				own.Env = []string{"H"}
				if granted {
					own.Read = []string{tg.Home + "/app"}
				}
				if err := s.Wrap(cmd, own); err != nil {
					t.Fatal(err)
				}
				out, err := cmd.CombinedOutput()
				for dir := tg.Home + "/app"; dir != filepath.Dir(filepath.Dir(tg.Home)); dir = filepath.Dir(dir) {
					if _, err := os.Stat(filepath.Join(dir, "planted")); err == nil {
						t.Errorf("%s: it wrote to %s", name, dir)
					}
				}
				// of a checkout there: the folders above what is shown are of the sandbox's own /tmp
				if strings.HasPrefix(tg.Home, "/tmp/") {
					out = []byte(strings.ReplaceAll(string(out), "wrote "+filepath.Dir(tg.Home)+"\n", ""))
				}
				if got := string(out); err != nil || granted != strings.Contains(got, "KEY=1") ||
					!granted && got != want || strings.Contains(got, "wrote") {
					t.Errorf("%s: %v\n%s", name, err, out)
				}
			}
		})
	}
}
