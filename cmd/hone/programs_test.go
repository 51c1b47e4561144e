package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"hone/internal/config"
	"hone/internal/doctor"
	"hone/internal/host"
	"hone/internal/learn/engine/programs"
	"hone/internal/learn/learntest"
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
	a := &app{Host: &host.Host{Talk: screen.New(io.Discard), CacheDir: folder, LookupEnv: func(string) (string, bool) { return "", false },
		Environ: []string{"XLA_FLAGS=--xla_some=1", "HOME=/home", "TF_CPP_MIN_LOG_LEVEL=3", "NVIDIA_TF32_OVERRIDE=0", "TF_CUDNN_DETERMINISTIC=1"}}}
	if c := a.programCache(e); c.Folder != "" {
		t.Errorf("a test keeps programs: %+v", c)
	}
	a.KeepsPrograms = true
	c := a.programCache(e)
	if c.Folder != filepath.Join(folder, "programs") || c.Bytes != 4<<30 || c.Environment != "NVIDIA_TF32_OVERRIDE=0\nTF_CUDNN_DETERMINISTIC=1\nXLA_FLAGS=--xla_some=1" {
		t.Errorf("%+v", c)
	}
	a.Environ = []string{"XLA_FLAGS=" + flags}
	if c := a.programCache(e); !strings.Contains(c.Environment, "--xla_of_the_file=1") {
		t.Errorf("%+v", c)
	}
	a.Environ = []string{"XLA_FLAGS=--xla_dump_to=/somewhere"}
	if c := a.programCache(e); c.Folder != "" {
		t.Errorf("what is to be dumped is loaded: %+v", c)
	}
	a.Environ, e.ProgramCache = nil, 0
	if c := a.programCache(e); c.Bytes != 0 {
		t.Errorf("%+v", c)
	}
	a.CacheDir, e.ProgramCache = "", 1
	if c := a.programCache(e); c.Folder != "" {
		t.Errorf("without a cache folder: %+v", c)
	}
}

// inspect logprobs says how many programs it compiled, none where an earlier one kept them.
func TestInspectLogprobsKeepsPrograms(t *testing.T) {
	plugin := learntest.Plugin()
	if plugin == "" {
		t.Skip("no plug-in is installed: hone engine install cpu")
	}
	t.Chdir(t.TempDir())
	toyModel(t, "toy.gguf")
	write(t, "hone.yaml", "engine: {plugin: "+plugin+"}\n")
	for _, want := range []string{"programs: 1 compiled, 0 that were kept", "programs: 0 compiled, 1 that were kept"} {
		var said bytes.Buffer
		a := toyApp(&said, nil)
		a.Stdin, a.KeepsPrograms = strings.NewReader(`{"ids": [1, 2, 3]}`), true
		if code := a.main(t.Context(), []string{"inspect", "logprobs", "--model", "toy.gguf", "--cache", "cache"}); code != 0 || !strings.Contains(said.String(), want) {
			t.Errorf("exit code %d, no %q in %s", code, want, &said)
		}
	}
}

// The doctor says where programs are kept, and that the plug-in's can be.
func TestDoctorLooksAtThePrograms(t *testing.T) {
	plugin := learntest.Plugin()
	if plugin == "" {
		t.Skip("no plug-in is installed: hone engine install cpu")
	}
	a := toyApp(io.Discard, nil)
	a.CacheDir, a.KeepsPrograms = t.TempDir(), true
	look := func(cache float64) doctor.Check {
		t.Helper()
		checks := a.checkPlugin(config.Engine{Backend: "cpu", Plugin: plugin, ProgramCache: cache})
		if len(checks) != 3 || checks[2].Status != doctor.OK {
			t.Fatalf("%+v", checks)
		}
		return checks[2]
	}
	folder := filepath.Join(a.CacheDir, "programs")
	if c := look(2); c.Detail != folder+": 0 programs, 0.0 MiB of at most 2.00 GiB" {
		t.Errorf("%+v", c)
	}
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "x.program"), make([]byte, 3<<19), 0o600); err != nil {
		t.Fatal(err)
	}
	if c := look(2); c.Detail != folder+": 1 program, 1.5 MiB of at most 2.00 GiB" {
		t.Errorf("%+v", c)
	}
	if c := look(0); !strings.HasPrefix(c.Detail, "none are kept") {
		t.Errorf("%+v", c)
	}
	if a.CacheDir = "/proc/self/hone"; runtime.GOOS != "linux" { // where nobody may make a file
		return
	}
	checks := a.checkPlugin(config.Engine{Backend: "cpu", Plugin: plugin, ProgramCache: 1})
	if c := checks[2]; c.Status != doctor.Warn || !strings.Contains(c.Detail, "each start compiles again: /proc/self/hone/programs cannot be written") || !strings.Contains(c.Next, "--cache") {
		t.Errorf("%+v", c)
	}
}

// Where programs cannot be kept that is one warning, with what to do.
func TestUnkeptProgramsAreAWarning(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	write(t, file, "")
	var said bytes.Buffer
	a := toyApp(&said, nil)
	a.CacheDir, a.KeepsPrograms = t.TempDir(), true
	c := a.programCache(config.Default().Engine)
	s := programs.Open(filepath.Join(file, "programs"), c.Bytes, c.Notice)
	s.Put("key", programs.Program{Code: []byte("code"), About: []byte("{}")})
	s.Put("other", programs.Program{Code: []byte("code"), About: []byte("{}")})
	for _, want := range []string{"warning: compiled programs cannot be kept", "where: " + filepath.Join(file, "programs"), "why:   mkdir ", "not a directory", "next:  name a folder that can be written with --cache, or set engine.program_cache to 0"} {
		if strings.Count(said.String(), want) != 1 {
			t.Errorf("no one %q in %s", want, &said)
		}
	}
}
