package basemodel

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hone/internal/config"
	"hone/internal/host"
	"hone/internal/learn/engine/programs"
	"hone/internal/screen"
)

// Programs are kept beside the downloads, under what the compiler reads of the environment, and not where they are not to be.
func TestProgramCache(t *testing.T) {
	folder := t.TempDir()
	flags := filepath.Join(folder, "flags")
	if err := os.WriteFile(flags, []byte("--xla_of_the_file=1"), 0o600); err != nil {
		t.Fatal(err)
	}
	e := config.Default().Engine
	h := &host.Host{Talk: screen.New(io.Discard), CacheDir: folder, LookupEnv: func(string) (string, bool) { return "", false },
		Environ: []string{"XLA_FLAGS=--xla_some=1", "HOME=/home", "TF_CPP_MIN_LOG_LEVEL=3", "NVIDIA_TF32_OVERRIDE=0", "TF_CUDNN_DETERMINISTIC=1"}}
	if c := ProgramCache(h, e); c.Folder != "" {
		t.Errorf("a test keeps programs: %+v", c)
	}
	h.KeepsPrograms = true
	c := ProgramCache(h, e)
	if c.Folder != filepath.Join(folder, "programs") || c.Bytes != 4<<30 || c.Environment != "NVIDIA_TF32_OVERRIDE=0\nTF_CUDNN_DETERMINISTIC=1\nXLA_FLAGS=--xla_some=1" {
		t.Errorf("%+v", c)
	}
	h.Environ = []string{"XLA_FLAGS=" + flags}
	if c := ProgramCache(h, e); !strings.Contains(c.Environment, "--xla_of_the_file=1") {
		t.Errorf("%+v", c)
	}
	h.Environ = []string{"XLA_FLAGS=--xla_dump_to=/somewhere"}
	if c := ProgramCache(h, e); c.Folder != "" {
		t.Errorf("what is to be dumped is loaded: %+v", c)
	}
	h.Environ, e.ProgramCache = nil, 0
	if c := ProgramCache(h, e); c.Bytes != 0 {
		t.Errorf("%+v", c)
	}
	h.CacheDir, e.ProgramCache = "", 1
	if c := ProgramCache(h, e); c.Folder != "" {
		t.Errorf("without a cache folder: %+v", c)
	}
}

// Where programs cannot be kept that is one warning, with what to do.
func TestUnkeptProgramsAreAWarning(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	h := &host.Host{Talk: screen.New(&said), CacheDir: t.TempDir(), KeepsPrograms: true}
	c := ProgramCache(h, config.Default().Engine)
	s := programs.Open(filepath.Join(file, "programs"), c.Bytes, c.Notice)
	s.Put("key", programs.Program{Code: []byte("code"), About: []byte("{}")})
	s.Put("other", programs.Program{Code: []byte("code"), About: []byte("{}")})
	for _, want := range []string{"warning: compiled programs cannot be kept", "where: " + filepath.Join(file, "programs"), "why:   mkdir ", "not a directory", "next:  name a folder that can be written with --cache, or set engine.program_cache to 0"} {
		if strings.Count(said.String(), want) != 1 {
			t.Errorf("no one %q in %s", want, &said)
		}
	}
}

// The silence of compiling is told before it, of programs that take long; --quiet leaves it out.
func TestCompilingIsSaid(t *testing.T) {
	var said bytes.Buffer
	h := &host.Host{Talk: screen.New(&said)}
	for _, program := range []string{"rows", "checksum", "decode"} {
		Compiling(h)(program)
	}
	h.Quiet = true
	Compiling(h)("rows")
	if want := "compiling the program for training rows of one length: once; on a CPU it may take a minute or two\n" +
		"compiling the program for completions: once; on a CPU it may take a minute or two\n"; said.String() != want {
		t.Errorf("it says %q, want %q", &said, want)
	}
}
