package config

import (
	"fmt"
	"slices"
	"strings"
)

// Sandbox says what the processes of stdio servers may reach. They read the system and their own folder, and write to
// their episode's folder, a home and a tmp of their own.
type Sandbox struct {
	Mode    string   `yaml:"mode" enum:"auto,require,off" doc:"auto takes the strongest sandbox there is (bubblewrap, else landlock, else none), require takes bubblewrap or refuses to run, off takes none"`
	Network []string `yaml:"network" doc:"names of the servers that may use the network; * is all of them"`
	Write   []string `yaml:"write" doc:"folders a server may write to, each as server:folder"`
	Exempt  []string `yaml:"exempt" doc:"names of the servers that run without a sandbox, such as browsers; none with mode require"`
	Read    []string `yaml:"read" doc:"files and folders a server may read that are hidden, such as those in the home folder, each as server:path"`
	MaxGiB  int      `yaml:"max_gib" min:"0" doc:"GiB that the processes of a server may take of memory together, and an episode's folder on the disk; 0 is a quarter of the memory that is free as the command starts, at least 2; it holds in every mode"`
}

// DefaultSandbox is the sandbox of an empty file.
func DefaultSandbox() Sandbox {
	return Sandbox{Mode: "auto", Network: []string{}, Write: []string{}, Exempt: []string{}, Read: []string{}}
}

// NetworkFor reports whether a server may use the network.
func (s Sandbox) NetworkFor(server string) bool {
	return slices.Contains(s.Network, server) || slices.Contains(s.Network, "*")
}

// WriteFor returns the folders that a server may write to.
func (s Sandbox) WriteFor(server string) []string { return pathsFor(s.Write, server) }

// ReadFor returns the hidden paths that a server may read.
func (s Sandbox) ReadFor(server string) []string { return pathsFor(s.Read, server) }

func pathsFor(entries []string, server string) []string {
	var out []string
	for _, e := range entries {
		if name, path, _ := strings.Cut(e, ":"); name == server || name == "*" {
			out = append(out, path)
		}
	}
	return out
}

// check refuses entries that grant nothing.
func (s Sandbox) check() error {
	if s.Mode == "require" && len(s.Exempt) > 0 {
		return &ValueError{"mcp.sandbox.exempt", "mode require exempts no server"}
	}
	for _, l := range []struct {
		key     string
		entries []string
	}{{"write", s.Write}, {"read", s.Read}} {
		for _, e := range l.entries {
			if server, path, ok := strings.Cut(e, ":"); !ok || server == "" || path == "" {
				return &ValueError{"mcp.sandbox." + l.key, fmt.Sprintf("%q is not server:folder", e)}
			}
		}
	}
	return nil
}
