package packages

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Page is what one document of a list holds.
type Page struct {
	Entries []Entry
	Skipped []string // entries that are left out, each with the reason
	next    string   // what asks for the page behind it; "" where there is none
	total   int      // how many entries the list says that it has; 0 where it says nothing
}

// official is the key of what the official registry itself says of an entry.
const official = "io.modelcontextprotocol.registry/official"

// wire has the keys of all forms of lists; each document has those of one.
type wire struct {
	Servers    json.RawMessage `json:"servers"`
	MCPServers json.RawMessage `json:"mcpServers"`
	Server     json.RawMessage `json:"server"`
	Metadata   struct {
		NextCursor string `json:"nextCursor"`
	} `json:"metadata"`
	Pagination struct {
		CurrentPage int `json:"currentPage"`
		TotalPages  int `json:"totalPages"`
		TotalCount  int `json:"totalCount"`
	} `json:"pagination"`
	PageInfo struct {
		EndCursor   string `json:"endCursor"`
		HasNextPage bool   `json:"hasNextPage"`
	} `json:"pageInfo"`
}

// Decode reads what a registry answers: a page of any of the lists, one server.json, or one entry of a list. An entry
// that cannot be used does not spoil the others. from is what Entry.From is to say. The error is a document that is
// none of these.
func Decode(data []byte, from string) (Page, error) { return decode(data, from, false) }

// DecodeFile reads a file of this machine: what Decode reads, or an mcp.json file, whose servers are commands.
func DecodeFile(data []byte, from string) (Page, error) { return decode(data, from, true) }

func decode(data []byte, from string, local bool) (Page, error) {
	var p Page
	var w wire
	data = bytes.TrimSpace(data)
	if len(data) > 0 && data[0] == '[' {
		data = slices.Concat([]byte(`{"servers":`), data, []byte("}"))
	}
	if err := json.Unmarshal(data, &w); err != nil {
		return p, err
	}
	commands := w.MCPServers
	if bytes.HasPrefix(bytes.TrimSpace(w.Servers), []byte("{")) && commands == nil { // VS Code's mcp.json
		commands = w.Servers
	}
	switch {
	case commands != nil && !local:
		return p, errors.New("it is an mcp.json file, which is read from a file of this machine only")
	case commands != nil:
		return p, p.readServers(commands, from)
	case w.Servers != nil:
		var list []json.RawMessage
		if err := json.Unmarshal(w.Servers, &list); err != nil {
			return p, err
		}
		for i, one := range list {
			p.add(one, from, fmt.Sprintf("entry %d", i))
		}
	default:
		var keys map[string]json.RawMessage
		if err := json.Unmarshal(data, &keys); err != nil {
			return p, err
		}
		if w.Server == nil && keys["name"] == nil && keys["qualifiedName"] == nil {
			return p, errors.New("it names no servers: neither a list, nor a server.json, nor mcpServers")
		}
		p.add(data, from, "the entry")
	}
	p.next, p.total = w.Metadata.NextCursor, w.Pagination.TotalCount
	if n := w.Pagination.CurrentPage; n > 0 && n < w.Pagination.TotalPages {
		p.next = fmt.Sprint(n + 1)
	}
	if w.PageInfo.HasNextPage {
		p.next = w.PageInfo.EndCursor
	}
	return p, nil
}

func (p *Page) add(raw json.RawMessage, from, what string) {
	e, err := entryOf(raw)
	if err == nil {
		if why := e.wrong(); why != "" {
			err = errors.New(why)
		}
	}
	if err != nil {
		if len(e.Name) <= mostName && namePattern.MatchString(e.Name) {
			what = e.Name
		}
		p.Skipped = append(p.Skipped, fmt.Sprintf("%s: %v", what, err))
		return
	}
	e.From = from
	p.Entries = append(p.Entries, e)
}

// entryOf reads an entry of any list by the keys that it has.
func entryOf(raw json.RawMessage) (Entry, error) {
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(raw, &keys); err != nil {
		return Entry{}, err
	}
	switch {
	case keys["server"] != nil:
		return officialEntry(raw)
	case keys["qualifiedName"] != nil:
		return smitheryEntry(raw)
	case keys["slug"] != nil:
		return glamaEntry(raw)
	}
	e := Entry{Status: "active"}
	err := json.Unmarshal(raw, &e)
	e.Written = nil // that is for files of this machine
	return e, err
}

// officialEntry reads a ServerResponse of the registry's API: server.json, and beside it what the registry keeps.
func officialEntry(raw json.RawMessage) (Entry, error) {
	var r struct {
		Server Entry                      `json:"server"`
		Meta   map[string]json.RawMessage `json:"_meta"`
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return r.Server, err
	}
	var kept struct {
		Status    string    `json:"status"`
		UpdatedAt time.Time `json:"updatedAt"`
	}
	if text := r.Meta[official]; text != nil {
		if err := json.Unmarshal(text, &kept); err != nil {
			return r.Server, err
		}
	}
	r.Server.Written, r.Server.Status, r.Server.Updated = nil, kept.Status, kept.UpdatedAt
	return r.Server, nil
}

// readServers reads the servers of an mcp.json file. One that npx or uvx starts is one of a package.
func (p *Page) readServers(servers json.RawMessage, from string) error {
	var list map[string]json.RawMessage
	if err := json.Unmarshal(servers, &list); err != nil {
		return err
	}
	var names []string
	for name := range list {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		var s struct {
			commanded
			Type string
		}
		if err := json.Unmarshal(list[name], &s); err != nil {
			p.Skipped = append(p.Skipped, fmt.Sprintf("%s: %v", name, err))
			continue
		}
		kept, err := json.Marshal(s.commanded)
		if err != nil {
			return err
		}
		e := Entry{Name: name, Status: "active", From: from, Written: kept}
		if pkg, ok := launchedPackage(s.Command, s.Args); ok && pkg.wrong() == "" && len(s.Env) == 0 {
			e.Packages, e.Written = []Package{pkg}, nil
		} else if s.URL != "" && len(s.Headers) == 0 && badURL(s.URL) == "" {
			e.Remotes, e.Written =
				[]Remote{{Type: map[bool]string{true: sse, false: streamable}[s.Type == sse], URL: s.URL}}, nil
		}
		if why := e.wrong(); why != "" {
			p.Skipped = append(p.Skipped, fmt.Sprintf("%s: %s", name, why))
			continue
		}
		p.Entries = append(p.Entries, e)
	}
	return nil
}

// launchedPackage is the package that npx or uvx would download for a command, where nothing but its name and arguments
// are given.
func launchedPackage(command string, args []string) (p Package, ok bool) {
	switch command {
	case "npx":
		p.RegistryType = NPM
	case "uvx":
		p.RegistryType = PyPI
	default:
		return p, false
	}
	for len(args) > 0 && (args[0] == "-y" || args[0] == "--yes") {
		args = args[1:]
	}
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		return p, false
	}
	p.Identifier = args[0]
	cut := "@"
	if at := strings.LastIndex(args[0], cut); at > 0 {
		p.Identifier, p.Version = args[0][:at], args[0][at+1:]
	} else if before, after, found := strings.Cut(args[0], "=="); found {
		p.Identifier, p.Version = before, after
	}
	if p.Version == "latest" {
		p.Version = ""
	}
	p.Transport.Type = stdio
	for _, text := range args[1:] {
		p.PackageArguments = append(p.PackageArguments, Argument{Type: "positional", Input: Input{Value: text}})
	}
	return p, true
}
