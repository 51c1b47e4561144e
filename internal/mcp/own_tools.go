package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// OwnTool is a tool of hone itself, on a server of its own.
type OwnTool func(*mcp.Server)

// Acts is what a tool does to the world, by which clients decide whether to ask a person first. The zero value adds to
// what is on this machine.
type Acts struct {
	ReadOnly    bool // it changes nothing
	Destructive bool // it may change or remove what is there
	OpenWorld   bool // it reaches beyond this machine, or runs what others wrote
}

// NewOwnTool is a tool whose arguments are In, a struct: its fields' tags json and jsonschema make the schema, which
// calls are held against. What call returns is the result, as JSON unless it is a string; an error is one that the
// model reads.
func NewOwnTool[In any](
	name, title, description string, acts Acts, call func(context.Context, In) (any, error),
) OwnTool {
	tool := &mcp.Tool{Name: name, Title: title, Description: description, Annotations: &mcp.ToolAnnotations{
		Title: title, ReadOnlyHint: acts.ReadOnly, IdempotentHint: acts.ReadOnly,
		DestructiveHint: new(acts.Destructive), OpenWorldHint: new(acts.OpenWorld),
	}}
	if schema, err := jsonschema.For[In](nil); err == nil { // else AddTool says why it cannot be
		for _, p := range schema.Properties {
			// what may be left out need not be null, and clients ask for arguments by one type
			if i := slices.Index(p.Types, "null"); i >= 0 && len(p.Types) == 2 {
				p.Type, p.Types = p.Types[1-i], nil
			}
		}
		tool.InputSchema = schema
	}
	return func(s *mcp.Server) {
		mcp.AddTool(s, tool, func(ctx context.Context, _ *mcp.CallToolRequest, in In) (
			*mcp.CallToolResult, any, error,
		) {
			text, err := resultText(call(ctx, in))
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, err
		})
	}
}

// resultText is a result as a model reads it.
func resultText(value any, err error) (string, error) {
	if text, is := value.(string); is || err != nil {
		return text, err
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // a model reads it, and no page
	err = e.Encode(value)
	return b.String(), err
}

// ServeOwn offers tools over stdio until the client leaves. instructions are what the client's model reads first.
func ServeOwn(
	ctx context.Context, in io.Reader, out io.Writer, version, instructions string, tools []OwnTool,
) error {
	s := mcp.NewServer(&mcp.Implementation{Name: "hone", Version: version},
		&mcp.ServerOptions{Instructions: instructions})
	for _, add := range tools {
		add(s)
	}
	err := s.Run(ctx, &mcp.IOTransport{Reader: io.NopCloser(in), Writer: unclosed{out}})
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// unclosed leaves a stream open for what else writes to it.
type unclosed struct{ io.Writer }

// Close implements io.Closer.
func (unclosed) Close() error { return nil }
