package service

import (
	"context"
	"encoding/json"
	"io"
	"net/http"

	"hone/internal/chat"
	"hone/internal/fault"
	"hone/internal/serve"
)

// EnvironmentName is the name of the one environment that the task routes have.
const EnvironmentName = "hone"

func (s *Server) openEnvRoutes() []serve.Route {
	return []serve.Route{
		{Method: "GET", Path: "/ws", Handle: s.openEnvSocket},
		{Method: "GET", Path: "/schema", Handle: func(w http.ResponseWriter, _ *http.Request) {
			writeJSON(w, http.StatusOK, openEnvSchema())
		}},
		{Method: "GET", Path: "/metadata", Handle: func(w http.ResponseWriter, _ *http.Request) {
			writeJSON(w, http.StatusOK, s.metadata())
		}},
		{Method: "GET", Path: "/openapi.json", Handle: func(w http.ResponseWriter, _ *http.Request) {
			writeJSON(w, http.StatusOK, s.openAPI())
		}},
		{Method: "POST", Path: "/mcp", Handle: s.openEnvMCP},
		{Method: "POST", Path: "/reset", Handle: overSocketAlone},
		{Method: "POST", Path: "/step", Handle: overSocketAlone},
		{Method: "GET", Path: "/state", Handle: overSocketAlone},
	}
}

// overSocketAlone refuses OpenEnv's requests that make an environment for each: an episode would not outlive its reset.
func overSocketAlone(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusNotImplemented, map[string]string{
		"detail": "an episode is a WebSocket at /ws: over single requests it would end with its reset",
	})
}

// metadata says what is served, and what never acts here.
func (s *Server) metadata() map[string]any {
	count := map[string]int{}
	for _, split := range s.tasks.splits {
		count[split] = len(s.tasks.of[split])
	}
	a := s.o.About
	unseen := a.Unseen
	if unseen == nil {
		unseen = []string{}
	}
	return map[string]any{"name": EnvironmentName, "version": a.Version,
		"description": "Scenarios on live MCP servers, each session on servers of its own, " +
			"scored by checks and reward terms.",
		"hone": map[string]any{
			"scenarios": count, "catalog": a.Catalog, "tools_by_scenario": a.ToolsByScenario,
			"max_sessions": s.o.MaxSessions, "max_turns": a.MaxTurns, "max_tool_calls": a.MaxToolCalls,
			"idle_seconds": s.o.Idle.Seconds(),
			"unseen":       unseen,
		}}
}

type object = map[string]any

// openEnvSchema is the schemas of actions, observations and states. verifiers tells environments of tools by the title.
func openEnvSchema() object {
	text := object{"type": "string"}
	tools := object{"type": "array", "items": object{"type": "object"}}
	action := object{"title": "CallToolAction", "type": "object", "required": []string{"type"}, "properties": object{
		"type":      object{"enum": []string{"call_tool", "list_tools", "answer"}, "default": "call_tool"},
		"tool_name": object{"type": "string", "description": "of call_tool"}, "arguments": object{"type": "object",
			"description": "of call_tool"},
		"call_id": object{"type": "string",
			"description": "of call_tool: names the call; one with a name that was used has that one's answer"},
		"text": object{"type": "string",
			"description": "of answer: the last words of the policy, which end the episode"}}}
	return object{"action": action,
		"observation": object{
			"title": "CallToolObservation", "type": "object", "properties": object{
				"tool_name": text, "result": object{}, "error": object{},
				"tools": tools, "text": text, "metadata": object{"type": "object"},
			},
		},
		"reset_observation": object{
			"title": "Opening", "type": "object", "properties": object{
				"messages": object{"type": "array", "items": object{"type": "object"}},
				"tools":    tools, "scenario": text,
			},
		},
		"state": object{
			"title": "State",
			"type":  "object",
			"properties": object{"episode_id": object{"type": []string{"string", "null"}},
				"step_count": object{"type": "integer"}},
		}}
}

// openAPI lists the routes. OpenEnv tells by them that this is an environment and not a tool server.
func (s *Server) openAPI() object {
	paths := object{}
	for _, r := range s.routes() {
		paths[r.Path] = object{}
	}
	return object{"openapi": "3.1.0", "info": object{"title": EnvironmentName, "version": "1.0.0"}, "paths": paths}
}

// openEnvMCP answers JSON-RPC outside of a session: tools can be listed, and none is called.
func (s *Server) openEnvMCP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxMessage))
	if err != nil {
		body = nil
	}
	writeJSON(w, http.StatusOK, s.rpc(r.Context(), body, nil))
}

// rpc answers OpenEnv's JSON-RPC: tools/list, and in a session tools/call, which is a step as any other.
func (s *Server) rpc(ctx context.Context, request []byte, e *session) object {
	var q struct {
		ID     any    `json:"id"`
		Method string `json:"method"`
		Params struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"params"`
	}
	wrong := func(code int, why string) object {
		return object{"jsonrpc": "2.0", "id": q.ID, "error": object{"code": code, "message": why, "data": nil}}
	}
	if err := json.Unmarshal(request, &q); err != nil {
		return wrong(-32700, fault.JSON(err).Error())
	}
	switch {
	case q.Method == "tools/list":
		list := []object{}
		for _, t := range s.toolsOf(e) {
			list = append(list, object{"name": t.Name, "description": t.Description, "inputSchema": t.InputSchema})
		}
		return object{"jsonrpc": "2.0", "id": q.ID, "result": object{"tools": list}}
	case q.Method == "tools/call" && e == nil:
		return wrong(-32600, "no episode has begun: calls are steps of a session at /ws, or nothing would be scored")
	case q.Method == "tools/call":
		arguments := string(q.Params.Arguments)
		if arguments == "" {
			arguments = "{}"
		}
		got, err := e.call(ctx, "", chat.ToolCall{Name: q.Params.Name, Arguments: arguments})
		if err != nil {
			return wrong(-32000, err.Error())
		}
		return object{"jsonrpc": "2.0", "id": q.ID,
			"result": observation(openEnvResult(q.Params.Name, e.tools, got), got.over).Observation}
	}
	return wrong(-32601, "method not found: "+q.Method)
}
