package mcp

import (
	"context"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"hone/internal/chat"
)

// Offered are tools that hone itself offers to a client of MCP.
type Offered interface {
	Tools() []chat.Tool
	// CallTool makes a call. text is the result; failed says that it is an error.
	CallTool(ctx context.Context, c chat.ToolCall) (text string, failed bool)
}

// Offer is a server over Streamable HTTP, without sessions of its own: of says what a request is offered. Tools are
// offered with the schemas that they have, whatever these are.
func Offer(version string, of func(*http.Request) Offered) http.Handler {
	return mcp.NewStreamableHTTPHandler(func(r *http.Request) *mcp.Server {
		offered := of(r)
		s := mcp.NewServer(&mcp.Implementation{Name: "hone", Version: version},
			&mcp.ServerOptions{Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}}})
		s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(ctx context.Context, method string, q mcp.Request) (mcp.Result, error) {
				switch p := q.GetParams().(type) {
				case *mcp.ListToolsParams:
					return toolsResult(offered.Tools()), nil
				case *mcp.CallToolParamsRaw:
					text, failed := offered.CallTool(ctx, chat.ToolCall{Name: p.Name, Arguments: orEmpty(p.Arguments)})
					return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}},
						IsError: failed}, nil
				}
				return next(ctx, method, q)
			}
		})
		return s
		// Who may ask, and by which name of this machine, is decided before.
	}, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true, DisableLocalhostProtection: true})
}

func toolsResult(tools []chat.Tool) *mcp.ListToolsResult {
	// they are a session's
	r := &mcp.ListToolsResult{Tools: []*mcp.Tool{}, Cacheable: mcp.Cacheable{CacheScope: "private"}}
	for _, t := range tools {
		r.Tools = append(r.Tools, &mcp.Tool{Name: t.Name, Description: t.Description, InputSchema: t.InputSchema})
	}
	return r
}

func orEmpty(arguments []byte) string {
	if len(arguments) == 0 {
		return "{}"
	}
	return string(arguments)
}
