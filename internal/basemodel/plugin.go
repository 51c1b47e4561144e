package main

import (
	"os"
	"path/filepath"
	"strings"

	"hone/internal/assets"
	"hone/internal/config"
	"hone/internal/doctor"
	"hone/internal/fault"
)

// foundPlugin is a PJRT plug-in and where it was found. Without a path there is none, and pure Go is used.
type foundPlugin struct {
	path string
	by   string
}

// isCUDA tells from the file's name, as the plug-in's loader does.
func (p foundPlugin) isCUDA() bool { return strings.Contains(strings.ToLower(p.path), "cuda") }

// plugin returns the path of the PJRT plug-in to use, or "" for pure Go.
func (a *app) plugin(c config.Config) (string, error) {
	p, err := a.findPlugin(c.Engine)
	if err == nil && p.path == "" && c.Engine.Backend != "go" {
		a.Say("no accelerator plug-in is installed: using pure Go, which is slow (hone engine install cpu)")
	}
	return p.path, err
}

// findPlugin looks in this order: engine.plugin, PJRT_PLUGIN_LIBRARY_PATH, the user's data folder, what hone
// installed, the active Python virtual environment. Where the backend is auto, a plug-in for a GPU that is there comes
// before one for the CPU.
func (a *app) findPlugin(e config.Engine) (foundPlugin, error) {
	if e.Backend == "go" {
		return foundPlugin{}, nil
	}
	if e.Plugin != "" {
		return foundPlugin{e.Plugin, "engine.plugin"}, nil
	}
	wanted := []string{e.Backend}
	if e.Backend == "auto" {
		wanted = []string{"cpu"}
		if gpus, err := doctor.GPUs(doctor.CUDADriver); err == nil && len(gpus) > 0 {
			wanted = []string{"cuda", "cpu"}
		}
	}
	for _, kind := range wanted {
		for _, place := range []func(kind string) (foundPlugin, error){a.namedPlugin, a.dataPlugin, a.installedPlugin, a.venvPlugin} {
			if p, err := place(kind); err != nil || p.path != "" {
				return p, err
			}
		}
	}
	if e.Backend == "auto" {
		return foundPlugin{}, nil
	}
	venv, _ := a.LookupEnv("VIRTUAL_ENV")
	f := &fault.Error{Code: fault.CodeExhausted, What: "no " + strings.ToUpper(e.Backend) + " plug-in found", Where: "engine.backend: " + e.Backend,
		Why:  "looked in PJRT_PLUGIN_LIBRARY_PATH, " + a.dataFolder() + ", hone's downloads and VIRTUAL_ENV=" + venv,
		Next: "hone engine install cpu, or name one with engine.plugin"}
	if e.Backend == "cuda" {
		f.Next = "activate a virtual environment with jax[cuda13], which brings NVIDIA's libraries too, or hone engine install cuda13"
	}
	return foundPlugin{}, f
}

// namedPlugin is that of PJRT_PLUGIN_LIBRARY_PATH, a list of files and folders.
func (a *app) namedPlugin(kind string) (foundPlugin, error) {
	list, _ := a.LookupEnv("PJRT_PLUGIN_LIBRARY_PATH")
	for _, entry := range filepath.SplitList(list) {
		if entry == "" {
			continue
		}
		if info, err := os.Stat(entry); err != nil || !info.IsDir() {
			return foundPlugin{entry, "PJRT_PLUGIN_LIBRARY_PATH"}, nil // one that is not there is a mistake to be told of
		}
		if p := pluginIn(entry, kind); p != "" {
			return foundPlugin{p, "PJRT_PLUGIN_LIBRARY_PATH"}, nil
		}
	}
	return foundPlugin{}, nil
}

// dataFolder is hone's in the user's data folder, as the XDG rules have it; empty where there is none.
func (a *app) dataFolder() string {
	if base, ok := a.LookupEnv("XDG_DATA_HOME"); ok && filepath.IsAbs(base) {
		return filepath.Join(base, "hone")
	}
	if home, ok := a.LookupEnv("HOME"); ok && home != "" {
		return filepath.Join(home, ".local", "share", "hone")
	}
	return ""
}

func (a *app) dataPlugin(kind string) (foundPlugin, error) {
	if folder := a.dataFolder(); folder != "" {
		if p := pluginIn(folder, kind); p != "" {
			return foundPlugin{p, "the data folder"}, nil
		}
	}
	return foundPlugin{}, nil
}

func (a *app) installedPlugin(kind string) (foundPlugin, error) {
	s, err := a.Store()
	if err != nil {
		return foundPlugin{}, err
	}
	asset := assets.CPUPlugin()
	if kind == "cuda" {
		asset = assets.CUDAPlugin()
	}
	if !s.Installed(asset) {
		return foundPlugin{}, nil
	}
	return foundPlugin{s.Path(asset), "hone engine install " + asset.Name}, nil
}

// venvPlugin is jax's for CUDA, or a CPU one, among the packages of the active Python virtual environment.
func (a *app) venvPlugin(kind string) (foundPlugin, error) {
	venv, _ := a.LookupEnv("VIRTUAL_ENV")
	if venv == "" {
		return foundPlugin{}, nil
	}
	packages := filepath.Join(venv, "lib", "python3*", "site-packages")
	pattern := filepath.Join(packages, "jax_plugins", "xla_cuda*", "xla_cuda_plugin.so")
	if kind == "cpu" {
		pattern = filepath.Join(packages, "*", "pjrt_c_api_cpu_plugin.so")
	}
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) == 0 {
		return foundPlugin{}, nil // a folder with brackets in its name is no pattern: name the plug-in then
	}
	return foundPlugin{found[len(found)-1], "VIRTUAL_ENV"}, nil
}

// pluginIn returns the plug-in of a kind in a folder, by the names such files have.
func pluginIn(folder, kind string) string {
	for _, pattern := range []string{"pjrt_c_api_" + kind + "*_plugin.so", "xla_" + kind + "*_plugin.so", "pjrt_plugin_" + kind + "*.so", "pjrt-plugin-" + kind + "*.so"} {
		if found, err := filepath.Glob(filepath.Join(folder, pattern)); err == nil && len(found) > 0 {
			return found[0]
		}
	}
	return ""
}
