package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"hone/internal/chat/schema"
	"hone/internal/episode/trajectory"
)

// boundTool is what a call needs of a tool.
type boundTool struct {
	server     int    // index in Pool.servers
	name       string // the server's
	input      *schema.Schema
	output     *schema.Schema // nil where the tool has no outputSchema
	repeatable bool           // it says that it reads only, or that a second call changes nothing
	resources  string         // listResources or readResource: a call of it is a request about resources
}

func bind(t Tool, server int) *boundTool {
	b := &boundTool{server: server, name: t.Name, input: schema.Compile(t.InputSchema), resources: t.Resources}
	if len(t.OutputSchema) > 0 {
		b.output = schema.Compile(t.OutputSchema)
	}
	var hints struct {
		ReadOnlyHint, IdempotentHint bool
	}
	if json.Unmarshal(t.Annotations, &hints) == nil {
		b.repeatable = hints.ReadOnlyHint || hints.IdempotentHint
	}
	return b
}

// call makes one call, once. again says that the same call may be made once more: it was not delivered, or it does no
// harm twice and no answer came.
//
// Who failed is told by where it arose. A tool error is the server's answer to this call, also one we cannot use. No
// answer is the environment's failure. What never left us, or that we ended ourselves, is the infrastructure's.
func (s *session) call(
	ctx context.Context, tool *boundTool, args string, timeout time.Duration, o *Options,
) (r trajectory.ToolResult, again bool) {
	wait := patient(ctx, timeout)
	defer wait.stop()
	limited, x := withExchange(wait)
	defer s.wire.forget(x)
	params := &mcp.CallToolParams{Name: tool.name, Arguments: json.RawMessage(args)}
	token := s.tokens.Add(1)
	params.SetProgressToken(token)
	s.watchers.Store(token, func(done, total float64, message string) {
		if wait.more(); o.Progress != nil {
			o.Progress(s.server, tool.name, done, total, message)
		}
	})
	defer s.watchers.Delete(token)
	answer, err := s.ask(limited, tool, params)
	known := x.outcome()
	defer func() { r.Warning = joinTexts(known.odd, r.Warning) }()
	if limited.Err() == nil && s.isForgotten(ctx, &known, answer, err) {
		s.expired.Store(true)
		return s.expiredResult(&known, answer, err, o), known.isUnread(err) || tool.repeatable
	}
	if err == nil {
		return s.resultOf(answer, known.result, tool, o), false
	}
	if known.sent && !known.answered {
		s.unfinished.Store(true)
	}
	switch {
	case ctx.Err() != nil:
		return o.lostResult(trajectory.CallTransportError, trajectory.InfrastructureError,
			"the call was cancelled"), false
	case limited.Err() != nil && !known.sent && known.dialled:
		return o.lostResult(trajectory.CallTimeout, trajectory.InfrastructureError,
			fmt.Sprintf("no connection within %s", timeout)), false
	case limited.Err() != nil:
		return o.lostResult(trajectory.CallTimeout, trajectory.EnvironmentError,
			wait.waitText()+s.instead(known.instead)), false
	case known.unusable != "":
		return o.failedResult(trajectory.CallToolError, s.redact.Replace(known.unusable)), false
	case known.answered && known.result != nil && !asksPerson(known.result):
		return s.resultOf(nil, known.result, tool, o), false
	case known.answered:
		return s.errorResult(err, known.result, o), false
	}
	if known.missing != "" {
		err = said{known.missing, err}
	}
	if s.conn != nil {
		s.conn.p.close() // the connection is of no more use, and stderr is complete once the process is gone
	}
	f := s.failure(PhaseCall, err)
	if !known.sent && known.dialled {
		f.Outcome = trajectory.InfrastructureError
	}
	refused := known.status == http.StatusTooManyRequests // before the call was looked at
	return o.lostResult(trajectory.CallTransportError, f.Outcome, f.Error()), !known.sent || refused || tool.repeatable
}

// said is an error that tells what the transport saw in place of what the SDK made of it.
type said struct {
	text string
	error
}

func (s said) Error() string { return s.text }
func (s said) Unwrap() error { return s.error }

// errorResult is the record of an answer that was an error, or that asks a person. Of the error's data the model is
// shown the beginning and the end, and the record has more.
func (s *session) errorResult(err error, result json.RawMessage, o *Options) trajectory.ToolResult {
	var answer *jsonrpc.Error
	if result != nil || !errors.As(err, &answer) {
		return o.failedResult(trajectory.CallToolError,
			s.redact.Replace("the tool asks a person for input, and nobody is there to give it: "+err.Error()))
	}
	data := answer.Data
	if s.hide != nil && len(data) > 0 {
		data = s.hide(data)
	}
	message := s.redact.Replace(answer.Message)
	text := s.redact.Replace(dataText(answer.Message, data))
	r := o.failedResult(trajectory.CallToolError, message+Truncate(text, dataShown))
	r.Error = message + Truncate(text, o.MaxResult)
	return r
}

const dataShown = 2000 // bytes of an error's data in a text

// dataText is what the data of an error adds to its message.
func dataText(message string, data json.RawMessage) string {
	text := textOf(data)
	switch strings.TrimSpace(text) {
	case "", "{}", "[]", message:
		return ""
	}
	return "; data: " + text
}

// asksPerson reports whether a result is no result yet, but a question.
func asksPerson(result json.RawMessage) bool {
	var kind struct {
		ResultType string `json:"resultType"`
	}
	return json.Unmarshal(result, &kind) == nil && kind.ResultType == "input_required"
}

// resultOf is the record of a result. answer is nil where the SDK could not read it; an answer of which nothing can be
// read is none, and the environment's failure.
func (s *session) resultOf(
	answer *mcp.CallToolResult, raw json.RawMessage, tool *boundTool, o *Options,
) trajectory.ToolResult {
	if s.hide != nil {
		if hidden := s.hide(raw); !bytes.Equal(hidden, raw) {
			var err error
			raw = hidden
			if answer, err = tool.read(raw); err != nil {
				answer = nil
			}
		}
	}
	if answer != nil && !tool.isOdd(answer, raw) {
		return s.markRefusal(answer, s.result(answer, raw, tool, o), o)
	}
	odd := tool.readOdd(raw)
	if odd == nil {
		return o.lostResult(trajectory.CallTransportError, trajectory.EnvironmentError,
			"the answer cannot be read: it is "+s.redact.Replace(excerpt(string(raw))))
	}
	r := s.record(&odd.CallToolResult, raw, odd.bare, tool, o)
	if len(odd.odd) > 0 {
		r.Warning = joinTexts("the result does not follow the protocol: "+strings.Join(odd.odd, "; "), r.Warning)
	} else if answer == nil {
		r.Warning = joinTexts("the result does not follow the protocol", r.Warning)
	}
	return s.markRefusal(&odd.CallToolResult, r, o)
}

// isOdd reports whether a result that the SDK could read may hold more than it has read.
func (b *boundTool) isOdd(answer *mcp.CallToolResult, raw json.RawMessage) bool {
	switch {
	case len(raw) == 0: // the SDK keeps lists for a while
		return false
	case raw[0] != '{': // null decodes into a result of nothing
		return true
	case b.resources != "":
		return false
	}
	odd := func(c mcp.Content) bool { return !isProper(c) }
	return len(answer.Content) == 0 && answer.StructuredContent == nil || slices.ContainsFunc(answer.Content, odd)
}

// markRefusal is a result that counts as an error where the configuration says that it is one. It looks at all of the
// text.
func (s *session) markRefusal(answer *mcp.CallToolResult, r trajectory.ToolResult, o *Options) trajectory.ToolResult {
	if r.Status != trajectory.CallOK || s.refusal.texts == nil && s.refusal.objects == nil {
		return r
	}
	whole := r
	whole.Text = Render(answer.Content, r.StructuredContent, max(o.MaxRecord, o.MaxResult))
	if pattern := s.refusal.fits(whole); pattern != "" {
		r.Status, r.Error = trajectory.CallToolError, trajectory.RefusedByConfiguration+pattern
	}
	return r
}

// result is the record of an answer that follows the protocol.
func (s *session) result(
	answer *mcp.CallToolResult, raw json.RawMessage, tool *boundTool, o *Options,
) trajectory.ToolResult {
	if plain, ok := onlyText(answer); ok && tool.output == nil { // most results: nothing to be read a second time
		r := trajectory.ToolResult{Status: statusOf(answer), Text: Render(answer.Content, nil, o.MaxResult)}
		if r.Text == plain {
			return r
		}
	}
	return s.record(answer, raw, nil, tool, o)
}

func statusOf(answer *mcp.CallToolResult) trajectory.CallStatus {
	if answer.IsError {
		return trajectory.CallToolError
	}
	return trajectory.CallOK
}

// record is the record of an answer; bare is what a result is made of that has no content.
func (s *session) record(
	answer *mcp.CallToolResult, raw, bare json.RawMessage, tool *boundTool, o *Options,
) trajectory.ToolResult {
	r := trajectory.ToolResult{Status: statusOf(answer), StructuredContent: bare}
	var own struct { // the server's bytes: key order and number text survive
		Content           json.RawMessage `json:"content"`
		StructuredContent json.RawMessage `json:"structuredContent"`
	}
	if json.Unmarshal(raw, &own) == nil && bare == nil {
		r.StructuredContent = compact(own.StructuredContent)
	}
	r.Text = Render(answer.Content, r.StructuredContent, o.MaxResult)
	r.Content = recordText(own.Content, r.Text, o.MaxRecord)
	if tool.output != nil && !answer.IsError {
		r.Warning = checkOutput(tool.output, r.StructuredContent)
	}
	if len(r.StructuredContent) > o.MaxRecord {
		r.StructuredContent = nil
		r.Warning = joinTexts(r.Warning, "the structured content is too large for the record")
	}
	return r
}

// onlyText returns the text of a result that is one part of text and nothing else.
func onlyText(answer *mcp.CallToolResult) (string, bool) {
	if len(answer.Content) != 1 || answer.StructuredContent != nil {
		return "", false
	}
	part, ok := answer.Content[0].(*mcp.TextContent)
	if !ok || part.Annotations != nil || len(part.Meta) > 0 {
		return "", false
	}
	return part.Text, true
}

// checkOutput says what of a tool's result breaks its outputSchema (MCP, server/tools: clients should validate).
func checkOutput(output *schema.Schema, structured json.RawMessage) string {
	if len(structured) == 0 {
		return "the tool has an outputSchema and the result no structuredContent"
	}
	if verdict, why := output.Validate(string(structured)); verdict == schema.Invalid {
		return "the structuredContent breaks the outputSchema: " + joinReasons(why)
	}
	return ""
}

func joinTexts(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "; " + b
}

// failedResult is a result whose text, the same for model and record, says what went wrong.
func (o *Options) failedResult(status trajectory.CallStatus, why string) trajectory.ToolResult {
	return trajectory.ToolResult{Status: status, Text: Truncate("Error: "+why, o.MaxResult), Error: why}
}

// lostResult is the result of a call that has no answer.
func (o *Options) lostResult(
	status trajectory.CallStatus, outcome trajectory.Outcome, why string,
) trajectory.ToolResult {
	r := o.failedResult(status, why)
	r.Outcome = outcome
	return r
}
