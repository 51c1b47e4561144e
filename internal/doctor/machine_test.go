package doctor

import (
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"hone/internal/basemodel"
	"hone/internal/config"
	"hone/internal/console/sanitize"
	"hone/internal/host"
	"hone/internal/testing/learntest"
)

// The doctor names the plug-in a run would use, how it was found, its version and its devices.
func TestDoctorLooksAtThePlugin(t *testing.T) {
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Skip(err)
	}
	h := &host.Host{Talk: sanitize.New(io.Discard), LookupEnv: func(name string) (string, bool) {
		if name == "PJRT_PLUGIN_LIBRARY_PATH" {
			return "", true
		}
		return os.LookupEnv(name)
	}}
	h.CacheDir = filepath.Join(cache, "hone")
	if p, err := basemodel.FindPlugin(h, config.Engine{Backend: "cpu"}); err != nil ||
		p.By != "hone engine install cpu" {
		t.Skip("no plug-in is installed: hone engine install cpu")
	}
	checks := checkPlugin(h, config.Engine{Backend: "cpu"})
	if len(checks) != 3 || checks[0].Status != OK || checks[1].Status != OK ||
		!strings.Contains(checks[0].Detail, "by hone engine install cpu; PJRT API 0.") ||
		!strings.Contains(checks[1].Detail, "cpu:0") {
		t.Errorf("%+v", checks)
	}
	for name, e := range map[string]config.Engine{
		"none":       {Backend: "auto", Plugin: "none.so"},
		"no library": {Backend: "auto", Plugin: "machine_test.go"},
	} {
		if checks := checkPlugin(h, e); len(checks) != 1 || checks[0].Status != Fail || checks[0].Next == "" {
			t.Errorf("%s: %+v", name, checks)
		}
	}
	if checks := checkPlugin(h, config.Engine{Backend: "go"}); len(checks) != 1 || checks[0].Status != OK {
		t.Errorf("%+v", checks)
	}
}

// The doctor says where programs are kept, and that the plug-in's can be.
func TestDoctorLooksAtThePrograms(t *testing.T) {
	plugin := learntest.Plugin()
	if plugin == "" {
		t.Skip("no plug-in is installed: hone engine install cpu")
	}
	h := &host.Host{Talk: sanitize.New(io.Discard), LookupEnv: os.LookupEnv}
	h.CacheDir, h.KeepsPrograms = t.TempDir(), true
	look := func(cache float64) Check {
		t.Helper()
		checks := checkPlugin(h, config.Engine{Backend: "cpu", Plugin: plugin, ProgramCache: cache})
		if len(checks) != 3 || checks[2].Status != OK {
			t.Fatalf("%+v", checks)
		}
		return checks[2]
	}
	folder := filepath.Join(h.CacheDir, "programs")
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
	if h.CacheDir = "/proc/self/hone"; runtime.GOOS != "linux" { // where nobody may make a file
		return
	}
	checks := checkPlugin(h, config.Engine{Backend: "cpu", Plugin: plugin, ProgramCache: 1})
	if c := checks[2]; c.Status != Warn ||
		!strings.Contains(c.Detail, "each start compiles again: /proc/self/hone/programs cannot be written") ||
		!strings.Contains(c.Next, "--cache") {
		t.Errorf("%+v", c)
	}
}
