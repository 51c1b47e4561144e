package mcp

import (
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Resource is one resource of a server, or a template of many, whose URI then holds {variables}.
type Resource struct {
	URI         string `json:"uri"`
	Name        string `json:"name,omitempty"`
	Description string `json:"description,omitempty"`
	MIMEType    string `json:"mime_type,omitempty"`
	Template    bool   `json:"template,omitempty"`
}

// Prompt is one prompt of a server.
type Prompt struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Arguments   json.RawMessage `json:"arguments,omitempty"` // the server's own list
}

// listOffers adds what a server offers besides tools, as far as it says that it does. Its failures are warnings: a run
// needs tools alone.
func listOffers(ctx context.Context, s *session, found *ServerTools) {
	r := s.client.InitializeResult()
	if r == nil || r.Capabilities == nil {
		return
	}
	warn := func(what string, warnings []string, err error) {
		for _, w := range warnings {
			found.Warnings = append(found.Warnings, what+": "+w)
		}
		if err != nil {
			found.Warnings = append(found.Warnings, what+" cannot be listed: "+s.redact.Replace(err.Error()))
		}
	}
	if r.Capabilities.Resources != nil {
		w, err := s.eachPage(ctx, func(ctx context.Context, cursor string) (any, error) {
			return s.client.ListResources(ctx, &mcp.ListResourcesParams{Cursor: cursor})
		}, found.takeResources)
		warn("resources", w, err)
		w, err = s.eachPage(ctx, func(ctx context.Context, cursor string) (any, error) {
			return s.client.ListResourceTemplates(ctx, &mcp.ListResourceTemplatesParams{Cursor: cursor})
		}, found.takeTemplates)
		warn("resource templates", w, err)
	}
	if r.Capabilities.Prompts != nil {
		w, err := s.eachPage(ctx, func(ctx context.Context, cursor string) (any, error) {
			return s.client.ListPrompts(ctx, &mcp.ListPromptsParams{Cursor: cursor})
		}, found.takePrompts)
		warn("prompts", w, err)
	}
}

func (t *ServerTools) takeResources(page json.RawMessage) (int, error) {
	var list struct {
		Resources []struct {
			URI, Name, Description, MIMEType string
		}
	}
	err := json.Unmarshal(page, &list)
	for _, r := range list.Resources {
		t.Resources = append(t.Resources,
			Resource{URI: r.URI, Name: r.Name, Description: r.Description, MIMEType: r.MIMEType})
	}
	return len(t.Resources), err
}

func (t *ServerTools) takeTemplates(page json.RawMessage) (int, error) {
	var list struct {
		ResourceTemplates []struct {
			URITemplate, Name, Description, MIMEType string
		}
	}
	err := json.Unmarshal(page, &list)
	for _, r := range list.ResourceTemplates {
		t.Resources = append(t.Resources, Resource{URI: r.URITemplate, Name: r.Name, Description: r.Description,
			MIMEType: r.MIMEType, Template: true})
	}
	return len(t.Resources), err
}

func (t *ServerTools) takePrompts(page json.RawMessage) (int, error) {
	var list struct {
		Prompts []struct {
			Name, Description string
			Arguments         json.RawMessage
		}
	}
	err := json.Unmarshal(page, &list)
	for _, p := range list.Prompts {
		t.Prompts = append(t.Prompts, Prompt{Name: p.Name, Description: p.Description, Arguments: compact(p.Arguments)})
	}
	return len(t.Prompts), err
}
