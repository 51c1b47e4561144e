package stablehlo

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func keptProgram(text string) Program {
	return Program{Code: []byte(text), About: []byte(`{"Aliased":4}`)}
}

func TestPutAndGet(t *testing.T) {
	s := OpenPrograms(filepath.Join(t.TempDir(), "a", "b"), 1<<20, func(text string) { t.Error(text) })
	if _, ok := s.Get("k"); ok {
		t.Error("there is a program in a folder that is not there")
	}
	for _, want := range []string{"code", "", "\n\x00code\n", "another"} {
		s.Put("k", keptProgram(want))
		p, ok := s.Get("k")
		if !ok || p.Code == nil || string(p.Code) != want || string(p.About) != `{"Aliased":4}` {
			t.Errorf("%q: %q, %v", want, p, ok)
		}
	}
	if _, ok := s.Get("l"); ok {
		t.Error("another key has the program")
	}
	if n, size, err := ProgramUsage(s.folder); n != 1 || size < 20 || err != nil {
		t.Errorf("%d programs of %d bytes, %v", n, size, err)
	}
	s.Remove("k")
	if n, size, err := ProgramUsage(s.folder); n != 0 || size != 0 || err != nil {
		t.Errorf("%d programs of %d bytes, %v", n, size, err)
	}
}

// Every byte of a file counts, and so does its name.
func TestDamagedFiles(t *testing.T) {
	s := OpenPrograms(t.TempDir(), 1<<20, nil)
	s.Put("k", keptProgram("code"))
	whole, err := os.ReadFile(s.name("k"))
	if err != nil {
		t.Fatal(err)
	}
	put := func(what, key string, file []byte) {
		t.Helper()
		if err := os.WriteFile(s.name(key), file, 0o600); err != nil {
			t.Fatal(err)
		}
		p, ok := s.Get(key)
		if ok {
			t.Errorf("%s: %q", what, p)
		}
		if _, err := os.Stat(s.name(key)); err == nil {
			t.Errorf("%s: it is left", what)
		}
	}
	for i := range whole {
		changed := []byte(string(whole))
		changed[i] ^= 0x20
		put(fmt.Sprint("byte ", i), "k", changed)
		put(fmt.Sprint("cut off at ", i), "k", whole[:i])
	}
	put("longer", "k", append(whole, 'x'))
	put("of another key", "l", whole)
	if err := os.WriteFile(s.name("k"), whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if p, ok := s.Get("k"); !ok || string(p.Code) != "code" {
		t.Errorf("the whole file: %q, %v", p, ok)
	}
}

// What was used longest ago goes first, what is too large is not kept, and files that somebody is writing are left
// alone.
func TestLimit(t *testing.T) {
	folder := t.TempDir()
	code := strings.Repeat("x", 1000)
	s := OpenPrograms(folder, 3500, func(text string) { t.Error(text) })
	aged := func(name string, hours int) {
		t.Helper()
		at := time.Now().Add(-time.Duration(hours) * time.Hour)
		if err := os.Chtimes(name, at, at); err != nil {
			t.Fatal(err)
		}
	}
	for i, key := range []string{"a", "b", "c"} {
		s.Put(key, keptProgram(code))
		aged(s.name(key), 10-i)
	}
	for name, hours := range map[string]int{".new-1": 2, ".new-2": 0, "other": 99} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(code), 0o600); err != nil {
			t.Fatal(err)
		}
		aged(filepath.Join(folder, name), hours)
	}
	if _, ok := s.Get("a"); !ok { // it is now the one used last
		t.Error("a is gone")
	}
	s.Put("d", keptProgram(code))
	s.Put("large", keptProgram(strings.Repeat(code, 4)))
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if got := strings.Join(left, " "); got != ".new-2 a.program c.program d.program other" {
		t.Errorf("left: %s", got)
	}
}

func TestOneNotice(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var told []string
	s := OpenPrograms(filepath.Join(file, "folder"), 1<<20, func(text string) { told = append(told, text) })
	s.Put("a", keptProgram("code"))
	s.Put("b", keptProgram("code"))
	s.Unkept("it has no serialiser")
	if len(told) != 1 || !strings.Contains(told[0], "cannot be kept") {
		t.Errorf("%q", told)
	}
	OpenPrograms(filepath.Join(file, "folder"), 1<<20, nil).Put("a", keptProgram("code"))
}

// Parts are told apart wherever they are cut.
func TestKey(t *testing.T) {
	seen := map[string][]string{}
	for _, parts := range [][]string{{}, {""}, {"", ""}, {"a", "b"}, {"b", "a"}, {"ab"}, {"ab", ""}, {"a", "b", ""}} {
		k := ProgramKey(parts...)
		if other, ok := seen[k]; ok || len(k) != 64 {
			t.Errorf("%q and %q have the key %s", parts, other, k)
		}
		seen[k] = parts
	}
}
