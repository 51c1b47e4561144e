package packages

import (
	"encoding/json"
	"strings"
	"time"

	"hone/internal/fault"
)

// Where an entry's package comes from: the values of Package.RegistryType that are told apart.
const (
	NPM  = "npm"
	PyPI = "pypi"
	OCI  = "oci"
	MCPB = "mcpb"
)

// Transports of packages and remotes.
const (
	stdio      = "stdio"
	streamable = "streamable-http"
	sse        = "sse"
)

// Entry is one server of a list, in the words of server.json.
type Entry struct {
	Name        string     `json:"name"` // namespace/name
	Title       string     `json:"title,omitempty"`
	Description string     `json:"description,omitempty"`
	Version     string     `json:"version,omitempty"`
	Repository  Repository `json:"repository,omitzero"`
	Packages    []Package  `json:"packages,omitempty"`
	Remotes     []Remote   `json:"remotes,omitempty"`

	From    string    `json:"from,omitempty"`   // the list it was found in
	Status  string    `json:"status,omitempty"` // active, deprecated or deleted, as the official registry has it
	Updated time.Time `json:"updated,omitzero"`
	Uses    int       `json:"uses,omitempty"` // as Smithery counts them

	// Asks are values that a list names for a server of which it names no package.
	Asks []KeyValue `json:"asks,omitempty"`
	// Written is the entry of an mcp.json file, as it stands there.
	Written json.RawMessage `json:"written,omitempty"`
}

// Repository is where a server's source is.
type Repository struct {
	URL string `json:"url,omitempty"`
}

// Package is a package that holds the server.
type Package struct {
	RegistryType     string     `json:"registryType"`
	RegistryBaseURL  string     `json:"registryBaseUrl,omitempty"`
	Identifier       string     `json:"identifier"` // a name; an image with its tag (oci); a URL (mcpb)
	Version          string     `json:"version,omitempty"`
	FileSHA256       string     `json:"fileSha256,omitempty"`
	RuntimeHint      string     `json:"runtimeHint,omitempty"`
	Transport        Remote     `json:"transport,omitzero"`
	PackageArguments []Argument `json:"packageArguments,omitempty"`
	// of the program that runs the package, such as docker
	RuntimeArguments     []Argument `json:"runtimeArguments,omitempty"`
	EnvironmentVariables []KeyValue `json:"environmentVariables,omitempty"`
}

// Remote is a server that runs elsewhere, or the transport of a package.
type Remote struct {
	Type      string           `json:"type"`
	URL       string           `json:"url,omitempty"` // may hold {variable}
	Headers   []KeyValue       `json:"headers,omitempty"`
	Variables map[string]Input `json:"variables,omitempty"`
}

// Input is a value that is given, or asked for.
type Input struct {
	Description string           `json:"description,omitempty"`
	IsRequired  bool             `json:"isRequired,omitempty"`
	IsSecret    bool             `json:"isSecret,omitempty"`
	Format      string           `json:"format,omitempty"` // string, number, boolean or filepath
	Value       string           `json:"value,omitempty"`  // fixed; may hold {variable}
	Default     string           `json:"default,omitempty"`
	Choices     []string         `json:"choices,omitempty"`
	Variables   map[string]Input `json:"variables,omitempty"`
}

// Argument is one of a package's program.
type Argument struct {
	Input
	Type      string `json:"type"` // positional or named
	Name      string `json:"name,omitempty"`
	ValueHint string `json:"valueHint,omitempty"`
}

// KeyValue is an environment variable or a header.
type KeyValue struct {
	Input
	Name string `json:"name"`
}

// OfPackage is the entry of a package that is named npm:NAME or pypi:NAME, with a version or not.
func OfPackage(text string) (Entry, error) {
	kind, name, _ := strings.Cut(text, ":")
	p := Package{RegistryType: kind, Identifier: name, Transport: Remote{Type: stdio}}
	if before, version, found := strings.Cut(name, "=="); found && kind == PyPI {
		p.Identifier, p.Version = before, version
	} else if at := strings.LastIndex(name, "@"); at > 0 {
		p.Identifier, p.Version = name[:at], name[at+1:]
	}
	why := p.wrong()
	if kind != NPM && kind != PyPI {
		why = "it is neither npm: nor pypi:"
	}
	if why != "" {
		return Entry{}, &fault.Error{
			Code:  fault.CodeUsage,
			What:  "that package cannot be tried",
			Where: text,
			Why:   why,
			Next: "write npm:NAME or pypi:NAME, or the name of an entry; hone servers add installs images, " +
				"bundles and files",
		}
	}
	return Entry{Name: text, From: "package", Status: "active", Packages: []Package{p}}, nil
}

// Kinds are what a server comes as: npm, pypi, oci, mcpb, another type of package, url, or command for what an mcp.json
// file says.
func (e Entry) Kinds() (kinds []string) {
	for _, p := range e.Packages {
		kinds = append(kinds, p.RegistryType)
	}
	if len(e.Remotes) > 0 {
		kinds = append(kinds, "url")
	}
	if e.Written != nil && len(kinds) == 0 {
		kinds = append(kinds, "command")
	}
	return kinds
}
