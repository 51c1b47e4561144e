package packages

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
)

// bundle is the registryType of a bundle for which a list has no hash. Nothing holds it to what was published, so it is
// not installed from there.
const bundle = "bundle"

// smitheryEntry reads an entry of Smithery's list (ServerSummary of its OpenAPI), or its page of one server (Server).
// The page alone has connections, by which the server can be run.
func smitheryEntry(raw json.RawMessage) (Entry, error) {
	var s struct {
		QualifiedName, DisplayName, Description, Homepage string
		UseCount                                          json.Number // a number; a string in the API of before 2026
		Inactive                                          bool
		Connections                                       []struct {
			Type, DeploymentURL, BundleURL, Runtime string
			ConfigSchema                            json.RawMessage
		}
	}
	if err := json.Unmarshal(raw, &s); err != nil {
		return Entry{}, err
	}
	e := Entry{Name: s.QualifiedName, Title: s.DisplayName, Description: s.Description,
		Repository: Repository{s.Homepage}, Status: "active"}
	if uses, err := s.UseCount.Float64(); err == nil {
		e.Uses = int(uses)
	}
	if s.Inactive {
		e.Status = "inactive"
	}
	for _, c := range s.Connections {
		switch {
		case c.Type == "http" && c.DeploymentURL != "":
			e.Remotes = append(e.Remotes, remoteOf(c.DeploymentURL, valuesOf(c.ConfigSchema)))
		case c.Type == "stdio" && c.BundleURL != "":
			e.Packages = append(e.Packages,
				Package{RegistryType: bundle, Identifier: c.BundleURL, RuntimeHint: c.Runtime})
			e.Asks = plain(valuesOf(c.ConfigSchema))
		}
	}
	return e, nil
}

// remoteOf is a URL with the values that its server asks for: in a header or a parameter of the name that x-from has,
// else in a parameter of the value's own name. A parameter that need not be given is left out.
func remoteOf(url string, values []schemaValue) Remote {
	r := Remote{Type: streamable, URL: url, Variables: map[string]Input{}}
	glue := "?"
	if strings.Contains(url, "?") {
		glue = "&"
	}
	for _, v := range values {
		switch {
		case v.header != "":
			r.Headers = append(r.Headers, KeyValue{Name: v.header, Input: v.Input})
		case v.IsRequired:
			r.URL += glue + v.query + "={" + v.Name + "}"
			r.Variables[v.Name], glue = v.Input, "&"
		}
	}
	return r
}

// glamaEntry reads an entry of Glama's list (McpServer of its OpenAPI). It names no package, but says which variables
// the server needs.
func glamaEntry(raw json.RawMessage) (Entry, error) {
	var g struct {
		Namespace, Slug, Name, Description string
		Repository                         *Repository
		EnvironmentVariablesJSONSchema     json.RawMessage
	}
	if err := json.Unmarshal(raw, &g); err != nil {
		return Entry{}, err
	}
	e := Entry{Name: g.Namespace + "/" + g.Slug, Title: g.Name, Description: g.Description, Status: "active",
		Asks: plain(valuesOf(g.EnvironmentVariablesJSONSchema))}
	if g.Repository != nil {
		e.Repository = *g.Repository
	}
	return e, nil
}

// schemaValue is a value that a schema asks for, and where it goes in a request: into a header, or a parameter of the
// URL.
type schemaValue struct {
	KeyValue
	header, query string
}

func plain(values []schemaValue) (out []KeyValue) {
	for _, v := range values {
		out = append(out, v.KeyValue)
	}
	return out
}

// valuesOf are the values that a JSON Schema of an object asks for, by name. One whose name says so is a secret. Of
// several alternatives (oneOf) those that each needs are required; the others say what can be given in their place.
func valuesOf(schema json.RawMessage) (out []schemaValue) {
	var s struct {
		Properties map[string]struct {
			Description, Format string
			Default             any
			From                struct{ Header, Query string } `json:"x-from"`
		}
		Required []string
		OneOf    []struct{ Required []string }
	}
	if json.Unmarshal(schema, &s) != nil {
		return nil
	}
	ways := map[string]int{} // of how many alternatives a value is one
	for _, alternative := range s.OneOf {
		for _, name := range alternative.Required {
			ways[name]++
		}
	}
	needed := func(name string) bool {
		return slices.Contains(s.Required, name) || ways[name] > 0 && ways[name] == len(s.OneOf)
	}
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(ways)), needed)
	for name, p := range s.Properties {
		v := schemaValue{header: p.From.Header, query: name}
		v.KeyValue = KeyValue{Name: name, Input: Input{Description: p.Description, IsRequired: needed(name),
			IsSecret: p.Format == "password" || secretName(name)}}
		if p.From.Query != "" {
			v.query = p.From.Query
		}
		if p.Default != nil {
			v.Default = fmt.Sprint(p.Default)
		}
		if slices.Contains(names, name) {
			v.Description = strings.TrimSpace(v.Description + " (one is needed of " + strings.Join(names, ", ") + ")")
		}
		out = append(out, v)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}

func secretName(name string) bool {
	name = strings.ToUpper(name)
	return slices.ContainsFunc([]string{"TOKEN", "SECRET", "PASSWORD", "KEY", "CREDENTIAL"}, func(part string) bool {
		return strings.Contains(name, part)
	})
}
