package basemodel

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hone/internal/config"
	"hone/internal/fault"
	"hone/internal/host"
)

// Each place is preferred to those after it.
func TestPlacesOfPlugins(t *testing.T) {
	home := t.TempDir()
	put := func(name string) string {
		t.Helper()
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	env := map[string]string{"HOME": home, "VIRTUAL_ENV": filepath.Join(home, "venv"), "PJRT_PLUGIN_LIBRARY_PATH": ""}
	h := &host.Host{LookupEnv: func(name string) (string, bool) { v, ok := env[name]; return v, ok }}
	check := func(e config.Engine, path, by string) {
		t.Helper()
		if p, err := FindPlugin(h, e); err != nil || p.Path != path || p.By != by {
			t.Errorf("%+v: %+v, %v; want %s by %s", e, p, err, path, by)
		}
	}
	for _, kind := range []string{"cpu", "cuda"} {
		if p, err := FindPlugin(h, config.Engine{Backend: kind}); fault.CodeOf(err) != fault.CodeExhausted {
			t.Errorf("%s: %+v, %v", kind, p, err)
		}
	}
	check(config.Engine{Backend: "auto"}, "", "")
	for venv, want := range map[string]string{
		"":      "no virtual environment, since VIRTUAL_ENV is not set",
		"there": "VIRTUAL_ENV=there",
	} {
		env := func(name string) (string, bool) {
			return map[string]string{"HOME": home, "VIRTUAL_ENV": venv}[name], name != "VIRTUAL_ENV" || venv != ""
		}
		if _, err := FindPlugin(&host.Host{LookupEnv: env}, config.Engine{Backend: "cuda"}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("VIRTUAL_ENV %q: %v", venv, err)
		}
	}

	cuda := put("venv/lib/python3.12/site-packages/jax_plugins/xla_cuda13/xla_cuda_plugin.so")
	cpu := put("venv/lib/python3.12/site-packages/some_package/pjrt_c_api_cpu_plugin.so")
	check(config.Engine{Backend: "cuda"}, cuda, "VIRTUAL_ENV")
	check(config.Engine{Backend: "cpu"}, cpu, "VIRTUAL_ENV")

	data := put(".local/share/hone/pjrt_c_api_cuda_plugin.so")
	check(config.Engine{Backend: "cuda"}, data, "the data folder")
	check(config.Engine{Backend: "cpu"}, cpu, "VIRTUAL_ENV")
	env["XDG_DATA_HOME"] = filepath.Join(home, "data")
	check(config.Engine{Backend: "cuda"}, cuda, "VIRTUAL_ENV")
	data = put("data/hone/xla_cuda_plugin.so")
	check(config.Engine{Backend: "cuda"}, data, "the data folder")

	folder := filepath.Dir(put("named/pjrt_c_api_cpu_plugin.so"))
	env["PJRT_PLUGIN_LIBRARY_PATH"] = folder
	check(config.Engine{Backend: "cpu"}, filepath.Join(folder, "pjrt_c_api_cpu_plugin.so"), "PJRT_PLUGIN_LIBRARY_PATH")
	check(config.Engine{Backend: "cuda"}, data, "the data folder")
	env["PJRT_PLUGIN_LIBRARY_PATH"] = ":" + filepath.Join(home, "not there.so") + ":" + folder
	check(config.Engine{Backend: "cpu"}, filepath.Join(home, "not there.so"), "PJRT_PLUGIN_LIBRARY_PATH")

	check(config.Engine{Backend: "cuda", Plugin: "mine.so"}, "mine.so", "engine.plugin")
	check(config.Engine{Backend: "go", Plugin: "mine.so"}, "", "")
}
