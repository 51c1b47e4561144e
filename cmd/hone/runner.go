package main

import (
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hone/internal/mcp"
)

// runner is a program that downloads a server and starts it. Without its cache and the network it starts nothing, so a
// sandbox grants it both; with a HOME of its own, as each episode has, it would download the server for each episode.
type runner struct {
	env     map[string]string
	folders []string // it writes to
}

// runnerOf returns what npx, npm, uvx and uv need, and whether command is one of them.
func (a *app) runnerOf(command string) (runner, bool) {
	home, _ := a.LookupEnv("HOME")
	folder := func(fallback string, variables ...string) string {
		for _, v := range variables {
			if set, ok := a.LookupEnv(v); ok && filepath.IsAbs(set) {
				return set
			}
		}
		return filepath.Join(home, fallback)
	}
	switch filepath.Base(command) {
	case "npx", "npm":
		cache := folder(".npm", "npm_config_cache", "NPM_CONFIG_CACHE")
		r := runner{env: map[string]string{"npm_config_cache": cache, "npm_config_update_notifier": "false"}, folders: []string{cache}}
		npmrc, _ := os.ReadFile(filepath.Join(home, ".npmrc")) // without it: npm's own defaults
		for _, key := range []string{"registry", "cafile", "proxy", "https-proxy"} {
			name := "npm_config_" + strings.ReplaceAll(key, "-", "_")
			if value := a.harmless(name); value != "" {
				r.env[name] = value
			} else if value := npmSetting(string(npmrc), key); value != "" && !holdsPassword(value) {
				r.env[name] = value
			}
		}
		a.pass(r.env, "NODE_EXTRA_CA_CERTS", "HTTPS_PROXY", "NO_PROXY")
		return r, true
	case "uvx", "uv":
		cache, data := folder(".cache/uv", "UV_CACHE_DIR"), folder(".local/share/uv", "XDG_DATA_HOME")
		if filepath.Base(data) != "uv" {
			data = filepath.Join(data, "uv")
		}
		r := runner{env: map[string]string{"UV_CACHE_DIR": cache, "UV_PYTHON_INSTALL_DIR": filepath.Join(data, "python"),
			"UV_TOOL_DIR": filepath.Join(data, "tools")}, folders: []string{cache, data}}
		a.pass(r.env, "UV_DEFAULT_INDEX", "UV_INDEX_URL", "UV_PYTHON", "UV_OFFLINE", "SSL_CERT_FILE", "SSL_CERT_DIR", "HTTPS_PROXY", "NO_PROXY")
		return r, true
	}
	return runner{}, false
}

// pass adds variables of our own that are set: without them a download fails where a mirror or a proxy stands before it.
func (a *app) pass(env map[string]string, names ...string) {
	for _, name := range names {
		if value := a.harmless(name); value != "" {
			env[name] = value
		}
	}
}

// harmless is a variable's value unless a password stands in it.
func (a *app) harmless(name string) string {
	value, _ := a.LookupEnv(name)
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

// withRunners gives servers that npx and the like start the variables and folders which those need.
func (a *app) withRunners(servers mcp.Config) (mcp.Config, error) {
	out := servers
	out.Servers = maps.Clone(servers.Servers)
	for name, s := range out.Servers {
		r, ok := a.runnerOf(s.Command)
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
