package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The two tools by which a model reaches a server's resources (MCP, server/resources), which the protocol leaves to the
// host.
const (
	listResources = "list"
	readResource  = "read"
)

// resourceTools are the two, named apart from the server's own tools. Their texts are ours, so that no server can
// change them.
func resourceTools(own []Tool) []Tool {
	one := func(kind, name, description, parameters string) Tool {
		for slices.ContainsFunc(own, func(t Tool) bool { return t.Name == name }) {
			name += "_"
		}
		t := Tool{Name: name, Description: description, InputSchema: json.RawMessage(parameters),
			Annotations: json.RawMessage(`{"readOnlyHint":true}`), Status: StatusOK, Findings: []string{},
			Resources: kind}
		t.SHA256 = t.sha256()
		return t
	}
	return []Tool{
		one(listResources, "list_resources", "Lists the resources that this server offers to read, with their URIs. "+
			"A URI with {names} is a pattern: put values in their place.",
			`{"type":"object","properties":{"cursor":{"type":"string","description":"where to go on, as an earlier list says"}},"additionalProperties":false}`),
		one(readResource, "read_resource", "Reads a resource of this server by its URI.",
			`{"type":"object","properties":{"uri":{"type":"string","description":"URI of the resource"}},"required":["uri"],"additionalProperties":false}`),
	}
}

// offersResources reports whether the server says that it has resources.
func (s *session) offersResources() bool {
	r := s.client.InitializeResult()
	return r != nil && r.Capabilities != nil && r.Capabilities.Resources != nil
}

// ask sends the request that a call of the tool is.
func (s *session) ask(ctx context.Context, b *boundTool, params *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	c := s.client
	if b.resources == "" {
		return c.CallTool(ctx, params)
	}
	var arguments struct{ Cursor, URI string }
	if raw, ok := params.Arguments.(json.RawMessage); ok {
		if err := json.Unmarshal(raw, &arguments); err != nil {
			return nil, err
		}
	}
	if b.resources == readResource {
		r, err := c.ReadResource(ctx, &mcp.ReadResourceParams{Meta: params.Meta, URI: arguments.URI})
		if err != nil {
			return nil, err
		}
		return readResult(r), nil
	}
	r, err := c.ListResources(ctx, &mcp.ListResourcesParams{Meta: params.Meta, Cursor: arguments.Cursor})
	if err != nil {
		return nil, err
	}
	if arguments.Cursor == "" {
		for _, t := range s.templates(ctx) { // shown as resources are: their URIs have {variables}
			r.Resources = append(r.Resources,
				&mcp.Resource{URI: t.URITemplate, Name: t.Name, MIMEType: t.MIMEType, Description: t.Description})
		}
	}
	return listResult(r), nil
}

// templates are those of the server's resources, as far as it tells them on one page: many servers have none and answer
// with an error.
func (s *session) templates(ctx context.Context) []*mcp.ResourceTemplate {
	asked, x := withExchange(ctx)
	defer s.wire.forget(x)
	r, err := s.client.ListResourceTemplates(asked, &mcp.ListResourceTemplatesParams{})
	if err != nil || s.hide != nil && !bytes.Equal(s.hide(x.outcome().result), x.outcome().result) {
		return nil
	}
	return slices.DeleteFunc(r.ResourceTemplates, func(t *mcp.ResourceTemplate) bool { return t == nil })
}

// read makes a call's result of the bytes of an answer.
func (b *boundTool) read(raw json.RawMessage) (*mcp.CallToolResult, error) {
	switch b.resources {
	case readResource:
		r := &mcp.ReadResourceResult{}
		err := json.Unmarshal(raw, r)
		return readResult(r), err
	case listResources:
		r := &mcp.ListResourcesResult{}
		err := json.Unmarshal(raw, r)
		return listResult(r), err
	}
	r := &mcp.CallToolResult{}
	return r, json.Unmarshal(raw, r)
}

func readResult(r *mcp.ReadResourceResult) *mcp.CallToolResult {
	out := &mcp.CallToolResult{}
	for _, contents := range r.Contents {
		if contents != nil {
			out.Content = append(out.Content, &mcp.EmbeddedResource{Resource: contents})
		}
	}
	return out
}

func listResult(r *mcp.ListResourcesResult) *mcp.CallToolResult {
	var lines []string
	for _, x := range r.Resources {
		if x == nil {
			continue
		}
		parts := []string{x.URI}
		for _, more := range []string{x.Name, x.MIMEType, x.Description} {
			if more != "" {
				parts = append(parts, strings.Join(strings.Fields(more), " "))
			}
		}
		lines = append(lines, strings.Join(parts, " | "))
	}
	if len(lines) == 0 {
		lines = []string{"There are no resources."}
	}
	if r.NextCursor != "" {
		lines = append(lines, fmt.Sprintf("There are more: list again with cursor %q.", r.NextCursor))
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: strings.Join(lines, "\n")}}}
}
