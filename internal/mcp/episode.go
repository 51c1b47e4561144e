package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"hone/internal/chat"
	"hone/internal/episode/trajectory"
	"hone/internal/schema"
)

// Episode is one episode's view of the servers. It implements rollout.Session.
type Episode struct {
	pool *Pool
	id   string
	own  []*session // by server; nil where the server is shared

	closing sync.Once
}

// Call runs the calls of one turn at the same time, Options.Parallel of them at once, and returns results in call
// order. Nothing is retried: a call that was lost may have been carried out.
func (e *Episode) Call(ctx context.Context, calls []chat.ToolCall) []trajectory.ToolResult {
	results := make([]trajectory.ToolResult, len(calls))
	slots := make(chan struct{}, e.pool.options.Parallel)
	var wg sync.WaitGroup
	for i, call := range calls {
		slots <- struct{}{}
		wg.Go(func() {
			start := time.Now()
			results[i] = e.call(ctx, call)
			results[i].Call, results[i].Seconds = call, time.Since(start).Seconds()
			<-slots
		})
	}
	wg.Wait()
	return results
}

func (e *Episode) call(ctx context.Context, call chat.ToolCall) trajectory.ToolResult {
	tool, ok := e.pool.tools[call.Name]
	if !ok {
		return e.failed(trajectory.CallInvalid, fmt.Sprintf("unknown tool %q; the tools are: %s", call.Name, e.pool.someNames()))
	}
	if verdict, why := tool.schema.Validate(call.Arguments); verdict == schema.Invalid {
		return e.failed(trajectory.CallInvalid, fmt.Sprintf("invalid arguments for %s: %s", call.Name, joined(why)))
	}
	server := e.pool.servers[tool.server]
	s := e.own[tool.server]
	if s == nil {
		var err error
		if s, err = server.common(ctx); err != nil {
			return e.failed(trajectory.CallTransportError, err.Error())
		}
	}
	limited, cancel := context.WithTimeout(ctx, server.timeout)
	defer cancel()
	answer, err := s.client.CallTool(limited, &mcp.CallToolParams{Name: tool.name, Arguments: json.RawMessage(call.Arguments)})
	if err != nil {
		return e.lost(ctx, limited, s, server, err)
	}
	r := trajectory.ToolResult{Status: trajectory.CallOK}
	if answer.IsError {
		r.Status = trajectory.CallToolError
	}
	if answer.StructuredContent != nil {
		if r.StructuredContent, err = json.Marshal(answer.StructuredContent); err != nil {
			r.StructuredContent, r.Error = nil, "structuredContent: "+err.Error()
		}
	}
	r.Text = Truncate(contentText(answer, r.StructuredContent), e.pool.options.MaxResult)
	return r
}

// codeRejected marks, in the SDK, a request that its transport could not deliver; no server writes it.
const codeRejected = -32005

// lost says why a call has no result. Only an error that the server itself wrote is the tool's answer.
func (e *Episode) lost(ctx, limited context.Context, s *session, server *poolServer, err error) trajectory.ToolResult {
	var answer *jsonrpc.Error
	switch {
	case ctx.Err() != nil:
		return e.failed(trajectory.CallTransportError, "the call was cancelled")
	case limited.Err() != nil:
		return e.failed(trajectory.CallTimeout, fmt.Sprintf("no answer within %s", server.timeout))
	case errors.As(err, &answer) && answer.Code != codeRejected && !errors.Is(err, mcp.ErrConnectionClosed) && !s.dead():
		return e.failed(trajectory.CallToolError, answer.Message)
	}
	if s.conn != nil {
		s.conn.p.close() // the connection is of no more use, and stderr is complete once the process is gone
	}
	return e.failed(trajectory.CallTransportError, fmt.Sprintf("server %s: %v", server.launcher.name, s.explain(err)))
}

// failed is a result whose text, the same for model and record, says what went wrong.
func (e *Episode) failed(status trajectory.CallStatus, why string) trajectory.ToolResult {
	return trajectory.ToolResult{Status: status, Text: Truncate("Error: "+why, e.pool.options.MaxResult), Error: why}
}

// someNames lists tools for a model that asked for one that is not there, few enough to be read.
func (p *Pool) someNames() string {
	const most = 40
	if len(p.names) <= most {
		return strings.Join(p.names, ", ")
	}
	return strings.Join(p.names[:most], ", ") + ", ..."
}

func joined(reasons []schema.Reason) string {
	var texts []string
	for _, r := range reasons {
		texts = append(texts, r.String())
	}
	return strings.Join(texts, "; ")
}

// Dir is the episode's own folder on a server, "" where it has none: where checks on files look before Close.
func (e *Episode) Dir(server string) string {
	for i, s := range e.pool.servers {
		if s.launcher.name == server && e.own[i] != nil {
			return e.own[i].dir
		}
	}
	return ""
}

// Close ends the episode's own sessions and removes its folders. It returns when they are gone.
func (e *Episode) Close() error {
	e.closing.Do(func() {
		var wg sync.WaitGroup
		for _, s := range e.own {
			if s != nil {
				wg.Go(s.close)
			}
		}
		wg.Wait()
	})
	return nil
}
