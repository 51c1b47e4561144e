package basemodel

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"hone/internal/config"
	"hone/internal/fault"
	"hone/internal/host"
)

// Plugin is a PJRT plug-in and where it was found. Without a path there is none, and pure Go is used.
type Plugin struct {
	Path string
	By   string // the key, variable or place that named it
}

// IsCUDA tells from the file's name, as the plug-in's loader does.
func (p Plugin) IsCUDA() bool { return strings.Contains(strings.ToLower(p.Path), "cuda") }

// TakePlugin is FindPlugin for a command that computes: it says so where pure Go is used for want of one.
func TakePlugin(h *host.Host, e config.Engine) (Plugin, error) {
	p, err := FindPlugin(h, e)
	if err == nil && p.Path == "" && e.Backend != "go" {
		h.Say("no accelerator plug-in is installed: using pure Go, which is slow (hone engine install cpu)")
	}
	return p, err
}

// FindPlugin looks in this order: engine.plugin, PJRT_PLUGIN_LIBRARY_PATH, the user's data folder, what hone
// installed, the active Python virtual environment. Where the backend is auto, a plug-in for a GPU that is there comes
// before one for the CPU.
func FindPlugin(h *host.Host, e config.Engine) (Plugin, error) {
	if e.Backend == "go" {
		return Plugin{}, nil
	}
	if e.Plugin != "" {
		return Plugin{e.Plugin, "engine.plugin"}, nil
	}
	wanted := []string{e.Backend}
	if e.Backend == "auto" {
		wanted = []string{"cpu"}
		if gpus, err := host.GPUs(host.CUDADriver); err == nil && len(gpus) > 0 {
			wanted = []string{"cuda", "cpu"}
		}
	}
	for _, kind := range wanted {
		for _, place := range []func(h *host.Host, kind string) (Plugin, error){
			pluginFromEnv, dataPlugin, pluginFromDownloads, venvPlugin,
		} {
			if p, err := place(h, kind); err != nil || p.Path != "" {
				return p, err
			}
		}
	}
	if e.Backend == "auto" {
		return Plugin{}, nil
	}
	venv, _ := h.LookupEnv("VIRTUAL_ENV")
	if venv = "VIRTUAL_ENV=" + venv; venv == "VIRTUAL_ENV=" {
		venv = "no virtual environment, since VIRTUAL_ENV is not set"
	}
	f := &fault.Error{
		Code:  fault.CodeExhausted,
		What:  "no " + strings.ToUpper(e.Backend) + " plug-in found",
		Where: "engine.backend: " + e.Backend,
		Why:   "looked in PJRT_PLUGIN_LIBRARY_PATH, " + dataFolder(h) + ", hone's downloads and " + venv,
		Next:  "hone engine install cpu, or name one with engine.plugin",
	}
	if e.Backend == "cuda" {
		f.Next = "activate a virtual environment with jax[cuda13], which brings NVIDIA's libraries too, " +
			"or hone engine install cuda13"
	}
	return Plugin{}, f
}

// pluginFromEnv is that of PJRT_PLUGIN_LIBRARY_PATH, a list of files and folders.
func pluginFromEnv(h *host.Host, kind string) (Plugin, error) {
	list, _ := h.LookupEnv("PJRT_PLUGIN_LIBRARY_PATH")
	for _, entry := range filepath.SplitList(list) {
		if entry == "" {
			continue
		}
		if info, err := os.Stat(entry); err != nil || !info.IsDir() {
			return Plugin{entry, "PJRT_PLUGIN_LIBRARY_PATH"}, nil // one that is not there is a mistake to be told of
		}
		if p := pluginIn(entry, kind); p != "" {
			return Plugin{p, "PJRT_PLUGIN_LIBRARY_PATH"}, nil
		}
	}
	return Plugin{}, nil
}

// dataFolder is hone's in the user's data folder, as the XDG rules have it; empty where there is none.
func dataFolder(h *host.Host) string {
	if base, ok := h.LookupEnv("XDG_DATA_HOME"); ok && filepath.IsAbs(base) {
		return filepath.Join(base, "hone")
	}
	if home, ok := h.LookupEnv("HOME"); ok && home != "" {
		return filepath.Join(home, ".local", "share", "hone")
	}
	return ""
}

func dataPlugin(h *host.Host, kind string) (Plugin, error) {
	if folder := dataFolder(h); folder != "" {
		if p := pluginIn(folder, kind); p != "" {
			return Plugin{p, "the data folder"}, nil
		}
	}
	return Plugin{}, nil
}

func pluginFromDownloads(h *host.Host, kind string) (Plugin, error) {
	s, err := h.Store()
	if err != nil {
		return Plugin{}, err
	}
	asset := host.CPUPlugin()
	if kind == "cuda" {
		asset = host.CUDAPlugin()
	}
	if !s.Has(asset) {
		return Plugin{}, nil
	}
	return Plugin{s.Path(asset), "hone engine install " + asset.Name}, nil
}

// venvPlugin is jax's for CUDA, or a CPU one, among the packages of the active Python virtual environment.
func venvPlugin(h *host.Host, kind string) (Plugin, error) {
	venv, _ := h.LookupEnv("VIRTUAL_ENV")
	if venv == "" {
		return Plugin{}, nil
	}
	pattern := "lib/python3*/site-packages/jax_plugins/xla_cuda*/xla_cuda_plugin.so"
	if kind == "cpu" {
		pattern = "lib/python3*/site-packages/*/pjrt_c_api_cpu_plugin.so"
	}
	found, err := fs.Glob(os.DirFS(venv), pattern)
	if err != nil || len(found) == 0 {
		return Plugin{}, err
	}
	return Plugin{filepath.Join(venv, found[len(found)-1]), "VIRTUAL_ENV"}, nil
}

// pluginIn returns the plug-in of a kind in a folder, by the names such files have.
func pluginIn(folder, kind string) string {
	for _, pattern := range []string{
		"pjrt_c_api_" + kind + "*_plugin.so", "xla_" + kind + "*_plugin.so", "pjrt_plugin_" + kind + "*.so",
		"pjrt-plugin-" + kind + "*.so",
	} {
		if found, err := fs.Glob(os.DirFS(folder), pattern); err == nil && len(found) > 0 {
			return filepath.Join(folder, found[0])
		}
	}
	return ""
}
