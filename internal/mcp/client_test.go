package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"hone/internal/chat/schema"
	"hone/internal/episode/trajectory"
)

// Client is one session on one server, for hosts that need no pool. It may be used from many goroutines.
type Client struct {
	opener  *opener
	session *session
}

// Dial opens a session on s; name stands in errors. base is the environment its process starts from.
func Dial(ctx context.Context, name string, s Server, base map[string]string, o Options) (*Client, error) {
	l, err := newOpener(name, s, base, o.withDefaults())
	if err != nil {
		return nil, err
	}
	opened, err := l.openFrom(ctx, start{})
	if err != nil {
		return nil, err
	}
	return &Client{opener: l, session: opened}, nil
}

// Close ends the session.
func (c *Client) Close() error {
	c.session.close()
	return nil
}

// List asks the server what it offers. The error is a *Failure.
func (c *Client) List(ctx context.Context) (ServerTools, error) {
	return c.opener.list(ctx, c.session)
}

// Call calls a tool List returned, with JSON text for arguments. Those that break its inputSchema are not sent.
func (c *Client) Call(ctx context.Context, t Tool, arguments string) trajectory.ToolResult {
	o := &c.opener.o
	b := bind(t, 0)
	if verdict, why := b.input.Validate(arguments); verdict == schema.Invalid {
		return o.failedResult(trajectory.CallInvalid,
			fmt.Sprintf("invalid arguments for %s: %s", t.Name, joinReasons(why)))
	}
	r, _ := c.session.call(ctx, b, arguments, o.Timeout, o)
	return r
}

// Resource reads a resource: its text parts, and a placeholder for each part that is not text.
func (c *Client) Resource(ctx context.Context, uri string) (string, error) {
	limited, cancel := context.WithTimeout(ctx, c.opener.o.Timeout)
	defer cancel()
	r, err := c.session.client.ReadResource(limited, &mcp.ReadResourceParams{URI: uri})
	if err != nil {
		return "", c.session.failureUnder(ctx, PhaseCall, err)
	}
	var parts []mcp.Content
	for _, contents := range r.Contents {
		parts = append(parts, &mcp.EmbeddedResource{Resource: contents})
	}
	return Render(parts, nil, c.opener.o.MaxResult), nil
}

// Prompt returns the messages of a prompt, each its role, a colon and its text.
func (c *Client) Prompt(ctx context.Context, name string, arguments map[string]string) (string, error) {
	limited, cancel := context.WithTimeout(ctx, c.opener.o.Timeout)
	defer cancel()
	r, err := c.session.client.GetPrompt(limited, &mcp.GetPromptParams{Name: name, Arguments: arguments})
	if err != nil {
		return "", c.session.failureUnder(ctx, PhaseCall, err)
	}
	var texts []string
	for _, m := range r.Messages {
		texts = append(texts, string(m.Role)+": "+Render([]mcp.Content{m.Content}, nil, c.opener.o.MaxResult))
	}
	return Truncate(strings.Join(texts, "\n"), c.opener.o.MaxResult), nil
}

// BareTool is a tool to Call without List: nothing is known of it.
func BareTool(name string) Tool {
	return Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}
}
