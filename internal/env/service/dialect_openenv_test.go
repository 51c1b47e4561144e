package service

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"hone/internal/episode/trajectory"
)

// One episode, frame by frame: what the client of openenv 0.10 sends, and what it is to read.
func TestOpenEnvFrames(t *testing.T) {
	s := serveTasks(t, nil)
	c := s.connect()
	const tools = `[{"name":"add","description":"Adds to a sum","input_schema":{"type":"object","properties":{"n":{"type":"number"}}}}]`
	for _, x := range []struct{ send, want string }{
		{`{"type": "state"}`, `{"type":"state","data":{"episode_id":null,"step_count":0}}`},
		{
			`{"type": "step", "data": {"type": "list_tools"}}`,
			`{"type":"observation","data":{"observation":{"metadata":{},"tools":` + tools +
				`},"reward":null,"done":false}}`,
		},
		{`{"type": "step", "data": {"type": "answer", "text": "2"}}`,
			`{"type":"error","data":{"message":"no episode has begun: reset first","code":"SESSION_ERROR"}}`},
		{`{"type": "reset", "data": {"scenario": "sum", "episode_id": "mine", "prompt": [{"role": "user"}]}}`,
			`{"type":"observation","data":{"observation":{"messages":[{"role":"system","content":"You add."},{"role":"user","content":"Add 2."}],"metadata":{},"scenario":"sum","tools":` + tools + `},"reward":null,"done":false}}`},
		{`{"type": "step", "data": {"type": "call_tool", "tool_name": "fail", "arguments": {}}}`,
			`{"type":"observation","data":{"observation":{"error":null,"metadata":{},"result":{"content":[{"text":"Error: it says no","type":"text"}],"is_error":true},"tool_name":"fail"},"reward":null,"done":false}}`},
		{`{"type": "step", "data": {"type": "call_tool", "tool_name": "nothing"}}`,
			`{"type":"observation","data":{"observation":{"error":{"error_type":"tool_not_found","message":"unknown tool \"nothing\""},"metadata":{},"result":{"content":[{"text":"Error: unknown tool \"nothing\"","type":"text"}],"is_error":true},"tool_name":"nothing"},"reward":null,"done":false}}`},
		{`{"type": "step", "data": {"tool_name": "add", "arguments": {"n": 2}}}`,
			`{"type":"observation","data":{"observation":{"error":null,"metadata":{},"result":{"content":[{"text":"2","type":"text"}],"data":{"sum":2},"is_error":false},"tool_name":"add"},"reward":null,"done":false}}`},
		{`{"type": "state"}`, `{"type":"state","data":{"episode_id":"mine","step_count":3}}`},
		{`{"type": "step", "data": {"type": "dance"}}`, `{"type":"error","data":{"message":"an action is {\"type\": \"list_tools\"}, {\"type\": \"call_tool\", \"tool_name\", \"arguments\"} or {\"type\": \"answer\", \"text\"}","code":"VALIDATION_ERROR"}}`},
		{`{"type": "mcp", "data": {"jsonrpc": "2.0", "id": 7, "method": "prompts/list"}}`, `{"type":"mcp","data":{"error":{"code":-32601,"data":null,"message":"method not found: prompts/list"},"id":7,"jsonrpc":"2.0"}}`},
		{`{"type": "dance"}`, `{"type":"error","data":{"message":"unknown message type: dance","code":"UNKNOWN_TYPE"}}`},
		{`{"type": "reset", "data": {"scenario": "sun"}}`, `{"type":"error","data":{"message":"there is no scenario \"sun\"; did you mean \"sum\"?","code":"VALIDATION_ERROR"}}`},
		{`{"type": "reset", "data": {"scenario": "sum", "hash": "old"}}`, `{"type":"error","data":{"message":"the scenario sum has changed since its row was written: write the rows again with hone env tasks","code":"VALIDATION_ERROR"}}`},
	} {
		if got := c.ask(x.send); got != x.want {
			t.Errorf("%s\n got %s\nwant %s", x.send, got, x.want)
		}
	}
	if got := c.ask(`{"type"`); !strings.Contains(got, `"code":"INVALID_JSON"`) {
		t.Error(got)
	}
}

// The reward is that of hone's own terms. Once an episode is over, nothing that is asked of it changes that, and no
// call is made.
func TestOpenEnvReward(t *testing.T) {
	s := serveTasks(t, nil)
	c := s.connect()
	c.ask(`{"type": "reset", "data": {"scenario": "sum"}}`)
	c.step(`{"type": "call_tool", "tool_name": "add", "arguments": {"n": 2}}`)
	for _, action := range []string{
		`{"type": "answer", "text": "2"}`, `{"type": "answer", "text": "3"}`,
		`{"type": "call_tool", "tool_name": "add", "arguments": {"n": 9}}`,
	} {
		got, done, v := c.step(action)
		if !done || got == nil || *got != 1.9 || !v.Trainable || v.Outcome != trajectory.OK || v.Terms["checks"] != 1 ||
			v.Terms["call"] != 0.5 || v.Terms["end"] != 0.2 {
			t.Errorf("%s: %v, %v, %+v", action, got, done, v)
		}
	}
	if _, _, calls := s.adder.counts(); calls != 1 {
		t.Errorf("%d calls were made", calls)
	}
	s.table.drain(time.Minute)
	if k := s.memory.kept; len(k) != 1 || k[0].ID != "sum/1/0" || k[0].Reward != 1.9 || k[0].Answer() != "2" {
		t.Errorf("kept %+v", k)
	}
}

// What says nothing of the policy has no reward; what the policy caused has one. Nothing of it is an error of the
// reset.
func TestFailureHasNoReward(t *testing.T) {
	add := `{"type": "call_tool", "tool_name": "add", "arguments": {"n": 2}}`
	answer := `{"type": "answer", "text": "2"}`
	tool := func(name string) string { return `{"type": "call_tool", "tool_name": "` + name + `"}` }
	for name, x := range map[string]struct {
		scenario string
		actions  []string
		fails    error
		want     trajectory.Outcome
		reward   bool
	}{
		"server does not open": {scenario: "unopened", actions: []string{add}, want: trajectory.EnvironmentError},
		"answer to none":       {scenario: "unopened", actions: []string{answer}, want: trajectory.EnvironmentError},
		"server dies":          {actions: []string{add, tool("die")}, want: trajectory.EnvironmentError},
		"server stalls":        {actions: []string{add, tool("stall")}, want: trajectory.EnvironmentError},
		"no score":             {actions: []string{add, answer}, fails: errors.New("no score"), want: trajectory.JudgeError},
		"too many calls":       {actions: []string{tool("fail"), tool("fail"), tool("fail"), tool("fail")}, want: trajectory.Limit, reward: true},
		"denied":               {actions: []string{tool("deny"), answer}, want: trajectory.OK, reward: true},
		"nothing right":        {actions: []string{answer}, want: trajectory.OK, reward: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := serveTasks(t, func(_ *Options, m *memory) { m.fails = x.fails })
			c := s.connect()
			if x.scenario == "" {
				x.scenario = "sum"
			}
			if got := c.ask(`{"type": "reset", "data": {"scenario": "` + x.scenario + `"}}`); !strings.HasPrefix(got,
				`{"type":"observation"`) {
				t.Error(got)
			}
			for i, action := range x.actions {
				reward, done, v := c.step(action)
				if last := i == len(x.actions)-1; done != last {
					t.Errorf("%s: over is %v", action, done)
				} else if last && ((reward != nil) != x.reward || v.Trainable != x.reward || v.Outcome != x.want ||
					len(v.Terms) > 0 != x.reward) {
					t.Errorf("reward %v, %+v", reward, v)
				}
			}
			eventually(func() bool {
				opened, closed, _ := s.adder.counts()
				return opened == closed && s.table.active() == 0
			})
		})
	}
}

// A client that is gone takes its servers with it, in the midst of a call too, and nobody else's.
func TestSocketEndsItsEpisode(t *testing.T) {
	s := serveTasks(t, nil)
	gone, stays := s.connect(), s.connect()
	for _, c := range []*client{gone, stays} {
		c.ask(`{"type": "reset", "data": {"scenario": "sum"}}`)
		c.step(`{"type": "call_tool", "tool_name": "add", "arguments": {"n": 2}}`)
	}
	if err := gone.ws.Write(t.Context(), 1, []byte(`{"type": "step", "data": {"tool_name": "hold"}}`)); err != nil {
		t.Fatal(err)
	}
	<-s.adder.holding
	_ = gone.ws.CloseNow()
	eventually(func() bool { opened, closed, _ := s.adder.counts(); return opened == 2 && closed == 1 })
	if reward, _, _ := stays.step(`{"type": "answer", "text": "2"}`); reward == nil || *reward != 1.9 {
		t.Errorf("the other's reward is %v", reward)
	}
	s.table.drain(time.Minute)
	for _, k := range s.memory.kept {
		if k.StopReason == trajectory.StopCancelled &&
			(k.Outcome != trajectory.InfrastructureError || k.Error != errGone.Error() || len(k.Turns) != 2) {
			t.Errorf("the cancelled one: %s %q, %d turns", k.Outcome, k.Error, len(k.Turns))
		}
	}
	if len(s.memory.kept) != 2 {
		t.Errorf("%d records", len(s.memory.kept))
	}
}

// Routes beside the socket.
func TestOpenEnvRoutes(t *testing.T) {
	s := serveTasks(t, nil)
	for _, x := range []struct {
		method, path, body, want string
		status                   int
	}{
		{"GET", "/health", "", `{"status":"healthy"}`, 200},
		{"GET", "/metadata", "", `"scenarios":{"train":2,"validation":1}`, 200},
		{"GET", "/schema", "", `"title":"CallToolAction"`, 200},
		{"GET", "/openapi.json", "", `"/reset":{}`, 200},
		{"POST", "/reset", "{}", "WebSocket", 501},
		{"GET", "/ws?session_id=x", "", "its own", 400},
		{"POST", "/mcp", "{}", `{"error":{"code":-32601,"data":null,"message":"method not found: "},"id":null,"jsonrpc":"2.0"}`, 200},
		{"POST", "/mcp", `{"id":1,"method":"tools/call"}`, "no episode has begun", 200},
		{"POST", "/mcp", `{"id":1,"method":"tools/list"}`, `"inputSchema":{"type":"object"`, 200},
		{"GET", "/list_environments", "", `["hone"]`, 200},
		{"GET", "/hone/splits", "", `[{"name":"train","type":"train"},{"name":"validation","type":"validation"}]`, 200},
		{"POST", "/hone/num_tasks", `{"split":"train"}`, `{"num_tasks":2}`, 200},
		{"POST", "/hone/num_tasks", `{"split":"test"}`, `no scenario is in the split \"test\"`, 400},
		{"POST", "/hone/num_tasks", `[]`, `detail`, 422},
		{"POST", "/hone/task", `{"split":"train","index":1}`, `{"task":{"scenario":"unopened",`, 200},
		{"POST", "/hone/task", `{"split":"train","index":2}`, `the index 2 is not in the split, which has 2 scenarios`, 400},
		{"POST", "/hone/tasks", `{"split":"validation"}`, `{"env_name":"hone","tasks":[{"scenario":"late",`, 200},
		{"POST", "/hone/task_range", `{"split":"train","start":1,"stop":9}`, `{"tasks":[{"scenario":"unopened",`, 200},
		{"GET", "/other/splits", "", "no route", 404},
	} {
		q, _ := http.NewRequest(x.method, s.url+x.path, strings.NewReader(x.body))
		r, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		got, _ := io.ReadAll(r.Body)
		_ = r.Body.Close()
		if r.StatusCode != x.status || !strings.Contains(string(got), x.want) {
			t.Errorf("%s %s %s: %d %s", x.method, x.path, x.body, r.StatusCode, got)
		}
	}
	http.DefaultClient.CloseIdleConnections()
}

// With keys, only who has one is answered, but for whether the server is well.
func TestKeys(t *testing.T) {
	s := serveTasks(t, func(o *Options, _ *memory) { o.Keys = []string{"secret"} })
	for path, want := range map[string]int{"/health": 200, "/metadata": 401, "/ws": 401, "/hone/splits": 401} {
		r, err := http.Get(s.url + path)
		if err != nil {
			t.Fatal(err)
		}
		_ = r.Body.Close()
		if r.StatusCode != want {
			t.Errorf("%s: %d", path, r.StatusCode)
		}
	}
	http.DefaultClient.CloseIdleConnections()
}
