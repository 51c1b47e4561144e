package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"go.uber.org/goleak"

	"hone/internal/chat"
	"hone/internal/episode/environment"
	"hone/internal/episode/reward"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// adder are servers in this process with one tool, add, that counts. What it is told to do wrong it does by the words
// of a scenario's task.
type adder struct {
	hold chan struct{} // a call of "hold" ends when it is closed, or with its episode

	mu                    sync.Mutex
	opened, closed, calls int
	holding               chan struct{} // gets one for each call that is held
}

func newAdder() *adder {
	return &adder{hold: make(chan struct{}), holding: make(chan struct{}, 100)}
}

func (a *adder) counts() (opened, closed, calls int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.opened, a.closed, a.calls
}

func (a *adder) Open(ctx context.Context, episode string, _ ...environment.Template) (environment.Session, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.opened++
	if strings.HasPrefix(episode, "unopened") || strings.HasPrefix(episode, "late") && a.opened < 3 {
		a.closed++
		return nil, errors.New("the server does not start")
	}
	return &adding{a: a}, nil
}

type adding struct {
	environment.Session
	a   *adder
	sum float64
}

func (s *adding) Close() error {
	s.a.mu.Lock()
	defer s.a.mu.Unlock()
	s.a.closed++
	return nil
}

func (s *adding) Call(ctx context.Context, calls []chat.ToolCall) (results []trajectory.ToolResult) {
	for _, c := range calls {
		s.a.mu.Lock()
		s.a.calls++
		s.a.mu.Unlock()
		r := trajectory.ToolResult{Call: c, Status: trajectory.CallOK}
		switch c.Name {
		case "add":
			var given struct{ N float64 }
			_ = json.Unmarshal([]byte(c.Arguments), &given)
			s.sum += given.N
			r.Text, r.StructuredContent = fmt.Sprint(s.sum), json.RawMessage(fmt.Sprintf(`{"sum":%v}`, s.sum))
		case "fail":
			r.Status, r.Text = trajectory.CallToolError, "Error: it says no"
		case "deny":
			r.Status, r.Text, r.Error = trajectory.CallDenied, "Error: denied", "denied by a rule"
		case "die":
			r.Status, r.Error = trajectory.CallTransportError, "the server is gone"
		case "stall":
			r.Status, r.Error = trajectory.CallTimeout, "no answer within 60s"
		case "hold":
			s.a.holding <- struct{}{}
			select {
			case <-s.a.hold:
				r.Text = "held"
			case <-ctx.Done():
				r.Status, r.Error = trajectory.CallTransportError, ctx.Err().Error()
			}
		default:
			r.Status, r.Error = trajectory.CallInvalid, fmt.Sprintf("unknown tool %q", c.Name)
			r.Text = "Error: " + r.Error
		}
		results = append(results, r)
	}
	return results
}

// memory keeps records, and scores by hone's own terms.
type memory struct {
	scorer reward.Scorer
	fails  error // of Score

	mu   sync.Mutex
	kept []*trajectory.Trajectory
}

func (m *memory) Score(ctx context.Context, s *scenario.Scenario, t *trajectory.Trajectory) (trajectory.Score, error) {
	if m.fails != nil {
		return trajectory.Score{}, m.fails
	}
	scores, err := m.scorer.Score(ctx, s, trajectory.Group{ScenarioID: s.ID, Trajectories: []*trajectory.Trajectory{t}})
	if err != nil {
		return trajectory.Score{}, err
	}
	return scores[0], nil
}

func (m *memory) Keep(t *trajectory.Trajectory, score trajectory.Score) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	trajectory.Group{Trajectories: []*trajectory.Trajectory{t}}.Take([]trajectory.Score{score})
	m.kept = append(m.kept, t)
	return nil
}

// addTools are those that the policy is shown.
func addTools() []chat.Tool {
	return []chat.Tool{
		{Name: "add", Description: "Adds to a sum",
			InputSchema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"number"}}}`)},
	}
}

// task is a scenario that wants 2 added.
func task(id, split string) scenario.Scenario {
	two := json.RawMessage(`{"n": 2}`)
	return scenario.Scenario{ID: id, Task: "Add 2.", Split: split, Gold: []scenario.Gold{{Name: "add", Arguments: two}},
		Checks: []scenario.Check{{Type: scenario.CallCheck, Name: "add", Arguments: two}}}
}

// served is a server with all behind it, on this machine.
type served struct {
	*Server
	adder  *adder
	memory *memory
	url    string
	holds  chan context.Context // of requests that call hold
	t      *testing.T
}

// serveTasks serves scenarios "sum" (train), "unopened" (train), whose servers never open, and "late" (validation),
// whose open at the third try, changed by change.
func serveTasks(t *testing.T, change func(*Options, *memory)) *served {
	t.Helper()
	a, m := newAdder(), &memory{}
	o := Options{
		Environment: environment.New(environment.Options{Tools: a, System: "You add.", ToolList: addTools(),
			MaxTurns: 4, MaxToolCalls: 3}),
		Records: m,
		Scenarios: []scenario.Scenario{task("sum", scenario.Train), task("unopened", scenario.Train),
			task("late", scenario.Validation)},
		Tools:   addTools(),
		Attempt: 1,
	}
	if change != nil {
		change(&o, m)
	}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	handler, holds := s.Handler(), make(chan context.Context, 100)
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/hold") {
			holds <- r.Context()
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		s.table.drain(0)
		h.Close()
	})
	return &served{s, a, m, h.URL, holds, t}
}

// client speaks OpenEnv over a socket.
type client struct {
	t  *testing.T
	ws *websocket.Conn
}

func (s *served) connect() *client {
	s.t.Helper()
	ws, r, err := websocket.Dial(s.t.Context(), "ws"+strings.TrimPrefix(s.url, "http")+"/ws", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	if r.Body != nil {
		_ = r.Body.Close()
	}
	s.t.Cleanup(func() { _ = ws.CloseNow() })
	return &client{s.t, ws}
}

// ask sends a frame and returns the answer.
func (c *client) ask(frame string) string {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := c.ws.Write(ctx, websocket.MessageText, []byte(frame)); err != nil {
		c.t.Fatal(err)
	}
	_, text, err := c.ws.Read(ctx)
	if err != nil {
		c.t.Fatalf("%s: %v", frame, err)
	}
	return string(text)
}

// step sends an action, and reads how the episode goes.
func (c *client) step(action string) (reward *float64, done bool, hone Verdict) {
	c.t.Helper()
	var reply struct {
		Type string
		Data struct {
			Reward   *float64
			Done     bool
			Metadata struct{ Hone Verdict }
		}
	}
	text := c.ask(`{"type": "step", "data": ` + action + `}`)
	if err := json.Unmarshal([]byte(text), &reply); err != nil || reply.Type != "observation" {
		c.t.Fatalf("%s: %s, %v", action, text, err)
	}
	return reply.Data.Reward, reply.Data.Done, reply.Data.Metadata.Hone
}

// eventually waits until it holds; go test's own deadline ends a wait in vain.
func eventually(holds func() bool) {
	for !holds() {
		time.Sleep(time.Millisecond)
	}
}
