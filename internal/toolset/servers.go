package toolset

import (
	"maps"
	"net/url"
	"slices"

	"hone/internal/config"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/mcp"
)

// Source says which servers a command works on.
type Source struct {
	Server string // --mcp: a URL, or a command with its arguments
	File   string // --mcp-config
}

// Flag is the flag that names the same servers in a command to go on with; "" where none did. A URL may hold a secret,
// so it is not shown again.
func (s Source) Flag() string {
	switch {
	case s.Server != "":
		return " --mcp SERVER"
	case s.File != "":
		return " --mcp-config " + ShellWord(s.File)
	}
	return ""
}

// Configured is Read that takes no entry that is wrong.
func LoadServers(h *host.Host, c config.Config, from Source) (mcp.Config, error) {
	servers, err := Read(h, c, from)
	for _, name := range slices.Sorted(maps.Keys(servers.Wrong)) {
		return mcp.Config{}, servers.Wrong[name]
	}
	return servers, err
}

// Read reads the configuration of the servers: --mcp, else --mcp-config, else $MCP_URL, else the configuration's file.
// What is left aside of it is told.
func Read(h *host.Host, c config.Config, from Source) (mcp.Config, error) {
	token, _ := h.LookupEnv("MCP_BEARER_TOKEN")
	if from.Server == "" && from.File == "" {
		from.Server, _ = h.LookupEnv("MCP_URL")
		// else it would be run as a command
		if u, err := url.Parse(from.Server); from.Server != "" && (err != nil || u.Host == "") {
			return mcp.Config{}, &fault.Error{Code: fault.CodeUsage, What: "MCP_URL is not a URL", Where: "MCP_URL",
				Why: "its value is not shown, for it may hold a secret", Next: "write it with http:// or https://"}
		}
	}
	if from.Server != "" {
		return mcp.FromFlag(from.Server, token, h.LookupEnv)
	}
	if from.File == "" {
		from.File = c.MCP.Config
	}
	servers, err := mcp.ReadConfig(from.File, h.LookupEnv)
	for _, line := range servers.Aside {
		h.Say("%s", line)
	}
	if err != nil || len(c.MCP.Only) == 0 {
		return servers, err
	}
	return servers.Only(c.MCP.Only...)
}
