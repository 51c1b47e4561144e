//go:build linux

package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// The try finds what a server could not write to, at each level, and leaves nothing behind.
func TestRefused(t *testing.T) {
	for _, level := range []Level{Bubblewrap, Landlock} {
		t.Run(string(level), func(t *testing.T) {
			tg, g := outside(t)
			s := at(t, level, options(tg))
			write(t, tg.Home, map[string]string{"it's here/db.sqlite": "rows", "shown/db.sqlite": "rows"})
			g.Write = append(g.Write, tg.Home+"/it's here")
			g.Read = []string{tg.Home + "/shown"}
			paths := []string{tg.Own, tg.Home + "/it's here", tg.Home + "/it's here/db.sqlite", tg.Home + "/shown",
				tg.Home + "/shown/db.sqlite", tg.Other, "/usr", "/tmp"}
			refused, err := s.Probe(t.Context(), g, paths)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, r := range refused {
				if got = append(got, r.Path); r.Why == "" {
					t.Errorf("%s: no reason", r.Path)
				}
				t.Log(r)
			}
			if !slices.Equal(got, paths[3:]) {
				t.Errorf("refused %q, want %q", got, paths[3:])
			}
			left, err := filepath.Glob(filepath.Join(filepath.Dir(tg.Home), "*", "*", ".hone-probe-*"))
			if err != nil || len(left) > 0 {
				t.Errorf("%v, %v", left, err)
			}
			for _, dir := range []string{tg.Own, tg.Other, "/usr"} {
				if left, _ := filepath.Glob(dir + "/.hone-probe-*"); len(left) > 0 {
					t.Error(left)
				}
			}
			if text, err := os.ReadFile(paths[2]); string(text) != "rows" {
				t.Errorf("%q, %v", text, err)
			}
		})
	}
}

func TestSight(t *testing.T) {
	home := t.TempDir()
	write(t, home, map[string]string{"nvm/v20/bin/node": "\x7fELF", "app/package.json": "{}", "app/dist/main.js": "1",
		"data/x": ""})
	cmd := &exec.Cmd{Path: home + "/nvm/v20/bin/node", Args: []string{"node", home + "/app/dist/main.js"}, Dir: "/usr"}
	s := &Sandbox{level: Bubblewrap, o: Options{Home: home}}
	got, err := s.Sight(cmd, Grants{Write: []string{home + "/data"}, Read: []string{home + "/data/x"}})
	if err != nil ||
		got.Level != Bubblewrap || got.Network || !slices.Equal(got.Read, []string{home + "/app", home + "/nvm/v20"}) ||
		!slices.Equal(got.Write, []string{home + "/data"}) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestElsewhere(t *testing.T) {
	home := t.TempDir()
	write(t, home, map[string]string{
		".nvm/versions/node/v9.1.0/bin/node": "", ".nvm/versions/node/v20.3.1/bin/node": "",
		".nvm/versions/node/v20.10.0/bin/node": "", ".pyenv/shims/python3": "", "proj/.venv/bin/server": "",
	})
	for program, want := range map[string]string{
		"node": home + "/.nvm/versions/node/v20.10.0/bin/node", "python3": home + "/.pyenv/shims/python3",
		"server": home + "/proj/.venv/bin/server", "none": "", "[": "",
	} {
		if got := Elsewhere(home, home+"/proj", program); got != want {
			t.Errorf("%s: %q, want %q", program, got, want)
		}
	}
	for path, want := range map[string]string{
		"/h/.asdf/shims/node": "asdf which node", "/h/.local/share/mise/shims/uv": "mise which uv",
		"/h/.volta/bin/npx": "volta which npx", "/h/.pyenv/shims/python3": "", "/usr/bin/node": "",
	} {
		if got := Shim(path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

// A stand-in as pyenv writes it runs the version that pyenv was told, at each level, under a home of its own.
func TestPyenvShimRuns(t *testing.T) {
	for _, level := range []Level{Bubblewrap, Landlock} {
		t.Run(string(level), func(t *testing.T) {
			tg, g := outside(t)
			s := at(t, level, options(tg))
			root := tg.Home + "/.pyenv"
			write(t, tg.Home, map[string]string{
				".pyenv/shims/python3": "#!/usr/bin/env sh\nexport PYENV_ROOT='" + root + "'\nexec '" + root + "/libexec/pyenv' exec \"${0##*/}\" \"$@\"\n",
				".pyenv/libexec/pyenv": "#!/bin/sh\nread v < \"$PYENV_ROOT/version\"; program=$2; " +
					"shift 2\nexec \"$PYENV_ROOT/versions/$v/bin/$program\" \"$@\"\n",
				".pyenv/version":                   "3.12\n",
				".pyenv/versions/3.12/bin/python3": "#!/bin/sh\ncat '" + root + "/versions/3.12/lib/os.py'\n",
				".pyenv/versions/3.12/lib/os.py":   "library",
			})
			cmd := exec.Command(root+"/shims/python3", "-m", "server")
			cmd.Dir, cmd.Env = tg.Own, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + tg.Own + "/home"}
			if err := s.Wrap(cmd, g); err != nil {
				t.Fatal(err)
			}
			if out, err := cmd.CombinedOutput(); string(out) != "library" || err != nil {
				t.Errorf("%q, %v", out, err)
			}
		})
	}
}
