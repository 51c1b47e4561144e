package toolset

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"hone/internal/mcp"
)

// Versions are the versions of a catalog's servers: what each states of itself and, where hone servers add installed
// it, the package's. Many servers state the version of the library that they are written with, which stays when their
// own changes.
func (s *Set) Versions() map[string]string {
	out := map[string]string{}
	for _, server := range s.Catalog.Servers {
		out[server.Name] = server.Version
		if s.Housing == nil { // a catalog that is read back has no servers
			continue
		}
		if pkg := installedPackage(s.Housing.Servers.Servers[server.Name]); pkg != "" {
			out[server.Name] = strings.TrimSpace(server.Version + " (installed " + pkg + ")")
		}
	}
	return out
}

// installedPackage is the package that a server's program was installed from, with its version: of a virtual
// environment as NAME==VERSION, of npm's folder as NAME@VERSION; "" where it is in neither.
func installedPackage(s mcp.Server) string {
	if pkg := environmentOf(s.Command).requirement(); pkg != "" {
		return pkg
	}
	root, _, found := strings.Cut(s.Command, "/node_modules/.bin/")
	var wanted struct{ Dependencies map[string]string }
	if !found || read(filepath.Join(root, "package.json"), &wanted) != nil || len(wanted.Dependencies) != 1 {
		return ""
	}
	for name := range wanted.Dependencies {
		var is struct{ Version string }
		if read(filepath.Join(root, "node_modules", name, "package.json"), &is) == nil && is.Version != "" {
			return name + "@" + is.Version
		}
	}
	return ""
}

func read(path string, v any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, v)
}
