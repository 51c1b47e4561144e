package service

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"hone/internal/chat"
	"hone/internal/episode/trajectory"
	"hone/internal/mcp"
)

// withMCP gives sessions their MCP server, as hone env serve does.
func withMCP(o *Options, _ *memory) {
	o.MCP = func(of func(*http.Request) Callable) http.Handler {
		return mcp.Offer("1", func(r *http.Request) mcp.Offered { return of(r) })
	}
}

// gym is a client of NeMo Gym's resources server, with the cookie of its session.
type gym struct {
	t      *testing.T
	url    string
	cookie *http.Cookie
	token  string
}

func (g *gym) post(path, body string) (status int, answer string) {
	g.t.Helper()
	q, err := http.NewRequest("POST", g.url+path, strings.NewReader(body))
	if err != nil {
		g.t.Fatal(err)
	}
	if g.cookie != nil {
		q.AddCookie(g.cookie)
	}
	r, err := http.DefaultClient.Do(q)
	if err != nil {
		g.t.Fatal(err)
	}
	defer r.Body.Close()
	for _, c := range r.Cookies() {
		g.cookie = c
	}
	text, _ := io.ReadAll(r.Body)
	return r.StatusCode, strings.TrimSpace(string(text))
}

// seed begins a session, and keeps its token.
func (s *served) seed(prefix, scenario string) (*gym, int, string) {
	s.t.Helper()
	s.t.Cleanup(http.DefaultClient.CloseIdleConnections)
	g := &gym{t: s.t, url: s.url + prefix}
	status, answer := g.post("/seed_session",
		`{"responses_create_params": {"input": []}, "verifier_metadata": {"scenario": "`+scenario+`"}}`)
	var seeded struct {
		MCP struct{ Headers map[string]string }
	}
	_ = json.Unmarshal([]byte(answer), &seeded)
	g.token = seeded.MCP.Headers[gymToken]
	return g, status, answer
}

// tools connects to the session's MCP server, as the harnesses of verifiers do for each call.
func (g *gym) tools() *sdk.ClientSession {
	g.t.Helper()
	h := &http.Client{Transport: withHeader{gymToken, g.token}}
	c, err := sdk.NewClient(&sdk.Implementation{Name: "c", Version: "1"}, nil).Connect(g.t.Context(),
		&sdk.StreamableClientTransport{Endpoint: g.url + "/mcp", HTTPClient: h, MaxRetries: -1,
			DisableStandaloneSSE: true}, nil)
	if err != nil {
		g.t.Fatal(err)
	}
	return c
}

type withHeader struct{ name, value string }

func (h withHeader) RoundTrip(r *http.Request) (*http.Response, error) {
	r.Header.Set(h.name, h.value)
	return http.DefaultTransport.RoundTrip(r)
}

const gymAnswer = `{"responses_create_params": {"input": [], "x": 1}, "verifier_metadata": {"scenario": "sum"}, "response": {"status": "completed", "output": [
	{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Let me see."}]}, {"type": "function_call", "name": "add"}, {"type": "function_call_output", "output": "2"},
	{"type": "reasoning", "summary": []}, {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "It is "}, {"type": "output_text", "text": "2."}]}]}}`

// A session as verifiers has it: seeded by a row, its tools over MCP, and verified with the whole response, of which
// the last words count.
func TestGymSession(t *testing.T) {
	s := serveTasks(t, withMCP)
	g, status, answer := s.seed(GymPath, "sum")
	if want := `{"mcp":{"headers":{"X-NeMo-Gym-Session-Token":"` +
		g.token + `"},"server_name":"hone","transport":"http","url_path":"/mcp"}}`; status != 200 || answer != want ||
		len(g.token) != 32 {
		t.Fatalf("%d %s", status, answer)
	}
	c := g.tools()
	defer c.Close()
	list, err := c.ListTools(t.Context(), nil)
	if err != nil || len(list.Tools) != 1 || list.Tools[0].Name != "add" || list.CacheScope != "private" {
		t.Fatalf("%+v, %v", list, err)
	}
	for _, x := range []struct {
		tool, want string
		failed     bool
	}{{"fail", "Error: it says no", true}, {"add", "2", false}} {
		r, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: x.tool, Arguments: map[string]any{"n": 2}})
		if err != nil || r.IsError != x.failed || r.Content[0].(*sdk.TextContent).Text != x.want {
			t.Errorf("%s: %+v, %v", x.tool, r, err)
		}
	}
	for range 2 { // asked again it says the same
		status, answer = g.post("/verify", gymAnswer)
		var got struct {
			Reward     float64
			Mask       bool               `json:"mask_sample"`
			Call       float64            `json:"hone_call"`
			Components map[string]float64 `json:"reward_components"`
			Params     struct{ X int }    `json:"responses_create_params"`
			Response   struct{ Output []any }
		}
		if err := json.Unmarshal([]byte(answer), &got); err != nil || status != 200 || got.Reward != 0.6 || got.Mask ||
			got.Call != 0 || got.Components["checks"] != 1 || got.Params.X != 1 || len(got.Response.Output) != 5 {
			t.Errorf("%d %s, %v", status, answer, err)
		}
	}
	s.table.drain(time.Minute)
	if k := s.memory.kept; len(k) != 1 || k[0].Answer() != "It is 2." || k[0].Reward != 0.6 {
		t.Errorf("%+v", k)
	}
}

// Gym's own agent calls tools by requests, whose answers are the texts.
func TestGymRequests(t *testing.T) {
	s := serveTasks(t, withMCP)
	g, _, _ := s.seed(MaskedPath, "sum")
	for _, x := range [][3]string{
		{"/add", `{"n": 2}`, "2"},
		{"/add", "", "2"},
		{"/nothing", "{}", `Error: unknown tool "nothing"`},
		{"/fail", "{}", "Error: the episode is over"},
		{"/add", "{}", "Error: the episode is over"},
	} {
		if status, answer := g.post(x[0], x[1]); status != 200 || answer != x[2] {
			t.Errorf("%v: %d %s", x, status, answer)
		}
	}
	if status, answer := g.post("/verify", gymAnswer); status != 200 ||
		!strings.Contains(answer, `"mask_sample":false`) {
		t.Errorf("%d %s", status, answer)
	}
	g.cookie = nil
	if status, answer := g.post("/verify", gymAnswer); status != 404 || !strings.Contains(answer, "no such session") {
		t.Errorf("%d %s", status, answer)
	}
	if status, answer := g.post("/aggregate_metrics",
		`{"verify_responses": [{"reward": 1}, {"reward": 0, "mask_sample": true}, {"reward": 0}]}`); status != 200 ||
		!strings.Contains(answer, `"agent_metrics":{"masked":1,"mean/reward":0.5}`) {
		t.Errorf("%d %s", status, answer)
	}
}

// What says nothing of the policy is an error at the seed or at verify, or masked: never a reward of 0. A call without
// an answer is no error of the protocol, or it would be made again.
func TestGymFailures(t *testing.T) {
	for _, x := range []struct {
		prefix, scenario, tool string
		fails                  error
		seed, verify           int
		want                   string
	}{
		{GymPath, "unopened", "", nil, 503, 0, "the server does not start"},
		{MaskedPath, "unopened", "", nil, 503, 0, "the server does not start"},
		{GymPath, "nothing", "", nil, 400, 0, "there is no scenario"},
		{GymPath, "sum", "die", nil, 200, 503, "environment_error: die: transport_error: the server is gone"},
		{GymPath, "sum", "stall", nil, 200, 503, "environment_error"},
		{GymPath, "sum", "add", errors.New("no score"), 200, 503, "judge_error: no score"},
		{MaskedPath, "sum", "die", nil, 200, 200, `"mask_sample":true`},
		{MaskedPath, "sum", "add", errors.New("no score"), 200, 200, `"failure_kind":"judge_error","failure_reason":"no score","mask_sample":true`},
	} {
		s := serveTasks(t, func(o *Options, m *memory) { withMCP(o, m); m.fails = x.fails })
		g, status, answer := s.seed(x.prefix, x.scenario)
		if status == 200 {
			c := g.tools()
			r, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: x.tool, Arguments: map[string]any{}})
			if failed := x.tool != "add"; err != nil || r.IsError != failed {
				t.Errorf("%v: %+v, %v", x, r, err)
			}
			_ = c.Close()
		} else if status != x.seed || !strings.Contains(answer, x.want) {
			t.Errorf("%v: seed %d %s", x, status, answer)
		}
		if x.verify == 0 {
			eventually(func() bool { return s.table.active() == 0 })
			continue
		}
		if status, answer = g.post("/verify", gymAnswer); status != x.verify || !strings.Contains(answer, x.want) {
			t.Errorf("%v: verify %d %s", x, status, answer)
		}
	}
}

// A response that was cut is a limit, and no answer.
func TestGymCut(t *testing.T) {
	s := serveTasks(t, withMCP)
	g, _, _ := s.seed(GymPath, "sum")
	if status, answer := g.post("/verify", strings.Replace(gymAnswer, "completed", "incomplete", 1)); status != 200 {
		t.Errorf("%d %s", status, answer)
	}
	s.table.drain(time.Minute)
	if k := s.memory.kept; len(k) != 1 || k[0].Outcome != trajectory.Limit ||
		k[0].StopReason != trajectory.StopMaxTokens {
		t.Errorf("%+v", k)
	}
}

// A client that hangs up in the midst of a call and makes it again, from a new connection, gets the answer of the
// first.
func TestGymCallAgain(t *testing.T) {
	s := serveTasks(t, withMCP)
	g, _, _ := s.seed(GymPath, "sum")
	ctx, hangUp := context.WithCancel(t.Context())
	q, _ := http.NewRequestWithContext(ctx, "POST", g.url+"/hold", bytes.NewReader([]byte(`{"n": 1}`)))
	q.AddCookie(g.cookie)
	ended := make(chan error)
	go func() {
		_, err := http.DefaultClient.Do(q) //nolint:bodyclose // it is an error
		ended <- err
	}()
	<-s.adder.holding
	hangUp()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	<-(<-s.holds).Done() // the server has noticed
	again := make(chan string)
	go func() {
		_, answer := g.post("/hold", `{"n":1}`)
		again <- answer
	}()
	e := s.table.find(g.cookie.Value)
	close(s.adder.hold)
	if answer := <-again; answer != "held" {
		t.Error(answer)
	}
	if _, _, calls := s.adder.counts(); calls != 1 || e.steps != 1 {
		t.Errorf("%d calls, %d steps", calls, e.steps)
	}
}

// NeMo Gym's simple agent knows host and port alone, calls tools by requests, and sends the cookies of the last answer:
// each answer has the session's.
func TestGymAtTheRoot(t *testing.T) {
	s := serveTasks(t, withMCP)
	g, status, answer := s.seed("", "sum")
	if status != http.StatusOK || strings.Contains(answer, "mcp") {
		t.Fatalf("%d: %s", status, answer)
	}
	for _, step := range []struct{ path, body string }{
		{"/add", `{"n": 1}`},
		{"/verify", `{"response": {"output": []}}`},
	} {
		sent := g.cookie
		status, answer := g.post(step.path, step.body)
		if status != http.StatusOK || g.cookie == sent || g.cookie.Value != sent.Value {
			t.Errorf("%s: %d %s, cookie %v", step.path, status, answer, g.cookie)
		}
	}
}

func TestToolsAtTheRoot(t *testing.T) {
	if err := callableAtRoot(addTools()); err != nil {
		t.Error(err)
	}
	if err := callableAtRoot(append(addTools(), chat.Tool{Name: "delete"})); err == nil {
		t.Error("a tool is called delete, and a request for that ends a session of the Open Reward Standard")
	}
}
