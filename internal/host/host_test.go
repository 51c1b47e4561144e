package host

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hone/internal/console/sanitize"
	"hone/internal/fault"
)

func variables(env map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) { v, ok := env[name]; return v, ok }
}

// Downloads go where --cache says, else where the XDG rules have it; a relative XDG_CACHE_HOME counts as none.
func TestStore(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name, dir string
		env       map[string]string
		want      string // "" for an error of usage
	}{
		{"named", "here", map[string]string{"HOME": "/home/u"}, "here"},
		{"XDG", "", map[string]string{"XDG_CACHE_HOME": "/x", "HOME": "/home/u"}, "/x/hone"},
		{"relative XDG", "", map[string]string{"XDG_CACHE_HOME": "x", "HOME": "/home/u"}, "/home/u/.cache/hone"},
		{"home", "", map[string]string{"HOME": "/home/u"}, "/home/u/.cache/hone"},
		{"nothing", "", nil, ""},
		{"a file", file, nil, ""},
		{"in a file", filepath.Join(file, "x"), nil, ""},
	} {
		s, err := (&Host{CacheDir: tc.dir, LookupEnv: variables(tc.env)}).Store()
		if f, ok := errors.AsType[*fault.Error](err); s.Dir != tc.want ||
			(tc.want == "") != (ok && f.Code == fault.CodeUsage) {
			t.Errorf("%s: %q, %v", tc.name, s.Dir, err)
		}
	}
}

func TestKeyIn(t *testing.T) {
	h := &Host{LookupEnv: variables(map[string]string{"SET": "k", "EMPTY": ""})}
	for variable, want := range map[string]string{"": "", "SET": "k"} {
		if key, err := h.KeyIn(variable, "it", "there", "leave it"); key != want || err != nil {
			t.Errorf("%s: %q, %v", variable, key, err)
		}
	}
	for _, variable := range []string{"EMPTY", "GONE"} {
		_, err := h.KeyIn(variable, "it", "there", "leave it")
		if f, ok := errors.AsType[*fault.Error](err); !ok || f.Where != "there" ||
			f.Next != "export "+variable+"=KEY, or leave it" {
			t.Errorf("%s: %v", variable, err)
		}
	}
}

// Without a terminal the command line is the consent, and it is said what is done.
func TestConfirm(t *testing.T) {
	var said bytes.Buffer
	if h := (&Host{Stdin: strings.NewReader("n\n"), Talk: sanitize.New(&said)}); !h.Confirm("download x") ||
		said.String() != "download x\n" {
		t.Errorf("said %q", &said)
	}
}

// What is said is one thing: lines within it are indented, controls are shown, and --quiet says nothing.
func TestSay(t *testing.T) {
	var said bytes.Buffer
	h := &Host{Talk: sanitize.New(&said), Program: "bin/hone", Verbs: []string{"runs"}}
	h.Say("%s", "a\nb\x1b[2J; hone runs ls")
	if want := "a\n    b\\u001b[2J; bin/hone runs ls\n"; said.String() != want {
		t.Errorf("said %q, want %q", &said, want)
	}
	said.Reset()
	h.Quiet = true
	if h.Say("x"); said.Len() > 0 {
		t.Errorf("said %q", &said)
	}
}
