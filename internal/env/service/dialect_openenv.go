package service

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	"github.com/coder/websocket"

	"hone/internal/chat"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
)

// OpenEnv 0.10 (openenv/core/env_server): a session is one WebSocket. Client and server take turns, without ids: each
// message has one answer. A socket that closes takes its episode with it.

// maxMessage is the most bytes of a client's message.
const maxMessage = 8 << 20

// Codes of errors, as OpenEnv has them.
const (
	invalidJSON     = "INVALID_JSON"
	unknownType     = "UNKNOWN_TYPE"
	validationError = "VALIDATION_ERROR"
	executionError  = "EXECUTION_ERROR"
	capacityReached = "CAPACITY_REACHED"
	sessionError    = "SESSION_ERROR"
)

type openEnvMessage struct {
	Type string          `json:"type"`
	Data json.RawMessage `json:"data"`
}

type openEnvReply struct {
	Type string `json:"type"`
	Data any    `json:"data"`
}

type openEnvError struct {
	Message string `json:"message"`
	Code    string `json:"code"`
	Active  *int   `json:"active_sessions,omitempty"`
	Max     *int   `json:"max_sessions,omitempty"`
}

// openEnvStep is the answer to a reset or a step. Where the episode is over its reward is null, unless it is known.
type openEnvStep struct {
	Observation map[string]any `json:"observation"`
	Reward      *float64       `json:"reward"`
	Done        bool           `json:"done"`
	Metadata    map[string]any `json:"metadata,omitempty"`
}

// openEnvAction is one of three: list_tools, call_tool and hone's own answer, by which an episode ends with the
// policy's last words.
type openEnvAction struct {
	Type      string          `json:"type"`
	ToolName  string          `json:"tool_name"`
	Arguments json.RawMessage `json:"arguments"`
	// the client's name of the call, by which it can be asked for again; "" for none
	CallID string `json:"call_id"`
	Text   string `json:"text"`
}

// openEnv is one client's socket.
type openEnv struct {
	server  *Server
	socket  *websocket.Conn
	session *session    // nil before the first reset
	release func() bool // has the session no longer end with the socket
	named   string      // the episode's id, where the client gave one
}

func (s *Server) openEnvSocket(w http.ResponseWriter, r *http.Request) {
	if id := r.URL.Query().Get("session_id"); id != "" {
		writeJSON(w, http.StatusBadRequest,
			map[string]string{"detail": "no session can be attached to: each socket has its own"})
		return
	}
	// What keeps strangers out stands before the routes.
	socket, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err != nil {
		return // it has answered
	}
	socket.SetReadLimit(maxMessage)
	ctx, gone := context.WithCancelCause(r.Context())
	c := &openEnv{server: s, socket: socket}
	messages := make(chan []byte)
	go func() { // reads while a call is under way too, or a client's death would show only after it
		for {
			_, text, err := socket.Read(ctx)
			if err != nil {
				gone(errGone)
				return
			}
			select {
			case messages <- text:
			case <-ctx.Done():
				return
			}
		}
	}()
	c.converse(ctx, messages)
	gone(errGone)
	_ = socket.CloseNow()
}

// converse answers messages until the client has gone or says that it closes.
func (c *openEnv) converse(ctx context.Context, messages <-chan []byte) {
	defer c.end(errGone)
	for {
		select {
		case text := <-messages:
			reply, closes := c.answer(ctx, text)
			if closes {
				_ = c.socket.Close(websocket.StatusNormalClosure, "")
				return
			}
			body, err := json.Marshal(reply)
			if err != nil {
				body, _ = json.Marshal(openEnvFailure(sessionError, err))
			}
			if c.socket.Write(ctx, websocket.MessageText, body) != nil {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// begin takes a session, which ends with the socket, also in the midst of a call.
func (c *openEnv) begin(ctx context.Context, e *session, named string) {
	c.session, c.named = e, named
	c.release = context.AfterFunc(ctx, func() { e.close(context.Cause(ctx)) })
}

// end ends the episode of the socket, if there is one.
func (c *openEnv) end(why error) {
	if c.session != nil {
		c.release()
		c.session.close(why)
		c.session = nil
	}
}

func openEnvFailure(code string, err error) openEnvReply {
	return openEnvReply{"error", openEnvError{Message: err.Error(), Code: code}}
}

func (c *openEnv) answer(ctx context.Context, text []byte) (reply openEnvReply, closes bool) {
	var m openEnvMessage
	if err := json.Unmarshal(text, &m); err != nil {
		return openEnvFailure(invalidJSON, fault.JSON(err)), false
	}
	switch m.Type {
	case "reset":
		return c.reset(ctx, m.Data), false
	case "step":
		return c.step(ctx, m.Data), false
	case "state":
		return openEnvReply{"state", c.state()}, false
	case "mcp":
		return openEnvReply{"mcp", c.server.rpc(ctx, m.Data, c.session)}, false
	case "close":
		return openEnvReply{}, true
	}
	return openEnvFailure(unknownType, errors.New("unknown message type: "+m.Type)), false
}

// reset begins an episode. One that was under way ends.
func (c *openEnv) reset(ctx context.Context, data json.RawMessage) openEnvReply {
	var ask struct {
		Ask
		EpisodeID string `json:"episode_id"`
	}
	if len(data) > 0 {
		if err := json.Unmarshal(data, &ask); err != nil {
			return openEnvFailure(validationError, fault.JSON(err))
		}
	}
	c.end(errGone)
	s, err := c.server.tasks.choose(ask.Ask)
	var e *session
	if err == nil {
		e, err = c.server.table.begin(ctx, s)
	}
	if err != nil {
		c.server.table.measureRefusal(err)
		return c.refusal(err)
	}
	c.begin(ctx, e, ask.EpisodeID)
	return openEnvReply{
		"observation", openEnvStep{Observation: map[string]any{"messages": e.messages, "tools": openEnvTools(e.tools),
			"scenario": s.ID, "metadata": map[string]any{}}},
	}
}

func (c *openEnv) refusal(err error) openEnvReply {
	switch {
	case errors.Is(err, errFull), errors.Is(err, errDraining):
		active, most := c.server.table.active(), c.server.o.MaxSessions
		return openEnvReply{"error", openEnvError{err.Error(), capacityReached, &active, &most}}
	case isAsk(err):
		return openEnvFailure(validationError, err)
	}
	return openEnvFailure(sessionError, err)
}

func (c *openEnv) state() map[string]any {
	if c.session == nil {
		return map[string]any{"episode_id": nil, "step_count": 0}
	}
	return map[string]any{"episode_id": cmp.Or(c.named, c.session.id), "step_count": c.session.steps}
}

func (c *openEnv) step(ctx context.Context, data json.RawMessage) openEnvReply {
	var a openEnvAction
	if err := json.Unmarshal(data, &a); err != nil {
		return openEnvFailure(validationError, fault.JSON(err))
	}
	if a.Type == "list_tools" {
		return openEnvReply{
			"observation",
			openEnvStep{Observation: map[string]any{"tools": openEnvTools(c.server.toolsOf(c.session)),
				"metadata": map[string]any{}}},
		}
	}
	if c.session == nil {
		return openEnvFailure(sessionError, errors.New("no episode has begun: reset first"))
	}
	switch {
	case a.Type == "answer":
		over, err := c.session.say(ctx, a.Text, "")
		if err != nil {
			return openEnvFailure(sessionError, err)
		}
		return openEnvReply{"observation", observation(map[string]any{"text": ""}, over)}
	case (a.Type == "call_tool" || a.Type == "") && a.ToolName != "":
		got, err := c.session.call(ctx, a.CallID,
			chat.ToolCall{Name: a.ToolName, Arguments: cmp.Or(string(a.Arguments), "{}")})
		if err != nil {
			return openEnvFailure(executionError, err)
		}
		return openEnvReply{"observation", observation(openEnvResult(a.ToolName, c.session.tools, got), got.over)}
	}
	return openEnvFailure(validationError, errors.New(`an action is {"type": "list_tools"}, {"type": "call_tool", "tool_name", "arguments"} or {"type": "answer", "text"}`))
}

// observation is an observation, with the end of the episode where it is over.
func observation(fields map[string]any, over *Verdict) openEnvStep {
	step := openEnvStep{Observation: fields, Metadata: map[string]any{}}
	if over != nil {
		step.Reward, step.Done, step.Metadata["hone"] = over.Reward, true, over
	}
	fields["metadata"] = step.Metadata
	return step
}

// openEnvResult is a tool's result in RFC 003's form. What the policy is shown is the text, also where hone answered
// for the tool; a call without an answer has none.
func openEnvResult(tool string, tools []chat.Tool, a answer) map[string]any {
	o := map[string]any{"tool_name": tool, "result": nil, "error": nil}
	wrong := func(kind, why string) { o["error"] = map[string]string{"error_type": kind, "message": why} }
	if a.result == nil {
		wrong("execution_error", "the call was not made: the episode is over")
		return o
	}
	switch r := a.result; r.Status {
	case trajectory.CallTimeout:
		wrong("timeout", r.Error)
		return o
	case trajectory.CallTransportError:
		wrong("transport_error", r.Error)
		return o
	case trajectory.CallInvalid:
		wrong("invalid_args", r.Error)
		if !slices.ContainsFunc(tools, func(t chat.Tool) bool { return t.Name == tool }) {
			wrong("tool_not_found", r.Error)
		}
	case trajectory.CallDenied:
		wrong("execution_error", r.Error)
	}
	result := map[string]any{"content": []map[string]string{{"type": "text", "text": a.result.Text}},
		"is_error": a.result.Status != trajectory.CallOK}
	if len(a.result.StructuredContent) > 0 {
		result["data"] = a.result.StructuredContent
	}
	o["result"] = result
	return o
}

// openEnvTool is a tool in RFC 003's form.
type openEnvTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"input_schema"`
}

func openEnvTools(list []chat.Tool) []openEnvTool {
	tools := []openEnvTool{}
	for _, t := range list {
		tools = append(tools, openEnvTool{t.Name, t.Description, t.InputSchema})
	}
	return tools
}

// toolsOf are the tools of a session, or before one those of all scenarios.
func (s *Server) toolsOf(e *session) []chat.Tool {
	if e == nil {
		return s.o.Tools
	}
	return e.Tools()
}
