package toolset

import (
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hone/internal/host"
	"hone/internal/mcp"
)

// Launcher is a program that downloads a server and starts it. It downloads before the server is started (download.go),
// into its cache, which a sandbox grants it; with a HOME of its own, as each episode has, it would download the server
// for each episode.
type Launcher struct {
	env     map[string]string
	folders []string // it writes to
}

// LauncherOf returns what npx, npm, uvx and uv need, and whether command is one of them.
func LauncherOf(h *host.Host, command string) (Launcher, bool) {
	home, _ := h.LookupEnv("HOME")
	folder := func(fallback string, variables ...string) string {
		for _, v := range variables {
			if set, ok := h.LookupEnv(v); ok && filepath.IsAbs(set) {
				return set
			}
		}
		return filepath.Join(home, fallback)
	}
	switch filepath.Base(command) {
	case "npx", "npm":
		cache := folder(".npm", "npm_config_cache", "NPM_CONFIG_CACHE")
		r := Launcher{env: map[string]string{"npm_config_cache": cache, "npm_config_update_notifier": "false"},
			folders: []string{cache}}
		npmrc, _ := os.ReadFile(filepath.Join(home, ".npmrc")) // without it: npm's own defaults
		for _, key := range []string{"registry", "cafile", "proxy", "https-proxy"} {
			name := "npm_config_" + strings.ReplaceAll(key, "-", "_")
			if value := harmless(h, name); value != "" {
				r.env[name] = value
			} else if value := npmSetting(string(npmrc), key); value != "" && !holdsPassword(value) {
				r.env[name] = value
			}
		}
		pass(h, r.env, "NODE_EXTRA_CA_CERTS", "HTTPS_PROXY", "NO_PROXY")
		return r, true
	case "uvx", "uv":
		cache, data := folder(".cache/uv", "UV_CACHE_DIR"), folder(".local/share/uv", "XDG_DATA_HOME")
		if filepath.Base(data) != "uv" {
			data = filepath.Join(data, "uv")
		}
		r := Launcher{env: map[string]string{
			"UV_CACHE_DIR": cache, "UV_PYTHON_INSTALL_DIR": filepath.Join(data, "python"),
			"UV_TOOL_DIR": filepath.Join(data, "tools"),
		}, folders: []string{cache, data}}
		pass(h, r.env, "UV_DEFAULT_INDEX", "UV_INDEX_URL", "UV_PYTHON", "UV_OFFLINE", "SSL_CERT_FILE", "SSL_CERT_DIR",
			"HTTPS_PROXY", "NO_PROXY")
		return r, true
	}
	return Launcher{}, false
}

// pass adds variables of our own that are set: without them a download fails where a mirror or a proxy stands before
// it.
func pass(h *host.Host, env map[string]string, names ...string) {
	for _, name := range names {
		if value := harmless(h, name); value != "" {
			env[name] = value
		}
	}
}

// harmless is a variable's value unless a password stands in it.
func harmless(h *host.Host, name string) string {
	value, _ := h.LookupEnv(name)
	if holdsPassword(value) {
		return ""
	}
	return value
}

func holdsPassword(value string) bool {
	u, err := url.Parse(value)
	return err != nil || u.User != nil
}

// npmSetting reads one key of an .npmrc, which has a line "key = value" for it.
func npmSetting(npmrc, key string) string {
	for line := range strings.Lines(npmrc) {
		if name, value, ok := strings.Cut(line, "="); ok && strings.TrimSpace(name) == key {
			return strings.Trim(strings.TrimSpace(value), `"'`)
		}
	}
	return ""
}

// withLaunchers gives servers that npx and the like start the variables and folders which those need.
func withLaunchers(h *host.Host, servers mcp.Config) (mcp.Config, error) {
	out := servers
	out.Servers = maps.Clone(servers.Servers)
	for name, s := range out.Servers {
		r, ok := LauncherOf(h, s.Command)
		if !ok {
			continue
		}
		env := r.env
		maps.Copy(env, s.Env)
		s.Env = env
		out.Servers[name] = s
		for _, folder := range r.folders {
			if err := os.MkdirAll(folder, 0o755); err != nil {
				return servers, err
			}
		}
	}
	return out, nil
}

func sortedNames(servers mcp.Config) []string { return slices.Sorted(maps.Keys(servers.Servers)) }
